-- EVOLVE = 'in-place': columns change, and the query goes on with its state.
CREATE STREAM s (k STRING KEY, v INT, w STRING) WITH (KAFKA_TOPIC = '${case}_s', VALUE_FORMAT = 'JSON', PARTITIONS = 1);

--@test: an aggregate dropped, another renamed, another HAVING, over a restart
CREATE TABLE c AS SELECT k, COUNT(*) AS n, SUM(v) AS total, MAX(v) AS highest FROM s GROUP BY k HAVING COUNT(*) > 0 EMIT CHANGES;
INSERT INTO s VALUES ('x', 1, 'one');
INSERT INTO s VALUES ('y', 5, 'five');
--@output C folded
-- k | n | total | highest
-- x | 1 | 1     | 1
-- y | 1 | 5     | 5
CREATE OR REPLACE TABLE c WITH (EVOLVE = 'in-place') AS
  SELECT k, SUM(v) * 10 AS tenfold, MAX(v) AS highest FROM s GROUP BY k HAVING COUNT(*) > 1 EMIT CHANGES;
INSERT INTO s VALUES ('x', 2, 'two');
--@output C folded
-- k | highest
-- x | 2
-- y | 5
SELECT * FROM c;
--@rows
-- k | tenfold | highest
-- x | 30      | 2
-- y | NULL    | 5
--@restart
INSERT INTO s VALUES ('y', 4, 'four');
INSERT INTO s VALUES ('y', 6, 'six');
INSERT INTO s VALUES ('z', 7, 'seven');
--@output C folded
-- k | highest
-- x | 2
-- y | 6
SELECT * FROM c;
--@rows
-- k | tenfold | highest
-- x | 30      | 2
-- y | 150     | 6

--@test: aggregates are appended, twice, and begin empty, over restarts
CREATE TABLE c AS SELECT k, COUNT(*) AS n FROM s GROUP BY k EMIT CHANGES;
INSERT INTO s VALUES ('x', 1, 'one');
INSERT INTO s VALUES ('y', 5, 'five');
--@output C folded
-- k | n
-- x | 1
-- y | 1
CREATE OR REPLACE TABLE c WITH (EVOLVE = 'in-place') AS
  SELECT k, COUNT(*) AS n, SUM(v) AS s, COLLECT_LIST(w) AS l, AVG(v) AS a FROM s GROUP BY k EMIT CHANGES;
INSERT INTO s VALUES ('x', 2, 'two');
INSERT INTO s VALUES ('z', 3, 'three');
--@output C folded
-- k | n | s | l         | a
-- x | 2 | 2    | ["two"]   | 2.0
-- y | 1 | NULL | NULL      | NULL
-- z | 1 | 3    | ["three"] | 3.0
SELECT * FROM c;
--@rows
-- k | n | s    | l         | a
-- x | 2 | 2    | ["two"]   | 2.0
-- y | 1 | NULL | NULL      | NULL
-- z | 1 | 3    | ["three"] | 3.0
--@restart
CREATE OR REPLACE TABLE c WITH (EVOLVE = 'in-place') AS
  SELECT k, COUNT(*) AS n, SUM(v) AS s, COLLECT_LIST(w) AS l, AVG(v) AS a, MAX(v) AS m FROM s GROUP BY k HAVING AVG(v) < 4 EMIT CHANGES;
INSERT INTO s VALUES ('x', 1, 'three');
INSERT INTO s VALUES ('y', 3, 'six');
INSERT INTO s VALUES ('z', 9, 'nine');
--@restart
INSERT INTO s VALUES ('x', 3, 'four');
--@output C folded
-- k | n | s | l                        | a   | m
-- x | 4 | 6 | ["two", "three", "four"] | 2.0 | 3
-- y | 2 | 3 | ["six"]                  | 3.0 | 3

--@test: an aggregate is appended above windows that have begun
CREATE TABLE h AS SELECT k, COUNT(*) AS n FROM s WINDOW TUMBLING (SIZE 10 SECONDS, GRACE PERIOD 1 DAY) GROUP BY k EMIT CHANGES;
INSERT INTO s (ROWTIME, k, v) VALUES (1000, 'x', 1);
INSERT INTO s (ROWTIME, k, v) VALUES (11000, 'x', 2);
--@output H folded
-- k | n | WINDOWSTART | WINDOWEND
-- x | 1 | 0           | 10000
-- x | 1 | 10000       | 20000
CREATE OR REPLACE TABLE h WITH (EVOLVE = 'in-place') AS
  SELECT k, COUNT(*) AS n, MIN(v) AS least FROM s WINDOW TUMBLING (SIZE 10 SECONDS, GRACE PERIOD 1 DAY) GROUP BY k EMIT CHANGES;
INSERT INTO s (ROWTIME, k, v) VALUES (2000, 'x', 3);
INSERT INTO s (ROWTIME, k, v) VALUES (22000, 'x', 4);
--@output H folded
-- k | n | least | WINDOWSTART | WINDOWEND
-- x | 2 | 3     | 0           | 10000
-- x | 1 | NULL  | 10000       | 20000
-- x | 1 | 4     | 20000       | 30000

--@test: an aggregate is appended above sessions that a record merges
CREATE TABLE h AS SELECT k, COUNT(*) AS n FROM s WINDOW SESSION (10 SECONDS, GRACE PERIOD 1 DAY) GROUP BY k EMIT CHANGES;
INSERT INTO s (ROWTIME, k, v) VALUES (1000, 'x', 1);
--@output H folded
-- k | n | WINDOWSTART | WINDOWEND
-- x | 1 | 1000        | 1000
CREATE OR REPLACE TABLE h WITH (EVOLVE = 'in-place') AS
  SELECT k, COUNT(*) AS n, SUM(v) AS total FROM s WINDOW SESSION (10 SECONDS, GRACE PERIOD 1 DAY) GROUP BY k EMIT CHANGES;
INSERT INTO s (ROWTIME, k, v) VALUES (15000, 'x', 2);
INSERT INTO s (ROWTIME, k, v) VALUES (8000, 'x', 4);
--@output H folded
-- k | n | total | WINDOWSTART | WINDOWEND
-- x | 3 | 6     | 1000        | 15000

--@test: an aggregate is appended above windows that are written when they close
CREATE TABLE h AS SELECT k, COUNT(*) AS n FROM s WINDOW TUMBLING (SIZE 10 SECONDS, GRACE PERIOD 0 SECONDS) GROUP BY k EMIT FINAL;
INSERT INTO s (ROWTIME, k, v) VALUES (1000, 'x', 1);
INSERT INTO s (ROWTIME, k, v) VALUES (11000, 'x', 2);
--@output H ordered
-- k | n | WINDOWSTART | WINDOWEND
-- x | 1 | 0           | 10000
CREATE OR REPLACE TABLE h WITH (EVOLVE = 'in-place') AS
  SELECT k, COUNT(*) AS n, MIN(v) AS least FROM s WINDOW TUMBLING (SIZE 10 SECONDS, GRACE PERIOD 0 SECONDS) GROUP BY k EMIT FINAL;
INSERT INTO s (ROWTIME, k, v) VALUES (22000, 'x', 4);
INSERT INTO s (ROWTIME, k, v) VALUES (32000, 'x', 5);
--@output H ordered
-- k | n | least | WINDOWSTART | WINDOWEND
-- x | 1 | NULL  | 10000       | 20000
-- x | 1 | 4     | 20000       | 30000

--@test: a window's GRACE becomes shorter
CREATE TABLE h AS SELECT k, COUNT(*) AS n, SUM(v) AS total FROM s WINDOW SESSION (10 SECONDS, GRACE PERIOD 1 DAY) GROUP BY k EMIT CHANGES;
INSERT INTO s (ROWTIME, k, v) VALUES (1000, 'x', 1);
INSERT INTO s (ROWTIME, k, v) VALUES (100000, 'x', 2);
--@output H folded
-- k | n | total | WINDOWSTART | WINDOWEND
-- x | 1 | 1     | 1000        | 1000
-- x | 1 | 2     | 100000      | 100000
CREATE OR REPLACE TABLE h WITH (EVOLVE = 'in-place') AS
  SELECT k, COUNT(*) AS n FROM s WINDOW SESSION (10 SECONDS, GRACE PERIOD 1 SECOND) GROUP BY k EMIT CHANGES;
INSERT INTO s (ROWTIME, k, v) VALUES (2000, 'x', 3);
INSERT INTO s (ROWTIME, k, v) VALUES (100500, 'x', 4);
--@output H folded
-- k | n | WINDOWSTART | WINDOWEND
-- x | 1 | 1000        | 1000
-- x | 2 | 100000      | 100500

--@test: columns change above a join with a table
CREATE TABLE t (k STRING PRIMARY KEY, a INT, b STRING) WITH (KAFKA_TOPIC = '${case}_t', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE STREAM j AS SELECT s.k AS k, s.v AS v, t.a AS a FROM s JOIN t ON s.k = t.k EMIT CHANGES;
INSERT INTO t (ROWTIME, k, a, b) VALUES (1000, 'x', 1, 'one');
INSERT INTO s (ROWTIME, k, v, w) VALUES (2000, 'x', 5, 'five');
--@output J ordered
-- k | v | a
-- x | 5 | 1
CREATE OR REPLACE STREAM j WITH (EVOLVE = 'in-place') AS
  SELECT s.k AS k, s.w AS w, t.b AS b, t.a + s.v AS both FROM s JOIN t ON s.k = t.k WHERE s.v > 5 EMIT CHANGES;
INSERT INTO s (ROWTIME, k, v, w) VALUES (3000, 'x', 5, 'five');
INSERT INTO s (ROWTIME, k, v, w) VALUES (4000, 'x', 6, 'six');
--@restart
INSERT INTO s (ROWTIME, k, v, w) VALUES (5000, 'x', 7, 'seven');
--@output J ordered
-- k | w     | b   | both
-- x | six   | one | 7
-- x | seven | one | 8

--@test: columns change above a join of streams, of which one side has come before
CREATE STREAM s2 (k STRING KEY, z INT, y STRING) WITH (KAFKA_TOPIC = '${case}_s2', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE STREAM j AS SELECT s.k AS k, s.v AS v, s2.z AS z FROM s JOIN s2 WITHIN 1 HOUR GRACE PERIOD 1 HOUR ON s.k = s2.k EMIT CHANGES;
INSERT INTO s (ROWTIME, k, v, w) VALUES (1000, 'x', 1, 'one');
INSERT INTO s2 (ROWTIME, k, z, y) VALUES (2000, 'x', 10, 'ten');
INSERT INTO s (ROWTIME, k, v, w) VALUES (3000, 'y', 2, 'two');
--@output J ordered
-- k | v | z
-- x | 1 | 10
CREATE OR REPLACE STREAM j WITH (EVOLVE = 'in-place') AS
  SELECT s.k AS k, s2.z AS z, s2.y AS y, s.w AS w FROM s JOIN s2 WITHIN 1 HOUR GRACE PERIOD 1 HOUR ON s.k = s2.k EMIT CHANGES;
INSERT INTO s2 (ROWTIME, k, z, y) VALUES (4000, 'y', 20, 'twenty');
INSERT INTO s (ROWTIME, k, v, w) VALUES (5000, 'x', 3, 'three');
--@output J ordered
-- k | z  | y      | w
-- y | 20 | twenty | two
-- x | 10 | ten    | three

--@test: an aggregate is appended above a join, in a sub-topology of its own
CREATE TABLE t (k STRING PRIMARY KEY, a INT, b STRING) WITH (KAFKA_TOPIC = '${case}_t', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE TABLE c AS SELECT t.b AS b, COUNT(*) AS n FROM s JOIN t ON s.k = t.k GROUP BY t.b EMIT CHANGES;
INSERT INTO t (ROWTIME, k, a, b) VALUES (1000, 'x', 1, 'one');
INSERT INTO s (ROWTIME, k, v, w) VALUES (2000, 'x', 5, 'five');
--@output C folded
-- b   | n
-- one | 1
CREATE OR REPLACE TABLE c WITH (EVOLVE = 'in-place') AS
  SELECT t.b AS b, COUNT(*) AS n, SUM(s.v + t.a) AS total FROM s JOIN t ON s.k = t.k GROUP BY t.b EMIT CHANGES;
INSERT INTO s (ROWTIME, k, v, w) VALUES (3000, 'x', 6, 'six');
--@output C folded
-- b   | n | total
-- one | 2 | 7

--@test: an aggregate is appended above sliding windows, and above the groups of a TTL
CREATE TABLE h AS SELECT k, COUNT(*) AS n FROM s WINDOW SLIDING (SIZE 10 SECONDS, GRACE PERIOD 1 DAY) GROUP BY k EMIT CHANGES;
CREATE TABLE c WITH (TTL = '1 HOUR') AS SELECT k, COUNT(*) AS n FROM s GROUP BY k EMIT CHANGES;
INSERT INTO s (ROWTIME, k, v) VALUES (11000, 'x', 1);
--@output H folded
-- k | n | WINDOWSTART | WINDOWEND
-- x | 1 | 1000        | 11000
--@output C folded
-- k | n
-- x | 1
CREATE OR REPLACE TABLE h WITH (EVOLVE = 'in-place') AS
  SELECT k, COUNT(*) AS n, SUM(v) AS total FROM s WINDOW SLIDING (SIZE 10 SECONDS, GRACE PERIOD 1 DAY) GROUP BY k EMIT CHANGES;
CREATE OR REPLACE TABLE c WITH (TTL = '1 HOUR', EVOLVE = 'in-place') AS
  SELECT k, COUNT(*) AS n, SUM(v) AS total FROM s GROUP BY k EMIT CHANGES;
INSERT INTO s (ROWTIME, k, v) VALUES (12000, 'x', 3);
--@output H folded
-- k | n | total | WINDOWSTART | WINDOWEND
-- x | 1 | NULL  | 1000        | 11000
-- x | 2 | 3     | 2000        | 12000
-- x | 1 | 3     | 11001       | 21001
--@output C folded
-- k | n | total
-- x | 2 | 3
