-- REPLAY ERRORS of windows and joins: rows of failed records are computed again, once (beyond ksqlDB).
--@server: ksql.logging.processing.topic.name = ${case}_log
--@server: ksql.logging.processing.topic.auto.create = true
--@server: ksql.logging.processing.stream.auto.create = true

--@test: what still fails stays listed: groups of sessions, keys of a join, and WHERE
CREATE STREAM l (k STRING KEY, a STRING) WITH (KAFKA_TOPIC = '${case}_l', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE STREAM r (k INT KEY, b STRING) WITH (KAFKA_TOPIC = '${case}_r', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE TABLE visits AS
  SELECT CAST(k AS INT) AS shop, COUNT(*) AS n FROM l
  WINDOW SESSION (5 SECONDS, GRACE PERIOD 0 SECONDS)
  WHERE CAST(a AS INT) > 0 GROUP BY CAST(k AS INT) EMIT CHANGES;
CREATE STREAM pairs AS
  SELECT r.k AS k, a, b FROM (SELECT * FROM l WHERE CAST(a AS INT) > 0) l
  JOIN r WITHIN 2 SECONDS GRACE PERIOD 1 SECOND ON CAST(l.k AS INT) = r.k EMIT CHANGES;
INSERT INTO r (ROWTIME, k, b) VALUES (2000, 1, 'b');
INSERT INTO l (ROWTIME, k, a) VALUES (2500, '1', '5 EUR');
INSERT INTO l (ROWTIME, k, a) VALUES (2500, 'x', '1');
INSERT INTO l (ROWTIME, k, a) VALUES (2600, '1', '6');
INSERT INTO l (ROWTIME, k, a) VALUES (90000, '1', '7');
INSERT INTO r (ROWTIME, k, b) VALUES (90000, 1, 'c');
--@output PAIRS rowsort
-- k | a | b
-- 1 | 6 | b
-- 1 | 7 | c
--@output VISITS ordered
-- shop | windowstart | windowend | n
-- 1    | 2600        | 2600      | 1
-- 1    | 90000       | 90000     | 1
REPLAY ERRORS OF CTAS_VISITS_3;
REPLAY ERRORS OF CSAS_PAIRS_4;
SELECT offset, step, replayed FROM ERRORS OF CTAS_VISITS_3;
--@rows rowsort
-- offset | step              | replayed
-- 0      | WhereFilter       | false
-- 1      | Aggregate.GroupBy | false
SELECT `TOPIC` = '${case}_l' AS is_left, offset, step, replayed FROM ERRORS OF CSAS_PAIRS_4;
--@rows rowsort
-- is_left | offset | step        | replayed
-- true    | 0      | WhereFilter | false
-- true    | 1      | Join.Left   | false
INSERT INTO l (ROWTIME, k, a) VALUES (90000, '1', '8');
--@output PAIRS rowsort
-- k | a | b
-- 1 | 8 | c
--@output VISITS ordered
-- shop | windowstart | windowend | n
-- 1    | 90000       | 90000     | 2

--@test: records that could not be read, and the right ones after them
CREATE STREAM raw (k STRING KEY, v STRING) WITH (KAFKA_TOPIC = '${case}_s', FORMAT = 'KAFKA', PARTITIONS = 1);
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC = '${case}_s', KEY_FORMAT = 'KAFKA', VALUE_FORMAT = 'JSON');
CREATE STREAM good (k STRING KEY, a INT) WITH (KAFKA_TOPIC = '${case}_g', KEY_FORMAT = 'KAFKA', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE TABLE sums AS SELECT k, SUM(a) AS total FROM s
  WINDOW TUMBLING (SIZE 10 SECONDS, GRACE PERIOD 0 SECONDS) GROUP BY k EMIT CHANGES;
CREATE TABLE never AS SELECT k, SUM(a) AS total FROM good
  WINDOW TUMBLING (SIZE 10 SECONDS, GRACE PERIOD 0 SECONDS) GROUP BY k EMIT CHANGES;
CREATE STREAM late AS SELECT offset FROM LATE ROWS OF CTAS_SUMS_4 EMIT CHANGES;
INSERT INTO raw (ROWTIME, k, v) VALUES (1000, 'x', '{"A": 1');
INSERT INTO raw (ROWTIME, k, v) VALUES (2000, 'x', '{"A": 2}');
INSERT INTO raw (ROWTIME, k, v) VALUES (20000, 'x', '{"A": "three"}');
INSERT INTO raw (ROWTIME, k, v) VALUES (1000, 'x', '{"A": 1}');
INSERT INTO raw (ROWTIME, k, v) VALUES (20000, 'x', '{"A": 3}');
INSERT INTO raw (ROWTIME, k, v) VALUES (1500, 'x', '{"A": 7}');
INSERT INTO raw (ROWTIME, k, v) VALUES (90000, 'x', '{"A": 9}');
INSERT INTO good (ROWTIME, k, a) VALUES (1000, 'x', 1);
INSERT INTO good (ROWTIME, k, a) VALUES (1500, 'x', 7);
INSERT INTO good (ROWTIME, k, a) VALUES (2000, 'x', 2);
INSERT INTO good (ROWTIME, k, a) VALUES (20000, 'x', 3);
INSERT INTO good (ROWTIME, k, a) VALUES (90000, 'x', 9);
--@output SUMS folded
-- k | windowstart | windowend | total
-- x | 0           | 10000     | 3
-- x | 20000       | 30000     | 3
-- x | 90000       | 100000    | 9
--@output NEVER folded
-- k | windowstart | windowend | total
-- x | 0           | 10000     | 10
-- x | 20000       | 30000     | 3
-- x | 90000       | 100000    | 9
--@output LATE ordered
-- offset
-- 5
REPLAY ERRORS OF CTAS_SUMS_4;
REPLAY LATE ROWS OF CTAS_SUMS_4;
INSERT INTO raw (ROWTIME, k, v) VALUES (90000, 'x', '{"A": 1}');
INSERT INTO good (ROWTIME, k, a) VALUES (90000, 'x', 1);
--@output SUMS folded
-- k | windowstart | windowend | total
-- x | 0           | 10000     | 10
-- x | 20000       | 30000     | 3
-- x | 90000       | 100000    | 10
--@output NEVER folded
-- k | windowstart | windowend | total
-- x | 0           | 10000     | 10
-- x | 20000       | 30000     | 3
-- x | 90000       | 100000    | 10
