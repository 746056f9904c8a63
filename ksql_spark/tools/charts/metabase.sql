-- raw rows
SELECT "public"."{table}"."{key}" AS "{key}", "public"."{table}"."{text}" AS "{text}", "public"."{table}"."{number}" AS "{number}"
FROM "public"."{table}" LIMIT 2000;
-- a line by month
SELECT DATE_TRUNC('month', "public"."{table}"."{time}") AS "{time}", SUM("public"."{table}"."{number}") AS "sum"
FROM "public"."{table}"
GROUP BY DATE_TRUNC('month', "public"."{table}"."{time}")
ORDER BY DATE_TRUNC('month', "public"."{table}"."{time}") ASC;
-- a line by day, as dates
SELECT CAST("public"."{table}"."{time}" AS date) AS "{time}", COUNT(*) AS "count"
FROM "public"."{table}"
WHERE ("public"."{table}"."{time}" >= timestamp '2026-01-01 00:00:00.000') AND ("public"."{table}"."{time}" < timestamp '2026-02-01 00:00:00.000')
GROUP BY CAST("public"."{table}"."{time}" AS date)
ORDER BY CAST("public"."{table}"."{time}" AS date) ASC;
-- bars by week
SELECT (CAST(DATE_TRUNC('week', ("public"."{table}"."{time}" + INTERVAL '1 day')) AS timestamp) + INTERVAL '-1 day') AS "{time}", AVG("public"."{table}"."{number}") AS "avg"
FROM "public"."{table}"
GROUP BY (CAST(DATE_TRUNC('week', ("public"."{table}"."{time}" + INTERVAL '1 day')) AS timestamp) + INTERVAL '-1 day')
ORDER BY (CAST(DATE_TRUNC('week', ("public"."{table}"."{time}" + INTERVAL '1 day')) AS timestamp) + INTERVAL '-1 day') ASC;
-- a filter of the last days
SELECT COUNT(*) AS "count" FROM "public"."{table}"
WHERE ("public"."{table}"."{time}" >= DATE_TRUNC('day', (NOW() + INTERVAL '-30 day'))) AND ("public"."{table}"."{time}" < DATE_TRUNC('day', NOW()));
-- bars by hour of the day
SELECT CAST(extract(hour from "public"."{table}"."{time}") AS integer) AS "{time}", COUNT(*) AS "count"
FROM "public"."{table}" GROUP BY CAST(extract(hour from "public"."{table}"."{time}") AS integer)
ORDER BY CAST(extract(hour from "public"."{table}"."{time}") AS integer) ASC;
-- bars by day of the week
SELECT (MOD((CAST(extract(dow from "public"."{table}"."{time}") AS integer) + 7), 7) + 1) AS "{time}", COUNT(*) AS "count"
FROM "public"."{table}"
GROUP BY (MOD((CAST(extract(dow from "public"."{table}"."{time}") AS integer) + 7), 7) + 1);
-- a histogram
SELECT ((FLOOR((("public"."{table}"."{number}" - 0.0) / 10.0)) * 10.0) + 0.0) AS "{number}", COUNT(*) AS "count"
FROM "public"."{table}"
GROUP BY ((FLOOR((("public"."{table}"."{number}" - 0.0) / 10.0)) * 10.0) + 0.0)
ORDER BY ((FLOOR((("public"."{table}"."{number}" - 0.0) / 10.0)) * 10.0) + 0.0) ASC;
-- deviations and percentiles
SELECT STDDEV_POP("public"."{table}"."{number}"::double precision) AS "stddev", VAR_POP("public"."{table}"."{number}"::double precision) AS "var",
  PERCENTILE_CONT(0.5) within group (order by "public"."{table}"."{number}") AS "median"
FROM "public"."{table}";
-- a running sum
SELECT DATE_TRUNC('month', "public"."{table}"."{time}") AS "{time}",
  SUM(SUM("public"."{table}"."{number}")) OVER (ORDER BY DATE_TRUNC('month', "public"."{table}"."{time}") ASC ROWS UNBOUNDED PRECEDING) AS "sum"
FROM "public"."{table}"
GROUP BY DATE_TRUNC('month', "public"."{table}"."{time}")
ORDER BY DATE_TRUNC('month', "public"."{table}"."{time}") ASC;
-- a question about a question
SELECT "source"."{text}" AS "{text}", SUM("source"."sum") AS "sum"
FROM (
  SELECT "public"."{table}"."{text}" AS "{text}", "public"."{table}"."{key}" AS "{key}", SUM("public"."{table}"."{number}") AS "sum"
  FROM "public"."{table}" GROUP BY "public"."{table}"."{text}", "public"."{table}"."{key}"
) AS "source"
WHERE "source"."sum" > 1 GROUP BY "source"."{text}" ORDER BY "source"."{text}" ASC;
-- a joined table
SELECT "public"."{table}"."{key}" AS "{key}", "Other - {key}"."{text}" AS "Other__{text}"
FROM "public"."{table}" LEFT JOIN "public"."{table}" AS "Other - {key}" ON "public"."{table}"."{key}" = "Other - {key}"."{key}"
LIMIT 1048575;
-- a time in another zone
SELECT timezone('America/New_York', timezone('UTC', "public"."{table}"."{time}")) AS "local", "public"."{table}"."{key}" AS "{key}"
FROM "public"."{table}" LIMIT 2000;
-- years, months and days between two times
SELECT "public"."{table}"."{key}" AS "{key}",
  EXTRACT(year from AGE(timestamp '2027-03-15 12:00:00', "public"."{table}"."{time}")) AS "years",
  DATE_PART('month', AGE(timestamp '2027-03-15 12:00:00', "public"."{table}"."{time}")) AS "months",
  DATE_PART('day', timestamp '2027-03-15 12:00:00' - "public"."{table}"."{time}") AS "days"
FROM "public"."{table}" LIMIT 2000;
-- custom columns
SELECT CONCAT("public"."{table}"."{text}", '-', "public"."{table}"."{text}") AS "both", SUBSTRING("public"."{table}"."{text}", 1, 2) AS "start",
  SUBSTRING("public"."{table}"."{text}" FROM 'n+') AS "found", COALESCE("public"."{table}"."{text}", 'none') AS "name"
FROM "public"."{table}" LIMIT 2000;
-- a share of rows
SELECT CAST(SUM(CASE WHEN "public"."{table}"."{number}" > 10 THEN 1 ELSE 0.0 END) AS float) / NULLIF(CAST(COUNT(*) AS float), 0) AS "share"
FROM "public"."{table}";
-- a filter of texts
SELECT COUNT(*) AS "count" FROM "public"."{table}" WHERE (LOWER("public"."{table}"."{text}") LIKE '%n%') AND ("public"."{table}"."{text}" <> 'x' OR "public"."{table}"."{text}" IS NULL);
-- the values of a field
SELECT "source"."{text}" AS "{text}", "source"."s" AS "s" FROM (SELECT "public"."{table}"."{text}" AS "{text}", SUBSTRING("public"."{table}"."{text}", 1, 1234) AS "s" FROM "public"."{table}") AS "source" LIMIT 10000;
