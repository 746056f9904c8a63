-- Headers of records: read, passed on, written.
CREATE STREAM plain (k STRING KEY, v INT, source STRING)
  WITH (KAFKA_TOPIC = '${case}_plain', VALUE_FORMAT = 'JSON', PARTITIONS = 1);

--@test: a column becomes the headers of the records, which are read as such
CREATE STREAM marked WITH (HEADERS = 'h') AS
  SELECT k, v, ARRAY[STRUCT(key := 'source', value := TO_BYTES(source, 'utf8')), STRUCT(key := 'n', value := TO_BYTES(k, 'utf8'))] AS h
  FROM plain EMIT CHANGES;
CREATE STREAM passed_on AS SELECT k, v FROM marked EMIT CHANGES;
CREATE STREAM read_ones (k STRING KEY, v INT, source BYTES HEADER('source'))
  WITH (KAFKA_TOPIC = '${case}_PASSED_ON', VALUE_FORMAT = 'JSON');
CREATE STREAM shown AS
  SELECT k, v, FROM_BYTES(source, 'utf8') AS source FROM read_ones EMIT CHANGES;
INSERT INTO plain (k, v, source) VALUES ('a', 1, 'till');
INSERT INTO plain (k, v, source) VALUES ('b', 2, 'web');
--@output SHOWN ordered
-- k | v | source
-- a | 1 | till
-- b | 2 | web

--@test: what keeps state passes them on too: of the record that led to the result, through internal topics as well
CREATE STREAM marked WITH (HEADERS = 'h') AS
  SELECT k, v, ARRAY[STRUCT(key := 'source', value := TO_BYTES(source, 'utf8'))] AS h FROM plain EMIT CHANGES;
CREATE TABLE names (id INT PRIMARY KEY, name STRING)
  WITH (KAFKA_TOPIC = '${case}_names', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
INSERT INTO names VALUES (1, 'one');
CREATE TABLE named AS
  SELECT name, LATEST_BY_OFFSET(k) AS k FROM marked JOIN names ON marked.v = names.id GROUP BY name EMIT CHANGES;
CREATE STREAM latest (name STRING KEY, k STRING, source BYTES HEADER('source'))
  WITH (KAFKA_TOPIC = '${case}_NAMED', VALUE_FORMAT = 'JSON');
CREATE STREAM shown AS
  SELECT name, k, FROM_BYTES(source, 'utf8') AS source FROM latest EMIT CHANGES;
INSERT INTO plain (k, v, source) VALUES ('a', 1, 'till');
INSERT INTO plain (k, v, source) VALUES ('b', 1, 'web');
INSERT INTO plain (k, v, source) VALUES ('c', 1, 'till');
--@output SHOWN ordered
-- name | k | source
-- one  | a | till
-- one  | b | web
-- one  | c | till

--@test: where a record lies
CREATE STREAM placed AS SELECT k, ROWPARTITION AS p, ROWOFFSET AS o FROM plain WHERE ROWOFFSET > 0 EMIT CHANGES;
INSERT INTO plain (k, v) VALUES ('a', 1);
INSERT INTO plain (k, v) VALUES ('b', 2);
INSERT INTO plain (k, v) VALUES ('c', 3);
--@output PLACED ordered
-- k | p | o
-- b | 0 | 1
-- c | 0 | 2
