CREATE STREAM s (id INT KEY, name STRING, amount DOUBLE, n INT, m MAP<STRING, INT>, tags ARRAY<STRING>) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON', PARTITIONS=2);
CREATE STREAM r (id INT KEY, c INT) WITH (KAFKA_TOPIC='r', VALUE_FORMAT='JSON', PARTITIONS=2);
CREATE TABLE t (id INT PRIMARY KEY, d STRING) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON');
----
CREATE STREAM o AS SELECT id, n - LAG(n) OVER (PARTITION BY id ORDER BY ROWTIME) AS change FROM s;
    STREAM O SINK
      columns `ID` INTEGER KEY, `CHANGE` INTEGER
      topic O, key KAFKA, value JSON
    Project key [ID AS ID] value [(N - KSQL_WINDOW_0) AS CHANGE]
      Over ID: EARLIEST_BY_OFFSET(N, FALSE) ROWS BETWEEN 1 PRECEDING AND 1 PRECEDING AS KSQL_WINDOW_0
        Source S

CREATE STREAM o AS SELECT id, LAG(name, 2, 'none') OVER (PARTITION BY name, id ORDER BY ROWTIME) AS l, FIRST_VALUE(n) OVER (PARTITION BY name, id ORDER BY ROWTIME) AS f FROM s WHERE n > 1;
    STREAM O SINK
      columns `ID` INTEGER KEY, `L` STRING, `F` INTEGER
      topic O, key KAFKA, value JSON
    Project key [ID AS ID] value [(CASE WHEN (KSQL_WINDOW_1 = 0) THEN 'none' ELSE KSQL_WINDOW_0 END) AS L, KSQL_WINDOW_2 AS F]
      Over NAME, ID: EARLIEST_BY_OFFSET(NAME, FALSE) ROWS BETWEEN 2 PRECEDING AND 2 PRECEDING AS KSQL_WINDOW_0, COUNT(*) ROWS BETWEEN 2 PRECEDING AND 2 PRECEDING AS KSQL_WINDOW_1, EARLIEST_BY_OFFSET(N, FALSE) ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW AS KSQL_WINDOW_2
        Filter (N > 1)
          Source S

CREATE STREAM o AS SELECT id, AVG(n) OVER (PARTITION BY id ORDER BY s.ROWTIME ROWS 2 PRECEDING) AS a, COUNT(*) OVER (PARTITION BY id ORDER BY ROWTIME ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS c, SUM(n) OVER (PARTITION BY id ORDER BY ROWTIME) AS total FROM s;
    STREAM O SINK
      columns `ID` INTEGER KEY, `A` DOUBLE, `C` BIGINT, `TOTAL` INTEGER
      topic O, key KAFKA, value JSON
    Project key [ID AS ID] value [KSQL_WINDOW_0 AS A, KSQL_WINDOW_1 AS C, KSQL_WINDOW_2 AS TOTAL]
      Over ID: AVG(N) ROWS BETWEEN 2 PRECEDING AND CURRENT ROW AS KSQL_WINDOW_0, COUNT(*) ROWS BETWEEN 2 PRECEDING AND CURRENT ROW AS KSQL_WINDOW_1, SUM(N) ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW AS KSQL_WINDOW_2
        Source S

CREATE STREAM o AS SELECT name, id, MAX(n) OVER (PARTITION BY id ORDER BY ROWTIME ROWS BETWEEN 3 PRECEDING AND 1 PRECEDING) AS before FROM s PARTITION BY name;
    STREAM O SINK
      columns `NAME` STRING KEY, `ID` INTEGER, `BEFORE` INTEGER
      topic O, key KAFKA, value JSON
    Project key [NAME AS NAME] value [ID AS ID, KSQL_WINDOW_0 AS BEFORE]
      SelectKey NAME AS NAME
        Over ID: MAX(N) ROWS BETWEEN 3 PRECEDING AND 1 PRECEDING AS KSQL_WINDOW_0
          Source S

SELECT MIN(r.c) OVER (PARTITION BY s.name ORDER BY ROWTIME) AS low FROM s JOIN r WITHIN 1 DAY ON s.id = r.id EMIT CHANGES;
    OUTPUT `LOW` INTEGER
    Project key [] value [KSQL_WINDOW_0 AS LOW]
      Over S_NAME: MIN(R_C) ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW AS KSQL_WINDOW_0
        Join INNER STREAM_STREAM on S_ID = R_ID as S_ID WithinSpec(before_ms=86400000, after_ms=86400000, grace_ms=None)
          Source S prefixed
          Source R prefixed

CREATE TABLE o AS SELECT name, MAX(d) AS d FROM (SELECT id, name, n - LAG(n) OVER (PARTITION BY id ORDER BY ROWTIME) AS d FROM s) x GROUP BY name;
    TABLE O SINK
      columns `NAME` STRING KEY, `D` INTEGER
      topic O, key KAFKA, value JSON
    Project key [NAME AS NAME] value [KSQL_AGG_VARIABLE_0 AS D]
      Aggregate by [NAME AS NAME] MAX(D) AS KSQL_AGG_VARIABLE_0
        Project key [ID AS ID] value [NAME AS NAME, (N - KSQL_WINDOW_0) AS D]
          Over ID: EARLIEST_BY_OFFSET(N, FALSE) ROWS BETWEEN 1 PRECEDING AND 1 PRECEDING AS KSQL_WINDOW_0
            Source S

SELECT LAG(n) OVER (PARTITION BY id) FROM s EMIT CHANGES;
    INVALID_STATEMENT: The order of OVER is that of arrival: ORDER BY ROWTIME. Write OVER (PARTITION BY expression, … ORDER BY ROWTIME).
    line 1:8
      SELECT LAG(n) OVER (PARTITION BY id) FROM s EMIT CHANGES
             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

SELECT LAG(n) OVER (PARTITION BY id ORDER BY n) FROM s EMIT CHANGES;
    INVALID_STATEMENT: The order of OVER is that of arrival: ORDER BY ROWTIME. Write OVER (PARTITION BY expression, … ORDER BY ROWTIME).
    line 1:46
      SELECT LAG(n) OVER (PARTITION BY id ORDER BY n) FROM s EMIT CHANGES
                                                   ^

SELECT LAG(n) OVER (ORDER BY ROWTIME) FROM s EMIT CHANGES;
    INVALID_STATEMENT: OVER needs PARTITION BY. Write OVER (PARTITION BY expression, … ORDER BY ROWTIME).
    line 1:8
      SELECT LAG(n) OVER (ORDER BY ROWTIME) FROM s EMIT CHANGES
             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

SELECT LAG(n) OVER (PARTITION BY m ORDER BY ROWTIME) FROM s EMIT CHANGES;
    INVALID_STATEMENT: OVER cannot compare MAPs: S.M (MAP<STRING, INTEGER>).
    line 1:34
      SELECT LAG(n) OVER (PARTITION BY m ORDER BY ROWTIME) FROM s EMIT CHANGES
                                       ^

SELECT LAG(n) OVER (PARTITION BY id ORDER BY ROWTIME), LAG(n) OVER (PARTITION BY name ORDER BY ROWTIME) FROM s EMIT CHANGES;
    INVALID_STATEMENT: All OVER of a SELECT need the same PARTITION BY. Put one of them into a sub-query.
    line 1:82
      SELECT LAG(n) OVER (PARTITION BY id ORDER BY ROWTIME), LAG(n) OVER (PARTITION BY name ORDER BY ROWTIME) FROM s EMIT CHANGES
                                                                                       ^^^^

SELECT LAG() OVER (PARTITION BY id ORDER BY ROWTIME) FROM s EMIT CHANGES;
    INVALID_STATEMENT: LAG takes a value, how many rows back, and a default: LAG(x, 1, 0).
    line 1:8
      SELECT LAG() OVER (PARTITION BY id ORDER BY ROWTIME) FROM s EMIT CHANGES
             ^^^^^

SELECT LAG(n, n) OVER (PARTITION BY id ORDER BY ROWTIME) FROM s EMIT CHANGES;
    INVALID_STATEMENT: LAG needs a number of rows as its second argument.
    line 1:15
      SELECT LAG(n, n) OVER (PARTITION BY id ORDER BY ROWTIME) FROM s EMIT CHANGES
                    ^

SELECT LAG(n, 1, 'x') OVER (PARTITION BY id ORDER BY ROWTIME) FROM s EMIT CHANGES;
    LITERAL_SYNTAX: invalid input syntax for type INTEGER: "x".
    line 1:18
      SELECT LAG(n, 1, 'x') OVER (PARTITION BY id ORDER BY ROWTIME) FROM s EMIT CHANGES
                       ^^^

SELECT LAG(n, 1001) OVER (PARTITION BY id ORDER BY ROWTIME) FROM s EMIT CHANGES;
    INVALID_STATEMENT: At most 1000 rows before the current one can be kept.
    line 1:8
      SELECT LAG(n, 1001) OVER (PARTITION BY id ORDER BY ROWTIME) FROM s EMIT CHANGES
             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

SELECT LAG(n) OVER (PARTITION BY id ORDER BY ROWTIME ROWS 3 PRECEDING) FROM s EMIT CHANGES;
    INVALID_STATEMENT: LAG has no ROWS.
    line 1:54
      SELECT LAG(n) OVER (PARTITION BY id ORDER BY ROWTIME ROWS 3 PRECEDING) FROM s EMIT CHANGES
                                                           ^^^^^^^^^^^^^^^^

SELECT FIRST_VALUE() OVER (PARTITION BY id ORDER BY ROWTIME) FROM s EMIT CHANGES;
    INVALID_STATEMENT: FIRST_VALUE with OVER takes one value.
    line 1:8
      SELECT FIRST_VALUE() OVER (PARTITION BY id ORDER BY ROWTIME) FROM s EMIT CHANGES
             ^^^^^^^^^^^^^

SELECT TOPK(n, 3) OVER (PARTITION BY id ORDER BY ROWTIME) FROM s EMIT CHANGES;
    INVALID_STATEMENT: TOPK cannot have OVER: AVG, COUNT, FIRST_VALUE, LAG, MAX, MIN, SUM can.
    line 1:8
      SELECT TOPK(n, 3) OVER (PARTITION BY id ORDER BY ROWTIME) FROM s EMIT CHANGES
             ^^^^^^^^^^

SELECT COUNT(DISTINCT n) OVER (PARTITION BY id ORDER BY ROWTIME) FROM s EMIT CHANGES;
    INVALID_STATEMENT: COUNT(DISTINCT …) cannot have OVER: AVG, COUNT, FIRST_VALUE, LAG, MAX, MIN, SUM can.
    line 1:8
      SELECT COUNT(DISTINCT n) OVER (PARTITION BY id ORDER BY ROWTIME) FROM s EMIT CHANGES
             ^^^^^^^^^^^^^^^^^

SELECT SUM(name) OVER (PARTITION BY id ORDER BY ROWTIME) FROM s EMIT CHANGES;
    FUNCTION_ARGUMENTS: Function 'SUM' does not accept parameters (STRING).
    Valid alternatives are:
    SUM(INTEGER value)
    SUM(BIGINT value)
    SUM(DOUBLE value)
    SUM(DECIMAL value)
    line 1:8
      SELECT SUM(name) OVER (PARTITION BY id ORDER BY ROWTIME) FROM s EMIT CHANGES
             ^^^^^^^^^

SELECT SUM(SUM(n)) OVER (PARTITION BY id ORDER BY ROWTIME) FROM s EMIT CHANGES;
    INVALID_STATEMENT: Aggregate functions can not be nested: SUM(SUM()).
    line 1:12
      SELECT SUM(SUM(n)) OVER (PARTITION BY id ORDER BY ROWTIME) FROM s EMIT CHANGES
                 ^^^^^^

SELECT SUM(LAG(n) OVER (PARTITION BY id ORDER BY ROWTIME)) OVER (PARTITION BY id ORDER BY ROWTIME) FROM s EMIT CHANGES;
    INVALID_STATEMENT: LAG() OVER (…) is not allowed here. It is for the SELECT of persistent and push queries.
    line 1:12
      SELECT SUM(LAG(n) OVER (PARTITION BY id ORDER BY ROWTIME)) OVER (PARTITION BY id ORDER BY ROWTIME) FROM s EMIT CHANGES
                 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

SELECT SUM(n) OVER (PARTITION BY id ORDER BY ROWTIME ROWS BETWEEN 1 PRECEDING AND 2 PRECEDING) FROM s EMIT CHANGES;
    INVALID_STATEMENT: The frame ends before it begins.
    line 1:54
      SELECT SUM(n) OVER (PARTITION BY id ORDER BY ROWTIME ROWS BETWEEN 1 PRECEDING AND 2 PRECEDING) FROM s EMIT CHANGES
                                                           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

SELECT SUM(n) OVER (PARTITION BY id ORDER BY ROWTIME ROWS BETWEEN UNBOUNDED PRECEDING AND 2 PRECEDING) FROM s EMIT CHANGES;
    INVALID_STATEMENT: A frame from UNBOUNDED PRECEDING ends with CURRENT ROW.
    line 1:54
      SELECT SUM(n) OVER (PARTITION BY id ORDER BY ROWTIME ROWS BETWEEN UNBOUNDED PRECEDING AND 2 PRECEDING) FROM s EMIT CHANGES
                                                           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

SELECT SUM(n) OVER (PARTITION BY id ORDER BY ROWTIME) FROM t EMIT CHANGES;
    INVALID_STATEMENT: OVER is for streams: the rows of a table have no order. Use GROUP BY.
    line 1:8
      SELECT SUM(n) OVER (PARTITION BY id ORDER BY ROWTIME) FROM t EMIT CHANGES
             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

SELECT id, COUNT(*), SUM(n) OVER (PARTITION BY id ORDER BY ROWTIME) FROM s GROUP BY id EMIT CHANGES;
    INVALID_STATEMENT: OVER cannot be used with aggregations. Put one of them into a sub-query in FROM.
    line 1:22
      SELECT id, COUNT(*), SUM(n) OVER (PARTITION BY id ORDER BY ROWTIME) FROM s GROUP BY id EMIT CHANGES
                           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

SELECT EXPLODE(tags), SUM(n) OVER (PARTITION BY id ORDER BY ROWTIME) FROM s EMIT CHANGES;
    INVALID_STATEMENT: OVER cannot be used with table functions. Put one of them into a sub-query in FROM.
    line 1:23
      SELECT EXPLODE(tags), SUM(n) OVER (PARTITION BY id ORDER BY ROWTIME) FROM s EMIT CHANGES
                            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

SELECT DISTINCT ON (id) SUM(n) OVER (PARTITION BY id ORDER BY ROWTIME) FROM s EMIT CHANGES;
    INVALID_STATEMENT: DISTINCT ON cannot be used with OVER in SELECT. Put one of them into a sub-query in FROM.
    line 1:21
      SELECT DISTINCT ON (id) SUM(n) OVER (PARTITION BY id ORDER BY ROWTIME) FROM s EMIT CHANGES
                          ^^

SELECT id FROM s WHERE SUM(n) OVER (PARTITION BY id ORDER BY ROWTIME) > 3 EMIT CHANGES;
    INVALID_STATEMENT: SUM() OVER (…) is not allowed here. It is for the SELECT of persistent and push queries.
    line 1:24
      SELECT id FROM s WHERE SUM(n) OVER (PARTITION BY id ORDER BY ROWTIME) > 3 EMIT CHANGES
                             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

SELECT SUM(n) OVER (PARTITION BY id ORDER BY ROWTIME) FROM s;
    INVALID_STATEMENT: SUM() OVER (…) is not allowed here. It is for the SELECT of persistent and push queries.
    line 1:8
      SELECT SUM(n) OVER (PARTITION BY id ORDER BY ROWTIME) FROM s
             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
