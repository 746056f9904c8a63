-- a table
SELECT * FROM "public"."{table}" LIMIT 100 OFFSET 0;
-- a table with a filter, sorted
SELECT * FROM "public"."{table}" WHERE "{text}" ILIKE '%n%' ORDER BY "{key}" ASC LIMIT 100;
-- the number of rows
SELECT COUNT(*) AS "count" FROM "public"."{table}";
-- a chart of counts
SELECT "{text}", COUNT(*) AS "count" FROM "public"."{table}" GROUP BY "{text}" ORDER BY "count" DESC, "{text}" LIMIT 20;
