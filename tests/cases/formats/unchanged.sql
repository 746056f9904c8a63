-- Debezium's changes that leave out large values: a table keeps what it knows of them. GROUP BY comes after all
-- stops: what is repeated after a crash, it counts twice.

--@test: Debezium: unchanged values are kept in copies, groups, filters and joins, over a restart
CREATE STREAM raw (k STRING KEY, v STRING) WITH (KAFKA_TOPIC = '${case}_a', FORMAT = 'KAFKA', PARTITIONS = 4);
CREATE TABLE tombstones (k STRING PRIMARY KEY, v STRING) WITH (KAFKA_TOPIC = '${case}_a', FORMAT = 'KAFKA');
CREATE SOURCE TABLE t (id INT PRIMARY KEY, n INT, doc STRING, data BYTES, tags ARRAY<STRING>, more MAP<STRING, STRING>)
  WITH (KAFKA_TOPIC = '${case}_a', VALUE_FORMAT = 'JSON', ENVELOPE = 'debezium');
CREATE STREAM changes (id INT KEY, n INT, doc STRING) WITH (KAFKA_TOPIC = '${case}_a', VALUE_FORMAT = 'JSON', ENVELOPE = 'debezium');
CREATE TABLE ranks (id INT PRIMARY KEY, rank INT) WITH (KAFKA_TOPIC = '${case}_r', VALUE_FORMAT = 'JSON', PARTITIONS = 4);
CREATE STREAM calls (id INT KEY, call INT) WITH (KAFKA_TOPIC = '${case}_c', VALUE_FORMAT = 'JSON', PARTITIONS = 4);
CREATE TABLE copy AS SELECT * FROM t EMIT CHANGES;
CREATE TABLE longs AS SELECT id, n, tags[1] AS tag FROM t WHERE doc LIKE 'long%' EMIT CHANGES;
CREATE TABLE ranked AS SELECT t.id AS id, n, doc, rank FROM t JOIN ranks r ON t.id = r.id EMIT CHANGES;
CREATE STREAM called AS SELECT c.id AS id, call, n, doc FROM calls c LEFT JOIN t ON c.id = t.id EMIT CHANGES;
CREATE STREAM seen AS SELECT id, n, doc FROM changes EMIT CHANGES;
INSERT INTO ranks (rowtime, id, rank) VALUES (5, 1, 10);
INSERT INTO ranks (rowtime, id, rank) VALUES (5, 2, 20);
INSERT INTO raw (rowtime, k, v) VALUES (10, '{"id": 1}', '{"op": "c", "after": {"id": 1, "n": 1, "doc": "long text", "data": "AQI=", "tags": ["x"], "more": {"a": "b"}}}');
INSERT INTO raw (rowtime, k, v) VALUES (11, '{"id": 2}', '{"op": "r", "after": {"id": 2, "n": 1, "doc": "long book", "data": "Aw==", "tags": ["y"], "more": {}}}');
INSERT INTO raw (rowtime, k, v) VALUES (12, '{"id": 1}', '{"op": "u", "after": {"id": 1, "n": 2, "doc": "__debezium_unavailable_value", "data": "X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ==", "tags": ["__debezium_unavailable_value"], "more": {"__debezium_unavailable_value": "__debezium_unavailable_value"}}}');
INSERT INTO raw (rowtime, k, v) VALUES (13, '{"id": 3}', '{"schema": {}, "payload": {"op": "u", "after": {"id": 3, "n": 3, "doc": "__debezium_unavailable_value"}}}');
--@output COPY folded
-- id | n | doc       | data | tags  | more
-- 1  | 2 | long text | AQI= | ["x"] | {"a": "b"}
-- 2  | 1 | long book | Aw== | ["y"] | {}
-- 3  | 3 | NULL      | NULL | NULL  | NULL
--@output LONGS folded
-- id | n | tag
-- 1  | 2 | x
-- 2  | 1 | y
--@output RANKED folded
-- id | n | doc       | rank
-- 1  | 2 | long text | 10
-- 2  | 1 | long book | 20
SELECT * FROM t;
--@rows rowsort
-- id | n | doc       | data | tags  | more
-- 1  | 2 | long text | AQI= | ["x"] | {"a": "b"}
-- 2  | 1 | long book | Aw== | ["y"] | {}
-- 3  | 3 | NULL      | NULL | NULL  | NULL
SELECT doc, LEN(data) AS bytes_of FROM t WHERE id = 1;
--@rows
-- doc       | bytes_of
-- long text | 2
SELECT doc, COUNT(*) AS c FROM t GROUP BY doc;
--@rows rowsort
-- doc       | c
-- NULL      | 1
-- long book | 1
-- long text | 1
--@restart
INSERT INTO raw (rowtime, k, v) VALUES (20, '{"id": 1}', '{"op": "u", "after": {"id": 1, "n": 3, "doc": "__debezium_unavailable_value", "data": null, "tags": ["__debezium_unavailable_value"], "more": {}}}');
INSERT INTO raw (rowtime, k, v) VALUES (21, '{"id": 2}', '{"op": "d", "before": {"id": 2}, "after": null}');
INSERT INTO tombstones (rowtime, k) VALUES (22, '{"id": 2}');
INSERT INTO raw (rowtime, k, v) VALUES (23, '{"id": 2}', '{"op": "u", "after": {"id": 2, "n": 5, "doc": "__debezium_unavailable_value", "data": null, "tags": ["z"], "more": null}}');
INSERT INTO calls (rowtime, id, call) VALUES (30, 1, 1);
INSERT INTO calls (rowtime, id, call) VALUES (31, 2, 2);
--@output COPY folded
-- id | n | doc       | data | tags  | more
-- 1  | 3 | long text | NULL | ["x"] | {}
-- 2  | 5 | NULL      | NULL | ["z"] | NULL
-- 3  | 3 | NULL      | NULL | NULL  | NULL
--@output LONGS folded
-- id | n | tag
-- 1  | 3 | x
--@output RANKED folded
-- id | n | doc       | rank
-- 1  | 3 | long text | 10
-- 2  | 5 | NULL      | 20
--@output CALLED rowsort
-- id | call | n | doc
-- 1  | 1    | 3 | long text
-- 2  | 2    | 5 | NULL
--@output SEEN rowsort
-- id | n         | doc
-- 1  | 1         | long text
-- 1  | 2         | NULL
-- 1  | 3         | NULL
-- 2  | 1         | long book
-- 2  | 5         | NULL
-- 2  | <deleted> | <deleted>
-- 2  | <deleted> | <deleted>
-- 3  | 3         | NULL
CREATE TABLE by_doc WITH (KEY_FORMAT = 'KAFKA') AS SELECT doc, COUNT(*) AS rows, SUM(n) AS n FROM t GROUP BY doc EMIT CHANGES;
--@output BY_DOC folded
-- doc       | rows | n
-- long book | 0    | 0
-- long text | 1    | 3
SELECT * FROM t;
--@rows rowsort
-- id | n | doc       | data | tags  | more
-- 1  | 3 | long text | NULL | ["x"] | {}
-- 2  | 5 | NULL      | NULL | ["z"] | NULL
-- 3  | 3 | NULL      | NULL | NULL  | NULL
SELECT id, doc FROM t WHERE id IN (1, 2, 3);
--@rows rowsort
-- id | doc
-- 1  | long text
-- 2  | NULL
-- 3  | NULL

--@test: Debezium: a push query keeps unchanged values of what it has read
SET 'auto.offset.reset' = 'earliest';
CREATE STREAM raw (k STRING KEY, v STRING) WITH (KAFKA_TOPIC = '${case}_p', FORMAT = 'KAFKA', PARTITIONS = 1);
CREATE TABLE t (id INT PRIMARY KEY, n INT, doc STRING)
  WITH (KAFKA_TOPIC = '${case}_p', VALUE_FORMAT = 'JSON', ENVELOPE = 'debezium');
INSERT INTO raw (rowtime, k, v) VALUES (10, '{"id": 1}', '{"op": "c", "after": {"id": 1, "n": 1, "doc": "long text"}}');
INSERT INTO raw (rowtime, k, v) VALUES (11, '{"id": 1}', '{"op": "u", "after": {"id": 1, "n": 2, "doc": "__debezium_unavailable_value"}}');
INSERT INTO raw (rowtime, k, v) VALUES (12, '{"id": 2}', '{"op": "u", "after": {"id": 2, "n": 3, "doc": "__debezium_unavailable_value"}}');
SELECT id, n, doc, ROWPARTITION, ROWOFFSET FROM t EMIT CHANGES LIMIT 3;
--@rows ordered
-- id | n | doc       | rowpartition | rowoffset
-- 1  | 1 | long text | 0            | 0
-- 1  | 2 | long text | 0            | 1
-- 2  | 3 | NULL      | 0            | 2
SELECT id, n FROM t WHERE doc = 'long text' EMIT CHANGES LIMIT 2;
--@rows ordered
-- id | n
-- 1  | 1
-- 1  | 2

--@test: Debezium: set operations, foreign keys and constraints see whole rows
CREATE STREAM raw (k STRING KEY, v STRING) WITH (KAFKA_TOPIC = '${case}_s', FORMAT = 'KAFKA', PARTITIONS = 2);
CREATE TABLE t (id INT PRIMARY KEY, boss INT, doc STRING NOT NULL)
  WITH (KAFKA_TOPIC = '${case}_s', VALUE_FORMAT = 'JSON', ENVELOPE = 'debezium');
CREATE TABLE bosses (id INT PRIMARY KEY, name STRING) WITH (KAFKA_TOPIC = '${case}_b', VALUE_FORMAT = 'JSON', PARTITIONS = 2);
CREATE TABLE led AS SELECT t.id AS id, doc, name FROM t JOIN bosses b ON t.boss = b.id EMIT CHANGES;
CREATE TABLE ids AS SELECT id, doc FROM t UNION SELECT id, name AS doc FROM bosses EMIT CHANGES;
INSERT INTO bosses (rowtime, id, name) VALUES (5, 7, 'Ann');
INSERT INTO bosses (rowtime, id, name) VALUES (5, 8, 'Ben');
INSERT INTO raw (rowtime, k, v) VALUES (10, '{"id": 1}', '{"op": "c", "after": {"id": 1, "boss": 7, "doc": "long text"}}');
INSERT INTO raw (rowtime, k, v) VALUES (11, '{"id": 1}', '{"op": "u", "after": {"id": 1, "boss": 8, "doc": "__debezium_unavailable_value"}}');
INSERT INTO raw (rowtime, k, v) VALUES (12, '{"id": 2}', '{"op": "u", "after": {"id": 2, "boss": 8, "doc": "__debezium_unavailable_value"}}');
INSERT INTO raw (rowtime, k, v) VALUES (13, '{"id": 3}', '{"op": "c", "after": {"id": 3, "boss": 8, "doc": "short text"}}');
--@output LED folded
-- id | doc        | name
-- 1  | long text  | Ben
-- 3  | short text | Ben
--@output IDS folded
-- id | doc
-- 1  | long text
-- 3  | short text
-- 7  | Ann
-- 8  | Ben
