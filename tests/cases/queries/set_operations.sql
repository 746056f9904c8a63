-- UNION, EXCEPT and INTERSECT of tables: each row once, NULL is a value like others.
CREATE TABLE old (id INT PRIMARY KEY, name STRING) WITH (KAFKA_TOPIC = '${case}_old', VALUE_FORMAT = 'JSON', PARTITIONS = 4);
CREATE TABLE new (id INT PRIMARY KEY, name STRING) WITH (KAFKA_TOPIC = '${case}_new', VALUE_FORMAT = 'JSON', PARTITIONS = 4);

--@test: rows that come, change and go
CREATE TABLE united WITH (KEY_FORMAT = 'JSON') AS SELECT id, name FROM old UNION SELECT id, name FROM new EMIT CHANGES;
CREATE TABLE gone WITH (KEY_FORMAT = 'JSON') AS SELECT * FROM old EXCEPT SELECT * FROM new EMIT CHANGES;
CREATE TABLE same WITH (KEY_FORMAT = 'JSON') AS SELECT * FROM old INTERSECT SELECT * FROM new EMIT CHANGES;
INSERT INTO old (id, name) VALUES (1, 'a');
INSERT INTO old (id, name) VALUES (2, NULL);
INSERT INTO old (id, name) VALUES (3, 'c');
INSERT INTO new (id, name) VALUES (1, 'a');
INSERT INTO new (id, name) VALUES (2, NULL);
INSERT INTO new (id, name) VALUES (3, 'x');
INSERT INTO new (id, name) VALUES (4, 'd');
--@output UNITED folded
-- id | name
-- 1  | a
-- 2  | NULL
-- 3  | c
-- 3  | x
-- 4  | d
--@output GONE folded
-- id | name
-- 3  | c
--@output SAME folded
-- id | name
-- 1  | a
-- 2  | NULL
INSERT INTO new (id, name) VALUES (1, 'b');
DELETE FROM new WHERE id = 2;
INSERT INTO new (id, name) VALUES (3, 'c');
DELETE FROM new WHERE id = 4;
--@output UNITED folded
-- id | name
-- 1  | a
-- 1  | b
-- 2  | NULL
-- 3  | c
--@output GONE folded
-- id | name
-- 1  | a
-- 2  | NULL
--@output SAME folded
-- id | name
-- 3  | c

--@test: three tables, conditions, a restart, pull and push queries
CREATE TABLE most WITH (KEY_FORMAT = 'JSON') AS
  SELECT id, name FROM old WHERE id < 5 EXCEPT SELECT id, name FROM new UNION SELECT id, UCASE(name) AS name FROM new EMIT CHANGES;
INSERT INTO old (id, name) VALUES (1, 'a');
INSERT INTO old (id, name) VALUES (2, 'b');
INSERT INTO old (id, name) VALUES (7, 'g');
INSERT INTO new (id, name) VALUES (2, 'b');
--@output MOST folded
-- id | name
-- 1  | a
-- 2  | B
--@restart
INSERT INTO old (id, name) VALUES (2, 'c');
INSERT INTO new (id, name) VALUES (1, 'a');
--@output MOST folded
-- id | name
-- 1  | A
-- 2  | B
-- 2  | c
SELECT * FROM most WHERE id = 2 ORDER BY name;
--@rows
-- id | name
-- 2  | B
-- 2  | c
SELECT name FROM most WHERE id = 1 AND name = 'A';
--@rows
-- name
-- A
SELECT id, name FROM old WHERE id = 7 EXCEPT SELECT id, name FROM new EMIT CHANGES LIMIT 1;
--@rows
-- id | name
-- 7  | g

--@test: a set operation below other steps
CREATE TABLE counted AS
  SELECT name, COUNT(*) AS n FROM (SELECT id, name FROM old UNION SELECT id, name FROM new) u GROUP BY name EMIT CHANGES;
INSERT INTO old (id, name) VALUES (1, 'a');
INSERT INTO old (id, name) VALUES (2, 'a');
INSERT INTO new (id, name) VALUES (2, 'a');
INSERT INTO new (id, name) VALUES (3, 'a');
--@output COUNTED folded
-- name | n
-- a    | 3

--@test: only the key; pull queries that compute them
CREATE TABLE ids AS SELECT id FROM old EXCEPT SELECT id FROM new EMIT CHANGES;
CREATE TABLE olds AS SELECT * FROM old EMIT CHANGES;
CREATE TABLE news AS SELECT * FROM new EMIT CHANGES;
INSERT INTO old (id, name) VALUES (1, 'a');
INSERT INTO old (id, name) VALUES (2, NULL);
INSERT INTO new (id, name) VALUES (2, NULL);
INSERT INTO old (id, name) VALUES (3, NULL);
--@output IDS folded
-- id
-- 1
-- 3
--@output OLDS folded
-- id | name
-- 1  | a
-- 2  | NULL
-- 3  | NULL
--@output NEWS folded
-- id | name
-- 2  | NULL
SELECT * FROM ids;
--@rows rowsort
-- id
-- 1
-- 3
SELECT name FROM olds UNION SELECT name FROM news ORDER BY name;
--@rows
-- name
-- a
-- NULL
SELECT name FROM olds EXCEPT SELECT name FROM news;
--@rows
-- name
-- a
SELECT name, id FROM olds INTERSECT SELECT name, id FROM news;
--@rows
-- name | id
-- NULL | 2

--@test: another query in its place
CREATE TABLE changing WITH (KEY_FORMAT = 'JSON') AS SELECT id, name FROM old UNION SELECT id, name FROM new EMIT CHANGES;
INSERT INTO old (id, name) VALUES (1, 'a');
INSERT INTO old (id, name) VALUES (2, 'b');
INSERT INTO new (id, name) VALUES (2, 'b');
INSERT INTO new (id, name) VALUES (3, 'c');
--@output CHANGING folded
-- id | name
-- 1  | a
-- 2  | b
-- 3  | c
CREATE OR REPLACE TABLE changing WITH (KEY_FORMAT = 'JSON') AS SELECT id, name FROM old EXCEPT SELECT id, name FROM new EMIT CHANGES;
--@error: INVALID_STATEMENT
CREATE OR REPLACE TABLE changing WITH (KEY_FORMAT = 'JSON', EVOLVE = 'backfill') AS
  SELECT id, name FROM old EXCEPT SELECT id, name FROM new EMIT CHANGES;
--@output CHANGING folded
-- id | name
-- 1  | a

--@test: groups of a UNION ALL of streams with one partition
CREATE STREAM first (id INT KEY, name STRING) WITH (KAFKA_TOPIC = '${case}_first', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE STREAM second (id INT KEY, name STRING) WITH (KAFKA_TOPIC = '${case}_second', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE TABLE names AS
  SELECT name, COUNT(*) AS n FROM (SELECT * FROM first UNION ALL SELECT * FROM second) GROUP BY name;
CREATE TABLE latest AS
  SELECT name, LATEST_BY_OFFSET(id) AS id FROM (SELECT * FROM first UNION ALL SELECT * FROM first) GROUP BY name;
CREATE STREAM once AS
  SELECT DISTINCT ON (name) id, name FROM (SELECT * FROM first UNION ALL SELECT * FROM second) WITHIN 1 DAY;
INSERT INTO first VALUES (1, 'a');
INSERT INTO first VALUES (2, 'b');
--@output ONCE rowsort
-- id | name
-- 1  | a
-- 2  | b
INSERT INTO second VALUES (3, 'a');
--@output NAMES folded
-- name | n
-- a    | 2
-- b    | 1
--@output LATEST folded
-- name | id
-- a    | 1
-- b    | 2
