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

-- QUALIFY for several rows: a table with a row for each place
CREATE TABLE best WITH (KEY_FORMAT = 'JSON') AS
  SELECT v, ROW_NUMBER() OVER (PARTITION BY v ORDER BY k DESC) AS place, k FROM a QUALIFY place <= 3 EMIT CHANGES;
CREATE TABLE newest AS
  SELECT k, v FROM a QUALIFY ROW_NUMBER() OVER (PARTITION BY k ORDER BY ROWTIME DESC) = 1 EMIT CHANGES;
CREATE TABLE ranked (k STRING PRIMARY KEY, v INT) WITH (KAFKA_TOPIC = 'ranked', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE TABLE best_of_table WITH (KEY_FORMAT = 'JSON') AS
  SELECT v, ROW_NUMBER() OVER (PARTITION BY v ORDER BY k DESC) AS place, RANK() OVER (PARTITION BY v ORDER BY k DESC) AS r, k
  FROM ranked QUALIFY r <= 2 EMIT CHANGES;

-- grouping sets: each record once for each set
CREATE TABLE totals WITH (KEY_FORMAT = 'JSON') AS
  SELECT k, v, GROUPING(k, v) AS level, GROUPING(v) AS all_v, COUNT(*) AS n FROM a
  GROUP BY ROLLUP (k, v) HAVING v IS NULL OR COUNT(*) > 1 EMIT CHANGES;

-- OVER: rows that wait for the next one
CREATE STREAM visits AS
  SELECT k, v, LEAD(v, 2, 0) OVER (PARTITION BY v ORDER BY ROWTIME) AS next, LAG(v) OVER (PARTITION BY v ORDER BY ROWTIME) AS d
  FROM a WITHIN 30 MINUTES EMIT CHANGES;

-- OVER: the rows of the last minutes
CREATE STREAM lately AS
  SELECT k, SUM(v) OVER (PARTITION BY k ORDER BY ROWTIME RANGE INTERVAL 10 MINUTES PRECEDING) AS total FROM a EMIT CHANGES;

-- a source with constraints
CREATE STREAM checked (k STRING KEY, v INT NOT NULL, CONSTRAINT positive CHECK (v > 0)) WITH (KAFKA_TOPIC = 'checked', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE STREAM of_checked AS SELECT k, v FROM checked EMIT CHANGES;

-- windows over streams with LATENESS: they say nothing, or something, or are above a sub-query or a join
CREATE STREAM late (k STRING KEY, v INT) WITH (KAFKA_TOPIC = 'late', VALUE_FORMAT = 'JSON', LATENESS = '5 seconds', PARTITIONS = 1);
CREATE STREAM later WITH (LATENESS = '1 minute') AS SELECT k, v FROM late EMIT CHANGES;
CREATE TABLE of_late AS SELECT k, COUNT(*) AS n FROM late WINDOW TUMBLING (SIZE 1 MINUTE) GROUP BY k EMIT FINAL;
CREATE TABLE of_late_at_once AS
  SELECT k, COUNT(*) AS n FROM late WINDOW TUMBLING (SIZE 1 MINUTE, GRACE PERIOD 0 SECONDS) GROUP BY k EMIT CHANGES;
CREATE TABLE of_late_inside AS
  SELECT k, COUNT(*) AS n FROM (SELECT k, v FROM late WHERE v > 0) x WINDOW SESSION (10 SECONDS) GROUP BY k EMIT CHANGES;
CREATE TABLE of_later AS
  SELECT a.k AS k, COUNT(*) AS n FROM late a JOIN later b WITHIN 1 HOUR ON a.k = b.k
  WINDOW HOPPING (SIZE 1 MINUTE, ADVANCE BY 30 SECONDS) GROUP BY a.k EMIT CHANGES;

-- tables whose rows expire: groups, those that HAVING passes, and rows of other tables
CREATE TABLE expiring WITH (TTL = '7 days') AS SELECT k, COUNT(*) AS n FROM a GROUP BY k HAVING COUNT(*) > 1 EMIT CHANGES;
CREATE TABLE of_expiring WITH (TTL = '1 hour') AS SELECT k, n FROM expiring WHERE n > 2 EMIT CHANGES;

-- MATCH_RECOGNIZE: one row per match, by the key
CREATE STREAM dips AS
  SELECT * FROM a MATCH_RECOGNIZE (
    PARTITION BY k ORDER BY ROWTIME
    MEASURES top.v AS height, SUM(down.v) AS total, up.v - LAST(down.v) AS rise
    AFTER MATCH SKIP TO LAST up
    PATTERN (top down+ up) WITHIN 1 HOUR
    DEFINE down AS down.v < PREV(down.v), up AS up.v > LAST(down.v)
  ) WHERE k IS NOT NULL EMIT CHANGES;

-- MATCH_RECOGNIZE: all rows of each match, by another column, and an aggregate of them
CREATE TABLE steps AS
  SELECT v, COUNT(*) AS n FROM a MATCH_RECOGNIZE (
    PARTITION BY v ORDER BY ROWTIME
    MEASURES CLASSIFIER() AS what, FINAL COUNT(*) AS total
    ALL ROWS PER MATCH
    PATTERN (b (c | d)*) WITHIN 10 SECONDS
    DEFINE c AS k > 'x'
  ) GROUP BY v EMIT CHANGES;
-- windows by a calendar, and windows that grow; a topic with their keys
CREATE TABLE per_day AS
  SELECT k, COUNT(*) AS n FROM a
  WINDOW TUMBLING (SIZE 1 DAY, TIME ZONE 'Europe/Berlin', OFFSET 6 HOURS) GROUP BY k EMIT FINAL;
CREATE TABLE growing AS
  SELECT v, COUNT(*) AS n FROM a WINDOW CUMULATIVE (SIZE 1 DAY, STEP 1 HOUR) GROUP BY v EMIT CHANGES;
CREATE TABLE growing_month AS
  SELECT k, COUNT(*) AS n FROM a WINDOW CUMULATIVE (SIZE 1 MONTH, STEP 1 DAY) GROUP BY k EMIT CHANGES;
CREATE STREAM per_month (k STRING KEY, n BIGINT)
  WITH (KAFKA_TOPIC = 'per_month', VALUE_FORMAT = 'JSON', PARTITIONS = 1, WINDOW_TYPE = 'TUMBLING',
        WINDOW_SIZE = '1 MONTH', WINDOW_TIME_ZONE = 'Europe/Berlin');
CREATE STREAM busy_months AS SELECT k, n FROM per_month WHERE n > 10 EMIT CHANGES;

-- changes at intervals: by the key, by another column, of windows and of a table
CREATE TABLE by_key_at_intervals AS SELECT k, COUNT(*) AS n FROM a GROUP BY k EMIT CHANGES EVERY 10 SECONDS;
CREATE TABLE by_value_at_intervals AS SELECT v, COUNT(*) AS n FROM a GROUP BY v EMIT CHANGES EVERY 10 SECONDS;
CREATE TABLE windows_at_intervals AS
  SELECT k, COUNT(*) AS n FROM a WINDOW SESSION (1 MINUTE) GROUP BY k EMIT CHANGES EVERY 1 SECOND;
CREATE TABLE of_table_at_intervals AS
  SELECT v, COUNT(*) AS n FROM ranked GROUP BY v HAVING COUNT(*) > 1 EMIT CHANGES EVERY 1 MINUTE;

-- UNION, EXCEPT and INTERSECT: of tables by their keys, of one that is filtered, as the input of another step
CREATE TABLE graded (k STRING PRIMARY KEY, v INT) WITH (KAFKA_TOPIC = 'graded', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE TABLE in_both WITH (KEY_FORMAT = 'JSON') AS SELECT k, v FROM ranked INTERSECT SELECT k, v FROM graded EMIT CHANGES;
CREATE TABLE in_one WITH (KEY_FORMAT = 'JSON') AS
  SELECT k, v FROM ranked EXCEPT SELECT k, v FROM graded WHERE v > 1 UNION SELECT k, v + 1 AS v FROM graded EMIT CHANGES;
CREATE TABLE of_union AS
  SELECT v, COUNT(*) AS n FROM (SELECT k, v FROM ranked UNION SELECT k, v FROM graded) u GROUP BY v EMIT CHANGES;

-- sliding windows
CREATE TABLE sliding AS
  SELECT k, COUNT(*) AS n FROM a WINDOW SLIDING (SIZE 10 MINUTES, GRACE PERIOD 1 MINUTE) GROUP BY k EMIT CHANGES;
CREATE TABLE slid AS SELECT v, COUNT(*) AS n FROM a WINDOW SLIDING (SIZE 10 SECONDS) GROUP BY v EMIT FINAL;

-- all topics of a pattern: rows are repartitioned by key
CREATE STREAM many (k STRING KEY, src STRING TOPIC, v INT) WITH (TOPIC_PATTERN = 'orders\..*', VALUE_FORMAT = 'JSON');
CREATE STREAM of_many AS SELECT k, src, v FROM many WHERE v > 0 EMIT CHANGES;
CREATE TABLE counted_many AS SELECT k, COUNT(*) AS n FROM many GROUP BY k EMIT CHANGES;
CREATE STREAM many_ranked AS SELECT m.k AS k, m.src AS src, r.v AS v FROM many m JOIN ranked r ON m.k = r.k EMIT CHANGES;

-- EXISTS and NOT EXISTS of a stream: by the key, and by another column
CREATE STREAM with_partner AS
  SELECT * FROM a WHERE EXISTS (SELECT 1 FROM b WITHIN 1 HOUR WHERE b.k = a.k AND b.v > a.v) EMIT CHANGES;
CREATE STREAM without_partner AS
  SELECT * FROM a WHERE v NOT IN (SELECT v FROM b WITHIN (0 SECONDS, 1 HOUR) GRACE PERIOD 1 MINUTE) EMIT CHANGES;

-- operations with state in one Spark query: rows that go to other tasks, a former row that is kept since it could
-- come out otherwise, sessions, windows of rows that come from several tasks
CREATE TABLE chained AS
  SELECT n, COUNT(*) AS keys FROM (SELECT k, COUNT(*) AS n FROM a GROUP BY k) c WHERE n > 1 GROUP BY n EMIT CHANGES;
CREATE TABLE chained_with_time AS
  SELECT n, COUNT(*) AS keys FROM (SELECT k, COUNT(*) + UNIX_TIMESTAMP() AS n FROM a GROUP BY k) c GROUP BY n EMIT CHANGES;
CREATE TABLE chained_sessions AS
  SELECT n, COUNT(*) AS keys FROM (SELECT k, COUNT(*) AS n FROM a WINDOW SESSION (1 HOUR) GROUP BY k) c GROUP BY n EMIT CHANGES;
CREATE TABLE windows_of_pairs AS
  SELECT b.v AS v, COUNT(*) AS n FROM a JOIN b WITHIN 1 HOUR ON a.k = b.k
  WINDOW TUMBLING (SIZE 1 MINUTE) GROUP BY b.v EMIT CHANGES;
