-- Aggregates that keep values of their group, record by record, merged in sessions and undone over tables.
CREATE STREAM clicks (who STRING KEY, ts BIGINT, n INT, page STRING)
  WITH (KAFKA_TOPIC = '${case}_clicks', VALUE_FORMAT = 'JSON', PARTITIONS = 1, TIMESTAMP = 'ts');

--@test: sets, tops, first and last ones
CREATE TABLE kept AS
  SELECT who, COLLECT_LIST(n) AS numbers, COLLECT_SET(page) AS pages, HISTOGRAM(page) AS counts,
    TOPK(n, 2) AS top, TOPK(n, page, 2) AS top_rows, TOPKDISTINCT(n, 2) AS best,
    EARLIEST_BY_OFFSET(n, 2) AS oldest, LATEST_BY_OFFSET(n, 2) AS newest, COUNT_DISTINCT(page) AS different
  FROM clicks GROUP BY who EMIT CHANGES;
INSERT INTO clicks (who, ts, n, page) VALUES ('ann', 1, 3, 'b');
INSERT INTO clicks (who, ts, n, page) VALUES ('ann', 2, 5, 'a');
INSERT INTO clicks (who, ts, n, page) VALUES ('ann', 3, CAST(NULL AS INT), CAST(NULL AS STRING));
INSERT INTO clicks (who, ts, n, page) VALUES ('ann', 4, 5, 'b');
INSERT INTO clicks (who, ts, n, page) VALUES ('ann', 5, 4, CAST(NULL AS STRING));
--@output KEPT ordered
-- who | numbers            | pages            | counts           | top    | top_rows                                                     | best   | oldest | newest | different
-- ann | [3]                | ["b"]            | {"b": 1}         | [3]    | [{"sort_col": 3, "col0": "b"}]                               | [3]    | [3]    | [3]    | 1
-- ann | [3, 5]             | ["b", "a"]       | {"b": 1, "a": 1} | [5, 3] | [{"sort_col": 5, "col0": "a"}, {"sort_col": 3, "col0": "b"}] | [5, 3] | [3, 5] | [3, 5] | 2
-- ann | [3, 5, null]       | ["b", "a", null] | {"b": 1, "a": 1} | [5, 3] | [{"sort_col": 5, "col0": "a"}, {"sort_col": 3, "col0": "b"}] | [5, 3] | [3, 5] | [3, 5] | 2
-- ann | [3, 5, null, 5]    | ["b", "a", null] | {"b": 2, "a": 1} | [5, 5] | [{"sort_col": 5, "col0": "a"}, {"sort_col": 5, "col0": "b"}] | [5, 3] | [3, 5] | [5, 5] | 2
-- ann | [3, 5, null, 5, 4] | ["b", "a", null] | {"b": 2, "a": 1} | [5, 5] | [{"sort_col": 5, "col0": "a"}, {"sort_col": 5, "col0": "b"}] | [5, 4] | [3, 5] | [5, 4] | 2

--@test: values of sessions that merge
CREATE TABLE merged AS
  SELECT who, COLLECT_LIST(n) AS numbers, COLLECT_SET(page) AS pages, HISTOGRAM(page) AS counts,
    TOPK(n, 2) AS top,
    EARLIEST_BY_OFFSET(n, 2) AS oldest, LATEST_BY_OFFSET(n, 2) AS newest, COUNT_DISTINCT(page) AS different
  FROM clicks WINDOW SESSION (10 SECONDS) GROUP BY who EMIT CHANGES;
INSERT INTO clicks (who, ts, n, page) VALUES ('ann', 15000, 1, 'a');
INSERT INTO clicks (who, ts, n, page) VALUES ('ann', 0, 2, 'b');
INSERT INTO clicks (who, ts, n, page) VALUES ('ann', 8000, 3, 'a');
--@output MERGED folded
-- who | windowstart | windowend | numbers   | pages      | counts           | top    | oldest | newest | different
-- ann | 0           | 15000     | [2, 1, 3] | ["b", "a"] | {"b": 1, "a": 2} | [3, 2] | [1, 2] | [2, 3] | 2

--@test: rows of a table that change are taken back
CREATE TABLE people (id STRING PRIMARY KEY, city STRING, age INT)
  WITH (KAFKA_TOPIC = '${case}_people', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE TABLE cities WITH (KEY_FORMAT = 'JSON') AS
  SELECT city, COUNT(*) AS n, SUM(age) AS total, AVG(age) AS mean, COLLECT_LIST(age) AS ages,
    HISTOGRAM(CAST(age AS STRING)) AS counts, ATTR(age) AS same, STDDEV_SAMPLE(age) AS spread
  FROM people GROUP BY city EMIT CHANGES;
INSERT INTO people (id, city, age) VALUES ('1', 'Rome', 20);
INSERT INTO people (id, city, age) VALUES ('2', 'Rome', 30);
INSERT INTO people (id, city, age) VALUES ('3', 'Rome', 20);
INSERT INTO people (id, city, age) VALUES ('2', 'Oslo', 30);
INSERT INTO people (id, city, age) VALUES ('3', 'Rome', 21);
--@output CITIES folded
-- city | n | total | mean | ages     | counts             | same | spread
-- Oslo | 1 | 30    | 30.0 | [30]     | {"30": 1}          | 30   | 0.0
-- Rome | 2 | 41    | 20.5 | [20, 21] | {"20": 1, "21": 1} | NULL | 0.7071067811865476
