-- a table of raw rows
SELECT {key} AS {key}, {text} AS {text}, {time} AS {time} FROM public.{table} LIMIT 1000;
-- a line by day, in a time range
SELECT DATE_TRUNC('day', {time}) AS {time}, sum({number}) AS "SUM({number})"
FROM public.{table}
WHERE {time} >= TO_TIMESTAMP('2026-01-01 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US')
  AND {time} < TO_TIMESTAMP('2026-02-01 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US')
GROUP BY DATE_TRUNC('day', {time})
ORDER BY "SUM({number})" DESC
LIMIT 10000;
-- lines by week with a limit of series
SELECT DATE_TRUNC('week', {time}) AS {time}, {text} AS {text}, count(*) AS count
FROM public.{table}
JOIN (
  SELECT {text} AS {text}__, sum({number}) AS mme_inner__
  FROM public.{table}
  WHERE {time} >= TO_TIMESTAMP('2026-01-01 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US')
  GROUP BY {text}
  ORDER BY mme_inner__ DESC
  LIMIT 2
) AS series_limit ON {text} = {text}__
WHERE {time} >= TO_TIMESTAMP('2026-01-01 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US')
GROUP BY DATE_TRUNC('week', {time}), {text}
ORDER BY count DESC
LIMIT 10000;
-- bars of a virtual dataset
SELECT {text} AS {text}, AVG({number}) AS "AVG({number})", COUNT(DISTINCT {key}) AS "COUNT_DISTINCT({key})"
FROM (SELECT * FROM {table}) AS virtual_table
WHERE {text} IN ('ann', 'bob') AND {text} ILIKE '%n%'
GROUP BY {text}
ORDER BY "AVG({number})" DESC
LIMIT 100;
-- a big number over a range of dates
SELECT max({number}) AS "MAX({number})", min({number}) AS "MIN({number})"
FROM public.{table}
WHERE {date} >= TO_DATE('2026-01-01', 'YYYY-MM-DD') AND {date} < TO_DATE('2026-02-01', 'YYYY-MM-DD')
LIMIT 50000;
-- points every five minutes
SELECT DATE_TRUNC('hour', {time}) + INTERVAL '5 minutes' * FLOOR(EXTRACT(MINUTE FROM {time}) / 5) AS __timestamp, count(*) AS count
FROM public.{table}
GROUP BY DATE_TRUNC('hour', {time}) + INTERVAL '5 minutes' * FLOOR(EXTRACT(MINUTE FROM {time}) / 5)
ORDER BY count DESC
LIMIT 1000;
-- points every half minute
SELECT DATE_TRUNC('minute', {time}) + INTERVAL '30 seconds' * FLOOR(EXTRACT(SECOND FROM {time}) / 30) AS __timestamp, count(*) AS count
FROM public.{table}
GROUP BY DATE_TRUNC('minute', {time}) + INTERVAL '30 seconds' * FLOOR(EXTRACT(SECOND FROM {time}) / 30);
-- weeks that begin on Sunday
SELECT DATE_TRUNC('week', {time} + INTERVAL '1 day') + INTERVAL '-1 day' AS {time}, count(*) AS count
FROM public.{table}
GROUP BY DATE_TRUNC('week', {time} + INTERVAL '1 day') + INTERVAL '-1 day';
-- a column in another time zone
SELECT {time} AT TIME ZONE 'America/New_York' AS eastern, count(*) AS count
FROM public.{table}
GROUP BY {time} AT TIME ZONE 'America/New_York'
LIMIT 100;
-- a column of formatted months
SELECT TO_CHAR({time}, 'YYYY-MM') AS month, count(*) AS count
FROM public.{table}
GROUP BY TO_CHAR({time}, 'YYYY-MM')
ORDER BY month;
-- the values of a filter
SELECT {text} AS {text} FROM public.{table} WHERE {text} IS NOT NULL GROUP BY {text} ORDER BY {text} ASC LIMIT 1000;
-- a box plot
SELECT {text} AS {text}, percentile_cont(0.25) WITHIN GROUP (ORDER BY {number}) AS q1, percentile_cont(0.75) WITHIN GROUP (ORDER BY {number}) AS q3
FROM public.{table}
GROUP BY {text};
-- a share of the whole
SELECT {text} AS {text}, sum({number}) * 1.0 / sum(sum({number})) OVER () AS share
FROM public.{table}
GROUP BY {text};
-- a line by month of dates
SELECT DATE_TRUNC('month', {date}) AS {date}, count(*) AS count
FROM public.{table}
WHERE {date} >= TO_DATE('2026-01-01', 'YYYY-MM-DD')
GROUP BY DATE_TRUNC('month', {date})
LIMIT 10000;
-- a line by day of seconds since 1970
SELECT DATE_TRUNC('day', (timestamp 'epoch' + {number} * interval '1 second')) AS {number}, count(*) AS count
FROM public.{table}
WHERE {number} >= 0
GROUP BY DATE_TRUNC('day', (timestamp 'epoch' + {number} * interval '1 second'))
LIMIT 10000;
