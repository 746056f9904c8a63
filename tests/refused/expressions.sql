-- Statements that are refused after those of docs/reference/expressions.md below the same heading.

-- ### Functions
SELECT id, CASE id WHEN 'one' THEN 1 END FROM baskets EMIT CHANGES;
SELECT id FROM baskets WHERE items = NULL EMIT CHANGES;
SELECT id:name FROM baskets EMIT CHANGES;
SELECT UCASE(EXPLODE(items)) FROM baskets EMIT CHANGES;
SELECT FILTER(items, id => id = 'x') FROM baskets EMIT CHANGES;

-- ## 3.3 Comparisons
SELECT * FROM baskets WHERE id = '1' EMIT CHANGES;
SELECT * FROM baskets WHERE items < items EMIT CHANGES;

-- ### Times and INTERVALs
SELECT id, ended - started AS length FROM rides EMIT CHANGES;
SELECT id, started + INTERVAL '1 month 2 days' AS due FROM rides EMIT CHANGES;
SELECT id, ROWTIME + INTERVAL 1 MONTH AS due FROM rides EMIT CHANGES;
SELECT id, started + 1 AS due FROM rides EMIT CHANGES;
