-- Rows in the envelopes of programs that capture changes: undone exactly, with bad records between them.
--@server: ksql.logging.processing.topic.name = ${case}_log
--@server: ksql.logging.processing.topic.auto.create = true
--@server: ksql.logging.processing.stream.auto.create = true

--@test: Debezium: rows are undone in copies, filters and groups; what cannot be read is reported
CREATE STREAM raw (k STRING KEY, v STRING) WITH (KAFKA_TOPIC = '${case}_a', FORMAT = 'KAFKA', PARTITIONS = 4);
CREATE TABLE tombstones (k STRING PRIMARY KEY, v STRING) WITH (KAFKA_TOPIC = '${case}_a', FORMAT = 'KAFKA');
CREATE TABLE t (id INT PRIMARY KEY, name STRING, city STRING)
  WITH (KAFKA_TOPIC = '${case}_a', VALUE_FORMAT = 'JSON', ENVELOPE = 'debezium');
CREATE STREAM changes (id INT KEY, name STRING) WITH (KAFKA_TOPIC = '${case}_a', VALUE_FORMAT = 'JSON', ENVELOPE = 'debezium');
CREATE STREAM entries AS
  SELECT message->deserializationError->target AS target, message->deserializationError->cause AS cause
  FROM KSQL_PROCESSING_LOG WHERE logger LIKE '%CTAS_COPY%' EMIT CHANGES;
INSERT INTO raw (rowtime, k, v) VALUES (10, '{"id": 1}', '{"before": null, "after": {"id": 1, "name": "Ann", "city": "Rome"}, "op": "r"}');
INSERT INTO raw (rowtime, k, v) VALUES (11, '{"id": 2}', '{"before": null, "after": {"id": 2, "name": "Ben", "city": "Rome"}, "op": "r"}');
INSERT INTO raw (rowtime, k, v) VALUES (12, '{"id": 3}', '{"schema": {}, "payload": {"before": null, "after": {"id": 3, "name": "Cleo", "city": "Oslo"}, "op": "c"}}');
CREATE TABLE copy AS SELECT * FROM t EMIT CHANGES;
CREATE TABLE romans AS SELECT id, name FROM t WHERE city = 'Rome' EMIT CHANGES;
CREATE TABLE by_city WITH (KEY_FORMAT = 'KAFKA') AS SELECT city, COUNT(*) AS n FROM t GROUP BY city EMIT CHANGES;
CREATE STREAM seen AS SELECT id, name FROM changes EMIT CHANGES;
--@output BY_CITY folded
-- city | n
-- Oslo | 1
-- Rome | 2
INSERT INTO raw (rowtime, k, v) VALUES (20, '{"id": 1}', '{"before": {"id": 1}, "after": {"id": 1, "name": "Ann", "city": "Oslo"}, "op": "u"}');
INSERT INTO raw (rowtime, k, v) VALUES (21, '{"id": 2}', '{"before": {"id": 2, "name": "Ben", "city": "Rome"}, "after": null, "op": "d"}');
INSERT INTO tombstones (rowtime, k) VALUES (22, '{"id": 2}');
INSERT INTO raw (rowtime, k, v) VALUES (23, '{"id": 3}', '{"op": "c"}');
INSERT INTO raw (rowtime, k, v) VALUES (24, '{"id": 3}', '{"op": "t"}');
INSERT INTO raw (rowtime, k, v) VALUES (25, '{"id": 3}', '{"name": "Dan"}');
INSERT INTO raw (rowtime, k, v) VALUES (26, '{"id": 3}', '{"op": "u", "after": {"name": "Dan"');
INSERT INTO raw (rowtime, k, v) VALUES (27, '{"number": 3}', '{"op": "u", "after": {"name": "Eve", "city": "Rome"}}');
INSERT INTO raw (rowtime, k, v) VALUES (28, '{"id": 3}', '{"before": null, "after": {"id": 3, "name": "Cleo", "city": "Rome"}, "op": "u"}');
--@output COPY folded
-- id | name | city
-- 1  | Ann  | Oslo
-- 3  | Cleo | Rome
--@output ROMANS folded
-- id | name
-- 3  | Cleo
--@output BY_CITY folded
-- city | n
-- Oslo | 1
-- Rome | 1
--@output SEEN rowsort
-- id | name
-- 1  | Ann
-- 1  | Ann
-- 2  | <deleted>
-- 2  | <deleted>
-- 2  | Ben
-- 3  | Cleo
-- 3  | Cleo
--@output ENTRIES rowsort
-- target | cause
-- key    | ["The key has no ID, or it is NULL."]
-- value  | ["It is no envelope: it has no op."]
-- value  | ["Its op is \"c\", but it has no after."]
-- value  | ["Its op is \"t\", which tells nothing about one row."]
-- value  | ["Unexpected end-of-input: expected close marker for Object"]
SELECT * FROM copy;
--@rows rowsort
-- id | name | city
-- 1  | Ann  | Oslo
-- 3  | Cleo | Rome

--@test: Debezium: a backlog meets a stream whose keys are in other partitions, and another table
CREATE STREAM raw (k STRING KEY, v STRING) WITH (KAFKA_TOPIC = '${case}_b', FORMAT = 'KAFKA', PARTITIONS = 4);
CREATE TABLE tombstones (k STRING PRIMARY KEY, v STRING) WITH (KAFKA_TOPIC = '${case}_b', FORMAT = 'KAFKA');
CREATE TABLE t (id INT PRIMARY KEY, name STRING, city STRING)
  WITH (KAFKA_TOPIC = '${case}_b', VALUE_FORMAT = 'JSON', ENVELOPE = 'debezium');
CREATE TABLE u (id INT PRIMARY KEY, rank INT)
  WITH (KAFKA_TOPIC = '${case}_u', KEY_FORMAT = 'JSON', VALUE_FORMAT = 'JSON', PARTITIONS = 4);
CREATE STREAM calls (id INT KEY, n INT) WITH (KAFKA_TOPIC = '${case}_c', VALUE_FORMAT = 'JSON', PARTITIONS = 4);
INSERT INTO raw (rowtime, k, v) VALUES (10, '{"id": 1}', '{"before": null, "after": {"id": 1, "name": "Ann", "city": "Rome"}, "op": "r"}');
INSERT INTO raw (rowtime, k, v) VALUES (11, '{"id": 2}', '{"before": null, "after": {"id": 2, "name": "Ben", "city": "Rome"}, "op": "r"}');
INSERT INTO raw (rowtime, k, v) VALUES (12, '{"id": 3}', '{"schema": {}, "payload": {"before": null, "after": {"id": 3, "name": "Cleo", "city": "Oslo"}, "op": "c"}}');
INSERT INTO raw (rowtime, k, v) VALUES (20, '{"id": 1}', '{"before": {"id": 1}, "after": {"id": 1, "name": "Ann", "city": "Oslo"}, "op": "u"}');
INSERT INTO raw (rowtime, k, v) VALUES (21, '{"id": 2}', '{"before": {"id": 2, "name": "Ben", "city": "Rome"}, "after": null, "op": "d"}');
INSERT INTO tombstones (rowtime, k) VALUES (22, '{"id": 2}');
INSERT INTO calls (rowtime, id, n) VALUES (15, 1, 1);
INSERT INTO calls (rowtime, id, n) VALUES (16, 2, 2);
INSERT INTO calls (rowtime, id, n) VALUES (17, 3, 3);
INSERT INTO calls (rowtime, id, n) VALUES (30, 1, 4);
INSERT INTO calls (rowtime, id, n) VALUES (31, 2, 5);
INSERT INTO calls (rowtime, id, n) VALUES (32, 3, 6);
INSERT INTO u (rowtime, id, rank) VALUES (41, 1, 10);
INSERT INTO u (rowtime, id, rank) VALUES (42, 2, 20);
INSERT INTO u (rowtime, id, rank) VALUES (43, 3, 30);
CREATE STREAM named AS SELECT c.id AS id, c.n AS n, t.name AS name, t.city AS city FROM calls c LEFT JOIN t ON c.id = t.id EMIT CHANGES;
CREATE TABLE ranked AS SELECT t.id AS id, t.city AS city, u.rank AS rank FROM t JOIN u ON t.id = u.id EMIT CHANGES;
--@output NAMED rowsort
-- id | n | name | city
-- 1  | 1 | Ann  | Rome
-- 1  | 4 | Ann  | Oslo
-- 2  | 2 | Ben  | Rome
-- 2  | 5 | NULL | NULL
-- 3  | 3 | Cleo | Oslo
-- 3  | 6 | Cleo | Oslo
--@output RANKED folded
-- id | city | rank
-- 1  | Oslo | 10
-- 3  | Oslo | 30

--@test: Debezium: pull queries of a source table, by key and all
CREATE STREAM raw (k STRING KEY, v STRING) WITH (KAFKA_TOPIC = '${case}_p', FORMAT = 'KAFKA', PARTITIONS = 4);
CREATE TABLE tombstones (k STRING PRIMARY KEY, v STRING) WITH (KAFKA_TOPIC = '${case}_p', FORMAT = 'KAFKA');
CREATE SOURCE TABLE t (id INT PRIMARY KEY, name STRING, city STRING)
  WITH (KAFKA_TOPIC = '${case}_p', VALUE_FORMAT = 'JSON', ENVELOPE = 'debezium');
INSERT INTO raw (rowtime, k, v) VALUES (10, '{"id": 1}', '{"before": null, "after": {"id": 1, "name": "Ann", "city": "Rome"}, "op": "r"}');
INSERT INTO raw (rowtime, k, v) VALUES (11, '{"id": 2}', '{"before": null, "after": {"id": 2, "name": "Ben", "city": "Rome"}, "op": "r"}');
INSERT INTO raw (rowtime, k, v) VALUES (12, '{"id": 3}', '{"schema": {}, "payload": {"before": null, "after": {"id": 3, "name": "Cleo", "city": "Oslo"}, "op": "c"}}');
INSERT INTO raw (rowtime, k, v) VALUES (20, '{"id": 1}', '{"before": {"id": 1}, "after": {"id": 1, "name": "Ann", "city": "Oslo"}, "op": "u"}');
INSERT INTO raw (rowtime, k, v) VALUES (21, '{"id": 2}', '{"before": {"id": 2, "name": "Ben", "city": "Rome"}, "after": null, "op": "d"}');
INSERT INTO tombstones (rowtime, k) VALUES (22, '{"id": 2}');
INSERT INTO raw (rowtime, k, v) VALUES (23, '{"id": 3}', '{"op": "c"}');
INSERT INTO raw (rowtime, k, v) VALUES (24, '{"id": 3}', '{"op": "t"}');
INSERT INTO raw (rowtime, k, v) VALUES (25, '{"id": 3}', '{"name": "Dan"}');
INSERT INTO raw (rowtime, k, v) VALUES (26, '{"id": 3}', '{"op": "u", "after": {"name": "Dan"');
INSERT INTO raw (rowtime, k, v) VALUES (27, '{"number": 3}', '{"op": "u", "after": {"name": "Eve", "city": "Rome"}}');
SELECT * FROM t;
--@rows rowsort
-- id | name | city
-- 1  | Ann  | Oslo
-- 3  | Cleo | Oslo
SELECT name, UCASE(city) AS city FROM t WHERE id = 3;
--@rows
-- name | city
-- Cleo | OSLO
SELECT id FROM t WHERE id = 2;
--@rows
-- id
SELECT city, COUNT(*) AS n FROM t GROUP BY city;
--@rows rowsort
-- city | n
-- Oslo | 2
SELECT * FROM t AS OF TIMESTAMP '2024-01-01T00:00:00';
--@error: INVALID_STATEMENT
-- AS OF reads rows, and the topic of T holds envelopes. CREATE TABLE ... AS SELECT * FROM T has its rows in a topic of its own.
-- line 1:15
--   SELECT * FROM t AS OF TIMESTAMP '2024-01-01T00:00:00'
--                 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

--@test: a table of Maxwell's envelopes, in one partition
CREATE STREAM raw (k STRING KEY, v STRING) WITH (KAFKA_TOPIC = '${case}_m', FORMAT = 'KAFKA', PARTITIONS = 1);
CREATE TABLE t (id INT PRIMARY KEY, price DECIMAL(6, 2)) WITH (KAFKA_TOPIC = '${case}_m', VALUE_FORMAT = 'JSON', ENVELOPE = 'maxwell');
CREATE TABLE copy AS SELECT * FROM t EMIT CHANGES;
INSERT INTO raw (k, v) VALUES ('{"database": "shop", "table": "t", "pk.id": 1}', '{"database": "shop", "table": "t", "type": "bootstrap-insert", "data": {"id": 1, "price": 1.5}}');
INSERT INTO raw (k, v) VALUES ('{"database": "shop", "table": "t", "pk.id": 2}', '{"database": "shop", "table": "t", "type": "insert", "data": {"id": 2, "price": "2.50"}}');
INSERT INTO raw (k, v) VALUES ('{"database": "shop", "table": "t", "pk.id": 1}', '{"database": "shop", "table": "t", "type": "update", "data": {"id": 1, "price": 3}, "old": {"price": 1.5}}');
INSERT INTO raw (k, v) VALUES ('{"database": "shop", "table": "t", "pk.id": 2}', '{"database": "shop", "table": "t", "type": "delete", "data": {"id": 2, "price": 2.5}}');
INSERT INTO raw (k, v) VALUES ('{"database": "shop", "table": "t", "pk.id": 1}', '{"database": "shop", "table": "t", "type": "bootstrap-complete", "data": {}}');
--@output COPY ordered
-- id | price
-- 1  | 1.50
-- 2  | 2.50
-- 1  | 3.00
-- 2  | <deleted>
