-- Groups of what is windowed already.
CREATE STREAM clicks (page STRING KEY, visitor STRING, ts BIGINT)
  WITH (KAFKA_TOPIC = '${case}_clicks', VALUE_FORMAT = 'JSON', PARTITIONS = 1, TIMESTAMP = 'ts');

--@test: the key of a windowed stream without its window, and the window as a value
CREATE TABLE per_second AS
  SELECT page, COUNT(*) AS n FROM clicks WINDOW TUMBLING (SIZE 1 SECOND) GROUP BY page EMIT CHANGES;
CREATE STREAM windows_read (page STRING KEY, n BIGINT)
  WITH (KAFKA_TOPIC = '${case}_PER_SECOND', VALUE_FORMAT = 'JSON', WINDOW_TYPE = 'TUMBLING', WINDOW_SIZE = '1 SECOND');
CREATE TABLE most AS
  SELECT page, MAX(n) AS most, MAX(WINDOWSTART) AS latest, COUNT(DISTINCT n) AS different
  FROM windows_read GROUP BY page EMIT CHANGES;
INSERT INTO clicks (page, visitor, ts) VALUES ('home', 'a', 1100);
INSERT INTO clicks (page, visitor, ts) VALUES ('home', 'b', 1200);
INSERT INTO clicks (page, visitor, ts) VALUES ('home', 'a', 2100);
--@output MOST ordered
-- page | most | latest | different
-- home | 1    | 1000   | 1
-- home | 2    | 1000   | 2
-- home | 2    | 2000   | 2

--@test: a windowed table in a push query: each window is a row of its own
CREATE TABLE per_second AS
  SELECT page, COUNT(*) AS n FROM clicks WINDOW TUMBLING (SIZE 1 SECOND) GROUP BY page EMIT CHANGES;
INSERT INTO clicks (page, visitor, ts) VALUES ('home', 'a', 1100);
INSERT INTO clicks (page, visitor, ts) VALUES ('home', 'b', 1200);
INSERT INTO clicks (page, visitor, ts) VALUES ('home', 'a', 2100);
SELECT page, COUNT(*) AS windows, SUM(n) AS n FROM per_second GROUP BY page EMIT CHANGES LIMIT 3;
--@rows ordered
-- PAGE | WINDOWS | N
-- home | 1       | 1
-- home | 1       | 2
-- home | 2       | 3

--@test: a windowed table by the bounds of its windows, and by a value
CREATE TABLE per_two_seconds AS
  SELECT page, COUNT(*) AS n FROM clicks WINDOW HOPPING (SIZE 2 SECONDS, ADVANCE BY 1 SECOND) GROUP BY page EMIT CHANGES;
CREATE TABLE per_window AS
  SELECT WINDOWSTART AS starts, COUNT(*) AS pages, SUM(n) AS clicks FROM per_two_seconds GROUP BY WINDOWSTART EMIT CHANGES;
CREATE TABLE per_count AS
  SELECT n, COUNT(*) AS windows, SUM(WINDOWEND - WINDOWSTART) AS ms FROM per_two_seconds GROUP BY n EMIT CHANGES;
INSERT INTO clicks (page, visitor, ts) VALUES ('home', 'a', 1100);
INSERT INTO clicks (page, visitor, ts) VALUES ('home', 'b', 1200);
INSERT INTO clicks (page, visitor, ts) VALUES ('news', 'a', 1300);
INSERT INTO clicks (page, visitor, ts) VALUES ('home', 'a', 2100);
--@output PER_WINDOW folded
-- starts | pages | clicks
-- 0      | 2     | 3
-- 1000   | 2     | 4
-- 2000   | 1     | 1
--@output PER_COUNT folded
-- n | windows | ms
-- 1 | 3       | 6000
-- 2 | 1       | 2000
-- 3 | 1       | 2000
--@restart
INSERT INTO clicks (page, visitor, ts) VALUES ('news', 'b', 1400);
--@output PER_WINDOW folded
-- starts | pages | clicks
-- 0      | 2     | 4
-- 1000   | 2     | 5
-- 2000   | 1     | 1
--@output PER_COUNT folded
-- n | windows | ms
-- 1 | 1       | 2000
-- 2 | 3       | 6000
-- 3 | 1       | 2000

--@test: the windows of an aggregate in the same statement
CREATE TABLE per_window WITH (KEY_FORMAT = 'JSON') AS
  SELECT starts, COUNT(*) AS pages, SUM(n) AS clicks
  FROM (
    SELECT page, WINDOWSTART AS starts, COUNT(*) AS n FROM clicks WINDOW TUMBLING (SIZE 1 SECOND) GROUP BY page
  ) w
  GROUP BY starts EMIT CHANGES;
INSERT INTO clicks (page, visitor, ts) VALUES ('home', 'a', 1100);
INSERT INTO clicks (page, visitor, ts) VALUES ('news', 'b', 1200);
INSERT INTO clicks (page, visitor, ts) VALUES ('home', 'a', 2100);
INSERT INTO clicks (page, visitor, ts) VALUES ('home', 'a', 1900);
--@output PER_WINDOW folded
-- starts | pages | clicks
-- 1000   | 2     | 3
-- 2000   | 1     | 1

--@test: DISTINCT in SUM, AVG, COLLECT_LIST, MIN
CREATE TABLE spent AS
  SELECT page, SUM(DISTINCT ts) AS s, AVG(DISTINCT ts) AS a, COLLECT_LIST(DISTINCT visitor) AS l, MIN(DISTINCT ts) AS m
  FROM clicks GROUP BY page EMIT CHANGES;
INSERT INTO clicks (page, visitor, ts) VALUES ('home', 'a', 10);
INSERT INTO clicks (page, visitor, ts) VALUES ('home', 'b', 20);
INSERT INTO clicks (page, visitor, ts) VALUES ('home', NULL, 20);
INSERT INTO clicks (page, visitor, ts) VALUES ('home', 'a', 10);
INSERT INTO clicks (page, visitor, ts) VALUES (NULL, 'a', 30);
INSERT INTO clicks (page, visitor, ts) VALUES ('home', 'c', 30);
--@output SPENT ordered
-- page | s  | a    | l                     | m
-- home | 10 | 10.0 | ["a"]                 | 10
-- home | 30 | 15.0 | ["a", "b"]            | 10
-- home | 30 | 15.0 | ["a", "b", null]      | 10
-- home | 30 | 15.0 | ["a", "b", null]      | 10
-- home | 60 | 20.0 | ["a", "b", null, "c"] | 10

--@test: DISTINCT over a table: values that no row has any more do not count
CREATE TABLE people (id STRING PRIMARY KEY, team STRING, age INT)
  WITH (KAFKA_TOPIC = '${case}_people', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE TABLE teams AS
  SELECT team, COUNT(DISTINCT age) AS c, SUM(DISTINCT age) AS s, AVG(DISTINCT age) AS a, COLLECT_LIST(DISTINCT age) AS l
  FROM people GROUP BY team EMIT CHANGES;
INSERT INTO people (id, team, age) VALUES ('a', 'red', 10);
INSERT INTO people (id, team, age) VALUES ('b', 'red', 10);
INSERT INTO people (id, team, age) VALUES ('c', 'red', 20);
INSERT INTO people (id, team, age) VALUES ('d', 'red', NULL);
--@output TEAMS folded
-- team | c | s  | a    | l
-- red  | 2 | 30 | 15.0 | [10, 20, null]
INSERT INTO people (id, team, age) VALUES ('a', 'red', 30);
INSERT INTO people (id, team, age) VALUES ('c', 'red', NULL);
INSERT INTO people (id, team) VALUES ('d', NULL);
INSERT INTO people (id, team, age) VALUES ('last', 'blue', 1);
--@output TEAMS folded
-- team | c | s  | a    | l
-- blue | 1 | 1  | 1.0  | [1]
-- red  | 2 | 40 | 20.0 | [10, null, 30]
