-- Beyond ksqlDB: VARIANT, a column of any JSON.
CREATE STREAM raw (k STRING KEY, text STRING) WITH (KAFKA_TOPIC = '${case}_s', VALUE_FORMAT = 'KAFKA', PARTITIONS = 1);
CREATE STREAM s (k STRING KEY, v VARIANT, n INT) WITH (KAFKA_TOPIC = '${case}_s', VALUE_FORMAT = 'JSON');

--@test: the JSON of a sink is that of the source
CREATE STREAM o WITH (KAFKA_TOPIC = '${case}_o') AS SELECT k, v AS payload FROM s;
CREATE STREAM o_raw (k STRING KEY, text STRING) WITH (KAFKA_TOPIC = '${case}_o', VALUE_FORMAT = 'KAFKA');
INSERT INTO raw VALUES ('1', '{"V": {"b": 1.10, "a": 12345678901234567890, "é": "ü\u0041\n", "b": 1E+2, "x": [null, {}]}}');
INSERT INTO raw VALUES ('2', '{"V": "a \"text\""}');
INSERT INTO raw VALUES ('3', '{"V": null}');
INSERT INTO raw VALUES ('4', '{"V": -0.0, "N": 1}');
INSERT INTO raw VALUES ('5', '{"v": true}');
--@output O_RAW ordered
-- k | text
-- 1 | "{\"PAYLOAD\":{\"b\":1.10,\"a\":12345678901234567890,\"é\":\"üA\\n\",\"b\":1E+2,\"x\":[null,{}]}}"
-- 2 | "{\"PAYLOAD\":\"a \\\"text\\\"\"}"
-- 3 | {"PAYLOAD":null}
-- 4 | {"PAYLOAD":-0.0}
-- 5 | {"PAYLOAD":true}
--@restart
INSERT INTO raw VALUES ('6', '{"V": [1, [2.50]]}');
--@output O_RAW ordered
-- k | text
-- 6 | {"PAYLOAD":[1,[2.50]]}

--@test: paths and casts in WHERE, SELECT, GROUP BY and aggregates; what does not fit is NULL
CREATE STREAM o AS SELECT k, v:user AS whole, v:user.name::STRING AS name, v:user.age::INT AS age, v:price::DECIMAL(5, 2) AS price,
    v:tags::ARRAY<STRING> AS tags, v:user::STRUCT<name STRING, age INT> AS row, VARIANT_TYPE(v:user.age) AS kind
  FROM s WHERE v:user IS NOT NULL;
CREATE TABLE t AS SELECT v:user.name::STRING AS name, SUM(v:user.age::INT) AS ages, LATEST_BY_OFFSET(v:tags) AS last, COLLECT_LIST(v:price) AS prices
  FROM s WHERE v:user.name::STRING <> 'x' GROUP BY v:user.name::STRING;
CREATE TABLE doubled AS SELECT name, ages * 2 AS ages, last:[0]::STRING AS first FROM t;
INSERT INTO raw VALUES ('1', '{"V": {"user": {"name": "ann", "age": 41}, "price": 2.50, "tags": ["a", 1]}}');
INSERT INTO raw VALUES ('2', '{"V": {"user": {"name": "ann", "age": "1"}, "price": "2.5", "tags": "none"}}');
INSERT INTO raw VALUES ('3', '{"V": {"user": {"name": "bob", "age": "old"}, "price": {}}}');
INSERT INTO raw VALUES ('4', '{"V": {"user": null}}');
INSERT INTO raw VALUES ('5', '{"V": 5}');
INSERT INTO raw VALUES ('6', '{"V": {"user": {"name": "eve"}, "price": 1000}}');
--@output O ordered
-- k | whole                      | name | age  | price | tags       | row                          | kind
-- 1 | {"name":"ann","age":41}    | ann  | 41   | 2.50  | ["a", "1"] | {"NAME": "ann", "AGE": 41}   | number
-- 2 | {"name":"ann","age":"1"}   | ann  | 1    | 2.50  | NULL       | {"NAME": "ann", "AGE": 1}    | string
-- 3 | {"name":"bob","age":"old"} | bob  | NULL | NULL  | NULL       | NULL                         | string
-- 6 | {"name":"eve"}             | eve  | NULL | NULL  | NULL       | {"NAME": "eve", "AGE": null} | NULL
--@output T folded
-- name | ages | last   | prices
-- ann  | 42   | "none" | ["2.50", "\"2.5\""]
-- bob  | 0    | NULL   | ["{}"]
-- eve  | 0    | NULL   | ["1000"]
--@restart
INSERT INTO raw VALUES ('7', '{"V": {"user": {"name": "ann", "age": 8}, "tags": [{"z": 1.0}]}}');
--@output T folded
-- name | ages | last        | prices
-- ann  | 50   | [{"z":1.0}] | ["2.50", "\"2.5\"", null]
-- bob  | 0    | NULL        | ["{}"]
-- eve  | 0    | NULL        | ["1000"]
--@output DOUBLED folded
-- name | ages | first
-- ann  | 100  | {"z":1.0}
-- bob  | 0    | NULL
-- eve  | 0    | NULL
SELECT name, last, last:[0] AS first FROM t WHERE name = 'ann';
--@rows
-- name | last        | first
-- ann  | [{"z":1.0}] | {"z":1.0}
SELECT k, v:user AS user, v:user.age::INT + 1 AS next FROM s EMIT CHANGES LIMIT 2;
--@rows ordered
-- k | user                     | next
-- 1 | {"name":"ann","age":41}  | 42
-- 2 | {"name":"ann","age":"1"} | 2
SELECT k, v FROM s WHERE v:user.name::STRING = 'ann' ORDER BY v:user.age::INT DESC;
--@rows ordered
-- k | v
-- 1 | {"user":{"name":"ann","age":41},"price":2.50,"tags":["a",1]}
-- 7 | {"user":{"name":"ann","age":8},"tags":[{"z":1.0}]}
-- 2 | {"user":{"name":"ann","age":"1"},"price":"2.5","tags":"none"}
SELECT v FROM s GROUP BY v;
--@error: INVALID_STATEMENT
-- GROUP BY cannot compare VARIANTs: S.V (VARIANT). Cast it: payload:user.id::STRING.
-- line 1:26
--   SELECT v FROM s GROUP BY v
--                            ^

--@test: INSERT, PARSE_JSON, casts to VARIANT, nested columns, joins and JSON_SR
CREATE STREAM n (id INT KEY, v VARIANT, a ARRAY<VARIANT>, m MAP<STRING, VARIANT>, st STRUCT<v VARIANT, t TIME>, text STRING)
  WITH (KAFKA_TOPIC = '${case}_n', VALUE_FORMAT = 'JSON_SR', PARTITIONS = 1);
CREATE TABLE d (id INT PRIMARY KEY, doc VARIANT) WITH (KAFKA_TOPIC = '${case}_d', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
INSERT INTO d VALUES (1, PARSE_JSON('{"name": "one"}'));
CREATE STREAM o WITH (VALUE_FORMAT = 'JSON') AS
  SELECT n.id AS id, v, a[1] AS a, m['x']:y AS m, st->v AS st, PARSE_JSON(text) AS parsed, st::VARIANT AS made, doc:name::STRING AS name
  FROM n LEFT JOIN d ON n.id = d.id;
CREATE STREAM items AS SELECT id, EXPLODE(v:items::ARRAY<VARIANT>):p::DOUBLE AS p FROM n;
INSERT INTO n VALUES (1, PARSE_JSON('{"items": [{"p": 1.50}, {"p": 2}]}'), ARRAY[PARSE_JSON('1.10')], MAP('x' := PARSE_JSON('{"y": [1]}')),
  STRUCT(v := PARSE_JSON('"x"'), t := '12:00:00'), '{"a" : 1.0}');
INSERT INTO n (id, text) VALUES (2, 'no JSON');
INSERT INTO n (id, v, text) VALUES (3, NULL, ' [ 1 ] ');
INSERT INTO n (id, v) VALUES (5, PARSE_JSON('oops {'));
--@error: INVALID_STATEMENT
-- Failed to insert values into 'N'. 'oops {' is not a valid VARIANT.
-- line 1:34
--   INSERT INTO n (id, v) VALUES (5, PARSE_JSON('oops {'))
--                                    ^^^^^^^^^^^^^^^^^^^^
INSERT INTO n (id, v) VALUES (6, CAST('x' AS INT)::VARIANT);
--@error: INVALID_STATEMENT
-- Failed to insert values into 'N'. 'x' is not a valid INTEGER.
-- line 1:34
--   INSERT INTO n (id, v) VALUES (6, CAST('x' AS INT)::VARIANT)
--                                    ^^^^^^^^^^^^^^^^^^^^^^^^^
INSERT INTO n (id, v) VALUES (4, PARSE_JSON(' null '));
INSERT INTO n (id, v) VALUES (4, 'text');
--@error: INVALID_STATEMENT
-- Expected type VARIANT for field `V` but got STRING('text').
-- line 1:34
--   INSERT INTO n (id, v) VALUES (4, 'text')
--                                    ^^^^^^
--@output O ordered
-- id | v                              | a    | m    | st   | parsed    | made                  | name
-- 1  | {"items":[{"p":1.50},{"p":2}]} | 1.10 | [1]  | "x"  | {"a":1.0} | {"T":"12:00","V":"x"} | one
-- 2  | NULL                           | NULL | NULL | NULL | NULL      | NULL                  | NULL
-- 3  | NULL                           | NULL | NULL | NULL | [1]       | NULL                  | NULL
-- 4  | NULL                           | NULL | NULL | NULL | NULL      | NULL                  | NULL
--@output ITEMS ordered
-- id | p
-- 1  | 1.5
-- 1  | 2.0
