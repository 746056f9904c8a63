-- REPROCESS and REPLAY LATE ROWS: rows of closed windows are computed again (beyond ksqlDB).
--@server: ksql.logging.processing.topic.name = ${case}_log
--@server: ksql.logging.processing.topic.auto.create = true
--@server: ksql.logging.processing.stream.auto.create = true
--@server: ksql.logging.processing.rows.include = true

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
-- x | 0           | 10000     | 2 | 4
-- y | 0           | 10000     | 1 | 4
-- x | 70000       | 80000     | 2 | 10
