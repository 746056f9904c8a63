-- INSERT INTO … VALUES.
CREATE STREAM s (k STRING KEY, a INT, b DOUBLE, c BOOLEAN, d DECIMAL(5, 2), e ARRAY<INT>, f MAP<STRING, BIGINT>, g STRUCT<x INT>, h TIMESTAMP)
  WITH (KAFKA_TOPIC = '${case}_s', VALUE_FORMAT = 'JSON', PARTITIONS = 1);

--@test: values of every type, expressions, columns left out
INSERT INTO s VALUES ('k', 1, 2.5, true, 3.75, ARRAY[1, NULL], MAP('x' := 1), STRUCT(x := 7), '2024-02-29T12:00:00');
INSERT INTO s (k, a) VALUES (UCASE('abc'), 1 + 2 * 3);
INSERT INTO s (ROWTIME, a) VALUES (1234, -1);
--@output S ordered
-- k    | a  | b    | c    | d    | e         | f        | g        | h
-- k    | 1  | 2.5  | true | 3.75 | [1, null] | {"x": 1} | {"X": 7} | 2024-02-29T12:00:00.000
-- ABC  | 7  | NULL | NULL | NULL | NULL      | NULL     | NULL     | NULL
-- NULL | -1 | NULL | NULL | NULL | NULL      | NULL     | NULL     | NULL
INSERT INTO s (ROWTIME, k) VALUES (5678, 'z');
--@output S ordered
-- rowtime | k | a
-- 5678    | z | NULL
INSERT INTO s (ROWTIME, k, a) VALUES (0, 'the first ms', 1);
INSERT INTO s (ROWTIME, a) VALUES (0, 2);
--@output S ordered
-- rowtime | k            | a
-- 0       | the first ms | 1
-- 0       | NULL         | 2

--@test: what cannot be inserted is refused
INSERT INTO s (ROWTIME, k) VALUES (-1, 'k');
--@error: INVALID_STATEMENT
-- Failed to insert values into 'S'. ROWTIME must be between 0 and 9223372036854775.
INSERT INTO s (ROWTIME, k) VALUES (9223372036854775807, 'k');
--@error: INVALID_STATEMENT
-- Failed to insert values into 'S'. ROWTIME must be between 0 and 9223372036854775.
INSERT INTO s (k, a) VALUES ('k', 'text');
--@error: INVALID_STATEMENT
-- Expected type INTEGER for field `A` but got STRING('text').
-- line 1:35
--   INSERT INTO s (k, a) VALUES ('k', 'text')
--                                     ^^^^^^
INSERT INTO s (k, h) VALUES ('k', '2024-02-30T12:00:00');
--@error: INVALID_STATEMENT
-- Failed to insert values into 'S'. '2024-02-30T12:00:00' is not a valid TIMESTAMP. A TIMESTAMP is written as 2020-02-23T23:45:10.250, UTC or with a zone such as +02:00; parts at its end may be missing.
-- line 1:35
--   INSERT INTO s (k, h) VALUES ('k', '2024-02-30T12:00:00')
--                                     ^^^^^^^^^^^^^^^^^^^^^
INSERT INTO s (k, a) VALUES ('k', 1 / 0);
--@error: INVALID_STATEMENT
-- Failed to insert values into 'S'. A: An operand is NULL, the divisor is zero, or the result does not fit its type.
-- line 1:35
--   INSERT INTO s (k, a) VALUES ('k', 1 / 0)
--                                     ^^^^^
INSERT INTO s (k, b) VALUES ('k', 1 / 0);
--@error: INVALID_STATEMENT
-- Failed to insert values into 'S'. B: An operand is NULL, the divisor is zero, or the result does not fit its type.
-- line 1:35
--   INSERT INTO s (k, b) VALUES ('k', 1 / 0)
--                                     ^^^^^
INSERT INTO s (k, nothing) VALUES ('k', 1);
--@error: INVALID_STATEMENT
-- Column name `NOTHING` does not exist.
-- line 1:19
--   INSERT INTO s (k, nothing) VALUES ('k', 1)
--                     ^^^^^^^
INSERT INTO t (k) VALUES ('k');
--@error: INSERT_UNKNOWN
-- Cannot insert values into an unknown stream/table: `T`
-- line 1:13
--   INSERT INTO t (k) VALUES ('k')
--               ^
INSERT INTO s (k, h) VALUES ('k', '2024-02-29 12:00:00');
--@error: INVALID_STATEMENT
-- Failed to insert values into 'S'. '2024-02-29 12:00:00' is not a valid TIMESTAMP. Write T between the date and the time: '2024-02-29T12:00:00'.
-- line 1:35
--   INSERT INTO s (k, h) VALUES ('k', '2024-02-29 12:00:00')
--                                     ^^^^^^^^^^^^^^^^^^^^^
INSERT INTO s (k, a) VALUES ('k', CAST('x' AS INT));
--@error: INVALID_STATEMENT
-- Failed to insert values into 'S'. 'x' is not a valid INTEGER.
-- line 1:35
--   INSERT INTO s (k, a) VALUES ('k', CAST('x' AS INT))
--                                     ^^^^^^^^^^^^^^^^
INSERT INTO s (k, e) VALUES ('k', ARRAY[1, CAST(UCASE('x') AS INT)]);
--@error: INVALID_STATEMENT
-- Failed to insert values into 'S'. UCASE('x') is not a valid INTEGER.
-- line 1:35
--   INSERT INTO s (k, e) VALUES ('k', ARRAY[1, CAST(UCASE('x') AS INT)])
--                                     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
CREATE TABLE t (k STRING PRIMARY KEY, v INT) WITH (KAFKA_TOPIC = '${case}_t', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
INSERT INTO t (v) VALUES (1);
--@error: INVALID_STATEMENT
-- Failed to insert values into 'T'. Value for primary key column(s) K is required for tables.
-- line 1:1
--   INSERT INTO t (v) VALUES (1)
--   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^

--@test: several rows
INSERT INTO s (k, a, d) VALUES ('x', 1, 2), (UCASE('y'), 1 + 1, 2.5), (NULL, NULL, NULL);
INSERT INTO s (ROWTIME, k) VALUES (1, 'one'), (0, 'zero');
--@output S ordered
-- k    | a    | d
-- x    | 1    | 2.00
-- Y    | 2    | 2.50
-- NULL | NULL | NULL
-- one  | NULL | NULL
-- zero | NULL | NULL
INSERT INTO s (k, a) VALUES ('before', 1), ('wrong', 1 / 0);
--@error: INVALID_STATEMENT
-- Failed to insert values into 'S'. Row 2: A: An operand is NULL, the divisor is zero, or the result does not fit its type.
-- line 1:54
--   INSERT INTO s (k, a) VALUES ('before', 1), ('wrong', 1 / 0)
--                                                        ^^^^^
INSERT INTO s (k, h) VALUES ('before', '2024-02-29T12:00:00'), ('wrong', '2024-02-30T12:00:00'), ('after', NULL);
--@error: INVALID_STATEMENT
-- Failed to insert values into 'S'. Row 2: '2024-02-30T12:00:00' is not a valid TIMESTAMP. A TIMESTAMP is written as 2020-02-23T23:45:10.250, UTC or with a zone such as +02:00; parts at its end may be missing.
-- line 1:74
--   INSERT INTO s (k, h) VALUES ('before', '2024-02-29T12:00:00'), ('wrong', '2024-02-30T12:00:00'), ('after', NULL)
--                                                                            ^^^^^^^^^^^^^^^^^^^^^
INSERT INTO s (k, a) VALUES ('before', 1), ('wrong', 'text');
--@error: INVALID_STATEMENT
-- Expected type INTEGER for field `A` but got STRING('text').
-- line 1:54
--   INSERT INTO s (k, a) VALUES ('before', 1), ('wrong', 'text')
--                                                        ^^^^^^
CREATE STREAM rules (k STRING KEY, a INT NOT NULL, b INT, CHECK (a < b), CHECK (UCASE(k) <> 'X')) WITH (KAFKA_TOPIC = '${case}_r', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
INSERT INTO rules VALUES ('a', 1, 2), ('b', 3, 2);
--@error: INVALID_STATEMENT
-- Failed to insert values into 'RULES'. Row 2: The row violates CHECK (A < B).
-- line 1:45
--   INSERT INTO rules VALUES ('a', 1, 2), ('b', 3, 2)
--                                               ^
INSERT INTO rules (k, b) VALUES ('a', 2), ('b', 3);
--@error: INVALID_STATEMENT
-- Failed to insert values into 'RULES'. Row 1: The row violates A NOT NULL.
INSERT INTO rules VALUES ('a', 1, 2), ('b', 1, 2), ('x', 1, 2);
--@error: INVALID_STATEMENT
-- Failed to insert values into 'RULES'. Row 3: The row violates CHECK (UCASE(K) <> 'X').
-- line 1:53
--   INSERT INTO rules VALUES ('a', 1, 2), ('b', 1, 2), ('x', 1, 2)
--                                                       ^^^
INSERT INTO rules VALUES ('a', 1, 2), ('b', 1, 3);
--@output RULES ordered
-- k | a | b
-- a | 1 | 2
-- b | 1 | 3

--@test: several rows in one transaction
SET 'processing.guarantee' = 'exactly_once_v2';
INSERT INTO s (k, a) VALUES ('x', 1), ('y', 2), ('z', 3);
INSERT INTO s (k, a) VALUES ('u', 4), ('v', 5);
--@output S ordered
-- k | a
-- x | 1
-- y | 2
-- z | 3
-- u | 4
-- v | 5
INSERT INTO s (ROWTIME, k) VALUES (1, 'x'), (0, 'y');
--@error: INVALID_STATEMENT
-- Rows with ROWTIME 0 cannot be written in a transaction. INSERT each of them alone.

--@test: nothing is written if the broker would refuse a row
CREATE TABLE compacted (k STRING PRIMARY KEY, v INT) WITH (KAFKA_TOPIC = '${case}_compacted', VALUE_FORMAT = 'JSON', PARTITIONS = 4);
CREATE STREAM of_table (k STRING KEY, v INT) WITH (KAFKA_TOPIC = '${case}_compacted', VALUE_FORMAT = 'JSON');
INSERT INTO of_table (k, v) VALUES ('x', 1), (NULL, 2), ('y', 3);
--@error: INVALID_STATEMENT
-- Failed to insert values into 'OF_TABLE'. Row 2: Topic ${case}_compacted is compacted, so that each record needs a key.
INSERT INTO of_table (k, v) VALUES ('z', 4), ('x', 5);
--@output OF_TABLE rowsort
-- k | v
-- z | 4
-- x | 5
