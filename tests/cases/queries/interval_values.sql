-- Beyond ksqlDB: INTERVAL as a value, in persistent, push and pull queries, and in keys' conditions.
CREATE STREAM rides (k STRING KEY, started TIMESTAMP, ended TIMESTAMP, day DATE, clock TIME) WITH (KAFKA_TOPIC = '${case}_r', VALUE_FORMAT = 'JSON', PARTITIONS = 1);

--@test: arithmetic, comparisons, aggregates, and times of records
CREATE STREAM o AS
  SELECT k, ended + INTERVAL 1 MONTH AS due, day - INTERVAL 1 YEAR AS before, day + INTERVAL 1 HOUR AS moment, clock + INTERVAL '-90' MINUTES AS earlier,
    CAST(ended - started AS BIGINT) AS length, ROWTIME + INTERVAL 1 SECOND AS later, ended - started > INTERVAL '1 hour 30 minutes' AS is_long
  FROM rides WHERE started IS NULL OR ended - started < INTERVAL 1 DAY;
CREATE TABLE t AS SELECT k, MAX(CAST(ended - started AS BIGINT)) AS longest, MAX(ended + INTERVAL 1 DAY) AS due FROM rides GROUP BY k;
INSERT INTO rides (ROWTIME, k, started, ended, day, clock) VALUES (1000, 'a', '2026-01-31T10:00', '2026-01-31T12:00', '2024-02-29', '00:30');
INSERT INTO rides (ROWTIME, k, started, ended, day, clock) VALUES (2000, 'a', '2026-01-31T10:00', CAST('2026-01-31T10:00' AS TIMESTAMP) + INTERVAL 10 MINUTES, NULL, NULL);
INSERT INTO rides (ROWTIME, k, started, ended, day, clock) VALUES (3000, 'b', '2026-01-31T10:00', '2026-03-31T12:00', NULL, NULL);
INSERT INTO rides (ROWTIME, k, started, ended, day, clock) VALUES (4000, 'c', NULL, '2026-03-31T12:00', NULL, NULL);
--@output O ordered
-- k | due                     | before     | moment                  | earlier | length  | later | is_long
-- a | 2026-02-28T12:00:00.000 | 2023-02-28 | 2024-02-29T01:00:00.000 | 23:00   | 7200000 | 2000  | true
-- a | 2026-02-28T10:10:00.000 | NULL       | NULL                    | NULL    | 600000  | 3000  | false
-- c | 2026-04-30T12:00:00.000 | NULL       | NULL                    | NULL    | NULL    | 5000  | NULL
--@output T folded
-- k | longest    | due
-- a | 7200000    | 2026-02-01T12:00:00.000
-- b | 5104800000 | 2026-04-01T12:00:00.000
-- c | NULL       | 2026-04-01T12:00:00.000
SELECT k, due - INTERVAL 1 DAY AS ended FROM t WHERE due - CAST('2026-02-01' AS TIMESTAMP) > INTERVAL 13 HOURS;
--@rows rowsort
-- k | ended
-- b | 2026-03-31T12:00:00.000
-- c | 2026-03-31T12:00:00.000
SELECT k, CAST(ended - started AS BIGINT) AS ms FROM rides WHERE ended - started > INTERVAL 1 HOUR EMIT CHANGES LIMIT 2;
--@rows ordered
-- k | ms
-- a | 7200000
-- b | 5104800000
SELECT k, ended - started AS length FROM rides EMIT CHANGES;
--@error: INVALID_STATEMENT
-- An INTERVAL cannot be a column. CAST(… AS BIGINT) gives its milliseconds.
-- line 1:11
--   SELECT k, ended - started AS length FROM rides EMIT CHANGES
--             ^^^^^^^^^^^^^^^^^^^^^^^^^
