-- 0.0 and -0.0 are equal, so they are one group, one key and one row; NaN is one, too.
CREATE STREAM s (k STRING KEY, d DOUBLE, v INT) WITH (KAFKA_TOPIC = '${case}_s', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
INSERT INTO s (ROWTIME, k, d, v) VALUES (1, 'a', 0.0, 1);
INSERT INTO s (ROWTIME, k, d, v) VALUES (2, 'b', -0.0, 2);
INSERT INTO s (ROWTIME, k, d, v) VALUES (3, 'c', 1.5, 3);
INSERT INTO s (ROWTIME, k, d, v) VALUES (4, 'd', -0.0, 4);

--@test: groups, DISTINCT ON and new keys
CREATE TABLE counts AS SELECT d, COUNT(*) AS n, COUNT(DISTINCT d) AS different FROM s GROUP BY d;
CREATE TABLE all_ AS SELECT 1 AS one, COUNT(DISTINCT d) AS n, COLLECT_SET(d) AS ds, COUNT(DISTINCT d * SQRT(-1.0)) AS nans FROM s GROUP BY 1;
CREATE STREAM firsts AS SELECT DISTINCT ON (d) k, v FROM s WITHIN 1 HOUR;
CREATE STREAM keyed AS SELECT d, v FROM s PARTITION BY d;
CREATE STREAM running AS SELECT k, COUNT(*) OVER (PARTITION BY d ORDER BY ROWTIME) AS n FROM s;
--@output COUNTS folded
-- d   | n | different
-- 0.0 | 3 | 1
-- 1.5 | 1 | 1
--@output ALL_ folded
-- one | n | ds         | nans
-- 1   | 2 | [0.0, 1.5] | 1
--@output FIRSTS rowsort
-- k | v
-- a | 1
-- c | 3
--@output KEYED rowsort
-- d   | v
-- 0.0 | 1
-- 0.0 | 2
-- 0.0 | 4
-- 1.5 | 3
--@output RUNNING rowsort
-- k | n
-- a | 1
-- b | 2
-- c | 1
-- d | 3

--@test: joins, tables and look-ups
CREATE TABLE t (d DOUBLE PRIMARY KEY, w STRING) WITH (KAFKA_TOPIC = '${case}_t', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE TABLE copy AS SELECT d, w FROM t;
INSERT INTO t (ROWTIME, d, w) VALUES (0, -0.0, 'zero');
CREATE STREAM joined AS SELECT s.k AS k, s.d AS d, t.w AS w FROM s JOIN t ON s.d = t.d;
--@output JOINED rowsort
-- d   | k | w
-- 0.0 | a | zero
-- 0.0 | b | zero
-- 0.0 | d | zero
--@output COPY folded
-- d   | w
-- 0.0 | zero
SELECT * FROM copy WHERE d = 0.0;
--@rows
-- d   | w
-- 0.0 | zero
SELECT * FROM copy WHERE d = -0.0;
--@rows
-- d   | w
-- 0.0 | zero
