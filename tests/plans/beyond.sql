-- Beyond ksqlDB: UNION ALL, sub-queries, WITH.
CREATE STREAM a (k STRING KEY, v INT) WITH (KAFKA_TOPIC = 'a', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE STREAM b (k STRING KEY, v INT) WITH (KAFKA_TOPIC = 'b', VALUE_FORMAT = 'JSON', PARTITIONS = 1);

CREATE STREAM both AS SELECT k, v FROM a UNION ALL SELECT k, v + 1 AS v FROM b EMIT CHANGES;
CREATE STREAM inner_query AS SELECT k, v * 2 AS w FROM (SELECT k, v FROM a WHERE v > 0) s EMIT CHANGES;
CREATE TABLE with_query AS WITH s AS (SELECT k, v + 1 AS v FROM a) SELECT k, SUM(v) AS total FROM s GROUP BY k EMIT CHANGES;

-- rows of a batch by event time; headers; idle timeouts are in tests/cases
CREATE STREAM with_headers (k STRING KEY, v INT, h ARRAY<STRUCT<key STRING, value BYTES>> HEADERS)
  WITH (KAFKA_TOPIC = 'with_headers', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE STREAM headers_out WITH (HEADERS = 'h') AS SELECT k, v, h FROM with_headers EMIT CHANGES;
CREATE TABLE replayed WITH (ORDER = 'event-time') AS
  SELECT k, COUNT(*) AS n FROM a WINDOW TUMBLING (SIZE 1 MINUTE) GROUP BY k EMIT CHANGES;
CREATE STREAM replayed_join WITH (ORDER = 'event-time') AS
  SELECT a.k AS k, a.v + b.v AS v FROM a JOIN b WITHIN 1 HOUR ON a.k = b.k EMIT CHANGES;

-- de-duplication: by another column, by the key, below an aggregation, above a join, in batches
CREATE STREAM once AS SELECT DISTINCT ON (v) k, v FROM a WITHIN 1 HOUR EMIT CHANGES;
CREATE STREAM once_by_key AS SELECT k, v FROM a WHERE v > 1 AND k IS NOT NULL
  QUALIFY ROW_NUMBER() OVER (PARTITION BY k ORDER BY ROWTIME) = 1 EMIT CHANGES;
CREATE TABLE counted_once AS
  SELECT k, COUNT(*) AS n FROM (SELECT DISTINCT ON (k) k, v FROM a WITHIN 1 HOUR) s GROUP BY k EMIT CHANGES;
CREATE STREAM joined_once AS
  SELECT DISTINCT ON (a.v) a.k, a.v, b.v FROM a JOIN b WITHIN 1 HOUR ON a.k = b.k WITHIN 2 DAYS EMIT CHANGES;
CREATE STREAM replayed_once WITH (ORDER = 'event-time') AS SELECT DISTINCT ON (k) k, v FROM a EMIT CHANGES;

-- OVER: frames with and without a beginning, by the key and by another column
CREATE STREAM running AS
  SELECT k, v - LAG(v, 2, 0) OVER (PARTITION BY v ORDER BY ROWTIME) AS d,
    SUM(v) OVER (PARTITION BY v ORDER BY ROWTIME) AS total FROM a EMIT CHANGES;
CREATE STREAM moving AS
  SELECT k, AVG(v) OVER (PARTITION BY k ORDER BY ROWTIME ROWS 3 PRECEDING) AS mean FROM a WHERE k IS NOT NULL EMIT CHANGES;
