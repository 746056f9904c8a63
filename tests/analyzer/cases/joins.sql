CREATE STREAM l (id INT KEY, a INT, b STRING) WITH (KAFKA_TOPIC='l', VALUE_FORMAT='JSON', PARTITIONS=2);
CREATE STREAM r (id INT KEY, c INT, b STRING) WITH (KAFKA_TOPIC='r', VALUE_FORMAT='JSON', PARTITIONS=2);
CREATE STREAM far (id INT KEY, z INT) WITH (KAFKA_TOPIC='far', VALUE_FORMAT='JSON', PARTITIONS=3);
CREATE TABLE t (id INT PRIMARY KEY, d STRING) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON');
CREATE TABLE u (id INT PRIMARY KEY, ref INT, e STRING) WITH (KAFKA_TOPIC='u', VALUE_FORMAT='JSON');
CREATE TABLE v (id INT PRIMARY KEY, f STRING) WITH (KAFKA_TOPIC='v', VALUE_FORMAT='JSON');
CREATE STREAM w (id INT KEY, g INT) WITH (KAFKA_TOPIC='w', VALUE_FORMAT='JSON', WINDOW_TYPE='TUMBLING', WINDOW_SIZE='1 MINUTE');
CREATE STREAM w2 (id INT KEY, h INT) WITH (KAFKA_TOPIC='w2', VALUE_FORMAT='JSON', WINDOW_TYPE='TUMBLING', WINDOW_SIZE='1 MINUTE');
CREATE STREAM raw (id INT KEY, k INT) WITH (KAFKA_TOPIC='raw', VALUE_FORMAT='KAFKA');
CREATE STREAM l3 (id INT KEY, k INT) WITH (KAFKA_TOPIC='l3', VALUE_FORMAT='JSON', PARTITIONS=2);
CREATE TABLE rep (id INT PRIMARY KEY, p STRING) WITH (KAFKA_TOPIC='rep', VALUE_FORMAT='JSON', PARTITIONS=7, REPLICATED=true);
CREATE STREAM two (i INT KEY, j INT KEY, a INT) WITH (KAFKA_TOPIC='two', FORMAT='JSON');
----
CREATE STREAM o AS SELECT * FROM l JOIN r WITHIN 10 SECONDS ON l.id = r.id;
    STREAM O SINK
      columns `L_ID` INTEGER KEY, `L_A` INTEGER, `L_B` STRING, `R_ID` INTEGER, `R_C` INTEGER, `R_B` STRING
      topic O, key KAFKA, value JSON
    Project key [L_ID AS L_ID] value [L_A AS L_A, L_B AS L_B, R_ID AS R_ID, R_C AS R_C, R_B AS R_B]
      Join INNER STREAM_STREAM on L_ID = R_ID as L_ID WithinSpec(before_ms=10000, after_ms=10000, grace_ms=None)
        Source L prefixed
        Source R prefixed

CREATE STREAM o AS SELECT x.id, a, c, x.b, l.b AS lb, x.ROWTIME FROM l LEFT JOIN r x WITHIN (1 HOUR, 2 HOURS) GRACE PERIOD 5 MINUTES ON l.id = x.id;
    STREAM O SINK
      columns `X_ID` INTEGER KEY, `A` INTEGER, `C` INTEGER, `X_B` STRING, `LB` STRING, `X_ROWTIME` BIGINT
      topic O, key KAFKA, value JSON
    Project key [X_ID AS X_ID] value [L_A AS A, X_C AS C, X_B AS X_B, L_B AS LB, X_ROWTIME AS X_ROWTIME]
      Join LEFT STREAM_STREAM on L_ID = X_ID as X_ID WithinSpec(before_ms=3600000, after_ms=7200000, grace_ms=300000)
        Source L prefixed
        Source R X prefixed with ROWTIME

CREATE STREAM o AS SELECT ROWKEY AS k, l.id, r.id FROM l FULL JOIN r WITHIN 1 DAY ON l.id = r.id;
    STREAM O SINK
      columns `K` INTEGER KEY, `L_ID` INTEGER, `R_ID` INTEGER
      topic O, key KAFKA, value JSON
    Project key [ROWKEY AS K] value [L_ID AS L_ID, R_ID AS R_ID]
      Join FULL STREAM_STREAM on L_ID = R_ID as ROWKEY WithinSpec(before_ms=86400000, after_ms=86400000, grace_ms=None)
        Source L prefixed
        Source R prefixed

CREATE STREAM o AS SELECT * FROM l JOIN r WITHIN 1 DAY ON ABS(l.id) = r.c + 1;
    STREAM O SINK
      columns `ROWKEY` INTEGER KEY, `L_ID` INTEGER, `L_A` INTEGER, `L_B` STRING, `R_ID` INTEGER, `R_C` INTEGER, `R_B` STRING
      topic O, key KAFKA, value JSON
    Project key [ROWKEY AS ROWKEY] value [L_ID AS L_ID, L_A AS L_A, L_B AS L_B, R_ID AS R_ID, R_C AS R_C, R_B AS R_B]
      Join INNER STREAM_STREAM on ABS(L_ID) = (R_C + 1) as ROWKEY WithinSpec(before_ms=86400000, after_ms=86400000, grace_ms=None)
        Source L prefixed
        Source R prefixed

CREATE STREAM o AS SELECT l.*, d FROM l JOIN t ON l.a = t.id;
    STREAM O SINK
      columns `L_A` INTEGER KEY, `L_ID` INTEGER, `L_B` STRING, `D` STRING
      topic O, key KAFKA, value JSON
    Project key [L_A AS L_A] value [L_ID AS L_ID, L_B AS L_B, T_D AS D]
      Join INNER STREAM_TABLE on L_A = T_ID as L_A
        Source L prefixed
        Source T prefixed

CREATE STREAM o AS SELECT t.id, a, e, f FROM l JOIN t ON l.id = t.id LEFT JOIN u ON l.id = u.id JOIN v ON u.ref = v.id;
    KEY_MISSING: Key missing from projection (ie, SELECT).
    The query used to build `O` must include the join expressions U.REF or V.ID in its projection (eg, SELECT U.REF...).
    line 1:20
      CREATE STREAM o AS SELECT t.id, a, e, f FROM l JOIN t ON l.id = t.id LEFT JOIN u ON l.id = u.id JOIN v ON u.ref = v.id
                         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

CREATE TABLE o AS SELECT t.id, d, e FROM t RIGHT JOIN u ON t.id = u.id;
    TABLE O SINK
      columns `T_ID` INTEGER KEY, `D` STRING, `E` STRING
      topic O, key KAFKA, value JSON
    Project key [T_ID AS T_ID] value [T_D AS D, U_E AS E]
      Join RIGHT TABLE_TABLE on T_ID = U_ID as T_ID
        Source T prefixed
        Source U prefixed

CREATE TABLE o AS SELECT u.id, d, e FROM u LEFT JOIN t ON t.id = u.ref;
    TABLE O SINK
      columns `U_ID` INTEGER KEY, `D` STRING, `E` STRING
      topic O, key KAFKA, value JSON
    Project key [U_ID AS U_ID] value [T_D AS D, U_E AS E]
      Join LEFT FOREIGN_KEY on U_REF = T_ID as U_ID
        Source U prefixed
        Source T prefixed

CREATE TABLE o AS SELECT u.id, d, e, f FROM u JOIN t ON u.ref = t.id JOIN v ON u.id = v.id;
    TABLE O SINK
      columns `U_ID` INTEGER KEY, `D` STRING, `E` STRING, `F` STRING
      topic O, key KAFKA, value JSON
    Project key [U_ID AS U_ID] value [T_D AS D, U_E AS E, V_F AS F]
      Join INNER TABLE_TABLE on U_ID = V_ID as U_ID
        Join INNER FOREIGN_KEY on U_REF = T_ID as U_ID
          Source U prefixed
          Source T prefixed
        Source V prefixed

CREATE STREAM o AS SELECT * FROM l JOIN r WITHIN 1 DAY ON l.id = r.c PARTITION BY l.b;
    STREAM O SINK
      columns `L_B` STRING KEY, `L_A` INTEGER, `L_ROWTIME` BIGINT, `L_ROWPARTITION` INTEGER, `L_ROWOFFSET` BIGINT, `L_ID` INTEGER, `R_C` INTEGER, `R_B` STRING, `R_ROWTIME` BIGINT, `R_ROWPARTITION` INTEGER, `R_ROWOFFSET` BIGINT, `R_ID` INTEGER
      topic O, key KAFKA, value JSON
    Project key [L_B AS L_B] value [L_A AS L_A, L_ROWTIME AS L_ROWTIME, L_ROWPARTITION AS L_ROWPARTITION, L_ROWOFFSET AS L_ROWOFFSET, L_ID AS L_ID, R_C AS R_C, R_B AS R_B, R_ROWTIME AS R_ROWTIME, R_ROWPARTITION AS R_ROWPARTITION, R_ROWOFFSET AS R_ROWOFFSET, R_ID AS R_ID]
      SelectKey L_B AS L_B
        Join INNER STREAM_STREAM on L_ID = R_C as L_ID WithinSpec(before_ms=86400000, after_ms=86400000, grace_ms=None)
          Source L prefixed with ROWTIME, ROWPARTITION, ROWOFFSET
          Source R prefixed with ROWTIME, ROWPARTITION, ROWOFFSET

CREATE TABLE o AS SELECT d, COUNT(*) AS n FROM l JOIN t ON l.id = t.id GROUP BY d;
    TABLE O SINK
      columns `D` STRING KEY, `N` BIGINT
      topic O, key KAFKA, value JSON
    Project key [T_D AS D] value [KSQL_AGG_VARIABLE_0 AS N]
      Aggregate by [T_D AS T_D] COUNT(*) AS KSQL_AGG_VARIABLE_0
        Join INNER STREAM_TABLE on L_ID = T_ID as L_ID
          Source L prefixed
          Source T prefixed

CREATE STREAM o AS SELECT l.id, d FROM l JOIN t ON l.id = t.id WHERE l.ROWTIME > '2024-01' AND l.b = 'x';
    STREAM O SINK
      columns `L_ID` INTEGER KEY, `D` STRING
      topic O, key KAFKA, value JSON
    Project key [L_ID AS L_ID] value [T_D AS D]
      Filter ((L_ROWTIME > 1704067200000) AND (L_B = 'x'))
        Join INNER STREAM_TABLE on L_ID = T_ID as L_ID
          Source L prefixed with ROWTIME
          Source T prefixed

SELECT * FROM w x JOIN w2 ON x.id = w2.id EMIT CHANGES;
    OUTPUT `X_ID` INTEGER, `X_WINDOWSTART` BIGINT, `X_WINDOWEND` BIGINT, `X_G` INTEGER, `W2_ID` INTEGER, `W2_WINDOWSTART` BIGINT, `W2_WINDOWEND` BIGINT, `W2_H` INTEGER
    Project key [X_ID AS X_ID] value [X_WINDOWSTART AS X_WINDOWSTART, X_WINDOWEND AS X_WINDOWEND, X_G AS X_G, W2_ID AS W2_ID, W2_WINDOWSTART AS W2_WINDOWSTART, W2_WINDOWEND AS W2_WINDOWEND, W2_H AS W2_H]
      Join INNER STREAM_STREAM on X_ID = W2_ID as X_ID
        Source W X prefixed with WINDOWSTART, WINDOWEND
        Source W2 prefixed with WINDOWSTART, WINDOWEND

CREATE STREAM o AS SELECT * FROM l JOIN r ON l.id = r.id;
    STREAM O SINK
      columns `L_ID` INTEGER KEY, `L_A` INTEGER, `L_B` STRING, `R_ID` INTEGER, `R_C` INTEGER, `R_B` STRING
      topic O, key KAFKA, value JSON
    Project key [L_ID AS L_ID] value [L_A AS L_A, L_B AS L_B, R_ID AS R_ID, R_C AS R_C, R_B AS R_B]
      Join INNER STREAM_STREAM on L_ID = R_ID as L_ID
        Source L prefixed
        Source R prefixed

CREATE STREAM o AS SELECT * FROM l LEFT JOIN r ON l.id = r.id;
    INVALID_STATEMENT: Stream-Stream joins must have a WITHIN clause specified. None was provided. Only INNER JOIN needs none: in a LEFT JOIN, no row would ever be known to have no partner. For instance: WITHIN 1 HOUR.
    line 1:34
      CREATE STREAM o AS SELECT * FROM l LEFT JOIN r ON l.id = r.id
                                       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^

CREATE STREAM o AS SELECT ROWKEY AS k, a, c FROM l FULL JOIN r ON l.id = r.id;
    INVALID_STATEMENT: Stream-Stream joins must have a WITHIN clause specified. None was provided. Only INNER JOIN needs none: in a FULL JOIN, no row would ever be known to have no partner. For instance: WITHIN 1 HOUR.
    line 1:50
      CREATE STREAM o AS SELECT ROWKEY AS k, a, c FROM l FULL JOIN r ON l.id = r.id
                                                       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^

CREATE STREAM o AS SELECT * FROM l JOIN t WITHIN 1 DAY ON l.id = t.id;
    INVALID_STATEMENT: A window definition was provided for a Stream-Table join. These joins are not windowed. Please remove the window definition (ie. the WITHIN clause).
    line 1:43
      CREATE STREAM o AS SELECT * FROM l JOIN t WITHIN 1 DAY ON l.id = t.id
                                                ^^^^^^^^^^^^

CREATE STREAM o AS SELECT * FROM l JOIN t ON l.id = t.d;
    JOIN_INVALID: Invalid join condition: types don't match. Got L.ID{INTEGER} = T.D{STRING}. Cast one side: CAST(... AS ...).
    line 1:46
      CREATE STREAM o AS SELECT * FROM l JOIN t ON l.id = t.d
                                                   ^^^^^^^^^^

CREATE STREAM o AS SELECT * FROM l JOIN t ON l.b = t.d;
    JOIN_INVALID: Invalid join condition: stream-table joins require to join on the table's primary key. Got L.B = T.D.
    line 1:46
      CREATE STREAM o AS SELECT * FROM l JOIN t ON l.b = t.d
                                                   ^^^^^^^^^

CREATE STREAM o AS SELECT * FROM l RIGHT JOIN t ON l.id = t.id;
    INVALID_STATEMENT: Invalid join type: right-outer joins between streams and tables are not supported. Got L RIGHT [OUTER] JOIN T.
    line 1:34
      CREATE STREAM o AS SELECT * FROM l RIGHT JOIN t ON l.id = t.id
                                       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

CREATE STREAM o AS SELECT * FROM t JOIN l ON l.id = t.id;
    INVALID_STATEMENT: Invalid join order: table-stream joins are not supported; only stream-table joins. Got T [INNER] JOIN L.
    line 1:34
      CREATE STREAM o AS SELECT * FROM t JOIN l ON l.id = t.id
                                       ^^^^^^^^^^^^^^^^^^^^^^^

CREATE TABLE o AS SELECT * FROM t JOIN u ON t.id = u.ref;
    JOIN_INVALID: Invalid join condition: table-table joins require to join on the primary key of the right input table. Got T.ID = U.REF.
    line 1:45
      CREATE TABLE o AS SELECT * FROM t JOIN u ON t.id = u.ref
                                                  ^^^^^^^^^^^^

CREATE TABLE o AS SELECT * FROM u FULL JOIN t ON u.ref = t.id;
    INVALID_STATEMENT: Invalid join type: full-outer join not supported for foreign-key table-table join. Got U FULL [OUTER] JOIN T.
    line 1:33
      CREATE TABLE o AS SELECT * FROM u FULL JOIN t ON u.ref = t.id
                                      ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

CREATE TABLE o AS SELECT d FROM u JOIN t ON u.ref = t.id;
    KEY_MISSING: Primary key column missing in projection. For foreign-key table-table joins, the projection must include all primary key columns from the left input table (`U`). Missing column: `ID`.
    line 1:19
      CREATE TABLE o AS SELECT d FROM u JOIN t ON u.ref = t.id
                        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

CREATE STREAM o AS SELECT l.a, r.c FROM l JOIN r WITHIN 1 DAY ON l.id = r.id;
    KEY_MISSING: Key missing from projection (ie, SELECT).
    The query used to build `O` must include the join expressions L.ID or R.ID in its projection (eg, SELECT L.ID...).
    line 1:20
      CREATE STREAM o AS SELECT l.a, r.c FROM l JOIN r WITHIN 1 DAY ON l.id = r.id
                         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

CREATE STREAM o AS SELECT l.*, r.* FROM l JOIN r WITHIN 1 DAY ON ABS(l.id) = ABS(r.id);
    KEY_MISSING: Key missing from projection (ie, SELECT).
    The query used to build `O` must include the join expression ROWKEY in its projection (eg, SELECT ROWKEY...).
    ROWKEY was added as a synthetic key column because the join criteria did not match any source column. This expression must be included in the projection and may be aliased.
    line 1:20
      CREATE STREAM o AS SELECT l.*, r.* FROM l JOIN r WITHIN 1 DAY ON ABS(l.id) = ABS(r.id)
                         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

CREATE STREAM o AS SELECT * FROM l JOIN r WITHIN 1 DAY ON l.id = r.id AND l.a = r.c;
    JOIN_INVALID: Invalid join condition: joins on multiple conditions are not yet supported. Got ((L.ID = R.ID) AND (L.A = R.C)). ON takes one = between the sides; AND may add other conditions to it.
    line 1:59
      CREATE STREAM o AS SELECT * FROM l JOIN r WITHIN 1 DAY ON l.id = r.id AND l.a = r.c
                                                                ^^^^^^^^^^^^^^^^^^^^^^^^^

CREATE STREAM o AS SELECT * FROM l JOIN r WITHIN 1 DAY ON l.id > r.id;
    JOIN_INVALID: Invalid join condition: ON must be one comparison with =.
    line 1:59
      CREATE STREAM o AS SELECT * FROM l JOIN r WITHIN 1 DAY ON l.id > r.id
                                                                ^^^^^^^^^^^

CREATE STREAM o AS SELECT * FROM l JOIN r WITHIN 1 DAY ON l.id = 3;
    INVALID_STATEMENT: Invalid comparison expression '3' in join '(L.ID = 3)'. Each side of the join comparision must contain references from exactly one source.
    line 1:59
      CREATE STREAM o AS SELECT * FROM l JOIN r WITHIN 1 DAY ON l.id = 3
                                                                ^^^^^^^^

CREATE STREAM o AS SELECT * FROM l JOIN r WITHIN 1 DAY ON l.id = l.a;
    INVALID_STATEMENT: Each side of the join must reference exactly one source and not the same source. Left side references `L` and right references `L`.
    line 1:59
      CREATE STREAM o AS SELECT * FROM l JOIN r WITHIN 1 DAY ON l.id = l.a
                                                                ^^^^^^^^^^

CREATE STREAM o AS SELECT * FROM l JOIN r WITHIN 1 DAY ON l.id = r.b;
    JOIN_INVALID: Invalid join condition: types don't match. Got L.ID{INTEGER} = R.B{STRING}. Cast one side: CAST(... AS ...).
    line 1:59
      CREATE STREAM o AS SELECT * FROM l JOIN r WITHIN 1 DAY ON l.id = r.b
                                                                ^^^^^^^^^^

CREATE STREAM o AS SELECT b, l.id FROM l JOIN r WITHIN 1 DAY ON l.id = r.id;
    COLUMN_AMBIGUOUS: Column 'B' is ambiguous. Could be L.B or R.B.
    line 1:27
      CREATE STREAM o AS SELECT b, l.id FROM l JOIN r WITHIN 1 DAY ON l.id = r.id
                                ^

CREATE STREAM o AS SELECT * FROM l JOIN l x WITHIN 1 DAY ON l.id = x.id;
    STREAM O SINK
      columns `L_ID` INTEGER KEY, `L_A` INTEGER, `L_B` STRING, `X_ID` INTEGER, `X_A` INTEGER, `X_B` STRING
      topic O, key KAFKA, value JSON
    Project key [L_ID AS L_ID] value [L_A AS L_A, L_B AS L_B, X_ID AS X_ID, X_A AS X_A, X_B AS X_B]
      Join INNER STREAM_STREAM on L_ID = X_ID as L_ID WithinSpec(before_ms=86400000, after_ms=86400000, grace_ms=None)
        Source L prefixed
        Source L X prefixed

CREATE STREAM o AS SELECT * FROM l JOIN far WITHIN 1 DAY ON l.id = far.id;
    INVALID_STATEMENT: Can't join `L` with `FAR` since the number of partitions don't match. `L` partitions = 2; `FAR` partitions = 3. Please repartition either one so that the number of partitions match. For instance: CREATE STREAM copy WITH (PARTITIONS = n) AS SELECT ...
    line 1:34
      CREATE STREAM o AS SELECT * FROM l JOIN far WITHIN 1 DAY ON l.id = far.id
                                       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

CREATE STREAM o AS SELECT * FROM l JOIN w WITHIN 1 DAY ON l.id = w.id;
    INVALID_STATEMENT: Can not join windowed source to non-windowed source.
    `L` is not windowed
    `W` is TUMBLING windowed
    line 1:34
      CREATE STREAM o AS SELECT * FROM l JOIN w WITHIN 1 DAY ON l.id = w.id
                                       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

CREATE STREAM o AS SELECT * FROM l JOIN raw WITHIN 1 DAY ON l.id = raw.id;
    INVALID_STATEMENT: Source(s) RAW are using the 'KAFKA' value format. This format does not yet support JOIN. Copy the source to another value format first.
    line 1:34
      CREATE STREAM o AS SELECT * FROM l JOIN raw WITHIN 1 DAY ON l.id = raw.id
                                       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

-- a replicated table: other partitions, any column of the stream, whose key stays
CREATE STREAM o AS SELECT l.id, a, p FROM l LEFT JOIN rep ON l.a = rep.id;
    STREAM O SINK
      columns `L_ID` INTEGER KEY, `A` INTEGER, `P` STRING
      topic O, key KAFKA, value JSON
    Project key [L_ID AS L_ID] value [L_A AS A, REP_P AS P]
      Join LEFT REPLICATED on L_A = REP_ID
        Source L prefixed
        Source REP prefixed

CREATE STREAM o AS SELECT l.id, p, d FROM l JOIN rep ON l.a = rep.id JOIN t ON l.id = t.id;
    STREAM O SINK
      columns `L_ID` INTEGER KEY, `P` STRING, `D` STRING
      topic O, key KAFKA, value JSON
    Project key [L_ID AS L_ID] value [REP_P AS P, T_D AS D]
      Join INNER STREAM_TABLE on L_ID = T_ID as L_ID
        Join INNER REPLICATED on L_A = REP_ID
          Source L prefixed
          Source REP prefixed
        Source T prefixed

CREATE STREAM o AS SELECT l.id, p, d FROM l JOIN t ON l.id = t.id JOIN rep ON l.a + 1 = rep.id;
    STREAM O SINK
      columns `L_ID` INTEGER KEY, `P` STRING, `D` STRING
      topic O, key KAFKA, value JSON
    Project key [L_ID AS L_ID] value [REP_P AS P, T_D AS D]
      Join INNER REPLICATED on (L_A + 1) = REP_ID
        Join INNER STREAM_TABLE on L_ID = T_ID as L_ID
          Source L prefixed
          Source T prefixed
        Source REP prefixed

CREATE STREAM o AS SELECT a, p FROM l JOIN rep ON l.a = rep.id;
    KEY_MISSING: Key missing from projection (ie, SELECT).
    The query used to build `O` must include the key column L.ID in its projection (eg, SELECT L.ID...).
    line 1:20
      CREATE STREAM o AS SELECT a, p FROM l JOIN rep ON l.a = rep.id
                         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

CREATE STREAM o AS SELECT l.id, p FROM l JOIN rep ON l.b = rep.p;
    JOIN_INVALID: Invalid join condition: stream-table joins require to join on the table's primary key. Got L.B = REP.P.
    line 1:54
      CREATE STREAM o AS SELECT l.id, p FROM l JOIN rep ON l.b = rep.p
                                                           ^^^^^^^^^^^

CREATE STREAM o AS SELECT * FROM l RIGHT JOIN rep ON l.a = rep.id;
    INVALID_STATEMENT: Invalid join type: right-outer joins between streams and tables are not supported. Got L RIGHT [OUTER] JOIN REP.
    line 1:34
      CREATE STREAM o AS SELECT * FROM l RIGHT JOIN rep ON l.a = rep.id
                                       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

CREATE STREAM o WITH (REPLICATED = true) AS SELECT * FROM l;
    INVALID_STATEMENT: REPLICATED is for tables without windows only.
    line 1:23
      CREATE STREAM o WITH (REPLICATED = true) AS SELECT * FROM l
                            ^^^^^^^^^^^^^^^^^

CREATE TABLE o WITH (REPLICATED = true) AS SELECT id, COUNT(*) AS n FROM l GROUP BY id;
    TABLE O SINK
      columns `ID` INTEGER KEY, `N` BIGINT
      topic O, key KAFKA, value JSON
    Project key [ID AS ID] value [KSQL_AGG_VARIABLE_0 AS N]
      Aggregate by [ID AS ID] COUNT(*) AS KSQL_AGG_VARIABLE_0
        Source L

CREATE TABLE o WITH (REPLICATED = true) AS SELECT id, COUNT(*) AS n FROM l WINDOW TUMBLING (SIZE 1 DAY) GROUP BY id;
    INVALID_STATEMENT: REPLICATED is for tables without windows only.
    line 1:22
      CREATE TABLE o WITH (REPLICATED = true) AS SELECT id, COUNT(*) AS n FROM l WINDOW TUMBLING (SIZE 1 DAY) GROUP BY id
                           ^^^^^^^^^^^^^^^^^

CREATE STREAM o AS SELECT l.id AS id, l.a, r.c, l3.k FROM l JOIN r WITHIN 1 DAY ON l.id = ABS(r.id) JOIN l3 WITHIN 1 DAY ON ABS(r.id) = ABS(l3.id);
    STREAM O SINK
      columns `ID` INTEGER KEY, `A` INTEGER, `C` INTEGER, `K` INTEGER
      topic O, key KAFKA, value JSON
    Project key [L_ID AS ID] value [L_A AS A, R_C AS C, L3_K AS K]
      Join INNER STREAM_STREAM on ABS(R_ID) = ABS(L3_ID) as L_ID WithinSpec(before_ms=86400000, after_ms=86400000, grace_ms=None)
        Join INNER STREAM_STREAM on L_ID = ABS(R_ID) as L_ID WithinSpec(before_ms=86400000, after_ms=86400000, grace_ms=None)
          Source L prefixed
          Source R prefixed
        Source L3 prefixed

CREATE STREAM o AS SELECT l.*, d FROM t RIGHT JOIN l ON t.id = l.a;
    STREAM O SINK
      columns `L_A` INTEGER KEY, `L_ID` INTEGER, `L_B` STRING, `D` STRING
      topic O, key KAFKA, value JSON
    Project key [L_A AS L_A] value [L_ID AS L_ID, L_B AS L_B, T_D AS D]
      Join LEFT STREAM_TABLE on L_A = T_ID as L_A
        Source L prefixed
        Source T prefixed

CREATE STREAM o AS SELECT l.id, l.a, p FROM rep RIGHT JOIN l ON rep.id = l.a;
    STREAM O SINK
      columns `L_ID` INTEGER KEY, `A` INTEGER, `P` STRING
      topic O, key KAFKA, value JSON
    Project key [L_ID AS L_ID] value [L_A AS A, REP_P AS P]
      Join LEFT REPLICATED on L_A = REP_ID
        Source L prefixed
        Source REP prefixed

CREATE TABLE o AS SELECT u.id, d, e FROM t RIGHT JOIN u ON t.id = u.ref;
    TABLE O SINK
      columns `U_ID` INTEGER KEY, `D` STRING, `E` STRING
      topic O, key KAFKA, value JSON
    Project key [U_ID AS U_ID] value [T_D AS D, U_E AS E]
      Join LEFT FOREIGN_KEY on U_REF = T_ID as U_ID
        Source U prefixed
        Source T prefixed

CREATE STREAM o AS SELECT * FROM t JOIN v ON t.id = v.id RIGHT JOIN l ON t.id = l.id;
    INVALID_STATEMENT: Invalid join order: table-stream joins are not supported; only stream-table joins. Got T RIGHT [OUTER] JOIN L.
    line 1:34
      CREATE STREAM o AS SELECT * FROM t JOIN v ON t.id = v.id RIGHT JOIN l ON t.id = l.id
                                       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

CREATE TABLE o AS SELECT u.id, d, e FROM t FULL JOIN u ON t.id = u.ref;
    JOIN_INVALID: Invalid join condition: table-table joins require to join on the primary key of the right input table. Got T.ID = U.REF.
    line 1:59
      CREATE TABLE o AS SELECT u.id, d, e FROM t FULL JOIN u ON t.id = u.ref
                                                                ^^^^^^^^^^^^

CREATE STREAM o AS SELECT * FROM l WHERE EXISTS (SELECT 1 FROM t WHERE t.id = l.a);
    STREAM O SINK
      columns `ID` INTEGER KEY, `A` INTEGER, `B` STRING
      topic O, key KAFKA, value JSON
    Project key [ID AS ID] value [A AS A, B AS B]
      SelectKey ID AS ID
        Join INNER STREAM_TABLE on A = KSQL_0_ID as KSQL_0_ID
          Source L
          Project key [ID AS KSQL_0_ID] value []
            Source T

CREATE STREAM o AS SELECT * FROM l WHERE a > 3 AND NOT EXISTS (SELECT * FROM t x WHERE x.id = l.id AND d = b AND x.d <> 'x');
    STREAM O SINK
      columns `ID` INTEGER KEY, `A` INTEGER, `B` STRING
      topic O, key KAFKA, value JSON
    Project key [ID AS ID] value [A AS A, B AS B]
      Filter ((KSQL_0__FOUND IS NULL) OR (NOT COALESCE(((KSQL_0_D = B) AND (KSQL_0_D <> 'x')), FALSE)))
        Join LEFT STREAM_TABLE on ID = KSQL_0_ID as ID
          Filter (A > 3)
            Source L
          Project key [ID AS KSQL_0_ID] value [D AS KSQL_0_D, TRUE AS KSQL_0__FOUND]
            Source T X

CREATE STREAM o AS SELECT id, b FROM l WHERE a IN (SELECT id FROM t WHERE d = 'x') AND id NOT IN (SELECT id FROM v);
    STREAM O SINK
      columns `ID` INTEGER KEY, `B` STRING
      topic O, key KAFKA, value JSON
    Project key [ID AS ID] value [B AS B]
      Filter ((ID IS NOT NULL) AND (KSQL_1__FOUND IS NULL))
        Join LEFT STREAM_TABLE on ID = KSQL_1_ID as ID
          SelectKey ID AS ID
            Filter (KSQL_0_D = 'x')
              Join INNER STREAM_TABLE on A = KSQL_0_ID as KSQL_0_ID
                Source L
                Project key [ID AS KSQL_0_ID] value [D AS KSQL_0_D]
                  Source T
          Project key [ID AS KSQL_1_ID] value [TRUE AS KSQL_1__FOUND]
            Source V

CREATE STREAM o AS SELECT * FROM l WHERE NOT a IN (SELECT id FROM rep);
    STREAM O SINK
      columns `ID` INTEGER KEY, `A` INTEGER, `B` STRING
      topic O, key KAFKA, value JSON
    Project key [ID AS ID] value [A AS A, B AS B]
      Filter ((A IS NOT NULL) AND (KSQL_0__FOUND IS NULL))
        Join LEFT REPLICATED on A = KSQL_0_ID
          Source L
          Project key [ID AS KSQL_0_ID] value [TRUE AS KSQL_0__FOUND]
            Source REP

CREATE TABLE o AS SELECT * FROM u WHERE id IN (SELECT id FROM t);
    TABLE O SINK
      columns `ID` INTEGER KEY, `REF` INTEGER, `E` STRING
      topic O, key KAFKA, value JSON
    Project key [ID AS ID] value [REF AS REF, E AS E]
      Join INNER TABLE_TABLE on ID = KSQL_0_ID as ID
        Source U
        Project key [ID AS KSQL_0_ID] value []
          Source T

CREATE TABLE o AS SELECT * FROM u WHERE ref NOT IN (SELECT id FROM t) AND e = 'x';
    TABLE O SINK
      columns `ID` INTEGER KEY, `REF` INTEGER, `E` STRING
      topic O, key KAFKA, value JSON
    Project key [ID AS ID] value [REF AS REF, E AS E]
      Filter ((REF IS NOT NULL) AND (KSQL_0__FOUND IS NULL))
        Join LEFT FOREIGN_KEY on REF = KSQL_0_ID
          Filter (E = 'x')
            Source U
          Project key [ID AS KSQL_0_ID] value [TRUE AS KSQL_0__FOUND]
            Source T

CREATE TABLE o AS SELECT a, COUNT(*) AS n FROM l WHERE a IN (SELECT id FROM t) GROUP BY a;
    TABLE O SINK
      columns `A` INTEGER KEY, `N` BIGINT
      topic O, key KAFKA, value JSON
    Project key [A AS A] value [KSQL_AGG_VARIABLE_0 AS N]
      Aggregate by [A AS A] COUNT(*) AS KSQL_AGG_VARIABLE_0
        SelectKey ID AS ID
          Join INNER STREAM_TABLE on A = KSQL_0_ID as KSQL_0_ID
            Source L
            Project key [ID AS KSQL_0_ID] value []
              Source T

CREATE STREAM o AS SELECT l.id, r.c FROM l JOIN r WITHIN 1 HOUR ON l.id = r.id WHERE EXISTS (SELECT 1 FROM t WHERE r.c = t.id);
    STREAM O SINK
      columns `L_ID` INTEGER KEY, `C` INTEGER
      topic O, key KAFKA, value JSON
    Project key [L_ID AS L_ID] value [R_C AS C]
      SelectKey L_ID AS L_ID
        Join INNER STREAM_TABLE on R_C = KSQL_0_ID as KSQL_0_ID
          Join INNER STREAM_STREAM on L_ID = R_ID as L_ID WithinSpec(before_ms=3600000, after_ms=3600000, grace_ms=None)
            Source L prefixed
            Source R prefixed
          Project key [ID AS KSQL_0_ID] value []
            Source T

SELECT *, ROWTIME FROM l WHERE id IN (SELECT id FROM t) EMIT CHANGES;
    OUTPUT `ID` INTEGER, `A` INTEGER, `B` STRING, `ROWTIME` BIGINT
    Project key [ID AS ID] value [A AS A, B AS B]
      Join INNER STREAM_TABLE on ID = KSQL_0_ID as ID
        Source L
        Project key [ID AS KSQL_0_ID] value []
          Source T

CREATE STREAM o AS SELECT * FROM l WHERE EXISTS (SELECT 1 FROM r WHERE r.id = l.id);
    INVALID_STATEMENT: EXISTS and IN of a stream need a WITHIN: R is a stream. For instance: FROM R WITHIN 1 HOUR GRACE PERIOD 1 MINUTE WHERE …
    line 1:64
      CREATE STREAM o AS SELECT * FROM l WHERE EXISTS (SELECT 1 FROM r WHERE r.id = l.id)
                                                                     ^

CREATE STREAM o AS SELECT * FROM l WHERE EXISTS (SELECT 1 FROM t WHERE d = b);
    INVALID_STATEMENT: EXISTS and IN of a streaming query need a comparison of the table's primary key (ID) with = and an expression of the same type over the rows of FROM. Got (T.D = L.B).
    line 1:42
      CREATE STREAM o AS SELECT * FROM l WHERE EXISTS (SELECT 1 FROM t WHERE d = b)
                                               ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

CREATE STREAM o AS SELECT * FROM l WHERE a IN (SELECT d FROM t);
    COMPARISON_TYPES: Error in WHERE expression: Cannot compare L.A (INTEGER) to T.D (STRING) with EQUAL. CAST(… AS INTEGER) makes a number of a text.
    line 1:42
      CREATE STREAM o AS SELECT * FROM l WHERE a IN (SELECT d FROM t)
                                               ^^^^^^^^^^^^^^^^^^^^^^

CREATE STREAM o AS SELECT * FROM l WHERE a = 1 OR EXISTS (SELECT 1 FROM t WHERE t.id = l.id);
    INVALID_STATEMENT: EXISTS is a condition of a query's WHERE, alone or joined by AND; not part of an expression. Put OR into two queries, with UNION ALL.
    line 1:51
      CREATE STREAM o AS SELECT * FROM l WHERE a = 1 OR EXISTS (SELECT 1 FROM t WHERE t.id = l.id)
                                                        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

CREATE STREAM o AS SELECT * FROM l WHERE EXISTS (SELECT id, COUNT(*) FROM t GROUP BY id);
    INVALID_STATEMENT: EXISTS and IN take SELECT … FROM one table WHERE …, without GROUP BY.
    line 1:50
      CREATE STREAM o AS SELECT * FROM l WHERE EXISTS (SELECT id, COUNT(*) FROM t GROUP BY id)
                                                       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

CREATE STREAM o AS SELECT * FROM l WHERE EXISTS (SELECT 1 FROM (SELECT * FROM t) x WHERE x.id = l.id);
    INVALID_STATEMENT: EXISTS and IN take SELECT … FROM one table WHERE … in a streaming query. CREATE TABLE … AS SELECT the sub-query first.
    line 1:64
      CREATE STREAM o AS SELECT * FROM l WHERE EXISTS (SELECT 1 FROM (SELECT * FROM t) x WHERE x.id = l.id)
                                                                     ^^^^^^^^^^^^^^^^^^^

CREATE STREAM o AS SELECT *, ROWOFFSET AS x FROM l WHERE id IN (SELECT id FROM t);
    COLUMN_UNKNOWN: SELECT column 'ROWOFFSET' cannot be resolved. There are: ID, A, B.
    line 1:30
      CREATE STREAM o AS SELECT *, ROWOFFSET AS x FROM l WHERE id IN (SELECT id FROM t)
                                   ^^^^^^^^^

CREATE STREAM o AS SELECT id, a IN (SELECT id FROM t) AS x FROM l;
    INVALID_STATEMENT: IN (SELECT …) is a condition of a query's WHERE, alone or joined by AND; not part of an expression. Put OR into two queries, with UNION ALL.
    line 1:31
      CREATE STREAM o AS SELECT id, a IN (SELECT id FROM t) AS x FROM l
                                    ^^^^^^^^^^^^^^^^^^^^^^^

CREATE TABLE o AS SELECT * FROM t WHERE id IN (SELECT id FROM t x);
    INVALID_STATEMENT: EXISTS and IN cannot look T up in itself. Make a copy first: CREATE TABLE T_COPY AS SELECT * FROM T.
    line 1:63
      CREATE TABLE o AS SELECT * FROM t WHERE id IN (SELECT id FROM t x)
                                                                    ^^^

CREATE STREAM o AS SELECT * FROM w WHERE id IN (SELECT id FROM t);
    INVALID_STATEMENT: EXISTS and IN are not supported for windowed sources.
    line 1:42
      CREATE STREAM o AS SELECT * FROM w WHERE id IN (SELECT id FROM t)
                                               ^^^^^^^^^^^^^^^^^^^^^^^^

CREATE STREAM o AS SELECT * FROM l WHERE id IN (SELECT id, d FROM t);
    INVALID_STATEMENT: The sub-query of IN has one column.
    line 1:49
      CREATE STREAM o AS SELECT * FROM l WHERE id IN (SELECT id, d FROM t)
                                                      ^^^^^^^^^^^^^^^^^^^

CREATE STREAM o AS SELECT * FROM l WHERE id IN (SELECT nope FROM t);
    COLUMN_UNKNOWN: WHERE column 'NOPE' cannot be resolved. There are: ID, D.
    line 1:56
      CREATE STREAM o AS SELECT * FROM l WHERE id IN (SELECT nope FROM t)
                                                             ^^^^

CREATE STREAM o AS SELECT l.id, l.a, x.d FROM l JOIN t FOR SYSTEM_TIME AS OF l.ROWTIME AS x GRACE PERIOD 5 SECONDS ON l.a = x.id;
    STREAM O SINK
      columns `A` INTEGER KEY, `L_ID` INTEGER, `D` STRING
      topic O, key KAFKA, value JSON
    Project key [L_A AS A] value [L_ID AS L_ID, X_D AS D]
      Join INNER STREAM_TABLE on L_A = X_ID as L_A grace 5000 ms
        Source L prefixed
        Source T X prefixed

CREATE STREAM o AS SELECT l.id, l.a, d, p FROM l LEFT JOIN rep FOR SYSTEM_TIME AS OF ROWTIME GRACE PERIOD 1 MINUTE ON l.a = rep.id JOIN t FOR SYSTEM_TIME AS OF l.ROWTIME GRACE PERIOD 0 SECONDS ON l.id = t.id;
    STREAM O SINK
      columns `L_ID` INTEGER KEY, `A` INTEGER, `D` STRING, `P` STRING
      topic O, key KAFKA, value JSON
    Project key [L_ID AS L_ID] value [L_A AS A, T_D AS D, REP_P AS P]
      Join INNER STREAM_TABLE on L_ID = T_ID as L_ID grace 0 ms
        Join LEFT REPLICATED on L_A = REP_ID grace 60000 ms
          Source L prefixed
          Source REP prefixed
        Source T prefixed

CREATE STREAM o AS SELECT l.id, l.a, x.d FROM l JOIN t FOR SYSTEM_TIME AS OF CURRENT_TIMESTAMP AS x ON l.a = x.id;
    STREAM O SINK
      columns `A` INTEGER KEY, `L_ID` INTEGER, `D` STRING
      topic O, key KAFKA, value JSON
    Project key [L_A AS A] value [L_ID AS L_ID, X_D AS D]
      Join INNER STREAM_TABLE on L_A = X_ID as L_A table first
        Source L prefixed
        Source T X prefixed

CREATE STREAM o AS SELECT l.id, d FROM l JOIN t FOR SYSTEM_TIME AS OF CURRENT_TIMESTAMP GRACE PERIOD 1 DAY ON l.id = t.id;
    INVALID_STATEMENT: FOR SYSTEM_TIME AS OF CURRENT_TIMESTAMP takes no GRACE PERIOD: rows only wait for what the table's topic has.
    line 1:102
      CREATE STREAM o AS SELECT l.id, d FROM l JOIN t FOR SYSTEM_TIME AS OF CURRENT_TIMESTAMP GRACE PERIOD 1 DAY ON l.id = t.id
                                                                                                           ^^^^^

CREATE STREAM o AS SELECT l.id, l.a, d FROM l JOIN t FOR SYSTEM_TIME AS OF l.ROWTIME ON l.id = t.id;
    INVALID_STATEMENT: FOR SYSTEM_TIME AS OF needs a GRACE PERIOD: how long rows wait for the row of their time. For instance: GRACE PERIOD 10 SECONDS.
    line 1:54
      CREATE STREAM o AS SELECT l.id, l.a, d FROM l JOIN t FOR SYSTEM_TIME AS OF l.ROWTIME ON l.id = t.id
                                                           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

CREATE STREAM o AS SELECT l.id, l.a, d FROM l JOIN t FOR SYSTEM_TIME AS OF l.a GRACE PERIOD 1 SECOND ON l.id = t.id;
    INVALID_STATEMENT: FOR SYSTEM_TIME AS OF takes the time of the stream's rows, L.ROWTIME, or CURRENT_TIMESTAMP. TIMESTAMP of the stream's WITH makes a column its ROWTIME.
    line 1:76
      CREATE STREAM o AS SELECT l.id, l.a, d FROM l JOIN t FOR SYSTEM_TIME AS OF l.a GRACE PERIOD 1 SECOND ON l.id = t.id
                                                                                 ^^^

CREATE STREAM o AS SELECT l.id, l.a, d FROM l JOIN t FOR SYSTEM_TIME AS OF t.ROWTIME GRACE PERIOD 1 SECOND ON l.id = t.id;
    INVALID_STATEMENT: FOR SYSTEM_TIME AS OF takes the time of the stream's rows, L.ROWTIME, or CURRENT_TIMESTAMP. TIMESTAMP of the stream's WITH makes a column its ROWTIME.
    line 1:76
      CREATE STREAM o AS SELECT l.id, l.a, d FROM l JOIN t FOR SYSTEM_TIME AS OF t.ROWTIME GRACE PERIOD 1 SECOND ON l.id = t.id
                                                                                 ^^^^^^^^^

CREATE TABLE o AS SELECT u.id, d FROM u JOIN t FOR SYSTEM_TIME AS OF u.ROWTIME GRACE PERIOD 1 SECOND ON u.id = t.id;
    INVALID_STATEMENT: FOR SYSTEM_TIME AS OF is for joins of a stream with a table on the right.
    line 1:48
      CREATE TABLE o AS SELECT u.id, d FROM u JOIN t FOR SYSTEM_TIME AS OF u.ROWTIME GRACE PERIOD 1 SECOND ON u.id = t.id
                                                     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

CREATE STREAM o AS SELECT l.id, d FROM t RIGHT JOIN l FOR SYSTEM_TIME AS OF l.ROWTIME GRACE PERIOD 1 SECOND ON l.id = t.id;
    INVALID_STATEMENT: FOR SYSTEM_TIME AS OF is for joins of a stream with a table on the right.
    line 1:55
      CREATE STREAM o AS SELECT l.id, d FROM t RIGHT JOIN l FOR SYSTEM_TIME AS OF l.ROWTIME GRACE PERIOD 1 SECOND ON l.id = t.id
                                                            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

CREATE STREAM o AS SELECT l.id, r.c, d FROM l JOIN r WITHIN 1 HOUR ON l.id = r.id JOIN t FOR SYSTEM_TIME AS OF l.ROWTIME GRACE PERIOD 1 SECOND ON l.id = t.id;
    INVALID_STATEMENT: FOR SYSTEM_TIME AS OF cannot follow a stream-stream join: its rows have the later time of both. Put that join into a sub-query x, and use x.ROWTIME.
    line 1:90
      CREATE STREAM o AS SELECT l.id, r.c, d FROM l JOIN r WITHIN 1 HOUR ON l.id = r.id JOIN t FOR SYSTEM_TIME AS OF l.ROWTIME GRACE PERIOD 1 SECOND ON l.id = t.id
                                                                                               ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

CREATE STREAM o AS SELECT l.id, a, c FROM l JOIN r WITHIN 1 HOUR ON l.id = r.id AND l.a > r.c AND r.b LIKE 'x%';
    STREAM O SINK
      columns `L_ID` INTEGER KEY, `A` INTEGER, `C` INTEGER
      topic O, key KAFKA, value JSON
    Project key [L_ID AS L_ID] value [L_A AS A, R_C AS C]
      Join INNER STREAM_STREAM on L_ID = R_ID and ((L_A > R_C) AND (R_B LIKE 'x%')) as L_ID WithinSpec(before_ms=3600000, after_ms=3600000, grace_ms=None)
        Source L prefixed
        Source R prefixed

CREATE STREAM o AS SELECT l.id, a, c FROM l LEFT JOIN r WITHIN 1 HOUR ON (r.id = l.id AND (l.ROWTIME < r.ROWTIME OR l.a = r.c));
    STREAM O SINK
      columns `L_ID` INTEGER KEY, `A` INTEGER, `C` INTEGER
      topic O, key KAFKA, value JSON
    Project key [L_ID AS L_ID] value [L_A AS A, R_C AS C]
      Join LEFT STREAM_STREAM on L_ID = R_ID and ((L_ROWTIME < R_ROWTIME) OR (L_A = R_C)) as L_ID WithinSpec(before_ms=3600000, after_ms=3600000, grace_ms=None)
        Source L prefixed with ROWTIME
        Source R prefixed with ROWTIME

CREATE STREAM o AS SELECT l.id, a, d, p FROM l LEFT JOIN t ON l.id = t.id AND t.d = l.b || 'x' JOIN rep FOR SYSTEM_TIME AS OF l.ROWTIME GRACE PERIOD 1 SECOND ON rep.id = l.a AND p <> d;
    STREAM O SINK
      columns `L_ID` INTEGER KEY, `A` INTEGER, `D` STRING, `P` STRING
      topic O, key KAFKA, value JSON
    Project key [L_ID AS L_ID] value [L_A AS A, T_D AS D, REP_P AS P]
      Join INNER REPLICATED on L_A = REP_ID and (REP_P <> T_D) grace 1000 ms
        Join LEFT STREAM_TABLE on L_ID = T_ID and (T_D = (L_B || 'x')) as L_ID
          Source L prefixed
          Source T prefixed
        Source REP prefixed

CREATE TABLE o AS SELECT u.id, d, e FROM u JOIN t ON u.id = t.id AND u.e < t.d;
    TABLE O SINK
      columns `U_ID` INTEGER KEY, `D` STRING, `E` STRING
      topic O, key KAFKA, value JSON
    Project key [U_ID AS U_ID] value [T_D AS D, U_E AS E]
      Filter (U_E < T_D)
        Join INNER TABLE_TABLE on U_ID = T_ID as U_ID
          Source U prefixed
          Source T prefixed

CREATE TABLE o AS SELECT u.id, d, e FROM u LEFT JOIN t ON u.ref = t.id AND u.e < t.d;
    JOIN_INVALID: Invalid join condition: a second condition of a LEFT JOIN of tables names only T. INNER JOIN takes any other conditions.
    line 1:76
      CREATE TABLE o AS SELECT u.id, d, e FROM u LEFT JOIN t ON u.ref = t.id AND u.e < t.d
                                                                                 ^^^^^^^^^

CREATE STREAM o AS SELECT l.id, a, c FROM l JOIN r WITHIN 1 HOUR ON l.id = r.id AND l.a = r.c AND l.b = 'x';
    JOIN_INVALID: Invalid join condition: joins on multiple conditions are not yet supported. Got (((L.ID = R.ID) AND (L.A = R.C)) AND (L.B = 'x')). ON takes one = between the sides; AND may add other conditions to it.
    line 1:69
      CREATE STREAM o AS SELECT l.id, a, c FROM l JOIN r WITHIN 1 HOUR ON l.id = r.id AND l.a = r.c AND l.b = 'x'
                                                                          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

CREATE STREAM o AS SELECT l.id, a, c FROM l JOIN r WITHIN 1 HOUR ON l.id > r.id AND l.a < 3;
    JOIN_INVALID: Invalid join condition: joins on multiple conditions are not yet supported. Got ((L.ID > R.ID) AND (L.A < 3)). ON takes one = between the sides; AND may add other conditions to it.
    line 1:69
      CREATE STREAM o AS SELECT l.id, a, c FROM l JOIN r WITHIN 1 HOUR ON l.id > r.id AND l.a < 3
                                                                          ^^^^^^^^^^^^^^^^^^^^^^^

CREATE STREAM o AS SELECT l.id, a, c FROM l JOIN r WITHIN 1 HOUR ON l.id = r.id AND t.d = 'x' JOIN t ON l.id = t.id;
    JOIN_INVALID: Invalid join condition: ON may name the sources that are joined up to there.
    line 1:85
      CREATE STREAM o AS SELECT l.id, a, c FROM l JOIN r WITHIN 1 HOUR ON l.id = r.id AND t.d = 'x' JOIN t ON l.id = t.id
                                                                                          ^^^^^^^^^

CREATE STREAM o AS SELECT l.id, a, c FROM l JOIN r WITHIN 1 HOUR ON l.id = r.id AND l.a + r.c;
    PREDICATE_TYPE: Type error in JOIN ON expression: Should evaluate to boolean but is (L_A + R_C) (INTEGER) instead.
    line 1:85
      CREATE STREAM o AS SELECT l.id, a, c FROM l JOIN r WITHIN 1 HOUR ON l.id = r.id AND l.a + r.c
                                                                                          ^^^^^^^^^

CREATE STREAM o AS SELECT l.id, a, c FROM l JOIN r ON l.id = r.id AND r.ROWTIME BETWEEN l.ROWTIME - 1000 AND l.ROWTIME + 60000;
    STREAM O SINK
      columns `L_ID` INTEGER KEY, `A` INTEGER, `C` INTEGER
      topic O, key KAFKA, value JSON
    Project key [L_ID AS L_ID] value [L_A AS A, R_C AS C]
      Join INNER STREAM_STREAM on L_ID = R_ID as L_ID WithinSpec(before_ms=1000, after_ms=60000, grace_ms=None)
        Source L prefixed with ROWTIME
        Source R prefixed with ROWTIME

CREATE STREAM o AS SELECT r.id, a, c FROM l RIGHT JOIN r ON l.id = r.id AND r.ROWTIME BETWEEN l.ROWTIME - 1000 AND l.ROWTIME + 60000;
    STREAM O SINK
      columns `R_ID` INTEGER KEY, `A` INTEGER, `C` INTEGER
      topic O, key KAFKA, value JSON
    Project key [R_ID AS R_ID] value [L_A AS A, R_C AS C]
      Join RIGHT STREAM_STREAM on L_ID = R_ID as R_ID WithinSpec(before_ms=1000, after_ms=60000, grace_ms=None)
        Source L prefixed with ROWTIME
        Source R prefixed with ROWTIME

CREATE STREAM o AS SELECT r.id, a, c FROM l RIGHT JOIN r WITHIN (1 SECOND, 1 MINUTE) ON l.id = r.id;
    STREAM O SINK
      columns `R_ID` INTEGER KEY, `A` INTEGER, `C` INTEGER
      topic O, key KAFKA, value JSON
    Project key [R_ID AS R_ID] value [L_A AS A, R_C AS C]
      Join RIGHT STREAM_STREAM on L_ID = R_ID as R_ID WithinSpec(before_ms=60000, after_ms=1000, grace_ms=None)
        Source L prefixed
        Source R prefixed

CREATE STREAM o AS SELECT l.id, a, c FROM l LEFT JOIN r ON l.id = r.id AND l.ROWTIME < r.ROWTIME AND 5 + l.ROWTIME >= r.ROWTIME - 10 AND a > c;
    STREAM O SINK
      columns `L_ID` INTEGER KEY, `A` INTEGER, `C` INTEGER
      topic O, key KAFKA, value JSON
    Project key [L_ID AS L_ID] value [L_A AS A, R_C AS C]
      Join LEFT STREAM_STREAM on L_ID = R_ID and (((L_ROWTIME < R_ROWTIME) AND ((CAST(5 AS BIGINT) + L_ROWTIME) >= (R_ROWTIME - CAST(10 AS BIGINT)))) AND (L_A > R_C)) as L_ID WithinSpec(before_ms=0, after_ms=15, grace_ms=None)
        Source L prefixed with ROWTIME
        Source R prefixed with ROWTIME

CREATE STREAM o AS SELECT l.id, a, c FROM l JOIN r ON l.id = r.id AND l.ROWTIME <= r.ROWTIME;
    STREAM O SINK
      columns `L_ID` INTEGER KEY, `A` INTEGER, `C` INTEGER
      topic O, key KAFKA, value JSON
    Project key [L_ID AS L_ID] value [L_A AS A, R_C AS C]
      Join INNER STREAM_STREAM on L_ID = R_ID and (L_ROWTIME <= R_ROWTIME) as L_ID
        Source L prefixed with ROWTIME
        Source R prefixed with ROWTIME

CREATE STREAM o AS SELECT * FROM two WHERE a IN (SELECT id FROM t);
    STREAM O SINK
      columns `I` INTEGER KEY, `J` INTEGER KEY, `A` INTEGER
      topic O, key JSON, value JSON
    Project key [I AS I, J AS J] value [A AS A]
      SelectKey I AS I, J AS J
        Join INNER STREAM_TABLE on A = KSQL_0_ID as KSQL_0_ID
          Source TWO
          Project key [ID AS KSQL_0_ID] value []
            Source T

SELECT a, COUNT(*) AS n FROM l WHERE id IN (SELECT id FROM t) GROUP BY a HAVING EXISTS (SELECT 1 FROM v) EMIT CHANGES;
    INVALID_STATEMENT: EXISTS is a condition of a query's WHERE, alone or joined by AND; not part of an expression. Put OR into two queries, with UNION ALL.
    line 1:81
      SELECT a, COUNT(*) AS n FROM l WHERE id IN (SELECT id FROM t) GROUP BY a HAVING EXISTS (SELECT 1 FROM v) EMIT CHANGES
                                                                                      ^^^^^^^^^^^^^^^^^^^^^^^^

SELECT DISTINCT ON (a) id, a FROM l WITHIN 1 HOUR WHERE id IN (SELECT id FROM t) EMIT CHANGES;
    OUTPUT `ID` INTEGER, `A` INTEGER
    Project key [ID AS ID] value [A AS A]
      Deduplicate A within 3600000 ms
        Join INNER STREAM_TABLE on ID = KSQL_0_ID as ID
          Source L
          Project key [ID AS KSQL_0_ID] value []
            Source T

CREATE STREAM o AS SELECT id, a FROM l WHERE (id IN (SELECT id FROM t)) AND ((a > 1 AND NOT (EXISTS (SELECT 1 FROM v WHERE v.id = a)))) PARTITION BY a;
    STREAM O SINK
      columns `A` INTEGER KEY, `ID` INTEGER
      topic O, key KAFKA, value JSON
    Project key [A AS A] value [ID AS ID]
      SelectKey A AS A
        SelectKey ID AS ID
          Filter (KSQL_1__FOUND IS NULL)
            Join LEFT STREAM_TABLE on A = KSQL_1_ID as KSQL_1_ID
              Join INNER STREAM_TABLE on ID = KSQL_0_ID as ID
                Filter (A > 1)
                  Source L
                Project key [ID AS KSQL_0_ID] value []
                  Source T
              Project key [ID AS KSQL_1_ID] value [TRUE AS KSQL_1__FOUND]
                Source V

CREATE TABLE o AS SELECT u.id, e FROM u JOIN t ON u.id = t.id WHERE u.id IN (SELECT id FROM v);
    TABLE O SINK
      columns `U_ID` INTEGER KEY, `E` STRING
      topic O, key KAFKA, value JSON
    Project key [U_ID AS U_ID] value [U_E AS E]
      Join INNER TABLE_TABLE on U_ID = KSQL_0_ID as U_ID
        Join INNER TABLE_TABLE on U_ID = T_ID as U_ID
          Source U prefixed
          Source T prefixed
        Project key [ID AS KSQL_0_ID] value []
          Source V

CREATE STREAM o AS SELECT * FROM l WHERE EXISTS (SELECT nope FROM t WHERE t.id = l.id);
    COLUMN_UNKNOWN: WHERE column 'NOPE' cannot be resolved. There are: ID, D.
    line 1:57
      CREATE STREAM o AS SELECT * FROM l WHERE EXISTS (SELECT nope FROM t WHERE t.id = l.id)
                                                              ^^^^

CREATE STREAM o AS SELECT * FROM l WHERE EXISTS (SELECT COUNT(*), x.* FROM t WHERE t.id = l.id);
    AGGREGATE_NOT_ALLOWED: COUNT is an aggregate function: it cannot be used in WHERE.
    line 1:57
      CREATE STREAM o AS SELECT * FROM l WHERE EXISTS (SELECT COUNT(*), x.* FROM t WHERE t.id = l.id)
                                                              ^^^^^^^^

CREATE STREAM o AS SELECT * FROM l WHERE EXISTS (SELECT t.*, l.a + 1 FROM t WHERE t.id = l.id);
    STREAM O SINK
      columns `ID` INTEGER KEY, `A` INTEGER, `B` STRING
      topic O, key KAFKA, value JSON
    Project key [ID AS ID] value [A AS A, B AS B]
      Join INNER STREAM_TABLE on ID = KSQL_0_ID as ID
        Source L
        Project key [ID AS KSQL_0_ID] value []
          Source T

CREATE STREAM o AS SELECT * FROM l WHERE EXISTS (SELECT 1 FROM r WITHIN 1 HOUR WHERE r.id = l.id AND r.c > l.a) AND a > 1;
    STREAM O SINK
      columns `ID` INTEGER KEY, `A` INTEGER, `B` STRING
      topic O, key KAFKA, value JSON
    Project key [ID AS ID] value [A AS A, B AS B]
      Join SEMI STREAM_STREAM on ID = KSQL_0_ID and (KSQL_0_C > A) as ID WithinSpec(before_ms=3600000, after_ms=3600000, grace_ms=None)
        Filter (A > 1)
          Source L
        Project key [ID AS KSQL_0_ID] value [C AS KSQL_0_C]
          Source R

CREATE STREAM o AS SELECT * FROM l WHERE EXISTS (SELECT 1 FROM r WITHIN 1 HOUR WHERE r.id = l.id AND r.ROWTIME > l.ROWTIME);
    STREAM O SINK
      columns `ID` INTEGER KEY, `A` INTEGER, `B` STRING
      topic O, key KAFKA, value JSON
    Project key [ID AS ID] value [A AS A, B AS B]
      Join SEMI STREAM_STREAM on ID = KSQL_0_ID and (KSQL_0_ROWTIME > KSQL_ROWTIME_KSQL_0_ID) as ID WithinSpec(before_ms=3600000, after_ms=3600000, grace_ms=None)
        Project key [ID AS ID] value [A AS A, B AS B, ROWTIME AS KSQL_ROWTIME_KSQL_0_ID]
          Source L
        Project key [ID AS KSQL_0_ID] value [ROWTIME AS KSQL_0_ROWTIME]
          Source R

CREATE STREAM o AS SELECT id, b FROM l WHERE a NOT IN (SELECT c FROM r WITHIN (0 SECONDS, 1 HOUR) GRACE PERIOD 5 MINUTES WHERE b IS NULL);
    STREAM O SINK
      columns `ID` INTEGER KEY, `B` STRING
      topic O, key KAFKA, value JSON
    Project key [ID AS ID] value [B AS B]
      SelectKey ID AS ID
        Filter ((A IS NOT NULL) AND (KSQL_0__FOUND IS NULL))
          Join LEFT STREAM_STREAM on A = KSQL_0_C and (KSQL_0_B IS NULL) as KSQL_0_C WithinSpec(before_ms=0, after_ms=3600000, grace_ms=300000)
            Source L
            Project key [ID AS KSQL_0_ID] value [C AS KSQL_0_C, B AS KSQL_0_B, TRUE AS KSQL_0__FOUND]
              Source R

SELECT * FROM l WHERE NOT EXISTS (SELECT 1 FROM r WITHIN 1 HOUR WHERE r.id = l.id) EMIT CHANGES;
    INVALID_STATEMENT: NOT EXISTS and NOT IN of a stream need a GRACE PERIOD: how long a row waits for late partners. For instance: WITHIN 1 HOUR GRACE PERIOD 1 MINUTE.
    line 1:58
      SELECT * FROM l WHERE NOT EXISTS (SELECT 1 FROM r WITHIN 1 HOUR WHERE r.id = l.id) EMIT CHANGES
                                                               ^^^^^^

SELECT * FROM l WHERE EXISTS (SELECT 1 FROM r WHERE r.id = l.id) EMIT CHANGES;
    INVALID_STATEMENT: EXISTS and IN of a stream need a WITHIN: R is a stream. For instance: FROM R WITHIN 1 HOUR GRACE PERIOD 1 MINUTE WHERE …
    line 1:45
      SELECT * FROM l WHERE EXISTS (SELECT 1 FROM r WHERE r.id = l.id) EMIT CHANGES
                                                  ^

SELECT * FROM l WHERE EXISTS (SELECT 1 FROM r WITHIN 1 HOUR WHERE r.id > l.id) EMIT CHANGES;
    INVALID_STATEMENT: EXISTS and IN of a stream need a comparison with = of one of its columns with an expression of the same type over the rows of FROM. Got (R.ID > L.ID).
    line 1:23
      SELECT * FROM l WHERE EXISTS (SELECT 1 FROM r WITHIN 1 HOUR WHERE r.id > l.id) EMIT CHANGES
                            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

SELECT * FROM l WHERE EXISTS (SELECT 1 FROM t WITHIN 1 HOUR WHERE t.id = l.id) EMIT CHANGES;
    INVALID_STATEMENT: WITHIN of EXISTS and IN is for streams; this is a table.
    line 1:54
      SELECT * FROM l WHERE EXISTS (SELECT 1 FROM t WITHIN 1 HOUR WHERE t.id = l.id) EMIT CHANGES
                                                           ^^^^^^

SELECT * FROM t WHERE EXISTS (SELECT 1 FROM r WITHIN 1 HOUR WHERE r.id = t.id) EMIT CHANGES;
    INVALID_STATEMENT: EXISTS and IN look rows of a table up in another table: R is a stream. Make a table of it: CREATE TABLE … AS SELECT … GROUP BY.
    line 1:45
      SELECT * FROM t WHERE EXISTS (SELECT 1 FROM r WITHIN 1 HOUR WHERE r.id = t.id) EMIT CHANGES
                                                  ^

SELECT * FROM l WITHIN 1 HOUR GRACE PERIOD 1 MINUTE EMIT CHANGES;
    INVALID_STATEMENT: WITHIN after FROM takes one duration. Two bounds and GRACE PERIOD are for joins, and for sub-queries of EXISTS and IN.
    line 1:17
      SELECT * FROM l WITHIN 1 HOUR GRACE PERIOD 1 MINUTE EMIT CHANGES
                      ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

SELECT * FROM l WHERE EXISTS (SELECT 1 FROM l l2 WITHIN 1 HOUR WHERE l2.id = l.id) EMIT CHANGES;
    INVALID_STATEMENT: EXISTS and IN cannot look L up in itself. Make a copy first: CREATE STREAM L_COPY AS SELECT * FROM L.
    line 1:45
      SELECT * FROM l WHERE EXISTS (SELECT 1 FROM l l2 WITHIN 1 HOUR WHERE l2.id = l.id) EMIT CHANGES
                                                  ^^^^

SELECT * FROM l WHERE EXISTS (SELECT 1 FROM far WITHIN 1 HOUR WHERE far.id = l.id) EMIT CHANGES;
    INVALID_STATEMENT: Can't join `L` with `FAR` since the number of partitions don't match. `L` partitions = 2; `FAR` partitions = 3. Please repartition either one so that the number of partitions match. For instance: CREATE STREAM copy WITH (PARTITIONS = n) AS SELECT ...
    line 1:23
      SELECT * FROM l WHERE EXISTS (SELECT 1 FROM far WITHIN 1 HOUR WHERE far.id = l.id) EMIT CHANGES
                            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

CREATE TABLE o AS SELECT u.id, d, e FROM u LEFT JOIN t ON u.id = t.id AND t.d > 'x' AND t.d IS NOT NULL;
    TABLE O SINK
      columns `U_ID` INTEGER KEY, `D` STRING, `E` STRING
      topic O, key KAFKA, value JSON
    Project key [U_ID AS U_ID] value [T_D AS D, U_E AS E]
      Join LEFT TABLE_TABLE on U_ID = T_ID as U_ID
        Source U prefixed
        Filter ((T_D > 'x') AND (T_D IS NOT NULL))
          Source T prefixed

CREATE TABLE o AS SELECT t.id, d, e FROM u RIGHT JOIN t ON u.id = t.id AND u.ref > 3;
    TABLE O SINK
      columns `T_ID` INTEGER KEY, `D` STRING, `E` STRING
      topic O, key KAFKA, value JSON
    Project key [T_ID AS T_ID] value [T_D AS D, U_E AS E]
      Join RIGHT TABLE_TABLE on U_ID = T_ID as T_ID
        Filter (U_REF > 3)
          Source U prefixed
        Source T prefixed

CREATE TABLE o AS SELECT u.id, d, e FROM u LEFT JOIN t ON u.ref = t.id AND t.d > 'x';
    TABLE O SINK
      columns `U_ID` INTEGER KEY, `D` STRING, `E` STRING
      topic O, key KAFKA, value JSON
    Project key [U_ID AS U_ID] value [T_D AS D, U_E AS E]
      Join LEFT FOREIGN_KEY on U_REF = T_ID as U_ID
        Source U prefixed
        Filter (T_D > 'x')
          Source T prefixed

CREATE TABLE o AS SELECT u.id, d, e FROM t RIGHT JOIN u ON u.ref = t.id AND t.d > 'x';
    TABLE O SINK
      columns `U_ID` INTEGER KEY, `D` STRING, `E` STRING
      topic O, key KAFKA, value JSON
    Project key [U_ID AS U_ID] value [T_D AS D, U_E AS E]
      Join LEFT FOREIGN_KEY on U_REF = T_ID as U_ID
        Source U prefixed
        Filter (T_D > 'x')
          Source T prefixed

CREATE TABLE o AS SELECT t.id, d, e, f FROM t JOIN v ON t.id = v.id LEFT JOIN u ON t.id = u.id AND u.e = 'x';
    TABLE O SINK
      columns `T_ID` INTEGER KEY, `D` STRING, `E` STRING, `F` STRING
      topic O, key KAFKA, value JSON
    Project key [T_ID AS T_ID] value [T_D AS D, U_E AS E, V_F AS F]
      Join LEFT TABLE_TABLE on T_ID = U_ID as T_ID
        Join INNER TABLE_TABLE on T_ID = V_ID as T_ID
          Source T prefixed
          Source V prefixed
        Filter (U_E = 'x')
          Source U prefixed

CREATE TABLE o AS SELECT u.id, d, e FROM u LEFT JOIN t ON u.id = t.id AND u.ref > 3;
    JOIN_INVALID: Invalid join condition: a second condition of a LEFT JOIN of tables names only T. INNER JOIN takes any other conditions.
    line 1:75
      CREATE TABLE o AS SELECT u.id, d, e FROM u LEFT JOIN t ON u.id = t.id AND u.ref > 3
                                                                                ^^^^^^^^^

CREATE TABLE o AS SELECT ROWKEY AS k, d, e FROM u FULL JOIN t ON u.id = t.id AND t.d > 'x';
    JOIN_INVALID: Invalid join condition: a second condition of a FULL JOIN is not supported. INNER JOIN takes any other conditions.
    line 1:82
      CREATE TABLE o AS SELECT ROWKEY AS k, d, e FROM u FULL JOIN t ON u.id = t.id AND t.d > 'x'
                                                                                       ^^^^^^^^^
