-- a table
SELECT x.* FROM public.{table} x LIMIT 200;
-- a table with a filter, sorted
SELECT x.* FROM public.{table} x WHERE x.{text} = 'ann' ORDER BY x.{time} DESC, x.{key};
-- the number of rows
SELECT count(*) FROM public.{table};
-- the number of rows of a query
SELECT COUNT(*) FROM (SELECT x.* FROM public.{table} x) dbvrcnt;
-- the values of a filter
SELECT x.{text}, count(*) FROM public.{table} x GROUP BY x.{text} ORDER BY 2 DESC, 1 LIMIT 100;
-- a grouping panel
SELECT {text}, COUNT(*), SUM({number}) FROM (SELECT x.* FROM public.{table} x) "src" GROUP BY {text} ORDER BY COUNT(*) DESC, {text};
