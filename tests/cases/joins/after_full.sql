-- A join above a FULL join of tables uses the key of the joined row, whichever side has a row.
CREATE TABLE v1 (id INT PRIMARY KEY, a STRING)
  WITH (KAFKA_TOPIC = '${case}_1', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE TABLE v2 (id INT PRIMARY KEY, a STRING)
  WITH (KAFKA_TOPIC = '${case}_2', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE TABLE v3 (id INT PRIMARY KEY, a STRING)
  WITH (KAFKA_TOPIC = '${case}_3', VALUE_FORMAT = 'JSON', PARTITIONS = 1);

--@test: FULL above FULL, by the column of the first table
CREATE TABLE j AS
  SELECT ROWKEY AS id, v1.a AS a1, v2.a AS a2, v3.a AS a3
  FROM v1 FULL JOIN v2 ON v1.id = v2.id FULL JOIN v3 ON v1.id = v3.id EMIT CHANGES;
INSERT INTO v2 (rowtime, id, a) VALUES (1, 1, 'b1');
INSERT INTO v3 (rowtime, id, a) VALUES (2, 1, 'c1');
INSERT INTO v1 (rowtime, id, a) VALUES (3, 1, 'a1');
INSERT INTO v1 (rowtime, id) VALUES (4, 1);
INSERT INTO v2 (rowtime, id, a) VALUES (5, 1, 'b2');
INSERT INTO v2 (rowtime, id) VALUES (6, 1);
INSERT INTO v1 (rowtime, id, a) VALUES (7, 1, 'a2');
INSERT INTO v2 (rowtime, id, a) VALUES (8, 1, 'b3');
INSERT INTO v3 (rowtime, id, a) VALUES (9, 1, 'c2');
--@output J folded
-- id | a1 | a2 | a3
-- 1  | a2 | b3 | c2

--@test: FULL above FULL, by the column of the second table
CREATE TABLE j AS
  SELECT ROWKEY AS id, v1.a AS a1, v2.a AS a2, v3.a AS a3
  FROM v1 FULL JOIN v2 ON v1.id = v2.id FULL JOIN v3 ON v2.id = v3.id EMIT CHANGES;
INSERT INTO v2 (rowtime, id, a) VALUES (1, 1, 'b1');
INSERT INTO v3 (rowtime, id, a) VALUES (2, 1, 'c1');
INSERT INTO v1 (rowtime, id, a) VALUES (3, 1, 'a1');
INSERT INTO v1 (rowtime, id, a) VALUES (3, 2, 'alone');
INSERT INTO v2 (rowtime, id) VALUES (6, 1);
INSERT INTO v2 (rowtime, id, a) VALUES (7, 1, 'b2');
--@output J folded
-- id | a1    | a2   | a3
-- 1  | a1    | b2   | c1
-- 2  | alone | NULL | NULL
