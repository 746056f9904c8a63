-- Beyond ksqlDB: EMIT CHANGES EVERY: the last row of each key in an interval.
CREATE STREAM events (k STRING KEY, g STRING, v INT) WITH (KAFKA_TOPIC = '${case}_events', VALUE_FORMAT = 'JSON', PARTITIONS = 4);

--@test: by the key and by another column; the last state of each key comes without another record
CREATE TABLE by_key AS SELECT k, SUM(v) AS total FROM events GROUP BY k EMIT CHANGES EVERY 1 SECOND;
CREATE TABLE by_value AS SELECT g, SUM(v) AS total, COUNT(*) AS n FROM events GROUP BY g EMIT CHANGES EVERY 500 MILLISECONDS;
INSERT INTO events (ROWTIME, k, g, v) VALUES (1000, 'a', 'x', 1);
INSERT INTO events (ROWTIME, k, g, v) VALUES (2000, 'b', 'x', 2);
INSERT INTO events (ROWTIME, k, g, v) VALUES (3000, 'a', 'y', 4);
INSERT INTO events (ROWTIME, k, g, v) VALUES (3000, 'a', 'x', 8);
INSERT INTO events (ROWTIME, k, g, v) VALUES (2500, 'b', 'y', 16);
INSERT INTO events (ROWTIME, k, g, v) VALUES (4000, NULL, NULL, 32);
INSERT INTO events (ROWTIME, k, g, v) VALUES (5000, 'c', 'y', NULL);
--@output BY_KEY folded
-- k | total
-- a | 13
-- b | 18
-- c | 0
--@output BY_VALUE folded
-- g | total | n
-- x | 11    | 3
-- y | 20    | 3
--@restart
INSERT INTO events (ROWTIME, k, g, v) VALUES (6000, 'a', 'x', 64);
INSERT INTO events (ROWTIME, k, g, v) VALUES (6000, 'd', 'z', 128);
--@output BY_KEY folded
-- k | total
-- a | 77
-- b | 18
-- c | 0
-- d | 128
--@output BY_VALUE folded
-- g | total | n
-- x | 75    | 4
-- y | 20    | 3
-- z | 128   | 1
SELECT k, total FROM by_key WHERE k = 'a';
--@rows
-- k | total
-- a | 77

--@test: windows, sessions that merge, and HAVING
CREATE TABLE windows AS
  SELECT k, SUM(v) AS total FROM events WINDOW HOPPING (SIZE 2 SECONDS, ADVANCE BY 1 SECOND) GROUP BY k
  EMIT CHANGES EVERY 1 SECOND;
CREATE TABLE sessions AS
  SELECT k, SUM(v) AS total FROM events WINDOW SESSION (1 SECOND) GROUP BY k EMIT CHANGES EVERY 1 SECOND;
CREATE TABLE several AS SELECT k, COUNT(*) AS n FROM events GROUP BY k HAVING COUNT(*) < 3 EMIT CHANGES EVERY 1 SECOND;
INSERT INTO events (ROWTIME, k, g, v) VALUES (1000, 'a', 'x', 1);
INSERT INTO events (ROWTIME, k, g, v) VALUES (2000, 'b', 'x', 2);
INSERT INTO events (ROWTIME, k, g, v) VALUES (3000, 'a', 'y', 4);
INSERT INTO events (ROWTIME, k, g, v) VALUES (3000, 'a', 'x', 8);
INSERT INTO events (ROWTIME, k, g, v) VALUES (2500, 'b', 'y', 16);
INSERT INTO events (ROWTIME, k, g, v) VALUES (1500, 'a', 'x', 32);
INSERT INTO events (ROWTIME, k, g, v) VALUES (9000, 'c', 'x', 64);
--@output WINDOWS folded
-- k | windowstart | windowend | total
-- a | 0           | 2000      | 33
-- a | 1000        | 3000      | 33
-- a | 2000        | 4000      | 12
-- a | 3000        | 5000      | 12
-- b | 1000        | 3000      | 18
-- b | 2000        | 4000      | 18
-- c | 8000        | 10000     | 64
-- c | 9000        | 11000     | 64
--@output SESSIONS folded
-- k | windowstart | windowend | total
-- a | 1000        | 1500      | 33
-- a | 3000        | 3000      | 12
-- b | 2000        | 2500      | 18
-- c | 9000        | 9000      | 64
--@output SEVERAL folded
-- k | n
-- b | 2
-- c | 1

--@test: a table whose rows change groups and are deleted; a column before it
CREATE TABLE people (id STRING PRIMARY KEY, team STRING, age INT)
  WITH (KAFKA_TOPIC = '${case}_people', VALUE_FORMAT = 'JSON', PARTITIONS = 4);
CREATE TABLE teams AS
  SELECT team, COUNT(*) AS n, SUM(age) AS age FROM people GROUP BY team EMIT CHANGES EVERY 1 SECOND;
CREATE TABLE large AS
  SELECT team, n FROM (SELECT team, COUNT(*) AS n FROM people GROUP BY team) t WHERE n > 1 EMIT CHANGES EVERY 1 SECOND;
INSERT INTO people (id, team, age) VALUES ('a', 'red', 10);
INSERT INTO people (id, team, age) VALUES ('b', 'red', 20);
INSERT INTO people (id, team, age) VALUES ('c', 'blue', 30);
INSERT INTO people (id, team, age) VALUES ('a', 'blue', 40);
INSERT INTO people (id, team, age) VALUES ('b', 'green', 50);
DELETE FROM people WHERE id = 'c';
INSERT INTO people (id, team, age) VALUES ('d', 'green', 60);
--@output TEAMS folded
-- team  | n | age
-- blue  | 1 | 40
-- green | 2 | 110
-- red   | 0 | 0
--@output LARGE folded
-- team  | n
-- green | 2

--@test: in micro-batches, by event time
CREATE TABLE by_key WITH (ORDER = 'event-time') AS
  SELECT k, SUM(v) AS total FROM events GROUP BY k EMIT CHANGES EVERY 1 SECOND;
CREATE TABLE by_value WITH (ORDER = 'event-time') AS
  SELECT g, COUNT(v) AS n FROM events GROUP BY g EMIT CHANGES EVERY 1 SECOND;
INSERT INTO events (ROWTIME, k, g, v) VALUES (1000, 'a', 'x', 1);
INSERT INTO events (ROWTIME, k, g, v) VALUES (2000, 'b', 'x', 2);
INSERT INTO events (ROWTIME, k, g, v) VALUES (3000, 'a', 'y', 4);
INSERT INTO events (ROWTIME, k, g, v) VALUES (3000, 'a', 'x', 8);
INSERT INTO events (ROWTIME, k, g, v) VALUES (2500, 'b', 'y', 16);
--@output BY_KEY folded
-- k | total
-- a | 13
-- b | 18
--@output BY_VALUE folded
-- g | n
-- x | 3
-- y | 2

--@test: exactly once, by a column of a stream without a key: the one task also reads heartbeats
CREATE STREAM payments (card STRING, n INT)
  WITH (KAFKA_TOPIC = '${case}_payments', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
SET 'processing.guarantee' = 'exactly_once_v2';
CREATE TABLE cards AS SELECT card, COUNT(*) AS n FROM payments GROUP BY card EMIT CHANGES EVERY 1 SECOND;
INSERT INTO payments (card, n) VALUES ('a', 1);
INSERT INTO payments (card, n) VALUES ('b', 2);
INSERT INTO payments (card, n) VALUES ('a', 3);
--@output CARDS folded
-- card | n
-- a    | 2
-- b    | 1
