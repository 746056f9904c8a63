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
