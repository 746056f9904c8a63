-- Aggregates of a table: a change takes the old row back and adds the new one.
CREATE TABLE people (id STRING PRIMARY KEY, city STRING, age INT)
  WITH (KAFKA_TOPIC = '${case}_people', VALUE_FORMAT = 'JSON', PARTITIONS = 1);

--@test: a row that stays in its group gives one result, one that leaves it gives two
CREATE TABLE cities AS
  SELECT city, COUNT(*) AS n, COLLECT_LIST(age) AS ages FROM people GROUP BY city EMIT CHANGES;
INSERT INTO people (id, city, age) VALUES ('1', 'Rome', 20);
INSERT INTO people (id, city, age) VALUES ('2', 'Rome', 30);
INSERT INTO people (id, city, age) VALUES ('1', 'Rome', 21);
INSERT INTO people (id, city, age) VALUES ('1', 'Oslo', 21);
--@restart
INSERT INTO people (id, city, age) VALUES ('1', 'Oslo', NULL);
INSERT INTO people (id, city, age) VALUES ('1', NULL, 22);
INSERT INTO people (id, city, age) VALUES ('2', 'Rome', 30);
--@output CITIES ordered
-- city | n | ages
-- Rome | 1 | [20]
-- Rome | 2 | [20, 30]
-- Rome | 2 | [30, 21]
-- Rome | 1 | [30]
-- Oslo | 1 | [21]
-- Oslo | 1 | [null]
-- Oslo | 0 | []
-- Rome | 1 | [30]

--@test: a group that passes HAVING before and after a change is not deleted in between
CREATE TABLE cities AS
  SELECT UCASE(city) AS name, SUM(age) AS total FROM people GROUP BY UCASE(city) HAVING SUM(age) > 10 EMIT CHANGES;
INSERT INTO people (id, city, age) VALUES ('1', 'Rome', 20);
INSERT INTO people (id, city, age) VALUES ('1', 'rome', 30);
INSERT INTO people (id, city, age) VALUES ('1', 'rome', 5);
INSERT INTO people (id, city, age) VALUES ('1', 'rome', 6);
INSERT INTO people (id, city, age) VALUES ('1', 'Rome', 40);
--@output CITIES ordered
-- name | total
-- ROME | 20
-- ROME | 30
-- ROME | <deleted>
-- ROME | 40

--@test: a large value that leaves a group takes no digits of the others with it
CREATE TABLE amounts (id STRING PRIMARY KEY, city STRING, amount DOUBLE) WITH (KAFKA_TOPIC = '${case}_amounts', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE TABLE sums AS SELECT city, SUM(amount) AS total, AVG(amount) AS mean, COUNT(*) AS n FROM amounts GROUP BY city;
INSERT INTO amounts (id, city, amount) VALUES ('a', 'x', 0.1);
INSERT INTO amounts (id, city, amount) VALUES ('b', 'x', 1e15);
INSERT INTO amounts (id, city, amount) VALUES ('c', 'x', 1e308);
INSERT INTO amounts (id, city, amount) VALUES ('d', 'x', 1e308);
--@output SUMS folded
-- city | total    | mean     | n
-- x    | Infinity | Infinity | 4
INSERT INTO amounts (id, city, amount) VALUES ('b', 'y', 1e15);
DELETE FROM amounts WHERE id = 'c';
DELETE FROM amounts WHERE id = 'd';
--@output SUMS folded
-- city | total              | mean               | n
-- x    | 0.1                | 0.1                | 1
-- y    | 1000000000000000.0 | 1000000000000000.0 | 1
