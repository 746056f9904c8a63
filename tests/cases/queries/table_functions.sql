-- Several table functions in one SELECT: a NULL array is as an empty one.
CREATE STREAM s (id INT, items ARRAY<STRUCT<n INT>>, tags ARRAY<STRING>, m ARRAY<MAP<STRING, INT>>)
  WITH (KAFKA_TOPIC = '${case}_s', VALUE_FORMAT = 'JSON', PARTITIONS = 1);

--@test: one of several arrays is NULL
CREATE STREAM rows_of AS SELECT id, EXPLODE(items) AS i, EXPLODE(tags) AS t FROM s EMIT CHANGES;
INSERT INTO s (id, tags) VALUES (1, ARRAY['q', 'r']);
INSERT INTO s (id, items, tags) VALUES (2, ARRAY[STRUCT(n := 1)], ARRAY['x']);
INSERT INTO s (id) VALUES (3);
INSERT INTO s (id, items) VALUES (4, ARRAY[STRUCT(n := 2), STRUCT(n := 3)]);
--@output ROWS_OF ordered
-- id | i        | t
-- 1  | NULL     | q
-- 1  | NULL     | r
-- 2  | {"N": 1} | x
-- 4  | {"N": 2} | NULL
-- 4  | {"N": 3} | NULL

--@test: NULL alone, maps, and a function that fails for one record
CREATE STREAM rows_of AS
  SELECT id, EXPLODE(m) AS e, EXPLODE(GENERATE_SERIES(1, 2, 2 - id)) AS n FROM s EMIT CHANGES;
INSERT INTO s (id) VALUES (1);
INSERT INTO s (id, m) VALUES (2, ARRAY[MAP('a' := 1)]);
INSERT INTO s (id, m) VALUES (1, ARRAY[MAP('b' := 2)]);
--@output ROWS_OF ordered
-- id | e        | n
-- 1  | NULL     | 1
-- 1  | NULL     | 2
-- 2  | {"a": 1} | NULL
-- 1  | {"b": 2} | 1
-- 1  | NULL     | 2
