-- Tables over topics of other producers: equal keys in several spellings, event times in columns.

--@test: JSON keys are equal by their values, in pull queries
CREATE STREAM raw (k STRING KEY, v STRING) WITH (KAFKA_TOPIC = '${case}_t', FORMAT = 'KAFKA', PARTITIONS = 1);
CREATE TABLE tombstones (k STRING PRIMARY KEY, v STRING) WITH (KAFKA_TOPIC = '${case}_t', FORMAT = 'KAFKA');
CREATE SOURCE TABLE t (a INT PRIMARY KEY, b STRING PRIMARY KEY, d DECIMAL(4, 2) PRIMARY KEY, v INT)
  WITH (KAFKA_TOPIC = '${case}_t', FORMAT = 'JSON');
INSERT INTO raw (k, v) VALUES ('{"a": 1, "b": "x", "d": 1.5}', '{"v": 10}');
INSERT INTO raw (k, v) VALUES ('{"A":1.0,"b":"x","d":"1.50"}', '{"v": 11}');
INSERT INTO raw (k, v) VALUES ('{"a": 2, "b": "\u00e9", "d": 0}', '{"v": 20}');
INSERT INTO raw (k, v) VALUES ('{"a": 3, "b": "z", "d": 3}', '{"v": 30}');
INSERT INTO tombstones (k) VALUES ('{"d":3.00,"b":"z","a":3}');
INSERT INTO raw (k, v) VALUES ('{"a": 4, "b": "w", "d": 4}', '{"v": 40}');
SELECT v FROM t WHERE a = 1 AND b = 'x' AND d = 1.5;
--@rows
-- v
-- 11
SELECT v, UCASE(b) AS b FROM t WHERE a = 2 AND b = 'é' AND d = 0;
--@rows
-- v  | b
-- 20 | É
SELECT a, v FROM t;
--@rows rowsort
-- a | v
-- 1 | 11
-- 2 | 20
-- 4 | 40
SELECT COUNT(*) AS n FROM t;
--@rows
-- n
-- 3
SELECT a, v FROM t AS OF POSITION '0:5';
--@rows rowsort
-- a | v
-- 1 | 11
-- 2 | 20

--@test: DELETE and UPDATE find rows of other producers, and write their keys
CREATE STREAM raw (k STRING KEY, v STRING) WITH (KAFKA_TOPIC = '${case}_t', FORMAT = 'KAFKA', PARTITIONS = 1);
CREATE TABLE t (a STRUCT<x INT> PRIMARY KEY, v INT) WITH (KAFKA_TOPIC = '${case}_t', FORMAT = 'JSON');
INSERT INTO raw (k, v) VALUES ('{"x": 1}', '{"v": 10}');
INSERT INTO raw (k, v) VALUES ('{"x": 2}', '{"v": 20}');
UPDATE t SET v = v + 1 WHERE a = STRUCT(x := 1);
DELETE FROM t WHERE a = STRUCT(x := 2);
SELECT k, v FROM raw;
--@rows
-- k        | v
-- {"x": 1} | {"v": 10}
-- {"x": 2} | {"v": 20}
-- {"x": 1} | {"V":11}

--@test: quoted DELIMITED keys
CREATE STREAM raw (k STRING KEY, v STRING) WITH (KAFKA_TOPIC = '${case}_t', FORMAT = 'KAFKA', PARTITIONS = 1);
CREATE SOURCE TABLE t (a STRING PRIMARY KEY, v INT)
  WITH (KAFKA_TOPIC = '${case}_t', KEY_FORMAT = 'DELIMITED', VALUE_FORMAT = 'JSON');
INSERT INTO raw (k, v) VALUES ('"x"', '{"v": 1}');
INSERT INTO raw (k, v) VALUES ('x', '{"v": 2}');
SELECT a, v FROM t WHERE a = 'x';
--@rows
-- a | v
-- x | 2

--@test: TIMESTAMP columns of source tables
CREATE STREAM raw (k STRING KEY, v STRING) WITH (KAFKA_TOPIC = '${case}_t', FORMAT = 'KAFKA', PARTITIONS = 1);
CREATE SOURCE TABLE n (k STRING PRIMARY KEY, ts BIGINT, v INT)
  WITH (KAFKA_TOPIC = '${case}_t', KEY_FORMAT = 'KAFKA', VALUE_FORMAT = 'JSON', TIMESTAMP = 'ts');
CREATE SOURCE TABLE s (k STRING PRIMARY KEY, day STRING, v INT)
  WITH (KAFKA_TOPIC = '${case}_t', KEY_FORMAT = 'KAFKA', VALUE_FORMAT = 'JSON', TIMESTAMP = 'day', TIMESTAMP_FORMAT = 'yyyy-MM-dd');
INSERT INTO raw (rowtime, k, v) VALUES (1, 'a', '{"ts": 1000, "day": "1970-01-02", "v": 1}');
INSERT INTO raw (rowtime, k, v) VALUES (2, 'b', '{"ts": 2000, "day": "1970-01-03", "v": 2}');
INSERT INTO raw (rowtime, k, v) VALUES (3, 'b', '{"ts": -5, "day": "1970-01-04", "v": 3}');
INSERT INTO raw (rowtime, k, v) VALUES (4, 'c', '{"v": 4}');
SELECT k, ROWTIME AS t, v FROM n;
--@rows rowsort
-- k | t    | v
-- a | 1000 | 1
-- b | 2000 | 2
SELECT ROWTIME AS t, v FROM n WHERE k = 'b';
--@rows
-- t    | v
-- 2000 | 2
SELECT k, ROWTIME AS t, v FROM s;
--@rows rowsort
-- k | t         | v
-- a | 86400000  | 1
-- b | 259200000 | 3
SELECT ROWTIME AS t FROM s WHERE k = 'a';
--@rows
-- t
-- 86400000
SELECT COUNT(*) AS n, MAX(ROWTIME) AS latest FROM n;
--@rows
-- n | latest
-- 2 | 2000
