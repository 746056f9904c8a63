-- A source joined with itself: each record is a row of both sides, once.
CREATE STREAM calls (id STRING KEY, caller STRING, callee STRING, made BIGINT)
  WITH (KAFKA_TOPIC = '${case}_calls', VALUE_FORMAT = 'JSON', PARTITIONS = 4, TIMESTAMP = 'made');
CREATE STREAM steps (k STRING KEY, n INT) WITH (KAFKA_TOPIC = '${case}_steps', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE TABLE staff (id STRING PRIMARY KEY, name STRING, boss STRING)
  WITH (KAFKA_TOPIC = '${case}_staff', VALUE_FORMAT = 'JSON', PARTITIONS = 4);

--@test: without WITHIN, by columns, and after a restart
CREATE STREAM forwarded AS
  SELECT a.callee AS through, a.id AS first, b.id AS second
  FROM calls a JOIN calls b ON a.callee = b.caller AND b.made > a.made EMIT CHANGES;
INSERT INTO calls (id, caller, callee, made) VALUES ('1', 'ann', 'bob', 1000);
INSERT INTO calls (id, caller, callee, made) VALUES ('2', 'bob', 'cid', 2000);
INSERT INTO calls (id, caller, callee, made) VALUES ('3', 'cid', 'cid', 3000);
INSERT INTO calls (id, caller, callee, made) VALUES ('4', 'bob', 'dan', 500);
--@output FORWARDED rowsort
-- rowtime | through | first | second
-- 2000    | bob     | 1     | 2
-- 3000    | cid     | 2     | 3
--@restart
INSERT INTO calls (id, caller, callee, made) VALUES ('5', 'cid', 'ann', 9000);
INSERT INTO calls (id, caller, callee, made) VALUES ('6', 'ann', NULL, 9000);
INSERT INTO calls (id, caller, callee, made) VALUES ('7', 'ann', 'eve', 9500);
--@output FORWARDED rowsort
-- rowtime | through | first | second
-- 9000    | cid     | 2     | 5
-- 9000    | cid     | 3     | 5
-- 9500    | ann     | 5     | 7

--@test: within a time, by the key: each row meets itself, and the others on both sides
CREATE STREAM pairs AS
  SELECT a.k AS k, a.n AS a, b.n AS b FROM steps a JOIN steps b WITHIN 10 SECONDS ON a.k = b.k EMIT CHANGES;
INSERT INTO steps (ROWTIME, k, n) VALUES (1000, 'x', 1);
INSERT INTO steps (ROWTIME, k, n) VALUES (5000, 'x', 2);
INSERT INTO steps (ROWTIME, k, n) VALUES (5000, 'y', 3);
INSERT INTO steps (ROWTIME, k, n) VALUES (12000, 'x', 4);
INSERT INTO steps (ROWTIME, k, n) VALUES (2000, 'x', 5);
--@output PAIRS rowsort
-- rowtime | k | a | b
-- 1000    | x | 1 | 1
-- 12000   | x | 2 | 4
-- 12000   | x | 4 | 2
-- 12000   | x | 4 | 4
-- 12000   | x | 4 | 5
-- 12000   | x | 5 | 4
-- 2000    | x | 1 | 5
-- 2000    | x | 5 | 1
-- 2000    | x | 5 | 5
-- 5000    | x | 1 | 2
-- 5000    | x | 2 | 1
-- 5000    | x | 2 | 2
-- 5000    | x | 2 | 5
-- 5000    | x | 5 | 2
-- 5000    | y | 3 | 3

--@test: exactly once
--@server: ksql.streams.processing.guarantee = exactly_once_v2
CREATE STREAM pairs AS
  SELECT a.k AS k, a.n AS a, b.n AS b FROM steps a JOIN steps b ON a.k = b.k AND a.n < b.n EMIT CHANGES;
INSERT INTO steps (ROWTIME, k, n) VALUES (1000, 'x', 1);
INSERT INTO steps (ROWTIME, k, n) VALUES (5000, 'x', 2);
--@output PAIRS rowsort
-- k | a | b
-- x | 1 | 2
--@restart
INSERT INTO steps (ROWTIME, k, n) VALUES (3000, 'x', 3);
--@output PAIRS rowsort
-- k | a | b
-- x | 1 | 3
-- x | 2 | 3

--@test: a table by its own foreign key, and by its key
CREATE TABLE bosses AS SELECT s.id, s.name AS name, b.name AS boss FROM staff s LEFT JOIN staff b ON s.boss = b.id EMIT CHANGES;
CREATE TABLE twice AS SELECT a.id AS id, a.name AS name, b.boss AS boss FROM staff a JOIN staff b ON a.id = b.id EMIT CHANGES;
INSERT INTO staff (id, name, boss) VALUES ('1', 'Ann', NULL);
INSERT INTO staff (id, name, boss) VALUES ('2', 'Bob', '1');
INSERT INTO staff (id, name, boss) VALUES ('3', 'Cid', '2');
--@output BOSSES folded
-- s_id | name | boss
-- 1    | Ann  | NULL
-- 2    | Bob  | Ann
-- 3    | Cid  | Bob
--@output TWICE folded
-- id | name | boss
-- 1  | Ann  | NULL
-- 2  | Bob  | 1
-- 3  | Cid  | 2
INSERT INTO staff (id, name, boss) VALUES ('1', 'Anna', '3');
DELETE FROM staff WHERE id = '2';
--@output BOSSES folded
-- s_id | name | boss
-- 1    | Anna | Cid
-- 3    | Cid  | NULL
--@output TWICE folded
-- id | name | boss
-- 1  | Anna | 3
-- 3  | Cid  | 2
