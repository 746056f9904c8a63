-- A table that every task has as a whole: other partitions than the stream, any of its columns.
CREATE STREAM orders (id STRING KEY, product INT, amount INT)
  WITH (KAFKA_TOPIC = '${case}_orders', VALUE_FORMAT = 'JSON', PARTITIONS = 4);
CREATE TABLE products (product INT PRIMARY KEY, name STRING)
  WITH (KAFKA_TOPIC = '${case}_products', VALUE_FORMAT = 'JSON', PARTITIONS = 3, REPLICATED = true);

--@test: rows keep their key and its order; every task has the table before the first of them
INSERT INTO products (product, name) VALUES (1, 'bolt');
INSERT INTO products (product, name) VALUES (2, 'nut');
INSERT INTO products (product, name) VALUES (3, 'gone');
INSERT INTO products (product, name) VALUES (3, NULL);
INSERT INTO orders (id, product, amount) VALUES ('a', 1, 1);
INSERT INTO orders (id, product, amount) VALUES ('b', 1, 2);
INSERT INTO orders (id, product, amount) VALUES ('c', 2, 3);
INSERT INTO orders (id, product, amount) VALUES ('d', 2, 4);
INSERT INTO orders (id, product, amount) VALUES ('e', 1, 5);
INSERT INTO orders (id, product, amount) VALUES ('a', 2, 6);
INSERT INTO orders (id, product, amount) VALUES ('a', NULL, 7);
INSERT INTO orders (id, product, amount) VALUES ('a', 9, 8);
CREATE STREAM named AS
  SELECT o.id AS id, o.product AS product, p.name AS name, o.amount AS amount
  FROM orders o LEFT JOIN products p ON o.product = p.product EMIT CHANGES;
--@output NAMED rowsort
-- id | product | name | amount
-- a  | 1       | bolt | 1
-- a  | 2       | nut  | 6
-- a  | 9       | NULL | 8
-- a  | NULL    | NULL | 7
-- b  | 1       | bolt | 2
-- c  | 2       | nut  | 3
-- d  | 2       | nut  | 4
-- e  | 1       | bolt | 5
--@restart
INSERT INTO orders (id, product, amount) VALUES ('a', 2, 9);
INSERT INTO orders (id, product, amount) VALUES ('f', 1, 10);
--@output NAMED rowsort
-- id | product | name | amount
-- a  | 2       | nut  | 9
-- f  | 1       | bolt | 10
