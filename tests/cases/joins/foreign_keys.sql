-- Several foreign keys in one statement.
CREATE TABLE parcels (id INT PRIMARY KEY, customer STRING, item STRING)
  WITH (KAFKA_TOPIC = '${case}_parcels', VALUE_FORMAT = 'JSON', PARTITIONS = 4);
CREATE TABLE customers (name STRING PRIMARY KEY, city STRING)
  WITH (KAFKA_TOPIC = '${case}_customers', VALUE_FORMAT = 'JSON', PARTITIONS = 2);
CREATE TABLE items (item STRING PRIMARY KEY, price INT)
  WITH (KAFKA_TOPIC = '${case}_items', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE TABLE cities (city STRING PRIMARY KEY, country STRING)
  WITH (KAFKA_TOPIC = '${case}_cities', VALUE_FORMAT = 'JSON', PARTITIONS = 1);

--@test: of the first table, and of one that was joined
INSERT INTO customers (name, city) VALUES ('ann', 'Rome');
INSERT INTO items (item, price) VALUES ('tea', 3);
INSERT INTO parcels (id, customer, item) VALUES (1, 'ann', 'tea');
INSERT INTO parcels (id, customer, item) VALUES (2, 'ann', 'mug');
INSERT INTO parcels (id, customer, item) VALUES (3, 'bob', 'tea');
CREATE TABLE labels AS
  SELECT p.id AS id, c.city AS city, i.price AS price, t.country AS country
  FROM parcels p JOIN customers c ON p.customer = c.name LEFT JOIN items i ON p.item = i.item
    LEFT JOIN cities t ON c.city = t.city EMIT CHANGES;
INSERT INTO cities (city, country) VALUES ('Rome', 'Italy');
--@output LABELS folded
-- id | city | price | country
-- 1  | Rome | 3     | Italy
-- 2  | Rome | NULL  | Italy
INSERT INTO customers (name, city) VALUES ('bob', 'Oslo');
INSERT INTO items (item, price) VALUES ('mug', 8);
--@restart
INSERT INTO cities (city, country) VALUES ('Oslo', 'Norway');
INSERT INTO customers (name, city) VALUES ('ann', 'Oslo');
INSERT INTO items (item, price) VALUES ('tea', 4);
DELETE FROM parcels WHERE id = 1;
--@output LABELS folded
-- id | city | price | country
-- 2  | Oslo | 8     | Norway
-- 3  | Oslo | 4     | Norway
