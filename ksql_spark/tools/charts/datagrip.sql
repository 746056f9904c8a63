-- a table
SELECT t.* FROM public.{table} t LIMIT 501;
-- a table with a filter, sorted
SELECT t.* FROM public.{table} t WHERE {text} = 'ann' ORDER BY {number} DESC, {key} LIMIT 501;
-- the next page
SELECT t.* FROM public.{table} t ORDER BY {key} LIMIT 501 OFFSET 2;
-- the number of rows
SELECT COUNT(*) FROM (SELECT t.* FROM public.{table} t) "t";
-- a filter of values
SELECT t.* FROM public.{table} t WHERE {text} IN ('ann', 'bob') AND {number} BETWEEN 1 AND 100;
-- the values of a column
SELECT DISTINCT t.{text} FROM public.{table} t ORDER BY 1;
