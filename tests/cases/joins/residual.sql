-- Conditions besides the equality in ON: they decide whether two rows are a pair.
CREATE STREAM l (k STRING KEY, v INT) WITH (KAFKA_TOPIC = '${case}_l', VALUE_FORMAT = 'JSON', PARTITIONS = 4);
CREATE STREAM r (k STRING KEY, w INT) WITH (KAFKA_TOPIC = '${case}_r', VALUE_FORMAT = 'JSON', PARTITIONS = 4);
CREATE TABLE t (k STRING PRIMARY KEY, w INT) WITH (KAFKA_TOPIC = '${case}_t', VALUE_FORMAT = 'JSON', PARTITIONS = 4);
CREATE TABLE u (k STRING PRIMARY KEY, v INT) WITH (KAFKA_TOPIC = '${case}_u', VALUE_FORMAT = 'JSON', PARTITIONS = 4);

--@test: of streams: a row without such a partner is unmatched
CREATE STREAM pairs AS
  SELECT l.k AS k, l.v AS v, r.w AS w FROM l JOIN r WITHIN 10 SECONDS ON l.k = r.k AND l.v > r.w EMIT CHANGES;
CREATE STREAM lefts AS
  SELECT l.k AS k, l.v AS v, r.w AS w
  FROM l LEFT JOIN r WITHIN 10 SECONDS GRACE PERIOD 1 SECOND ON l.k = r.k AND l.v > r.w AND l.ROWTIME <= r.ROWTIME EMIT CHANGES;
INSERT INTO l (ROWTIME, k, v) VALUES (1000, 'a', 5);
INSERT INTO r (ROWTIME, k, w) VALUES (1500, 'a', 7);
INSERT INTO r (ROWTIME, k, w) VALUES (2000, 'a', 3);
INSERT INTO r (ROWTIME, k, w) VALUES (500, 'a', 1);
INSERT INTO l (ROWTIME, k, v) VALUES (3000, 'a', 4);
INSERT INTO l (ROWTIME, k, v) VALUES (3000, 'a', NULL);
INSERT INTO l (ROWTIME, k, v) VALUES (50000, 'a', 9);
--@output PAIRS rowsort
-- k | v | w
-- a | 4 | 1
-- a | 4 | 3
-- a | 5 | 1
-- a | 5 | 3
--@output LEFTS rowsort
-- k | v    | w
-- a | 4    | NULL
-- a | 5    | 3
-- a | NULL | NULL

--@test: of a stream with a table, and of tables
INSERT INTO t (k, w) VALUES ('a', 3);
INSERT INTO l (k, v) VALUES ('a', 4);
INSERT INTO l (k, v) VALUES ('a', 2);
INSERT INTO l (k, v) VALUES (NULL, 2);
CREATE STREAM known AS SELECT l.k AS k, v, w FROM l LEFT JOIN t ON l.k = t.k AND w < v EMIT CHANGES;
CREATE TABLE both AS SELECT t.k AS k, v, w FROM t JOIN u ON t.k = u.k AND w < v EMIT CHANGES;
INSERT INTO u (k, v) VALUES ('a', 4);
INSERT INTO u (k, v) VALUES ('b', 4);
--@output KNOWN rowsort
-- k    | v | w
-- NULL | 2 | NULL
-- a    | 2 | NULL
-- a    | 4 | 3
--@output BOTH folded
-- k | v | w
-- a | 4 | 3
INSERT INTO t (k, w) VALUES ('a', 9);
INSERT INTO t (k, w) VALUES ('b', 1);
--@output BOTH folded
-- k | v | w
-- b | 4 | 1

--@test: of tables: on the side that may be missing
CREATE TABLE kept AS SELECT u.k AS k, u.v AS v, t.w AS w FROM u LEFT JOIN t ON u.k = t.k AND t.w > 3 EMIT CHANGES;
CREATE TABLE kept_right AS SELECT t.k AS k, u.v AS v, t.w AS w FROM u RIGHT JOIN t ON u.k = t.k AND u.v < 7 EMIT CHANGES;
INSERT INTO u (k, v) VALUES ('a', 1);
INSERT INTO u (k, v) VALUES ('b', 2);
INSERT INTO u (k, v) VALUES ('c', NULL);
INSERT INTO t (k, w) VALUES ('a', 5);
INSERT INTO t (k, w) VALUES ('b', 1);
INSERT INTO t (k, w) VALUES ('c', 9);
--@output KEPT folded
-- k | v    | w
-- a | 1    | 5
-- b | 2    | NULL
-- c | NULL | 9
--@output KEPT_RIGHT folded
-- k | v    | w
-- a | 1    | 5
-- b | 2    | 1
-- c | NULL | 9
INSERT INTO t (k, w) VALUES ('a', 2);
INSERT INTO t (k, w) VALUES ('b', 4);
DELETE FROM t WHERE k = 'c';
INSERT INTO u (k, v) VALUES ('c', 7);
INSERT INTO u (k, v) VALUES ('a', 8);
--@output KEPT folded
-- k | v | w
-- a | 8 | NULL
-- b | 2 | 4
-- c | 7 | NULL
--@output KEPT_RIGHT folded
-- k | v    | w
-- a | NULL | 2
-- b | 2    | 4
