-- Keys in the KAFKA and JSON formats, one column and several.

--@test: KAFKA keys of every type
CREATE STREAM i (k INT KEY, v INT) WITH (KAFKA_TOPIC = '${case}_i', KEY_FORMAT = 'KAFKA', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE STREAM b (k BIGINT KEY, v INT) WITH (KAFKA_TOPIC = '${case}_b', KEY_FORMAT = 'KAFKA', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE STREAM d (k DOUBLE KEY, v INT) WITH (KAFKA_TOPIC = '${case}_d', KEY_FORMAT = 'KAFKA', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE STREAM i2 AS SELECT k, v + 1 AS v FROM i EMIT CHANGES;
CREATE STREAM b2 AS SELECT k, v + 1 AS v FROM b EMIT CHANGES;
CREATE STREAM d2 AS SELECT k, v + 1 AS v FROM d EMIT CHANGES;
INSERT INTO i (k, v) VALUES (-7, 1);
INSERT INTO b (k, v) VALUES (9007199254740993, 1);
INSERT INTO d (k, v) VALUES (0.1, 1);
--@output I2 ordered
-- k  | v
-- -7 | 2
--@output B2 ordered
-- k                | v
-- 9007199254740993 | 2
--@output D2 ordered
-- k   | v
-- 0.1 | 2

--@test: JSON keys, a struct among them, and from KAFKA to JSON
CREATE STREAM s (k STRUCT<a INT, b STRING> KEY, v INT) WITH (KAFKA_TOPIC = '${case}_s', FORMAT = 'JSON', PARTITIONS = 1);
CREATE STREAM s2 AS SELECT k, k->b AS b, v FROM s EMIT CHANGES;
CREATE STREAM two (k1 STRING KEY, k2 INT KEY, v INT) WITH (KAFKA_TOPIC = '${case}_two', FORMAT = 'JSON', PARTITIONS = 1);
CREATE STREAM two2 AS SELECT k2, k1, v FROM two WHERE k2 > 0 EMIT CHANGES;
CREATE STREAM plain (k STRING KEY, v INT) WITH (KAFKA_TOPIC = '${case}_plain', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE STREAM json WITH (KEY_FORMAT = 'JSON') AS SELECT k, v FROM plain EMIT CHANGES;
INSERT INTO s (k, v) VALUES (STRUCT(a := 1, b := 'x'), 1);
INSERT INTO two (k1, k2, v) VALUES ('a', 0, 1);
INSERT INTO two (k1, k2, v) VALUES ('a', 1, 2);
INSERT INTO plain (k, v) VALUES ('é"', 1);
--@output S2 ordered
-- k                  | b | v
-- {"A": 1, "B": "x"} | x | 1
--@output TWO2 ordered
-- k1 | k2 | v
-- a  | 1  | 2
--@output JSON ordered
-- k      | v
-- "é\"" | 1

--@test: what a key cannot be
CREATE STREAM m (k MAP<STRING, INT> KEY, v INT) WITH (KAFKA_TOPIC = '${case}_m', PARTITIONS = 1,
  KEY_FORMAT = 'JSON', VALUE_FORMAT = 'JSON');
--@error: MAP_KEY
-- Map keys, including types that contain maps, are not supported as they may lead to unexpected behavior due to inconsistent serialization. Key column name: `K`. Column type: MAP<STRING, INTEGER>.
-- line 1:1
--   CREATE STREAM m (k MAP<STRING, INT> KEY, v INT) WITH (KAFKA_TOPIC = '${case}_m', PARTITIONS = 1,
--   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
CREATE STREAM m (k ARRAY<INT> KEY, v INT) WITH (KAFKA_TOPIC = '${case}_m', PARTITIONS = 1,
  KEY_FORMAT = 'KAFKA', VALUE_FORMAT = 'JSON');
--@error: FORMAT_SCHEMA
-- Key format does not support schema.
-- format: KAFKA
-- schema: [`K` ARRAY<INTEGER> KEY]
-- reason: The 'KAFKA' format does not support type 'ARRAY', column: `K`.
-- line 1:1
--   CREATE STREAM m (k ARRAY<INT> KEY, v INT) WITH (KAFKA_TOPIC = '${case}_m', PARTITIONS = 1,
--   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
CREATE STREAM m (k INT KEY, v INT) WITH (KAFKA_TOPIC = '${case}_m', PARTITIONS = 1,
  KEY_FROMAT = 'KAFKA', VALUE_FORMAT = 'JSON');
--@error: PROPERTY_IN_WITH
-- Configuration KEY_FROMAT is invalid: it is not a valid property name. Did you mean KEY_FORMAT?
-- line 2:3
--     KEY_FROMAT = 'KAFKA', VALUE_FORMAT = 'JSON')
--     ^^^^^^^^^^^^^^^^^^^^
