-- OVER, DISTINCT ON and Top-N in twelve partitions, with NULLs, and while they are replaced.
CREATE STREAM s (k STRING KEY, g STRING, v INT, d DOUBLE)
  WITH (KAFKA_TOPIC = '${case}_s', VALUE_FORMAT = 'JSON', PARTITIONS = 12);

--@test: twelve partitions, NULLs everywhere, equal times
CREATE STREAM firsts AS SELECT DISTINCT ON (g, v) k, g, v FROM s WITHIN 1 HOUR EMIT CHANGES;
CREATE STREAM lags AS
  SELECT k, g, v, LAG(v) OVER (PARTITION BY k ORDER BY ROWTIME) AS before,
   SUM(v) OVER (PARTITION BY k ORDER BY ROWTIME) AS total FROM s WHERE k IS NOT NULL EMIT CHANGES;
CREATE TABLE best WITH (KEY_FORMAT = 'JSON') AS
  SELECT k, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v DESC) AS place, g, v FROM s QUALIFY place <= 2 EMIT CHANGES;
CREATE TABLE best_g WITH (KEY_FORMAT = 'JSON') AS
  SELECT g, ROW_NUMBER() OVER (PARTITION BY g ORDER BY d DESC NULLS FIRST, v) AS place, k, v, d FROM s QUALIFY place <= 2 EMIT CHANGES;
INSERT INTO s (ROWTIME, k, g, v, d) VALUES (1000, 'a', 'x', 1, 1.5);
INSERT INTO s (ROWTIME, k, g, v, d) VALUES (2000, 'b', 'x', 1, -0.0);
INSERT INTO s (ROWTIME, k, g, v, d) VALUES (3000, 'a', NULL, 2, 0.0);
INSERT INTO s (ROWTIME, g, v) VALUES (4000, 'x', 3);
INSERT INTO s (ROWTIME, k, g) VALUES (5000, 'c', 'y');
INSERT INTO s (ROWTIME, k) VALUES (6000, 'c');
INSERT INTO s (ROWTIME, k, g, v, d) VALUES (7000, 'a', 'y', 3, NULL);
INSERT INTO s (ROWTIME, k, g, v, d) VALUES (8000, 'a', NULL, 2, 9.0);
INSERT INTO s (ROWTIME, k, g, v, d) VALUES (9000, 'e', 'y', 1, 0.0);
INSERT INTO s (ROWTIME, k, g, v, d) VALUES (9000, 'e', 'y', 0, -0.0);
INSERT INTO s (ROWTIME, k, g, v, d) VALUES (9500, 'a', 'z', NULL, 9.0);
--@output FIRSTS rowsort
-- k    | g    | v
-- NULL | x    | 3
-- a    | NULL | 2
-- a    | x    | 1
-- a    | y    | 3
-- a    | z    | NULL
-- c    | NULL | NULL
-- c    | y    | NULL
-- e    | y    | 0
-- e    | y    | 1
--@output LAGS rowsort
-- k | g    | v
-- a | NULL | 2
-- a | NULL | 2
-- a | x    | 1
-- a | y    | 3
-- a | z    | NULL
-- b | x    | 1
-- c | NULL | NULL
-- c | y    | NULL
-- e | y    | 0
-- e | y    | 1
--@output BEST folded
-- k | place | g    | v
-- a | 1     | y    | 3
-- a | 2     | NULL | 2
-- b | 1     | x    | 1
-- c | 1     | y    | NULL
-- c | 2     | NULL | NULL
-- e | 1     | y    | 1
-- e | 2     | y    | 0
--@output BEST_G folded
-- g | place | k    | v    | d
-- x | 1     | NULL | 3    | NULL
-- x | 2     | a    | 1    | 1.5
-- y | 1     | a    | 3    | NULL
-- y | 2     | c    | NULL | NULL
-- z | 1     | a    | NULL | 9.0

--@test: more columns while they run; not for rows that have been kept before the source had a column
CREATE STREAM firsts AS SELECT DISTINCT ON (g) k, g, v FROM s WITHIN 1 HOUR EMIT CHANGES;
CREATE STREAM lags AS SELECT k, v, LAG(v) OVER (PARTITION BY g ORDER BY ROWTIME) AS before FROM s EMIT CHANGES;
CREATE STREAM leads AS SELECT k, v, LEAD(v) OVER (PARTITION BY g ORDER BY ROWTIME) AS next FROM s EMIT CHANGES;
CREATE TABLE best WITH (KEY_FORMAT = 'JSON') AS
  SELECT g, ROW_NUMBER() OVER (PARTITION BY g ORDER BY v DESC) AS place, k, v FROM s QUALIFY place <= 2 EMIT CHANGES;
INSERT INTO s (ROWTIME, k, g, v, d) VALUES (1000, 'a', 'x', 1, 1.5);
INSERT INTO s (ROWTIME, k, g, v, d) VALUES (2000, 'b', 'x', 2, 2.5);
--@output FIRSTS rowsort
-- k | g | v
-- a | x | 1
--@output LAGS rowsort
-- k | v | before
-- a | 1 | NULL
-- b | 2 | 1
--@output LEADS rowsort
-- k | v | next
-- a | 1 | 2
--@output BEST folded
-- g | place | k | v
-- x | 1     | b | 2
-- x | 2     | a | 1
CREATE OR REPLACE STREAM firsts AS SELECT DISTINCT ON (g) k, g, v, d, ROWTIME AS t FROM s WITHIN 1 HOUR EMIT CHANGES;
CREATE OR REPLACE STREAM lags AS
  SELECT k, v, LAG(v) OVER (PARTITION BY g ORDER BY ROWTIME) AS before, d, ROWTIME AS t FROM s EMIT CHANGES;
CREATE OR REPLACE STREAM leads AS
  SELECT k, v, LEAD(v) OVER (PARTITION BY g ORDER BY ROWTIME) AS next, d, ROWTIME AS t FROM s EMIT CHANGES;
CREATE OR REPLACE TABLE best WITH (KEY_FORMAT = 'JSON') AS
  SELECT g, ROW_NUMBER() OVER (PARTITION BY g ORDER BY v DESC) AS place, k, v, d, ROWTIME AS t FROM s QUALIFY place <= 2 EMIT CHANGES;
INSERT INTO s (ROWTIME, k, g, v, d) VALUES (3000, 'a', 'x', 3, 3.5);
INSERT INTO s (ROWTIME, k, g, v, d) VALUES (4000, 'a', 'y', 1, 4.5);
--@output FIRSTS rowsort
-- k | g | v
-- a | y | 1
--@output LAGS rowsort
-- k | v | before
-- a | 1 | NULL
-- a | 3 | 2
--@output LEADS rowsort
-- k | v | next
-- b | 2 | 3
--@output BEST folded
-- g | place | k | v
-- x | 1     | a | 3
-- x | 2     | b | 2
-- y | 1     | a | 1
SELECT g, place, d, t FROM best;
--@rows rowsort
-- g | place | d   | t
-- x | 1     | 3.5 | 3000
-- x | 2     | 2.5 | 2000
-- y | 1     | 4.5 | 4000
ALTER STREAM s ADD COLUMN e INT;
CREATE OR REPLACE STREAM lags AS
  SELECT k, v, LAG(v) OVER (PARTITION BY g ORDER BY ROWTIME) AS before, d, ROWTIME AS t, e FROM s EMIT CHANGES;
CREATE OR REPLACE STREAM leads AS
  SELECT k, v, LEAD(v) OVER (PARTITION BY g ORDER BY ROWTIME) AS next, d, ROWTIME AS t, e FROM s EMIT CHANGES;
--@error: INVALID_STATEMENT
CREATE OR REPLACE TABLE best WITH (KEY_FORMAT = 'JSON') AS
  SELECT g, ROW_NUMBER() OVER (PARTITION BY g ORDER BY v DESC) AS place, k, v, d, ROWTIME AS t, e FROM s QUALIFY place <= 2 EMIT CHANGES;
--@error: INVALID_STATEMENT
INSERT INTO s (ROWTIME, k, g, v, d, e) VALUES (5000, 'c', 'x', 4, 1.5, 7);
--@output LAGS rowsort
-- k | v | before
-- c | 4 | 3
--@output LEADS rowsort
-- k | v | next
-- a | 3 | 4
--@output BEST folded
-- g | place | k | v
-- x | 1     | c | 4
-- x | 2     | a | 3
-- y | 1     | a | 1

--@test: the best rows of a table that is changed by UPDATE and DELETE
CREATE TABLE t (id INT PRIMARY KEY, g STRING, v INT, ok BOOLEAN)
  WITH (KAFKA_TOPIC = '${case}_t', VALUE_FORMAT = 'JSON', PARTITIONS = 4);
CREATE TABLE best WITH (KEY_FORMAT = 'JSON') AS
  SELECT g, ROW_NUMBER() OVER (PARTITION BY g ORDER BY v DESC) AS place, id, v FROM t WHERE ok OR ok IS NULL QUALIFY place <= 2 EMIT CHANGES;
INSERT INTO t (id, g, v, ok) VALUES (1, 'a', 1, true);
INSERT INTO t (id, g, v, ok) VALUES (2, 'a', 2, true);
INSERT INTO t (id, g, v, ok) VALUES (3, 'a', 3, NULL);
INSERT INTO t (id, g, v, ok) VALUES (4, NULL, 9, true);
INSERT INTO t (id, g, v, ok) VALUES (5, 'b', NULL, false);
INSERT INTO t (id, g, v, ok) VALUES (3, NULL, 3, NULL);
INSERT INTO t (id, g, v, ok) VALUES (4, 'a', 4, true);
INSERT INTO t (id, g, v, ok) VALUES (4, 'a', 4, false);
INSERT INTO t (id, g, v, ok) VALUES (5, 'b', 7, true);
INSERT INTO t (id, g, v, ok) VALUES (2, 'a', 2, NULL);
INSERT INTO t (id, g, v, ok) VALUES (6, 'a', 2, true);
INSERT INTO t (id, g, v, ok) VALUES (1, 'a', 3, true);
UPDATE t SET v = 12 WHERE id = 2;
DELETE FROM t WHERE id = 3;
UPDATE t SET g = NULL WHERE id = 2;
DELETE FROM t WHERE id = 5;
INSERT INTO t (id, g, v, ok) VALUES (7, 'c', 2, true);
--@output BEST folded
-- g | place | id | v
-- a | 1     | 1  | 3
-- a | 2     | 6  | 2
-- c | 1     | 7  | 2
