-- FOR SYSTEM_TIME AS OF CURRENT_TIMESTAMP: a stream joins the table as far as it has been written.
CREATE TABLE zones (id INT PRIMARY KEY, name STRING) WITH (KAFKA_TOPIC = '${case}_zones', VALUE_FORMAT = 'JSON', PARTITIONS = 4);
CREATE STREAM rides (id STRING KEY, zone INT) WITH (KAFKA_TOPIC = '${case}_rides', VALUE_FORMAT = 'JSON', PARTITIONS = 4);
CREATE STREAM keyed (zone INT KEY, id STRING) WITH (KAFKA_TOPIC = '${case}_keyed', VALUE_FORMAT = 'JSON', PARTITIONS = 4);

--@test: rows meet what the table got after their time; by key, re-keyed, after a restart
INSERT INTO rides (ROWTIME, id, zone) VALUES (1000, 'a', 1);
INSERT INTO rides (ROWTIME, id, zone) VALUES (1000, 'b', 2);
INSERT INTO rides (ROWTIME, id, zone) VALUES (9000, 'c', 3);
INSERT INTO keyed (ROWTIME, id, zone) VALUES (1000, 'a', 1);
INSERT INTO keyed (ROWTIME, id, zone) VALUES (1000, 'b', 2);
INSERT INTO keyed (ROWTIME, id, zone) VALUES (9000, 'c', 3);
INSERT INTO zones (ROWTIME, id, name) VALUES (2000, 1, 'old');
INSERT INTO zones (ROWTIME, id, name) VALUES (8000, 1, 'new');
INSERT INTO zones (ROWTIME, id, name) VALUES (8000, 2, 'two');
CREATE STREAM rekeyed AS
  SELECT r.id AS id, r.zone AS zone, z.name AS name FROM rides r LEFT JOIN zones z FOR SYSTEM_TIME AS OF CURRENT_TIMESTAMP ON r.zone = z.id
  PARTITION BY r.id EMIT CHANGES;
CREATE STREAM by_key AS
  SELECT k.zone AS zone, k.id AS id, z.name AS name FROM keyed k JOIN zones z FOR SYSTEM_TIME AS OF CURRENT_TIMESTAMP ON k.zone = z.id EMIT CHANGES;
--@output REKEYED rowsort
-- id | zone | name | ROWTIME
-- a  | 1    | new  | 1000
-- b  | 2    | two  | 1000
-- c  | 3    | NULL | 9000
--@output BY_KEY rowsort
-- zone | id | name | ROWTIME
-- 1    | a  | new  | 1000
-- 2    | b  | two  | 1000
--@restart
INSERT INTO zones (ROWTIME, id, name) VALUES (99000, 3, 'three');
INSERT INTO keyed (ROWTIME, id, zone) VALUES (1000, 'd', 3);
--@output BY_KEY rowsort
-- zone | id | name  | ROWTIME
-- 3    | d  | three | 1000

--@test: a replicated table, exactly once
CREATE TABLE fees (id INT PRIMARY KEY, fee INT)
  WITH (KAFKA_TOPIC = '${case}_fees', VALUE_FORMAT = 'JSON', PARTITIONS = 3, REPLICATED = true);
SET 'processing.guarantee' = 'exactly_once_v2';
INSERT INTO rides (ROWTIME, id, zone) VALUES (1000, 'a', 1);
INSERT INTO rides (ROWTIME, id, zone) VALUES (1000, 'b', 2);
INSERT INTO rides (ROWTIME, id, zone) VALUES (1000, 'c', 5);
INSERT INTO zones (ROWTIME, id, name) VALUES (7000, 1, 'one');
INSERT INTO zones (ROWTIME, id, name) VALUES (7000, 5, 'five');
INSERT INTO fees (ROWTIME, id, fee) VALUES (7000, 1, 10);
INSERT INTO fees (ROWTIME, id, fee) VALUES (7000, 2, 20);
INSERT INTO fees (ROWTIME, id, fee) VALUES (7000, 5, 50);
CREATE STREAM priced AS
  SELECT r.id AS id, f.fee AS fee FROM rides r JOIN fees f FOR SYSTEM_TIME AS OF CURRENT_TIMESTAMP ON r.zone = f.id EMIT CHANGES;
CREATE STREAM exact AS
  SELECT k.id AS id, k.zone AS zone, z.name AS name FROM rides k JOIN zones z FOR SYSTEM_TIME AS OF CURRENT_TIMESTAMP ON k.zone = z.id EMIT CHANGES;
--@output PRICED rowsort
-- id | fee
-- a  | 10
-- b  | 20
-- c  | 50
--@output EXACT rowsort
-- id | zone | name
-- a  | 1    | one
-- c  | 5    | five
