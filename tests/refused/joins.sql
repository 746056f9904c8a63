-- Statements that are refused after those of docs/reference/joins.md below the same heading.

-- ## 2.7 Syntax and kinds
SELECT * FROM orders o LEFT JOIN payments p ON o.id = p.id EMIT CHANGES;
SELECT * FROM orders o JOIN customers c WITHIN 1 HOUR ON o.customer = c.name EMIT CHANGES;
SELECT * FROM orders o JOIN customers c ON o.customer = c.city EMIT CHANGES;
SELECT * FROM orders o RIGHT JOIN customers c ON o.customer = c.name EMIT CHANGES;
SELECT * FROM customers c JOIN orders o ON c.name = o.customer EMIT CHANGES;
SELECT * FROM customers c FULL JOIN cities t ON c.city = t.city EMIT CHANGES;
SELECT * FROM orders o JOIN payments p WITHIN 1 HOUR ON o.id = p.id AND o.price = p.paid EMIT CHANGES;
SELECT * FROM orders o JOIN payments p WITHIN 1 HOUR ON o.price = p.id EMIT CHANGES;
SELECT * FROM customers c LEFT JOIN ratings r ON c.name = r.name AND c.city = 'Rome' EMIT CHANGES;
SELECT * FROM orders o JOIN clicks c WITHIN 1 HOUR ON o.item = c.item EMIT CHANGES;

-- ### EXISTS and IN
SELECT * FROM orders o WHERE EXISTS (SELECT 1 FROM payments p WHERE p.id = o.id) EMIT CHANGES;
SELECT * FROM orders WHERE item IN (SELECT city FROM customers) EMIT CHANGES;
SELECT * FROM orders WHERE price > 9 OR customer IN (SELECT name FROM customers) EMIT CHANGES;
SELECT * FROM orders WHERE customer IN (SELECT name FROM customers GROUP BY name) EMIT CHANGES;
SELECT id, customer IN (SELECT name FROM customers) AS known FROM orders EMIT CHANGES;

-- ### FOR SYSTEM_TIME AS OF
SELECT o.id, c.city FROM orders o JOIN customers c FOR SYSTEM_TIME AS OF o.ROWTIME ON o.customer = c.name EMIT CHANGES;
SELECT o.id, c.city FROM orders o JOIN customers c FOR SYSTEM_TIME AS OF o.price GRACE PERIOD 1 SECOND ON o.customer = c.name EMIT CHANGES;
SELECT c.name, r.stars FROM customers c JOIN ratings r FOR SYSTEM_TIME AS OF c.ROWTIME GRACE PERIOD 1 DAY ON c.name = r.name EMIT CHANGES;
