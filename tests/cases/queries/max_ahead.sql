-- MAX_AHEAD: records with times of a clock that is too fast are left out and listed (beyond ksqlDB).
--@server: ksql.logging.processing.topic.name = ${case}_log
--@server: ksql.logging.processing.topic.auto.create = true
--@server: ksql.logging.processing.stream.auto.create = true

--@test: a record from the future closes no window, and fails again while it is one
CREATE STREAM s (k STRING KEY, v INT)
  WITH (KAFKA_TOPIC = '${case}_s', VALUE_FORMAT = 'JSON', PARTITIONS = 1, MAX_AHEAD = '5 MINUTES');
CREATE TABLE sums AS
  SELECT k, SUM(v) AS total FROM s WINDOW TUMBLING (SIZE 10 SECONDS, GRACE PERIOD 0 SECONDS) GROUP BY k EMIT CHANGES;
CREATE STREAM passed AS SELECT k, v FROM s;
INSERT INTO s (ROWTIME, k, v) VALUES (1000, 'a', 1);
INSERT INTO s (ROWTIME, k, v) VALUES ('2200-01-01', 'a', 100);
INSERT INTO s (ROWTIME, k, v) VALUES (2000, 'a', 2);
--@output SUMS folded
-- k | windowstart | windowend | total
-- a | 0           | 10000     | 3
--@output PASSED ordered
-- k | v
-- a | 1
-- a | 2
SELECT offset, step, message, cause FROM ERRORS OF CTAS_SUMS_2;
--@rows
-- offset | step             | message                                              | cause
-- 1      | KsqlTopic.Source | A record was left out because its time has not come. | Its time is more than 300000 ms, which is MAX_AHEAD, ahead of the clock.
SELECT COUNT(*) AS n FROM s;
--@rows
-- n
-- 2
REPLAY ERRORS OF CTAS_SUMS_2;
SELECT offset, replayed FROM ERRORS OF CTAS_SUMS_2;
--@rows
-- offset | replayed
-- 1      | false

--@test: a bound that is no bound
CREATE STREAM s (k STRING KEY, v INT)
  WITH (KAFKA_TOPIC = '${case}_s', VALUE_FORMAT = 'JSON', PARTITIONS = 1, MAX_AHEAD = '9223372036854775807 MILLISECONDS');
CREATE STREAM passed AS SELECT k, v FROM s;
INSERT INTO s (ROWTIME, k, v) VALUES ('2200-01-01', 'a', 100);
--@output PASSED ordered
-- k | v
-- a | 100

--@test: it is a duration, and for streams only
CREATE STREAM s (k STRING KEY, v INT)
  WITH (KAFKA_TOPIC = '${case}_s', VALUE_FORMAT = 'JSON', PARTITIONS = 1, MAX_AHEAD = 'soon');
--@error: PROPERTY_IN_WITH
-- Configuration MAX_AHEAD is invalid: Invalid duration: 'soon'. Expected a number and a time unit, for instance '10 SECONDS'.
-- line 2:81
--     WITH (KAFKA_TOPIC = '${case}_s', VALUE_FORMAT = 'JSON', PARTITIONS = 1, MAX_AHEAD = 'soon')
--                                                                                   ^^^^^^^^^^^^^^^^^^
CREATE TABLE t (k STRING PRIMARY KEY, v INT)
  WITH (KAFKA_TOPIC = '${case}_t', VALUE_FORMAT = 'JSON', PARTITIONS = 1, MAX_AHEAD = '5 MINUTES');
--@error: INVALID_STATEMENT
-- MAX_AHEAD is for streams only: pull queries read a table's topic as it is.
-- line 2:81
--     WITH (KAFKA_TOPIC = '${case}_t', VALUE_FORMAT = 'JSON', PARTITIONS = 1, MAX_AHEAD = '5 MINUTES')
--                                                                                   ^^^^^^^^^^^^^^^^^^^^^^^
