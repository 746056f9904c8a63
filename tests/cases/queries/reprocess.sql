-- REPROCESS: rows of closed windows are computed again (beyond ksqlDB).

--@test: hopping windows with EMIT FINAL and HAVING; keys and times; the revision is in a header
CREATE STREAM s (k STRING KEY, a INT)
  WITH (KAFKA_TOPIC = '${case}_s', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE TABLE hops WITH (KEY_FORMAT = 'JSON', KAFKA_TOPIC = '${case}_hops') AS
  SELECT k, a % 2 AS odd, SUM(a) AS total, AS_VALUE(k) AS who FROM s
  WINDOW HOPPING (SIZE 10 SECONDS, ADVANCE BY 5 SECONDS, GRACE PERIOD 0 SECONDS)
  GROUP BY k, a % 2 HAVING SUM(a) > 2 EMIT FINAL;
CREATE STREAM revisions (who STRING, total INT, revision BYTES HEADER('ksql.revision'))
  WITH (KAFKA_TOPIC = '${case}_hops', VALUE_FORMAT = 'JSON');
CREATE STREAM shown AS SELECT who, total, FROM_BYTES(revision, 'utf8') AS revision FROM revisions;
INSERT INTO s (ROWTIME, k, a) VALUES (1000, 'x', 3);
INSERT INTO s (ROWTIME, k, a) VALUES (31000, 'x', 1);
INSERT INTO s (ROWTIME, k, a) VALUES (2000, 'x', 5);
INSERT INTO s (ROWTIME, k, a) VALUES (2000, 'y', 7);
INSERT INTO s (ROWTIME, k, a) VALUES (6000, 'y', 8);
INSERT INTO s (ROWTIME, k, a) VALUES (90000, 'x', 1);
INSERT INTO s (ROWTIME, k, a) VALUES (190000, 'x', 9);
--@output HOPS ordered
-- k | odd | windowstart | windowend | total | who
-- x | 1   | 0           | 10000     | 3     | x
REPROCESS hops WHERE k = 'z';
REPROCESS hops WHERE k = 'x' FROM '1970-01-01T00:00:00' TO '1970-01-01T00:00:01.500' WITH (PREVIEW = true);
REPROCESS hops WHERE k = 'x' FROM 1000 TO 2000;
--@output HOPS ordered
-- k | odd | windowstart | windowend | total | who
-- x | 1   | 0           | 10000     | 8     | x
REPROCESS hops WHERE windowstart < 5000;
REPROCESS hops;
INSERT INTO s (ROWTIME, k, a) VALUES (290000, 'x', 9);
--@output HOPS ordered
-- k | odd | windowstart | windowend | total | who
-- y | 1   | 0           | 10000     | 7     | y
-- y | 0   | 0           | 10000     | 8     | y
-- y | 0   | 5000        | 15000     | 8     | y
-- x | 1   | 185000      | 195000    | 9     | x
-- x | 1   | 190000      | 200000    | 9     | x
--@output SHOWN ordered
-- who | total | revision
-- x   | 3     | NULL
-- x   | 8     | 2
-- y   | 7     | NULL
-- y   | 8     | NULL
-- y   | 8     | NULL
-- x   | 9     | NULL
-- x   | 9     | NULL

--@test: four partitions, values in the order of their arrival, keys that are no columns
CREATE STREAM s (id INT KEY, who STRING, a INT)
  WITH (KAFKA_TOPIC = '${case}_s', VALUE_FORMAT = 'JSON', PARTITIONS = 4);
CREATE TABLE towns AS
  SELECT UCASE(who) AS town, LATEST_BY_OFFSET(a) AS last, COLLECT_LIST(a) AS all_of, COUNT(*) AS n
  FROM s WINDOW TUMBLING (SIZE 10 SECONDS, GRACE PERIOD 0 SECONDS)
  GROUP BY UCASE(who) EMIT CHANGES;
INSERT INTO s (ROWTIME, id, who, a) VALUES (1000, 1, 'ann', 1);
INSERT INTO s (ROWTIME, id, who, a) VALUES (1500, 1, 'bob', 2);
INSERT INTO s (ROWTIME, id, who, a) VALUES (31000, 1, 'ann', 3);
INSERT INTO s (ROWTIME, id, who, a) VALUES (31500, 1, 'bob', 4);
--@output TOWNS rowsort
-- town | windowstart | windowend | last | all_of | n
-- ANN  | 0           | 10000     | 1    | [1]    | 1
-- ANN  | 30000       | 40000     | 3    | [3]    | 1
-- BOB  | 0           | 10000     | 2    | [2]    | 1
-- BOB  | 30000       | 40000     | 4    | [4]    | 1
INSERT INTO s (ROWTIME, id, who, a) VALUES (2000, 1, 'ann', 5);
INSERT INTO s (ROWTIME, id, who, a) VALUES (2500, 1, 'bob', 6);
INSERT INTO s (ROWTIME, id, who, a) VALUES (2600, 1, NULL, 7);
INSERT INTO s (ROWTIME, id, who, a) VALUES (32000, 1, 'ann', 8);
--@output TOWNS rowsort
-- town | windowstart | windowend | last | all_of | n
-- ANN  | 30000       | 40000     | 8    | [3, 8] | 2
REPROCESS towns FROM 0 TO 10000;
INSERT INTO s (ROWTIME, id, who, a) VALUES (33000, 1, 'ann', 9);
--@output TOWNS rowsort
-- town | windowstart | windowend | last | all_of    | n
-- ANN  | 0           | 10000     | 5    | [1, 5]    | 2
-- ANN  | 30000       | 40000     | 9    | [3, 8, 9] | 3
-- BOB  | 0           | 10000     | 6    | [2, 6]    | 2

--@test: what cannot be computed again
CREATE STREAM s (k STRING KEY, a INT)
  WITH (KAFKA_TOPIC = '${case}_s', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE STREAM copies AS SELECT * FROM s;
CREATE TABLE sums AS SELECT k, SUM(a) AS total FROM s GROUP BY k;
CREATE TABLE visits AS SELECT k, COUNT(*) AS n FROM s WINDOW SLIDING (SIZE 5 SECONDS) GROUP BY k;
CREATE TABLE w AS SELECT k, COUNT(*) AS n FROM s WINDOW TUMBLING (SIZE 5 SECONDS) GROUP BY k;
CREATE TABLE joined AS SELECT s.k, COUNT(*) AS n FROM s JOIN sums ON s.k = sums.k WINDOW TUMBLING (SIZE 5 SECONDS) GROUP BY s.k;
REPROCESS copies;
--@error: INVALID_STATEMENT
-- REPROCESS is for tables: rows that the stream COPIES has written cannot be taken back.
-- line 1:1
--   REPROCESS copies
--   ^^^^^^^^^^^^^^^^
REPROCESS sums;
--@error: INVALID_STATEMENT
-- REPROCESS computes rows of closed windows again: those of a GROUP BY of one stream in SESSION windows, or TUMBLING or HOPPING windows of a fixed size. CREATE OR REPLACE TABLE SUMS WITH (EVOLVE = 'backfill') AS the same SELECT computes all rows of the records that are there, and writes those that differ.
-- line 1:1
--   REPROCESS sums
--   ^^^^^^^^^^^^^^
REPLAY LATE ROWS OF CTAS_SUMS_2;
--@error: INVALID_STATEMENT
-- REPLAY LATE ROWS computes rows of closed windows again: those of a GROUP BY of one stream in SESSION windows, or TUMBLING or HOPPING windows of a fixed size. CREATE OR REPLACE TABLE SUMS WITH (EVOLVE = 'backfill') AS the same SELECT computes all rows of the records that are there, and writes those that differ.
-- line 1:1
--   REPLAY LATE ROWS OF CTAS_SUMS_2
--   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
REPROCESS visits;
--@error: INVALID_STATEMENT
-- REPROCESS computes rows of closed windows again: those of a GROUP BY of one stream in SESSION windows, or TUMBLING or HOPPING windows of a fixed size. CREATE OR REPLACE TABLE VISITS WITH (EVOLVE = 'backfill') AS the same SELECT computes all rows of the records that are there, and writes those that differ.
-- line 1:1
--   REPROCESS visits
--   ^^^^^^^^^^^^^^^^
REPROCESS joined;
--@error: INVALID_STATEMENT
-- REPROCESS computes rows of closed windows again: those of a GROUP BY of one stream in SESSION windows, or TUMBLING or HOPPING windows of a fixed size. CREATE OR REPLACE TABLE JOINED WITH (EVOLVE = 'backfill') AS the same SELECT computes all rows of the records that are there, and writes those that differ.
-- line 1:1
--   REPROCESS joined
--   ^^^^^^^^^^^^^^^^
REPROCESS w WHERE n > 1;
--@error: INVALID_STATEMENT
-- WHERE of REPROCESS may name K, WINDOWSTART, WINDOWEND only.
-- line 1:19
--   REPROCESS w WHERE n > 1
--                     ^^^^^
REPROCESS w FROM 10 TO 5;
--@error: INVALID_STATEMENT
-- REPROCESS ends before it begins.
-- line 1:24
--   REPROCESS w FROM 10 TO 5
--                          ^
REPROCESS w FROM 'soon';
--@error: INVALID_STATEMENT
-- Expected an ISO 8601 time or milliseconds since 1970, got 'soon'. A TIMESTAMP is written as 2020-02-23T23:45:10.250, UTC or with a zone such as +02:00; parts at its end may be missing.
-- line 1:18
--   REPROCESS w FROM 'soon'
--                    ^^^^^^
REPROCESS s;
--@error: INVALID_STATEMENT
-- No query writes S: its rows are the records of its topic. PRINT shows them.
-- line 1:11
--   REPROCESS s
--             ^
REPROCESS nothing;
--@error: SOURCE_UNKNOWN
-- Stream or table does not exist: NOTHING. SHOW STREAMS and SHOW TABLES list all of them.
-- line 1:11
--   REPROCESS nothing
--             ^^^^^^^
REPLAY LATE ROWS OF CTAS_W_9;
--@error: QUERY_UNKNOWN
-- Unknown queryId: CTAS_W_9. Did you mean CTAS_W_4?
-- line 1:8
--   REPLAY LATE ROWS OF CTAS_W_9
--          ^^^^^^^^^^^^^^^^^^^^^
