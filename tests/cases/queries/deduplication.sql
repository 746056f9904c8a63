-- DISTINCT ON, and QUALIFY ROW_NUMBER() … = 1: the first row of each key.
CREATE STREAM clicks (k STRING KEY, id INT, url STRING)
  WITH (KAFKA_TOPIC = '${case}_clicks', VALUE_FORMAT = 'JSON', PARTITIONS = 1);

--@test: the first row of each key passes, with its own time and columns
CREATE STREAM firsts AS SELECT DISTINCT ON (id) k, id, url FROM clicks EMIT CHANGES;
INSERT INTO clicks (ROWTIME, k, id, url) VALUES (1000, 'a', 1, 'one');
INSERT INTO clicks (ROWTIME, k, id, url) VALUES (2000, 'b', 1, 'again');
INSERT INTO clicks (ROWTIME, k, id, url) VALUES (500, 'c', 1, 'again, earlier');
INSERT INTO clicks (ROWTIME, k, id, url) VALUES (3000, 'a', 2, 'two');
INSERT INTO clicks (ROWTIME, k, id, url) VALUES (9000000000, 'a', 1, 'never forgotten');
INSERT INTO clicks (ROWTIME, k, id, url) VALUES (4000, 'a', 3, 'late, but the first');
--@output FIRSTS ordered
-- rowtime | k | id | url
-- 1000    | a | 1  | one
-- 3000    | a | 2  | two
-- 4000    | a | 3  | late, but the first

--@test: QUALIFY says the same
CREATE STREAM firsts AS SELECT k, id, url FROM clicks WHERE url <> 'no'
  QUALIFY ROW_NUMBER() OVER (PARTITION BY id ORDER BY ROWTIME) = 1 EMIT CHANGES;
INSERT INTO clicks (ROWTIME, k, id, url) VALUES (1000, 'a', 1, 'no');
INSERT INTO clicks (ROWTIME, k, id, url) VALUES (2000, 'b', 1, 'one');
INSERT INTO clicks (ROWTIME, k, id, url) VALUES (3000, 'c', 1, 'again');
INSERT INTO clicks (ROWTIME, k, id, url) VALUES (3000, 'a', 2, 'two');
--@output FIRSTS ordered
-- rowtime | k | id | url
-- 2000    | b | 1  | one
-- 3000    | a | 2  | two

--@test: a key is forgotten once stream time is more than WITHIN past its first row
CREATE STREAM firsts AS SELECT DISTINCT ON (id) k, id, url FROM clicks WITHIN 10 SECONDS EMIT CHANGES;
INSERT INTO clicks (ROWTIME, k, id, url) VALUES (1000, 'a', 1, 'first');
INSERT INTO clicks (ROWTIME, k, id, url) VALUES (9000, 'a', 1, 'does not prolong it');
INSERT INTO clicks (ROWTIME, k, id, url) VALUES (11000, 'a', 1, 'just within');
INSERT INTO clicks (ROWTIME, k, id, url) VALUES (11001, 'a', 1, 'first again');
INSERT INTO clicks (ROWTIME, k, id, url) VALUES (50000, 'a', 2, 'time passes');
INSERT INTO clicks (ROWTIME, k, id, url) VALUES (30000, 'a', 3, 'too late to be remembered');
INSERT INTO clicks (ROWTIME, k, id, url) VALUES (30000, 'a', 3, 'so nobody knows it');
INSERT INTO clicks (ROWTIME, k, id, url) VALUES (40000, 'a', 1, 'late and first');
INSERT INTO clicks (ROWTIME, k, id, url) VALUES (41000, 'a', 1, 'late and known');
INSERT INTO clicks (ROWTIME, k, id, url) VALUES (60000, 'a', 4, 'the last');
--@output FIRSTS ordered
-- rowtime | id | url
-- 1000    | 1  | first
-- 11001   | 1  | first again
-- 50000   | 2  | time passes
-- 30000   | 3  | too late to be remembered
-- 30000   | 3  | so nobody knows it
-- 40000   | 1  | late and first
-- 60000   | 4  | the last

--@test: of each pair of values the first row passes, and NULL is a value
CREATE STREAM firsts AS SELECT DISTINCT ON (id, url) k, id, url FROM clicks WITHIN 1 DAY EMIT CHANGES;
INSERT INTO clicks (k, id, url) VALUES ('a', 1, NULL);
INSERT INTO clicks (k, id, url) VALUES ('b', 1, NULL);
INSERT INTO clicks (k, id, url) VALUES ('c', NULL, 'x');
INSERT INTO clicks (k, id, url) VALUES ('d', NULL, 'x');
INSERT INTO clicks (k, id, url) VALUES ('e', NULL, NULL);
INSERT INTO clicks (k, id, url) VALUES ('f', NULL, NULL);
INSERT INTO clicks (k, id, url) VALUES ('g', 1, 'x');
--@output FIRSTS ordered
-- k | id   | url
-- a | 1    | NULL
-- c | NULL | x
-- e | NULL | NULL
-- g | 1    | x

--@test: by the key, records without one are one group in whatever partition they are
CREATE STREAM keyed (k STRING KEY, v INT) WITH (KAFKA_TOPIC = '${case}_keyed', VALUE_FORMAT = 'JSON', PARTITIONS = 4);
CREATE STREAM firsts WITH (PARTITIONS = 1) AS SELECT DISTINCT ON (k) k, v FROM keyed EMIT CHANGES;
INSERT INTO keyed (ROWTIME, v) VALUES (1000, 1);
INSERT INTO keyed (ROWTIME, v) VALUES (2000, 1);
INSERT INTO keyed (ROWTIME, v) VALUES (3000, 1);
INSERT INTO keyed (ROWTIME, v) VALUES (4000, 1);
INSERT INTO keyed (ROWTIME, k, v) VALUES (5000, 'a', 2);
INSERT INTO keyed (ROWTIME, v) VALUES (6000, 1);
INSERT INTO keyed (ROWTIME, k, v) VALUES (7000, 'a', 3);
INSERT INTO keyed (ROWTIME, k, v) VALUES (8000, 'b', 4);
--@output FIRSTS rowsort
-- k    | v
-- NULL | 1
-- a    | 2
-- b    | 4

--@test: by the key, without records that have none
CREATE STREAM keyed (k STRING KEY, v INT) WITH (KAFKA_TOPIC = '${case}_keyed', VALUE_FORMAT = 'JSON', PARTITIONS = 4);
CREATE STREAM firsts AS SELECT DISTINCT ON (k) k, v FROM keyed WITHIN 1 MINUTE WHERE k IS NOT NULL EMIT CHANGES;
INSERT INTO keyed (ROWTIME, k, v) VALUES (1000, 'a', 1);
INSERT INTO keyed (ROWTIME, k, v) VALUES (2000, 'a', 2);
INSERT INTO keyed (ROWTIME, v) VALUES (3000, 3);
INSERT INTO keyed (ROWTIME, k, v) VALUES (4000, 'b', 4);
INSERT INTO keyed (ROWTIME, k, v) VALUES (61001, 'a', 5);
--@output FIRSTS rowsort
-- rowtime | k | v
-- 1000    | a | 1
-- 4000    | b | 4
-- 61001   | a | 5

--@test: pseudo columns and PARTITION BY come after it
CREATE STREAM firsts AS
  SELECT DISTINCT ON (url) id, url, ROWTIME AS t, ROWPARTITION AS p, ROWOFFSET AS o
  FROM clicks PARTITION BY id EMIT CHANGES;
INSERT INTO clicks (ROWTIME, k, id, url) VALUES (1000, 'a', 1, 'x');
INSERT INTO clicks (ROWTIME, k, id, url) VALUES (2000, 'b', 2, 'x');
INSERT INTO clicks (ROWTIME, k, id, url) VALUES (3000, 'c', 3, 'y');
--@output FIRSTS ordered
-- id | url | t    | p | o
-- 1  | x   | 1000 | 0 | 0
-- 3  | y   | 3000 | 0 | 2

--@test: below an aggregation
CREATE TABLE counts AS
  SELECT url, COUNT(*) AS n FROM (SELECT DISTINCT ON (id) * FROM clicks WITHIN 1 HOUR) c GROUP BY url EMIT CHANGES;
INSERT INTO clicks (ROWTIME, k, id, url) VALUES (1000, 'a', 1, 'x');
INSERT INTO clicks (ROWTIME, k, id, url) VALUES (2000, 'b', 1, 'x');
INSERT INTO clicks (ROWTIME, k, id, url) VALUES (2000, 'b', 2, 'x');
INSERT INTO clicks (ROWTIME, k, id, url) VALUES (3000, 'c', 3, 'y');
--@output COUNTS folded
-- url | n
-- x   | 2
-- y   | 1

--@test: above a join
CREATE STREAM views (k STRING KEY, v INT) WITH (KAFKA_TOPIC = '${case}_views', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE STREAM firsts AS
  SELECT DISTINCT ON (c.id) c.k, c.id, v.v FROM clicks c JOIN views v WITHIN 1 MINUTE ON c.k = v.k WITHIN 1 HOUR EMIT CHANGES;
INSERT INTO views (ROWTIME, k, v) VALUES (1000, 'a', 1);
INSERT INTO clicks (ROWTIME, k, id, url) VALUES (2000, 'a', 1, 'x');
INSERT INTO views (ROWTIME, k, v) VALUES (3000, 'a', 2);
INSERT INTO clicks (ROWTIME, k, id, url) VALUES (4000, 'a', 2, 'x');
--@output FIRSTS rowsort
-- c_k | id | v
-- a   | 1  | 1
-- a   | 2  | 1

--@test: a key that PARTITION BY calls ROWTIME
CREATE STREAM firsts WITH (KEY_FORMAT = 'JSON') AS
  SELECT DISTINCT ON (id) ROWTIME AS t, k, id FROM (SELECT * FROM clicks PARTITION BY ROWTIME) c EMIT CHANGES;
INSERT INTO clicks (ROWTIME, k, id, url) VALUES (1000, 'a', 1, 'x');
INSERT INTO clicks (ROWTIME, k, id, url) VALUES (2000, 'b', 1, 'x');
INSERT INTO clicks (ROWTIME, k, id, url) VALUES (3000, 'c', 2, 'x');
--@output FIRSTS ordered
-- rowtime | t    | k | id
-- 1000    | 1000 | a | 1
-- 3000    | 3000 | c | 2

--@test: a push query
INSERT INTO clicks (ROWTIME, k, id, url) VALUES (1000, 'a', 1, 'x');
INSERT INTO clicks (ROWTIME, k, id, url) VALUES (2000, 'b', 1, 'y');
INSERT INTO clicks (ROWTIME, k, id, url) VALUES (3000, 'c', 2, 'z');
SELECT DISTINCT ON (id) id, url FROM clicks WITHIN 1 HOUR EMIT CHANGES LIMIT 2;
--@rows ordered
-- id | url
-- 1  | x
-- 2  | z
