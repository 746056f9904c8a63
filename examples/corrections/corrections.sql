-- Corrections: late readings are put back, and a wrong statement is made right for the past

-- Late rows are kept, with what they say.
--@server ksql.logging.processing.topic.auto.create = true
--@server ksql.logging.processing.stream.auto.create = true
--@server ksql.logging.processing.rows.include = true

SET 'auto.offset.reset' = 'earliest';

CREATE STREAM readings (sensor STRING KEY, measured_at BIGINT, celsius DOUBLE)
  WITH (KAFKA_TOPIC = 'readings', VALUE_FORMAT = 'JSON', PARTITIONS = 1, TIMESTAMP = 'measured_at');

-- Five minutes of a morning in March. One reading in ten is up to 90 seconds late.
--@fill readings --count 3000 --rate 0 --seed 7 --start 2026-03-01T08:00:00

-- Two things are wrong with it: many readings come after the grace period, and 23 should be 32.
CREATE TABLE minute_averages AS
  SELECT sensor, COUNT(*) AS readings, AVG(celsius) * 9 / 5 + 23 AS fahrenheit
  FROM readings
  WINDOW TUMBLING (SIZE 1 MINUTE, GRACE PERIOD 30 SECONDS)
  GROUP BY sensor
  EMIT CHANGES;

--@show Averages | key WINDOWSTART, SENSOR | SELECT WINDOWSTART, SENSOR, READINGS, FAHRENHEIT FROM minute_averages EMIT CHANGES;
--@show Readings that came too late | | SELECT OFFSET, KEY, VALUE, LATE_MS FROM LATE ROWS OF CTAS_MINUTE_AVERAGES_2 EMIT CHANGES;

--@then Late readings are in no average. Put them back: PREVIEW shows what changes, then they are written.

REPLAY LATE ROWS OF CTAS_MINUTE_AVERAGES_2 WITH (PREVIEW = true);
REPLAY LATE ROWS OF CTAS_MINUTE_AVERAGES_2;

--@then Fahrenheit is wrong: + 23 should be + 32. First the statement is made right, then the past.

CREATE OR REPLACE TABLE minute_averages WITH (EVOLVE = 'in-place') AS
  SELECT sensor, COUNT(*) AS readings, AVG(celsius) * 9 / 5 + 32 AS fahrenheit
  FROM readings
  WINDOW TUMBLING (SIZE 1 MINUTE, GRACE PERIOD 30 SECONDS)
  GROUP BY sensor
  EMIT CHANGES;
REPROCESS minute_averages WHERE sensor = 'oven' WITH (PREVIEW = true);
REPROCESS minute_averages;

--@then What has a reading changed? Here one that came in time, and one that came too late.

EXPLAIN RECORD 'readings' PARTITION 0 OFFSET 17;
EXPLAIN RECORD 'readings' PARTITION 0 OFFSET 18;

--@then Now readings of today.
--@generate readings --rate 20/s
