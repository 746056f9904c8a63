-- Statements that are refused after those of docs/reference/select.md below the same heading.

-- ## 2.2 Persistent queries
CREATE STREAM c AS SELECT item, COUNT(*) FROM orders GROUP BY item;
CREATE TABLE c AS SELECT * FROM orders;
CREATE STREAM c AS SELECT item, price FROM orders;
CREATE STREAM c AS SELECT id, id AS again, price FROM orders;
CREATE STREAM c AS SELECT id FROM orders;
CREATE STREAM c AS SELECT id, ROWTIME FROM orders;
CREATE STREAM c AS SELECT * FROM orders LIMIT 5;
INSERT INTO sales SELECT item, 1, price FROM orders;
INSERT INTO dear SELECT id, item FROM orders;

-- ## 2.5 Clauses
SELECT DISTINCT item FROM orders EMIT CHANGES;
SELECT * FROM orders ORDER BY price EMIT CHANGES;
SELECT item, COUNT(*) FROM orders GROUP BY customer EMIT CHANGES;
SELECT item, price FROM orders GROUP BY item EMIT CHANGES;
SELECT item FROM orders WHERE price EMIT CHANGES;
SELECT item, COUNT(*) FROM orders GROUP BY item EMIT FINAL;
SELECT * FROM customers PARTITION BY city EMIT CHANGES;
SELECT name FROM (SELECT * FROM customers LIMIT 5) EMIT CHANGES;

-- ### CROSS JOIN UNNEST
SELECT name, x FROM customers CROSS JOIN UNNEST(ARRAY[1, 2]) AS u (x) EMIT CHANGES;
SELECT id, tag FROM orders CROSS JOIN UNNEST(item) AS t (tag) EMIT CHANGES;

-- ### Pull queries on tables
SELECT * FROM orders AS OF TIMESTAMP '2026-01-31T12:00';
SELECT * FROM sales AS OF TIMESTAMP 'yesterday';
SELECT * FROM customers WHERE name = 'ann';
SELECT * FROM sales WHERE item = 1;
SELECT * FROM sales WHERE item IN ('tea', NULL);
SELECT ROWPARTITION FROM sales;
SELECT item, COUNT(*) FROM sales WINDOW TUMBLING (SIZE 1 HOUR) GROUP BY item;
SELECT * FROM orders PARTITION BY item;
