-- Sums of DECIMALs: exact, also after they did not fit their type; NULL and an entry while they do not.
--@server: ksql.logging.processing.topic.name = ${case}_log
--@server: ksql.logging.processing.topic.auto.create = true
--@server: ksql.logging.processing.stream.auto.create = true
--@server: ksql.logging.processing.rows.include = true
CREATE STREAM s (k STRING KEY, d DECIMAL(38, 1), n DECIMAL(4, 2))
  WITH (KAFKA_TOPIC = '${case}_s', VALUE_FORMAT = 'JSON', PARTITIONS = 1);

--@test: a sum of 38 digits
CREATE STREAM entries AS
  SELECT logger, message->recordProcessingError->errorMessage AS message,
    message->recordProcessingError->cause AS cause, message->recordProcessingError->record AS record
  FROM KSQL_PROCESSING_LOG EMIT CHANGES;
CREATE TABLE t AS SELECT k, SUM(d) AS t, COUNT(*) AS n FROM s GROUP BY k EMIT CHANGES;
INSERT INTO s (k, d) VALUES ('a', 5000000000000000000000000000000000000.0);
INSERT INTO s (k, d) VALUES ('a', 6000000000000000000000000000000000000.0);
INSERT INTO s (k, d) VALUES ('b', 1);
INSERT INTO s (k, d) VALUES ('a', -5000000000000000000000000000000000000.0);
INSERT INTO s (k, d) VALUES ('a', -5000000000000000000000000000000000000.0);
--@output T ordered
-- k | t                                       | n
-- a | 5000000000000000000000000000000000000.0 | 1
-- a | NULL                                    | 2
-- b | 1.0                                     | 1
-- a | 6000000000000000000000000000000000000.0 | 3
-- a | 1000000000000000000000000000000000000.0 | 4
--@output ENTRIES rowsort
-- logger                                | message        | cause                                            | record
-- processing.CTAS_T_3.Aggregate.Project | SUM(D) failed. | ["The result does not fit into DECIMAL(38, 1)."] | {"K":"a"}
SELECT k, t FROM t WHERE k = 'a';
--@rows
-- k | t
-- a | 1000000000000000000000000000000000000.0
SELECT k, SUM(d) AS t FROM s GROUP BY k;
--@rows rowsort
-- k | t
-- a | 1000000000000000000000000000000000000.0
-- b | 1.0
SELECT SUM(d) AS t FROM s WHERE d > 1;
--@rows
-- t
-- NULL
SELECT k, SUM(d) AS t FROM s GROUP BY k HAVING SUM(d) > 1;
--@rows
-- k | t
-- a | 1000000000000000000000000000000000000.0
SELECT d, SUM(d) OVER (PARTITION BY k ORDER BY d) AS t FROM s WHERE k = 'a';
--@rows
-- d                                        | t
-- -5000000000000000000000000000000000000.0 | NULL
-- -5000000000000000000000000000000000000.0 | NULL
-- 5000000000000000000000000000000000000.0  | -5000000000000000000000000000000000000.0
-- 6000000000000000000000000000000000000.0  | 1000000000000000000000000000000000000.0

--@test: a sum of four digits
CREATE STREAM entries AS
  SELECT message->recordProcessingError->errorMessage AS message,
    message->recordProcessingError->cause AS cause, message->recordProcessingError->record AS record
  FROM KSQL_PROCESSING_LOG EMIT CHANGES;
CREATE TABLE t AS SELECT k, SUM(n) AS t FROM s GROUP BY k EMIT CHANGES;
INSERT INTO s (k, n) VALUES ('a', 30.33);
INSERT INTO s (k, n) VALUES ('b', 1.00);
INSERT INTO s (k, n) VALUES ('a', 22.34);
INSERT INTO s (k, n) VALUES ('b', 1.00);
INSERT INTO s (k, n) VALUES ('a', 60.99);
INSERT INTO s (k, n) VALUES ('b', 1.00);
INSERT INTO s (k, n) VALUES ('a', -20.00);
INSERT INTO s (k, n) VALUES ('b', 1.00);
--@output T ordered
-- k | t
-- a | 30.33
-- b | 1.00
-- a | 52.67
-- b | 2.00
-- a | NULL
-- b | 3.00
-- a | 93.66
-- b | 4.00
--@output ENTRIES rowsort
-- message        | cause                                                                               | record
-- SUM(N) failed. | ["The result does not fit into DECIMAL(4, 2). CAST its argument to a larger type."] | {"K":"a"}

--@test: a condition on a sum
CREATE STREAM entries AS
  SELECT logger, message->recordProcessingError->errorMessage AS message,
    message->recordProcessingError->record AS record
  FROM KSQL_PROCESSING_LOG EMIT CHANGES;
CREATE TABLE t AS SELECT k, SUM(n) AS t, COUNT(*) AS c FROM s GROUP BY k HAVING SUM(n) > 0 EMIT CHANGES;
CREATE TABLE o AS SELECT k, SUM(n) AS t, COUNT(*) AS c FROM s GROUP BY k HAVING SUM(n) > 0 OR COUNT(*) = 2 EMIT CHANGES;
INSERT INTO s (k, n) VALUES ('a', 60.00);
INSERT INTO s (k, n) VALUES ('a', 60.00);
INSERT INTO s (k, n) VALUES ('a', -40.00);
INSERT INTO s (k, n) VALUES ('b', 1.00);
--@output T ordered
-- k | t         | c
-- a | 60.00     | 1
-- a | <deleted> | <deleted>
-- a | 80.00     | 3
-- b | 1.00      | 1
--@output O ordered
-- k | t     | c
-- a | 60.00 | 1
-- a | NULL  | 2
-- a | 80.00 | 3
-- b | 1.00  | 1
--@output ENTRIES rowsort
-- logger                                | message        | record
-- processing.CTAS_O_4.Aggregate.Project | SUM(N) failed. | {"K":"a"}
-- processing.CTAS_T_3.HavingFilter      | SUM(N) failed. | NULL

--@test: sums of a table take rows back
CREATE STREAM entries AS
  SELECT message->recordProcessingError->errorMessage AS message,
    message->recordProcessingError->record AS record
  FROM KSQL_PROCESSING_LOG EMIT CHANGES;
CREATE TABLE p (id INT PRIMARY KEY, k STRING, d DECIMAL(38, 1), n DECIMAL(4, 2))
  WITH (KAFKA_TOPIC = '${case}_p', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE TABLE t AS SELECT k, SUM(d) AS t, SUM(n) AS u FROM p GROUP BY k EMIT CHANGES;
INSERT INTO p VALUES (1, 'a', 5000000000000000000000000000000000000.1, 50.01);
INSERT INTO p VALUES (2, 'a', 6000000000000000000000000000000000000.2, 60.02);
INSERT INTO p VALUES (3, 'a', 3000000000000000000000000000000000000.4, 30.03);
INSERT INTO p VALUES (2, 'a', 0.2, 0.02);
INSERT INTO p VALUES (1, 'b', 1.0, 1.00);
INSERT INTO p (id) VALUES (3);
--@output T ordered
-- k | t                                       | u
-- a | 5000000000000000000000000000000000000.1 | 50.01
-- a | NULL                                    | NULL
-- a | NULL                                    | NULL
-- a | 8000000000000000000000000000000000000.7 | 80.06
-- a | 3000000000000000000000000000000000000.6 | 30.05
-- b | 1.0                                     | 1.00
-- a | 0.2                                     | 0.02
--@output ENTRIES rowsort
-- message                                              | record
-- GROUP BY: K is NULL, so the row belongs to no group. | {"K":null}
-- SUM(D) failed.                                       | {"K":"a"}
-- SUM(D) failed.                                       | {"K":"a"}
-- SUM(N) failed.                                       | {"K":"a"}
-- SUM(N) failed.                                       | {"K":"a"}

--@test: sessions that are merged, sliding windows, and distinct values
CREATE STREAM entries AS
  SELECT message->recordProcessingError->errorMessage AS message FROM KSQL_PROCESSING_LOG EMIT CHANGES;
CREATE TABLE sessions AS SELECT k, SUM(d) AS t, SUM(n) AS u FROM s WINDOW SESSION (10 SECONDS) GROUP BY k EMIT CHANGES;
CREATE TABLE sliding AS SELECT k, SUM(d) AS t, SUM(DISTINCT n) AS u FROM s WINDOW SLIDING (SIZE 10 SECONDS, GRACE PERIOD 1 DAY) GROUP BY k EMIT CHANGES;
CREATE TABLE final AS SELECT k, SUM(d) AS t, SUM(DISTINCT n) AS u, SUM(DISTINCT d) AS v FROM s
  WINDOW TUMBLING (SIZE 1 MINUTE, GRACE PERIOD 0 SECONDS) GROUP BY k EMIT FINAL;
INSERT INTO s (k, d, n, ROWTIME) VALUES ('a', 6000000000000000000000000000000000000.0, 60.00, 0);
INSERT INTO s (k, d, n, ROWTIME) VALUES ('a', 6000000000000000000000000000000000000.0, 50.00, 15000);
INSERT INTO s (k, d, n, ROWTIME) VALUES ('a', -3000000000000000000000000000000000000.0, -30.00, 8000);
INSERT INTO s (k, d, n, ROWTIME) VALUES ('a', 6000000000000000000000000000000000000.0, 60.00, 15001);
INSERT INTO s (k, d, n, ROWTIME) VALUES ('b', 1, 1.00, 120000);
--@output SESSIONS ordered
-- k | windowstart | windowend | t                                       | u
-- a | 0           | 0         | 6000000000000000000000000000000000000.0 | 60.00
-- a | 15000       | 15000     | 6000000000000000000000000000000000000.0 | 50.00
-- a | 0           | 0         | <deleted>                               | <deleted>
-- a | 15000       | 15000     | <deleted>                               | <deleted>
-- a | 0           | 15000     | 9000000000000000000000000000000000000.0 | 80.00
-- a | 0           | 15000     | <deleted>                               | <deleted>
-- a | 0           | 15001     | NULL                                    | NULL
-- b | 120000      | 120000    | 1.0                                     | 1.00
--@output SLIDING folded
-- k | windowstart | windowend | t                                        | u
-- a | 0           | 10000     | 3000000000000000000000000000000000000.0  | 30.00
-- a | 1           | 10001     | -3000000000000000000000000000000000000.0 | -30.00
-- a | 15001       | 25001     | 6000000000000000000000000000000000000.0  | 60.00
-- a | 5000        | 15000     | 3000000000000000000000000000000000000.0  | 20.00
-- a | 5001        | 15001     | 9000000000000000000000000000000000000.0  | 80.00
-- a | 8001        | 18001     | NULL                                     | NULL
-- b | 110000      | 120000    | 1.0                                      | 1.00
--@output FINAL ordered
-- k | windowstart | windowend | t    | u     | v
-- a | 0           | 60000     | NULL | 80.00 | 3000000000000000000000000000000000000.0
--@output ENTRIES rowsort
-- message
-- SUM(D) failed.
-- SUM(D) failed.
-- SUM(D) failed.
-- SUM(DISTINCT N) failed.
-- SUM(N) failed.

--@test: OVER, the best rows, patterns, and rows that are inserted elsewhere
CREATE STREAM entries AS
  SELECT message->recordProcessingError->errorMessage AS message,
    message->recordProcessingError->record AS record
  FROM KSQL_PROCESSING_LOG EMIT CHANGES;
CREATE STREAM o AS SELECT k, n, SUM(d) OVER (PARTITION BY k ORDER BY ROWTIME) AS t,
  SUM(n) OVER (PARTITION BY k ORDER BY ROWTIME ROWS 1 PRECEDING) AS u FROM s EMIT CHANGES;
CREATE TABLE sums AS SELECT k, SUM(n) AS t FROM s GROUP BY k EMIT CHANGES;
CREATE TABLE tops AS SELECT LEN(k) AS g, ROW_NUMBER() OVER (PARTITION BY LEN(k) ORDER BY t DESC) AS place, k, t FROM sums
  QUALIFY place <= 1 EMIT CHANGES;
CREATE STREAM m AS SELECT k, total FROM s MATCH_RECOGNIZE (
  PARTITION BY k ORDER BY ROWTIME MEASURES SUM(A.n) AS total PATTERN (A A) WITHIN 1 HOUR DEFINE A AS TRUE) EMIT CHANGES;
CREATE STREAM elsewhere (k STRING KEY, n DECIMAL(4, 2), t DECIMAL(38, 1), u DECIMAL(4, 2))
  WITH (KAFKA_TOPIC = '${case}_e', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
INSERT INTO elsewhere SELECT * FROM o EMIT CHANGES;
INSERT INTO s (k, d, n) VALUES ('a', 6000000000000000000000000000000000000.0, 60.00);
INSERT INTO s (k, d, n) VALUES ('a', 6000000000000000000000000000000000000.0, 61.00);
INSERT INTO s (k, d, n) VALUES ('a', -6000000000000000000000000000000000000.0, -30.00);
INSERT INTO s (k, d, n) VALUES ('a', 1.0, 5.00);
INSERT INTO s (k, d, n) VALUES ('b', 1, 5.00);
--@output O ordered
-- k | n      | t                                       | u
-- a | 60.00  | 6000000000000000000000000000000000000.0 | 60.00
-- a | 61.00  | NULL                                    | NULL
-- a | -30.00 | 6000000000000000000000000000000000000.0 | 31.00
-- a | 5.00   | 6000000000000000000000000000000000001.0 | -25.00
-- b | 5.00   | 1.0                                     | 5.00
--@output ELSEWHERE ordered
-- k | n      | t                                       | u
-- a | 60.00  | 6000000000000000000000000000000000000.0 | 60.00
-- a | 61.00  | NULL                                    | NULL
-- a | -30.00 | 6000000000000000000000000000000000000.0 | 31.00
-- a | 5.00   | 6000000000000000000000000000000000001.0 | -25.00
-- b | 5.00   | 1.0                                     | 5.00
--@output SUMS ordered
-- k | t
-- a | 60.00
-- a | NULL
-- a | 91.00
-- a | 96.00
-- b | 5.00
--@output TOPS folded
-- g | place | k | t
-- 1 | 1     | a | 96.00
--@output M ordered
-- k | total
-- a | NULL
-- a | -25.00
--@output ENTRIES rowsort
-- message        | record
-- SUM(D) failed. | {"K":"a","D":6000000000000000000000000000000000000.0,"N":61.00}
-- SUM(N) failed. | {"K":"a","D":6000000000000000000000000000000000000.0,"N":61.00}
-- SUM(N) failed. | {"K":"a"}
-- SUM(N) failed. | {"K":"a"}

--@test: in a line of text
CREATE TABLE t WITH (VALUE_FORMAT = 'DELIMITED') AS SELECT k, SUM(n) AS t, SUM(d) AS u FROM s GROUP BY k EMIT CHANGES;
INSERT INTO s (k, d, n) VALUES ('a', 9999999999999999999999999999999999999.9, 99.99);
INSERT INTO s (k, d, n) VALUES ('a', 9999999999999999999999999999999999999.9, 99.99);
INSERT INTO s (k, d, n) VALUES ('a', -9999999999999999999999999999999999999.9, -99.99);
--@output T ordered
-- k | t     | u
-- a | 99.99 | 9999999999999999999999999999999999999.9
-- a | NULL  | NULL
-- a | 99.99 | 9999999999999999999999999999999999999.9

--@test: a sum that did not fit when its query stopped
CREATE TABLE t AS SELECT k, SUM(d) AS t, SUM(n) AS u FROM s GROUP BY k EMIT CHANGES;
INSERT INTO s (k, d, n) VALUES ('a', 9999999999999999999999999999999999999.9, 99.99);
INSERT INTO s (k, d, n) VALUES ('a', 9999999999999999999999999999999999999.9, 99.98);
--@output T ordered
-- k | t                                       | u
-- a | 9999999999999999999999999999999999999.9 | 99.99
-- a | NULL                                    | NULL
--@restart
INSERT INTO s (k, d, n) VALUES ('a', -9999999999999999999999999999999999999.9, -99.99);
--@output T ordered
-- k | t                                       | u
-- a | 9999999999999999999999999999999999999.9 | 99.98
