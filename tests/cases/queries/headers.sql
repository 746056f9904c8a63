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
  SELECT k, v, FROM_BYTES(source, 'utf8') AS source, ROWPARTITION AS p, ROWOFFSET AS o FROM read_ones EMIT CHANGES;
INSERT INTO plain (k, v, source) VALUES ('a', 1, 'till');
INSERT INTO plain (k, v, source) VALUES ('b', 2, 'web');
--@output SHOWN ordered
-- k | v | source | p | o
-- a | 1 | till   | 0 | 0
-- b | 2 | web    | 0 | 1
