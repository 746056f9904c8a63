-- SELECT and PRINT: push queries, pull queries, a topic's records.
CREATE STREAM s (k STRING KEY, v INT) WITH (KAFKA_TOPIC = '${case}_s', VALUE_FORMAT = 'JSON', PARTITIONS = 1);

--@test: a push query ends at its LIMIT
INSERT INTO s (k, v) VALUES ('a', 1);
INSERT INTO s (k, v) VALUES ('b', 2);
INSERT INTO s (k, v) VALUES ('c', 3);
INSERT INTO s (k, v) VALUES ('d', 4);
SELECT k, v * 10 AS tens FROM s WHERE v > 1 EMIT CHANGES LIMIT 2;
--@rows
-- k | tens
-- b | 20
-- c | 30

--@test: a push query from the latest record on sees what comes then
SET 'auto.offset.reset' = 'latest';
INSERT INTO s (k, v) VALUES ('before', 1);
SELECT * FROM s EMIT CHANGES LIMIT 1;
INSERT INTO s (k, v) VALUES ('after', 2);
--@rows
-- k     | v
-- after | 2

--@test: a push query with an aggregate shows every update
INSERT INTO s (k, v) VALUES ('a', 1);
INSERT INTO s (k, v) VALUES ('b', 2);
INSERT INTO s (k, v) VALUES ('a', 3);
SELECT k, COUNT(*) AS n, SUM(v) AS total FROM s GROUP BY k EMIT CHANGES LIMIT 3;
--@rows
-- k | n | total
-- a | 1 | 1
-- b | 1 | 2
-- a | 2 | 4

--@test: pull queries by key and over the whole table
CREATE TABLE totals AS SELECT k, COUNT(*) AS n, SUM(v) AS total FROM s GROUP BY k EMIT CHANGES;
INSERT INTO s (k, v) VALUES ('a', 1);
INSERT INTO s (k, v) VALUES ('b', 2);
INSERT INTO s (k, v) VALUES ('a', 3);
--@output TOTALS folded
-- k | n | total
-- a | 2 | 4
-- b | 1 | 2
SELECT * FROM totals WHERE k = 'a';
--@rows
-- k | n | total
-- a | 2 | 4
SELECT k, total / n AS mean FROM totals WHERE k IN ('b', 'a', 'nobody');
--@rows rowsort
-- k | mean
-- a | 2
-- b | 2
SELECT k FROM totals WHERE n > 1;
--@rows
-- k
-- a
SELECT * FROM totals WHERE k = 'nobody';
--@rows
-- k | n | total

--@test: a pull query on a stream gives what its topic holds
INSERT INTO s (k, v) VALUES ('a', 1);
INSERT INTO s (k, v) VALUES ('b', 2);
SELECT k, v + 1 AS next FROM s WHERE v = 2;
--@rows
-- k | next
-- b | 3

--@test: PRINT guesses formats and ends at its LIMIT
INSERT INTO s (ROWTIME, k, v) VALUES (1, 'a', 1);
INSERT INTO s (ROWTIME, v) VALUES (1700000000123, 2);
INSERT INTO s (ROWTIME, k) VALUES (1, 'never shown');
PRINT '${case}_s' FROM BEGINNING LIMIT 2;
--@rows
-- line
-- Key format: KAFKA_STRING
-- Value format: JSON or KAFKA_STRING
-- rowtime: 1970/01/01 00:00:00.001 Z, key: a, value: {"V":1}, partition: 0
-- rowtime: 2023/11/14 22:13:20.123 Z, key: <null>, value: {"V":2}, partition: 0
PRINT '${case}_x';
--@error: TOPIC_UNKNOWN
-- Could not find topic '${case}_x'. Did you mean '${case}_s'?
-- line 1:7
--   PRINT '${case}_x'
--         ^^^^^^^^^^^^^^^^^
