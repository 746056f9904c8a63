-- The processing log is off until there is a stream over its topic (beyond ksqlDB, ADR 86).
--@server: ksql.logging.processing.topic.name = ${case}_log

--@test: a stream over its topic switches it on, for queries that run, and after a restart
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC = '${case}_s', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE STREAM halves AS SELECT k, 10 / a AS half FROM s;
INSERT INTO s (k, a) VALUES ('lost', 0);
--@output HALVES ordered
-- k    | half
-- lost | NULL
SELECT stage FROM ERRORS OF CSAS_HALVES_1;
--@error: ERRORS_NOT_KEPT
-- Errors and late rows are only counted, because there is no stream KSQL_PROCESSING_LOG to read them from. CREATE STREAM KSQL_PROCESSING_LOG WITH (KAFKA_TOPIC = '${case}_log', VALUE_FORMAT = 'JSON', PARTITIONS = 1); keeps them from now on.
-- line 1:19
--   SELECT stage FROM ERRORS OF CSAS_HALVES_1
--                     ^^^^^^^^^^^^^^^^^^^^^^^
CREATE STREAM KSQL_PROCESSING_LOG WITH (KAFKA_TOPIC = '${case}_log', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
INSERT INTO s (k, a) VALUES ('kept', 0);
--@output HALVES ordered
-- k    | half
-- kept | NULL
--@output KSQL_PROCESSING_LOG ordered
-- level
-- ERROR
SELECT stage, offset FROM ERRORS OF CSAS_HALVES_1;
--@rows
-- stage      | offset
-- PROCESSING | 1
--@restart
INSERT INTO s (k, a) VALUES ('again', 0);
--@output HALVES ordered
-- k     | half
-- again | NULL
--@output KSQL_PROCESSING_LOG ordered
-- level
-- ERROR
SELECT stage, offset FROM ERRORS OF CSAS_HALVES_1 WHERE offset > 1;
--@rows
-- stage      | offset
-- PROCESSING | 2
