-- Nested orders: one row for each line of an order, with the product's name and price

SET 'auto.offset.reset' = 'earliest';

CREATE STREAM baskets (
  order_id INT KEY,
  customer STRING,
  lines ARRAY<STRUCT<sku STRING, quantity INT>>
) WITH (KAFKA_TOPIC = 'baskets', VALUE_FORMAT = 'JSON', PARTITIONS = 1);

CREATE TABLE products (sku STRING PRIMARY KEY, name STRING, price DOUBLE)
  WITH (KAFKA_TOPIC = 'products', VALUE_FORMAT = 'JSON', PARTITIONS = 1);

INSERT INTO products VALUES ('A1', 'apple', 0.5);
INSERT INTO products VALUES ('B2', 'bread', 3.2);
INSERT INTO products VALUES ('C3', 'cheese', 6.75);
INSERT INTO products VALUES ('D4', 'dates', 4.0);

--@generate baskets --rate 5/s

-- EXPLODE makes a row of each element.
CREATE STREAM order_lines AS
  SELECT order_id, customer, EXPLODE(lines) AS line
  FROM baskets
  EMIT CHANGES;

-- Nobody has entered the product E5 yet: its lines have no name and no price.
CREATE STREAM priced_lines AS
  SELECT p.sku AS sku, l.order_id AS order_id, l.customer AS customer, l.line->quantity AS quantity,
         p.name AS name, l.line->quantity * p.price AS amount
  FROM order_lines l
  LEFT JOIN products p ON l.line->sku = p.sku
  EMIT CHANGES;

--@show Lines with names and prices | | SELECT ORDER_ID, CUSTOMER, NAME, QUANTITY, AMOUNT FROM priced_lines EMIT CHANGES;

CREATE TABLE customer_totals AS
  SELECT customer, COUNT(*) AS lines, SUM(amount) AS spent, COLLECT_SET(name) AS bought
  FROM priced_lines
  WHERE amount IS NOT NULL
  GROUP BY customer
  EMIT CHANGES;

--@show Customers | key CUSTOMER; bar SPENT | SELECT CUSTOMER, LINES, SPENT FROM customer_totals EMIT CHANGES;
