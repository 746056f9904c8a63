-- LATE ROWS OF a query: the records that it left out because they came too late (beyond ksqlDB).
--@server: ksql.logging.processing.topic.name = ${case}_log
--@server: ksql.logging.processing.topic.auto.create = true
--@server: ksql.logging.processing.stream.auto.create = true
--@server: ksql.logging.processing.rows.include = true

--@test: a tumbling window; a late row is no error
CREATE STREAM s (k STRING KEY, a INT, b STRING)
  WITH (KAFKA_TOPIC = '${case}_s', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE TABLE counted AS
  SELECT k, COUNT(*) AS n FROM s WINDOW TUMBLING (SIZE 10 SECONDS, GRACE PERIOD 2 SECONDS) GROUP BY k EMIT CHANGES;
CREATE STREAM late AS SELECT * FROM LATE ROWS OF CTAS_COUNTED_2 WHERE late_ms > 0 EMIT CHANGES;
CREATE STREAM bad AS SELECT step FROM ERRORS OF CTAS_COUNTED_2 EMIT CHANGES;
INSERT INTO s (ROWTIME, k, a, b) VALUES (1000, 'x', 1, 'one');
INSERT INTO s (ROWTIME, k, a, b) VALUES (13000, 'x', 2, 'two');
INSERT INTO s (ROWTIME, k, a, b) VALUES (9999, 'x', 3, 'it''s "late"');
INSERT INTO s (ROWTIME, k, a) VALUES (10000, 'y', 4);
INSERT INTO s (ROWTIME, k) VALUES (2000, 'y');
INSERT INTO s (ROWTIME, k, a, b) VALUES (70000, 'x', 5, 'five');
--@output COUNTED ordered
-- k | windowstart | windowend | n
-- x | 0           | 10000     | 1
-- x | 10000       | 20000     | 1
-- y | 10000       | 20000     | 1
-- x | 70000       | 80000     | 1
--@output LATE ordered
-- step      | partition | offset | key       | value                                               | event_time              | stream_time             | late_ms | window_start            | window_end              | grace_ms | omitted
-- Aggregate | 0         | 2      | {"K":"x"} | "{\"K\":\"x\",\"A\":3,\"B\":\"it's \\\"late\\\"\"}" | 1970-01-01T00:00:09.999 | 1970-01-01T00:00:13.000 | 3001    | 1970-01-01T00:00:00.000 | 1970-01-01T00:00:10.000 | 3001     | 0
-- Aggregate | 0         | 4      | {"K":"y"} | {"K":"y","A":null,"B":null}                         | 1970-01-01T00:00:02.000 | 1970-01-01T00:00:13.000 | 11000   | 1970-01-01T00:00:00.000 | 1970-01-01T00:00:10.000 | 3001     | 0
SELECT key, grace_ms FROM LATE ROWS OF CTAS_COUNTED_2 WHERE grace_ms > 3000;
--@rows
-- key       | grace_ms
-- {"K":"x"} | 3001
-- {"K":"y"} | 3001
SELECT COUNT(*) AS n FROM ERRORS OF CTAS_COUNTED_2;
--@rows
-- n
-- 0

--@test: rows of four partitions that GROUP BY sends to other tasks keep their places
CREATE STREAM s (k STRING KEY, g INT, a INT)
  WITH (KAFKA_TOPIC = '${case}_s', VALUE_FORMAT = 'JSON', PARTITIONS = 4);
CREATE TABLE sums WITH (KEY_FORMAT = 'JSON') AS
  SELECT g, a % 2 AS odd, SUM(a) AS total FROM s WINDOW TUMBLING (SIZE 10 SECONDS, GRACE PERIOD 0 SECONDS)
  WHERE a > 0 GROUP BY g, a % 2 EMIT CHANGES;
CREATE STREAM late AS
  SELECT offset, `TOPIC` = '${case}_s' AS is_topic, key, value, grace_ms FROM LATE ROWS OF CTAS_SUMS_2 EMIT CHANGES;
INSERT INTO s (ROWTIME, k, g, a) VALUES (50000, 'a', 1, 1);
INSERT INTO s (ROWTIME, k, g, a) VALUES (39999, 'a', 1, 3);
INSERT INTO s (ROWTIME, k, g, a) VALUES (29999, 'a', 1, 5);
INSERT INTO s (ROWTIME, k, g, a) VALUES (60000, 'a', 1, 7);
--@output SUMS ordered
-- g | odd | windowstart | windowend | total
-- 1 | 1   | 50000       | 60000     | 1
-- 1 | 1   | 60000       | 70000     | 7
--@output LATE rowsort
-- offset | is_topic | key             | value                 | grace_ms
-- 1      | true     | {"G":1,"ODD":1} | {"K":"a","G":1,"A":3} | 10001
-- 2      | true     | {"G":1,"ODD":1} | {"K":"a","G":1,"A":5} | 20001

--@test: sessions, hopping and sliding windows, and groups with a TTL, across a restart
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC = '${case}_s', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE TABLE sessions AS
  SELECT k, COUNT(*) AS n FROM s WINDOW SESSION (5 SECONDS, GRACE PERIOD 0 SECONDS) GROUP BY k EMIT CHANGES;
CREATE TABLE hops AS
  SELECT k, COUNT(*) AS n FROM s WINDOW HOPPING (SIZE 10 SECONDS, ADVANCE BY 5 SECONDS, GRACE PERIOD 0 SECONDS)
  GROUP BY k EMIT FINAL;
CREATE TABLE slides AS
  SELECT k, COUNT(*) AS n FROM s WINDOW SLIDING (SIZE 10 SECONDS, GRACE PERIOD 0 SECONDS) GROUP BY k EMIT CHANGES;
CREATE TABLE seen WITH (TTL = '10 SECONDS') AS SELECT k, COUNT(*) AS n FROM s GROUP BY k EMIT CHANGES;
CREATE STREAM late_sessions AS
  SELECT key, offset, window_start, window_end, grace_ms FROM LATE ROWS OF CTAS_SESSIONS_2 EMIT CHANGES;
CREATE STREAM late_hops AS
  SELECT key, offset, window_start, window_end, grace_ms FROM LATE ROWS OF CTAS_HOPS_3 EMIT CHANGES;
CREATE STREAM late_slides AS
  SELECT key, offset, window_start, window_end, grace_ms FROM LATE ROWS OF CTAS_SLIDES_4 EMIT CHANGES;
CREATE STREAM late_seen AS
  SELECT key, offset, window_start, late_ms, grace_ms FROM LATE ROWS OF CTAS_SEEN_5 EMIT CHANGES;
INSERT INTO s (ROWTIME, k, a) VALUES (40000, 'x', 1);
--@output SESSIONS ordered
-- k | windowstart | windowend | n
-- x | 40000       | 40000     | 1
--@restart
INSERT INTO s (ROWTIME, k, a) VALUES (20000, 'x', 2);
--@output LATE_SESSIONS ordered
-- key       | offset | window_start            | window_end              | grace_ms
-- {"K":"x"} | 1      | 1970-01-01T00:00:20.000 | 1970-01-01T00:00:20.000 | 15000
--@output LATE_HOPS ordered
-- key       | offset | window_start            | window_end              | grace_ms
-- {"K":"x"} | 1      | 1970-01-01T00:00:20.000 | 1970-01-01T00:00:30.000 | 10001
--@output LATE_SLIDES ordered
-- key       | offset | window_start            | window_end              | grace_ms
-- {"K":"x"} | 1      | 1970-01-01T00:00:10.000 | 1970-01-01T00:00:20.000 | 9999
--@output LATE_SEEN ordered
-- key       | offset | window_start | late_ms | grace_ms
-- {"K":"x"} | 1      | NULL         | 20000   | NULL

--@test: both sides of a join of streams, exactly once
SET 'processing.guarantee' = 'exactly_once_v2';
CREATE STREAM l (k STRING KEY, a INT) WITH (KAFKA_TOPIC = '${case}_l', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE STREAM r (k STRING KEY, b INT) WITH (KAFKA_TOPIC = '${case}_r', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE STREAM pairs AS
  SELECT l.k AS k, l.a AS a, r.b AS b FROM l JOIN r WITHIN 2 SECONDS GRACE PERIOD 1 SECOND ON l.k = r.k EMIT CHANGES;
CREATE STREAM late AS
  SELECT step, `TOPIC` = '${case}_l' AS is_left, offset, key, value, window_start, window_end
  FROM LATE ROWS OF CSAS_PAIRS_3 EMIT CHANGES;
INSERT INTO l (ROWTIME, k, a) VALUES (20000, 'x', 1);
INSERT INTO r (ROWTIME, k, b) VALUES (20000, 'x', 10);
INSERT INTO l (ROWTIME, k, a) VALUES (15000, 'x', 2);
INSERT INTO r (ROWTIME, k, b) VALUES (5000, 'x', 20);
INSERT INTO l (ROWTIME, k, a) VALUES (21000, 'x', 3);
--@output PAIRS rowsort
-- k | a | b
-- x | 1 | 10
-- x | 3 | 10
--@output LATE rowsort
-- step | is_left | offset | key         | value                | window_start            | window_end
-- Join | false   | 1      | {"L_K":"x"} | {"R_K":"x","R_B":20} | 1970-01-01T00:00:03.000 | 1970-01-01T00:00:07.000
-- Join | true    | 1      | {"L_K":"x"} | {"L_K":"x","L_A":2}  | 1970-01-01T00:00:13.000 | 1970-01-01T00:00:17.000

--@test: LATENESS; a window after a join does not know where its rows come from
CREATE STREAM l (k STRING KEY, a INT) WITH (KAFKA_TOPIC = '${case}_l', VALUE_FORMAT = 'JSON', PARTITIONS = 1, LATENESS = '5 SECONDS');
CREATE TABLE t (k STRING PRIMARY KEY, b INT) WITH (KAFKA_TOPIC = '${case}_t', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE TABLE sums AS SELECT k, SUM(a) AS total FROM l WINDOW TUMBLING (SIZE 10 SECONDS) GROUP BY k EMIT FINAL;
CREATE TABLE joined AS
  SELECT l.k AS k, COUNT(*) AS n FROM l LEFT JOIN t ON l.k = t.k WINDOW TUMBLING (SIZE 10 SECONDS, GRACE PERIOD 0 SECONDS)
  GROUP BY l.k EMIT CHANGES;
CREATE STREAM late AS SELECT offset, value, grace_ms FROM LATE ROWS OF CTAS_SUMS_3 EMIT CHANGES;
CREATE STREAM late_joined AS SELECT step, `TOPIC`, offset, grace_ms FROM LATE ROWS OF CTAS_JOINED_4 EMIT CHANGES;
INSERT INTO t (ROWTIME, k, b) VALUES (0, 'x', 7);
INSERT INTO l (ROWTIME, k, a) VALUES (15000, 'x', 1);
INSERT INTO l (ROWTIME, k, a) VALUES (9000, 'x', 2);
INSERT INTO l (ROWTIME, k, a) VALUES (30000, 'x', 3);
--@output SUMS ordered
-- k | windowstart | windowend | total
-- x | 10000       | 20000     | 1
--@output LATE ordered
-- offset | value           | grace_ms
-- 1      | {"K":"x","A":2} | 5001
--@output LATE_JOINED ordered
-- step      | topic | offset | grace_ms
-- Aggregate | NULL  | NULL   | 5001

--@test: a pattern, and rows that are later than the versions of a table
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC = '${case}_s', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE TABLE t (k STRING PRIMARY KEY, b INT) WITH (KAFKA_TOPIC = '${case}_t', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE STREAM rising AS SELECT * FROM s MATCH_RECOGNIZE (
  PARTITION BY k ORDER BY ROWTIME MEASURES X.a AS first, Y.a AS second ONE ROW PER MATCH
  PATTERN (X Y) WITHIN 10 SECONDS DEFINE Y AS Y.a > X.a) M EMIT CHANGES;
CREATE STREAM versions AS
  SELECT s.k AS k, s.a AS a, t.b AS b FROM s LEFT JOIN t FOR SYSTEM_TIME AS OF s.ROWTIME GRACE PERIOD 5 SECONDS ON s.k = t.k
  EMIT CHANGES;
CREATE STREAM late_rising AS SELECT step, offset, key, value, grace_ms FROM LATE ROWS OF CSAS_RISING_3 EMIT CHANGES;
CREATE STREAM late_versions AS SELECT step, offset, grace_ms FROM LATE ROWS OF CSAS_VERSIONS_4 EMIT CHANGES;
INSERT INTO t (ROWTIME, k, b) VALUES (20000, 'x', 7);
INSERT INTO s (ROWTIME, k, a) VALUES (30000, 'x', 1);
INSERT INTO s (ROWTIME, k, a) VALUES (9000, 'x', 2);
INSERT INTO s (ROWTIME, k, a) VALUES (31000, 'x', 3);
INSERT INTO s (ROWTIME, k, a) VALUES (90000, 'x', 4);
--@output LATE_RISING ordered
-- step  | offset | key       | value           | grace_ms
-- Match | 1      | {"K":"x"} | {"K":"x","A":2} | NULL
--@output LATE_VERSIONS ordered
-- step | offset | grace_ms
-- Join | 1      | 21000

--@test: a flood is cut short and the rest is counted; without rows.include there are no keys and values
--@server: ksql.late.rows.max.per.second = 1
--@server: ksql.logging.processing.rows.include = false
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC = '${case}_s', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE TABLE counted AS
  SELECT k, COUNT(*) AS n FROM s WINDOW TUMBLING (SIZE 10 SECONDS, GRACE PERIOD 0 SECONDS) GROUP BY k EMIT CHANGES;
CREATE TABLE late AS
  SELECT step, COUNT(key) AS keys, COUNT(value) AS vals, SUM(CASE WHEN omitted > 0 THEN omitted ELSE 1 END) AS n
  FROM LATE ROWS OF CTAS_COUNTED_2 GROUP BY step EMIT CHANGES;
INSERT INTO s (ROWTIME, k, a) VALUES (90000, 'x', 1), (1, 'x', 2), (2, 'x', 3), (3, 'x', 4), (4, 'x', 5), (5, 'x', 6);
--@output LATE folded
-- step      | keys | vals | n
-- Aggregate | 0    | 0    | 5

--@test: late rows are only counted where none are to be kept
--@server: ksql.late.rows.max.per.second = 0
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC = '${case}_s', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE TABLE counted AS
  SELECT k, SUM(10 / a) AS n FROM s WINDOW TUMBLING (SIZE 10 SECONDS, GRACE PERIOD 0 SECONDS) GROUP BY k EMIT CHANGES;
CREATE STREAM bad AS SELECT step FROM ERRORS OF CTAS_COUNTED_2 EMIT CHANGES;
INSERT INTO s (ROWTIME, k, a) VALUES (90000, 'x', 1);
INSERT INTO s (ROWTIME, k, a) VALUES (1000, 'x', 1);
INSERT INTO s (ROWTIME, k, a) VALUES (90000, 'x', 0);
--@output BAD ordered
-- step
-- Aggregate.Prepare
SELECT COUNT(*) AS n FROM LATE ROWS OF CTAS_COUNTED_2;
--@rows
-- n
-- 0

--@test: late rows are put back; the window that is open stays as it is; a second time nothing differs
CREATE STREAM s (k STRING KEY, a INT)
  WITH (KAFKA_TOPIC = '${case}_s', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE TABLE counted AS
  SELECT k, COUNT(*) AS n, SUM(a) AS total FROM s WINDOW TUMBLING (SIZE 10 SECONDS, GRACE PERIOD 2 SECONDS)
  WHERE a > 0 GROUP BY k EMIT CHANGES;
CREATE STREAM late AS SELECT key FROM LATE ROWS OF CTAS_COUNTED_2 EMIT CHANGES;
INSERT INTO s (ROWTIME, k, a) VALUES (1000, 'x', 1);
INSERT INTO s (ROWTIME, k, a) VALUES (1500, 'z', 1);
INSERT INTO s (ROWTIME, k, a) VALUES (13000, 'x', 2);
INSERT INTO s (ROWTIME, k, a) VALUES (9999, 'x', 3);
INSERT INTO s (ROWTIME, k, a) VALUES (2000, 'y', 4);
INSERT INTO s (ROWTIME, k, a) VALUES (2500, 'y', -4);
INSERT INTO s (ROWTIME, k, a) VALUES (70000, 'x', 5);
--@output COUNTED ordered
-- k | windowstart | windowend | n | total
-- x | 0           | 10000     | 1 | 1
-- z | 0           | 10000     | 1 | 1
-- x | 10000       | 20000     | 1 | 2
-- x | 70000       | 80000     | 1 | 5
--@output LATE ordered
-- key
-- {"K":"x"}
-- {"K":"y"}
REPLAY LATE ROWS OF CTAS_COUNTED_2 WITH (PREVIEW = true);
REPLAY LATE ROWS OF CTAS_COUNTED_2;
REPLAY LATE ROWS OF CTAS_COUNTED_2;
INSERT INTO s (ROWTIME, k, a) VALUES (71000, 'x', 5);
--@output COUNTED ordered
-- k | windowstart | windowend | n | total
-- y | 0           | 10000     | 1 | 4
-- x | 0           | 10000     | 2 | 4
-- x | 70000       | 80000     | 2 | 10
