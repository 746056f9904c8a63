-- Calls with OVER: LAG, FIRST_VALUE and running aggregates over a stream's own order.
CREATE STREAM readings (k STRING KEY, id INT, v INT)
  WITH (KAFKA_TOPIC = '${case}_readings', VALUE_FORMAT = 'JSON', PARTITIONS = 1);

--@test: LAG is the value of the row before, in the order of arrival
CREATE STREAM changes AS
  SELECT k, v, v - LAG(v) OVER (PARTITION BY k ORDER BY ROWTIME) AS change,
    LAG(v, 2, -1) OVER (PARTITION BY k ORDER BY ROWTIME) AS second
  FROM readings EMIT CHANGES;
INSERT INTO readings (ROWTIME, k, v) VALUES (1000, 'a', 10);
INSERT INTO readings (ROWTIME, k, v) VALUES (2000, 'b', 100);
INSERT INTO readings (ROWTIME, k, v) VALUES (2000, 'a', 13);
INSERT INTO readings (ROWTIME, k, v) VALUES (1500, 'a', 20);
INSERT INTO readings (ROWTIME, k, v) VALUES (1500, 'a', NULL);
INSERT INTO readings (ROWTIME, k, v) VALUES (3000, 'a', 5);
INSERT INTO readings (ROWTIME, k, v) VALUES (4000, 'a', 6);
--@output CHANGES ordered
-- rowtime | k | v    | change | second
-- 1000    | a | 10   | NULL   | -1
-- 2000    | b | 100  | NULL   | -1
-- 2000    | a | 13   | 3      | -1
-- 1500    | a | 20   | 7      | 10
-- 1500    | a | NULL | NULL   | 13
-- 3000    | a | 5    | NULL   | 20
-- 4000    | a | 6    | 1      | NULL

--@test: running totals and moving frames
CREATE STREAM running AS
  SELECT k, v,
    COUNT(*) OVER (PARTITION BY id ORDER BY ROWTIME) AS n,
    SUM(v) OVER (PARTITION BY id ORDER BY ROWTIME ROWS UNBOUNDED PRECEDING) AS total,
    AVG(v) OVER (PARTITION BY id ORDER BY ROWTIME ROWS 1 PRECEDING) AS mean,
    MAX(v) OVER (PARTITION BY id ORDER BY ROWTIME ROWS BETWEEN 2 PRECEDING AND 1 PRECEDING) AS high,
    FIRST_VALUE(v) OVER (PARTITION BY id ORDER BY ROWTIME) AS first
  FROM readings WHERE k <> 'no' EMIT CHANGES;
INSERT INTO readings (k, id, v) VALUES ('a', 1, 4);
INSERT INTO readings (k, id, v) VALUES ('no', 1, 1000);
INSERT INTO readings (k, id, v) VALUES ('a', 1, 2);
INSERT INTO readings (k, id, v) VALUES ('b', 2, 7);
INSERT INTO readings (k, id, v) VALUES ('c', 1, NULL);
INSERT INTO readings (k, id, v) VALUES ('c', 1, 3);
INSERT INTO readings (k, id, v) VALUES ('c', 1, 5);
--@output RUNNING ordered
-- k | v    | n | total | mean | high | first
-- a | 4    | 1 | 4     | 4.0  | NULL | 4
-- a | 2    | 2 | 6     | 3.0  | 4    | 4
-- b | 7    | 1 | 7     | 7.0  | NULL | 7
-- c | NULL | 3 | 6     | 2.0  | 4    | 4
-- c | 3    | 4 | 9     | 3.0  | 2    | 4
-- c | 5    | 5 | 14    | 4.0  | 3    | 4

--@test: rows whose key is NULL are one group
CREATE STREAM counted AS SELECT k, id, COUNT(*) OVER (PARTITION BY id, v ORDER BY ROWTIME) AS n FROM readings EMIT CHANGES;
INSERT INTO readings (k, id, v) VALUES ('a', NULL, 1);
INSERT INTO readings (k, id, v) VALUES ('a', NULL, 1);
INSERT INTO readings (k, id, v) VALUES ('a', 1, NULL);
INSERT INTO readings (k, id, v) VALUES ('a', NULL, NULL);
INSERT INTO readings (k, id, v) VALUES ('a', NULL, 1);
INSERT INTO readings (k, id, v) VALUES ('a', NULL, NULL);
--@output COUNTED ordered
-- k | id   | n
-- a | NULL | 1
-- a | NULL | 2
-- a | 1    | 1
-- a | NULL | 1
-- a | NULL | 3
-- a | NULL | 2

--@test: PARTITION BY, pseudo columns and an aggregation come after it
CREATE STREAM gaps AS
  SELECT id, v, ROWTIME - LAG(ROWTIME) OVER (PARTITION BY k ORDER BY ROWTIME) AS gap, ROWOFFSET AS o
  FROM readings PARTITION BY id EMIT CHANGES;
CREATE TABLE longest AS SELECT id, MAX(gap) AS gap FROM gaps GROUP BY id EMIT CHANGES;
INSERT INTO readings (ROWTIME, k, id, v) VALUES (1000, 'a', 1, 1);
INSERT INTO readings (ROWTIME, k, id, v) VALUES (1700, 'a', 1, 2);
INSERT INTO readings (ROWTIME, k, id, v) VALUES (1900, 'b', 2, 3);
INSERT INTO readings (ROWTIME, k, id, v) VALUES (1950, 'b', 1, 4);
--@output GAPS ordered
-- rowtime | id | v | gap  | o
-- 1000    | 1  | 1 | NULL | 0
-- 1700    | 1  | 2 | 700  | 1
-- 1900    | 2  | 3 | NULL | 2
-- 1950    | 1  | 4 | 50   | 3
--@output LONGEST folded
-- id | gap
-- 1  | 700
-- 2  | NULL

--@test: by the key of several partitions
CREATE STREAM keyed (k STRING KEY, v INT) WITH (KAFKA_TOPIC = '${case}_keyed', VALUE_FORMAT = 'JSON', PARTITIONS = 4);
CREATE STREAM totals AS SELECT k, SUM(v) OVER (PARTITION BY k ORDER BY ROWTIME) AS total FROM keyed WHERE k IS NOT NULL EMIT CHANGES;
INSERT INTO keyed (ROWTIME, k, v) VALUES (1000, 'a', 1);
INSERT INTO keyed (ROWTIME, k, v) VALUES (2000, 'b', 2);
INSERT INTO keyed (ROWTIME, v) VALUES (3000, 3);
INSERT INTO keyed (ROWTIME, k, v) VALUES (4000, 'a', 4);
INSERT INTO keyed (ROWTIME, k, v) VALUES (5000, 'c', 5);
INSERT INTO keyed (ROWTIME, k, v) VALUES (6000, 'a', 6);
--@output TOTALS rowsort
-- k | total
-- a | 1
-- a | 11
-- a | 5
-- b | 2
-- c | 5

--@test: frames of time; a late row does not see what is too old for the latest row
CREATE STREAM lately AS
  SELECT k, v, LAG(v) OVER (PARTITION BY id ORDER BY ROWTIME) AS before,
    COUNT(*) OVER (PARTITION BY id ORDER BY ROWTIME RANGE INTERVAL 10 SECONDS PRECEDING) AS n,
    SUM(v) OVER (PARTITION BY id ORDER BY ROWTIME RANGE INTERVAL 10 SECONDS PRECEDING) AS total,
    FIRST_VALUE(v) OVER (PARTITION BY id ORDER BY ROWTIME RANGE INTERVAL 10 SECONDS PRECEDING) AS first,
    LAST_VALUE(v) OVER (PARTITION BY id ORDER BY ROWTIME RANGE INTERVAL 10 SECONDS PRECEDING) AS last,
    COUNT(*) OVER (PARTITION BY id ORDER BY ROWTIME) AS every
  FROM readings EMIT CHANGES;
INSERT INTO readings (ROWTIME, k, id, v) VALUES (1000, 'a', 1, 1);
INSERT INTO readings (ROWTIME, k, id, v) VALUES (11000, 'a', 1, 2);
INSERT INTO readings (ROWTIME, k, id, v) VALUES (11001, 'b', 1, 4);
INSERT INTO readings (ROWTIME, k, id, v) VALUES (5000, 'a', 1, 8);
INSERT INTO readings (ROWTIME, k, id, v) VALUES (11001, 'a', 1, NULL);
INSERT INTO readings (ROWTIME, k, v) VALUES (11001, 'a', 64);
INSERT INTO readings (ROWTIME, k, id, v) VALUES (500, 'a', 1, 16);
INSERT INTO readings (ROWTIME, k, id, v) VALUES (30000, 'a', 1, 32);
--@output LATELY ordered
-- rowtime | k | v    | before | n | total | first | last | every
-- 1000    | a | 1    | NULL   | 1 | 1     | 1     | 1    | 1
-- 11000   | a | 2    | 1      | 2 | 3     | 1     | 2    | 2
-- 11001   | b | 4    | 2      | 2 | 6     | 2     | 4    | 3
-- 5000    | a | 8    | 4      | 1 | 8     | 8     | 8    | 4
-- 11001   | a | NULL | 8      | 4 | 14    | 2     | NULL | 5
-- 11001   | a | 64   | NULL   | 1 | 64    | 64    | 64   | 1
-- 500     | a | 16   | NULL   | 1 | 16    | 16    | 16   | 6
-- 30000   | a | 32   | 16     | 1 | 32    | 32    | 32   | 7

--@test: LEAD waits for the next rows of the group; rows keep their time, and those without a successor wait on
CREATE STREAM following AS
  SELECT k, v, LEAD(v) OVER (PARTITION BY id ORDER BY ROWTIME) AS next,
    LEAD(v, 2, -1) OVER (PARTITION BY id ORDER BY ROWTIME) AS second,
    LAG(v) OVER (PARTITION BY id ORDER BY ROWTIME) AS before,
    COUNT(*) OVER (PARTITION BY id ORDER BY ROWTIME) AS n,
    SUM(v) OVER (PARTITION BY id ORDER BY ROWTIME RANGE INTERVAL 1 SECOND PRECEDING) AS total
  FROM readings EMIT CHANGES;
INSERT INTO readings (ROWTIME, k, id, v) VALUES (1000, 'a', 1, 1);
INSERT INTO readings (ROWTIME, k, id, v) VALUES (2000, 'b', 2, 20);
INSERT INTO readings (ROWTIME, k, id, v) VALUES (2000, 'c', 1, 2);
INSERT INTO readings (ROWTIME, k, v) VALUES (2500, 'd', 300);
INSERT INTO readings (ROWTIME, k, id, v) VALUES (1500, 'e', 1, NULL);
INSERT INTO readings (ROWTIME, k, id) VALUES (3000, 'f', 1);
INSERT INTO readings (ROWTIME, k) VALUES (3500, 'g');
INSERT INTO readings (ROWTIME, k, id, v) VALUES (90000, 'h', 1, 5);
INSERT INTO readings (ROWTIME, k, v) VALUES (90000, 'i', 500);
--@output FOLLOWING ordered
-- k | v    | next | second | before | n | total
-- a | 1    | 2    | NULL   | NULL   | 1 | 1
-- c | 2    | NULL | NULL   | 1      | 2 | 3
-- e | NULL | NULL | 5      | 2      | 3 | 1
-- d | 300  | NULL | 500    | NULL   | 1 | 300

--@test: WITHIN ends a group for which no row has come for so long
CREATE STREAM visits AS
  SELECT k, v, LEAD(v, 1, -1) OVER (PARTITION BY id ORDER BY ROWTIME) AS next,
    LAG(v) OVER (PARTITION BY id ORDER BY ROWTIME) AS before,
    COUNT(*) OVER (PARTITION BY id ORDER BY ROWTIME) AS n,
    COUNT(*) OVER (PARTITION BY id ORDER BY ROWTIME RANGE INTERVAL 1 HOUR PRECEDING) AS lately
  FROM readings WITHIN 10 SECONDS EMIT CHANGES;
INSERT INTO readings (ROWTIME, k, id, v) VALUES (1000, 'a', 1, 1);
INSERT INTO readings (ROWTIME, k, id, v) VALUES (2000, 'b', 2, 20);
INSERT INTO readings (ROWTIME, k, id, v) VALUES (11000, 'c', 1, 2);
INSERT INTO readings (ROWTIME, k, id, v) VALUES (5000, 'd', 1, 3);
INSERT INTO readings (ROWTIME, k, v) VALUES (12001, 'e', 300);
INSERT INTO readings (ROWTIME, k, id, v) VALUES (12001, 'f', 2, 21);
INSERT INTO readings (ROWTIME, k, id, v) VALUES (1500, 'g', 3, 30);
INSERT INTO readings (ROWTIME, k, id, v) VALUES (1600, 'h', 3, 31);
INSERT INTO readings (ROWTIME, k, id, v) VALUES (22000, 'i', 1, 4);
INSERT INTO readings (ROWTIME, k, id, v) VALUES (60000, 'j', 9, 90);
INSERT INTO readings (ROWTIME, k, id, v) VALUES (60000, 'k', 1, 5);
INSERT INTO readings (ROWTIME, k, id, v) VALUES (99000, 'l', 9, 91);
--@output VISITS ordered
-- k | v   | next | before | n | lately
-- a | 1   | 2    | NULL   | 1 | 1
-- c | 2   | 3    | 1      | 2 | 2
-- b | 20  | -1   | NULL   | 1 | 1
-- g | 30  | -1   | NULL   | 1 | 1
-- h | 31  | -1   | NULL   | 1 | 1
-- d | 3   | -1   | 2      | 3 | 2
-- e | 300 | -1   | NULL   | 1 | 1
-- f | 21  | -1   | NULL   | 1 | 1
-- i | 4   | -1   | NULL   | 1 | 1
-- j | 90  | -1   | NULL   | 1 | 1
-- k | 5   | -1   | NULL   | 1 | 1
