-- FOR SYSTEM_TIME AS OF: rows of a stream wait for the table's row of their time.
CREATE STREAM rides (id STRING KEY, zone INT) WITH (KAFKA_TOPIC = '${case}_rides', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE TABLE zones (zone INT PRIMARY KEY, name STRING) WITH (KAFKA_TOPIC = '${case}_zones', VALUE_FORMAT = 'JSON', PARTITIONS = 1);

--@test: versions that come later than the row, by time; deletions; NULL keys; late rows
CREATE STREAM placed AS
  SELECT r.id AS id, r.zone AS zone, z.name AS name
  FROM rides r LEFT JOIN zones FOR SYSTEM_TIME AS OF r.ROWTIME AS z GRACE PERIOD 10 SECONDS ON r.zone = z.zone
  PARTITION BY r.id EMIT CHANGES;
INSERT INTO zones (ROWTIME, zone, name) VALUES (1000, 1, 'old');
INSERT INTO rides (ROWTIME, id, zone) VALUES (5000, 'a', 1);
INSERT INTO rides (ROWTIME, id, zone) VALUES (5000, 'b', 2);
INSERT INTO rides (ROWTIME, id, zone) VALUES (5000, 'c', NULL);
INSERT INTO rides (ROWTIME, id, zone) VALUES (5000, NULL, 1);
INSERT INTO zones (ROWTIME, zone, name) VALUES (6000, 1, 'later');
INSERT INTO zones (ROWTIME, zone, name) VALUES (4000, 1, 'new');
INSERT INTO zones (ROWTIME, zone, name) VALUES (5000, 2, 'two');
INSERT INTO rides (ROWTIME, id, zone) VALUES (7000, 'd', 1);
INSERT INTO rides (ROWTIME, id, zone) VALUES (17000, 'e', 1);
--@output PLACED rowsort
-- id   | zone | name  | ROWTIME
-- NULL | 1    | new   | 5000
-- a    | 1    | new   | 5000
-- b    | 2    | two   | 5000
-- c    | NULL | NULL  | 5000
-- d    | 1    | later | 7000
--@restart
INSERT INTO zones (ROWTIME, zone, name) VALUES (12000, 1, 'newest');
INSERT INTO zones (ROWTIME, zone, name) VALUES (16000, 2, 'last');
INSERT INTO rides (ROWTIME, id, zone) VALUES (6500, 'f', 1);
INSERT INTO rides (ROWTIME, id, zone) VALUES (100000, 'z', 1);
INSERT INTO rides (ROWTIME, id, zone) VALUES (500, 'g', 1);
--@output PLACED rowsort
-- id | zone | name   | ROWTIME
-- e  | 1    | newest | 17000
-- f  | 1    | later  | 6500
-- g  | 1    | NULL   | 500

--@test: a backlog, with several partitions and tombstones
CREATE STREAM trips (id STRING KEY, zone INT) WITH (KAFKA_TOPIC = '${case}_trips', VALUE_FORMAT = 'JSON', PARTITIONS = 4);
CREATE TABLE places (id STRING PRIMARY KEY, name STRING) WITH (KAFKA_TOPIC = '${case}_places', VALUE_FORMAT = 'JSON', WRAP_SINGLE_VALUE = false, PARTITIONS = 4);
INSERT INTO places (ROWTIME, id, name) VALUES (1000, 'a', 'A');
INSERT INTO places (ROWTIME, id, name) VALUES (3000, 'a', NULL);
INSERT INTO places (ROWTIME, id, name) VALUES (5000, 'a', 'AA');
INSERT INTO places (ROWTIME, id, name) VALUES (2000, 'b', 'B');
INSERT INTO trips (ROWTIME, id, zone) VALUES (900, 'a', 0);
INSERT INTO trips (ROWTIME, id, zone) VALUES (2000, 'a', 1);
INSERT INTO trips (ROWTIME, id, zone) VALUES (4000, 'a', 2);
INSERT INTO trips (ROWTIME, id, zone) VALUES (5000, 'a', 3);
INSERT INTO trips (ROWTIME, id, zone) VALUES (1999, 'b', 4);
INSERT INTO trips (ROWTIME, id, zone) VALUES (2000, 'b', 5);
INSERT INTO trips (ROWTIME, id, zone) VALUES (9000, 'a', 6);
INSERT INTO trips (ROWTIME, id, zone) VALUES (9000, 'b', 7);
CREATE STREAM inner_join AS
  SELECT t.id AS id, t.zone AS zone, p.name AS name
  FROM trips t JOIN places p FOR SYSTEM_TIME AS OF ROWTIME GRACE PERIOD 2 SECONDS ON t.id = p.id EMIT CHANGES;
CREATE STREAM left_join AS
  SELECT t.id AS id, t.zone AS zone, p.name AS name
  FROM trips t LEFT JOIN places p FOR SYSTEM_TIME AS OF t.ROWTIME GRACE PERIOD 2 SECONDS ON t.id = p.id EMIT CHANGES;
--@output INNER_JOIN rowsort
-- id | zone | name
-- a  | 1    | A
-- a  | 3    | AA
-- b  | 5    | B
--@output LEFT_JOIN rowsort
-- id | zone | name
-- a  | 0    | NULL
-- a  | 1    | A
-- a  | 2    | NULL
-- a  | 3    | AA
-- b  | 4    | NULL
-- b  | 5    | B

--@test: rows leave an idle query; a table that every task has
SET 'ksql.idle.window.timeout' = '2000';
CREATE TABLE names (zone INT PRIMARY KEY, name STRING) WITH (KAFKA_TOPIC = '${case}_names', VALUE_FORMAT = 'JSON', PARTITIONS = 3, REPLICATED = true);
CREATE STREAM placed AS
  SELECT r.id AS id, r.zone AS zone, n.name AS name
  FROM rides r LEFT JOIN names n FOR SYSTEM_TIME AS OF r.ROWTIME GRACE PERIOD 1 HOUR ON r.zone = n.zone EMIT CHANGES;
INSERT INTO rides (ROWTIME, id, zone) VALUES (5000, 'a', 1);
INSERT INTO rides (ROWTIME, id, zone) VALUES (5001, 'b', 2);
INSERT INTO names (ROWTIME, zone, name) VALUES (4999, 1, 'one');
INSERT INTO names (ROWTIME, zone, name) VALUES (5002, 2, 'two');
--@output PLACED ordered
-- id | zone | name
-- a  | 1    | one
-- b  | 2    | NULL
