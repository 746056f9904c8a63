-- A stream joined with a table: each stream row with the table's row of that moment.
CREATE STREAM rides (zone INT, fare DOUBLE) WITH (KAFKA_TOPIC = '${case}_rides', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE TABLE zones (id INT PRIMARY KEY, name STRING) WITH (KAFKA_TOPIC = '${case}_zones', VALUE_FORMAT = 'JSON', PARTITIONS = 1);

--@test: a row meets the table as it was at the row's time; LEFT keeps rows without a match
INSERT INTO rides (zone, fare) VALUES (2, 0.2);
INSERT INTO zones (id, name) VALUES (1, 'Bronx');
INSERT INTO rides (zone, fare) VALUES (1, 0.5);
INSERT INTO zones (id, name) VALUES (2, 'Queens');
CREATE STREAM named AS
  SELECT r.zone AS zone, z.name AS name, r.fare AS fare FROM rides r LEFT JOIN zones z ON r.zone = z.id EMIT CHANGES;
CREATE STREAM known AS
  SELECT r.zone AS zone, z.name AS name, r.fare AS fare FROM rides r JOIN zones z ON r.zone = z.id EMIT CHANGES;
INSERT INTO rides (zone, fare) VALUES (2, 1.5);
INSERT INTO rides (zone, fare) VALUES (3, 2.5);
INSERT INTO rides (fare) VALUES (3.5);
INSERT INTO rides (zone, fare) VALUES (1, 4.5);
--@output NAMED ordered
-- zone | name   | fare
-- 2    | NULL   | 0.2
-- 1    | Bronx  | 0.5
-- 2    | Queens | 1.5
-- 3    | NULL   | 2.5
-- NULL | NULL   | 3.5
-- 1    | Bronx  | 4.5
--@output KNOWN ordered
-- zone | name   | fare
-- 1    | Bronx  | 0.5
-- 2    | Queens | 1.5
-- 1    | Bronx  | 4.5

--@test: updates of the table hold for later rows
CREATE STREAM named AS
  SELECT r.zone AS zone, z.name AS name, r.fare AS fare FROM rides r LEFT JOIN zones z ON r.zone = z.id EMIT CHANGES;
INSERT INTO rides (zone, fare) VALUES (1, 1.0);
--@output NAMED ordered
-- zone | name | fare
-- 1    | NULL | 1.0
INSERT INTO zones (id, name) VALUES (1, 'Bronx');
INSERT INTO rides (zone, fare) VALUES (1, 2.0);
--@output NAMED folded repeating
-- zone | name  | fare
-- 1    | Bronx | 2.0
INSERT INTO zones (id, name) VALUES (1, 'The Bronx');
INSERT INTO rides (zone, fare) VALUES (1, 3.0);
--@output NAMED folded repeating
-- zone | name      | fare
-- 1    | The Bronx | 3.0

--@test: a tombstone takes a table's row away
CREATE STREAM changes (id INT KEY, name STRING) WITH (KAFKA_TOPIC = '${case}_changes', VALUE_FORMAT = 'JSON', WRAP_SINGLE_VALUE = false, PARTITIONS = 1);
CREATE TABLE current (id INT PRIMARY KEY, name STRING) WITH (KAFKA_TOPIC = '${case}_changes', VALUE_FORMAT = 'JSON', WRAP_SINGLE_VALUE = false, PARTITIONS = 1);
INSERT INTO changes (id, name) VALUES (1, 'Bronx');
INSERT INTO changes (id, name) VALUES (2, 'Queens');
INSERT INTO changes (id) VALUES (1);
CREATE STREAM named AS
  SELECT r.zone AS zone, c.name AS name FROM rides r LEFT JOIN current c ON r.zone = c.id EMIT CHANGES;
INSERT INTO rides (zone) VALUES (1);
INSERT INTO rides (zone) VALUES (2);
--@output NAMED ordered
-- zone | name
-- 1    | NULL
-- 2    | Queens

--@test: a row keeps the table's row of its time, whatever comes later
CREATE STREAM trips (zone INT KEY, fare DOUBLE)
  WITH (KAFKA_TOPIC = '${case}_trips', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE STREAM named AS
  SELECT t.fare AS fare, t.zone AS zone, z.name AS name
  FROM trips t LEFT JOIN zones z ON t.zone = z.id PARTITION BY t.fare EMIT CHANGES;
INSERT INTO trips (zone, fare) VALUES (1, 1.0);
--@output NAMED folded
-- fare | zone | name
-- 1.0  | 1    | NULL
INSERT INTO zones (id, name) VALUES (1, 'Bronx');
INSERT INTO trips (zone, fare) VALUES (1, 2.0);
--@output NAMED folded repeating
-- fare | zone | name
-- 1.0  | 1    | NULL
-- 2.0  | 1    | Bronx
INSERT INTO zones (id, name) VALUES (1, 'The Bronx');
INSERT INTO trips (zone, fare) VALUES (1, 3.0);
--@output NAMED folded repeating
-- fare | zone | name
-- 1.0  | 1    | NULL
-- 2.0  | 1    | Bronx
-- 3.0  | 1    | The Bronx

--@test: a row without a key has none, whatever is computed beside it
CREATE STREAM sorted AS
  SELECT r.zone AS zone, ARRAY_SORT(ARRAY[2, 1]) AS numbers FROM rides r LEFT JOIN zones z ON r.zone = z.id;
INSERT INTO rides (zone, fare) VALUES (3, 1.0);
INSERT INTO rides (fare) VALUES (1.0);
INSERT INTO rides (fare) VALUES (1.0);
INSERT INTO rides (zone, fare) VALUES (5, 1.0);
INSERT INTO rides (fare) VALUES (1.0);
--@output SORTED ordered
-- zone | numbers
-- 3    | [1, 2]
-- NULL | [1, 2]
-- NULL | [1, 2]
-- 5    | [1, 2]
-- NULL | [1, 2]
