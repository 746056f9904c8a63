-- a table of a metric by day
WITH metrics AS (
  SELECT DATE_TRUNC('DAY', "{table}".{time}) AS "{table}_{time}_day", "{table}".{text} AS "{table}_{text}", SUM("{table}".{number}) AS "{table}_total"
  FROM "ksql"."public"."{table}" AS "{table}"
  WHERE ((("{table}".{time}) >= ('2026-01-01 00:00:00') AND ("{table}".{time}) <= ('2026-01-31 23:59:59')))
  GROUP BY 1, 2
)
SELECT *, "{table}_total" * 2 AS "twice" FROM metrics ORDER BY "{table}_{time}_day" DESC, "{table}_{text}" LIMIT 500;
-- a number
SELECT COUNT(DISTINCT "{table}".{key}) AS "{table}_count" FROM "ksql"."public"."{table}" AS "{table}" LIMIT 1;
-- names of days and months
SELECT TO_CHAR("{table}".{time}, 'FMDay') AS "day", TO_CHAR("{table}".{time}, 'FMMonth') AS "month", TO_CHAR("{table}".{time}, '"Q"Q') AS "quarter",
  DATE_PART('YEAR', "{table}".{time}) AS "year", AVG("{table}".{number}) AS "average"
FROM "ksql"."public"."{table}" AS "{table}" GROUP BY 1, 2, 3, 4 ORDER BY "average" DESC LIMIT 500;
-- days of a time zone
SELECT DATE_TRUNC('DAY', ("{table}".{time})::timestamptz AT TIME ZONE 'UTC' AT TIME ZONE 'Europe/Berlin') AS "day", COUNT(*) AS "count"
FROM "ksql"."public"."{table}" AS "{table}" GROUP BY 1 ORDER BY 1 LIMIT 500;
-- medians and percentiles
SELECT "{table}".{text} AS "{table}_{text}", PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY "{table}".{number}) AS "median", PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY "{table}".{number}) AS "p90"
FROM "ksql"."public"."{table}" AS "{table}" GROUP BY 1 LIMIT 500;
-- a share of the column
WITH metrics AS (
  SELECT "{table}".{text} AS "{table}_{text}", SUM("{table}".{number}) AS "{table}_total" FROM "ksql"."public"."{table}" AS "{table}" GROUP BY 1
), table_calculations AS (
  SELECT *, "{table}_total" / SUM("{table}_total") OVER () AS "share", RANK() OVER (ORDER BY "{table}_total" DESC) AS "rank" FROM metrics
)
SELECT * FROM table_calculations WHERE "rank" <= 10 ORDER BY "rank", "{table}_{text}" LIMIT 500;
-- the values of a filter
SELECT DISTINCT "{table}".{text} AS "{table}_{text}" FROM "ksql"."public"."{table}" AS "{table}"
WHERE (LOWER("{table}".{text}) LIKE LOWER('%n%')) ORDER BY 1 LIMIT 50;
