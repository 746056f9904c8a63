-- Keys and columns made of pseudo columns.
CREATE STREAM events (id INT KEY, v INT) WITH (KAFKA_TOPIC = '${case}_events', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE TABLE facts (id INT PRIMARY KEY, v INT) WITH (KAFKA_TOPIC = '${case}_facts', VALUE_FORMAT = 'JSON', PARTITIONS = 1);

--@test: GROUP BY ROWTIME makes a key of it
CREATE TABLE counts WITH (KEY_FORMAT = 'JSON') AS
  SELECT ROWTIME AS t, COUNT(*) AS n FROM events GROUP BY ROWTIME;
INSERT INTO events (ROWTIME, id, v) VALUES (10, 1, 1);
INSERT INTO events (ROWTIME, id, v) VALUES (20, 1, 2);
INSERT INTO events (ROWTIME, id, v) VALUES (10, 2, 3);
--@output COUNTS folded
-- t  | n
-- 10 | 2
-- 20 | 1

--@test: GROUP BY ROWTIME and a column
CREATE TABLE counts WITH (KEY_FORMAT = 'JSON') AS
  SELECT ROWTIME AS t, id, COUNT(*) AS n, MAX(ROWTIME) AS latest FROM events GROUP BY ROWTIME, id HAVING COUNT(*) > 0;
INSERT INTO events (ROWTIME, id, v) VALUES (10, 1, 1);
INSERT INTO events (ROWTIME, id, v) VALUES (20, 1, 2);
INSERT INTO events (ROWTIME, id, v) VALUES (10, 1, 3);
--@output COUNTS folded
-- t  | id | n | latest
-- 10 | 1  | 2 | 10
-- 20 | 1  | 1 | 20

--@test: GROUP BY ROWTIME in windows
CREATE TABLE counts WITH (KEY_FORMAT = 'JSON') AS
  SELECT ROWTIME AS t, COUNT(*) AS n FROM events WINDOW TUMBLING (SIZE 1 SECOND) GROUP BY ROWTIME;
INSERT INTO events (ROWTIME, id, v) VALUES (10, 1, 1);
INSERT INTO events (ROWTIME, id, v) VALUES (2000, 1, 2);
INSERT INTO events (ROWTIME, id, v) VALUES (10, 2, 3);
--@output COUNTS folded
-- t    | windowstart | windowend | n
-- 10   | 0           | 1000      | 2
-- 2000 | 2000        | 3000      | 1

--@test: GROUP BY ROWTIME of a table
CREATE TABLE counts WITH (KEY_FORMAT = 'JSON') AS
  SELECT ROWTIME AS t, COUNT(*) AS n FROM facts GROUP BY ROWTIME;
INSERT INTO facts (ROWTIME, id, v) VALUES (10, 1, 1);
INSERT INTO facts (ROWTIME, id, v) VALUES (10, 2, 1);
INSERT INTO facts (ROWTIME, id, v) VALUES (20, 1, 1);
--@output COUNTS folded
-- t  | n
-- 10 | 2
-- 20 | 0

--@test: GROUP BY ROWPARTITION and ROWOFFSET
CREATE TABLE counts WITH (KEY_FORMAT = 'JSON') AS
  SELECT ROWPARTITION AS p, ROWOFFSET AS o, COUNT(*) AS n FROM events GROUP BY ROWPARTITION, ROWOFFSET;
INSERT INTO events (ROWTIME, id, v) VALUES (10, 1, 1);
INSERT INTO events (ROWTIME, id, v) VALUES (20, 1, 2);
--@output COUNTS folded
-- p | o | n
-- 0 | 0 | 1
-- 0 | 1 | 1

--@test: GROUP BY an expression over ROWTIME
CREATE TABLE counts WITH (KEY_FORMAT = 'JSON') AS
  SELECT ROWTIME / 10 AS t, COUNT(*) AS n FROM events GROUP BY ROWTIME / 10;
INSERT INTO events (ROWTIME, id, v) VALUES (10, 1, 1);
INSERT INTO events (ROWTIME, id, v) VALUES (20, 1, 2);
INSERT INTO events (ROWTIME, id, v) VALUES (15, 2, 3);
--@output COUNTS folded
-- t | n
-- 1 | 2
-- 2 | 1

--@test: PARTITION BY ROWTIME
CREATE STREAM keyed WITH (KEY_FORMAT = 'JSON') AS
  SELECT ROWTIME AS t, id, v FROM events PARTITION BY ROWTIME;
INSERT INTO events (ROWTIME, id, v) VALUES (10, 1, 1);
INSERT INTO events (ROWTIME, id, v) VALUES (20, 1, 2);
--@output KEYED ordered
-- t  | id | v
-- 10 | 1  | 1
-- 20 | 1  | 2

--@test: PARTITION BY ROWTIME keeps its name
CREATE STREAM keyed WITH (KEY_FORMAT = 'JSON') AS SELECT * FROM events PARTITION BY ROWTIME;
INSERT INTO events (ROWTIME, id, v) VALUES (10, 1, 1);
--@output KEYED ordered
-- rowtime | v | id
-- 10      | 1 | 1

--@test: PARTITION BY ROWTIME of a NULL value keeps the record's time, with and without a name of its own
CREATE STREAM s (k INT KEY, name STRING)
  WITH (KAFKA_TOPIC = '${case}_s', VALUE_FORMAT = 'JSON', WRAP_SINGLE_VALUE = false, PARTITIONS = 1);
CREATE STREAM keyed WITH (KAFKA_TOPIC = '${case}_keyed', KEY_FORMAT = 'JSON') AS SELECT * FROM s PARTITION BY ROWTIME;
CREATE STREAM keyed_records (t STRING KEY, name STRING, k INT)
  WITH (KAFKA_TOPIC = '${case}_keyed', KEY_FORMAT = 'KAFKA', VALUE_FORMAT = 'JSON');
CREATE STREAM named WITH (KEY_FORMAT = 'JSON') AS SELECT ROWTIME AS t, k FROM s PARTITION BY ROWTIME;
CREATE STREAM renamed AS SELECT ROWTIME AS t, name, k FROM keyed;
INSERT INTO s (ROWTIME, k, name) VALUES (5, 1, 'ann');
INSERT INTO s (ROWTIME, k) VALUES (6, 2);
--@output KEYED_RECORDS ordered
-- t    | k         | ROWTIME
-- 5    | 1         | 5
-- NULL | <deleted> | 6
--@output NAMED ordered
-- t    | k         | ROWTIME
-- 5    | 1         | 5
-- NULL | <deleted> | 6
--@output RENAMED ordered
-- t    | name      | ROWTIME
-- 5    | ann       | 5
-- NULL | <deleted> | 6

--@test: a key called ROWTIME can be read, grouped and renamed
CREATE STREAM keyed WITH (KEY_FORMAT = 'JSON') AS SELECT * FROM events PARTITION BY ROWTIME;
CREATE TABLE counts AS SELECT ROWTIME AS t, COUNT(*) AS n FROM keyed GROUP BY ROWTIME;
CREATE TABLE by_id AS SELECT id, MAX(ROWTIME) AS latest FROM keyed GROUP BY id;
INSERT INTO events (ROWTIME, id, v) VALUES (10, 1, 1);
INSERT INTO events (ROWTIME, id, v) VALUES (20, 1, 2);
INSERT INTO events (ROWTIME, id, v) VALUES (10, 2, 3);
--@output COUNTS folded
-- t  | n
-- 10 | 2
-- 20 | 1
--@output BY_ID folded
-- id | latest
-- 1  | 20
-- 2  | 10

--@test: a push query may keep the name
INSERT INTO events (ROWTIME, id, v) VALUES (10, 1, 1);
INSERT INTO events (ROWTIME, id, v) VALUES (20, 1, 2);
SET 'auto.offset.reset' = 'earliest';
SELECT ROWTIME, COUNT(*) AS n FROM events GROUP BY ROWTIME EMIT CHANGES LIMIT 2;
--@rows rowsort
-- rowtime | n
-- 10      | 1
-- 20      | 1

--@test: a table's name for it must be another
CREATE TABLE counts AS SELECT ROWTIME, COUNT(*) AS n FROM events GROUP BY ROWTIME;
--@error: INVALID_STATEMENT
-- Reserved column name in select: `ROWTIME`. Please remove or alias the column.
-- line 1:31
--   CREATE TABLE counts AS SELECT ROWTIME, COUNT(*) AS n FROM events GROUP BY ROWTIME
--                                 ^^^^^^^
