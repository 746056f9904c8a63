-- RIGHT joins that are LEFT joins with the sides exchanged: table with stream, and a foreign key on the right.
CREATE TABLE zones (id INT PRIMARY KEY, name STRING) WITH (KAFKA_TOPIC = '${case}_zones', VALUE_FORMAT = 'JSON', PARTITIONS = 4);
CREATE STREAM rides (zone INT, fare DOUBLE) WITH (KAFKA_TOPIC = '${case}_rides', VALUE_FORMAT = 'JSON', PARTITIONS = 4);
CREATE TABLE stops (id STRING PRIMARY KEY, zone INT) WITH (KAFKA_TOPIC = '${case}_stops', VALUE_FORMAT = 'JSON', PARTITIONS = 4);

--@test: a table RIGHT JOIN a stream keeps each row of the stream
INSERT INTO zones (id, name) VALUES (1, 'Bronx');
INSERT INTO zones (id, name) VALUES (2, 'Queens');
DELETE FROM zones WHERE id = 2;
CREATE STREAM named AS
  SELECT r.zone AS zone, z.name AS name, r.fare AS fare FROM zones z RIGHT JOIN rides r ON z.id = r.zone EMIT CHANGES;
INSERT INTO rides (zone, fare) VALUES (1, 0.5);
INSERT INTO rides (zone, fare) VALUES (2, 1.5);
INSERT INTO rides (zone, fare) VALUES (3, 2.5);
INSERT INTO rides (fare) VALUES (3.5);
--@output NAMED rowsort
-- zone | name  | fare
-- 1    | Bronx | 0.5
-- 2    | NULL  | 1.5
-- 3    | NULL  | 2.5
-- NULL | NULL  | 3.5

--@test: a foreign key of the right table
CREATE TABLE placed AS
  SELECT s.id AS id, s.zone AS zone, z.name AS name FROM zones z RIGHT JOIN stops s ON z.id = s.zone EMIT CHANGES;
INSERT INTO zones (id, name) VALUES (1, 'Bronx');
INSERT INTO stops (id, zone) VALUES ('a', 1);
INSERT INTO stops (id, zone) VALUES ('b', 2);
INSERT INTO stops (id, zone) VALUES ('c', NULL);
--@output PLACED folded repeating
-- id | zone | name
-- a  | 1    | Bronx
-- b  | 2    | NULL
-- c  | NULL | NULL
INSERT INTO zones (id, name) VALUES (2, 'Queens');
INSERT INTO stops (id, zone) VALUES ('c', 1);
--@output PLACED folded repeating
-- id | zone | name
-- a  | 1    | Bronx
-- b  | 2    | Queens
-- c  | 1    | Bronx
