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
