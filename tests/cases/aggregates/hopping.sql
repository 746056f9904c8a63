-- Hopping windows with EMIT FINAL: they share slices of the state.
--@server: ksql.logging.processing.topic.name = ${case}_log
--@server: ksql.logging.processing.topic.auto.create = true
--@server: ksql.logging.processing.stream.auto.create = true
--@server: ksql.logging.processing.rows.include = true
CREATE STREAM s (k STRING KEY, v INT, d DOUBLE)
  WITH (KAFKA_TOPIC = '${case}_s', VALUE_FORMAT = 'JSON', PARTITIONS = 1);

--@test: windows that end inside others, HAVING, a restart in the middle of windows, a pull query
CREATE TABLE hops AS
  SELECT k, COUNT(*) AS n, SUM(v) AS total, MIN(v) AS least, AVG(d) AS mean FROM s
  WINDOW HOPPING (SIZE 9 SECONDS, ADVANCE BY 6 SECONDS, GRACE PERIOD 3 SECONDS)
  GROUP BY k HAVING COUNT(*) > 1 EMIT FINAL;
INSERT INTO s (ROWTIME, k, v, d) VALUES (5000, 'x', 1, 0.5);
INSERT INTO s (ROWTIME, k, v, d) VALUES (8000, 'x', 2, 1.5);
INSERT INTO s (ROWTIME, k, v) VALUES (9000, 'x', 4);
INSERT INTO s (ROWTIME, k, v, d) VALUES (7000, 'y', 8, 2.5);
INSERT INTO s (ROWTIME, k, v, d) VALUES (12000, 'x', 16, 3.5);
--@output HOPS ordered
-- rowtime | k | windowstart | windowend | n | total | least | mean
-- 8000    | x | 0           | 9000      | 2 | 3     | 1     | 1.0
--@restart
INSERT INTO s (ROWTIME, k, v, d) VALUES (7000, 'y', 32, 4.5);
INSERT INTO s (ROWTIME, k, v, d) VALUES (5000, 'y', 64, 4.5);
INSERT INTO s (ROWTIME, k, v, d) VALUES (18000, 'y', 1, 1.0);
INSERT INTO s (ROWTIME, k, v, d) VALUES (90000, 'x', 1, 1.0);
--@output HOPS ordered
-- k | windowstart | windowend | n | total | least | mean
-- x | 6000        | 15000     | 3 | 22    | 2     | 2.5
-- y | 6000        | 15000     | 2 | 40    | 8     | 3.5

SELECT k, windowstart, windowend, n, total FROM hops WHERE k = 'x';
--@rows
-- k | windowstart | windowend | n | total
-- x | 0           | 9000      | 2 | 3
-- x | 6000        | 15000     | 3 | 22

--@test: a late row is reported with the window that it came too late for, and put back; a forgotten key is in no window
CREATE TABLE hops AS
  SELECT k, COUNT(*) AS n, SUM(v) AS total FROM s
  WINDOW HOPPING (SIZE 10 SECONDS, ADVANCE BY 5 SECONDS, GRACE PERIOD 0 SECONDS) GROUP BY k EMIT FINAL;
CREATE STREAM late AS
  SELECT key, offset, window_start, window_end, grace_ms FROM LATE ROWS OF CTAS_HOPS_2 EMIT CHANGES;
INSERT INTO s (ROWTIME, k, v) VALUES (1000, 'x', 1);
INSERT INTO s (ROWTIME, k, v) VALUES (1000, 'z', 1);
INSERT INTO s (ROWTIME, k, v) VALUES (16000, 'y', 2);
INSERT INTO s (ROWTIME, k, v) VALUES (16000, 'z', 16);
INSERT INTO s (ROWTIME, k, v) VALUES (11000, 'x', 8);
INSERT INTO s (ROWTIME, k, v) VALUES (2000, 'x', 4);
--@output LATE ordered
-- key       | offset | window_start            | window_end              | grace_ms
-- {"K":"x"} | 5      | 1970-01-01T00:00:00.000 | 1970-01-01T00:00:10.000 | 6001

--@output HOPS ordered
-- k | windowstart | windowend | n | total
-- x | 0           | 10000     | 1 | 1
-- z | 0           | 10000     | 1 | 1

REPLAY LATE ROWS OF CTAS_HOPS_2;
FORGET FROM hops WHERE k = 'z';
INSERT INTO s (ROWTIME, k, v) VALUES (50000, 'x', 1);
--@output HOPS folded
-- k | windowstart | windowend | n | total
-- x | 0           | 10000     | 2 | 5
-- x | 10000       | 20000     | 1 | 8
-- y | 10000       | 20000     | 1 | 2
-- y | 15000       | 25000     | 1 | 2

--@test: a new version in place keeps the slices; an aggregate that depends on the order of rows does not fit
CREATE TABLE hops AS
  SELECT k, COUNT(*) AS n FROM s WINDOW HOPPING (SIZE 10 SECONDS, ADVANCE BY 5 SECONDS, GRACE PERIOD 5 SECONDS)
  GROUP BY k EMIT FINAL;
INSERT INTO s (ROWTIME, k, v) VALUES (1000, 'x', 1);
INSERT INTO s (ROWTIME, k, v) VALUES (11000, 'x', 1);
INSERT INTO s (ROWTIME, k, v) VALUES (16000, 'x', 1);
--@output HOPS ordered
-- k | windowstart | windowend | n
-- x | 0           | 10000     | 1
CREATE OR REPLACE TABLE hops WITH (EVOLVE = 'in-place') AS
  SELECT k, COUNT(*) AS n, LATEST_BY_OFFSET(v) AS v FROM s
  WINDOW HOPPING (SIZE 10 SECONDS, ADVANCE BY 5 SECONDS, GRACE PERIOD 5 SECONDS) GROUP BY k EMIT FINAL;
--@error: INVALID_STATEMENT
-- HOPS cannot evolve in place: its windows share parts of the state, of which LATEST_BY_OFFSET(V) cannot be made. WITH (EVOLVE = 'backfill') changes more: EXPLAIN EVOLUTION tells how.
-- line 1:1
--   CREATE OR REPLACE TABLE hops WITH (EVOLVE = 'in-place') AS
--   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

CREATE OR REPLACE TABLE hops WITH (EVOLVE = 'in-place') AS
  SELECT k, COUNT(*) AS n, SUM(v) AS total FROM s
  WINDOW HOPPING (SIZE 10 SECONDS, ADVANCE BY 5 SECONDS, GRACE PERIOD 0 SECONDS) GROUP BY k EMIT FINAL;
INSERT INTO s (ROWTIME, k, v) VALUES (12000, 'x', 2);
INSERT INTO s (ROWTIME, k, v) VALUES (50000, 'x', 4);
--@output HOPS ordered
-- k | windowstart | windowend | n | total
-- x | 5000        | 15000     | 1 | 0
-- x | 10000       | 20000     | 3 | 2
-- x | 15000       | 25000     | 1 | 0
