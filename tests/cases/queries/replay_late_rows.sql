-- REPLAY LATE ROWS: what came too late is put back, for its keys and windows only (beyond ksqlDB).
--@server: ksql.logging.processing.topic.name = ${case}_log
--@server: ksql.logging.processing.topic.auto.create = true
--@server: ksql.logging.processing.stream.auto.create = true
--@server: ksql.logging.processing.rows.include = true

--@test: hopping windows: the keys of the selected rows; HAVING that is not true any more
CREATE STREAM s (k STRING KEY, a INT)
  WITH (KAFKA_TOPIC = '${case}_s', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE TABLE hops AS
  SELECT k, COUNT(*) AS n, SUM(a) AS total FROM s
  WINDOW HOPPING (SIZE 10 SECONDS, ADVANCE BY 5 SECONDS, GRACE PERIOD 0 SECONDS)
  GROUP BY k HAVING SUM(a) > 0 EMIT CHANGES;
CREATE STREAM late AS SELECT offset, key FROM LATE ROWS OF CTAS_HOPS_2 EMIT CHANGES;
INSERT INTO s (ROWTIME, k, a) VALUES (6000, 'x', 1);
INSERT INTO s (ROWTIME, k, a) VALUES (6000, 'y', 1);
INSERT INTO s (ROWTIME, k, a) VALUES (6000, 'z', 1);
INSERT INTO s (ROWTIME, k, a) VALUES (31000, 'x', 1);
INSERT INTO s (ROWTIME, k, a) VALUES (7000, 'x', 2);
INSERT INTO s (ROWTIME, k, a) VALUES (7000, 'y', 3);
INSERT INTO s (ROWTIME, k, a) VALUES (11000, 'z', -1);
--@output LATE ordered
-- offset | key
-- 4      | {"K":"x"}
-- 5      | {"K":"y"}
-- 6      | {"K":"z"}
REPLAY LATE ROWS OF CTAS_HOPS_2 WHERE offset = 4;
--@output HOPS ordered
-- k | windowstart | windowend | n | total
-- x | 0           | 10000     | 1 | 1
-- x | 5000        | 15000     | 1 | 1
-- y | 0           | 10000     | 1 | 1
-- y | 5000        | 15000     | 1 | 1
-- z | 0           | 10000     | 1 | 1
-- z | 5000        | 15000     | 1 | 1
-- x | 25000       | 35000     | 1 | 1
-- x | 30000       | 40000     | 1 | 1
-- x | 0           | 10000     | 2 | 3
-- x | 5000        | 15000     | 2 | 3
REPLAY LATE ROWS OF CTAS_HOPS_2 WHERE offset = 6;
REPLAY LATE ROWS OF CTAS_HOPS_2 WITH (PREVIEW = true);
REPLAY LATE ROWS OF CTAS_HOPS_2;
REPLAY LATE ROWS OF CTAS_HOPS_2;
INSERT INTO s (ROWTIME, k, a) VALUES (36000, 'x', 1);
--@output HOPS rowsort
-- k | windowstart | windowend | n         | total
-- z | 5000        | 15000     | <deleted> | <deleted>
-- y | 5000        | 15000     | 2         | 4
-- y | 0           | 10000     | 2         | 4
-- x | 30000       | 40000     | 2         | 2
-- x | 35000       | 45000     | 1         | 1

--@test: sessions of four partitions: a late row joins two that are closed; one reaches an open session
CREATE STREAM s (k STRING KEY, g INT, a INT)
  WITH (KAFKA_TOPIC = '${case}_s', VALUE_FORMAT = 'JSON', PARTITIONS = 4);
CREATE TABLE visits AS
  SELECT g, COUNT(*) AS n, COLLECT_LIST(a) AS all_of, WINDOWSTART AS began FROM s
  WINDOW SESSION (5 SECONDS, GRACE PERIOD 0 SECONDS) GROUP BY g EMIT CHANGES;
CREATE STREAM late AS SELECT offset, key FROM LATE ROWS OF CTAS_VISITS_2 EMIT CHANGES;
INSERT INTO s (ROWTIME, k, g, a) VALUES (1000, 'k', 1, 1);
INSERT INTO s (ROWTIME, k, g, a) VALUES (9000, 'k', 1, 2);
INSERT INTO s (ROWTIME, k, g, a) VALUES (20000, 'k', 1, 3);
INSERT INTO s (ROWTIME, k, g, a) VALUES (40000, 'k', 1, 4);
INSERT INTO s (ROWTIME, k, g, a) VALUES (5000, 'k', 1, 5);
INSERT INTO s (ROWTIME, k, g, a) VALUES (30000, 'k', 1, 6);
INSERT INTO s (ROWTIME, k, g, a) VALUES (34000, 'k', 1, 7);
INSERT INTO s (ROWTIME, k, g, a) VALUES (36000, 'k', 1, 8);
INSERT INTO s (ROWTIME, k, g, a) VALUES (1000, 'k', 2, 9);
--@output LATE rowsort
-- offset | key
-- 4      | {"G":1}
-- 5      | {"G":1}
-- 6      | {"G":1}
--@output VISITS rowsort
-- g | windowstart | windowend | n         | all_of    | began
-- 1 | 1000        | 1000      | 1         | [1]       | 1000
-- 1 | 20000       | 20000     | 1         | [3]       | 20000
-- 1 | 36000       | 40000     | 2         | [4, 8]    | 36000
-- 1 | 40000       | 40000     | 1         | [4]       | 40000
-- 1 | 40000       | 40000     | <deleted> | <deleted> | <deleted>
-- 1 | 9000        | 9000      | 1         | [2]       | 9000
-- 2 | 1000        | 1000      | 1         | [9]       | 1000
REPLAY LATE ROWS OF CTAS_VISITS_2;
INSERT INTO s (ROWTIME, k, g, a) VALUES (41000, 'k', 1, 10);
--@output VISITS rowsort
-- g | windowstart | windowend | n         | all_of     | began
-- 1 | 1000        | 1000      | <deleted> | <deleted>  | <deleted>
-- 1 | 1000        | 9000      | 3         | [1, 2, 5]  | 1000
-- 1 | 36000       | 40000     | <deleted> | <deleted>  | <deleted>
-- 1 | 36000       | 41000     | 3         | [4, 8, 10] | 36000
-- 1 | 9000        | 9000      | <deleted> | <deleted>  | <deleted>
REPLAY LATE ROWS OF CTAS_VISITS_2;
INSERT INTO s (ROWTIME, k, g, a) VALUES (90000, 'k', 1, 11);
INSERT INTO s (ROWTIME, k, g, a) VALUES (140000, 'k', 1, 12);
REPLAY LATE ROWS OF CTAS_VISITS_2;
REPLAY LATE ROWS OF CTAS_VISITS_2;
REPROCESS visits;
INSERT INTO s (ROWTIME, k, g, a) VALUES (141000, 'k', 1, 13);
--@output VISITS rowsort
-- g | windowstart | windowend | n         | all_of           | began
-- 1 | 140000      | 140000    | 1         | [12]             | 140000
-- 1 | 140000      | 140000    | <deleted> | <deleted>        | <deleted>
-- 1 | 140000      | 141000    | 2         | [12, 13]         | 140000
-- 1 | 30000       | 41000     | 5         | [4, 6, 7, 8, 10] | 30000
-- 1 | 36000       | 41000     | <deleted> | <deleted>        | <deleted>
-- 1 | 90000       | 90000     | 1         | [11]             | 90000

--@test: REPROCESS of sessions: keys and times; records that make no session any more
CREATE STREAM s (k STRING KEY, a INT)
  WITH (KAFKA_TOPIC = '${case}_s', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE TABLE visits AS
  SELECT k, COUNT(*) AS n FROM s
  WINDOW SESSION (5 SECONDS, GRACE PERIOD 1 SECOND) GROUP BY k EMIT FINAL;
INSERT INTO s (ROWTIME, k, a) VALUES (1000, 'x', 1);
INSERT INTO s (ROWTIME, k, a) VALUES (1000, 'y', 1);
INSERT INTO s (ROWTIME, k, a) VALUES (50000, 'x', 2);
INSERT INTO s (ROWTIME, k, a) VALUES (2000, 'x', 3);
INSERT INTO s (ROWTIME, k, a) VALUES (2000, 'y', 3);
INSERT INTO s (ROWTIME, k, a) VALUES (20000, 'y', 4);
--@output VISITS ordered
-- k | windowstart | windowend | n
-- x | 1000        | 1000      | 1
-- y | 1000        | 1000      | 1
REPROCESS visits WHERE k = 'x' FROM 1500 TO 1600;
REPROCESS visits WHERE k = 'y' FROM 20000 TO 20001;
INSERT INTO s (ROWTIME, k, a) VALUES (90000, 'x', 1);
--@output VISITS ordered
-- k | windowstart | windowend | n
-- x | 1000        | 2000      | 2
-- x | 1000        | 1000      | <deleted>
-- y | 20000       | 20000     | 1
-- x | 50000       | 50000     | 1
REPROCESS visits;
INSERT INTO s (ROWTIME, k, a) VALUES (130000, 'x', 1);
--@output VISITS ordered
-- k | windowstart | windowend | n
-- y | 1000        | 2000      | 2
-- y | 1000        | 1000      | <deleted>
-- x | 90000       | 90000     | 1

--@test: a join of streams: the missed pairs of late rows, each once
CREATE STREAM l (k STRING KEY, a INT) WITH (KAFKA_TOPIC = '${case}_l', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE STREAM r (k STRING KEY, b INT) WITH (KAFKA_TOPIC = '${case}_r', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE STREAM pairs AS
  SELECT l.k AS k, a / 10 AS a, b FROM l JOIN r WITHIN 2 SECONDS GRACE PERIOD 1 SECOND ON l.k = r.k
  WHERE a > 0 EMIT CHANGES;
CREATE STREAM late AS SELECT `TOPIC` = '${case}_l' AS is_left, offset FROM LATE ROWS OF CSAS_PAIRS_3 EMIT CHANGES;
INSERT INTO l (ROWTIME, k, a) VALUES (2000, 'x', 10);
INSERT INTO l (ROWTIME, k, a) VALUES (2000, 'y', 50);
INSERT INTO r (ROWTIME, k, b) VALUES (2500, 'x', 1);
INSERT INTO l (ROWTIME, k, a) VALUES (20000, 'x', 20);
INSERT INTO r (ROWTIME, k, b) VALUES (20000, 'x', 2);
INSERT INTO r (ROWTIME, k, b) VALUES (2500, 'x', 3);
INSERT INTO r (ROWTIME, k, b) VALUES (2500, 'y', 5);
INSERT INTO l (ROWTIME, k, a) VALUES (2000, 'x', 11);
INSERT INTO l (ROWTIME, k, a) VALUES (21000, 'x', 30);
--@output LATE rowsort
-- is_left | offset
-- false   | 2
-- false   | 3
-- true    | 3
REPLAY LATE ROWS OF CSAS_PAIRS_3 WITH (PREVIEW = true);
REPLAY LATE ROWS OF CSAS_PAIRS_3 WHERE `TOPIC` = '${case}_r';
REPLAY LATE ROWS OF CSAS_PAIRS_3;
REPLAY LATE ROWS OF CSAS_PAIRS_3;
INSERT INTO l (ROWTIME, k, a) VALUES (22000, 'x', 40);
--@output PAIRS rowsort
-- k | a | b
-- x | 1 | 1
-- x | 1 | 1
-- x | 1 | 3
-- x | 1 | 3
-- x | 2 | 2
-- x | 3 | 2
-- x | 4 | 2
-- y | 5 | 5

--@test: joins whose missed pairs are not found
CREATE STREAM l (k STRING KEY, a INT) WITH (KAFKA_TOPIC = '${case}_l', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE STREAM r (k STRING KEY, b INT) WITH (KAFKA_TOPIC = '${case}_r', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE STREAM l2 (k STRING KEY, c INT) WITH (KAFKA_TOPIC = '${case}_l', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE STREAM own AS SELECT l.k AS k, a, c FROM l JOIN l2 WITHIN 2 SECONDS ON l.k = l2.k EMIT CHANGES;
CREATE STREAM timed AS SELECT l.k AS k, a, UNIX_TIMESTAMP() AS t FROM l JOIN r WITHIN 2 SECONDS ON l.k = r.k EMIT CHANGES;
CREATE STREAM three AS
  SELECT l.k AS k, l.a AS a FROM l JOIN r WITHIN 2 SECONDS ON l.k = r.k JOIN own WITHIN 2 SECONDS ON l.k = own.k EMIT CHANGES;
REPLAY LATE ROWS OF CSAS_OWN_4;
--@error: INVALID_STATEMENT
-- REPLAY LATE ROWS cannot tell the sides of a join of topic ${case}_l with itself.
-- line 1:1
--   REPLAY LATE ROWS OF CSAS_OWN_4
--   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
REPLAY LATE ROWS OF CSAS_TIMED_5;
--@error: INVALID_STATEMENT
-- REPLAY LATE ROWS compares pairs with the rows that are there, but UNIX_TIMESTAMP() gives another value each time.
-- line 1:1
--   REPLAY LATE ROWS OF CSAS_TIMED_5
--   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
REPLAY LATE ROWS OF CSAS_THREE_6;
--@error: INVALID_STATEMENT
-- REPLAY LATE ROWS of a join finds the pairs that one join of two streams WITHIN a time has missed; this query has other steps, too. CREATE STREAM … AS the join alone, and the other steps over that.
-- line 1:1
--   REPLAY LATE ROWS OF CSAS_THREE_6
--   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
