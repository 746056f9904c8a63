-- Every pair of kinds with every kind of join.
CREATE STREAM rides (id STRING KEY, driver STRING, zone INT) WITH (KAFKA_TOPIC = 'rides', VALUE_FORMAT = 'JSON', PARTITIONS = 4);
CREATE STREAM payments (ride STRING KEY, amount DOUBLE) WITH (KAFKA_TOPIC = 'payments', VALUE_FORMAT = 'JSON', PARTITIONS = 4);
CREATE TABLE drivers (id STRING PRIMARY KEY, zone INT, rating INT) WITH (KAFKA_TOPIC = 'drivers', VALUE_FORMAT = 'JSON', PARTITIONS = 4);
CREATE TABLE cars (id STRING PRIMARY KEY, driver STRING, seats INT) WITH (KAFKA_TOPIC = 'cars', VALUE_FORMAT = 'JSON', PARTITIONS = 4);
CREATE TABLE zones (zone INT PRIMARY KEY, name STRING) WITH (KAFKA_TOPIC = 'zones', VALUE_FORMAT = 'JSON', PARTITIONS = 4);

-- stream and table
CREATE STREAM st_inner AS SELECT d.id, r.id AS ride, rating FROM rides r JOIN drivers d ON r.driver = d.id EMIT CHANGES;
CREATE STREAM st_left AS SELECT r.id, d.rating FROM rides r LEFT JOIN drivers d ON r.id = d.id EMIT CHANGES;

-- a table in envelopes, whose keys others write
CREATE TABLE members (id STRING PRIMARY KEY, name STRING) WITH (KAFKA_TOPIC = 'members', VALUE_FORMAT = 'JSON', ENVELOPE = 'debezium', PARTITIONS = 4);
CREATE STREAM st_envelope AS SELECT r.id, m.name FROM rides r LEFT JOIN members m ON r.id = m.id EMIT CHANGES;
CREATE TABLE named AS SELECT id, name FROM members WHERE name <> '' EMIT CHANGES;

-- stream and stream
CREATE STREAM ss_inner AS
  SELECT r.id, amount FROM rides r JOIN payments p WITHIN 1 HOUR GRACE PERIOD 10 MINUTES ON r.id = p.ride EMIT CHANGES;
CREATE STREAM ss_left AS
  SELECT r.id, amount FROM rides r LEFT JOIN payments p WITHIN (1 HOUR, 2 HOURS) ON r.id = p.ride EMIT CHANGES;
CREATE STREAM ss_right AS
  SELECT p.ride, zone FROM rides r RIGHT JOIN payments p WITHIN 90 SECONDS GRACE PERIOD 0 SECONDS ON r.id = p.ride EMIT CHANGES;
CREATE STREAM ss_full AS
  SELECT ROWKEY AS k, zone, amount FROM rides r FULL OUTER JOIN payments p WITHIN 1 DAY ON r.id = p.ride EMIT CHANGES;
CREATE STREAM rekeyed_left AS
  SELECT p.ride, amount FROM rides r JOIN payments p WITHIN 1 HOUR ON r.driver = p.ride EMIT CHANGES;
CREATE STREAM rekeyed_right AS
  SELECT r.id, amount FROM rides r JOIN payments p WITHIN 1 HOUR ON r.id = LCASE(p.ride) EMIT CHANGES;

-- table and table
CREATE TABLE tt_inner AS SELECT d.id, seats, rating FROM drivers d JOIN cars c ON d.id = c.id EMIT CHANGES;
CREATE TABLE tt_left AS SELECT d.id, seats FROM drivers d LEFT JOIN cars c ON d.id = c.id EMIT CHANGES;
CREATE TABLE tt_right AS SELECT c.id, rating FROM drivers d RIGHT JOIN cars c ON d.id = c.id EMIT CHANGES;
CREATE TABLE tt_full AS SELECT ROWKEY AS k, seats FROM drivers d FULL OUTER JOIN cars c ON d.id = c.id EMIT CHANGES;

-- table and table on a foreign key
CREATE TABLE fk_inner AS SELECT c.id, rating FROM cars c JOIN drivers d ON c.driver = d.id EMIT CHANGES;
CREATE TABLE fk_left AS SELECT c.id, rating FROM cars c LEFT JOIN drivers d ON c.driver = d.id EMIT CHANGES;

-- more than two
CREATE STREAM enriched AS
  SELECT z.zone, r.id AS ride, d.rating, z.name
  FROM rides r LEFT JOIN drivers d ON r.driver = d.id JOIN zones z ON r.zone = z.zone
  WHERE d.rating > 1 EMIT CHANGES;
CREATE TABLE counted AS
  SELECT z.name, COUNT(*) AS n FROM rides r JOIN zones z ON r.zone = z.zone GROUP BY z.name EMIT CHANGES;

CREATE TABLE fees (zone INT PRIMARY KEY, fee DOUBLE) WITH (KAFKA_TOPIC = 'fees', VALUE_FORMAT = 'JSON', PARTITIONS = 3, REPLICATED = true);
CREATE STREAM replicated AS SELECT r.id, r.zone AS zone, f.fee FROM rides r LEFT JOIN fees f ON r.zone = f.zone EMIT CHANGES;
CREATE STREAM replicated_after_join AS
  SELECT r.id, p.amount, f.fee
  FROM rides r JOIN payments p WITHIN 1 HOUR ON r.id = p.ride JOIN fees f ON r.zone = f.zone EMIT CHANGES;

-- RIGHT joins as LEFT joins with the sides exchanged; EXISTS and IN
CREATE STREAM st_right AS SELECT r.id, d.rating FROM drivers d RIGHT JOIN rides r ON d.id = r.id EMIT CHANGES;
CREATE TABLE fk_right AS SELECT c.id, rating FROM drivers d RIGHT JOIN cars c ON d.id = c.driver EMIT CHANGES;
CREATE STREAM semi AS SELECT * FROM rides WHERE zone > 1 AND zone IN (SELECT zone FROM zones WHERE name <> '') EMIT CHANGES;
CREATE STREAM semi_by_key AS SELECT * FROM rides r WHERE EXISTS (SELECT 1 FROM drivers d WHERE d.id = r.id) EMIT CHANGES;
CREATE STREAM anti AS SELECT * FROM rides WHERE zone NOT IN (SELECT zone FROM fees) EMIT CHANGES;
CREATE TABLE semi_table AS SELECT * FROM cars WHERE id IN (SELECT id FROM drivers) EMIT CHANGES;
CREATE TABLE anti_table AS
  SELECT * FROM cars c WHERE NOT EXISTS (SELECT 1 FROM drivers d WHERE d.id = c.driver AND rating > 2) EMIT CHANGES;

-- a stream with the versions of a table
CREATE STREAM as_of AS
  SELECT r.id, d.rating FROM rides r LEFT JOIN drivers d FOR SYSTEM_TIME AS OF r.ROWTIME GRACE PERIOD 1 MINUTE ON r.id = d.id EMIT CHANGES;
CREATE STREAM as_of_replicated AS
  SELECT r.id, r.zone, f.fee FROM rides r JOIN fees FOR SYSTEM_TIME AS OF r.ROWTIME AS f GRACE PERIOD 1 HOUR ON r.zone = f.zone EMIT CHANGES;

-- the table before the stream
CREATE STREAM loaded AS
  SELECT r.id, d.rating FROM rides r LEFT JOIN drivers d FOR SYSTEM_TIME AS OF CURRENT_TIMESTAMP ON r.id = d.id EMIT CHANGES;

-- conditions besides the equality
CREATE STREAM ss_residual AS
  SELECT r.id, amount FROM rides r LEFT JOIN payments p WITHIN 1 HOUR ON r.id = p.ride AND p.amount > r.zone EMIT CHANGES;
CREATE STREAM st_residual AS
  SELECT r.id, d.rating FROM rides r LEFT JOIN drivers d ON r.id = d.id AND d.zone = r.zone EMIT CHANGES;
CREATE TABLE tt_residual AS SELECT d.id, seats FROM drivers d JOIN cars c ON d.id = c.id AND seats > rating EMIT CHANGES;

-- changes that leave out columns
CREATE TABLE members_by_name WITH (KEY_FORMAT = 'JSON') AS SELECT name, COUNT(*) AS n FROM members GROUP BY name EMIT CHANGES;

-- two streams without WITHIN
CREATE STREAM ss_endless AS
  SELECT r.id, amount FROM rides r JOIN payments p ON r.id = p.ride AND p.ROWTIME >= r.ROWTIME EMIT CHANGES;

-- a stream and a table with themselves
CREATE STREAM ss_self AS
  SELECT a.id, b.zone FROM rides a JOIN rides b WITHIN 1 HOUR ON a.id = b.id EMIT CHANGES;
CREATE TABLE tt_self AS SELECT a.id, b.rating FROM drivers a JOIN drivers b ON a.id = b.id EMIT CHANGES;

-- several foreign keys
CREATE TABLE fk_chain AS
  SELECT c.id, rating, z.name FROM cars c JOIN drivers d ON c.driver = d.id LEFT JOIN zones z ON d.zone = z.zone EMIT CHANGES;

-- what an aggregate counts comes once from the topic between two joins; the result's guarantee is the query's
CREATE TABLE counted_after_joins AS
  SELECT z.name AS name, COUNT(*) AS n
  FROM rides r JOIN drivers d ON r.driver = d.id JOIN zones z ON r.zone = z.zone GROUP BY z.name EMIT CHANGES;
