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
