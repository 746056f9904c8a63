CREATE STREAM s (id INT KEY, name STRING, amount DOUBLE, m MAP<STRING, INT>, tags ARRAY<STRING>) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON', PARTITIONS=2);
CREATE STREAM r (id INT KEY, c INT) WITH (KAFKA_TOPIC='r', VALUE_FORMAT='JSON', PARTITIONS=2);
CREATE TABLE t (id INT PRIMARY KEY, d STRING) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON');
CREATE TABLE w (name STRING PRIMARY KEY, n INT) WITH (KAFKA_TOPIC='w', VALUE_FORMAT='JSON', WINDOW_TYPE='TUMBLING', WINDOW_SIZE='1 HOUR');
CREATE SOURCE TABLE st (id INT PRIMARY KEY, d STRING) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON');
----
CREATE STREAM o AS SELECT DISTINCT ON (name) id, name FROM s WITHIN 1 HOUR WHERE amount > 1;
    STREAM O SINK
      columns `ID` INTEGER KEY, `NAME` STRING
      topic O, key KAFKA, value JSON
    Project key [ID AS ID] value [NAME AS NAME]
      Deduplicate NAME within 3600000 ms
        Filter (AMOUNT > CAST(1 AS DOUBLE))
          Source S

CREATE STREAM o AS SELECT DISTINCT ON (UCASE(name), s.id) * FROM s;
    STREAM O SINK
      columns `ID` INTEGER KEY, `NAME` STRING, `AMOUNT` DOUBLE, `M` MAP<STRING, INTEGER>, `TAGS` ARRAY<STRING>
      topic O, key KAFKA, value JSON
    Project key [ID AS ID] value [NAME AS NAME, AMOUNT AS AMOUNT, M AS M, TAGS AS TAGS]
      Deduplicate UCASE(NAME), ID
        Source S

CREATE STREAM o AS SELECT id, name FROM s QUALIFY ROW_NUMBER() OVER (PARTITION BY name, id ORDER BY ROWTIME) = 1;
    STREAM O SINK
      columns `ID` INTEGER KEY, `NAME` STRING
      topic O, key KAFKA, value JSON
    Project key [ID AS ID] value [NAME AS NAME]
      Deduplicate NAME, ID
        Source S

SELECT name FROM s WITHIN 2 DAYS QUALIFY (1 = ROW_NUMBER() OVER (PARTITION BY name ORDER BY s.ROWTIME)) EMIT CHANGES;
    OUTPUT `NAME` STRING
    Project key [] value [NAME AS NAME]
      Deduplicate NAME within 172800000 ms
        Source S

SELECT name FROM s QUALIFY ROW_NUMBER() OVER (PARTITION BY name ORDER BY ROWTIME ASC) <= 1 EMIT CHANGES;
    OUTPUT `NAME` STRING
    Project key [] value [NAME AS NAME]
      Deduplicate NAME
        Source S

CREATE STREAM o AS SELECT DISTINCT ON (name) * FROM s WITHIN 1 HOUR PARTITION BY name;
    STREAM O SINK
      columns `NAME` STRING KEY, `AMOUNT` DOUBLE, `M` MAP<STRING, INTEGER>, `TAGS` ARRAY<STRING>, `ID` INTEGER
      topic O, key KAFKA, value JSON
    Project key [NAME AS NAME] value [AMOUNT AS AMOUNT, M AS M, TAGS AS TAGS, ID AS ID]
      SelectKey NAME AS NAME
        Deduplicate NAME within 3600000 ms
          Source S

CREATE STREAM o AS SELECT DISTINCT ON (r.c) s.id, s.name FROM s JOIN r WITHIN 1 DAY ON s.id = r.id WITHIN 1 HOUR;
    STREAM O SINK
      columns `S_ID` INTEGER KEY, `NAME` STRING
      topic O, key KAFKA, value JSON
    Project key [S_ID AS S_ID] value [S_NAME AS NAME]
      Deduplicate R_C within 3600000 ms
        Join INNER STREAM_STREAM on S_ID = R_ID as S_ID WithinSpec(before_ms=86400000, after_ms=86400000, grace_ms=None)
          Source S prefixed
          Source R prefixed

CREATE TABLE o AS SELECT name, COUNT(*) AS n FROM (SELECT DISTINCT ON (id) * FROM s WITHIN 1 HOUR) x GROUP BY name;
    TABLE O SINK
      columns `NAME` STRING KEY, `N` BIGINT
      topic O, key KAFKA, value JSON
    Project key [NAME AS NAME] value [KSQL_AGG_VARIABLE_0 AS N]
      Aggregate by [NAME AS NAME] COUNT(*) AS KSQL_AGG_VARIABLE_0
        Project key [ID AS ID] value [NAME AS NAME, AMOUNT AS AMOUNT, M AS M, TAGS AS TAGS]
          Deduplicate ID within 3600000 ms
            Source S

SELECT DISTINCT ON (nam) id FROM s EMIT CHANGES;
    COLUMN_UNKNOWN: DISTINCT ON column 'NAM' cannot be resolved. Did you mean NAME?
    line 1:21
      SELECT DISTINCT ON (nam) id FROM s EMIT CHANGES
                          ^^^

SELECT DISTINCT ON (1) id FROM s EMIT CHANGES;
    INVALID_STATEMENT: DISTINCT ON needs expressions over columns, got 1.
    line 1:21
      SELECT DISTINCT ON (1) id FROM s EMIT CHANGES
                          ^

SELECT DISTINCT ON (m) id FROM s EMIT CHANGES;
    INVALID_STATEMENT: DISTINCT ON cannot compare MAPs: S.M (MAP<STRING, INTEGER>).
    line 1:21
      SELECT DISTINCT ON (m) id FROM s EMIT CHANGES
                          ^

SELECT DISTINCT ON (COUNT(*)) id FROM s EMIT CHANGES;
    AGGREGATE_NOT_ALLOWED: COUNT is an aggregate function: it cannot be used in DISTINCT ON.
    line 1:21
      SELECT DISTINCT ON (COUNT(*)) id FROM s EMIT CHANGES
                          ^^^^^^^^

SELECT DISTINCT ON (id) id, COUNT(*) FROM s GROUP BY id EMIT CHANGES;
    INVALID_STATEMENT: DISTINCT ON cannot be used with aggregations. Put one of them into a sub-query in FROM.
    line 1:21
      SELECT DISTINCT ON (id) id, COUNT(*) FROM s GROUP BY id EMIT CHANGES
                          ^^

SELECT DISTINCT ON (id) COUNT(*) FROM s EMIT CHANGES;
    INVALID_STATEMENT: DISTINCT ON cannot be used with aggregations. Put one of them into a sub-query in FROM.
    line 1:21
      SELECT DISTINCT ON (id) COUNT(*) FROM s EMIT CHANGES
                          ^^

SELECT DISTINCT ON (id) EXPLODE(tags) FROM s EMIT CHANGES;
    INVALID_STATEMENT: DISTINCT ON cannot be used with table functions. Put one of them into a sub-query in FROM.
    line 1:21
      SELECT DISTINCT ON (id) EXPLODE(tags) FROM s EMIT CHANGES
                          ^^

SELECT DISTINCT ON (id) id FROM t EMIT CHANGES;
    INVALID_STATEMENT: DISTINCT ON is for streams: a table already has one row for each key. Use GROUP BY.
    line 1:21
      SELECT DISTINCT ON (id) id FROM t EMIT CHANGES
                          ^^

SELECT id FROM t QUALIFY ROW_NUMBER() OVER (PARTITION BY d ORDER BY ROWTIME) = 1 EMIT CHANGES;
    OUTPUT `ID` INTEGER
    Project key [] value [ID AS ID]
      TopN 1 by D AS D order ROWTIME
        Source T

SELECT DISTINCT ON (id) id FROM s QUALIFY ROW_NUMBER() OVER (PARTITION BY name ORDER BY ROWTIME) = 1 EMIT CHANGES;
    INVALID_STATEMENT: A query has DISTINCT ON or QUALIFY, not both.
    line 1:43
      SELECT DISTINCT ON (id) id FROM s QUALIFY ROW_NUMBER() OVER (PARTITION BY name ORDER BY ROWTIME) = 1 EMIT CHANGES
                                                ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

SELECT id FROM s QUALIFY ROW_NUMBER() OVER (PARTITION BY name ORDER BY ROWTIME DESC) = 1 EMIT CHANGES;
    OUTPUT `ID` INTEGER
    Project key [] value [ID AS ID]
      TopN 1 by NAME AS NAME order ROWTIME DESC
        Source S

SELECT id FROM s QUALIFY ROW_NUMBER() OVER (PARTITION BY name ORDER BY amount) = 1 EMIT CHANGES;
    OUTPUT `ID` INTEGER
    Project key [] value [ID AS ID]
      TopN 1 by NAME AS NAME order AMOUNT
        Source S

SELECT id FROM s QUALIFY ROW_NUMBER() OVER (PARTITION BY name) = 1 EMIT CHANGES;
    INVALID_STATEMENT: QUALIFY takes ROW_NUMBER(), RANK() or DENSE_RANK() OVER (PARTITION BY expression, … ORDER BY expression, …) <= n: ORDER BY is missing.
    line 1:26
      SELECT id FROM s QUALIFY ROW_NUMBER() OVER (PARTITION BY name) = 1 EMIT CHANGES
                               ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

SELECT id FROM s QUALIFY ROW_NUMBER() OVER (ORDER BY ROWTIME) = 1 EMIT CHANGES;
    INVALID_STATEMENT: QUALIFY takes ROW_NUMBER(), RANK() or DENSE_RANK() OVER (PARTITION BY expression, … ORDER BY expression, …) <= n: PARTITION BY is missing.
    line 1:26
      SELECT id FROM s QUALIFY ROW_NUMBER() OVER (ORDER BY ROWTIME) = 1 EMIT CHANGES
                               ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

SELECT id FROM s QUALIFY ROW_NUMBER() OVER (PARTITION BY name ORDER BY ROWTIME) <= 3 EMIT CHANGES;
    OUTPUT `ID` INTEGER
    Project key [] value [ID AS ID]
      TopN 3 by NAME AS NAME order ROWTIME rank KSQL_ROW_NUMBER
        Source S

SELECT id FROM s QUALIFY ROW_NUMBER() OVER (PARTITION BY name ORDER BY ROWTIME) = 1 AND id > 3 EMIT CHANGES;
    INVALID_STATEMENT: QUALIFY takes ROW_NUMBER(), RANK() or DENSE_RANK() OVER (PARTITION BY expression, … ORDER BY expression, …) <= n. Put other conditions into the WHERE of this query or of one around it.
    line 1:26
      SELECT id FROM s QUALIFY ROW_NUMBER() OVER (PARTITION BY name ORDER BY ROWTIME) = 1 AND id > 3 EMIT CHANGES
                               ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

SELECT id FROM s QUALIFY ROW_NUMBER(id) OVER (PARTITION BY name ORDER BY ROWTIME) = 1 EMIT CHANGES;
    INVALID_STATEMENT: ROW_NUMBER takes no arguments and no FILTER.
    line 1:26
      SELECT id FROM s QUALIFY ROW_NUMBER(id) OVER (PARTITION BY name ORDER BY ROWTIME) = 1 EMIT CHANGES
                               ^^^^^^^^^^^^^^

SELECT id FROM s QUALIFY RANK() OVER (PARTITION BY name ORDER BY ROWTIME) = 1 EMIT CHANGES;
    OUTPUT `ID` INTEGER
    Project key [] value [ID AS ID]
      TopN 1 RANK by NAME AS NAME order ROWTIME rank KSQL_ROW_NUMBER
        Source S

SELECT id FROM s QUALIFY (id > 1) EMIT CHANGES;
    INVALID_STATEMENT: QUALIFY takes ROW_NUMBER(), RANK() or DENSE_RANK() OVER (PARTITION BY expression, … ORDER BY expression, …) <= n. Put other conditions into the WHERE of this query or of one around it.
    line 1:26
      SELECT id FROM s QUALIFY (id > 1) EMIT CHANGES
                               ^^^^^^^^

SELECT id, SUM(amount) OVER (PARTITION BY name) FROM s EMIT CHANGES;
    INVALID_STATEMENT: The order of OVER is that of arrival: ORDER BY ROWTIME. Write OVER (PARTITION BY expression, … ORDER BY ROWTIME).
    line 1:12
      SELECT id, SUM(amount) OVER (PARTITION BY name) FROM s EMIT CHANGES
                 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

SELECT id FROM s WITHIN 1 HOUR EMIT CHANGES;
    INVALID_STATEMENT: WITHIN after FROM is for DISTINCT ON, QUALIFY and OVER.
    line 1:25
      SELECT id FROM s WITHIN 1 HOUR EMIT CHANGES
                              ^^^^^^

SELECT s.id FROM s JOIN r ON s.id = r.id WITHIN 1 HOUR EMIT CHANGES;
    INVALID_STATEMENT: WITHIN after FROM is for DISTINCT ON, QUALIFY and OVER. WITHIN of a join comes before its ON.
    line 1:49
      SELECT s.id FROM s JOIN r ON s.id = r.id WITHIN 1 HOUR EMIT CHANGES
                                                      ^^^^^^

SELECT DISTINCT ON (id) id FROM st;
    BATCH `ID` INTEGER
    Project key [] value [ID AS ID]
      Filter (KSQL_WINDOW_0 = 1)
        BatchOver ROW_NUMBER(*) ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW AS KSQL_WINDOW_0 by ID in order of
          Source ST

SELECT id FROM s QUALIFY ROW_NUMBER() OVER (PARTITION BY name ORDER BY ROWTIME) = 1;
    BATCH `ID` INTEGER
    Project key [] value [ID AS ID]
      Filter (KSQL_WINDOW_0 = CAST(1 AS BIGINT))
        BatchOver ROW_NUMBER(*) ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW AS KSQL_WINDOW_0 by NAME in order of ROWTIME
          Source S with ROWTIME

SELECT id FROM st WITHIN 1 HOUR;
    INVALID_STATEMENT: WITHIN after FROM is for streaming queries. Compare ROWTIME in WHERE.
    line 1:26
      SELECT id FROM st WITHIN 1 HOUR
                               ^^^^^^

SELECT id FROM (SELECT DISTINCT ON (id) * FROM st) x;
    BATCH `ID` INTEGER
    Project key [] value [ID AS ID]
      Project key [] value [ID AS ID, D AS D]
        Filter (KSQL_WINDOW_0 = 1)
          BatchOver ROW_NUMBER(*) ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW AS KSQL_WINDOW_0 by ID in order of
            Source ST

SELECT id FROM s QUALIFY ROW_NUMBER() OVER (PARTITION BY name ORDER BY ROWTIME ROWS 3 PRECEDING) = 1 EMIT CHANGES;
    INVALID_STATEMENT: ROW_NUMBER has no ROWS.
    line 1:80
      SELECT id FROM s QUALIFY ROW_NUMBER() OVER (PARTITION BY name ORDER BY ROWTIME ROWS 3 PRECEDING) = 1 EMIT CHANGES
                                                                                     ^^^^^^^^^^^^^^^^

CREATE TABLE o WITH (KEY_FORMAT='JSON') AS SELECT name, ROW_NUMBER() OVER (PARTITION BY name ORDER BY amount DESC, id NULLS FIRST) AS place, id, amount FROM s WHERE amount > 0 QUALIFY place <= 3;
    TABLE O SINK
      columns `NAME` STRING KEY, `PLACE` BIGINT KEY, `ID` INTEGER, `AMOUNT` DOUBLE
      topic O, key JSON, value JSON
    Project key [NAME AS NAME, KSQL_ROW_NUMBER AS PLACE] value [ID AS ID, AMOUNT AS AMOUNT]
      TopN 3 by NAME AS NAME order AMOUNT DESC, ID NULLS FIRST rank KSQL_ROW_NUMBER
        Filter (AMOUNT > CAST(0 AS DOUBLE))
          Source S

CREATE TABLE o WITH (KEY_FORMAT='JSON') AS SELECT UCASE(name) AS u, ROW_NUMBER() OVER (PARTITION BY UCASE(name) ORDER BY amount) AS p, amount FROM s QUALIFY 4 > ROW_NUMBER() OVER (PARTITION BY UCASE(name) ORDER BY amount);
    TABLE O SINK
      columns `U` STRING KEY, `P` BIGINT KEY, `AMOUNT` DOUBLE
      topic O, key JSON, value JSON
    Project key [U AS U, KSQL_ROW_NUMBER AS P] value [AMOUNT AS AMOUNT]
      TopN 3 by UCASE(NAME) AS U order AMOUNT rank KSQL_ROW_NUMBER
        Source S

CREATE TABLE o AS SELECT id, amount, ROWTIME AS t FROM s QUALIFY ROW_NUMBER() OVER (PARTITION BY id ORDER BY ROWTIME DESC) = 1;
    TABLE O SINK
      columns `ID` INTEGER KEY, `AMOUNT` DOUBLE, `T` BIGINT
      topic O, key KAFKA, value JSON
    Project key [ID AS ID] value [AMOUNT AS AMOUNT, ROWTIME AS T]
      TopN 1 by ID AS ID order ROWTIME DESC
        Source S

CREATE TABLE o AS SELECT name, amount FROM s QUALIFY ROW_NUMBER() OVER (PARTITION BY name ORDER BY amount DESC) <= 3;
    KEY_MISSING: Key missing from projection (ie, SELECT).
    The query used to build `O` must include the partitioning expressions S.NAME and ROW_NUMBER() OVER (…) in its projection (eg, SELECT S.NAME, ROW_NUMBER() OVER (…)...).
    line 1:19
      CREATE TABLE o AS SELECT name, amount FROM s QUALIFY ROW_NUMBER() OVER (PARTITION BY name ORDER BY amount DESC) <= 3
                        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

CREATE STREAM o AS SELECT id, amount FROM s QUALIFY ROW_NUMBER() OVER (PARTITION BY id ORDER BY amount DESC) = 1;
    INVALID_STATEMENT: Invalid result type. Your SELECT query produces a TABLE. Please use CREATE TABLE AS SELECT statement instead.
    line 1:1
      CREATE STREAM o AS SELECT id, amount FROM s QUALIFY ROW_NUMBER() OVER (PARTITION BY id ORDER BY amount DESC) = 1
      ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

CREATE TABLE o AS SELECT id, amount FROM s QUALIFY ROW_NUMBER() OVER (PARTITION BY id ORDER BY tags) = 1;
    INVALID_STATEMENT: QUALIFY cannot order values of type ARRAY<STRING>.
    line 1:96
      CREATE TABLE o AS SELECT id, amount FROM s QUALIFY ROW_NUMBER() OVER (PARTITION BY id ORDER BY tags) = 1
                                                                                                     ^^^^

CREATE TABLE o AS SELECT id, amount FROM s QUALIFY ROW_NUMBER() OVER (PARTITION BY id) <= 2;
    INVALID_STATEMENT: QUALIFY takes ROW_NUMBER(), RANK() or DENSE_RANK() OVER (PARTITION BY expression, … ORDER BY expression, …) <= n: ORDER BY is missing.
    line 1:52
      CREATE TABLE o AS SELECT id, amount FROM s QUALIFY ROW_NUMBER() OVER (PARTITION BY id) <= 2
                                                         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

CREATE TABLE o AS SELECT id, amount FROM s QUALIFY ROW_NUMBER() OVER (PARTITION BY id ORDER BY amount) <= 1001;
    INVALID_STATEMENT: At most 1000 rows of each group can be kept.
    line 1:52
      CREATE TABLE o AS SELECT id, amount FROM s QUALIFY ROW_NUMBER() OVER (PARTITION BY id ORDER BY amount) <= 1001
                                                         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

CREATE TABLE o AS SELECT id, amount FROM s WITHIN 1 HOUR QUALIFY ROW_NUMBER() OVER (PARTITION BY id ORDER BY amount) = 1;
    INVALID_STATEMENT: WITHIN is for the first row of each key: n best rows are kept forever.
    line 1:51
      CREATE TABLE o AS SELECT id, amount FROM s WITHIN 1 HOUR QUALIFY ROW_NUMBER() OVER (PARTITION BY id ORDER BY amount) = 1
                                                        ^^^^^^

CREATE TABLE o AS SELECT id, d FROM t QUALIFY ROW_NUMBER() OVER (PARTITION BY id ORDER BY d) = 1;
    TABLE O SINK
      columns `ID` INTEGER KEY, `D` STRING
      topic O, key KAFKA, value JSON
    Project key [ID AS ID] value [D AS D]
      TopN 1 by ID AS ID order D
        Source T

CREATE TABLE o AS SELECT id, COUNT(*) FROM s GROUP BY id QUALIFY ROW_NUMBER() OVER (PARTITION BY id ORDER BY amount) = 1;
    INVALID_STATEMENT: QUALIFY cannot be used with aggregations. Put one of them into a sub-query in FROM.
    line 1:66
      CREATE TABLE o AS SELECT id, COUNT(*) FROM s GROUP BY id QUALIFY ROW_NUMBER() OVER (PARTITION BY id ORDER BY amount) = 1
                                                                       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

CREATE TABLE o AS SELECT id, LAG(amount) OVER (PARTITION BY id ORDER BY ROWTIME) AS l FROM s QUALIFY ROW_NUMBER() OVER (PARTITION BY id ORDER BY amount) = 1;
    INVALID_STATEMENT: With QUALIFY, SELECT can only have ROW_NUMBER, RANK, DENSE_RANK with the same OVER (…). Put the other one into a sub-query in FROM.
    line 1:30
      CREATE TABLE o AS SELECT id, LAG(amount) OVER (PARTITION BY id ORDER BY ROWTIME) AS l FROM s QUALIFY ROW_NUMBER() OVER (PARTITION BY id ORDER BY amount) = 1
                                   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

CREATE TABLE o AS SELECT id, RANK() OVER (PARTITION BY id ORDER BY amount) AS r FROM s QUALIFY r <= 2;
    KEY_MISSING: Key missing from projection (ie, SELECT).
    The query used to build `O` must include the partitioning expressions S.ID and ROW_NUMBER() OVER (…) in its projection (eg, SELECT S.ID, ROW_NUMBER() OVER (…)...).
    line 1:19
      CREATE TABLE o AS SELECT id, RANK() OVER (PARTITION BY id ORDER BY amount) AS r FROM s QUALIFY r <= 2
                        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

SELECT * FROM s QUALIFY ROW_NUMBER() OVER (PARTITION BY name ORDER BY amount DESC) <= 2 EMIT CHANGES;
    OUTPUT `ID` INTEGER, `NAME` STRING, `AMOUNT` DOUBLE, `M` MAP<STRING, INTEGER>, `TAGS` ARRAY<STRING>
    Project key [NAME AS NAME] value [ID AS ID, AMOUNT AS AMOUNT, M AS M, TAGS AS TAGS]
      TopN 2 by NAME AS NAME order AMOUNT DESC rank KSQL_ROW_NUMBER
        Source S

CREATE TABLE o AS SELECT x.id, COUNT(*) FROM (SELECT id, amount FROM s QUALIFY ROW_NUMBER() OVER (PARTITION BY id ORDER BY amount) = 1) x GROUP BY x.id;
    TABLE O SINK
      columns `ID` INTEGER KEY, `KSQL_COL_0` BIGINT
      topic O, key KAFKA, value JSON
    Project key [ID AS ID] value [KSQL_AGG_VARIABLE_0 AS KSQL_COL_0]
      Aggregate by [ID AS ID] COUNT(*) AS KSQL_AGG_VARIABLE_0
        Project key [ID AS ID] value [AMOUNT AS AMOUNT]
          TopN 1 by ID AS ID order AMOUNT
            Source S

CREATE TABLE o WITH (KEY_FORMAT = 'JSON') AS SELECT d, ROW_NUMBER() OVER (PARTITION BY d ORDER BY id) AS place, RANK() OVER (PARTITION BY d ORDER BY id) AS r, id FROM t QUALIFY r <= 2;
    TABLE O SINK
      columns `D` STRING KEY, `PLACE` BIGINT KEY, `R` BIGINT, `ID` INTEGER
      topic O, key JSON, value JSON
    Project key [D AS D, KSQL_ROW_NUMBER AS PLACE] value [KSQL_RANK AS R, ID AS ID]
      TopN 2 RANK by D AS D order ID rank KSQL_ROW_NUMBER
        Source T

CREATE TABLE o WITH (KEY_FORMAT = 'JSON') AS SELECT name, ROW_NUMBER() OVER (PARTITION BY name ORDER BY amount) AS place, DENSE_RANK() OVER (PARTITION BY name ORDER BY amount) AS r FROM s QUALIFY place <= 2;
    TABLE O SINK
      columns `NAME` STRING KEY, `PLACE` BIGINT KEY, `R` BIGINT
      topic O, key JSON, value JSON
    Project key [NAME AS NAME, KSQL_ROW_NUMBER AS PLACE] value [KSQL_DENSE_RANK AS R]
      TopN 2 by NAME AS NAME order AMOUNT rank KSQL_ROW_NUMBER
        Source S

CREATE TABLE o WITH (KEY_FORMAT = 'JSON') AS SELECT name, RANK() OVER (PARTITION BY name ORDER BY amount) AS r FROM s QUALIFY r <= 2;
    KEY_MISSING: Key missing from projection (ie, SELECT).
    The query used to build `O` must include the partitioning expressions S.NAME and ROW_NUMBER() OVER (…) in its projection (eg, SELECT S.NAME, ROW_NUMBER() OVER (…)...).
    line 1:46
      CREATE TABLE o WITH (KEY_FORMAT = 'JSON') AS SELECT name, RANK() OVER (PARTITION BY name ORDER BY amount) AS r FROM s QUALIFY r <= 2
                                                   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

SELECT name, RANK() OVER (PARTITION BY name ORDER BY amount) AS r FROM s QUALIFY DENSE_RANK() OVER (PARTITION BY name ORDER BY amount) = 1 EMIT CHANGES;
    OUTPUT `NAME` STRING, `R` BIGINT
    Project key [NAME AS NAME] value [KSQL_RANK AS R]
      TopN 1 DENSE_RANK by NAME AS NAME order AMOUNT rank KSQL_ROW_NUMBER
        Source S

SELECT RANK(1) OVER (PARTITION BY name ORDER BY amount) AS r FROM s QUALIFY ROW_NUMBER() OVER (PARTITION BY name ORDER BY amount) <= 3 EMIT CHANGES;
    INVALID_STATEMENT: RANK takes no arguments and no FILTER.
    line 1:8
      SELECT RANK(1) OVER (PARTITION BY name ORDER BY amount) AS r FROM s QUALIFY ROW_NUMBER() OVER (PARTITION BY name ORDER BY amount) <= 3 EMIT CHANGES
             ^^^^^^^

CREATE TABLE o WITH (KEY_FORMAT = 'JSON') AS SELECT WINDOWSTART AS ws, ROW_NUMBER() OVER (PARTITION BY WINDOWSTART ORDER BY n DESC) AS place, name, n FROM w QUALIFY place <= 2;
    TABLE O SINK
      columns `WS` BIGINT KEY, `PLACE` BIGINT KEY, `NAME` STRING, `N` INTEGER
      topic O, key JSON, value JSON
    Project key [KSQL_WINDOWSTART AS WS, KSQL_ROW_NUMBER AS PLACE] value [NAME AS NAME, N AS N]
      TopN 2 by WINDOWSTART AS KSQL_WINDOWSTART order N DESC rank KSQL_ROW_NUMBER
        Source W

CREATE TABLE o WITH (KEY_FORMAT = 'JSON') AS SELECT WINDOWEND AS we, name, ROW_NUMBER() OVER (PARTITION BY name ORDER BY n DESC) AS place FROM w QUALIFY place <= 2;
    INVALID_STATEMENT: With QUALIFY, SELECT can only have the bounds of windows that PARTITION BY has: WINDOWEND.
    line 1:53
      CREATE TABLE o WITH (KEY_FORMAT = 'JSON') AS SELECT WINDOWEND AS we, name, ROW_NUMBER() OVER (PARTITION BY name ORDER BY n DESC) AS place FROM w QUALIFY place <= 2
                                                          ^^^^^^^^^^^^^^^
