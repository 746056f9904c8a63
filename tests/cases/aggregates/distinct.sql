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
-- tea  | b-a   | {"a": 1, "b": 1}
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

--@test: of two values there is no DISTINCT
CREATE TABLE of_two AS SELECT item, CORRELATION(DISTINCT amount, id) AS c FROM orders GROUP BY item EMIT CHANGES;
--@error: INVALID_STATEMENT
