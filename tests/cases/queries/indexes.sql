-- Beyond ksqlDB: pull queries find rows of a table by the columns of an index.
CREATE STREAM sold (id INT KEY, item STRING, amount DECIMAL(6, 2), at_time TIMESTAMP, place STRUCT<city STRING, zip INT>, tags ARRAY<INT>) WITH (KAFKA_TOPIC = '${case}_sold', VALUE_FORMAT = 'JSON', PARTITIONS = 2);
CREATE TABLE sales AS SELECT id, LATEST_BY_OFFSET(item) AS item, LATEST_BY_OFFSET(amount) AS amount, LATEST_BY_OFFSET(at_time) AS at_time, LATEST_BY_OFFSET(place) AS place, LATEST_BY_OFFSET(tags) AS tags FROM sold GROUP BY id;
CREATE INDEX ON sales (item);
CREATE INDEX by_amount ON sales (amount);
CREATE INDEX ON sales (at_time);
CREATE INDEX ON sales (place->city, item);
INSERT INTO sold VALUES (1, 'tea', 1.50, '2024-01-01T00:00:00', STRUCT(city := 'Ulm', zip := 1), ARRAY[1]);
INSERT INTO sold VALUES (2, 'teapot', 25.00, '2024-01-02T12:00:00', STRUCT(city := 'Ulm', zip := 2), ARRAY[1]);
INSERT INTO sold VALUES (3, 'jam', 2.75, '2024-01-03T00:00:00', STRUCT(city := 'Bonn', zip := 3), ARRAY[1]);
INSERT INTO sold (id, amount) VALUES (4, 9.99);

--@test: equality, IN, ranges, prefixes, fields, NULL
--@output SALES folded
SELECT id, item FROM sales WHERE item = 'tea';
--@rows
SELECT id FROM sales WHERE item IN ('jam', 'teapot', 'nothing');
--@rows
SELECT id FROM sales WHERE item LIKE 'tea%';
--@rows
SELECT id, amount FROM sales WHERE amount >= 2.75 AND amount < 10;
--@rows
SELECT id FROM sales WHERE amount BETWEEN 1 AND 2.755;
--@rows
SELECT id FROM sales WHERE at_time > '2024-01-01' AND at_time <= '2024-01-03T00:00:00';
--@rows
SELECT id, place->zip AS zip FROM sales WHERE place->city = 'Ulm' AND item > 'tea';
--@rows
SELECT id FROM sales WHERE item < 'zzz';
--@rows
SELECT id FROM sales WHERE UCASE(item) = 'JAM' AND amount > 1;
--@rows

--@test: rows that change, and a restart
--@output SALES folded
SELECT id, amount FROM sales WHERE item = 'tea';
--@rows
INSERT INTO sold VALUES (1, 'jam', 3.00, '2024-02-01T00:00:00', STRUCT(city := 'Ulm', zip := 1), ARRAY[1]);
INSERT INTO sold VALUES (5, 'tea', 4.00, '2024-02-02T00:00:00', STRUCT(city := 'Bonn', zip := 1), ARRAY[1]);
--@output SALES folded
SELECT id, amount FROM sales WHERE item = 'tea';
--@rows
SELECT id, amount FROM sales WHERE item = 'jam';
--@rows
--@restart
SELECT id, amount FROM sales WHERE item = 'tea';
--@rows
SELECT id FROM sales WHERE place->city = 'Ulm' AND item LIKE 'j%';
--@rows

--@test: a table's indexes go with it, and with its columns
--@output SALES folded
CREATE OR REPLACE TABLE sales AS SELECT id, LATEST_BY_OFFSET(item) AS item, LATEST_BY_OFFSET(amount) AS amount FROM sold GROUP BY id;
INSERT INTO sold (id, item) VALUES (6, 'tea');
--@output SALES folded
SELECT id FROM sales WHERE item = 'tea';
--@rows
CREATE INDEX sales_item_idx ON sales (amount);
--@error: INVALID_STATEMENT
CREATE INDEX sales_at_time_idx ON sales (amount);
DROP INDEX by_amount;
DROP INDEX by_amount;
--@error: INVALID_STATEMENT

--@test: what cannot be in an index
CREATE INDEX ON sales (tags);
--@error: INVALID_STATEMENT
CREATE INDEX ON sales (place);
--@error: INVALID_STATEMENT
CREATE INDEX ON sales (itme);
--@error: INVALID_STATEMENT
CREATE INDEX ON sold (item);
--@error: INVALID_STATEMENT
