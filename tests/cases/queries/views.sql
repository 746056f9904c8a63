-- Beyond ksqlDB: a view is a name for a SELECT.
CREATE STREAM sold (id INT KEY, item STRING, amount DOUBLE) WITH (KAFKA_TOPIC = '${case}_sold', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE TABLE price (item STRING PRIMARY KEY, cost DOUBLE) WITH (KAFKA_TOPIC = '${case}_price', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
INSERT INTO price VALUES ('tea', 2.0), ('jam', 0.5);
INSERT INTO sold (ROWTIME, id, item, amount) VALUES (1, 1, 'tea', 3.5), (2, 2, 'tea', 4.0), (3, 3, 'jam', 1.0), (4, 4, 'oil', 9.0);
CREATE VIEW dear AS SELECT id, item, amount AS euro FROM sold WHERE amount > 2;

--@test: pull, push and persistent queries read a view
SELECT item, COUNT(*) AS n FROM dear GROUP BY item ORDER BY n DESC;
--@rows
-- item | n
-- tea  | 2
-- oil  | 1
SELECT d.id, (SELECT MAX(euro) FROM dear) AS most FROM dear AS d WHERE d.euro < 4;
--@rows
-- id | most
-- 1  | 9.0
SELECT id, euro FROM dear EMIT CHANGES LIMIT 3;
--@rows
-- id | euro
-- 1  | 3.5
-- 2  | 4.0
-- 4  | 9.0
CREATE TABLE per_item AS SELECT item, SUM(euro) AS total FROM dear GROUP BY item;
--@output PER_ITEM folded
-- item | total
-- oil  | 9.0
-- tea  | 7.5

--@test: a view over a view, and CREATE OR REPLACE
CREATE VIEW teas AS SELECT euro * 2 AS twice FROM dear WHERE item = 'tea';
SELECT twice FROM teas ORDER BY twice;
--@rows
-- twice
-- 7.0
-- 8.0
CREATE OR REPLACE VIEW dear AS SELECT item, amount * 10 AS euro FROM sold;
SELECT twice FROM teas ORDER BY twice;
--@rows
-- twice
-- 70.0
-- 80.0
CREATE OR REPLACE VIEW dear AS SELECT item, twice AS euro FROM teas;
--@error: INVALID_STATEMENT
-- View TEAS: Stream or table does not exist: DEAR. SHOW STREAMS and SHOW TABLES list all of them.
-- line 1:64
--   CREATE OR REPLACE VIEW dear AS SELECT item, twice AS euro FROM teas
--                                                                  ^^^^

--@test: names are taken once, errors are placed at the view's name, only FROM can have a view
CREATE VIEW dear AS SELECT 1;
--@error: INVALID_STATEMENT
-- Cannot add view 'DEAR': A view with the same name already exists. CREATE OR REPLACE VIEW changes its query.
-- line 1:13
--   CREATE VIEW dear AS SELECT 1
--               ^^^^
CREATE STREAM dear AS SELECT * FROM sold;
--@error: INVALID_STATEMENT
-- Cannot add stream 'DEAR': A view with the same name already exists. DROP VIEW DEAR; removes it.
-- line 1:15
--   CREATE STREAM dear AS SELECT * FROM sold
--                 ^^^^
CREATE VIEW sold AS SELECT 1;
--@error: INVALID_STATEMENT
-- Cannot add view 'SOLD': A stream with the same name already exists. Choose another name.
-- line 1:13
--   CREATE VIEW sold AS SELECT 1
--               ^^^^
CREATE VIEW bad AS SELECT nothing FROM sold;
--@error: COLUMN_UNKNOWN
-- SELECT column 'NOTHING' cannot be resolved. There are: ID, ITEM, AMOUNT.
-- line 1:27
--   CREATE VIEW bad AS SELECT nothing FROM sold
--                             ^^^^^^^
CREATE VIEW bad AS SELECT * FROM sold EMIT CHANGES;
--@error: INVALID_STATEMENT
-- A view has no EMIT: each query that reads it says whether it is a push query. Leave out EMIT.
-- line 1:20
--   CREATE VIEW bad AS SELECT * FROM sold EMIT CHANGES
--                      ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
INSERT INTO dear VALUES (1, 'x', 1.0);
--@error: INVALID_STATEMENT
-- DEAR is a view: only a query can read it, in FROM. SHOW VIEWS shows its query.
-- line 1:13
--   INSERT INTO dear VALUES (1, 'x', 1.0)
--               ^^^^
SELECT amount FROM dear;
--@error: COLUMN_UNKNOWN
-- SELECT column 'AMOUNT' cannot be resolved. There are: ID, ITEM, EURO.
-- line 1:8
--   SELECT amount FROM dear
--          ^^^^^^
CREATE STREAM alike AS SELECT * FROM sold WHERE EXISTS (SELECT 1 FROM dear WHERE dear.id = sold.id);
--@error: INVALID_STATEMENT
-- EXISTS and IN take SELECT … FROM one table WHERE … in a streaming query. CREATE TABLE … AS SELECT the sub-query first.
-- line 1:71
--   CREATE STREAM alike AS SELECT * FROM sold WHERE EXISTS (SELECT 1 FROM dear WHERE dear.id = sold.id)
--                                                                         ^^^^
DROP VIEW nobody;
--@error: INVALID_STATEMENT
-- View NOBODY does not exist. SHOW VIEWS lists all of them.
-- line 1:11
--   DROP VIEW nobody
--             ^^^^^^

--@test: a view whose source is gone says so, until the source is back
CREATE STREAM other (id INT KEY, item STRING) WITH (KAFKA_TOPIC = '${case}_sold', VALUE_FORMAT = 'JSON');
CREATE VIEW others AS SELECT item, COUNT(*) AS n FROM other GROUP BY item HAVING COUNT(*) > 1;
DROP STREAM other;
SELECT * FROM others;
--@error: INVALID_STATEMENT
-- View OTHERS: Stream or table does not exist: OTHER. SHOW STREAMS and SHOW TABLES list all of them.
-- line 1:15
--   SELECT * FROM others
--                 ^^^^^^
CREATE STREAM other (id INT KEY, item STRING) WITH (KAFKA_TOPIC = '${case}_sold', VALUE_FORMAT = 'JSON');
SELECT * FROM others;
--@rows
-- item | n
-- tea  | 2
DROP VIEW others;
SELECT * FROM others;
--@error: SOURCE_UNKNOWN
-- Stream or table does not exist: OTHERS. Did you mean OTHER?
-- line 1:15
--   SELECT * FROM others
--                 ^^^^^^
