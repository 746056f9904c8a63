-- Beyond ksqlDB: FILTER of aggregates, and aggregates that ksqlDB does not have.
CREATE STREAM orders (id INT KEY, item STRING, amount INT, is_new BOOLEAN, note STRING)
  WITH (KAFKA_TOPIC = '${case}_orders', VALUE_FORMAT = 'JSON', PARTITIONS = 1);

--@test: each aggregate takes the rows of its own FILTER; NULL is not true
CREATE TABLE sales AS
  SELECT item, COUNT(*) AS n, COUNT(*) FILTER (WHERE is_new) AS fresh,
    SUM(amount) FILTER (WHERE amount > 1) AS large, COLLECT_LIST(note) FILTER (WHERE is_new) AS notes,
    TOPK(amount, 2) FILTER (WHERE NOT is_new) AS top, COUNT(DISTINCT note) FILTER (WHERE amount < 9) AS kinds,
    LATEST_BY_OFFSET(note, false) FILTER (WHERE amount > 1) AS latest
  FROM orders GROUP BY item HAVING COUNT(*) FILTER (WHERE amount IS NOT NULL) > 0 EMIT CHANGES;
INSERT INTO orders (id, item, amount, is_new, note) VALUES (1, 'tea', NULL, true, 'a');
INSERT INTO orders (id, item, amount, is_new, note) VALUES (2, 'tea', 1, true, 'a');
INSERT INTO orders (id, item, amount, is_new, note) VALUES (3, 'tea', 5, NULL, NULL);
INSERT INTO orders (id, item, amount, is_new, note) VALUES (4, 'tea', 3, false, 'b');
INSERT INTO orders (id, item, amount, is_new, note) VALUES (5, 'tea', 9, false, 'c');
INSERT INTO orders (id, item, amount, is_new) VALUES (6, 'tea', 1, true);
--@output SALES ordered
-- item | n | fresh | large | notes            | top    | kinds | latest
-- tea  | 2 | 2     | 0     | ["a", "a"]       | []     | 1     | NULL
-- tea  | 3 | 2     | 5     | ["a", "a"]       | []     | 1     | NULL
-- tea  | 4 | 2     | 8     | ["a", "a"]       | [3]    | 2     | b
-- tea  | 5 | 2     | 17    | ["a", "a"]       | [9, 3] | 2     | c
-- tea  | 6 | 3     | 17    | ["a", "a", null] | [9, 3] | 2     | c

--@test: in windows, sessions and over a table
CREATE TABLE hourly AS
  SELECT item, COUNT(*) FILTER (WHERE is_new) AS fresh FROM orders WINDOW TUMBLING (SIZE 1 HOUR) GROUP BY item EMIT CHANGES;
CREATE TABLE visits AS
  SELECT item, SUM(amount) FILTER (WHERE is_new) AS fresh FROM orders WINDOW SESSION (10 SECONDS) GROUP BY item EMIT CHANGES;
CREATE TABLE stock (id INT PRIMARY KEY, item STRING, amount INT, is_new BOOLEAN)
  WITH (KAFKA_TOPIC = '${case}_stock', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE TABLE in_stock AS
  SELECT item, COUNT(*) FILTER (WHERE is_new) AS n, SUM(amount) FILTER (WHERE is_new) AS pieces,
    BOOL_OR(amount > 5) AS many, BOOL_AND(is_new) AS fresh FROM stock GROUP BY item EMIT CHANGES;
INSERT INTO orders (ROWTIME, id, item, amount, is_new) VALUES (0, 1, 'tea', 1, true);
INSERT INTO orders (ROWTIME, id, item, amount, is_new) VALUES (20000, 2, 'tea', 2, false);
INSERT INTO orders (ROWTIME, id, item, amount, is_new) VALUES (10000, 3, 'tea', 4, true);
INSERT INTO stock (id, item, amount, is_new) VALUES (1, 'tea', 6, true);
INSERT INTO stock (id, item, amount, is_new) VALUES (2, 'tea', 2, false);
INSERT INTO stock (id, item, amount, is_new) VALUES (1, 'tea', 3, true);
INSERT INTO stock (id, item, amount, is_new) VALUES (1, 'tea', 3, false);
--@output HOURLY ordered
-- item | windowstart | windowend | fresh
-- tea  | 0           | 3600000   | 1
-- tea  | 0           | 3600000   | 1
-- tea  | 0           | 3600000   | 2
--@output IN_STOCK ordered
-- item | n | pieces | many  | fresh
-- tea  | 1 | 6      | true  | true
-- tea  | 1 | 6      | true  | false
-- tea  | 1 | 3      | false | false
-- tea  | 0 | 0      | false | false

--@test: aggregates that other SQL has
CREATE TABLE more AS
  SELECT item, MAX_BY(note, amount) AS best, MIN_BY(note, amount) AS least, BOOL_AND(is_new) AS every,
    BOOL_OR(is_new) AS some, STRING_AGG(note, '-') AS notes, MEDIAN(amount) AS middle,
    APPROX_PERCENTILE(amount, 0.9) AS high
  FROM orders GROUP BY item EMIT CHANGES;
INSERT INTO orders (id, item) VALUES (1, 'tea');
INSERT INTO orders (id, item, amount, is_new, note) VALUES (2, 'tea', 5, true, 'a');
INSERT INTO orders (id, item, amount, is_new, note) VALUES (3, 'tea', 5, false, 'b');
INSERT INTO orders (id, item, amount, is_new, note) VALUES (4, 'tea', 2, true, 'c');
--@output MORE ordered
-- item | best | least | every | some | notes | middle | high
-- tea  | NULL | NULL  | NULL  | NULL | NULL  | NULL   | NULL
-- tea  | a    | a     | true  | true | a     | 5.0    | 5
-- tea  | b    | b     | false | true | a-b   | 5.0    | 5
-- tea  | b    | c     | false | true | a-b-c | 5.0    | 5

--@test: in a pull query
INSERT INTO orders (id, item, amount, is_new, note) VALUES (1, 'tea', 5, true, 'a');
INSERT INTO orders (id, item, amount, is_new, note) VALUES (2, 'tea', 7, NULL, 'b');
INSERT INTO orders (id, item, amount, is_new) VALUES (3, 'jam', 7, false);
SELECT item, COUNT(*) FILTER (WHERE is_new) AS n, AVG(amount) FILTER (WHERE is_new IS NULL) AS mean,
  COLLECT_LIST(note) FILTER (WHERE amount > 6) AS notes, COUNT(DISTINCT note) FILTER (WHERE amount > 5) AS kinds
  FROM orders GROUP BY item HAVING COUNT(*) FILTER (WHERE amount > 6) > 0 ORDER BY item;
--@rows
-- item | n | mean | notes  | kinds
-- jam  | 0 | 0.0  | [null] | 0
-- tea  | 1 | 7.0  | ["b"]  | 1
