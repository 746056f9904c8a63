-- Customer 360: all that is known of a customer in one table, by table-table and foreign-key joins

SET 'auto.offset.reset' = 'earliest';

CREATE TABLE customers (customer_id INT PRIMARY KEY, name STRING, city STRING)
  WITH (KAFKA_TOPIC = 'customers', VALUE_FORMAT = 'JSON', PARTITIONS = 1);

CREATE TABLE loyalty (customer_id INT PRIMARY KEY, level STRING, points INT)
  WITH (KAFKA_TOPIC = 'loyalty', VALUE_FORMAT = 'JSON', PARTITIONS = 1);

CREATE TABLE invoices (invoice_id INT PRIMARY KEY, customer_id INT, amount DOUBLE, state STRING)
  WITH (KAFKA_TOPIC = 'invoices', VALUE_FORMAT = 'JSON', PARTITIONS = 1);

--@generate customers --rate 2/s
--@generate loyalty --rate 2/s
--@generate invoices --rate 10/s

-- A foreign-key join: each invoice with the name of its customer, and again when the customer changes.
CREATE TABLE named_invoices AS
  SELECT i.invoice_id AS invoice_id, c.name AS name, c.city AS city, i.amount AS amount, i.state AS state
  FROM invoices i
  INNER JOIN customers c ON i.customer_id = c.customer_id
  EMIT CHANGES;

--@show Invoices by name | key INVOICE_ID | SELECT * FROM named_invoices EMIT CHANGES;

-- What each customer owes. An invoice that is paid is taken out of the sum.
CREATE TABLE debts AS
  SELECT customer_id, COUNT(*) AS invoices, SUM(amount) AS owed
  FROM invoices
  WHERE state = 'OPEN'
  GROUP BY customer_id
  EMIT CHANGES;

-- Three tables with one key.
CREATE TABLE customer_360 AS
  SELECT c.customer_id AS customer_id, c.name AS name, c.city AS city, l.level AS level, l.points AS points,
         d.invoices AS open_invoices, d.owed AS owed
  FROM customers c
  LEFT JOIN loyalty l ON c.customer_id = l.customer_id
  LEFT JOIN debts d ON c.customer_id = d.customer_id
  EMIT CHANGES;

--@show Customers | key CUSTOMER_ID | SELECT * FROM customer_360 EMIT CHANGES;
--@show Look-up: customer 7 | key CUSTOMER_ID | SELECT * FROM customer_360 WHERE customer_id = 7;
