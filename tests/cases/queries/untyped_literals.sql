-- Beyond ksqlDB: ksql.sql.literals = 'untyped': a text takes the type of what it is compared with or inserted into.
CREATE STREAM s (k INT KEY, d DOUBLE, p DECIMAL(6, 2), b BOOLEAN, r BYTES, day DATE, tod TIME, ts TIMESTAMP)
  WITH (KAFKA_TOPIC = '${case}_s', VALUE_FORMAT = 'JSON', PARTITIONS = 1);

--@test: rows of texts, and conditions with them in pull and persistent queries
CREATE TABLE latest AS SELECT k, LATEST_BY_OFFSET(p) AS p, LATEST_BY_OFFSET(r) AS r FROM s GROUP BY k;
SET 'ksql.sql.literals' = 'untyped';
CREATE STREAM late AS SELECT k, ts FROM s WHERE ts > '2024-02-29 12:00+01' AND b = 't' AND p BETWEEN '1' AND '9.99';
INSERT INTO s VALUES ('1', '1.5', '2.50', 'yes', '\x6869', '2024-02-29', '01:02:03', '2024-02-29 11:00:01');
INSERT INTO s VALUES ('2', '1.5', '3', 'on', 'aGk=', '2024-02-29 13:00', '01:02:03+02', '2024-02-29 11:00'), ('3', '-1e2', '1', '0', NULL, NULL, NULL, '2025-01-01');
--@output LATE ordered
-- k | ts
-- 1 | 2024-02-29T11:00:01.000
--@output LATEST folded
-- k | p    | r
-- 1 | 2.50 | aGk=
-- 2 | 3.00 | aGk=
-- 3 | 1.00 | NULL
SELECT k FROM latest WHERE k = '2';
--@rows
-- k
-- 2
SELECT k, NULL AS nothing FROM latest WHERE r = '\x6869' AND p > '2.7';
--@rows
-- k | nothing
-- 2 | NULL
SELECT k FROM latest WHERE k = 'two';
--@error: LITERAL_SYNTAX
-- invalid input syntax for type INTEGER: "two".
-- line 1:28
--   SELECT k FROM latest WHERE k = 'two'
--                              ^^^^^^^^^
