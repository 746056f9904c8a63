-- Records that a join ignores have their turn all the same: what is behind them in their partition comes after it.
CREATE STREAM l (id INT KEY, v STRING)
  WITH (KAFKA_TOPIC = '${case}_l', VALUE_FORMAT = 'JSON', WRAP_SINGLE_VALUE = false, PARTITIONS = 1);
CREATE STREAM r (id INT KEY, v STRING)
  WITH (KAFKA_TOPIC = '${case}_r', VALUE_FORMAT = 'JSON', WRAP_SINGLE_VALUE = false, PARTITIONS = 1);
CREATE TABLE lt (id INT PRIMARY KEY, v STRING)
  WITH (KAFKA_TOPIC = '${case}_l', VALUE_FORMAT = 'JSON', WRAP_SINGLE_VALUE = false);
CREATE TABLE rt (id INT PRIMARY KEY, v STRING)
  WITH (KAFKA_TOPIC = '${case}_r', VALUE_FORMAT = 'JSON', WRAP_SINGLE_VALUE = false);

--@test: a record of the stream without a key
INSERT INTO r (rowtime, id, v) VALUES (1000, 1, 'old');
INSERT INTO r (rowtime, id, v) VALUES (50000, 1, 'new');
INSERT INTO l (rowtime, v) VALUES (60000, 'no key');
INSERT INTO l (rowtime, id, v) VALUES (10000, 1, 'late');
CREATE STREAM j AS SELECT l.id AS id, l.v AS l, rt.v AS r FROM l JOIN rt ON l.id = rt.id EMIT CHANGES;
--@output J ordered
-- rowtime | id | l    | r
-- 10000   | 1  | late | new

--@test: a record of the stream without a value
INSERT INTO r (rowtime, id, v) VALUES (1000, 1, 'old');
INSERT INTO r (rowtime, id, v) VALUES (50000, 1, 'new');
INSERT INTO l (rowtime, id) VALUES (60000, 9);
INSERT INTO l (rowtime, id, v) VALUES (10000, 1, 'late');
CREATE STREAM j AS SELECT l.id AS id, l.v AS l, rt.v AS r FROM l LEFT JOIN rt ON l.id = rt.id EMIT CHANGES;
--@output J ordered
-- rowtime | id | l    | r
-- 10000   | 1  | late | new

--@test: a record of the table without a key
INSERT INTO r (rowtime, v) VALUES (60000, 'no key');
INSERT INTO r (rowtime, id, v) VALUES (10000, 1, 'late');
INSERT INTO l (rowtime, id, v) VALUES (30000, 1, 'before');
INSERT INTO l (rowtime, id, v) VALUES (70000, 1, 'after');
CREATE STREAM j AS SELECT l.id AS id, l.v AS l, rt.v AS r FROM l LEFT JOIN rt ON l.id = rt.id EMIT CHANGES;
--@output J ordered
-- rowtime | id | l      | r
-- 30000   | 1  | before | NULL
-- 70000   | 1  | after  | late

--@test: a record without a key of the side that is not kept, in a join of streams
INSERT INTO l (rowtime, v) VALUES (60000, 'no key');
INSERT INTO l (rowtime, id, v) VALUES (10000, 1, 'late');
INSERT INTO r (rowtime, id, v) VALUES (10000, 1, 'gone by then');
INSERT INTO r (rowtime, id, v) VALUES (50000, 2, 'later');
INSERT INTO l (rowtime, id, v) VALUES (50000, 2, 'the last');
CREATE STREAM j AS
  SELECT l.id AS id, l.v AS l, r.v AS r
  FROM l JOIN r WITHIN 5 SECONDS GRACE PERIOD 0 SECONDS ON l.id = r.id EMIT CHANGES;
--@output J ordered
-- rowtime | id | l        | r
-- 50000   | 2  | the last | later

--@test: a record of a table without a key, in a join of tables
INSERT INTO l (rowtime, v) VALUES (60000, 'no key');
INSERT INTO l (rowtime, id, v) VALUES (10000, 1, 'late');
INSERT INTO r (rowtime, id, v) VALUES (1000, 1, 'old');
INSERT INTO r (rowtime, id, v) VALUES (50000, 1, 'new');
CREATE TABLE j AS SELECT lt.id AS id, lt.v AS l, rt.v AS r FROM lt JOIN rt ON lt.id = rt.id EMIT CHANGES;
--@output J ordered
-- rowtime | id | l    | r
-- 50000   | 1  | late | new
