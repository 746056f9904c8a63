-- NOT NULL and CHECK: a row that violates one is reported and left out, and INSERT VALUES refuses it.
--@server: ksql.logging.processing.topic.name = ${case}_log
--@server: ksql.logging.processing.topic.auto.create = true
--@server: ksql.logging.processing.stream.auto.create = true

--@test: a stream, read with and without an alias
CREATE STREAM entries AS
  SELECT logger, message->recordProcessingError->errorMessage AS message, message->recordProcessingError->cause AS cause,
    input->`offset` AS off
  FROM KSQL_PROCESSING_LOG WHERE logger LIKE '%CSAS_COPY_%' EMIT CHANGES;
CREATE STREAM raw (k INT KEY, amount DOUBLE, a INT, b STRING) WITH (KAFKA_TOPIC = '${case}_s', KEY_FORMAT = 'KAFKA', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE STREAM s (k INT KEY NOT NULL, amount DOUBLE NOT NULL CHECK (amount > 0), a INT, b STRING, CONSTRAINT fits CHECK (a < LEN(b) OR b IS NULL))
  WITH (KAFKA_TOPIC = '${case}_s', VALUE_FORMAT = 'JSON');
CREATE STREAM copy AS SELECT k, amount, a FROM s EMIT CHANGES;
CREATE TABLE t (k INT PRIMARY KEY, name STRING) WITH (KAFKA_TOPIC = '${case}_t', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE STREAM joined AS SELECT s.k AS k, s.amount AS amount, t.name AS name FROM s LEFT JOIN t ON s.k = t.k EMIT CHANGES;
CREATE TABLE counted AS SELECT k, COUNT(*) AS n FROM s GROUP BY k EMIT CHANGES;
INSERT INTO raw (k, amount, a, b) VALUES (1, 1, 1, 'xx');
INSERT INTO raw (k, amount) VALUES (1, -1);
INSERT INTO raw (k, a) VALUES (1, 2);
INSERT INTO raw (amount, a) VALUES (2, 3);
INSERT INTO raw (k, amount, a, b) VALUES (1, 3, 4, 'x');
INSERT INTO s (k, amount, a, b) VALUES (1, 5, 0, 'x');
INSERT INTO s (k, amount) VALUES (2, 6);
INSERT INTO s (k, amount, a, b) VALUES (1, 5.0, 7, 'x' + 'y');
--@error: INVALID_STATEMENT
-- Failed to insert values into 'S'. The row violates CONSTRAINT FITS CHECK (A < LEN(B) OR B IS NULL).
-- line 1:49
--   INSERT INTO s (k, amount, a, b) VALUES (1, 5.0, 7, 'x' + 'y')
--                                                   ^
INSERT INTO s (k, amount) VALUES (1, -5);
--@error: INVALID_STATEMENT
-- Failed to insert values into 'S'. The row violates CHECK (AMOUNT > 0).
-- line 1:38
--   INSERT INTO s (k, amount) VALUES (1, -5)
--                                        ^^
INSERT INTO s (k, amount) VALUES (1, NULL);
--@error: INVALID_STATEMENT
-- Failed to insert values into 'S'. The row violates AMOUNT NOT NULL.
-- line 1:38
--   INSERT INTO s (k, amount) VALUES (1, NULL)
--                                        ^^^^
INSERT INTO s (amount) VALUES (1);
--@error: INVALID_STATEMENT
-- Failed to insert values into 'S'. The row violates K NOT NULL.
--@output COPY ordered
-- k | amount | a
-- 1 | 1.0    | 1
-- 1 | 5.0    | 0
-- 2 | 6.0    | NULL
--@output JOINED ordered
-- k | amount | name
-- 1 | 1.0    | NULL
-- 1 | 5.0    | NULL
-- 2 | 6.0    | NULL
--@output COUNTED folded
-- k | n
-- 1 | 2
-- 2 | 1
--@output ENTRIES ordered
-- logger                                              | message                                                | cause                                               | off
-- processing.CSAS_COPY_4.KsqlTopic.Source.constraints | A record was dropped because it violates a constraint. | ["CHECK (AMOUNT > 0)"]                              | 1
-- processing.CSAS_COPY_4.KsqlTopic.Source.constraints | A record was dropped because it violates a constraint. | ["AMOUNT NOT NULL"]                                 | 2
-- processing.CSAS_COPY_4.KsqlTopic.Source.constraints | A record was dropped because it violates a constraint. | ["K NOT NULL"]                                      | 3
-- processing.CSAS_COPY_4.KsqlTopic.Source.constraints | A record was dropped because it violates a constraint. | ["CONSTRAINT FITS CHECK (A < LEN(B) OR B IS NULL)"] | 4

--@test: a table keeps the row before a violation; tombstones pass
CREATE TABLE raw (k INT PRIMARY KEY, v STRING) WITH (KAFKA_TOPIC = '${case}_x', FORMAT = 'KAFKA', PARTITIONS = 4);
CREATE TABLE t (k INT PRIMARY KEY, v STRING CHECK (v LIKE 'a%')) WITH (KAFKA_TOPIC = '${case}_x', VALUE_FORMAT = 'DELIMITED');
CREATE TABLE copy AS SELECT * FROM t EMIT CHANGES;
CREATE TABLE counted AS SELECT v, COUNT(*) AS n FROM t GROUP BY v EMIT CHANGES;
INSERT INTO raw (k, v) VALUES (1, 'a1');
INSERT INTO raw (k, v) VALUES (2, 'a2');
INSERT INTO raw (k, v) VALUES (1, 'b1');
INSERT INTO raw (k) VALUES (2);
INSERT INTO t (k, v) VALUES (3, 'b');
--@error: INVALID_STATEMENT
-- Failed to insert values into 'T'. The row violates CHECK (V LIKE 'a%').
-- line 1:33
--   INSERT INTO t (k, v) VALUES (3, 'b')
--                                   ^^^
INSERT INTO t (k, v) VALUES (3, 'a1');
--@output COPY folded
-- k | v
-- 1 | a1
-- 3 | a1
--@output COUNTED folded
-- v  | n
-- a1 | 2
-- a2 | 0

--@test: a STRING with a CHECK is an enum
CREATE STREAM jobs (id INT KEY, status STRING CHECK (status IN ('new', 'done')))
  WITH (KAFKA_TOPIC = '${case}_jobs', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE STREAM places AS
  SELECT id, CASE status WHEN 'new' THEN 0 WHEN 'done' THEN 1 END AS place, CASE WHEN status LIKE 'n%' THEN 'begins' END AS how FROM jobs;
INSERT INTO jobs VALUES (1, 'new');
INSERT INTO jobs VALUES (2, 'other');
--@error: INVALID_STATEMENT
INSERT INTO jobs VALUES (3, NULL);
--@error: INVALID_STATEMENT
INSERT INTO jobs VALUES (4, 'done');
--@output PLACES ordered
-- id | place | how
-- 1  | 0     | begins
-- 4  | 1     | NULL
