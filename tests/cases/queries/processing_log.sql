-- Records and rows that fail leave an entry in the processing log, and nothing else stops.
--@server: ksql.logging.processing.topic.name = ${case}_log
--@server: ksql.logging.processing.topic.auto.create = true
--@server: ksql.logging.processing.stream.auto.create = true

--@test: records that cannot be read
CREATE STREAM entries AS
  SELECT logger, level, message->type AS type, message->deserializationError->target AS target,
    message->deserializationError->cause AS cause, message->deserializationError->recordB64 AS record
  FROM KSQL_PROCESSING_LOG EMIT CHANGES;
CREATE STREAM raw (k STRING KEY, v STRING) WITH (KAFKA_TOPIC = '${case}_s', FORMAT = 'KAFKA', PARTITIONS = 1);
CREATE STREAM s (k INT KEY, a INT, b STRUCT<c INT>)
  WITH (KAFKA_TOPIC = '${case}_s', KEY_FORMAT = 'KAFKA', VALUE_FORMAT = 'JSON');
CREATE STREAM copy AS SELECT * FROM s EMIT CHANGES;
INSERT INTO raw (k, v) VALUES ('abcd', '{"a": 1');
INSERT INTO raw (k, v) VALUES ('abcd', '{"a": 1, "b": {"c": "x"}}');
INSERT INTO raw (k, v) VALUES ('abcd', '[1]');
INSERT INTO raw (k, v) VALUES ('abc', '{"a": 2}');
INSERT INTO s (k, a) VALUES (1, 3);
--@output COPY ordered
-- k | a | b
-- 1 | 3 | NULL
--@output ENTRIES rowsort
-- logger                                               | level | type | target | cause                                                         | record
-- processing.CSAS_COPY_4.KsqlTopic.Source.deserializer | ERROR | 0    | key    | ["INTEGER needs 4 bytes, and there are 3."]                   | NULL
-- processing.CSAS_COPY_4.KsqlTopic.Source.deserializer | ERROR | 0    | value  | ["$.b.c: There is \"x\", which is not a number."]             | NULL
-- processing.CSAS_COPY_4.KsqlTopic.Source.deserializer | ERROR | 0    | value  | ["There is an array, which does not fit the column."]         | NULL
-- processing.CSAS_COPY_4.KsqlTopic.Source.deserializer | ERROR | 0    | value  | ["Unexpected end-of-input: expected close marker for Object"] | NULL

--@test: a TIME outside a day
CREATE STREAM entries AS
  SELECT message->deserializationError->cause AS cause FROM KSQL_PROCESSING_LOG EMIT CHANGES;
CREATE STREAM raw (v STRING) WITH (KAFKA_TOPIC = '${case}_t', VALUE_FORMAT = 'KAFKA', PARTITIONS = 1);
CREATE STREAM s (a INT, t TIME, l ARRAY<TIME>) WITH (KAFKA_TOPIC = '${case}_t', VALUE_FORMAT = 'JSON');
CREATE STREAM copy AS
  SELECT a, t, CAST(t AS STRING) AS text, FORMAT_TIME(t, 'HH:mm:ss') AS formatted FROM s EMIT CHANGES;
INSERT INTO raw (v) VALUES ('{"a": 1, "t": -1}');
INSERT INTO raw (v) VALUES ('{"a": 2, "l": [0, 90000000]}');
INSERT INTO raw (v) VALUES ('{"a": 3, "t": 0}');
INSERT INTO raw (v) VALUES ('{"a": 4, "t": "86400000"}');
INSERT INTO s (a, t) VALUES (5, '23:59:59');
--@output COPY ordered
-- a | t        | text     | formatted
-- 3 | 00:00    | 00:00    | 00:00:00
-- 4 | 00:00    | 00:00    | 00:00:00
-- 5 | 23:59:59 | 23:59:59 | 23:59:59
--@output ENTRIES rowsort
-- cause
-- ["$.l[1]: There are no 90000000 milliseconds in a day, as a TIME needs."]
-- ["$.t: There are no -1 milliseconds in a day, as a TIME needs."]

--@test: a line with too many fields
CREATE STREAM entries AS
  SELECT logger, message->deserializationError->`topic` = '${case}_d' AS is_topic,
    message->deserializationError->`partition` AS part, message->deserializationError->`offset` AS off,
    message->deserializationError->cause AS cause
  FROM KSQL_PROCESSING_LOG EMIT CHANGES;
CREATE STREAM raw (v STRING) WITH (KAFKA_TOPIC = '${case}_d', VALUE_FORMAT = 'KAFKA', PARTITIONS = 1);
CREATE STREAM d (a INT, b STRING) WITH (KAFKA_TOPIC = '${case}_d', VALUE_FORMAT = 'DELIMITED');
CREATE STREAM copy AS SELECT * FROM d EMIT CHANGES;
INSERT INTO raw (v) VALUES ('1,2,3');
INSERT INTO raw (v) VALUES ('x,y');
INSERT INTO d (a, b) VALUES (1, 'b');
--@output COPY ordered
-- a | b
-- 1 | b
--@output ENTRIES ordered
-- logger                                               | is_topic | part | off | cause
-- processing.CSAS_COPY_4.KsqlTopic.Source.deserializer | true     | 0    | 0   | ["Unexpected field count: there are 3, the schema has 2."]
-- processing.CSAS_COPY_4.KsqlTopic.Source.deserializer | true     | 0    | 1   | ["Column A: 'x' does not fit the column's type."]

--@test: expressions that fail
CREATE STREAM entries AS
  SELECT logger, message->type AS type, message->recordProcessingError->errorMessage AS message,
    message->recordProcessingError->record AS record
  FROM KSQL_PROCESSING_LOG EMIT CHANGES;
CREATE STREAM s (a INT, t STRING) WITH (KAFKA_TOPIC = '${case}_e', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE STREAM results AS
  SELECT CAST(t AS INT) AS number, CAST(t AS INT) + 1 AS next, 10 / a AS divided,
    COALESCE(CAST(t AS DATE), CAST('2020-01-01' AS DATE)) AS day, PARSE_DATE(t, 'yyyy') AS year, UCASE(t) AS text
  FROM s EMIT CHANGES;
CREATE STREAM big AS SELECT a FROM s WHERE a + LEN(t) > 4 EMIT CHANGES;
INSERT INTO s (a, t) VALUES (1, '2001');
INSERT INTO s (a, t) VALUES (0, 'abc');
INSERT INTO s (a) VALUES (1);
INSERT INTO s (a, t) VALUES (2, '2002');
--@output RESULTS ordered
-- number | next | divided | day        | year       | text
-- 2001   | 2002 | 10      | 2001-01-01 | 2001-01-01 | 2001
-- NULL   | NULL | NULL    | 2020-01-01 | NULL       | ABC
-- NULL   | NULL | 10      | 2020-01-01 | NULL       | NULL
-- 2002   | 2003 | 5       | 2002-01-01 | 2002-01-01 | 2002
--@output BIG ordered
-- a
-- 1
-- 2
--@output ENTRIES rowsort
-- logger                            | type | message                                       | record
-- processing.CSAS_BIG_4.WhereFilter | 1    | WHERE: ((A + LEN(T)) > 4) failed.             | NULL
-- processing.CSAS_RESULTS_3.Project | 1    | Column DAY: CAST(T AS DATE) failed.           | NULL
-- processing.CSAS_RESULTS_3.Project | 1    | Column DIVIDED: (10 / A) failed.              | NULL
-- processing.CSAS_RESULTS_3.Project | 1    | Column NEXT: (CAST(T AS INTEGER) + 1) failed. | NULL
-- processing.CSAS_RESULTS_3.Project | 1    | Column NEXT: (CAST(T AS INTEGER) + 1) failed. | NULL
-- processing.CSAS_RESULTS_3.Project | 1    | Column NUMBER: CAST(T AS INTEGER) failed.     | NULL
-- processing.CSAS_RESULTS_3.Project | 1    | Column YEAR: PARSE_DATE(T, 'yyyy') failed.    | NULL

--@test: what fails in a join's key leaves one entry
CREATE STREAM entries AS
  SELECT REGEXP_REPLACE(logger, '_[0-9]+', '') AS logger, message->recordProcessingError->errorMessage AS message
  FROM KSQL_PROCESSING_LOG EMIT CHANGES;
CREATE STREAM s (a INT, t STRING) WITH (KAFKA_TOPIC = '${case}_j', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE TABLE n (k INT PRIMARY KEY, name STRING) WITH (KAFKA_TOPIC = '${case}_n', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE TABLE r (k INT PRIMARY KEY, name STRING)
  WITH (KAFKA_TOPIC = '${case}_n', VALUE_FORMAT = 'JSON', REPLICATED = true);
INSERT INTO n (k, name) VALUES (0, 'none');
INSERT INTO n (k, name) VALUES (1, 'one');
INSERT INTO s (a, t) VALUES (1, '1');
INSERT INTO s (a, t) VALUES (2, 'x');
CREATE STREAM plain AS
  SELECT n.k AS k, s.a AS a, n.name AS name FROM s JOIN n ON COALESCE(CAST(s.t AS INT), 0) = n.k EMIT CHANGES;
CREATE STREAM whole AS SELECT s.a AS a, r.name AS name FROM s LEFT JOIN r ON CAST(s.t AS INT) = r.k EMIT CHANGES;
--@output PLAIN rowsort
-- k | a | name
-- 0 | 2 | none
-- 1 | 1 | one
--@output WHOLE rowsort
-- a | name
-- 1 | one
-- 2 | NULL
--@output ENTRIES rowsort
-- logger                          | message
-- processing.CSAS_PLAIN.Join.Left | Join key: CAST(S_T AS INTEGER) failed.
-- processing.CSAS_WHOLE.Join.Left | Join key: CAST(S_T AS INTEGER) failed.

--@test: results that are too large
CREATE STREAM entries AS
  SELECT message->recordProcessingError->errorMessage AS message, message->recordProcessingError->cause AS cause
  FROM KSQL_PROCESSING_LOG EMIT CHANGES;
CREATE STREAM s (v INT, t STRING) WITH (KAFKA_TOPIC = '${case}_l', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE STREAM results AS
  SELECT v, ARRAY_LENGTH(GENERATE_SERIES(v, 2000000000)) AS many, LEN(LPAD(t, v, 'x')) AS padded FROM s EMIT CHANGES;
CREATE STREAM rows_of AS SELECT v, EXPLODE(GENERATE_SERIES(v, 2000000000)) AS n FROM s EMIT CHANGES;
INSERT INTO s (v, t) VALUES (1, 'a');
INSERT INTO s (v, t) VALUES (1999999999, 'a');
INSERT INTO s (v, t) VALUES (ARRAY_LENGTH(GENERATE_SERIES(1, 2000000000)), 'a');
--@output RESULTS ordered
-- v          | many | padded
-- 1          | NULL | 1
-- 1999999999 | 2    | NULL
-- NULL       | NULL | NULL
--@output ROWS_OF ordered
-- v          | n
-- 1999999999 | 1999999999
-- 1999999999 | 2000000000
--@output ENTRIES rowsort
-- message                                                     | cause
-- Column KSQL_SYNTH_0: GENERATE_SERIES(V, 2000000000) failed. | ["GENERATE_SERIES has no result for its arguments, or gives more than ksql.functions.max.elements allows."]
-- Column MANY: GENERATE_SERIES(V, 2000000000) failed.         | ["GENERATE_SERIES has no result for its arguments, or gives more than ksql.functions.max.elements allows."]
-- Column PADDED: LPAD(T, V, 'x') failed.                      | ["LPAD gives more than ksql.functions.max.bytes allows."]
SELECT ARRAY_LENGTH(GENERATE_SERIES(v, 2000000000)) AS many FROM s;
--@rows
-- many
-- NULL
-- 2
-- NULL

--@test: a table function that fails gives no rows; the others of its SELECT go on
CREATE STREAM entries AS
  SELECT message->recordProcessingError->errorMessage AS message, message->recordProcessingError->cause AS cause
  FROM KSQL_PROCESSING_LOG EMIT CHANGES;
CREATE STREAM s (id INT, n INT) WITH (KAFKA_TOPIC = '${case}_t', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE STREAM rows_of AS
  SELECT id, CUBE_EXPLODE(GENERATE_SERIES(1, n)) AS c, EXPLODE(GENERATE_SERIES(n, 2000000000)) AS e,
    EXPLODE(ARRAY[id]) AS x
  FROM s EMIT CHANGES;
INSERT INTO s (id, n) VALUES (1, 1);
INSERT INTO s (id, n) VALUES (2, 2000000000);
INSERT INTO s (id, n) VALUES (3, 25);
--@output ROWS_OF ordered
-- id | c      | e          | x
-- 1  | [null] | NULL       | 1
-- 1  | [1]    | NULL       | NULL
-- 2  | NULL   | 2000000000 | 2
-- 3  | NULL   | NULL       | 3
--@output ENTRIES rowsort
-- message                                                          | cause
-- Column KSQL_SYNTH_0: CUBE_EXPLODE(GENERATE_SERIES(1, N)) failed. | ["CUBE_EXPLODE gives more than ksql.functions.max.elements allows."]
-- Column KSQL_SYNTH_0: GENERATE_SERIES(1, N) failed.               | ["GENERATE_SERIES has no result for its arguments, or gives more than ksql.functions.max.elements allows."]
-- Column KSQL_SYNTH_1: GENERATE_SERIES(N, 2000000000) failed.      | ["GENERATE_SERIES has no result for its arguments, or gives more than ksql.functions.max.elements allows."]
-- Column KSQL_SYNTH_1: GENERATE_SERIES(N, 2000000000) failed.      | ["GENERATE_SERIES has no result for its arguments, or gives more than ksql.functions.max.elements allows."]

--@test: regular expressions that would never end, or end the process
CREATE STREAM entries AS
  SELECT message->recordProcessingError->errorMessage AS message, message->recordProcessingError->cause AS cause
  FROM KSQL_PROCESSING_LOG EMIT CHANGES;
CREATE STREAM s (t STRING) WITH (KAFKA_TOPIC = '${case}_x', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE STREAM results AS
  SELECT t, REGEXP_EXTRACT('(a|b)*c', LPAD(t, 100000, 'ab')) AS deep, REGEXP_REPLACE(LPAD(t, 40, 'a'), '(a*)*\1b', 'x') AS long
  FROM s EMIT CHANGES;
INSERT INTO s (t) VALUES ('x');
INSERT INTO s (t) VALUES ('ac');
--@output RESULTS ordered
-- t  | deep | long
-- x  | NULL | NULL
-- ac | NULL | NULL
--@output ENTRIES rowsort
-- message                                                                   | cause
-- "Column DEEP: REGEXP_EXTRACT('(a|b)*c', LPAD(T, 100000, 'ab')) failed."   | ["REGEXP_EXTRACT has no result for its arguments."]
-- "Column DEEP: REGEXP_EXTRACT('(a|b)*c', LPAD(T, 100000, 'ab')) failed."   | ["REGEXP_EXTRACT has no result for its arguments."]
-- "Column LONG: REGEXP_REPLACE(LPAD(T, 40, 'a'), '(a*)*\\1b', 'x') failed." | ["REGEXP_REPLACE has no result for its arguments, or gives more than ksql.functions.max.bytes allows."]
-- "Column LONG: REGEXP_REPLACE(LPAD(T, 40, 'a'), '(a*)*\\1b', 'x') failed." | ["REGEXP_REPLACE has no result for its arguments, or gives more than ksql.functions.max.bytes allows."]

--@test: the rows that fail are shown where that is wanted
--@server: ksql.logging.processing.rows.include = true
CREATE STREAM entries AS
  SELECT message->deserializationError->recordB64 AS bytes, message->recordProcessingError->record AS record
  FROM KSQL_PROCESSING_LOG EMIT CHANGES;
CREATE STREAM raw (v STRING) WITH (KAFKA_TOPIC = '${case}_r', VALUE_FORMAT = 'KAFKA', PARTITIONS = 1);
CREATE STREAM s (a INT, b STRING) WITH (KAFKA_TOPIC = '${case}_r', VALUE_FORMAT = 'JSON');
CREATE STREAM copy AS SELECT 1 / a AS a FROM s EMIT CHANGES;
INSERT INTO raw (v) VALUES ('bad');
INSERT INTO s (a, b) VALUES (0, 'x');
INSERT INTO s (a, b) VALUES (1, 'y');
--@output COPY ordered
-- a
-- NULL
-- 1
--@output ENTRIES ordered
-- bytes | record
-- YmFk  | NULL
-- NULL  | {"A":0,"B":"x"}

--@test: groups and event times that are NULL
CREATE STREAM entries AS
  SELECT logger, message->recordProcessingError->errorMessage AS message
  FROM KSQL_PROCESSING_LOG EMIT CHANGES;
CREATE STREAM s (a INT, ts BIGINT)
  WITH (KAFKA_TOPIC = '${case}_g', VALUE_FORMAT = 'JSON', PARTITIONS = 1, TIMESTAMP = 'ts');
CREATE TABLE counted AS SELECT a, COUNT(*) AS n FROM s GROUP BY a EMIT CHANGES;
INSERT INTO s (a, ts) VALUES (CAST(NULL AS INT), 1);
INSERT INTO s (a, ts) VALUES (1, -1);
INSERT INTO s (a, ts) VALUES (1, 1);
--@output COUNTED ordered
-- a | n
-- 1 | 1
--@output ENTRIES ordered
-- logger                                      | message
-- processing.CTAS_COUNTED_3.Aggregate.GroupBy | GROUP BY: A is NULL, so the row belongs to no group.
-- processing.CTAS_COUNTED_3.KsqlTopic.Source  | A record was dropped because it has no event time.

--@test: a restart makes no second stream, and goes on writing
CREATE STREAM entries AS SELECT logger FROM KSQL_PROCESSING_LOG EMIT CHANGES;
CREATE STREAM s (a INT) WITH (KAFKA_TOPIC = '${case}_n', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE STREAM divided AS SELECT 1 / a AS a FROM s EMIT CHANGES;
--@restart
INSERT INTO s (a) VALUES (0);
INSERT INTO s (a) VALUES (1);
--@output DIVIDED ordered
-- a
-- NULL
-- 1
--@output ENTRIES ordered
-- logger
-- processing.CSAS_DIVIDED_3.Project
CREATE STREAM KSQL_PROCESSING_LOG (a INT) WITH (KAFKA_TOPIC = '${case}_n', VALUE_FORMAT = 'JSON');
--@error: INVALID_STATEMENT

--@test: a query over the log does not feed itself
CREATE STREAM failing AS SELECT 1 / (message->type - 1) AS x FROM KSQL_PROCESSING_LOG EMIT CHANGES;
CREATE STREAM s (a INT) WITH (KAFKA_TOPIC = '${case}_f', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE STREAM divided AS SELECT 1 / a AS a FROM s EMIT CHANGES;
INSERT INTO s (a) VALUES (0);
INSERT INTO s (a) VALUES (0);
--@output DIVIDED ordered
-- a
-- NULL
-- NULL
--@output FAILING ordered
-- x
-- NULL
-- NULL

--@test: the same failure in two places, among texts that look like it
CREATE STREAM entries AS
  SELECT message->recordProcessingError->errorMessage AS message FROM KSQL_PROCESSING_LOG EMIT CHANGES;
CREATE STREAM s (a INT, t STRING) WITH (KAFKA_TOPIC = '${case}_p', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE STREAM results AS
  SELECT CASE WHEN a = 1 THEN COALESCE(CAST(t AS DOUBLE), 0.0) ELSE COALESCE(CAST(t AS DOUBLE), 1.0) END AS `the ``T``'s`,
    'cast(`T` as double)' || CAST(ROUND(CAST(t AS DOUBLE)) AS STRING) AS text
  FROM s EMIT CHANGES;
INSERT INTO s (a, t) VALUES (1, 'x');
INSERT INTO s (a, t) VALUES (2, 'y');
INSERT INTO s (a, t) VALUES (3, '3');
--@output RESULTS ordered
-- the `t`'s | text
-- 0.0       | cast(`T` as double)
-- 1.0       | cast(`T` as double)
-- 3.0       | cast(`T` as double)3
--@output ENTRIES rowsort
-- message
-- Column TEXT: CAST(T AS DOUBLE) failed.
-- Column TEXT: CAST(T AS DOUBLE) failed.
-- Column `the ``T``'s`: CAST(T AS DOUBLE) failed.
-- Column `the ``T``'s`: CAST(T AS DOUBLE) failed.

--@test: HAVING that cannot be computed
CREATE STREAM entries AS
  SELECT logger, message->recordProcessingError->cause AS cause FROM KSQL_PROCESSING_LOG EMIT CHANGES;
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC = '${case}_s', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE TABLE t AS SELECT k, SUM(a) AS total FROM s GROUP BY k HAVING 10 / SUM(a) > 1 EMIT CHANGES;
INSERT INTO s VALUES ('x', 0);
INSERT INTO s VALUES ('x', 2);
--@output T ordered
-- k | total
-- x | 2
--@output ENTRIES ordered
-- logger                           | cause
-- processing.CTAS_T_3.HavingFilter | ["An operand is NULL or could not be computed."]

--@test: a record that the topic of the sink refuses
CREATE STREAM entries AS
  SELECT logger, message->recordProcessingError->cause AS cause FROM KSQL_PROCESSING_LOG EMIT CHANGES;
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC = '${case}_s', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE TABLE t (k STRING PRIMARY KEY, a INT) WITH (KAFKA_TOPIC = '${case}_t', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE STREAM latest WITH (KAFKA_TOPIC = '${case}_t') AS SELECT * FROM s EMIT CHANGES;
INSERT INTO s (k, a) VALUES ('x', 1);
INSERT INTO s (a) VALUES (2);
INSERT INTO s (k, a) VALUES ('y', 3);
--@output LATEST ordered
-- k | a
-- x | 1
-- y | 3
--@output ENTRIES ordered
-- logger                                  | cause
-- processing.CSAS_LATEST_4.KsqlTopic.Sink | ["It has no key, and the topic is compacted (cleanup.policy)."]

--@test: ERRORS OF a query is a relation
CREATE STREAM raw (v STRING) WITH (KAFKA_TOPIC = '${case}_o', VALUE_FORMAT = 'KAFKA', PARTITIONS = 1);
CREATE STREAM s (a INT, t STRING) WITH (KAFKA_TOPIC = '${case}_o', VALUE_FORMAT = 'JSON');
CREATE STREAM copy AS SELECT a, CAST(t AS INT) AS n FROM s EMIT CHANGES;
CREATE STREAM other AS SELECT a FROM s EMIT CHANGES;
CREATE STREAM bad AS
  SELECT stage, step, partition, offset, message, cause, record, `TOPIC` = '${case}_o' AS is_topic
  FROM ERRORS OF CSAS_COPY_3 EMIT CHANGES;
INSERT INTO raw (v) VALUES ('{"a": 1');
INSERT INTO s (a, t) VALUES (2, 'two');
INSERT INTO s (a, t) VALUES (3, '3');
--@output COPY ordered
-- a | n
-- 2 | NULL
-- 3 | 3
--@output BAD rowsort
-- stage           | step                          | partition | offset | message                               | cause                                                        | record | is_topic
-- DESERIALIZATION | KsqlTopic.Source.deserializer | 0         | 0      | The value of a record cannot be read. | Unexpected end-of-input: expected close marker for Object    | NULL   | true
-- PROCESSING      | Project                       | 0         | 1      | Column N: CAST(T AS INTEGER) failed.  | There is a value that cannot be cast from STRING to INTEGER. | NULL   | true
SELECT stage, COUNT(*) AS n FROM ERRORS OF CSAS_COPY_3 GROUP BY stage ORDER BY stage;
--@rows
-- stage           | n
-- DESERIALIZATION | 1
-- PROCESSING      | 1

--@test: ERRORS OF names the record that a failed row comes from, up to the first step with state
CREATE STREAM s (k STRING KEY, a INT, t STRING, l ARRAY<STRING>)
  WITH (KAFKA_TOPIC = '${case}_w', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE STREAM flat AS
  SELECT k, a, CAST(EXPLODE(l) AS INT) AS n FROM s WHERE 10 / a > 1 PARTITION BY k EMIT CHANGES;
CREATE TABLE counted AS SELECT k, SUM(CAST(t AS INT)) AS total FROM s GROUP BY k HAVING 10 / SUM(a) > 1 EMIT CHANGES;
CREATE STREAM bad AS SELECT step, partition, offset FROM ERRORS OF CSAS_FLAT_2 EMIT CHANGES;
CREATE STREAM bad_counts AS SELECT step, partition, offset FROM ERRORS OF CTAS_COUNTED_3 EMIT CHANGES;
INSERT INTO s VALUES ('x', 0, '1', ARRAY['1']);
INSERT INTO s VALUES ('x', 1, 'y', ARRAY['1', 'z']);
--@output FLAT ordered
-- k | a | n
-- x | 1 | 1
-- x | 1 | NULL
--@output BAD rowsort
-- step        | partition | offset
-- Project     | 0         | 1
-- WhereFilter | 0         | 0
--@output BAD_COUNTS rowsort
-- step              | partition | offset
-- Aggregate.Prepare | 0         | 1
-- HavingFilter      | NULL      | NULL
