-- Beyond ksqlDB: LATENESS of a stream is the GRACE PERIOD of windows that name none.
CREATE STREAM readings (k STRING KEY, v INT)
  WITH (KAFKA_TOPIC = '${case}_readings', VALUE_FORMAT = 'JSON', PARTITIONS = 1, LATENESS = '5 SECONDS');

--@test: a row that is later than LATENESS is dropped, a row just within it is not
CREATE TABLE sums AS SELECT k, SUM(v) AS total FROM readings WINDOW TUMBLING (SIZE 10 SECONDS) GROUP BY k EMIT FINAL;
CREATE TABLE changes AS SELECT k, SUM(v) AS total FROM readings WINDOW TUMBLING (SIZE 10 SECONDS) GROUP BY k EMIT CHANGES;
CREATE TABLE own AS
  SELECT k, SUM(v) AS total FROM readings WINDOW TUMBLING (SIZE 10 SECONDS, GRACE PERIOD 0 SECONDS) GROUP BY k EMIT FINAL;
INSERT INTO readings (ROWTIME, k, v) VALUES (1000, 'a', 1);
INSERT INTO readings (ROWTIME, k, v) VALUES (9000, 'b', 2);
INSERT INTO readings (ROWTIME, k, v) VALUES (14999, 'a', 4);
INSERT INTO readings (ROWTIME, k, v) VALUES (2000, 'a', 8);
INSERT INTO readings (ROWTIME, k, v) VALUES (15000, 'b', 16);
INSERT INTO readings (ROWTIME, k, v) VALUES (9999, 'a', 32);
INSERT INTO readings (ROWTIME, k) VALUES (10000, 'a');
INSERT INTO readings (ROWTIME, v) VALUES (90000, 64);
INSERT INTO readings (ROWTIME, k, v) VALUES (90000, 'c', 64);
--@output SUMS ordered
-- k | windowstart | windowend | total
-- a | 0           | 10000     | 9
-- b | 0           | 10000     | 2
-- a | 10000       | 20000     | 4
-- b | 10000       | 20000     | 16
--@output CHANGES ordered
-- k | windowstart | windowend | total
-- a | 0           | 10000     | 1
-- b | 0           | 10000     | 2
-- a | 10000       | 20000     | 4
-- a | 0           | 10000     | 9
-- b | 10000       | 20000     | 16
-- a | 10000       | 20000     | 4
-- c | 90000       | 100000    | 64
--@output OWN ordered
-- k | windowstart | windowend | total
-- a | 0           | 10000     | 1
-- b | 0           | 10000     | 2
-- a | 10000       | 20000     | 4
-- b | 10000       | 20000     | 16

--@test: hopping windows and sessions, in four partitions
CREATE STREAM wide (k STRING KEY, v INT)
  WITH (KAFKA_TOPIC = '${case}_wide', VALUE_FORMAT = 'JSON', PARTITIONS = 4, LATENESS = '2 SECONDS');
CREATE TABLE hops AS
  SELECT k, COUNT(*) AS n FROM wide WINDOW HOPPING (SIZE 10 SECONDS, ADVANCE BY 5 SECONDS) GROUP BY k EMIT CHANGES;
CREATE TABLE sessions AS SELECT k, COUNT(*) AS n FROM wide WINDOW SESSION (3 SECONDS) GROUP BY k EMIT FINAL;
INSERT INTO wide (ROWTIME, k, v) VALUES (1000, 'a', 1);
INSERT INTO wide (ROWTIME, k, v) VALUES (4000, 'a', 1);
INSERT INTO wide (ROWTIME, k, v) VALUES (12000, 'a', 1);
INSERT INTO wide (ROWTIME, k, v) VALUES (3000, 'a', 1);
INSERT INTO wide (ROWTIME, k, v) VALUES (6000, 'a', 1);
INSERT INTO wide (ROWTIME, k, v) VALUES (60000, 'a', 1);
--@output HOPS ordered
-- k | windowstart | windowend | n
-- a | 0           | 10000     | 1
-- a | 0           | 10000     | 2
-- a | 5000        | 15000     | 1
-- a | 10000       | 20000     | 1
-- a | 5000        | 15000     | 2
-- a | 55000       | 65000     | 1
-- a | 60000       | 70000     | 1
--@output SESSIONS ordered
-- k | windowstart | windowend | n
-- a | 1000        | 4000      | 2
-- a | 12000       | 12000     | 1

--@test: a sub-query and a join pass it on, the result of a query does not
CREATE STREAM others (k STRING KEY, w INT)
  WITH (KAFKA_TOPIC = '${case}_others', VALUE_FORMAT = 'JSON', PARTITIONS = 1, LATENESS = '1 SECOND');
CREATE TABLE nested AS
  SELECT k, MAX(v) AS v FROM (SELECT DISTINCT ON (v) k, v FROM readings WITHIN 1 HOUR) r
  WINDOW TUMBLING (SIZE 10 SECONDS) GROUP BY k EMIT FINAL;
CREATE TABLE joined AS
  SELECT r.k AS k, MAX(r.v) AS v FROM readings r JOIN others o WITHIN 1 MINUTE ON r.k = o.k
  WINDOW TUMBLING (SIZE 10 SECONDS) GROUP BY r.k EMIT FINAL;
CREATE STREAM copy AS SELECT * FROM readings EMIT CHANGES;
CREATE TABLE copied AS SELECT k, MAX(v) AS v FROM copy WINDOW TUMBLING (SIZE 10 SECONDS) GROUP BY k EMIT FINAL;
INSERT INTO others (ROWTIME, k, w) VALUES (0, 'a', 1);
INSERT INTO readings (ROWTIME, k, v) VALUES (1000, 'a', 1);
INSERT INTO readings (ROWTIME, k, v) VALUES (14000, 'a', 2);
INSERT INTO readings (ROWTIME, k, v) VALUES (2000, 'a', 3);
INSERT INTO readings (ROWTIME, k, v) VALUES (15000, 'a', 4);
INSERT INTO readings (ROWTIME, k, v) VALUES (3000, 'a', 5);
INSERT INTO readings (ROWTIME, k, v) VALUES (40000, 'a', 6);
--@output NESTED ordered
-- k | windowstart | windowend | v
-- a | 0           | 10000     | 3
-- a | 10000       | 20000     | 4
--@output JOINED ordered
-- k | windowstart | windowend | v
-- a | 0           | 10000     | 3
-- a | 10000       | 20000     | 4
--@output COPIED ordered
-- k | windowstart | windowend | v
-- a | 0           | 10000     | 1
-- a | 10000       | 20000     | 4
