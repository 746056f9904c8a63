-- Beyond ksqlDB: DISTINCT in aggregates.
CREATE STREAM orders (id INT KEY, item STRING, amount INT, is_new BOOLEAN, note STRING)
  WITH (KAFKA_TOPIC = '${case}_orders', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
INSERT INTO orders (id, item, amount, is_new, note) VALUES (1, 'tea', 4, true, 'b');
INSERT INTO orders (id, item, amount, is_new, note) VALUES (2, 'tea', 4, true, 'a');
INSERT INTO orders (id, item, amount, is_new, note) VALUES (3, 'tea', NULL, NULL, NULL);
INSERT INTO orders (id, item, amount, is_new, note) VALUES (4, 'tea', 8, false, 'b');
INSERT INTO orders (id, item, amount, is_new, note) VALUES (5, 'nut', NULL, NULL, NULL);

--@test: each value counts once
CREATE TABLE numbers AS
  SELECT item, MEDIAN(DISTINCT amount) AS middle, STDDEV_SAMP(DISTINCT amount) AS variance,
    STDDEV_SAMPLE(DISTINCT amount) AS deviation, SUM(DISTINCT amount) AS total, BOOL_AND(DISTINCT is_new) AS fresh,
    BOOL_OR(DISTINCT is_new) AS any_fresh
  FROM orders GROUP BY item EMIT CHANGES;
CREATE TABLE texts AS
  SELECT item, STRING_AGG(DISTINCT note, '-') AS notes, HISTOGRAM(DISTINCT note) AS counts FROM orders GROUP BY item EMIT CHANGES;
--@output NUMBERS folded
-- item | middle | variance | deviation          | total | fresh | any_fresh
-- nut  | NULL   | 0.0      | 0.0                | 0     | NULL  | NULL
-- tea  | 6.0    | 8.0      | 2.8284271247461903 | 12    | false | true
--@output TEXTS folded
-- item | notes | counts
-- nut  | NULL  | {}
-- tea  | b-a   | {"b": 1, "a": 1}
SELECT item, MEDIAN(DISTINCT amount) AS m, STRING_AGG(DISTINCT note, '-') AS s FROM orders GROUP BY item ORDER BY item;
--@rows
-- item | m    | s
-- nut  | NULL | NULL
-- tea  | 6.0  | b-a

--@test: over a table, whose values may go
CREATE TABLE stock (id INT PRIMARY KEY, item STRING, amount INT, is_new BOOLEAN, note STRING)
  WITH (KAFKA_TOPIC = '${case}_stock', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE TABLE in_stock AS
  SELECT item, STDDEV_SAMP(DISTINCT amount) AS variance, HISTOGRAM(DISTINCT note) AS counts, BOOL_AND(DISTINCT is_new) AS fresh
  FROM stock GROUP BY item EMIT CHANGES;
INSERT INTO stock (id, item, amount, is_new, note) VALUES (1, 'tea', 4, true, 'a');
INSERT INTO stock (id, item, amount, is_new, note) VALUES (2, 'tea', 4, false, 'a');
INSERT INTO stock (id, item, amount, is_new, note) VALUES (3, 'tea', 8, true, 'b');
INSERT INTO stock (id, item, amount, is_new, note) VALUES (2, 'nut', 6, false, 'c');
INSERT INTO stock (id, item, amount, is_new, note) VALUES (3, 'tea', 6, true, 'a');
--@output IN_STOCK folded
-- item | variance | counts   | fresh
-- nut  | 0.0      | {"c": 1} | false
-- tea  | 2.0      | {"a": 1} | true

--@test: hopping windows have their own values, which end with them
CREATE STREAM visits (page STRING KEY, who STRING, seen_at BIGINT)
  WITH (KAFKA_TOPIC = '${case}_visits', VALUE_FORMAT = 'JSON', PARTITIONS = 1, TIMESTAMP = 'seen_at');
CREATE TABLE visitors AS
  SELECT page, COUNT(DISTINCT who) AS people, COUNT(DISTINCT who) FILTER (WHERE who > 'a') AS others, COUNT(*) AS visits
  FROM visits WINDOW HOPPING (SIZE 20 SECONDS, ADVANCE BY 10 SECONDS, GRACE PERIOD 0 SECONDS) GROUP BY page EMIT FINAL;
INSERT INTO visits (page, who, seen_at) VALUES
  ('x', 'a', 1000), ('x', 'b', 2000), ('x', 'a', 12000), ('y', 'a', 13000), ('x', NULL, 14000), ('x', 'c', 15000);
--@output VISITORS folded
-- page | WINDOWSTART | people | others | visits

--@restart
INSERT INTO visits (page, who, seen_at) VALUES ('x', 'b', 21000), ('x', 'a', 41000), ('x', 'a', 99000);
--@output VISITORS folded
-- page | WINDOWSTART | people | others | visits
-- x    | 0           | 3      | 2      | 5
-- x    | 10000       | 3      | 2      | 4
-- x    | 20000       | 1      | 1      | 1
-- x    | 30000       | 1      | 0      | 1
-- x    | 40000       | 1      | 0      | 1
-- y    | 0           | 1      | 0      | 1
-- y    | 10000       | 1      | 0      | 1

--@test: with HAVING, and the value that was retracted last comes back
CREATE TABLE parts (id INT PRIMARY KEY, box STRING, kind STRING, price DECIMAL(4, 2))
  WITH (KAFKA_TOPIC = '${case}_parts', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE TABLE boxes AS
  SELECT box, COUNT(DISTINCT kind) AS kinds, SUM(DISTINCT price) AS prices, COLLECT_LIST(DISTINCT kind) AS found
  FROM parts GROUP BY box HAVING COUNT(DISTINCT kind) > 1 EMIT CHANGES;
INSERT INTO parts (id, box, kind, price) VALUES
  (1, 'a', 'nut', 1.50), (2, 'a', 'bolt', 1.50), (3, 'a', 'nut', 2.00), (4, 'b', 'nut', 1.00), (1, 'b', 'bolt', 1.00);
--@output BOXES folded
-- box | kinds | prices | found
-- a   | 2     | 3.50   | ["nut", "bolt"]
-- b   | 2     | 1.00   | ["nut", "bolt"]

--@restart
INSERT INTO parts (id, box, kind, price) VALUES (3, 'b', 'nut', 3.00), (1, 'a', 'nut', 9.00);
--@output BOXES folded
-- box | kinds | prices | found
-- a   | 2     | 10.50  | ["bolt", "nut"]

--@test: a group that has expired begins with no values
CREATE STREAM taps (who STRING KEY, door STRING, seen_at BIGINT)
  WITH (KAFKA_TOPIC = '${case}_taps', VALUE_FORMAT = 'JSON', PARTITIONS = 1, TIMESTAMP = 'seen_at');
CREATE TABLE doors WITH (TTL = '10 SECONDS') AS SELECT who, COUNT(DISTINCT door) AS doors FROM taps GROUP BY who EMIT CHANGES;
INSERT INTO taps (who, door, seen_at) VALUES ('x', 'a', 1000), ('x', 'b', 2000), ('y', 'a', 60000), ('x', 'a', 61000);
--@output DOORS folded
-- who | doors
-- x   | 1
-- y   | 1

--@test: added to a running query, it counts from then on
CREATE TABLE amounts AS SELECT item, COUNT(*) AS n FROM orders GROUP BY item EMIT CHANGES;
--@output AMOUNTS folded
-- item | n
-- nut  | 1
-- tea  | 4
CREATE OR REPLACE TABLE amounts WITH (EVOLVE = 'in-place') AS
  SELECT item, COUNT(*) AS n, COUNT(DISTINCT amount) AS amounts FROM orders GROUP BY item EMIT CHANGES;
INSERT INTO orders (id, item, amount) VALUES (6, 'tea', 4), (7, 'tea', 4), (8, 'tea', 5);
--@output AMOUNTS folded
-- item | n | amounts
-- nut  | 1 | NULL
-- tea  | 7 | 2

--@restart
INSERT INTO orders (id, item, amount) VALUES (9, 'tea', 5), (10, 'tea', 6);
--@output AMOUNTS folded
-- item | n | amounts
-- nut  | 1 | NULL
-- tea  | 9 | 3

--@test: of two values there is no DISTINCT
CREATE TABLE of_two AS SELECT item, CORRELATION(DISTINCT amount, id) AS c FROM orders GROUP BY item EMIT CHANGES;
--@error: INVALID_STATEMENT
-- DISTINCT is only supported for one argument of AVG, BOOL_AND, BOOL_OR, COLLECT_LIST, COLLECT_SET, COUNT, HISTOGRAM, MAX, MEDIAN, MIN, STDDEV_SAMP, STDDEV_SAMPLE, STRING_AGG, SUM; not for CORRELATION.
-- line 1:37
--   CREATE TABLE of_two AS SELECT item, CORRELATION(DISTINCT amount, id) AS c FROM orders GROUP BY item EMIT CHANGES
--                                       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
