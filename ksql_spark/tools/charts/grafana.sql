-- $__time and $__timeFilter
SELECT {time} AS "time", {number} AS value FROM {table}
WHERE {time} BETWEEN '2026-01-01T00:00:00Z' AND '2026-02-01T00:00:00Z' ORDER BY 1;
-- $__timeGroupAlias
SELECT floor(extract(epoch from {time})/3600)*3600 AS "time", {text} AS metric, sum({number}) AS "{number}"
FROM {table} WHERE {time} BETWEEN '2026-01-01T00:00:00Z' AND '2026-02-01T00:00:00Z' GROUP BY 1, 2 ORDER BY 1, 2;
-- $__timeEpoch
SELECT extract(epoch from {time}) as "time", avg({number}) AS value FROM {table} GROUP BY {time} ORDER BY 1;
-- $__timeFrom and $__timeTo
SELECT count(*) FROM {table} WHERE {time} > '2026-01-01T00:00:00Z' AND {time} < '2026-02-01T00:00:00Z';
-- $__unixEpochFilter
SELECT count(*) FROM {table} WHERE extract(epoch from {time}) >= 1767225600 AND extract(epoch from {time}) <= 1769904000;
-- $__unixEpochGroup
SELECT floor((extract(epoch from {time}))/300)*300 AS "time", max({number}) FROM {table} GROUP BY 1 ORDER BY 1;
-- the builder: a table
SELECT SUM({number}), {text} FROM public.{table} WHERE {text} = 'ann' GROUP BY {text} LIMIT 50;
-- a variable
SELECT DISTINCT {text} AS __text, {text} AS __value FROM {table} ORDER BY 1;
-- a stat: the last value
SELECT {time} AS "time", {number} FROM {table} ORDER BY {time} DESC LIMIT 1;
-- change from row to row
SELECT {time} AS "time", {number} - lag({number}) OVER w AS change FROM {table} WINDOW w AS (PARTITION BY {text} ORDER BY {time}) ORDER BY 1;
-- a heat map
SELECT date_trunc('day', {time}) AS "time", mod(extract(hour from {time})::int, 6) AS bucket, count(*) FROM {table} GROUP BY 1, 2 ORDER BY 1, 2;
-- how long ago
SELECT {key}, extract(epoch from (timestamp '2026-03-01' - {time})) AS seconds FROM {table} ORDER BY 1;
