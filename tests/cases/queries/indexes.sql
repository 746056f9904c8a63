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
-- id | item   | amount | at_time                 | place                      | tags
-- 1  | tea    | 1.50   | 2024-01-01T00:00:00.000 | {"CITY": "Ulm", "ZIP": 1}  | [1]
-- 2  | teapot | 25.00  | 2024-01-02T12:00:00.000 | {"CITY": "Ulm", "ZIP": 2}  | [1]
-- 3  | jam    | 2.75   | 2024-01-03T00:00:00.000 | {"CITY": "Bonn", "ZIP": 3} | [1]
-- 4  | NULL   | 9.99   | NULL                    | NULL                       | NULL
SELECT id, item FROM sales WHERE item = 'tea';
--@rows
-- id | item
-- 1  | tea
SELECT id FROM sales WHERE item IN ('jam', 'teapot', 'nothing');
--@rows
-- id
-- 2
-- 3
SELECT id FROM sales WHERE item LIKE 'tea%';
--@rows
-- id
-- 1
-- 2
SELECT id, amount FROM sales WHERE amount >= 2.75 AND amount < 10;
--@rows
-- id | amount
-- 3  | 2.75
-- 4  | 9.99
SELECT id FROM sales WHERE amount BETWEEN 1 AND 2.755;
--@rows
-- id
-- 1
-- 3
SELECT id FROM sales WHERE at_time > '2024-01-01' AND at_time <= '2024-01-03T00:00:00';
--@rows
-- id
-- 2
-- 3
SELECT id, place->zip AS zip FROM sales WHERE place->city = 'Ulm' AND item > 'tea';
--@rows
-- id | zip
-- 2  | 2
SELECT id FROM sales WHERE item < 'zzz';
--@rows
-- id
-- 1
-- 2
-- 3
SELECT id FROM sales WHERE UCASE(item) = 'JAM' AND amount > 1;
--@rows
-- id
-- 3

--@test: rows that change, and a restart
--@output SALES folded
-- id | item   | amount | at_time                 | place                      | tags
-- 1  | tea    | 1.50   | 2024-01-01T00:00:00.000 | {"CITY": "Ulm", "ZIP": 1}  | [1]
-- 2  | teapot | 25.00  | 2024-01-02T12:00:00.000 | {"CITY": "Ulm", "ZIP": 2}  | [1]
-- 3  | jam    | 2.75   | 2024-01-03T00:00:00.000 | {"CITY": "Bonn", "ZIP": 3} | [1]
-- 4  | NULL   | 9.99   | NULL                    | NULL                       | NULL
SELECT id, amount FROM sales WHERE item = 'tea';
--@rows
-- id | amount
-- 1  | 1.50
INSERT INTO sold VALUES (1, 'jam', 3.00, '2024-02-01T00:00:00', STRUCT(city := 'Ulm', zip := 1), ARRAY[1]);
INSERT INTO sold VALUES (5, 'tea', 4.00, '2024-02-02T00:00:00', STRUCT(city := 'Bonn', zip := 1), ARRAY[1]);
--@output SALES folded
-- id | item   | amount | at_time                 | place                      | tags
-- 1  | jam    | 3.00   | 2024-02-01T00:00:00.000 | {"CITY": "Ulm", "ZIP": 1}  | [1]
-- 2  | teapot | 25.00  | 2024-01-02T12:00:00.000 | {"CITY": "Ulm", "ZIP": 2}  | [1]
-- 3  | jam    | 2.75   | 2024-01-03T00:00:00.000 | {"CITY": "Bonn", "ZIP": 3} | [1]
-- 4  | NULL   | 9.99   | NULL                    | NULL                       | NULL
-- 5  | tea    | 4.00   | 2024-02-02T00:00:00.000 | {"CITY": "Bonn", "ZIP": 1} | [1]
SELECT id, amount FROM sales WHERE item = 'tea';
--@rows
-- id | amount
-- 5  | 4.00
SELECT id, amount FROM sales WHERE item = 'jam';
--@rows
-- id | amount
-- 1  | 3.00
-- 3  | 2.75
--@restart
SELECT id, amount FROM sales WHERE item = 'tea';
--@rows
-- id | amount
-- 5  | 4.00
SELECT id FROM sales WHERE place->city = 'Ulm' AND item LIKE 'j%';
--@rows
-- id
-- 1

--@test: an index narrows what Spark reads
--@output SALES folded
-- id | item   | amount | at_time                 | place                      | tags
-- 1  | tea    | 1.50   | 2024-01-01T00:00:00.000 | {"CITY": "Ulm", "ZIP": 1}  | [1]
-- 2  | teapot | 25.00  | 2024-01-02T12:00:00.000 | {"CITY": "Ulm", "ZIP": 2}  | [1]
-- 3  | jam    | 2.75   | 2024-01-03T00:00:00.000 | {"CITY": "Bonn", "ZIP": 3} | [1]
-- 4  | NULL   | 9.99   | NULL                    | NULL                       | NULL
SELECT SUM(amount) AS total FROM sales WHERE item LIKE 'tea%';
--@rows
-- total
-- 26.50
SELECT id, ROW_NUMBER() OVER (ORDER BY amount DESC) AS nth FROM sales WHERE amount > 2 AND id < 4 ORDER BY id;
--@rows
-- id | nth
-- 2  | 1
-- 3  | 2
SELECT a.id FROM (SELECT id FROM sales WHERE item = 'jam') a JOIN sales b ON a.id = b.id;
--@rows
-- id
-- 3
SELECT item, (SELECT COUNT(*) FROM sales s WHERE s.amount > 9) AS n FROM sales WHERE item = 'tea' ORDER BY item;
--@rows
-- item | n
-- tea  | 2

--@test: an index that is replaced, and one that goes with its table
--@output SALES folded
-- id | item   | amount | at_time                 | place                      | tags
-- 1  | tea    | 1.50   | 2024-01-01T00:00:00.000 | {"CITY": "Ulm", "ZIP": 1}  | [1]
-- 2  | teapot | 25.00  | 2024-01-02T12:00:00.000 | {"CITY": "Ulm", "ZIP": 2}  | [1]
-- 3  | jam    | 2.75   | 2024-01-03T00:00:00.000 | {"CITY": "Bonn", "ZIP": 3} | [1]
-- 4  | NULL   | 9.99   | NULL                    | NULL                       | NULL
CREATE INDEX sales_item_idx ON sales (amount);
--@error: INVALID_STATEMENT
-- Cannot add index 'SALES_ITEM_IDX': SALES has an index with the same name already. Choose another name, or write CREATE INDEX IF NOT EXISTS.
-- line 1:14
--   CREATE INDEX sales_item_idx ON sales (amount)
--                ^^^^^^^^^^^^^^
DROP INDEX by_amount;
DROP INDEX by_amount;
--@error: INVALID_STATEMENT
-- Index BY_AMOUNT does not exist. SHOW INDEXES lists all of them.
-- line 1:12
--   DROP INDEX by_amount
--              ^^^^^^^^^
CREATE INDEX by_amount ON sales (amount, id);
SELECT id FROM sales WHERE amount = 9.99 AND id > 3;
--@rows
-- id
-- 4
DROP TABLE sales;
DROP INDEX by_amount;
--@error: INVALID_STATEMENT
-- Index BY_AMOUNT does not exist. SHOW INDEXES lists all of them.
-- line 1:12
--   DROP INDEX by_amount
--              ^^^^^^^^^

--@test: what cannot be in an index
CREATE INDEX ON sales (tags);
--@error: INVALID_STATEMENT
-- An index cannot have TAGS: values of type ARRAY<INTEGER> have no order. Index numbers, texts, bytes, times and booleans.
-- line 1:24
--   CREATE INDEX ON sales (tags)
--                          ^^^^
CREATE INDEX ON sales (place);
--@error: INVALID_STATEMENT
-- An index cannot have PLACE: values of type STRUCT<`CITY` STRING, `ZIP` INTEGER> have no order. Index a field of it: PLACE->CITY.
-- line 1:24
--   CREATE INDEX ON sales (place)
--                          ^^^^^
CREATE INDEX ON sales (itme);
--@error: INVALID_STATEMENT
-- SALES has no column ITME. Did you mean ITEM?
-- line 1:24
--   CREATE INDEX ON sales (itme)
--                          ^^^^
CREATE INDEX ON sold (item);
--@error: INVALID_STATEMENT
-- SOLD is a stream, and an index is one of a table. CREATE TABLE … AS SELECT … GROUP BY … makes a table of a stream.
-- line 1:17
--   CREATE INDEX ON sold (item)
--                   ^^^^
