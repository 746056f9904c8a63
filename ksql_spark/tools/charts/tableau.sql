-- a number
SELECT SUM("{table}"."{number}") AS "sum:{number}:ok" FROM "public"."{table}" "{table}" HAVING (COUNT(1) > 0);
-- bars
SELECT "{table}"."{text}" AS "{text}", SUM("{table}"."{number}") AS "sum:{number}:ok"
FROM "public"."{table}" "{table}" GROUP BY 1;
-- a line by month
SELECT DATE_TRUNC( 'MONTH', CAST("{table}"."{time}" AS TIMESTAMP) ) AS "tmn:{time}:ok", SUM("{table}"."{number}") AS "sum:{number}:ok"
FROM "public"."{table}" "{table}" GROUP BY 1;
-- columns by year and quarter
SELECT CAST(TRUNC(EXTRACT(YEAR FROM "{table}"."{time}")) AS INTEGER) AS "yr:{time}:ok",
  CAST(TRUNC(EXTRACT(QUARTER FROM "{table}"."{time}")) AS INTEGER) AS "qr:{time}:ok", COUNT(1) AS "cnt:{table}:ok"
FROM "public"."{table}" "{table}" GROUP BY 1, 2;
-- weeks that begin on Sunday
SELECT (DATE_TRUNC( 'DAY', CAST("{table}"."{time}" AS TIMESTAMP) ) + (-EXTRACT(DOW FROM "{table}"."{time}") * INTERVAL '1 DAY')) AS "twk:{time}:ok",
  SUM("{table}"."{number}") AS "sum:{number}:ok"
FROM "public"."{table}" "{table}" GROUP BY 1;
-- the columns of custom SQL
SELECT * FROM (SELECT * FROM {table}) "Custom SQL Query" LIMIT 0;
-- bars over custom SQL
SELECT "Custom SQL Query"."{text}" AS "{text}", AVG("Custom SQL Query"."{number}") AS "avg:{number}:ok"
FROM (
  SELECT * FROM {table}
) "Custom SQL Query"
WHERE ("Custom SQL Query"."{text}" IN ('ann', 'bob'))
GROUP BY 1;
-- a filter of a range of times
SELECT "{table}"."{text}" AS "{text}", COUNT(DISTINCT "{table}"."{key}") AS "ctd:{key}:ok"
FROM "public"."{table}" "{table}"
WHERE (("{table}"."{time}" >= (TIMESTAMP '2026-01-01 00:00:00.000')) AND ("{table}"."{time}" <= (TIMESTAMP '2026-01-31 23:59:59.000')))
GROUP BY 1;
-- a filter of relative dates
SELECT SUM("{table}"."{number}") AS "sum:{number}:ok"
FROM "public"."{table}" "{table}"
WHERE ((CAST("{table}"."{time}" AS DATE) >= (CAST('2026-01-31' AS DATE) - 29)) AND (CAST("{table}"."{time}" AS DATE) < (CAST('2026-01-31' AS DATE) + 1)))
HAVING (COUNT(1) > 0);
-- the first n of a filter
SELECT "{table}"."{text}" AS "{text}", SUM("{table}"."{number}") AS "sum:{number}:ok"
FROM "public"."{table}" "{table}"
  INNER JOIN (
  SELECT "{table}"."{text}" AS "{text}", SUM("{table}"."{number}") AS "$__alias__0"
  FROM "public"."{table}" "{table}" GROUP BY 1 ORDER BY 2 DESC NULLS LAST LIMIT 2
) "t0" ON ("{table}"."{text}" = "t0"."{text}")
GROUP BY 1;
-- a filter of texts
SELECT "{table}"."{text}" AS "{text}" FROM "public"."{table}" "{table}"
WHERE (STRPOS(CAST(LOWER(CAST(CAST("{table}"."{text}" AS TEXT) AS TEXT)) AS TEXT), CAST('n' AS TEXT)) > 0)
GROUP BY 1 ORDER BY 1 ASC;
-- deviations
SELECT "{table}"."{text}" AS "{text}", STDDEV_SAMP(CAST("{table}"."{number}" AS DOUBLE PRECISION)) AS "std:{number}:ok",
  STDDEV_POP(CAST("{table}"."{number}" AS DOUBLE PRECISION)) AS "stp:{number}:ok", VAR_SAMP(CAST("{table}"."{number}" AS DOUBLE PRECISION)) AS "var:{number}:ok",
  VAR_POP(CAST("{table}"."{number}" AS DOUBLE PRECISION)) AS "vrp:{number}:ok"
FROM "public"."{table}" "{table}" GROUP BY 1;
-- a calculated field
SELECT (CASE WHEN ("{table}"."{number}" > 10) THEN 'large' WHEN NOT ("{table}"."{number}" > 10) THEN 'small' ELSE NULL END) AS "Calculation_1",
  SUBSTRING("{table}"."{text}" FROM 1 FOR 2) AS "Calculation_2", COUNT(1) AS "cnt:{table}:ok"
FROM "public"."{table}" "{table}" GROUP BY 1, 2;
-- days between two times
SELECT "{table}"."{key}" AS "{key}", (CAST("{table}"."{time}" AS DATE) - DATE '2026-01-01') AS "Calculation_3"
FROM "public"."{table}" "{table}";
