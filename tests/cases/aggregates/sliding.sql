-- WINDOW SLIDING: windows that end with a record, and those that begin after one.
CREATE STREAM s (k STRING KEY, v INT) WITH (KAFKA_TOPIC = '${case}_s', VALUE_FORMAT = 'JSON', PARTITIONS = 2);

--@test: the example of Kafka Streams, with a late record and one of an equal time
CREATE TABLE slid AS
  SELECT k, COUNT(*) AS n, SUM(v) AS total FROM s WINDOW SLIDING (SIZE 5 SECONDS, GRACE PERIOD 1 DAY) GROUP BY k EMIT CHANGES;
INSERT INTO s (ROWTIME, k, v) VALUES (8000, 'a', 1);
INSERT INTO s (ROWTIME, k, v) VALUES (9200, 'a', 2);
INSERT INTO s (ROWTIME, k, v) VALUES (12400, 'a', 4);
--@output SLID ordered
-- k | windowstart | windowend | n | total
-- a | 3000        | 8000      | 1 | 1
-- a | 4200        | 9200      | 2 | 3
-- a | 8001        | 13001     | 1 | 2
-- a | 7400        | 12400     | 3 | 7
-- a | 8001        | 13001     | 2 | 6
-- a | 9201        | 14201     | 1 | 4
INSERT INTO s (ROWTIME, k, v) VALUES (9200, 'a', 8);
INSERT INTO s (ROWTIME, k, v) VALUES (3000, 'a', 16);
--@output SLID ordered
-- k | windowstart | windowend | n | total
-- a | 4200        | 9200      | 3 | 11
-- a | 7400        | 12400     | 4 | 15
-- a | 8001        | 13001     | 3 | 14
-- a | 0           | 5000      | 1 | 16
-- a | 3000        | 8000      | 2 | 17
-- a | 3001        | 8001      | 1 | 1
SELECT k, WINDOWSTART, WINDOWEND, n, total FROM slid WHERE k = 'a' AND WINDOWSTART >= 4200;
--@rows
-- k | windowstart | windowend | n | total
-- a | 4200        | 9200      | 3 | 11
-- a | 7400        | 12400     | 4 | 15
-- a | 8001        | 13001     | 3 | 14
-- a | 9201        | 14201     | 1 | 4
SELECT WINDOWSTART, n FROM slid WHERE k = 'a' AND WINDOWEND = 12400;
--@rows
-- windowstart | n
-- 7400        | 4

--@test: when windows close
CREATE TABLE closed AS
  SELECT k, COUNT(*) AS n, COLLECT_LIST(v) AS vs FROM s WINDOW SLIDING (SIZE 10 MILLISECONDS, GRACE PERIOD 5 MILLISECONDS)
  GROUP BY k HAVING COUNT(*) < 3 EMIT FINAL;
INSERT INTO s (ROWTIME, k, v) VALUES (100, 'a', 1);
INSERT INTO s (ROWTIME, k, v) VALUES (105, 'a', 2);
INSERT INTO s (ROWTIME, k, v) VALUES (110, 'a', 3);
INSERT INTO s (ROWTIME, k, v) VALUES (103, 'a', 4);
INSERT INTO s (ROWTIME, k, v) VALUES (98, 'a', 5);
INSERT INTO s (ROWTIME, k, v) VALUES (80, 'a', 6);
INSERT INTO s (ROWTIME, k, v) VALUES (200, 'a', 7);
INSERT INTO s (ROWTIME, k, v) VALUES (300, 'a', 8);
--@output CLOSED ordered
-- k | windowstart | windowend | n | vs
-- a | 90          | 100       | 1 | [1]
-- a | 104         | 114       | 2 | [2, 3]
-- a | 106         | 116       | 1 | [3]
-- a | 190         | 200       | 1 | [7]
