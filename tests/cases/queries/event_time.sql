-- Where a row's event time comes from, and that sinks carry it as the record's timestamp.

--@test: without a TIMESTAMP property it is the record's
CREATE STREAM readings (sensor STRING KEY, v INT)
  WITH (KAFKA_TOPIC = '${case}_readings', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE STREAM times AS SELECT sensor, v, ROWTIME AS t FROM readings EMIT CHANGES;
INSERT INTO readings (ROWTIME, sensor, v) VALUES (1000, 'a', 1);
INSERT INTO readings (ROWTIME, sensor, v) VALUES (1700000000000, 'a', 2);
--@output TIMES ordered
-- rowtime       | sensor | v | t
-- 1000          | a      | 1 | 1000
-- 1700000000000 | a      | 2 | 1700000000000

--@test: a BIGINT column, milliseconds
CREATE STREAM readings (sensor STRING KEY, ts BIGINT, v INT)
  WITH (KAFKA_TOPIC = '${case}_readings', VALUE_FORMAT = 'JSON', PARTITIONS = 1, TIMESTAMP = 'ts');
CREATE STREAM times AS SELECT sensor, v, ROWTIME AS t FROM readings EMIT CHANGES;
INSERT INTO readings (sensor, ts, v) VALUES ('a', 5000, 1);
INSERT INTO readings (sensor, v) VALUES ('without a time: dropped', 2);
INSERT INTO readings (sensor, ts, v) VALUES ('negative: dropped', -1, 3);
INSERT INTO readings (sensor, ts, v) VALUES ('too large: dropped', 9223372036854775807, 3);
INSERT INTO readings (sensor, ts, v) VALUES ('a', 4000, 4);
--@output TIMES ordered
-- rowtime | sensor | v | t
-- 5000    | a      | 1 | 5000
-- 4000    | a      | 4 | 4000

--@test: a text column with its pattern
CREATE STREAM readings (sensor STRING KEY, ts STRING, v INT)
  WITH (KAFKA_TOPIC = '${case}_readings', VALUE_FORMAT = 'JSON', PARTITIONS = 1,
        TIMESTAMP = 'ts', TIMESTAMP_FORMAT = 'yyyy-MM-dd HH:mm:ss');
CREATE STREAM times AS SELECT sensor, v FROM readings EMIT CHANGES;
INSERT INTO readings (sensor, ts, v) VALUES ('a', '1970-01-01 00:01:00', 1);
INSERT INTO readings (sensor, ts, v) VALUES ('no date: dropped', 'yesterday', 2);
INSERT INTO readings (sensor, ts, v) VALUES ('a', '2024-02-29 12:30:15', 3);
--@output TIMES ordered
-- rowtime       | sensor | v
-- 60000         | a      | 1
-- 1709209815000 | a      | 3

--@test: a sink's own TIMESTAMP column
CREATE STREAM readings (sensor STRING KEY, v INT)
  WITH (KAFKA_TOPIC = '${case}_readings', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE STREAM times WITH (TIMESTAMP = 'ts') AS
  SELECT sensor, v, ROWTIME + 86400000 AS ts FROM readings EMIT CHANGES;
INSERT INTO readings (ROWTIME, sensor, v) VALUES (1000, 'a', 1);
--@output TIMES ordered
-- rowtime  | sensor | v | ts
-- 86401000 | a      | 1 | 86401000
