-- CREATE OR REPLACE: the query goes on as itself.
CREATE STREAM s (k STRING KEY, v INT, w STRING) WITH (KAFKA_TOPIC = '${case}_s', VALUE_FORMAT = 'JSON', PARTITIONS = 1);

--@test: another WHERE, more columns; nothing is lost in between, also over a restart
CREATE STREAM a AS SELECT k, v FROM s EMIT CHANGES;
INSERT INTO s VALUES ('x', 1, 'one');
--@output A ordered
-- k | v
-- x | 1
CREATE OR REPLACE STREAM a AS SELECT k, v, UCASE(w) AS u FROM s WHERE v <> 2 EMIT CHANGES;
INSERT INTO s VALUES ('y', 2, 'two');
INSERT INTO s VALUES ('z', 3, 'three');
--@output A folded
-- k | v
-- x | 1
-- z | 3
--@restart
CREATE OR REPLACE STREAM a AS SELECT k, v, UCASE(w) AS u, v * 2 AS twice FROM s WHERE v > 0 EMIT CHANGES;
INSERT INTO s VALUES ('y', 4, 'four');
--@output A folded
-- k | v
-- x | 1
-- y | 4
-- z | 3

--@test: an aggregate keeps what it had counted at its last checkpoint
-- in micro-batches there is one before y is counted; what came after it the new query does again
SET 'ksql.execution.mode' = 'microbatch';
CREATE TABLE c AS SELECT k, COUNT(*) AS n FROM s GROUP BY k EMIT CHANGES;
INSERT INTO s VALUES ('x', 1, 'one');
--@output C folded
-- k | n
-- x | 1
INSERT INTO s VALUES ('y', 5, 'five');
--@output C folded
-- k | n
-- x | 1
-- y | 1
CREATE OR REPLACE TABLE c AS SELECT k, COUNT(*) AS n, COUNT(*) + 1 AS more FROM s WHERE v > 1 GROUP BY k EMIT CHANGES;
INSERT INTO s VALUES ('x', 1, 'not any more');
INSERT INTO s VALUES ('x', 2, 'two');
--@output C folded
-- k | n
-- x | 2
-- y | 1

--@test: a table gains its first WHERE, and loses its only one; what no longer matches is deleted
CREATE TABLE t (k STRING PRIMARY KEY, v INT) WITH (KAFKA_TOPIC = '${case}_t', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE TABLE f AS SELECT k, v FROM t EMIT CHANGES;
INSERT INTO t VALUES ('a', 1);
INSERT INTO t VALUES ('b', 1);
INSERT INTO t VALUES ('c', 1);
--@output F ordered
-- k | v
-- a | 1
-- b | 1
-- c | 1
CREATE OR REPLACE TABLE f AS SELECT k, v FROM t WHERE v <> 2 EMIT CHANGES;
INSERT INTO t VALUES ('a', 2);
INSERT INTO t VALUES ('a', 2);
INSERT INTO t VALUES ('b', 3);
--@restart
INSERT INTO t VALUES ('b', 2);
INSERT INTO t VALUES ('b', 2);
INSERT INTO t VALUES ('d', 4);
INSERT INTO t VALUES ('a', 2);
INSERT INTO t VALUES ('a', 5);
--@output F ordered
-- k | v
-- a | <deleted>
-- b | 3
-- b | <deleted>
-- d | 4
-- a | 5
CREATE OR REPLACE TABLE f AS SELECT k, v FROM t EMIT CHANGES;
INSERT INTO t VALUES ('d', 2);
INSERT INTO t VALUES ('e', 2);
--@output F folded
-- k | v
-- a | 5
-- c | 1
-- d | 2
-- e | 2

--@test: SOURCE tables answer pull queries
CREATE SOURCE TABLE t (k STRING PRIMARY KEY, v INT) WITH (KAFKA_TOPIC = '${case}_t', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE TABLE plain (k STRING PRIMARY KEY, v INT) WITH (KAFKA_TOPIC = '${case}_t', VALUE_FORMAT = 'JSON');
INSERT INTO plain VALUES ('x', 1);
INSERT INTO plain VALUES ('y', 2);
INSERT INTO plain VALUES ('x', 3);
SELECT * FROM t WHERE k = 'x';
--@rows
-- k | v
-- x | 3
INSERT INTO t VALUES ('z', 1);
--@error: INVALID_STATEMENT
DROP TABLE t DELETE TOPIC;
--@error: INVALID_STATEMENT
SELECT * FROM plain;
--@error: INVALID_STATEMENT

--@test: ASSERT TOPIC on a broker
ASSERT TOPIC '${case}_s' WITH (PARTITIONS = 1) TIMEOUT 0 SECONDS;
ASSERT NOT EXISTS TOPIC '${case}_nothing' TIMEOUT 0 SECONDS;
ASSERT TOPIC '${case}_s' WITH (PARTITIONS = 2) TIMEOUT 100 MILLISECONDS;
--@error: ASSERTION_FAILED
-- Mismatched configuration for topic ${case}_s: For config partitions, expected 2 got 1.
