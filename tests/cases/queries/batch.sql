-- Beyond ksqlDB: pull queries that sort, group and join what is there.
CREATE STREAM orders (id INT KEY, who STRING, item STRING, amount DOUBLE, tags ARRAY<STRING>) WITH (KAFKA_TOPIC = '${case}_orders', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
INSERT INTO orders (ROWTIME, id, who, item, amount, tags) VALUES (1, 1, 'ann', 'tea', 3.5, ARRAY['a', 'b']);
INSERT INTO orders (ROWTIME, id, who, item, amount) VALUES (2, 2, 'bob', 'tea', 4.0);
INSERT INTO orders (ROWTIME, id, who, item, amount, tags) VALUES (3, 3, 'ann', 'jam', 1.0, ARRAY['c']);
INSERT INTO orders (ROWTIME, id, who, item) VALUES (4, 4, 'cid', 'jam');
INSERT INTO orders (ROWTIME, id, item, amount) VALUES (5, 5, 'oil', 9.0);

--@test: on a stream: ORDER BY, LIMIT and OFFSET; NULLs are last
SELECT id, amount FROM orders ORDER BY amount;
--@rows
-- id | amount
-- 3  | 1.0
-- 1  | 3.5
-- 2  | 4.0
-- 5  | 9.0
-- 4  | NULL
SELECT id, amount FROM orders ORDER BY amount DESC LIMIT 2 OFFSET 1;
--@rows
-- id | amount
-- 2  | 4.0
-- 1  | 3.5
SELECT id, who FROM orders ORDER BY who NULLS FIRST, 1 DESC;
--@rows
-- id | who
-- 5  | NULL
-- 3  | ann
-- 1  | ann
-- 2  | bob
-- 4  | cid
SELECT item FROM orders WHERE id < 5 ORDER BY UCASE(who) DESC, ROWTIME;
--@rows
-- item
-- jam
-- tea
-- tea
-- jam

--@test: on a stream: DISTINCT
SELECT DISTINCT item FROM orders ORDER BY item;
--@rows
-- item
-- jam
-- oil
-- tea
SELECT DISTINCT who, item = 'tea' AS is_tea FROM orders WHERE who <> 'cid' ORDER BY who, is_tea;
--@rows
-- who | is_tea
-- ann | false
-- ann | true
-- bob | true

--@test: on a stream: groups, NULL is one; aggregates of all kinds
SELECT who, COUNT(*) AS n, COUNT(DISTINCT item) AS items, SUM(amount) AS total, AVG(amount) AS mean, MIN(item) AS least, MAX(amount) AS most FROM orders GROUP BY who ORDER BY who;
--@rows
-- who  | n | items | total | mean | least | most
-- ann  | 2 | 2     | 4.5   | 2.25 | jam   | 3.5
-- bob  | 1 | 1     | 4.0   | 4.0  | tea   | 4.0
-- cid  | 1 | 1     | 0.0   | 0.0  | jam   | NULL
-- NULL | 1 | 1     | 9.0   | 9.0  | oil   | 9.0
SELECT item, EARLIEST_BY_OFFSET(who) AS earliest, LATEST_BY_OFFSET(who, 2) AS latest, COLLECT_LIST(id) AS ids, COLLECT_SET(who) AS names, TOPK(amount, 1) AS top, HISTOGRAM(who) AS hist FROM orders GROUP BY item ORDER BY item;
--@rows
-- item | earliest | latest         | ids    | names          | top   | hist
-- jam  | ann      | ["ann", "cid"] | [3, 4] | ["ann", "cid"] | [1.0] | {"ann": 1, "cid": 1}
-- oil  | NULL     | []             | [5]    | [null]         | [9.0] | {}
-- tea  | ann      | ["ann", "bob"] | [1, 2] | ["ann", "bob"] | [4.0] | {"ann": 1, "bob": 1}
SELECT EARLIEST_BY_OFFSET(item) AS earliest, LATEST_BY_OFFSET(item, 2) AS latest, COUNT(DISTINCT item) AS items FROM orders WHERE id <> 5;
--@rows
-- earliest | latest         | items
-- tea      | ["jam", "jam"] | 2
SELECT COUNT(*) AS n, SUM(amount) AS total, STDDEV_SAMP(amount) AS v, COUNT_DISTINCT(who) AS approx FROM orders;
--@rows
-- n | total | v                  | approx
-- 5 | 17.5  | 11.229166666666666 | 3
SELECT COUNT(*) AS n, MAX(id) AS most FROM orders WHERE id > 100;
--@rows
-- n | most
-- 0 | NULL
SELECT item, SUM(amount) AS total FROM orders GROUP BY item HAVING COUNT(*) > 1 ORDER BY COUNT(*) DESC, total / 2 DESC LIMIT 1;
--@rows
-- item | total
-- tea  | 7.5
SELECT item FROM orders GROUP BY item ORDER BY item DESC;
--@rows
-- item
-- tea
-- oil
-- jam

--@test: on a stream of several partitions: the order of arrival is that of times, and in a partition that of offsets
CREATE STREAM spread (id INT KEY, v INT) WITH (KAFKA_TOPIC = '${case}_spread', VALUE_FORMAT = 'JSON', PARTITIONS = 3);
INSERT INTO spread (ROWTIME, id, v) VALUES (50, 1, 10);
INSERT INTO spread (ROWTIME, id, v) VALUES (30, 2, 20);
INSERT INTO spread (ROWTIME, id, v) VALUES (40, 3, 30);
INSERT INTO spread (ROWTIME, id, v) VALUES (60, 4, 40);
INSERT INTO spread (ROWTIME, id, v) VALUES (10, 4, 50);
INSERT INTO spread (ROWTIME, id, v) VALUES (70, 5, 60);
SELECT EARLIEST_BY_OFFSET(v) AS earliest, LATEST_BY_OFFSET(v, 2) AS latest, COLLECT_LIST(v) AS vs FROM spread;
--@rows
-- earliest | latest   | vs
-- 20       | [50, 60] | [20, 30, 10, 40, 50, 60]
SELECT STRING_AGG(CAST(v AS STRING), ',') AS vs, MAX_BY(v, 1) AS newest FROM spread;
--@rows
-- vs                | newest
-- 20,30,10,40,50,60 | 60

--@test: on a stream: table functions, sub-queries, WITH, UNION ALL
SELECT id, EXPLODE(tags) AS tag FROM orders ORDER BY tag DESC;
--@rows
-- id | tag
-- 3  | c
-- 1  | b
-- 1  | a
SELECT t.who, t.total FROM (SELECT who, SUM(amount) AS total FROM orders GROUP BY who) t WHERE t.total > 4 ORDER BY t.total;
--@rows
-- who  | total
-- ann  | 4.5
-- NULL | 9.0
WITH per_item AS (SELECT item, COUNT(*) AS n FROM orders GROUP BY item), big AS (SELECT item FROM per_item WHERE n > 1) SELECT o.id FROM orders o JOIN big b ON o.item = b.item ORDER BY o.id;
--@rows
-- id
-- 1
-- 2
-- 3
-- 4
SELECT who AS name FROM orders WHERE id < 3 UNION ALL SELECT item FROM orders WHERE id = 5 ORDER BY name DESC LIMIT 2;
--@rows
-- name
-- oil
-- bob

--@test: on tables: joins on any columns, with themselves and with streams
CREATE TABLE people (name STRING PRIMARY KEY, city STRING) WITH (KAFKA_TOPIC = '${case}_people', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE TABLE p AS SELECT name, city FROM people;
INSERT INTO people (name, city) VALUES ('ann', 'Rome');
INSERT INTO people (name, city) VALUES ('bob', 'Oslo');
INSERT INTO people (name, city) VALUES ('dan', 'Rome');
CREATE TABLE totals AS SELECT who, COUNT(*) AS n, SUM(amount) AS total FROM orders GROUP BY who;
--@output P folded
-- name | city
-- ann  | Rome
-- bob  | Oslo
-- dan  | Rome
--@output TOTALS folded
-- who | n | total
-- ann | 2 | 4.5
-- bob | 1 | 4.0
-- cid | 1 | 0.0
SELECT p.name, p.city, t.n FROM p JOIN totals t ON p.name = t.who ORDER BY p.name;
--@rows
-- name | city | n
-- ann  | Rome | 2
-- bob  | Oslo | 1
SELECT p.name, t.n FROM p LEFT JOIN totals t ON p.name = t.who ORDER BY p.name;
--@rows
-- name | n
-- ann  | 2
-- bob  | 1
-- dan  | NULL
SELECT p.name, t.who FROM p FULL JOIN totals t ON p.name = t.who ORDER BY p.name, t.who;
--@rows
-- name | who
-- ann  | ann
-- bob  | bob
-- dan  | NULL
-- NULL | cid
SELECT a.name AS a, b.name AS b FROM p a JOIN p b ON a.city = b.city AND a.name < b.name;
--@rows
-- a   | b
-- ann | dan
SELECT o.id, p.city, t.total FROM orders o JOIN p ON o.who = p.name LEFT JOIN totals t ON t.who = p.name WHERE p.name = 'ann' ORDER BY o.id;
--@rows
-- id | city | total
-- 1  | Rome | 4.5
-- 3  | Rome | 4.5
SELECT city, COUNT(*) AS n, COLLECT_LIST(name) AS names FROM p GROUP BY city ORDER BY n DESC;
--@rows
-- city | n | names
-- Rome | 2 | ["ann", "dan"]
-- Oslo | 1 | ["bob"]
SELECT name FROM p WHERE name IN ('ann', 'dan', 'eve') ORDER BY name DESC;
--@rows
-- name
-- dan
-- ann
SELECT name, ROWTIME > 0 AS timed FROM p ORDER BY city, name LIMIT 2;
--@rows
-- name | timed
-- bob  | true
-- ann  | true

--@test: on a windowed table
CREATE TABLE per_window AS SELECT item, COUNT(*) AS n FROM orders WINDOW TUMBLING (SIZE 2 MILLISECONDS) GROUP BY item;
--@output PER_WINDOW folded
-- item | windowstart | windowend | n
-- jam  | 2           | 4         | 1
-- jam  | 4           | 6         | 1
-- oil  | 4           | 6         | 1
-- tea  | 0           | 2         | 1
-- tea  | 2           | 4         | 1
SELECT item, WINDOWSTART, WINDOWEND, n FROM per_window ORDER BY WINDOWSTART DESC, item;
--@rows
-- item | windowstart | windowend | n
-- jam  | 4           | 6         | 1
-- oil  | 4           | 6         | 1
-- jam  | 2           | 4         | 1
-- tea  | 2           | 4         | 1
-- tea  | 0           | 2         | 1
SELECT item, SUM(n) AS n, MAX(WINDOWEND) AS until FROM per_window GROUP BY item ORDER BY item;
--@rows
-- item | n | until
-- jam  | 2 | 6
-- oil  | 1 | 6
-- tea  | 2 | 4
SELECT * FROM per_window WHERE item = 'jam' ORDER BY WINDOWSTART DESC;
--@rows
-- item | windowstart | windowend | n
-- jam  | 4           | 6         | 1
-- jam  | 2           | 4         | 1
SELECT w.item, w.WINDOWSTART AS since, o.id FROM per_window w JOIN orders o ON w.item = o.item AND o.ROWTIME >= w.WINDOWSTART AND o.ROWTIME < w.WINDOWEND ORDER BY o.id;
--@rows
-- w_item | since | id
-- tea    | 0     | 1
-- tea    | 2     | 2
-- jam    | 2     | 3
-- jam    | 4     | 4
-- oil    | 4     | 5

--@test: DISTINCT values of aggregates; text in KSQL's order
CREATE STREAM words (w STRING, n INT) WITH (KAFKA_TOPIC = '${case}_words', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
INSERT INTO words (w, n) VALUES ('～', 2);
INSERT INTO words (w, n) VALUES ('😀', 2);
INSERT INTO words (w, n) VALUES ('a', 3);
INSERT INTO words (n) VALUES (3);
SELECT SUM(DISTINCT n) AS total, AVG(DISTINCT n) AS mean, COUNT(DISTINCT w) AS words, MIN(w) AS least, MAX(w) AS most FROM words;
--@rows
-- total | mean | words | least | most
-- 5     | 2.5  | 3     | a     | ～
SELECT w FROM words ORDER BY w;
--@rows
-- w
-- a
-- 😀
-- ～
-- NULL
SELECT w, UCASE(w) < 'B' AS early FROM words ORDER BY early DESC, w DESC NULLS FIRST;
--@rows
-- w    | early
-- a    | true
-- NULL | false
-- ～    | false
-- 😀    | false
