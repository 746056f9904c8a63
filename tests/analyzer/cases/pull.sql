CREATE STREAM s (id INT KEY, name STRING, amount DECIMAL(10, 2)) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');
CREATE STREAM s2 (id INT KEY, title STRING) WITH (KAFKA_TOPIC='s2', VALUE_FORMAT='JSON');
CREATE TABLE plain (id INT PRIMARY KEY, v STRING) WITH (KAFKA_TOPIC='plain', VALUE_FORMAT='JSON');
CREATE TABLE counts AS SELECT name, COUNT(*) AS n FROM s GROUP BY name;
CREATE TABLE pairs WITH (KEY_FORMAT='JSON') AS SELECT id, name, COUNT(*) AS n FROM s GROUP BY id, name;
CREATE TABLE per_minute AS SELECT name, COUNT(*) AS n FROM s WINDOW TUMBLING (SIZE 1 MINUTE) GROUP BY name;
CREATE TABLE aliases AS SELECT name, LATEST_BY_OFFSET(name) AS other FROM s GROUP BY name;
----
SELECT c.name, p.id FROM counts c LEFT JOIN pairs p ON c.name = p.name AND p.id > 3 WHERE c.name IN ('a','b') ORDER BY p.n, c.n + 1 DESC NULLS FIRST LIMIT 2;
    BATCH `C_NAME` STRING, `ID` INTEGER
      lookup C 'a'
      lookup C 'b'
    Project key [] value [C_NAME AS C_NAME, ID AS ID]
      Limit 2 from 0
        Sort KSQL_SORT_0, KSQL_SORT_1 DESC NULLS FIRST
          Project key [] value [C_NAME AS C_NAME, P_ID AS ID, P_N AS KSQL_SORT_0, (C_N + CAST(1 AS BIGINT)) AS KSQL_SORT_1]
            Filter (C_NAME IN ('a', 'b'))
              BatchJoin LEFT on ((C_NAME = P_NAME) AND (P_ID > 3))
                Source COUNTS C prefixed
                Source PAIRS P prefixed

SELECT a.name, b.n FROM counts a JOIN counts b ON a.name = b.name;
    BATCH `A_NAME` STRING, `B_N` BIGINT
    Project key [] value [A_NAME AS A_NAME, B_N AS B_N]
      BatchJoin INNER on (A_NAME = B_NAME)
        Source COUNTS A prefixed
        Source COUNTS B prefixed

WITH t AS (SELECT name, n FROM counts) SELECT * FROM t WHERE name = 'x' ORDER BY 2;
    BATCH `NAME` STRING, `N` BIGINT KEYS NAME
      lookup COUNTS 'x'
    Sort N
      Project key [] value [NAME AS NAME, N AS N]
        Filter (NAME = 'x')
          Project key [] value [NAME AS NAME, N AS N]
            Source COUNTS

SELECT name FROM counts UNION ALL SELECT name FROM pairs ORDER BY name LIMIT 3;
    BATCH `NAME` STRING
    Limit 3 from 0
      Sort NAME
        UnionAll
          Project key [] value [NAME AS NAME]
            Source COUNTS
          Project key [] value [NAME AS NAME]
            Source PAIRS

SELECT name, LATEST_BY_OFFSET(amount) AS l, COUNT(DISTINCT id) AS d FROM s WHERE id > 1 GROUP BY name HAVING COUNT(*) > 1 ORDER BY COUNT(*) DESC;
    BATCH `NAME` STRING, `L` DECIMAL(10, 2), `D` BIGINT
    Project key [] value [NAME AS NAME, L AS L, D AS D]
      Sort KSQL_SORT_0 DESC
        Project key [] value [KSQL_GROUP_0 AS NAME, KSQL_AGG_VARIABLE_0 AS L, KSQL_AGG_VARIABLE_1 AS D, KSQL_AGG_VARIABLE_2 AS KSQL_SORT_0]
          Filter (KSQL_AGG_VARIABLE_2 > CAST(1 AS BIGINT))
            Aggregate by [NAME AS KSQL_GROUP_0] LATEST_BY_OFFSET(AMOUNT) AS KSQL_AGG_VARIABLE_0, COUNT(DISTINCT ID) AS KSQL_AGG_VARIABLE_1, COUNT(*) AS KSQL_AGG_VARIABLE_2
              Sort KSQL_LATEST_TIME, ROWPARTITION, ROWOFFSET
                BatchOver MAX(ROWTIME) ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW AS KSQL_LATEST_TIME by ROWPARTITION in order of ROWOFFSET
                  Filter (ID > 1)
                    Source S with ROWTIME, ROWPARTITION, ROWOFFSET

SELECT x.name, COUNT(*) FROM (SELECT name FROM pairs WHERE id = 1 AND name = 'q' ORDER BY n LIMIT 3) x GROUP BY x.name;
    BATCH `NAME` STRING, `KSQL_COL_0` BIGINT
      lookup PAIRS 1, 'q'
    Project key [] value [KSQL_GROUP_0 AS NAME, KSQL_AGG_VARIABLE_0 AS KSQL_COL_0]
      Aggregate by [NAME AS KSQL_GROUP_0] COUNT(*) AS KSQL_AGG_VARIABLE_0
        Project key [] value [NAME AS NAME]
          Limit 3 from 0
            Sort KSQL_SORT_0
              Project key [] value [NAME AS NAME, N AS KSQL_SORT_0]
                Filter ((ID = 1) AND (NAME = 'q'))
                  Source PAIRS

SELECT name, WINDOWSTART, ROWTIME FROM per_minute ORDER BY WINDOWSTART;
    BATCH `NAME` STRING, `WINDOWSTART` BIGINT, `ROWTIME` BIGINT KEYS NAME, WINDOWSTART
    Sort WINDOWSTART
      Project key [] value [NAME AS NAME, WINDOWSTART AS WINDOWSTART, ROWTIME AS ROWTIME]
        Source PER_MINUTE with ROWTIME, WINDOWSTART

SELECT * FROM per_minute m JOIN counts c ON m.name = c.name;
    BATCH `M_NAME` STRING, `M_WINDOWSTART` BIGINT, `M_WINDOWEND` BIGINT, `M_N` BIGINT, `C_NAME` STRING, `C_N` BIGINT
    Project key [] value [M_NAME AS M_NAME, M_WINDOWSTART AS M_WINDOWSTART, M_WINDOWEND AS M_WINDOWEND, M_N AS M_N, C_NAME AS C_NAME, C_N AS C_N]
      BatchJoin INNER on (M_NAME = C_NAME)
        Source PER_MINUTE M prefixed with WINDOWSTART, WINDOWEND
        Source COUNTS C prefixed

SELECT name, n FROM counts GROUP BY name;
    NOT_GROUPED: Non-aggregate SELECT expression(s) not part of GROUP BY: N
    Either add the column(s) to the GROUP BY or remove them from the SELECT.
    line 1:14
      SELECT name, n FROM counts GROUP BY name
                   ^

SELECT name, SUM(n) AS total FROM counts GROUP BY name ORDER BY total / 2;
    BATCH `NAME` STRING, `TOTAL` BIGINT
    Project key [] value [NAME AS NAME, TOTAL AS TOTAL]
      Sort KSQL_SORT_0
        Project key [] value [KSQL_GROUP_0 AS NAME, KSQL_AGG_VARIABLE_0 AS TOTAL, (KSQL_AGG_VARIABLE_0 / CAST(2 AS BIGINT)) AS KSQL_SORT_0]
          Aggregate by [NAME AS KSQL_GROUP_0] SUM(N) AS KSQL_AGG_VARIABLE_0
            Source COUNTS

SELECT a.name, LATEST_BY_OFFSET(b.n) FROM counts a JOIN pairs b ON a.name = b.name GROUP BY a.name;
    INVALID_STATEMENT: LATEST_BY_OFFSET needs the arrival order of rows, which joins and sub-queries do not preserve. Use TOPK with ROWTIME, or aggregate the source itself in a sub-query.
    line 1:1
      SELECT a.name, LATEST_BY_OFFSET(b.n) FROM counts a JOIN pairs b ON a.name = b.name GROUP BY a.name
      ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

SELECT * FROM counts c JOIN pairs p ON c.n > p.n;
    BATCH `C_NAME` STRING, `C_N` BIGINT, `P_ID` INTEGER, `P_NAME` STRING, `P_N` BIGINT
    Project key [] value [C_NAME AS C_NAME, C_N AS C_N, P_ID AS P_ID, P_NAME AS P_NAME, P_N AS P_N]
      BatchJoin INNER on (C_N > P_N)
        Source COUNTS C prefixed
        Source PAIRS P prefixed

SELECT DISTINCT name FROM counts ORDER BY n;
    INVALID_STATEMENT: SELECT DISTINCT can only be sorted by columns that it selects. Add the expression to the SELECT.
    line 1:43
      SELECT DISTINCT name FROM counts ORDER BY n
                                                ^

SELECT name FROM counts ORDER BY 3;
    INVALID_STATEMENT: ORDER BY 3 is not a column: the SELECT has 1.
    line 1:34
      SELECT name FROM counts ORDER BY 3
                                       ^

SELECT name FROM s ORDER BY ROWPARTITION;
    INVALID_STATEMENT: Pull queries don't support the following columns in ORDER BY clauses: `ROWPARTITION`.
    line 1:29
      SELECT name FROM s ORDER BY ROWPARTITION
                                  ^^^^^^^^^^^^

SELECT name FROM (SELECT * FROM counts EMIT CHANGES) ORDER BY name;
    INVALID_STATEMENT: EMIT is not allowed in a sub-query. Move EMIT to the end.
    line 1:19
      SELECT name FROM (SELECT * FROM counts EMIT CHANGES) ORDER BY name
                        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

SELECT name, ROWTIME FROM (SELECT name FROM counts);
    COLUMN_UNKNOWN: SELECT column 'ROWTIME' cannot be resolved. There are: NAME.
    line 1:14
      SELECT name, ROWTIME FROM (SELECT name FROM counts)
                   ^^^^^^^

SELECT name, COUNT(*) FROM s WINDOW TUMBLING (SIZE 1 MINUTE) GROUP BY name;
    INVALID_STATEMENT: Pull queries don't support WINDOW clauses. Add EMIT CHANGES if you intended to issue a push query. CREATE TABLE ... AS SELECT with a WINDOW creates a table that you can query.
    line 1:1
      SELECT name, COUNT(*) FROM s WINDOW TUMBLING (SIZE 1 MINUTE) GROUP BY name
      ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

SELECT MAP(1 := 'x') AS e FROM s;
    FORMAT_SCHEMA: Value format does not support schema.
    format: JSON
    schema: [`E` MAP<INTEGER, STRING>]
    reason: JSON only supports MAP types with STRING keys. Make a MAP's keys text: TRANSFORM(m, (k, v) => CAST(k AS STRING), (k, v) => v).
    line 1:1
      SELECT MAP(1 := 'x') AS e FROM s
      ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

SELECT MAP(1 := name)[1] AS e, TRANSFORM(MAP(1 := name), (k, v) => CAST(k AS STRING), (k, v) => v) AS m FROM s;
    BATCH `E` STRING, `M` MAP<STRING, STRING>
    Project key [] value [MAP(1:=NAME)[1] AS E, TRANSFORM(MAP(1:=NAME), (K, V) => CAST(K AS STRING), (K, V) => V) AS M]
      Source S

SELECT ARRAY[MAP(1 := 'x')] AS e FROM s ORDER BY name;
    FORMAT_SCHEMA: Value format does not support schema.
    format: JSON
    schema: [`E` ARRAY<MAP<INTEGER, STRING>>]
    reason: JSON only supports MAP types with STRING keys. Make a MAP's keys text: TRANSFORM(m, (k, v) => CAST(k AS STRING), (k, v) => v).
    line 1:1
      SELECT ARRAY[MAP(1 := 'x')] AS e FROM s ORDER BY name
      ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

SELECT EXPLODE(ARRAY[id, 2]) AS e, name FROM s ORDER BY e;
    BATCH `E` INTEGER, `NAME` STRING
    Sort E
      Project key [] value [KSQL_SYNTH_0 AS E, NAME AS NAME]
        FlatMap EXPLODE(ARRAY[ID, 2]) AS KSQL_SYNTH_0
          Source S

SELECT * FROM s JOIN s2 WITHIN 1 HOUR ON s.id = s2.id;
    INVALID_STATEMENT: WITHIN is for joins in streaming queries; a pull query joins all current rows. Compare the ROWTIMEs in ON instead.
    line 1:25
      SELECT * FROM s JOIN s2 WITHIN 1 HOUR ON s.id = s2.id
                              ^^^^^^^^^^^^^

SELECT c.name, o.n, p.n FROM counts c JOIN counts o ON c.name = o.name LEFT JOIN per_minute p ON o.name = p.name WHERE c.name = 'a' AND p.n > 1;
    BATCH `C_NAME` STRING, `O_N` BIGINT, `P_N` BIGINT
      lookup C 'a'
      lookup O 'a'
      lookup P 'a'
    Project key [] value [C_NAME AS C_NAME, O_N AS O_N, P_N AS P_N]
      Filter ((C_NAME = 'a') AND (P_N > CAST(1 AS BIGINT)))
        BatchJoin LEFT on (O_NAME = P_NAME)
          BatchJoin INNER on (C_NAME = O_NAME)
            Source COUNTS C prefixed
            Source COUNTS O prefixed
          Source PER_MINUTE P prefixed

SELECT c.name, s.amount FROM s RIGHT JOIN counts c ON s.name = c.name AND s.id = 3 WHERE c.name = 'a' OR c.name = 'b';
    BATCH `C_NAME` STRING, `AMOUNT` DECIMAL(10, 2)
      lookup C 'a'
      lookup C 'b'
    Project key [] value [C_NAME AS C_NAME, S_AMOUNT AS AMOUNT]
      Filter ((C_NAME = 'a') OR (C_NAME = 'b'))
        BatchJoin RIGHT on ((S_NAME = C_NAME) AND (S_ID = 3))
          Source S prefixed
          Source COUNTS C prefixed

SELECT c.name FROM counts c JOIN counts c ON c.name = c.name;
    INVALID_STATEMENT: The alias 'C' is used twice in FROM. Give each its own alias: FROM a x JOIN a y ON ...
    line 1:34
      SELECT c.name FROM counts c JOIN counts c ON c.name = c.name
                                       ^^^^^^^^

SELECT c.name FROM counts c JOIN counts ON c.name = c.name;
    BATCH `C_NAME` STRING
    Project key [] value [C_NAME AS C_NAME]
      BatchJoin INNER on (C_NAME = C_NAME)
        Source COUNTS C prefixed
        Source COUNTS prefixed

SELECT c.name FROM counts c JOIN plain p ON c.name = p.v;
    INVALID_STATEMENT: The `PLAIN` table isn't queryable. To derive a queryable table, you can do 'CREATE TABLE QUERYABLE_PLAIN AS SELECT * FROM PLAIN'. Add EMIT CHANGES if you intended to issue a push query.
    line 1:34
      SELECT c.name FROM counts c JOIN plain p ON c.name = p.v
                                       ^^^^^^^

SELECT n FROM counts HAVING n > 1;
    INVALID_STATEMENT: HAVING needs GROUP BY or an aggregate function.
    line 1:29
      SELECT n FROM counts HAVING n > 1
                                  ^^^^^

SELECT name FROM counts GROUP BY name, name;
    INVALID_STATEMENT: Duplicate GROUP BY expression: COUNTS.NAME.
    line 1:40
      SELECT name FROM counts GROUP BY name, name
                                             ^^^^

SELECT COUNT(*) FROM counts GROUP BY COUNT(*);
    INVALID_STATEMENT: GROUP BY does not support aggregate functions: COUNT is an aggregate function.
    line 1:38
      SELECT COUNT(*) FROM counts GROUP BY COUNT(*)
                                           ^^^^^^^^

SELECT name, COUNT(*) FROM counts WHERE COUNT(*) > 1 GROUP BY name;
    AGGREGATE_NOT_ALLOWED: COUNT is an aggregate function: it cannot be used in WHERE.
    line 1:41
      SELECT name, COUNT(*) FROM counts WHERE COUNT(*) > 1 GROUP BY name
                                              ^^^^^^^^

SELECT SUM(COUNT(*)) FROM counts;
    INVALID_STATEMENT: Aggregate functions can not be nested: SUM(COUNT()).
    line 1:12
      SELECT SUM(COUNT(*)) FROM counts
                 ^^^^^^^^

SELECT MAP('a' := n) AS m FROM counts ORDER BY m;
    INVALID_STATEMENT: MAPs have no sort order: M (MAP<STRING, BIGINT>).
    line 1:48
      SELECT MAP('a' := n) AS m FROM counts ORDER BY m
                                                     ^

SELECT name FROM s UNION ALL SELECT id FROM s;
    INVALID_STATEMENT: The sides of UNION ALL differ in column 1: `NAME` STRING and `ID` INTEGER. Cast one of them.
    line 1:1
      SELECT name FROM s UNION ALL SELECT id FROM s
      ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

SELECT name, NULL AS x FROM counts ORDER BY name;
    INVALID_STATEMENT: Can't infer a type of null. Please explicitly cast it to a required type, e.g. CAST(null AS VARCHAR).
    line 1:14
      SELECT name, NULL AS x FROM counts ORDER BY name
                   ^^^^^^^^^

SELECT name, EXPLODE(ARRAY[1]) AS e, COUNT(*) FROM s GROUP BY name;
    INVALID_STATEMENT: Table functions cannot be used with aggregations.
    line 1:1
      SELECT name, EXPLODE(ARRAY[1]) AS e, COUNT(*) FROM s GROUP BY name
      ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

WITH a AS (SELECT name FROM counts), b AS (SELECT name FROM a) SELECT a.name FROM a FULL JOIN b ON a.name = b.name ORDER BY b.name;
    BATCH `A_NAME` STRING
    Project key [] value [A_NAME AS A_NAME]
      Sort KSQL_SORT_0
        Project key [] value [A_NAME AS A_NAME, B_NAME AS KSQL_SORT_0]
          BatchJoin FULL on (A_NAME = B_NAME)
            Project key [] value [NAME AS A_NAME]
              Project key [] value [NAME AS NAME]
                Source COUNTS
            Project key [] value [NAME AS B_NAME]
              Project key [] value [NAME AS NAME]
                Project key [] value [NAME AS NAME]
                  Source COUNTS

SELECT name FROM counts ORDER BY nmae;
    COLUMN_UNKNOWN: ORDER BY column 'NMAE' cannot be resolved. Did you mean NAME?
    line 1:34
      SELECT name FROM counts ORDER BY nmae
                                       ^^^^

SELECT c.* FROM counts c JOIN s ON c.name = s.name ORDER BY s.ROWTIME DESC LIMIT 1;
    BATCH `C_NAME` STRING, `C_N` BIGINT
    Project key [] value [C_NAME AS C_NAME, C_N AS C_N]
      Limit 1 from 0
        Sort KSQL_SORT_0 DESC
          Project key [] value [C_NAME AS C_NAME, C_N AS C_N, S_ROWTIME AS KSQL_SORT_0]
            BatchJoin INNER on (C_NAME = S_NAME)
              Source COUNTS C prefixed
              Source S prefixed with ROWTIME

SELECT * FROM ERRORS OF CSAS_COPY_3;
    ERRORS_NOT_KEPT: Errors and late rows are only counted, because there is no stream KSQL_PROCESSING_LOG to read them from. CREATE STREAM KSQL_PROCESSING_LOG WITH (KAFKA_TOPIC = 'default_ksql_processing_log', VALUE_FORMAT = 'JSON', PARTITIONS = 1); keeps them from now on.
    line 1:15
      SELECT * FROM ERRORS OF CSAS_COPY_3
                    ^^^^^^^^^^^^^^^^^^^^^

SELECT * FROM counts WHERE EXISTS (SELECT 1 FROM s WHERE s.name = counts.name AND amount > 3);
    BATCH `NAME` STRING, `N` BIGINT KEYS NAME
    Project key [] value [NAME AS NAME, N AS N]
      Filter EXISTS(SELECT … WITH OUTER_0 := NAME)
        Source COUNTS
        EXISTS(SELECT … WITH OUTER_0 := NAME)
          Project key [] value [1 AS KSQL_COL_0]
            Filter ((NAME = OUTER_0) AND (CAST(AMOUNT AS DECIMAL(12, 2)) > CAST(3 AS DECIMAL(12, 2))))
              Source S

SELECT name FROM s WHERE id > 1 AND name NOT IN (SELECT name FROM counts) ORDER BY id;
    BATCH `NAME` STRING
    Project key [] value [NAME AS NAME]
      Sort KSQL_SORT_0
        Project key [] value [NAME AS NAME, ID AS KSQL_SORT_0]
          Filter ((ID > 1) AND ((NAME IS NOT NULL) AND (NOT EXISTS(SELECT … WITH OUTER_0 := NAME))))
            Source S
            EXISTS(SELECT … WITH OUTER_0 := NAME)
              Filter (NAME = OUTER_0)
                Project key [] value [NAME AS NAME]
                  Source COUNTS

SELECT name FROM counts WHERE name = 'a' AND NOT EXISTS (SELECT * FROM (SELECT name AS x FROM s WHERE id = 2) q WHERE q.x = name);
    BATCH `NAME` STRING KEYS NAME
      lookup COUNTS 'a'
    Project key [] value [NAME AS NAME]
      Filter ((NAME = 'a') AND (NOT EXISTS(SELECT … WITH OUTER_0 := NAME)))
        Source COUNTS
        EXISTS(SELECT … WITH OUTER_0 := NAME)
          Project key [] value [X AS X]
            Filter (X = OUTER_0)
              Project key [] value [NAME AS X]
                Filter (ID = 2)
                  Source S

SELECT name FROM s WHERE EXISTS (SELECT 1 FROM counts);
    BATCH `NAME` STRING
    Project key [] value [NAME AS NAME]
      Filter EXISTS(SELECT …)
        Source S
        EXISTS(SELECT …)
          Project key [] value [1 AS KSQL_COL_0]
            Source COUNTS

SELECT a.other FROM aliases a LEFT JOIN counts c ON a.name = c.name AND a.other = a.name WHERE a.other = 'x';
    BATCH `OTHER` STRING
    Project key [] value [A_OTHER AS OTHER]
      Filter (A_OTHER = 'x')
        BatchJoin LEFT on ((A_NAME = C_NAME) AND (A_OTHER = A_NAME))
          Source ALIASES A prefixed
          Source COUNTS C prefixed

WITH unused AS (SELECT id FROM pairs) SELECT n FROM counts WHERE name = 'x' LIMIT 1;
    PULL N AS N FROM COUNTS
      lookup 'x'
      where (NAME = 'x')
      limit 1

SELECT name, COUNT(*) FROM counts GROUP BY name HAVING n > 1;
    NOT_GROUPED: Non-aggregate HAVING expression not part of GROUP BY: N
    Either add the column(s) to the GROUP BY or remove them from the HAVING.
    line 1:56
      SELECT name, COUNT(*) FROM counts GROUP BY name HAVING n > 1
                                                             ^^^^^

SELECT name FROM counts GROUP BY name ORDER BY n;
    NOT_GROUPED: Non-aggregate ORDER BY expression not part of GROUP BY: N
    Either add the column(s) to the GROUP BY or remove them from the ORDER BY.
    line 1:48
      SELECT name FROM counts GROUP BY name ORDER BY n
                                                     ^

SELECT name, ROW_NUMBER() OVER (ORDER BY n DESC) AS place, SUM(n) OVER (PARTITION BY name) AS total FROM counts QUALIFY place <= 3;
    BATCH `NAME` STRING, `PLACE` BIGINT, `TOTAL` BIGINT
    Project key [] value [NAME AS NAME, KSQL_WINDOW_0 AS PLACE, KSQL_WINDOW_1 AS TOTAL]
      Filter (KSQL_WINDOW_0 <= CAST(3 AS BIGINT))
        BatchOver SUM(N) ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW AS KSQL_WINDOW_1 by NAME in order of
          BatchOver ROW_NUMBER(*) ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW AS KSQL_WINDOW_0 by  in order of N DESC
            Source COUNTS

SELECT name, COUNT(*) AS n, SUM(COUNT(*)) OVER (ORDER BY name) AS running FROM s GROUP BY name;
    BATCH `NAME` STRING, `N` BIGINT, `RUNNING` BIGINT
    Project key [] value [KSQL_GROUP_0 AS NAME, KSQL_AGG_VARIABLE_0 AS N, KSQL_WINDOW_0 AS RUNNING]
      BatchOver SUM(KSQL_AGG_VARIABLE_0) ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW AS KSQL_WINDOW_0 by  in order of KSQL_GROUP_0
        Aggregate by [NAME AS KSQL_GROUP_0] COUNT(*) AS KSQL_AGG_VARIABLE_0
          Source S

SELECT n, LAG(n, 2, 0) OVER (ORDER BY name ROWS 1 PRECEDING) FROM counts;
    INVALID_STATEMENT: LAG has no ROWS and no RANGE.
    line 1:44
      SELECT n, LAG(n, 2, 0) OVER (ORDER BY name ROWS 1 PRECEDING) FROM counts
                                                 ^^^^^^^^^^^^^^^^

SELECT NTILE(0) OVER (ORDER BY n) FROM counts;
    INVALID_STATEMENT: NTILE needs a number of rows here, as in NTILE(…, 1).
    line 1:14
      SELECT NTILE(0) OVER (ORDER BY n) FROM counts
                   ^

SELECT RANK() OVER () FROM counts;
    INVALID_STATEMENT: RANK needs an order. Write RANK(…) OVER (ORDER BY column).
    line 1:8
      SELECT RANK() OVER () FROM counts
             ^^^^^^^^^^^^^^

SELECT SUM(n) OVER (ORDER BY name ROWS BETWEEN 1 FOLLOWING AND 1 PRECEDING) FROM counts;
    INVALID_STATEMENT: The frame ends before it begins.
    line 1:35
      SELECT SUM(n) OVER (ORDER BY name ROWS BETWEEN 1 FOLLOWING AND 1 PRECEDING) FROM counts
                                        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

SELECT SUM(n) OVER (ORDER BY name RANGE 1 PRECEDING) FROM counts;
    INVALID_STATEMENT: RANGE with a distance needs a number in ORDER BY, not STRING.
    line 1:30
      SELECT SUM(n) OVER (ORDER BY name RANGE 1 PRECEDING) FROM counts
                                   ^^^^

SELECT name FROM counts WHERE ROW_NUMBER() OVER (ORDER BY n) = 1;
    INVALID_STATEMENT: ROW_NUMBER() OVER (…) is not allowed here. For a table of the best rows of each group: SELECT … QUALIFY ROW_NUMBER() OVER (PARTITION BY … ORDER BY …) <= n.
    line 1:31
      SELECT name FROM counts WHERE ROW_NUMBER() OVER (ORDER BY n) = 1
                                    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

SELECT DISTINCT ON (name) name, amount FROM s ORDER BY name, amount DESC LIMIT 3;
    BATCH `NAME` STRING, `AMOUNT` DECIMAL(10, 2)
    Limit 3 from 0
      Sort NAME, AMOUNT DESC
        Project key [] value [NAME AS NAME, AMOUNT AS AMOUNT]
          Filter (KSQL_WINDOW_0 = 1)
            BatchOver ROW_NUMBER(*) ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW AS KSQL_WINDOW_0 by NAME in order of NAME, AMOUNT DESC
              Source S

SELECT name, (SELECT MAX(n) FROM counts c WHERE c.name = s.name) AS most FROM s WHERE amount > (SELECT AVG(amount) FROM s);
    BATCH `NAME` STRING, `MOST` BIGINT
    Project key [] value [NAME AS NAME, (SELECT … WITH OUTER_0 := NAME) AS MOST]
      Filter (CAST(AMOUNT AS DOUBLE) > (SELECT …))
        Source S
        (SELECT …)
          Project key [] value [KSQL_AGG_VARIABLE_0 AS KSQL_COL_0]
            Aggregate by [] AVG(CAST(AMOUNT AS DOUBLE)) AS KSQL_AGG_VARIABLE_0
              Source S
      (SELECT … WITH OUTER_0 := NAME)
        Project key [] value [KSQL_AGG_VARIABLE_0 AS KSQL_COL_0]
          Aggregate by [] MAX(N) AS KSQL_AGG_VARIABLE_0
            Filter (NAME = OUTER_0)
              Source COUNTS C

SELECT name FROM s WHERE EXISTS (SELECT 1 FROM counts c WHERE c.n > s.id) OR name IN (SELECT name FROM pairs WHERE id = 3);
    BATCH `NAME` STRING
    Project key [] value [NAME AS NAME]
      Filter (EXISTS(SELECT … WITH OUTER_0 := ID) OR EXISTS(SELECT … WITH OUTER_1 := NAME))
        Source S
        EXISTS(SELECT … WITH OUTER_0 := ID)
          Project key [] value [1 AS KSQL_COL_0]
            Filter (N > CAST(OUTER_0 AS BIGINT))
              Source COUNTS C
        EXISTS(SELECT … WITH OUTER_1 := NAME)
          Filter (NAME = OUTER_1)
            Project key [] value [NAME AS NAME]
              Filter (ID = 3)
                Source PAIRS

SELECT (SELECT name, n FROM counts) FROM s;
    INVALID_STATEMENT: A sub-query that is a value has one column; this one has 2.
    line 1:9
      SELECT (SELECT name, n FROM counts) FROM s
              ^^^^^^^^^^^^^^^^^^^^^^^^^^

SELECT name FROM s JOIN counts c ON s.name = c.name AND s.id > (SELECT 1);
    INVALID_STATEMENT: A sub-query as a value is for the WHERE, SELECT, HAVING and ORDER BY of pull queries. Join its source instead.
    line 1:64
      SELECT name FROM s JOIN counts c ON s.name = c.name AND s.id > (SELECT 1)
                                                                     ^^^^^^^^^^

SELECT name FROM s WHERE EXISTS (SELECT 1 FROM counts c WHERE EXISTS (SELECT 1 FROM pairs p WHERE p.name = s.name));
    INVALID_STATEMENT: S.NAME is two queries away: a sub-query reads the columns of the query right around it. Select it in the query between.
    line 1:108
      SELECT name FROM s WHERE EXISTS (SELECT 1 FROM counts c WHERE EXISTS (SELECT 1 FROM pairs p WHERE p.name = s.name))
                                                                                                                 ^^^^^^

SELECT c.name, l.id FROM counts c LEFT JOIN LATERAL (SELECT id FROM pairs p WHERE p.name = c.name ORDER BY id LIMIT 1) l ON TRUE;
    BATCH `NAME` STRING, `ID` INTEGER
    Project key [] value [C_NAME AS NAME, L_ID AS ID]
      BatchJoin LEFT on TRUE with OUTER_0 := C_NAME
        Source COUNTS C prefixed
        Project key [] value [ID AS L_ID]
          Limit 1 from 0
            Sort ID
              Project key [] value [ID AS ID]
                Filter (NAME = OUTER_0)
                  Source PAIRS P

SELECT c.name FROM counts c FULL JOIN LATERAL (SELECT id FROM pairs p WHERE p.name = c.name) l ON TRUE;
    INVALID_STATEMENT: LATERAL cannot be the right side of a FULL JOIN.
    line 1:39
      SELECT c.name FROM counts c FULL JOIN LATERAL (SELECT id FROM pairs p WHERE p.name = c.name) l ON TRUE
                                            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

SELECT * FROM counts c, pairs p WHERE c.name = p.name AND c.name = 'a';
    BATCH `C_NAME` STRING, `C_N` BIGINT, `P_ID` INTEGER, `P_NAME` STRING, `P_N` BIGINT
      lookup C 'a'
    Project key [] value [C_NAME AS C_NAME, C_N AS C_N, P_ID AS P_ID, P_NAME AS P_NAME, P_N AS P_N]
      Filter ((C_NAME = P_NAME) AND (C_NAME = 'a'))
        BatchJoin INNER on TRUE
          Source COUNTS C prefixed
          Source PAIRS P prefixed

SELECT name, n, x.id FROM counts FULL JOIN (SELECT id, name FROM pairs) x USING (name) ORDER BY name;
    BATCH `NAME` STRING, `N` BIGINT, `ID` INTEGER
    Sort NAME
      Project key [] value [COALESCE(COUNTS_NAME, X_NAME) AS NAME, COUNTS_N AS N, X_ID AS ID]
        BatchJoin FULL on (COUNTS_NAME = X_NAME)
          Source COUNTS prefixed
          Project key [] value [ID AS X_ID, NAME AS X_NAME]
            Project key [] value [ID AS ID, NAME AS NAME]
              Source PAIRS

SELECT 1 AS one, 'a' || 'b';
    BATCH `ONE` INTEGER, `KSQL_COL_0` STRING
    Project key [] value [1 AS ONE, ('a' || 'b') AS KSQL_COL_0]
      Values 1 rows of []

SELECT *;
    INVALID_STATEMENT: SELECT * needs FROM.
    line 1:8
      SELECT *
             ^

SELECT 1 UNION ALL SELECT 2.5 ORDER BY 1 DESC;
    BATCH `KSQL_COL_0` DECIMAL(11, 1)
    Sort KSQL_COL_0 DESC
      UnionAll
        Project key [] value [CAST(1 AS DECIMAL(11, 1)) AS KSQL_COL_0]
          Values 1 rows of []
        Project key [] value [CAST(2.5 AS DECIMAL(11, 1)) AS KSQL_COL_0]
          Values 1 rows of []

SELECT v.id + 1 AS id, c.name FROM (VALUES (1, 'a'), (2, NULL)) AS v (id, name) JOIN counts c ON c.name = v.name;
    BATCH `ID` INTEGER, `C_NAME` STRING
    Project key [] value [(V_ID + 1) AS ID, C_NAME AS C_NAME]
      BatchJoin INNER on (C_NAME = V_NAME)
        Project key [] value [ID AS V_ID, NAME AS V_NAME]
          Project key [] value [COLUMN1 AS ID, COLUMN2 AS NAME]
            Values 2 rows of [`COLUMN1` INTEGER, `COLUMN2` STRING]
        Source COUNTS C prefixed

SELECT * FROM (VALUES (1, 'a')) AS v (id);
    INVALID_STATEMENT: V has 2 column(s), and 1 name(s) are given.
    line 1:39
      SELECT * FROM (VALUES (1, 'a')) AS v (id)
                                            ^^

VALUES (1), (2, 3);
    INVALID_STATEMENT: Each row of VALUES needs 1 value(s), as the first one has.
    line 1:13
      VALUES (1), (2, 3)
                  ^^^^^^

VALUES (NULL);
    INVALID_STATEMENT: A column of VALUES needs a type, and all its values are NULL. Give one of them a type: CAST(NULL AS ...).
    line 1:9
      VALUES (NULL)
              ^^^^

WITH t (k, v) AS (SELECT name, n FROM counts) SELECT k FROM t WHERE v > 1;
    BATCH `K` STRING KEYS K
    Project key [] value [K AS K]
      Filter (V > CAST(1 AS BIGINT))
        Project key [] value [NAME AS K, N AS V]
          Project key [] value [NAME AS NAME, N AS N]
            Source COUNTS

SELECT UCASE(name) AS u, COUNT(*) AS n FROM s GROUP BY 1 HAVING n > 1;
    BATCH `U` STRING, `N` BIGINT
    Project key [] value [KSQL_GROUP_0 AS U, KSQL_AGG_VARIABLE_0 AS N]
      Filter (KSQL_AGG_VARIABLE_0 > CAST(1 AS BIGINT))
        Aggregate by [UCASE(NAME) AS KSQL_GROUP_0] COUNT(*) AS KSQL_AGG_VARIABLE_0
          Source S

SELECT COUNT(*) FROM s GROUP BY 2;
    INVALID_STATEMENT: GROUP BY 2 is not a column: the SELECT has 1.
    line 1:33
      SELECT COUNT(*) FROM s GROUP BY 2
                                      ^

SELECT *, COUNT(*) FROM s GROUP BY 1;
    INVALID_STATEMENT: GROUP BY 1 counts columns of *: name the column.
    line 1:36
      SELECT *, COUNT(*) FROM s GROUP BY 1
                                         ^

SELECT COUNT(*) FROM s GROUP BY 1;
    INVALID_STATEMENT: GROUP BY does not support aggregate functions: COUNT is an aggregate function.
    line 1:8
      SELECT COUNT(*) FROM s GROUP BY 1
             ^^^^^^^^

SELECT name, id, COUNT(*) AS n, GROUPING(name, id) AS g FROM s GROUP BY ROLLUP (name, id) ORDER BY n;
    BATCH `NAME` STRING, `ID` INTEGER, `N` BIGINT, `G` INTEGER
    Sort N
      Project key [] value [KSQL_GROUP_0 AS NAME, KSQL_GROUP_1 AS ID, KSQL_AGG_VARIABLE_0 AS N, KSQL_GROUPING AS G]
        Project key [KSQL_GROUP_0->VALUE AS KSQL_GROUP_0, KSQL_GROUP_1->VALUE AS KSQL_GROUP_1, KSQL_GROUPING AS KSQL_GROUPING] value [KSQL_AGG_VARIABLE_0 AS KSQL_AGG_VARIABLE_0]
          Aggregate by [(CASE WHEN (KSQL_GROUPING IN (3)) THEN STRUCT(VALUE:=CAST(NULL AS STRING)) ELSE STRUCT(VALUE:=NAME) END) AS KSQL_GROUP_0, (CASE WHEN (KSQL_GROUPING IN (1, 3)) THEN STRUCT(VALUE:=CAST(NULL AS INTEGER)) ELSE STRUCT(VALUE:=ID) END) AS KSQL_GROUP_1, KSQL_GROUPING AS KSQL_GROUPING] COUNT(*) AS KSQL_AGG_VARIABLE_0
            FlatMap EXPLODE(ARRAY[0, 1, 3]) AS KSQL_GROUPING
              Source S

SELECT name, STRING_AGG(CAST(id AS STRING), ',' ORDER BY amount DESC NULLS FIRST) AS ids, PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY id) AS m FROM s GROUP BY name;
    BATCH `NAME` STRING, `IDS` STRING, `M` DOUBLE
    Project key [] value [KSQL_GROUP_0 AS NAME, KSQL_AGG_VARIABLE_0 AS IDS, KSQL_AGG_VARIABLE_1 AS M]
      Aggregate by [NAME AS KSQL_GROUP_0] STRING_AGG(CAST(ID AS STRING), ',' ORDER BY AMOUNT DESC NULLS FIRST) AS KSQL_AGG_VARIABLE_0, PERCENTILE_CONT(ID, 0.5) AS KSQL_AGG_VARIABLE_1
        Sort AMOUNT DESC NULLS FIRST
          Source S

SELECT COLLECT_LIST(id ORDER BY id), COLLECT_LIST(id ORDER BY name) FROM s;
    INVALID_STATEMENT: The aggregates of a SELECT take rows in one order: there are several ORDER BY in them. Put one of them into a sub-query.
    line 1:1
      SELECT COLLECT_LIST(id ORDER BY id), COLLECT_LIST(id ORDER BY name) FROM s
      ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

SELECT SUM(id ORDER BY id) FROM s;
    INVALID_STATEMENT: The result of SUM does not depend on an order.
    line 1:24
      SELECT SUM(id ORDER BY id) FROM s
                             ^^

SELECT PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY id DESC) FROM s;
    INVALID_STATEMENT: PERCENTILE_DISC takes its values in ascending order.
    line 1:52
      SELECT PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY id DESC) FROM s
                                                         ^^^^^^^

SELECT name FROM counts EXCEPT ALL SELECT name FROM pairs;
    BATCH `NAME` STRING
    Project key [] value [NAME AS NAME]
      SetOperation EXCEPT ALL
        Project key [] value [NAME AS NAME]
          Source COUNTS
        Project key [] value [NAME AS NAME]
          Source PAIRS

SELECT name FROM counts WHERE name = 'x' AND n > (SELECT 1);
    BATCH `NAME` STRING KEYS NAME
      lookup COUNTS 'x'
    Project key [] value [NAME AS NAME]
      Filter ((NAME = 'x') AND (N > CAST((SELECT …) AS BIGINT)))
        Source COUNTS
        (SELECT …)
          Project key [] value [1 AS KSQL_COL_0]
            Values 1 rows of []

SELECT CURRENT_DATE, CURRENT_TIMESTAMP, EXTRACT(HOUR FROM TO_TIMESTAMP(1.5)) FROM s;
    BATCH `KSQL_COL_0` DATE, `KSQL_COL_1` TIMESTAMP, `KSQL_COL_2` BIGINT
    Project key [] value [CAST(NOW() AS DATE) AS KSQL_COL_0, NOW() AS KSQL_COL_1, EXTRACT('hour', TO_TIMESTAMP(CAST(1.5 AS DOUBLE))) AS KSQL_COL_2]
      Source S

SELECT COLLECT_LIST(id ORDER BY id) FROM s GROUP BY name EMIT CHANGES;
    INVALID_STATEMENT: ORDER BY in COLLECT_LIST is for pull queries: rows of a stream are taken as they come.
    line 1:33
      SELECT COLLECT_LIST(id ORDER BY id) FROM s GROUP BY name EMIT CHANGES
                                      ^^

SELECT id, SUM(id) OVER (PARTITION BY name ORDER BY ROWTIME ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) FROM s EMIT CHANGES;
    INVALID_STATEMENT: Rows that follow are not there yet: a frame ends with the current row at the latest. LEAD waits for rows that follow.
    line 1:61
      SELECT id, SUM(id) OVER (PARTITION BY name ORDER BY ROWTIME ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) FROM s EMIT CHANGES
                                                                  ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

SELECT s.id FROM s JOIN s2 USING (id) EMIT CHANGES;
    INVALID_STATEMENT: USING is for pull queries: a join of a streaming query needs ON. For instance: FROM a JOIN b ON a.id = b.id.
    line 1:25
      SELECT s.id FROM s JOIN s2 USING (id) EMIT CHANGES
                              ^^

SELECT id FROM s WHERE id > (SELECT 1) EMIT CHANGES;
    INVALID_STATEMENT: A sub-query as a value is for the WHERE, SELECT, HAVING and ORDER BY of pull queries. Join its source instead.
    line 1:29
      SELECT id FROM s WHERE id > (SELECT 1) EMIT CHANGES
                                  ^^^^^^^^^^
