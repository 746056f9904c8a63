-- What expressions give where Spark's own functions would give something else, or nothing.
CREATE STREAM s (id INT, bytes BYTES, maps ARRAY<MAP<STRING, INT>>, others ARRAY<MAP<STRING, INT>>, one MAP<STRING, INT>,
    row STRUCT<m MAP<STRING, INT>, n INT>, other STRUCT<m MAP<STRING, INT>, n INT>)
  WITH (KAFKA_TOPIC = '${case}_s', VALUE_FORMAT = 'JSON', PARTITIONS = 1);

--@test: bytes as hexadecimal digits
CREATE STREAM o AS SELECT FROM_BYTES(bytes, 'hex') AS digits, ENCODE(FROM_BYTES(bytes, 'hex'), 'hex', 'base64') AS back
  FROM s EMIT CHANGES;
INSERT INTO s (bytes) VALUES (TO_BYTES('0aFf', 'hex'));
--@output O ordered
-- digits | back
-- 0AFF   | Cv8=

--@test: functions on arrays of maps
CREATE STREAM o AS
  SELECT ARRAY_DISTINCT(maps) AS different, ARRAY_REMOVE(maps, one) AS rest, ARRAY_UNION(maps, others) AS united,
    ARRAY_INTERSECT(maps, others) AS common, ARRAY_EXCEPT(maps, others) AS own, ARRAY_CONTAINS(maps, one) AS has_one
  FROM s EMIT CHANGES;
INSERT INTO s (maps, others, one) VALUES (
  ARRAY[MAP('a' := 1, 'b' := 2), MAP('b' := 2, 'a' := 1), CAST(NULL AS MAP<STRING, INT>), MAP('c' := 3), CAST(NULL AS MAP<STRING, INT>)],
  ARRAY[MAP('c' := 3), MAP('d' := CAST(NULL AS INT)), MAP('d' := CAST(NULL AS INT))], MAP('b' := 2, 'a' := 1));
INSERT INTO s (id, maps) VALUES (1, ARRAY[MAP('a' := 1)]);
--@output O ordered
-- different                          | rest                   | united                                          | common     | own                      | has_one
-- [{"a": 1, "b": 2}, null, {"c": 3}] | [null, {"c": 3}, null] | [{"a": 1, "b": 2}, null, {"c": 3}, {"d": null}] | [{"c": 3}] | [{"a": 1, "b": 2}, null] | true
-- [{"a": 1}]                         | [{"a": 1}]             | NULL                                            | NULL       | NULL                     | false

--@test: equality of what holds maps
CREATE STREAM o AS
  SELECT id, maps = others AS arrays, maps <> others AS no_arrays, row = other AS structs, row <> other AS no_structs,
    row IN (other) AS is_in, maps IS DISTINCT FROM others AS is_distinct, NULLIF(row, other) AS unless
  FROM s EMIT CHANGES;
INSERT INTO s (id, maps, others, row, other) VALUES (1,
  ARRAY[MAP('a' := 1, 'b' := 2)], ARRAY[MAP('b' := 2, 'a' := 1)],
  STRUCT(m := MAP('a' := 1, 'b' := 2), n := 3), STRUCT(m := MAP('b' := 2, 'a' := 1), n := 3));
INSERT INTO s (id, maps, others, row, other) VALUES (2,
  ARRAY[MAP('a' := 1)], ARRAY[MAP('a' := 2)], STRUCT(m := MAP('a' := 1), n := 3), STRUCT(m := MAP('a' := 1), n := 4));
INSERT INTO s (id, maps, row) VALUES (3, ARRAY[MAP('a' := 1)], STRUCT(m := MAP('a' := 1), n := 3));
--@output O ordered
-- id | arrays | no_arrays | structs | no_structs | is_in | is_distinct | unless
-- 1  | true   | false     | true    | false      | true  | false       | NULL
-- 2  | false  | true      | false   | true       | false | true        | {"M": {"a": 1}, "N": 3}
-- 3  | false  | false     | false   | false      | false | true        | {"M": {"a": 1}, "N": 3}

--@test: numbers as text in lists
CREATE STREAM o AS
  SELECT ARRAY[1, '1e3', ' 2E1 '] AS numbers, ARRAY[1E0, '1e-1', '2.5E1'] AS doubles, CAST(ARRAY[1.5, '1e-1', '2.5E0'] AS ARRAY<STRING>) AS decimals, MAP('a' := 1, 'b' := '2e2') AS m,
    1000 IN (1, '1e3') AS is_in
  FROM s EMIT CHANGES;
INSERT INTO s (id) VALUES (1);
--@output O ordered
-- numbers       | doubles          | decimals              | m                  | is_in
-- [1, 1000, 20] | [1.0, 0.1, 25.0] | ["1.5", "0.1", "2.5"] | {"a": 1, "b": 200} | true

--@test: a DATE too far away for a TIMESTAMP
CREATE STREAM o AS
  SELECT id, CAST(FROM_DAYS(id) AS TIMESTAMP) AS t, FROM_DAYS(id) > PARSE_TIMESTAMP('2020', 'yyyy') AS is_later FROM s EMIT CHANGES;
INSERT INTO s (id) VALUES (2147483647);
INSERT INTO s (id) VALUES (-106751992);
INSERT INTO s (id) VALUES (18263);
--@output O ordered
-- id         | t                       | is_later
-- 2147483647 | NULL                    | false
-- -106751992 | NULL                    | false
-- 18263      | 2020-01-02T00:00:00.000 | true

--@test: functions by the names that SQL has for them
CREATE STREAM words (a STRING, n DOUBLE, t TIMESTAMP) WITH (KAFKA_TOPIC = '${case}_w', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE STREAM o AS
  SELECT UPPER(a) AS u, lower(a) AS l, LENGTH(a) AS n, SUBSTR(a, 2) AS s, NVL(a, '-') AS v, POW(n, 2) AS p, LEFT(a, 1) AS first,
    RIGHT(a, 1) AS last, DATE_TRUNC('hour', t) AS hour, NOW() > t AS is_past, CURRENT_TIMESTAMP() > t AS was
  FROM words EMIT CHANGES;
CREATE TABLE counted AS SELECT a, ARRAY_AGG(n) AS ns, STDDEV(n) AS dev, APPROX_COUNT_DISTINCT(n) AS c FROM words GROUP BY a EMIT CHANGES;
INSERT INTO words (a, n, t) VALUES ('Abc', 3, '2024-05-06T07:08:09.010');
--@output O ordered
-- u   | l   | n | s  | v   | p   | first | last | hour                    | is_past | was
-- ABC | abc | 3 | bc | Abc | 9.0 | A     | c    | 2024-05-06T07:00:00.000 | true    | true
--@output COUNTED ordered
-- a   | ns    | dev | c
-- Abc | [3.0] | 0.0 | 1

--@test: texts and names that Spark would take for its variables
CREATE STREAM v (id INT KEY, `${col}` STRING, `a$b` STRING) WITH (KAFKA_TOPIC = '${case}_v', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE STREAM o AS SELECT id, '${env:HOME}|${system:user.dir}|${spark.app.id}|${zz}' AS lit, `${col}` FROM v WHERE `a$b` <> 'a' OR '${zz}' = '' EMIT CHANGES;
CREATE TABLE t AS SELECT id, LATEST_BY_OFFSET(CONCAT('${env:HOME}', `a$b`)) AS l FROM v GROUP BY id EMIT CHANGES;
INSERT INTO v VALUES (1, 'v1', 'v2');
INSERT INTO v (id, `a$b`) VALUES (2, CONCAT('${env:HOME}', 'x'));
INSERT INTO v VALUES (3, 'left out', 'a');
--@output O ordered
-- id | lit                                                    | ${col}
-- 1  | "${env:HOME}|${system:user.dir}|${spark.app.id}|${zz}" | v1
-- 2  | "${env:HOME}|${system:user.dir}|${spark.app.id}|${zz}" | NULL
--@output T ordered
-- id | l
-- 1  | ${env:HOME}v2
-- 2  | ${env:HOME}${env:HOME}x
-- 3  | ${env:HOME}a
SELECT id, '${env:HOME}' AS lit, `${col}` FROM v WHERE `a$b` <> '${zz}a';
--@rows ordered
-- id | lit         | ${col}
-- 1  | ${env:HOME} | v1
-- 2  | ${env:HOME} | NULL
-- 3  | ${env:HOME} | left out
SELECT id, CONCAT('${env:HOME}', l) AS lit FROM t WHERE l <> '${zz}' ORDER BY id LIMIT 1;
--@rows ordered
-- id | lit
-- 1  | ${env:HOME}${env:HOME}v2
