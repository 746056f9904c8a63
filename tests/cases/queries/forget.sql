-- FORGET: keys are removed from a table's topic and from the state of its query (beyond ksqlDB).

--@test: groups without windows begin anew; four partitions, two key columns, DISTINCT, HAVING; tables downstream follow
CREATE STREAM s (id INT KEY, who STRING, a INT)
  WITH (KAFKA_TOPIC = '${case}_s', VALUE_FORMAT = 'JSON', PARTITIONS = 4);
CREATE TABLE sums WITH (KEY_FORMAT = 'JSON') AS
  SELECT who, a % 2 AS odd, SUM(a) AS total, COUNT(DISTINCT a) AS n FROM s GROUP BY a % 2, who;
CREATE TABLE big AS SELECT who, COUNT(*) AS n FROM s GROUP BY who HAVING COUNT(*) > 1;
CREATE TABLE totals AS SELECT odd, SUM(total) AS total FROM sums GROUP BY odd;
INSERT INTO s VALUES (1, 'ann', 1);
INSERT INTO s VALUES (2, 'ann', 3);
INSERT INTO s VALUES (3, 'ann', 4);
INSERT INTO s VALUES (4, 'bob', 5);
--@output SUMS folded
-- who | odd | total | n
-- ann | 0   | 4     | 1
-- ann | 1   | 4     | 2
-- bob | 1   | 5     | 1
FORGET FROM sums WHERE who = 'ann' AND odd = 1 WITH (PREVIEW = true);
FORGET FROM sums WHERE who = 'ann' AND odd IN (1, 7);
FORGET FROM sums WHERE who = 'ann' AND odd IN (1, 7);
FORGET FROM big WHERE who = 'ann' OR who = 'bob';
--@output SUMS folded
-- who | odd | total | n
-- ann | 0   | 4     | 1
-- bob | 1   | 5     | 1
--@output TOTALS folded
-- odd | total
-- 0   | 4
-- 1   | 5
INSERT INTO s VALUES (1, 'ann', 3);
INSERT INTO s VALUES (4, 'bob', 5);
--@output SUMS folded
-- who | odd | total | n
-- ann | 0   | 4     | 1
-- ann | 1   | 3     | 1
-- bob | 1   | 10    | 1
--@output TOTALS folded
-- odd | total
-- 0   | 4
-- 1   | 13
--@output BIG folded
-- who | n

--@test: open and closed windows, sessions, EMIT FINAL, EMIT CHANGES EVERY
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC = '${case}_s', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE TABLE w AS SELECT k, COUNT(*) AS n FROM s WINDOW TUMBLING (SIZE 10 SECONDS, GRACE PERIOD 20 SECONDS) GROUP BY k;
CREATE TABLE f AS SELECT k, COUNT(*) AS n FROM s
  WINDOW TUMBLING (SIZE 10 SECONDS, GRACE PERIOD 20 SECONDS) GROUP BY k EMIT FINAL;
CREATE TABLE v AS SELECT k, COUNT(*) AS n FROM s WINDOW SESSION (5 SECONDS, GRACE PERIOD 20 SECONDS) GROUP BY k;
INSERT INTO s (ROWTIME, k, a) VALUES (1000, 'x', 1);
INSERT INTO s (ROWTIME, k, a) VALUES (1000, 'y', 1);
INSERT INTO s (ROWTIME, k, a) VALUES (41000, 'x', 1);
INSERT INTO s (ROWTIME, k, a) VALUES (41000, 'y', 1);
--@output F folded
-- k | windowstart | windowend | n
-- x | 0           | 10000     | 1
-- y | 0           | 10000     | 1
FORGET FROM w WHERE k = 'x';
FORGET FROM f WHERE k = 'x';
FORGET FROM v WHERE k = 'x';
INSERT INTO s (ROWTIME, k, a) VALUES (42000, 'x', 1);
INSERT INTO s (ROWTIME, k, a) VALUES (90000, 'y', 1);
--@output W folded
-- k | windowstart | windowend | n
-- x | 40000       | 50000     | 1
-- y | 0           | 10000     | 1
-- y | 40000       | 50000     | 1
-- y | 90000       | 100000    | 1
--@output F folded
-- k | windowstart | windowend | n
-- x | 40000       | 50000     | 1
-- y | 0           | 10000     | 1
-- y | 40000       | 50000     | 1
--@output V folded
-- k | windowstart | windowend | n
-- x | 42000       | 42000     | 1
-- y | 1000        | 1000      | 1
-- y | 41000       | 41000     | 1
-- y | 90000       | 90000     | 1

--@test: a table over a topic; those that follow from it lose the row, too
CREATE TABLE users (id INT PRIMARY KEY, name STRING)
  WITH (KAFKA_TOPIC = '${case}_users', VALUE_FORMAT = 'JSON', PARTITIONS = 4);
CREATE TABLE named AS SELECT id, UCASE(name) AS name FROM users WHERE name IS NOT NULL;
INSERT INTO users VALUES (1, 'ann');
INSERT INTO users VALUES (2, 'bob');
--@output NAMED folded
-- id | name
-- 1  | ANN
-- 2  | BOB
FORGET FROM users WHERE id = 1;
--@output NAMED folded
-- id | name
-- 2  | BOB

--@test: what cannot be forgotten
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC = '${case}_s', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE TABLE t WITH (KAFKA_TOPIC = '${case}_t') AS SELECT k, SUM(a) AS total FROM s GROUP BY k;
CREATE TABLE u AS SELECT total, COUNT(*) AS n FROM t GROUP BY total;
CREATE TABLE again (k STRING PRIMARY KEY, total INT) WITH (KAFKA_TOPIC = '${case}_t', VALUE_FORMAT = 'JSON');
FORGET FROM s WHERE k = 'x';
--@error: INVALID_STATEMENT
FORGET FROM again WHERE k = 'x';
--@error: INVALID_STATEMENT
FORGET FROM u WHERE total = 1;
--@error: INVALID_STATEMENT
FORGET FROM t WHERE total = 1;
--@error: INVALID_STATEMENT
FORGET FROM t WHERE k > 'x';
--@error: INVALID_STATEMENT
FORGET FROM t WHERE k = 'x' AND LEN(k) > 5;
--@error: INVALID_STATEMENT
FORGET FROM t WHERE k = 'x' AND k = 'y';
--@error: INVALID_STATEMENT
FORGET FROM nothing WHERE k = 'x';
--@error: SOURCE_UNKNOWN
FORGET FROM t;
--@error: SYNTAX
