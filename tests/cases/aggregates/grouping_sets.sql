-- Beyond ksqlDB: GROUPING SETS, ROLLUP and CUBE.
CREATE STREAM orders (id INT KEY, city STRING, item STRING, amount INT)
  WITH (KAFKA_TOPIC = '${case}_orders', VALUE_FORMAT = 'JSON', PARTITIONS = 1);

--@test: each record counts once in each set, except where a column of the set is NULL
CREATE TABLE totals WITH (KEY_FORMAT = 'JSON') AS
  SELECT city, item, GROUPING(city, item) AS level, COUNT(*) AS n, SUM(amount) AS total,
    GROUPING(city) AS all_cities, UCASE(item) AS upper
  FROM orders GROUP BY ROLLUP (city, item) EMIT CHANGES;
INSERT INTO orders (id, city, item, amount) VALUES (1, 'Oslo', 'tea', 1);
INSERT INTO orders (id, city, item, amount) VALUES (2, 'Oslo', NULL, 2);
INSERT INTO orders (id, city, item, amount) VALUES (3, NULL, 'tea', 4);
INSERT INTO orders (id, city, item, amount) VALUES (4, NULL, NULL, NULL);
INSERT INTO orders (id, city, item, amount) VALUES (5, 'Rome', 'tea', 8);
--@output TOTALS ordered
-- city | item | level | n | total | all_cities | upper
-- Oslo | tea  | 0     | 1 | 1     | 0          | TEA
-- Oslo | NULL | 1     | 1 | 1     | 0          | NULL
-- NULL | NULL | 3     | 1 | 1     | 1          | NULL
-- Oslo | NULL | 1     | 2 | 3     | 0          | NULL
-- NULL | NULL | 3     | 2 | 3     | 1          | NULL
-- NULL | NULL | 3     | 3 | 7     | 1          | NULL
-- NULL | NULL | 3     | 4 | 7     | 1          | NULL
-- Rome | tea  | 0     | 1 | 8     | 0          | TEA
-- Rome | NULL | 1     | 1 | 8     | 0          | NULL
-- NULL | NULL | 3     | 5 | 15    | 1          | NULL

--@test: in windows, with HAVING over a column that sets do not have, and with a computed column
CREATE TABLE hourly WITH (KEY_FORMAT = 'JSON') AS
  SELECT city, SUBSTRING(item, 1, 1) AS letter, GROUPING(city, SUBSTRING(item, 1, 1)) AS level, COUNT(*) AS n
  FROM orders WINDOW TUMBLING (SIZE 1 HOUR) GROUP BY CUBE (city, SUBSTRING(item, 1, 1))
  HAVING city IS NULL OR COUNT(*) > 1 EMIT CHANGES;
INSERT INTO orders (ROWTIME, id, city, item) VALUES (0, 1, 'Oslo', 'tea');
INSERT INTO orders (ROWTIME, id, city, item) VALUES (1000, 2, 'Oslo', 'toast');
INSERT INTO orders (ROWTIME, id, city, item) VALUES (3600000, 3, 'Oslo', 'tea');
INSERT INTO orders (ROWTIME, id, city) VALUES (2000, 4, 'Oslo');
--@output HOURLY ordered
-- city | letter | level | windowstart | windowend | n
-- NULL | t      | 2     | 0           | 3600000   | 1
-- NULL | NULL   | 3     | 0           | 3600000   | 1
-- Oslo | t      | 0     | 0           | 3600000   | 2
-- Oslo | NULL   | 1     | 0           | 3600000   | 2
-- NULL | t      | 2     | 0           | 3600000   | 2
-- NULL | NULL   | 3     | 0           | 3600000   | 2
-- NULL | t      | 2     | 3600000     | 7200000   | 1
-- NULL | NULL   | 3     | 3600000     | 7200000   | 1
-- Oslo | NULL   | 1     | 0           | 3600000   | 3
-- NULL | NULL   | 3     | 0           | 3600000   | 3

--@test: copies, filters and the best rows of a table whose keys have NULLs
CREATE STREAM wide (id INT KEY, city STRING, item STRING, amount INT)
  WITH (KAFKA_TOPIC = '${case}_wide', VALUE_FORMAT = 'JSON', PARTITIONS = 4);
CREATE TABLE totals WITH (KEY_FORMAT = 'JSON') AS
  SELECT city, item, GROUPING(city, item) AS level, COUNT(*) AS n, SUM(amount) AS total
  FROM wide GROUP BY CUBE (city, item) EMIT CHANGES;
CREATE TABLE copy AS SELECT * FROM totals EMIT CHANGES;
CREATE TABLE many AS SELECT * FROM totals WHERE n > 1 EMIT CHANGES;
CREATE TABLE best WITH (KEY_FORMAT = 'JSON') AS
  SELECT level, ROW_NUMBER() OVER (PARTITION BY level ORDER BY total DESC) AS place, city, item, total
  FROM totals QUALIFY place <= 2 EMIT CHANGES;
INSERT INTO wide (ROWTIME, id, city, item, amount) VALUES (1000, 1, 'Oslo', 'tea', 1);
INSERT INTO wide (ROWTIME, id, city, item, amount) VALUES (2000, 2, 'Oslo', NULL, 2);
INSERT INTO wide (ROWTIME, id, city, item, amount) VALUES (3000, 3, NULL, 'tea', 4);
INSERT INTO wide (ROWTIME, id, city, item, amount) VALUES (4000, 4, NULL, NULL, NULL);
INSERT INTO wide (ROWTIME, id, city, item, amount) VALUES (5000, 5, 'Rome', 'tea', 8);
INSERT INTO wide (ROWTIME, id, city, item, amount) VALUES (6000, 6, 'Rome', 'jam', 16);
INSERT INTO wide (ROWTIME, id, city, item, amount) VALUES (7000, 6, 'Rome', 'jam', -32);
--@output TOTALS folded
-- city | item | level | n | total
-- NULL | NULL | 3     | 7 | -1
-- NULL | jam  | 2     | 2 | -16
-- NULL | tea  | 2     | 3 | 13
-- Oslo | NULL | 1     | 2 | 3
-- Oslo | tea  | 0     | 1 | 1
-- Rome | NULL | 1     | 3 | -8
-- Rome | jam  | 0     | 2 | -16
-- Rome | tea  | 0     | 1 | 8
--@output COPY folded
-- city | item | level | n | total
-- NULL | NULL | 3     | 7 | -1
-- NULL | jam  | 2     | 2 | -16
-- NULL | tea  | 2     | 3 | 13
-- Oslo | NULL | 1     | 2 | 3
-- Oslo | tea  | 0     | 1 | 1
-- Rome | NULL | 1     | 3 | -8
-- Rome | jam  | 0     | 2 | -16
-- Rome | tea  | 0     | 1 | 8
--@output MANY folded
-- city | item | level | n | total
-- NULL | NULL | 3     | 7 | -1
-- NULL | jam  | 2     | 2 | -16
-- NULL | tea  | 2     | 3 | 13
-- Oslo | NULL | 1     | 2 | 3
-- Rome | NULL | 1     | 3 | -8
-- Rome | jam  | 0     | 2 | -16
--@output BEST folded
-- level | place | city | item | total
-- 0     | 1     | Rome | tea  | 8
-- 0     | 2     | Oslo | tea  | 1
-- 1     | 1     | Oslo | NULL | 3
-- 1     | 2     | Rome | NULL | -8
-- 2     | 1     | NULL | tea  | 13
-- 2     | 2     | NULL | jam  | -16
-- 3     | 1     | NULL | NULL | -1
SELECT * FROM totals WHERE city = 'Oslo' AND item = 'tea' AND level = 0;
--@rows
-- city | item | level | n | total
-- Oslo | tea  | 0     | 1 | 1
SELECT * FROM totals WHERE city IS NULL;
--@rows rowsort
-- city | item | level | n | total
-- NULL | NULL | 3     | 7 | -1
-- NULL | jam  | 2     | 2 | -16
-- NULL | tea  | 2     | 3 | 13
SELECT * FROM totals WHERE level = 3;
--@rows
-- city | item | level | n | total
-- NULL | NULL | 3     | 7 | -1
SELECT level, COUNT(*) AS m FROM totals GROUP BY level;
--@rows rowsort
-- level | m
-- 0     | 3
-- 1     | 2
-- 2     | 2
-- 3     | 1
SELECT * FROM copy WHERE level >= 1;
--@rows rowsort
-- city | item | level | n | total
-- NULL | NULL | 3     | 7 | -1
-- NULL | jam  | 2     | 2 | -16
-- NULL | tea  | 2     | 3 | 13
-- Oslo | NULL | 1     | 2 | 3
-- Rome | NULL | 1     | 3 | -8

--@test: a push query
INSERT INTO orders (id, city, item, amount) VALUES (1, 'Oslo', 'tea', 1);
SELECT city, item, COUNT(*) AS n FROM orders GROUP BY ROLLUP (city, item) EMIT CHANGES LIMIT 3;
--@rows rowsort
-- city | item | n
-- NULL | NULL | 1
-- Oslo | NULL | 1
-- Oslo | tea  | 1

--@test: more columns while it runs
CREATE TABLE totals WITH (KEY_FORMAT = 'JSON') AS
  SELECT city, item, GROUPING(city, item) AS level, COUNT(*) AS n, SUM(amount) AS total
  FROM orders GROUP BY CUBE (city, item) EMIT CHANGES;
INSERT INTO orders (ROWTIME, id, city, item, amount) VALUES (1000, 1, 'Oslo', 'tea', 1);
INSERT INTO orders (ROWTIME, id, city, item, amount) VALUES (5000, 5, 'Rome', 'tea', 8);
--@output TOTALS folded
-- city | item | level | n | total
-- NULL | NULL | 3     | 2 | 9
-- NULL | tea  | 2     | 2 | 9
-- Oslo | NULL | 1     | 1 | 1
-- Oslo | tea  | 0     | 1 | 1
-- Rome | NULL | 1     | 1 | 8
-- Rome | tea  | 0     | 1 | 8
CREATE OR REPLACE TABLE totals WITH (KEY_FORMAT = 'JSON') AS
  SELECT city, item, GROUPING(city, item) AS level, COUNT(*) AS n, SUM(amount) AS total, GROUPING(city) AS c, UCASE(item) AS u
  FROM orders WHERE amount > 0 GROUP BY CUBE (city, item) EMIT CHANGES;
INSERT INTO orders (ROWTIME, id, city, item, amount) VALUES (6000, 6, 'Rome', 'jam', 16);
INSERT INTO orders (ROWTIME, id, city, item, amount) VALUES (7000, 6, 'Rome', 'jam', -32);
INSERT INTO orders (ROWTIME, id, city, item, amount) VALUES (8000, 6, 'Oslo', 'tea', 1);
--@output TOTALS folded
-- city | item | level | n | total
-- NULL | NULL | 3     | 4 | 26
-- NULL | jam  | 2     | 1 | 16
-- NULL | tea  | 2     | 3 | 10
-- Oslo | NULL | 1     | 2 | 2
-- Oslo | tea  | 0     | 2 | 2
-- Rome | NULL | 1     | 2 | 24
-- Rome | jam  | 0     | 1 | 16
-- Rome | tea  | 0     | 1 | 8
SELECT city, item, c, u FROM totals WHERE n > 1;
--@rows rowsort
-- city | item | c | u
-- NULL | NULL | 1 | NULL
-- NULL | tea  | 1 | TEA
-- Oslo | NULL | 0 | NULL
-- Oslo | tea  | 0 | TEA
-- Rome | NULL | 0 | NULL
