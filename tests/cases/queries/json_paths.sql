-- Beyond ksqlDB: json:path, in persistent, push and pull queries, keys, conditions and INSERT.
CREATE STREAM s (k STRING KEY, payload STRING, tags ARRAY<STRING>) WITH (KAFKA_TOPIC = '${case}_s', VALUE_FORMAT = 'JSON', PARTITIONS = 1);

--@test: in projections, WHERE, GROUP BY, functions, and pull queries
CREATE STREAM o AS
  SELECT k, payload:user.name AS name, UCASE(payload:user.name) AS loud, payload:items[0].price::DECIMAL(5, 2) AS price,
    payload:user AS whole, TRY_CAST(payload:user.age AS INT) AS age, tags[1]:x AS x
  FROM s WHERE payload:user IS NOT NULL;
CREATE TABLE t AS SELECT payload:user.age::INT AS age, COUNT(*) AS n FROM s GROUP BY payload:user.age::INT;
INSERT INTO s VALUES ('1', '{"user": {"name": "ann", "age": 41}, "items": [{"price": 2.50}, 1]}', ARRAY['{"x": 1}']);
INSERT INTO s VALUES ('2', '{"user": {"name": null, "age": "41"}, "items": {}}', NULL);
INSERT INTO s VALUES ('3', '{"user": null}', NULL);
INSERT INTO s VALUES ('4', 'no JSON', NULL);
INSERT INTO s VALUES ('5', NULL, NULL);
INSERT INTO s VALUES ('6', '{"user": {"name": "bob", "age": "x"}}':user || '', NULL);
INSERT INTO s VALUES ('7', '{"user": {"name": "eve", "age": "x"}}', NULL);
--@output O ordered
-- k | name | loud | price | whole                     | age  | x
-- 1 | ann  | ANN  | 2.50  | {"name":"ann","age":41}   | 41   | 1
-- 2 | NULL | NULL | NULL  | {"name":null,"age":"41"}  | 41   | NULL
-- 7 | eve  | EVE  | NULL  | {"name":"eve","age":"x"}  | NULL | NULL
--@output T folded
-- age | n
-- 41  | 2
SELECT k, payload:user.name AS name FROM s WHERE payload:user.age = '41';
--@rows ordered
-- k | name
-- 1 | ann
-- 2 | NULL
SELECT k, payload:user.name AS name, payload:['user']['age']::INT + 1 AS age FROM s EMIT CHANGES LIMIT 2;
--@rows ordered
-- k | name | age
-- 1 | ann  | 42
-- 2 | NULL | 42
