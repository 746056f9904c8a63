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
