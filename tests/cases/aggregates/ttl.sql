-- Beyond ksqlDB: TTL deletes a table's rows when they have not changed for some time.
CREATE STREAM visits (who STRING KEY, page STRING)
  WITH (KAFKA_TOPIC = '${case}_visits', VALUE_FORMAT = 'JSON', PARTITIONS = 1);

--@test: a group ends a TTL after its last record, and begins anew with the next one; late records are left out
CREATE TABLE seen WITH (TTL = '64 SECONDS') AS SELECT who, COUNT(*) AS n FROM visits GROUP BY who EMIT CHANGES;
CREATE TABLE few WITH (TTL = '64 SECONDS') AS
  SELECT who, COUNT(*) AS n FROM visits GROUP BY who HAVING COUNT(*) > 1 EMIT CHANGES;
CREATE TABLE pages WITH (TTL = '64 SECONDS') AS
  SELECT page, COUNT(*) AS n FROM visits WHERE page IS NOT NULL GROUP BY page EMIT CHANGES;
INSERT INTO visits (ROWTIME, who, page) VALUES (100000, 'ada', 'home');
INSERT INTO visits (ROWTIME, who, page) VALUES (110000, 'bob', 'help');
INSERT INTO visits (ROWTIME, who, page) VALUES (120000, 'ada', 'home');
INSERT INTO visits (ROWTIME, who, page) VALUES (176000, 'bob', 'home');
INSERT INTO visits (ROWTIME, who, page) VALUES (112000, 'cid', 'home');
INSERT INTO visits (ROWTIME, who, page) VALUES (186000, 'bob', 'home');
INSERT INTO visits (ROWTIME, who, page) VALUES (190000, 'ada', 'help');
INSERT INTO visits (ROWTIME, who, page) VALUES (900000, 'eve', 'home');
--@output SEEN ordered
-- ROWTIME | who | n
-- 100000  | ada | 1
-- 110000  | bob | 1
-- 120000  | ada | 2
-- 176000  | bob | 1
-- 186000  | bob | 2
-- 184000  | ada | <deleted>
-- 190000  | ada | 1
-- 900000  | eve | 1
-- 250000  | bob | <deleted>
-- 254000  | ada | <deleted>
--@output FEW folded
-- who | n
--@output PAGES folded
-- page | n
-- home | 1

--@test: the rows of a table, and what is made of them
CREATE TABLE carts (id INT PRIMARY KEY, item STRING) WITH (KAFKA_TOPIC = '${case}_carts', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE TABLE open_carts WITH (TTL = '64 SECONDS') AS SELECT id, item FROM carts WHERE item <> 'paid' EMIT CHANGES;
CREATE TABLE items AS SELECT item, COUNT(*) AS n FROM open_carts GROUP BY item EMIT CHANGES;
INSERT INTO carts (ROWTIME, id, item) VALUES (100000, 1, 'tea');
INSERT INTO carts (ROWTIME, id, item) VALUES (110000, 2, 'tea');
INSERT INTO carts (ROWTIME, id, item) VALUES (120000, 1, 'milk');
INSERT INTO carts (ROWTIME, id, item) VALUES (176000, 3, 'tea');
INSERT INTO carts (ROWTIME, id, item) VALUES (180000, 1, 'paid');
INSERT INTO carts (ROWTIME, id, item) VALUES (900000, 4, 'milk');
--@output OPEN_CARTS ordered
-- ROWTIME | id | item
-- 100000  | 1  | tea
-- 110000  | 2  | tea
-- 120000  | 1  | milk
-- 176000  | 3  | tea
-- 174000  | 2  | <deleted>
-- 180000  | 1  | <deleted>
-- 900000  | 4  | milk
-- 240000  | 3  | <deleted>
--@output ITEMS folded
-- item | n
-- milk | 1
-- tea  | 0

--@test: it cannot change, and needs a table without windows
CREATE TABLE seen WITH (TTL = '1 HOUR') AS SELECT who, COUNT(*) AS n FROM visits GROUP BY who EMIT CHANGES;
CREATE OR REPLACE TABLE seen WITH (TTL = '2 HOURS') AS SELECT who, COUNT(*) AS n FROM visits GROUP BY who EMIT CHANGES;
--@error: INVALID_STATEMENT
-- Cannot upgrade the query that writes `SEEN`: TTL cannot change. CREATE OR REPLACE may change the WHERE on the source and append columns to SELECT that use existing aggregate functions. To change more, DROP it and CREATE it again. WITH (EVOLVE = 'backfill') changes more: EXPLAIN EVOLUTION tells how.
-- line 1:1
--   CREATE OR REPLACE TABLE seen WITH (TTL = '2 HOURS') AS SELECT who, COUNT(*) AS n FROM visits GROUP BY who EMIT CHANGES
--   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
CREATE STREAM all_visits WITH (TTL = '1 HOUR') AS SELECT * FROM visits EMIT CHANGES;
--@error: INVALID_STATEMENT
-- TTL is for tables without a window. The rows of a stream stay for RETENTION_MS.
-- line 1:32
--   CREATE STREAM all_visits WITH (TTL = '1 HOUR') AS SELECT * FROM visits EMIT CHANGES
--                                  ^^^^^^^^^^^^^^
CREATE TABLE hourly WITH (TTL = '1 HOUR') AS
  SELECT who, COUNT(*) AS n FROM visits WINDOW TUMBLING (SIZE 1 HOUR) GROUP BY who EMIT CHANGES;
--@error: INVALID_STATEMENT
-- TTL is for tables without a window. RETENTION in WINDOW says how long windows are kept.
-- line 1:27
--   CREATE TABLE hourly WITH (TTL = '1 HOUR') AS
--                             ^^^^^^^^^^^^^^
