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
