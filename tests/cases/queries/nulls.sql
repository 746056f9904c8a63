-- Beyond ksqlDB: ksql.sql.nulls = 'ansi': conditions have three values, and a query keeps them over a restart.
CREATE STREAM s (k STRING KEY, a INT, b INT, t STRING, p BOOLEAN) WITH (KAFKA_TOPIC = '${case}_s', VALUE_FORMAT = 'JSON', PARTITIONS = 1);

--@test: NOT, OR, IN and CASE beside NULL, in both modes and after a restart
CREATE STREAM two AS SELECT k, NOT (a = 1) AS differs, a NOT IN (1, b) AS beyond FROM s WHERE NOT (a = 1) OR p;
SET 'ksql.sql.nulls' = 'ansi';
CREATE STREAM three AS
  SELECT k, NOT (a = 1) AS differs, a NOT IN (1, b) AS beyond, a + NULL AS n, a = NULL AS never,
    CASE a WHEN 1 THEN 'one' WHEN b THEN 'b' ELSE 'other' END AS name
  FROM s WHERE NOT (a = 1) OR p;
UNSET 'ksql.sql.nulls';
INSERT INTO s VALUES ('1', 1, 2, 'x', TRUE);
INSERT INTO s VALUES ('2', 2, NULL, 'x', FALSE);
INSERT INTO s VALUES ('3', NULL, 3, 'x', TRUE);
INSERT INTO s VALUES ('4', NULL, 3, 'x', FALSE);
INSERT INTO s VALUES ('5', NULL, 3, 'x', NULL);
INSERT INTO s VALUES ('6', 4, 4, NULL, NULL);
--@output TWO ordered
-- k | differs | beyond
-- 1 | false   | false
-- 2 | true    | true
-- 3 | true    | true
-- 4 | true    | true
-- 5 | true    | true
-- 6 | true    | false
--@output THREE ordered
-- k | differs | beyond | n    | never | name
-- 1 | false   | false  | NULL | NULL  | one
-- 2 | true    | NULL   | NULL | NULL  | other
-- 3 | NULL    | NULL   | NULL | NULL  | other
-- 6 | true    | false  | NULL | NULL  | b
--@restart
INSERT INTO s VALUES ('7', NULL, 2, NULL, TRUE);
INSERT INTO s VALUES ('8', NULL, 2, NULL, NULL);
INSERT INTO s VALUES ('9', 9, 2, NULL, NULL);
--@output TWO ordered
-- k | differs | beyond
-- 7 | true    | true
-- 8 | true    | true
-- 9 | true    | true
--@output THREE ordered
-- k | differs | beyond | n    | never | name
-- 7 | NULL    | NULL   | NULL | NULL  | other
-- 9 | true    | true   | NULL | NULL  | other

--@test: HAVING, FILTER, pull queries and CHECK
SET 'ksql.sql.nulls' = 'ansi';
CREATE TABLE sums AS
  SELECT k, SUM(a) AS a, COUNT(*) FILTER (WHERE NOT (b > 1)) AS low, MAX(t) AS t FROM s GROUP BY k HAVING NOT (MAX(b) = 2);
CREATE STREAM checked (k STRING KEY, status STRING CHECK (status IN ('new', 'done'))) WITH (KAFKA_TOPIC = '${case}_c', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE STREAM passed AS SELECT * FROM checked;
INSERT INTO s VALUES ('1', 1, 1, 'x', TRUE);
INSERT INTO s VALUES ('2', 2, NULL, 'x', FALSE);
INSERT INTO s VALUES ('3', 5, 3, 'y', TRUE);
INSERT INTO s VALUES ('4', 5, 1, NULL, TRUE);
INSERT INTO checked VALUES ('1', 'new');
INSERT INTO checked VALUES ('2', NULL);
INSERT INTO checked VALUES ('3', 'old');
--@error: INVALID_STATEMENT
-- Failed to insert values into 'CHECKED'. The row violates CHECK (STATUS IN ('new', 'done')).
-- line 1:34
--   INSERT INTO checked VALUES ('3', 'old')
--                                    ^^^^^
--@output SUMS folded
-- k | a | low | t
-- 1 | 1 | 1   | x
-- 3 | 5 | 0   | y
-- 4 | 5 | 1   | NULL
--@output PASSED ordered
-- k | status
-- 1 | new
-- 2 | NULL
SELECT k, NOT (a = 1) AS differs, NOT (t = 'x') AS other FROM sums WHERE NOT (t = 'y');
--@rows rowsort
-- k | differs | other
-- 1 | false   | false
SELECT k, low FROM sums WHERE k = '1' AND a = 1;
--@rows
-- k | low
-- 1 | 1
SELECT COUNT(*) AS n FROM s WHERE NOT (t = 'x') OR t IS NULL;
--@rows
-- n
-- 2

--@test: MATCH_RECOGNIZE, conditions of joins and of EXISTS
CREATE TABLE u (k STRING PRIMARY KEY, a INT) WITH (KAFKA_TOPIC = '${case}_u', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE STREAM joined2 AS SELECT s.k AS k, s.b AS b FROM s JOIN u ON s.k = u.k AND NOT (s.a = u.a);
CREATE STREAM found2 AS SELECT k, b FROM s WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.k = s.k AND NOT (u.a = s.a));
CREATE STREAM matched2 AS SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY k ORDER BY ROWTIME
  MEASURES FIRST(x.b) AS n, COUNT(*) AS c PATTERN (x y) WITHIN 1 HOUR DEFINE x AS NOT (a = 1), y AS NOT (a = 1));
SET 'ksql.sql.nulls' = 'ansi';
CREATE STREAM joined3 AS SELECT s.k AS k, s.b AS b FROM s JOIN u ON s.k = u.k AND NOT (s.a = u.a);
CREATE STREAM found3 AS SELECT k, b FROM s WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.k = s.k AND NOT (u.a = s.a));
CREATE STREAM matched3 AS SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY k ORDER BY ROWTIME
  MEASURES FIRST(x.b) AS n, COUNT(*) AS c PATTERN (x y) WITHIN 1 HOUR DEFINE x AS NOT (a = 1), y AS NOT (a = 1));
UNSET 'ksql.sql.nulls';
INSERT INTO u (ROWTIME, k, a) VALUES (500, 'k', 7);
INSERT INTO s (ROWTIME, k, a, b) VALUES (1000, 'k', 7, 1);
INSERT INTO s (ROWTIME, k, a, b) VALUES (1001, 'k', NULL, 2);
INSERT INTO s (ROWTIME, k, a, b) VALUES (1002, 'k', 8, 3);
INSERT INTO s (ROWTIME, k, a, b) VALUES (1003, 'k', 9, 4);
--@output JOINED2 ordered
-- k | b
-- k | 2
-- k | 3
-- k | 4
--@output JOINED3 ordered
-- k | b
-- k | 3
-- k | 4
--@output FOUND2 ordered
-- k | b
-- k | 1
--@output FOUND3 ordered
-- k | b
-- k | 1
-- k | 2
--@output MATCHED2 ordered
-- k | n | c
-- k | 1 | 2
-- k | 3 | 2
--@output MATCHED3 ordered
-- k | n | c
-- k | 3 | 2
