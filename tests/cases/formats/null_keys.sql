-- Records without a key, and keys whose columns are NULL.

--@test: a record without a key keeps none where there are several key columns
CREATE STREAM keyless (v INT) WITH (KAFKA_TOPIC = '${case}_in', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE STREAM two (a STRING KEY, b INT KEY, v INT) WITH (KAFKA_TOPIC = '${case}_in', FORMAT = 'JSON');
CREATE STREAM copies WITH (KAFKA_TOPIC = '${case}_copies') AS SELECT * FROM two WHERE v > 0 EMIT CHANGES;
CREATE STREAM both WITH (KAFKA_TOPIC = '${case}_both') AS
  SELECT * FROM two WHERE v > 1 UNION ALL SELECT * FROM two WHERE v > 2 EMIT CHANGES;
CREATE STREAM rekeyed WITH (KAFKA_TOPIC = '${case}_rekeyed') AS SELECT * FROM two PARTITION BY b, a EMIT CHANGES;
CREATE STREAM copied (k STRING KEY, v INT)
  WITH (KAFKA_TOPIC = '${case}_copies', KEY_FORMAT = 'KAFKA', VALUE_FORMAT = 'JSON');
CREATE STREAM united (k STRING KEY, v INT)
  WITH (KAFKA_TOPIC = '${case}_both', KEY_FORMAT = 'KAFKA', VALUE_FORMAT = 'JSON');
CREATE STREAM partitioned (k STRING KEY, v INT)
  WITH (KAFKA_TOPIC = '${case}_rekeyed', KEY_FORMAT = 'KAFKA', VALUE_FORMAT = 'JSON');
INSERT INTO keyless (v) VALUES (1);
INSERT INTO two (a, b, v) VALUES ('x', 1, 2);
INSERT INTO keyless (v) VALUES (3);
--@output COPIED ordered
-- k               | v
-- NULL            | 1
-- {"A":"x","B":1} | 2
-- NULL            | 3
--@output UNITED rowsort
-- k               | v
-- NULL            | 3
-- NULL            | 3
-- {"A":"x","B":1} | 2
--@output PARTITIONED ordered
-- k                   | v
-- {"B":null,"A":null} | 1
-- {"B":1,"A":"x"}     | 2
-- {"B":null,"A":null} | 3

--@test: a record without a key keeps none through joins with replicated tables
CREATE STREAM keyless (v INT) WITH (KAFKA_TOPIC = '${case}_in', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE STREAM two (a STRING KEY, b INT KEY, v INT) WITH (KAFKA_TOPIC = '${case}_in', FORMAT = 'JSON');
CREATE TABLE names (v INT PRIMARY KEY, name STRING)
  WITH (KAFKA_TOPIC = '${case}_names', VALUE_FORMAT = 'JSON', PARTITIONS = 2, REPLICATED = true);
CREATE TABLE again (v INT PRIMARY KEY, name STRING)
  WITH (KAFKA_TOPIC = '${case}_names', VALUE_FORMAT = 'JSON', REPLICATED = true);
INSERT INTO names (v, name) VALUES (1, 'one');
INSERT INTO names (v, name) VALUES (2, 'two');
INSERT INTO keyless (v) VALUES (1);
INSERT INTO two (a, b, v) VALUES ('x', 1, 2);
INSERT INTO two (a, v) VALUES ('y', 2);
INSERT INTO keyless (v) VALUES (3);
CREATE STREAM once WITH (KAFKA_TOPIC = '${case}_once', PARTITIONS = 1) AS
  SELECT t.a, t.b, t.v AS v, n.name AS name FROM two t LEFT JOIN names n ON t.v = n.v EMIT CHANGES;
CREATE STREAM twice WITH (KAFKA_TOPIC = '${case}_twice', PARTITIONS = 1) AS
  SELECT t.a, t.b, t.v AS v, n.name AS name, m.name AS again
  FROM two t JOIN names n ON t.v = n.v JOIN again m ON t.v = m.v EMIT CHANGES;
CREATE STREAM joined_once (k STRING KEY, v INT, name STRING)
  WITH (KAFKA_TOPIC = '${case}_once', KEY_FORMAT = 'KAFKA', VALUE_FORMAT = 'JSON');
CREATE STREAM joined_twice (k STRING KEY, v INT, name STRING, again STRING)
  WITH (KAFKA_TOPIC = '${case}_twice', KEY_FORMAT = 'KAFKA', VALUE_FORMAT = 'JSON');
--@output JOINED_ONCE rowsort
-- k                  | v | name
-- NULL               | 1 | one
-- NULL               | 3 | NULL
-- {"A":"x","B":1}    | 2 | two
-- {"A":"y","B":null} | 2 | two
--@output JOINED_TWICE rowsort
-- k                  | v | name | again
-- NULL               | 1 | one  | one
-- {"A":"x","B":1}    | 2 | two  | two
-- {"A":"y","B":null} | 2 | two  | two

--@test: the JSON literal null is a NULL key where there are several key columns
CREATE STREAM raw (k STRING KEY, v INT)
  WITH (KAFKA_TOPIC = '${case}_in', KEY_FORMAT = 'KAFKA', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE STREAM two (a STRING KEY, b INT KEY, v INT) WITH (KAFKA_TOPIC = '${case}_in', FORMAT = 'JSON');
CREATE STREAM copies WITH (KAFKA_TOPIC = '${case}_copies') AS SELECT * FROM two EMIT CHANGES;
CREATE STREAM copied (k STRING KEY, v INT)
  WITH (KAFKA_TOPIC = '${case}_copies', KEY_FORMAT = 'KAFKA', VALUE_FORMAT = 'JSON');
INSERT INTO raw (k, v) VALUES ('null', 1);
INSERT INTO two (a, b, v) VALUES ('x', 1, 2);
INSERT INTO raw (k, v) VALUES (' null
', 3);
--@output COPIED ordered
-- k               | v
-- NULL            | 1
-- {"A":"x","B":1} | 2
-- NULL            | 3

--@test: the JSON literal null is a NULL value
CREATE STREAM raw (k STRING KEY, v STRING)
  WITH (KAFKA_TOPIC = '${case}_in', FORMAT = 'KAFKA', PARTITIONS = 1);
CREATE STREAM wide (k STRING KEY, a INT, b STRING) WITH (KAFKA_TOPIC = '${case}_in', VALUE_FORMAT = 'JSON');
CREATE STREAM bare (k STRING KEY, a STRING)
  WITH (KAFKA_TOPIC = '${case}_in', VALUE_FORMAT = 'JSON', WRAP_SINGLE_VALUE = false);
CREATE TABLE latest (k STRING PRIMARY KEY, a INT, b STRING)
  WITH (KAFKA_TOPIC = '${case}_in', VALUE_FORMAT = 'JSON');
CREATE STREAM copies AS SELECT * FROM wide EMIT CHANGES;
CREATE STREAM bare_copies AS SELECT * FROM bare EMIT CHANGES;
CREATE TABLE kept AS SELECT * FROM latest EMIT CHANGES;
INSERT INTO raw (k, v) VALUES ('x', '{"A":1,"B":"one"}');
INSERT INTO raw (k, v) VALUES ('x', ' null
');
INSERT INTO raw (k, v) VALUES ('y', '{"A":2,"B":"two"}');
--@output COPIES ordered
-- k | a         | b
-- x | 1         | one
-- x | <deleted> | <deleted>
-- y | 2         | two
--@output BARE_COPIES ordered
-- k | a
-- x | {"A":1,"B":"one"}
-- x | <deleted>
-- y | {"A":2,"B":"two"}
--@output KEPT folded
-- k | a | b
-- y | 2 | two

--@test: PARTITION BY of a NULL value: what depends on it is NULL, the rest is computed
CREATE STREAM s (k INT KEY, name STRING)
  WITH (KAFKA_TOPIC = '${case}_s', VALUE_FORMAT = 'JSON', WRAP_SINGLE_VALUE = false, PARTITIONS = 1);
CREATE STREAM by_name AS SELECT COALESCE(name, 'none') AS who, k FROM s PARTITION BY COALESCE(name, 'none') EMIT CHANGES;
CREATE STREAM by_null WITH (KEY_FORMAT = 'JSON') AS SELECT name IS NULL AS n, k FROM s PARTITION BY (name IS NULL) EMIT CHANGES;
CREATE STREAM by_key AS SELECT k + 1 AS next, name FROM s PARTITION BY k + 1 EMIT CHANGES;
CREATE STREAM by_all WITH (KAFKA_TOPIC = '${case}_all', KEY_FORMAT = 'JSON') AS
  SELECT ROWTIME AS t, IFNULL(name, '-') AS n, 1 AS one, k FROM s PARTITION BY ROWTIME, IFNULL(name, '-'), 1 EMIT CHANGES;
CREATE STREAM all_keys (k STRING KEY) WITH (KAFKA_TOPIC = '${case}_all', KEY_FORMAT = 'KAFKA', VALUE_FORMAT = 'JSON');
INSERT INTO s (ROWTIME, k, name) VALUES (5, 1, 'ann');
INSERT INTO s (ROWTIME, k) VALUES (6, 2);
--@output BY_NAME ordered
-- who  | k
-- ann  | 1
-- NULL | <deleted>
--@output BY_NULL ordered
-- n     | k
-- false | 1
-- NULL  | <deleted>
--@output BY_KEY ordered
-- next | name
-- 2    | ann
-- 3    | <deleted>
--@output ALL_KEYS ordered
-- k
-- {"T":5,"N":"ann","ONE":1}
-- {"T":null,"N":null,"ONE":1}
