-- Beyond ksqlDB: windows by the calendar and the clock of a zone, and windows that grow.
CREATE STREAM readings (k STRING KEY, v INT) WITH (KAFKA_TOPIC = '${case}_readings', VALUE_FORMAT = 'JSON', PARTITIONS = 1);

--@test: days of 23 and 25 hours, with EMIT CHANGES, EMIT FINAL and HAVING; a table's topic read again
-- read again below, so Kafka must not compact it before
CREATE TABLE per_day WITH (HISTORY = '36500 DAYS') AS
  SELECT k, SUM(v) AS total, WINDOWEND - WINDOWSTART AS length FROM readings
  WINDOW TUMBLING (SIZE 1 DAY, TIME ZONE 'Europe/Berlin') GROUP BY k EMIT CHANGES;
CREATE TABLE last AS
  SELECT k, SUM(v) AS total FROM readings
  WINDOW TUMBLING (SIZE 1 DAY, TIME ZONE 'Europe/Berlin', GRACE PERIOD 3 HOURS) GROUP BY k EMIT FINAL;
CREATE TABLE many AS
  SELECT k, COUNT(*) AS n FROM readings
  WINDOW TUMBLING (SIZE 1 DAY, TIME ZONE 'Europe/Berlin') GROUP BY k HAVING COUNT(*) > 1 EMIT CHANGES;
CREATE STREAM days_read (k STRING KEY, total INT)
  WITH (KAFKA_TOPIC = '${case}_PER_DAY', VALUE_FORMAT = 'JSON', WINDOW_TYPE = 'TUMBLING', WINDOW_SIZE = '1 DAY',
        WINDOW_TIME_ZONE = 'Europe/Berlin');
CREATE STREAM copied AS SELECT k, total, WINDOWEND - WINDOWSTART AS length FROM days_read;
INSERT INTO readings (ROWTIME, k, v) VALUES (1774738799999, 'a', 1);
INSERT INTO readings (ROWTIME, k, v) VALUES (1774738800000, 'a', 2);
INSERT INTO readings (ROWTIME, k, v) VALUES (1774821599999, 'b', 4);
INSERT INTO readings (ROWTIME, k, v) VALUES (1774821599999, 'a', 8);
INSERT INTO readings (ROWTIME, k, v) VALUES (1774821600000, 'a', 16);
INSERT INTO readings (ROWTIME, k, v) VALUES (1774814400000, 'b', 32);
INSERT INTO readings (ROWTIME, k, v) VALUES (1792879200000, 'a', 1);
INSERT INTO readings (ROWTIME, k, v) VALUES (1792888200000, 'a', 2);
INSERT INTO readings (ROWTIME, k, v) VALUES (1792891800000, 'b', 4);
INSERT INTO readings (ROWTIME, k, v) VALUES (1792969199999, 'a', 8);
INSERT INTO readings (ROWTIME, k, v) VALUES (1792969200000, 'a', 16);
INSERT INTO readings (ROWTIME, k, v) VALUES (1793055600000, 'a', 32);
INSERT INTO readings (ROWTIME, v) VALUES (1793059200000, 64);
INSERT INTO readings (ROWTIME, k) VALUES (1793059200000, 'a');
--@output PER_DAY ordered
-- k | windowstart   | windowend     | total | length
-- a | 1774652400000 | 1774738800000 | 1     | 86400000
-- a | 1774738800000 | 1774821600000 | 2     | 82800000
-- b | 1774738800000 | 1774821600000 | 4     | 82800000
-- a | 1774738800000 | 1774821600000 | 10    | 82800000
-- a | 1774821600000 | 1774908000000 | 16    | 86400000
-- a | 1792879200000 | 1792969200000 | 1     | 90000000
-- a | 1792879200000 | 1792969200000 | 3     | 90000000
-- b | 1792879200000 | 1792969200000 | 4     | 90000000
-- a | 1792879200000 | 1792969200000 | 11    | 90000000
-- a | 1792969200000 | 1793055600000 | 16    | 86400000
-- a | 1793055600000 | 1793142000000 | 32    | 86400000
-- a | 1793055600000 | 1793142000000 | 32    | 86400000
--@output LAST ordered
-- k | windowstart   | windowend     | total
-- a | 1774652400000 | 1774738800000 | 1
-- a | 1774738800000 | 1774821600000 | 10
-- b | 1774738800000 | 1774821600000 | 36
-- a | 1774821600000 | 1774908000000 | 16
-- a | 1792879200000 | 1792969200000 | 11
-- b | 1792879200000 | 1792969200000 | 4
--@output MANY ordered
-- k | windowstart   | windowend     | n
-- a | 1774738800000 | 1774821600000 | 2
-- a | 1792879200000 | 1792969200000 | 2
-- a | 1792879200000 | 1792969200000 | 3
-- a | 1793055600000 | 1793142000000 | 2
--@output COPIED ordered
-- k | windowstart   | windowend     | total | length
-- a | 1774652400000 | 1774738800000 | 1     | 86400000
-- a | 1774738800000 | 1774821600000 | 2     | 82800000
-- b | 1774738800000 | 1774821600000 | 4     | 82800000
-- a | 1774738800000 | 1774821600000 | 10    | 82800000
-- a | 1774821600000 | 1774908000000 | 16    | 86400000
-- a | 1792879200000 | 1792969200000 | 1     | 90000000
-- a | 1792879200000 | 1792969200000 | 3     | 90000000
-- b | 1792879200000 | 1792969200000 | 4     | 90000000
-- a | 1792879200000 | 1792969200000 | 11    | 90000000
-- a | 1792969200000 | 1793055600000 | 16    | 86400000
-- a | 1793055600000 | 1793142000000 | 32    | 86400000
-- a | 1793055600000 | 1793142000000 | 32    | 86400000
SELECT k, WINDOWSTART, WINDOWEND, total FROM per_day WHERE k = 'a';
--@rows ordered
-- k | windowstart   | windowend     | total
-- a | 1774652400000 | 1774738800000 | 1
-- a | 1774738800000 | 1774821600000 | 10
-- a | 1774821600000 | 1774908000000 | 16
-- a | 1792879200000 | 1792969200000 | 11
-- a | 1792969200000 | 1793055600000 | 16
-- a | 1793055600000 | 1793142000000 | 32
SELECT k, WINDOWEND, total FROM per_day WHERE k = 'b' AND WINDOWEND > '2026-10-25';
--@rows ordered
-- k | windowend     | total
-- b | 1792969200000 | 4
SELECT k, WINDOWSTART, WINDOWEND, total FROM per_day EMIT CHANGES LIMIT 3;
--@rows ordered
-- k | windowstart   | windowend     | total
-- a | 1774652400000 | 1774738800000 | 1
-- a | 1774738800000 | 1774821600000 | 2
-- b | 1774738800000 | 1774821600000 | 4
SELECT k, WINDOWEND - WINDOWSTART AS length, SUM(v) AS total FROM readings
  WINDOW CUMULATIVE (SIZE 1 DAY, STEP 1 DAY, TIME ZONE 'Europe/Berlin') GROUP BY k EMIT CHANGES LIMIT 3;
--@rows ordered
-- k | length   | total
-- a | 86400000 | 1
-- a | 82800000 | 2
-- b | 82800000 | 4

--@test: an offset, with a zone and without; sizes without a zone are those of UTC
CREATE TABLE from_six AS
  SELECT k, SUM(v) AS total FROM readings
  WINDOW TUMBLING (SIZE 1 DAY, TIME ZONE 'Europe/Berlin', OFFSET 6 HOURS) GROUP BY k EMIT CHANGES;
CREATE TABLE from_six_utc AS
  SELECT k, SUM(v) AS total FROM readings WINDOW TUMBLING (SIZE 1 DAY, OFFSET 6 HOURS) GROUP BY k EMIT CHANGES;
CREATE TABLE from_a_quarter AS
  SELECT k, SUM(v) AS total FROM readings WINDOW TUMBLING (SIZE 1 HOUR, OFFSET 15 MINUTES) GROUP BY k EMIT CHANGES;
INSERT INTO readings (ROWTIME, k, v) VALUES (1774756799999, 'a', 1);
INSERT INTO readings (ROWTIME, k, v) VALUES (1774756800000, 'a', 2);
INSERT INTO readings (ROWTIME, k, v) VALUES (1774763999000, 'a', 4);
INSERT INTO readings (ROWTIME, k, v) VALUES (1774764000000, 'a', 8);
INSERT INTO readings (ROWTIME, k, v) VALUES (1774764899999, 'a', 16);
INSERT INTO readings (ROWTIME, k, v) VALUES (1774764900000, 'a', 32);
--@output FROM_SIX ordered
-- k | windowstart   | windowend     | total
-- a | 1774674000000 | 1774756800000 | 1
-- a | 1774756800000 | 1774843200000 | 2
-- a | 1774756800000 | 1774843200000 | 6
-- a | 1774756800000 | 1774843200000 | 14
-- a | 1774756800000 | 1774843200000 | 30
-- a | 1774756800000 | 1774843200000 | 62
--@output FROM_SIX_UTC ordered
-- k | windowstart   | windowend     | total
-- a | 1774677600000 | 1774764000000 | 1
-- a | 1774677600000 | 1774764000000 | 3
-- a | 1774677600000 | 1774764000000 | 7
-- a | 1774764000000 | 1774850400000 | 8
-- a | 1774764000000 | 1774850400000 | 24
-- a | 1774764000000 | 1774850400000 | 56
--@output FROM_A_QUARTER ordered
-- k | windowstart   | windowend     | total
-- a | 1774754100000 | 1774757700000 | 1
-- a | 1774754100000 | 1774757700000 | 3
-- a | 1774761300000 | 1774764900000 | 4
-- a | 1774761300000 | 1774764900000 | 12
-- a | 1774761300000 | 1774764900000 | 28
-- a | 1774764900000 | 1774768500000 | 32

--@test: weeks, months and years
CREATE TABLE per_week AS
  SELECT k, SUM(v) AS total FROM readings WINDOW TUMBLING (SIZE 1 WEEK) GROUP BY k EMIT FINAL;
CREATE TABLE per_month AS
  SELECT k, SUM(v) AS total FROM readings WINDOW TUMBLING (SIZE 1 MONTH, TIME ZONE 'Asia/Kathmandu') GROUP BY k EMIT FINAL;
CREATE TABLE fiscal_years AS
  SELECT k, SUM(v) AS total FROM readings WINDOW TUMBLING (SIZE 1 YEAR, OFFSET 3 MONTHS) GROUP BY k EMIT CHANGES;
INSERT INTO readings (ROWTIME, k, v) VALUES (1708905599999, 'a', 1);
INSERT INTO readings (ROWTIME, k, v) VALUES (1708905600000, 'a', 2);
INSERT INTO readings (ROWTIME, k, v) VALUES (1709230499999, 'a', 4);
INSERT INTO readings (ROWTIME, k, v) VALUES (1709230500000, 'a', 8);
INSERT INTO readings (ROWTIME, k, v) VALUES (1711926000000, 'a', 16);
INSERT INTO readings (ROWTIME, k, v) VALUES (1711929600000, 'a', 32);
INSERT INTO readings (ROWTIME, k, v) VALUES (1714521600000, 'a', 64);
--@output PER_WEEK ordered
-- k | windowstart   | windowend     | total
-- a | 1708300800000 | 1708905600000 | 1
-- a | 1708905600000 | 1709510400000 | 14
-- a | 1711324800000 | 1711929600000 | 16
-- a | 1711929600000 | 1712534400000 | 32
--@output PER_MONTH ordered
-- k | windowstart   | windowend     | total
-- a | 1706724900000 | 1709230500000 | 7
-- a | 1709230500000 | 1711908900000 | 8
-- a | 1711908900000 | 1714500900000 | 48
--@output FISCAL_YEARS ordered
-- k | windowstart   | windowend     | total
-- a | 1680307200000 | 1711929600000 | 1
-- a | 1680307200000 | 1711929600000 | 3
-- a | 1680307200000 | 1711929600000 | 7
-- a | 1680307200000 | 1711929600000 | 15
-- a | 1680307200000 | 1711929600000 | 31
-- a | 1711929600000 | 1743465600000 | 32
-- a | 1711929600000 | 1743465600000 | 96

--@test: the first window begins in 1970
CREATE TABLE first AS
  SELECT k, SUM(v) AS total FROM readings WINDOW TUMBLING (SIZE 1 DAY, OFFSET 6 HOURS) GROUP BY k EMIT CHANGES;
INSERT INTO readings (ROWTIME, k, v) VALUES (0, 'a', 1);
INSERT INTO readings (ROWTIME, k, v) VALUES (21599999, 'a', 2);
INSERT INTO readings (ROWTIME, k, v) VALUES (21600000, 'a', 4);
--@output FIRST ordered
-- k | windowstart | windowend | total
-- a | 0           | 21600000  | 1
-- a | 0           | 21600000  | 3
-- a | 21600000    | 108000000 | 4
SELECT * FROM first;
--@rows ordered
-- k | windowstart | windowend | total
-- a | 0           | 21600000  | 3
-- a | 21600000    | 108000000 | 4

--@test: twelve partitions, grouped by a value
CREATE STREAM wide (k STRING KEY, g STRING, v INT) WITH (KAFKA_TOPIC = '${case}_wide', VALUE_FORMAT = 'JSON', PARTITIONS = 12);
CREATE TABLE by_value AS
  SELECT g, SUM(v) AS total, WINDOWEND AS until FROM wide
  WINDOW TUMBLING (SIZE 1 DAY, TIME ZONE 'America/St_Johns', GRACE PERIOD 1 DAY) GROUP BY g EMIT CHANGES;
INSERT INTO wide (ROWTIME, k, g, v) VALUES (1772940599999, 'a', 'x', 1);
INSERT INTO wide (ROWTIME, k, g, v) VALUES (1772940600000, 'b', 'x', 2);
INSERT INTO wide (ROWTIME, k, g, v) VALUES (1773023399999, 'c', 'x', 4);
INSERT INTO wide (ROWTIME, k, g, v) VALUES (1773023400000, 'd', 'x', 8);
INSERT INTO wide (ROWTIME, k, g, v) VALUES (1773023400000, 'e', NULL, 16);
INSERT INTO wide (ROWTIME, k, g, v) VALUES (1773023400000, 'f', 'y', 32);
--@output BY_VALUE folded
-- g | windowstart   | windowend     | total | until
-- x | 1772854200000 | 1772940600000 | 1     | 1772940600000
-- x | 1772940600000 | 1773023400000 | 6     | 1773023400000
-- x | 1773023400000 | 1773109800000 | 8     | 1773109800000
-- y | 1773023400000 | 1773109800000 | 32    | 1773109800000

--@test: cumulative windows grow by steps; late records count in those that are open
CREATE TABLE growing AS
  SELECT k, SUM(v) AS total FROM readings
  WINDOW CUMULATIVE (SIZE 1 HOUR, STEP 20 MINUTES, GRACE PERIOD 5 MINUTES) GROUP BY k EMIT CHANGES;
CREATE TABLE grown AS
  SELECT k, SUM(v) AS total FROM readings
  WINDOW CUMULATIVE (SIZE 1 HOUR, STEP 20 MINUTES, GRACE PERIOD 5 MINUTES) GROUP BY k EMIT FINAL;
CREATE STREAM growing_read (k STRING KEY, total INT)
  WITH (KAFKA_TOPIC = '${case}_GROWING', VALUE_FORMAT = 'JSON', WINDOW_TYPE = 'CUMULATIVE');
CREATE STREAM copied AS SELECT k, total, WINDOWSTART AS since, WINDOWEND AS until FROM growing_read;
INSERT INTO readings (ROWTIME, k, v) VALUES (600000, 'a', 1);
INSERT INTO readings (ROWTIME, k, v) VALUES (1200000, 'a', 2);
INSERT INTO readings (ROWTIME, k, v) VALUES (1199999, 'b', 4);
INSERT INTO readings (ROWTIME, k, v) VALUES (1500000, 'b', 8);
INSERT INTO readings (ROWTIME, k, v) VALUES (0, 'a', 16);
INSERT INTO readings (ROWTIME, k, v) VALUES (3599999, 'a', 32);
INSERT INTO readings (ROWTIME, k, v) VALUES (3600000, 'a', 64);
INSERT INTO readings (ROWTIME, v) VALUES (3600000, 128);
INSERT INTO readings (ROWTIME, k, v) VALUES (9000000, 'c', 256);
--@output GROWING ordered
-- k | windowstart | windowend | total
-- a | 0           | 1200000   | 1
-- a | 0           | 2400000   | 1
-- a | 0           | 3600000   | 1
-- a | 0           | 2400000   | 3
-- a | 0           | 3600000   | 3
-- b | 0           | 1200000   | 4
-- b | 0           | 2400000   | 4
-- b | 0           | 3600000   | 4
-- b | 0           | 2400000   | 12
-- b | 0           | 3600000   | 12
-- a | 0           | 2400000   | 19
-- a | 0           | 3600000   | 19
-- a | 0           | 3600000   | 51
-- a | 3600000     | 4800000   | 64
-- a | 3600000     | 6000000   | 64
-- a | 3600000     | 7200000   | 64
-- c | 7200000     | 9600000   | 256
-- c | 7200000     | 10800000  | 256
--@output GROWN ordered
-- k | windowstart | windowend | total
-- a | 0           | 1200000   | 1
-- b | 0           | 1200000   | 4
-- a | 0           | 2400000   | 19
-- b | 0           | 2400000   | 12
-- a | 0           | 3600000   | 51
-- b | 0           | 3600000   | 12
-- a | 3600000     | 4800000   | 64
-- a | 3600000     | 6000000   | 64
-- a | 3600000     | 7200000   | 64
--@output COPIED ordered
-- k | windowstart | windowend | total | since   | until
-- a | 0           | 1200000   | 1     | 0       | 1200000
-- a | 0           | 2400000   | 1     | 0       | 2400000
-- a | 0           | 3600000   | 1     | 0       | 3600000
-- a | 0           | 2400000   | 3     | 0       | 2400000
-- a | 0           | 3600000   | 3     | 0       | 3600000
-- b | 0           | 1200000   | 4     | 0       | 1200000
-- b | 0           | 2400000   | 4     | 0       | 2400000
-- b | 0           | 3600000   | 4     | 0       | 3600000
-- b | 0           | 2400000   | 12    | 0       | 2400000
-- b | 0           | 3600000   | 12    | 0       | 3600000
-- a | 0           | 2400000   | 19    | 0       | 2400000
-- a | 0           | 3600000   | 19    | 0       | 3600000
-- a | 0           | 3600000   | 51    | 0       | 3600000
-- a | 3600000     | 4800000   | 64    | 3600000 | 4800000
-- a | 3600000     | 6000000   | 64    | 3600000 | 6000000
-- a | 3600000     | 7200000   | 64    | 3600000 | 7200000
-- c | 7200000     | 9600000   | 256   | 7200000 | 9600000
-- c | 7200000     | 10800000  | 256   | 7200000 | 10800000
SELECT k, WINDOWSTART, WINDOWEND, total FROM growing WHERE k = 'a';
--@rows ordered
-- k | windowstart | windowend | total
-- a | 0           | 1200000   | 1
-- a | 0           | 2400000   | 19
-- a | 0           | 3600000   | 51
-- a | 3600000     | 4800000   | 64
-- a | 3600000     | 6000000   | 64
-- a | 3600000     | 7200000   | 64
SELECT * FROM growing WHERE WINDOWEND = 2400000;
--@rows rowsort
-- k | windowstart | windowend | total
-- a | 0           | 2400000   | 19
-- b | 0           | 2400000   | 12

--@test: cumulative windows of a day with 23 hours, by hours, and of a month by days
CREATE TABLE hours_of_day AS
  SELECT k, SUM(v) AS total FROM readings
  WINDOW CUMULATIVE (SIZE 1 DAY, STEP 6 HOURS, TIME ZONE 'Europe/Berlin') GROUP BY k EMIT CHANGES;
CREATE TABLE days_of_month AS
  SELECT k, COUNT(*) AS n FROM readings
  WINDOW CUMULATIVE (SIZE 1 MONTH, STEP 1 DAY, TIME ZONE 'Europe/Berlin') GROUP BY k EMIT FINAL;
INSERT INTO readings (ROWTIME, k, v) VALUES (1774738800000, 'a', 1);
INSERT INTO readings (ROWTIME, k, v) VALUES (1774803600000, 'a', 2);
INSERT INTO readings (ROWTIME, k, v) VALUES (1774821599999, 'a', 4);
INSERT INTO readings (ROWTIME, k, v) VALUES (1774908000000, 'a', 8);
INSERT INTO readings (ROWTIME, k, v) VALUES (1774994400000, 'a', 16);
--@output HOURS_OF_DAY ordered
-- k | windowstart   | windowend     | total
-- a | 1774738800000 | 1774760400000 | 1
-- a | 1774738800000 | 1774782000000 | 1
-- a | 1774738800000 | 1774803600000 | 1
-- a | 1774738800000 | 1774821600000 | 1
-- a | 1774738800000 | 1774821600000 | 3
-- a | 1774738800000 | 1774821600000 | 7
-- a | 1774908000000 | 1774929600000 | 8
-- a | 1774908000000 | 1774951200000 | 8
-- a | 1774908000000 | 1774972800000 | 8
-- a | 1774908000000 | 1774994400000 | 8
-- a | 1774994400000 | 1775016000000 | 16
-- a | 1774994400000 | 1775037600000 | 16
-- a | 1774994400000 | 1775059200000 | 16
-- a | 1774994400000 | 1775080800000 | 16
--@output DAYS_OF_MONTH ordered
-- k | windowstart   | windowend     | n
-- a | 1772319600000 | 1774821600000 | 3
-- a | 1772319600000 | 1774908000000 | 3
-- a | 1772319600000 | 1774994400000 | 4
