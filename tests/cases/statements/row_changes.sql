-- UPDATE of a table that no query fills.

--@test: SET rounds a computed number to the digits of a DECIMAL column
CREATE TABLE t (k STRING PRIMARY KEY, price DECIMAL(6, 2), n INT, x DOUBLE)
  WITH (KAFKA_TOPIC = '${case}_t', VALUE_FORMAT = 'JSON', PARTITIONS = 2);
CREATE TABLE prices AS SELECT k, price FROM t;
INSERT INTO t (k, price, n, x) VALUES ('a', 1.25, 1, 0.5);
INSERT INTO t (k, price, n, x) VALUES ('b', 1.25, 1, 0.5);
INSERT INTO t (k, price, n, x) VALUES ('c', NULL, 1, 0.5);
INSERT INTO t (k, price, n, x) VALUES ('d', 9999.25, 2, 0.5);
UPDATE t SET price = price * 1.1 WHERE n = 1;
UPDATE t SET price = price / 3 + n WHERE k = 'b';
UPDATE t SET price = x * n WHERE k = 'd';
--@output PRICES folded
-- k | price
-- a | 1.38
-- b | 1.46
-- c | NULL
-- d | 1.00
UPDATE t SET price = price * 100000 WHERE k = 'a';
--@error: INVALID_STATEMENT
-- Failed to update 'T'. (PRICE * CAST(100000 AS DECIMAL(10, 0))) is not a valid DECIMAL(6, 2).
-- line 1:22
--   UPDATE t SET price = price * 100000 WHERE k = 'a'
--                        ^^^^^^^^^^^^^^
UPDATE t SET n = n * 1.5 WHERE k = 'a';
--@error: INVALID_STATEMENT
-- Expected type INTEGER for field `N` but got DECIMAL(13, 1)((CAST(N AS DECIMAL(10, 0)) * 1.5)).
-- line 1:18
--   UPDATE t SET n = n * 1.5 WHERE k = 'a'
--                    ^^^^^^^
