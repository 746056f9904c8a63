-- EXISTS and IN (SELECT …): rows with a partner in a table, and rows without one.
CREATE STREAM rides (id STRING KEY, zone INT, fare DOUBLE) WITH (KAFKA_TOPIC = '${case}_rides', VALUE_FORMAT = 'JSON', PARTITIONS = 4);
CREATE TABLE zones (zone INT PRIMARY KEY, name STRING, least DOUBLE) WITH (KAFKA_TOPIC = '${case}_zones', VALUE_FORMAT = 'JSON', PARTITIONS = 4);

--@test: by another column than the key: rows keep their key
INSERT INTO zones (zone, name, least) VALUES (1, 'Bronx', 1.0);
INSERT INTO zones (zone, name, least) VALUES (2, 'Queens', 9.0);
INSERT INTO zones (zone, name) VALUES (3, 'gone');
DELETE FROM zones WHERE zone = 3;
INSERT INTO zones (zone, name, least) VALUES (4, NULL, NULL);
CREATE STREAM known AS SELECT * FROM rides WHERE zone IN (SELECT zone FROM zones) EMIT CHANGES;
CREATE STREAM unknown AS SELECT * FROM rides WHERE zone NOT IN (SELECT zone FROM zones) EMIT CHANGES;
CREATE STREAM lacking AS
  SELECT * FROM rides r WHERE NOT EXISTS (SELECT 1 FROM zones z WHERE z.zone = r.zone AND z.least < r.fare) EMIT CHANGES;
CREATE STREAM enough AS
  SELECT * FROM rides r WHERE EXISTS (SELECT 1 FROM zones z WHERE r.zone = z.zone AND least < fare) AND fare < 20 EMIT CHANGES;
INSERT INTO rides (id, zone, fare) VALUES ('a', 1, 2.0);
INSERT INTO rides (id, zone, fare) VALUES ('b', 2, 3.0);
INSERT INTO rides (id, zone, fare) VALUES ('c', 3, 4.0);
INSERT INTO rides (id, zone, fare) VALUES ('d', NULL, 5.0);
INSERT INTO rides (id, zone, fare) VALUES ('e', 4, 6.0);
INSERT INTO rides (id, zone, fare) VALUES (NULL, 2, 17.0);
INSERT INTO rides (id, zone, fare) VALUES (NULL, 2, 27.0);
INSERT INTO rides (id, zone, fare) VALUES (NULL, 3, 7.0);
--@output KNOWN rowsort
-- id   | zone | fare
-- NULL | 2    | 17.0
-- NULL | 2    | 27.0
-- a    | 1    | 2.0
-- b    | 2    | 3.0
-- e    | 4    | 6.0
--@output UNKNOWN rowsort
-- id   | zone | fare
-- NULL | 3    | 7.0
-- c    | 3    | 4.0
--@output LACKING rowsort
-- id   | zone | fare
-- NULL | 3    | 7.0
-- b    | 2    | 3.0
-- c    | 3    | 4.0
-- d    | NULL | 5.0
-- e    | 4    | 6.0
--@output ENOUGH rowsort
-- id   | zone | fare
-- NULL | 2    | 17.0
-- a    | 1    | 2.0

--@test: tables: by the key and by a foreign key, with rows that come and go
CREATE TABLE stops (id INT PRIMARY KEY, zone INT, name STRING) WITH (KAFKA_TOPIC = '${case}_stops', VALUE_FORMAT = 'JSON', PARTITIONS = 4);
CREATE TABLE same AS SELECT id, name FROM stops WHERE id IN (SELECT zone FROM zones) EMIT CHANGES;
CREATE TABLE placed AS SELECT id, name FROM stops s WHERE EXISTS (SELECT * FROM zones z WHERE z.zone = s.zone) EMIT CHANGES;
CREATE TABLE lost AS SELECT id, name FROM stops WHERE zone NOT IN (SELECT zone FROM zones) EMIT CHANGES;
INSERT INTO stops (id, zone, name) VALUES (1, 2, 'x');
INSERT INTO stops (id, zone, name) VALUES (2, 3, 'y');
INSERT INTO stops (id, zone, name) VALUES (3, NULL, 'z');
INSERT INTO stops (id, zone, name) VALUES (4, 9, 'w');
INSERT INTO zones (zone, name) VALUES (1, 'Bronx');
INSERT INTO zones (zone, name) VALUES (2, 'Queens');
--@output SAME folded
-- id | name
-- 1  | x
-- 2  | y
--@output PLACED folded
-- id | name
-- 1  | x
--@output LOST folded
-- id | name
-- 2  | y
-- 4  | w
INSERT INTO zones (zone, name) VALUES (2, NULL);
DELETE FROM zones WHERE zone = 2;
INSERT INTO zones (zone, name) VALUES (3, 'new');
--@output SAME folded
-- id | name
-- 1  | x
-- 3  | z
--@output PLACED folded
-- id | name
-- 2  | y
--@output LOST folded
-- id | name
-- 1  | x
-- 4  | w

--@test: a group of what passes, and a push query
INSERT INTO zones (zone, name) VALUES (1, 'Bronx');
INSERT INTO rides (id, zone, fare) VALUES ('a', 1, 2.0);
INSERT INTO rides (id, zone, fare) VALUES ('b', 2, 3.0);
INSERT INTO rides (id, zone, fare) VALUES ('b', 1, 4.0);
CREATE TABLE counted AS
  SELECT id, COUNT(*) AS n FROM rides WHERE zone IN (SELECT zone FROM zones) GROUP BY id EMIT CHANGES;
--@output COUNTED folded
-- id | n
-- a  | 1
-- b  | 1
SELECT id, fare FROM rides WHERE zone IN (SELECT zone FROM zones WHERE name LIKE 'B%') EMIT CHANGES LIMIT 2;
--@rows rowsort
-- id | fare
-- a  | 2.0
-- b  | 4.0

--@test: pull queries
CREATE TABLE fares AS SELECT id, SUM(fare) AS total FROM rides GROUP BY id EMIT CHANGES;
CREATE TABLE places AS SELECT zone, name FROM zones EMIT CHANGES;
INSERT INTO zones (zone, name) VALUES (1, 'a');
INSERT INTO zones (zone, name) VALUES (2, 'Queens');
INSERT INTO rides (id, zone, fare) VALUES ('a', 1, 2.0);
INSERT INTO rides (id, zone, fare) VALUES ('b', 9, 3.0);
--@output FARES folded
-- id | total
-- a  | 2.0
-- b  | 3.0
--@output PLACES folded
-- zone | name
-- 1    | a
-- 2    | Queens
SELECT * FROM fares f WHERE EXISTS (SELECT 1 FROM places p WHERE p.name = f.id);
--@rows
-- id | total
-- a  | 2.0
SELECT * FROM fares WHERE id NOT IN (SELECT name FROM places);
--@rows
-- id | total
-- b  | 3.0
SELECT fare FROM rides WHERE NOT EXISTS (SELECT 1 FROM places p WHERE p.zone = rides.zone AND p.zone < 5);
--@rows
-- fare
-- 3.0
SELECT fare FROM rides WHERE zone IN (SELECT zone FROM (SELECT zone FROM rides WHERE fare < 3) x);
--@rows
-- fare
-- 2.0

--@test: of a stream within a time: a row once, when its first partner comes
CREATE STREAM fees (fee STRING KEY, ride STRING, amount DOUBLE) WITH (KAFKA_TOPIC = '${case}_fees', VALUE_FORMAT = 'JSON', PARTITIONS = 4);
CREATE STREAM charged AS
  SELECT *, ROWTIME AS moment FROM rides r WHERE EXISTS (SELECT 1 FROM fees f WITHIN 10 SECONDS WHERE f.ride = r.id AND f.amount > r.fare) EMIT CHANGES;
INSERT INTO rides (ROWTIME, id, zone, fare) VALUES (100000, 'a', 1, 2.0);
INSERT INTO rides (ROWTIME, id, zone, fare) VALUES (101000, 'b', 2, 3.0);
INSERT INTO fees (ROWTIME, fee, ride, amount) VALUES (102000, 'x', 'a', 1.0);
INSERT INTO fees (ROWTIME, fee, ride, amount) VALUES (103000, 'y', 'a', 5.0);
INSERT INTO fees (ROWTIME, fee, ride, amount) VALUES (104000, 'z', 'a', 6.0);
INSERT INTO fees (ROWTIME, fee, ride, amount) VALUES (91000, 'w', 'b', 9.0);
--@output CHARGED rowsort
-- id | zone | fare | moment
-- a  | 1    | 2.0  | 100000
-- b  | 2    | 3.0  | 101000
INSERT INTO fees (ROWTIME, fee, ride, amount) VALUES (105000, 'v', 'b', 9.0);
INSERT INTO rides (ROWTIME, id, zone, fare) VALUES (106000, 'a', 3, 5.5);
INSERT INTO rides (ROWTIME, id, zone, fare) VALUES (200000, 'a', 4, 0.5);
INSERT INTO fees (ROWTIME, fee, ride, amount) VALUES (199000, 'u', 'a', 1.0);
--@output CHARGED rowsort
-- id | zone | fare | moment
-- a  | 3    | 5.5  | 106000
-- a  | 4    | 0.5  | 200000

--@test: the time of a partner
CREATE STREAM fees (fee STRING KEY, ride STRING) WITH (KAFKA_TOPIC = '${case}_fees', VALUE_FORMAT = 'JSON', PARTITIONS = 4);
CREATE STREAM paid AS
  SELECT id, zone FROM rides r WHERE EXISTS (SELECT 1 FROM fees f WITHIN 10 SECONDS WHERE f.ride = r.id AND f.ROWTIME > r.ROWTIME) EMIT CHANGES;
CREATE STREAM unpaid AS
  SELECT id, zone FROM rides r WHERE NOT EXISTS
    (SELECT 1 FROM fees f WITHIN 10 SECONDS GRACE PERIOD 1 SECOND WHERE f.ride = r.id AND f.ROWTIME > r.ROWTIME) EMIT CHANGES;
CREATE STREAM fresh AS
  SELECT id, zone FROM rides r WHERE EXISTS (SELECT 1 FROM zones z WHERE z.zone = r.zone AND z.ROWTIME > r.ROWTIME - 60000) EMIT CHANGES;
INSERT INTO zones (ROWTIME, zone, name) VALUES (10000, 1, 'Bronx');
INSERT INTO zones (ROWTIME, zone, name) VALUES (90000, 2, 'Queens');
INSERT INTO rides (ROWTIME, id, zone) VALUES (100000, 'a', 1);
INSERT INTO rides (ROWTIME, id, zone) VALUES (100000, 'b', 2);
INSERT INTO fees (ROWTIME, fee, ride) VALUES (99000, 'x', 'a');
INSERT INTO fees (ROWTIME, fee, ride) VALUES (101000, 'y', 'b');
INSERT INTO rides (ROWTIME, id, zone) VALUES (200000, 'a', 3);
INSERT INTO rides (ROWTIME, id, zone) VALUES (200000, 'b', 3);
INSERT INTO fees (ROWTIME, fee, ride) VALUES (200000, 'z', 'a');
INSERT INTO fees (ROWTIME, fee, ride) VALUES (200000, 'u', 'b');
--@output PAID rowsort
-- id | zone
-- b  | 2
--@output UNPAID rowsort
-- id | zone
-- a  | 1
--@output FRESH rowsort
-- id | zone
-- b  | 2
