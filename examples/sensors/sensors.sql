-- Sensors: averages by minute, alarms by HAVING, and readings that arrive late

SET 'auto.offset.reset' = 'earliest';

-- The event time is when the sensor measured, not when the reading arrived. One reading in ten is up to
-- 90 seconds late.
CREATE STREAM readings (sensor STRING KEY, measured_at BIGINT, celsius DOUBLE)
  WITH (KAFKA_TOPIC = 'readings', VALUE_FORMAT = 'JSON', PARTITIONS = 1, TIMESTAMP = 'measured_at');

--@generate readings --rate 20/s

-- A reading counts in its own minute if it arrives at most 30 seconds after that minute has ended.
CREATE TABLE minute_averages AS
  SELECT sensor, COUNT(*) AS readings, AVG(celsius) AS celsius, MAX(celsius) AS highest
  FROM readings
  WINDOW TUMBLING (SIZE 1 MINUTE, GRACE PERIOD 30 SECONDS)
  GROUP BY sensor
  EMIT CHANGES;

--@show Averages so far | key WINDOWSTART, SENSOR | SELECT WINDOWSTART, SENSOR, READINGS, CELSIUS FROM minute_averages EMIT CHANGES;

-- Only minutes that are too hot on average; a minute that is no longer too hot is deleted.
CREATE TABLE hot_minutes AS
  SELECT sensor, COUNT(*) AS readings, AVG(celsius) AS celsius
  FROM readings
  WINDOW TUMBLING (SIZE 1 MINUTE, GRACE PERIOD 30 SECONDS)
  GROUP BY sensor
  HAVING AVG(celsius) > 70
  EMIT CHANGES;

--@show Too hot | key WINDOWSTART, SENSOR | SELECT WINDOWSTART, SENSOR, CELSIUS FROM hot_minutes EMIT CHANGES;

-- One row for each minute, when no reading can change it any more.
CREATE TABLE final_averages AS
  SELECT sensor, COUNT(*) AS readings, AVG(celsius) AS celsius
  FROM readings
  WINDOW TUMBLING (SIZE 1 MINUTE, GRACE PERIOD 30 SECONDS)
  GROUP BY sensor
  EMIT FINAL;

--@show Final (after a minute and a half) | key WINDOWSTART, SENSOR | SELECT WINDOWSTART, SENSOR, READINGS, CELSIUS FROM final_averages EMIT CHANGES;
