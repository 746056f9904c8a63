CREATE STREAM s (id INT KEY, name STRING, amount DECIMAL(10, 2), pos STRUCT<lat DOUBLE, lon DOUBLE>) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');
CREATE TABLE t (id INT PRIMARY KEY, region STRING, v INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON');
----
CREATE TABLE o AS SELECT name, COUNT(*) AS n, SUM(amount) + COUNT(*), COUNT(*) * 2 AS twice FROM s GROUP BY name;
    TABLE O SINK
      columns `NAME` STRING KEY, `N` BIGINT, `KSQL_COL_0` DECIMAL(22, 2), `TWICE` BIGINT
      topic O, key KAFKA, value JSON
    Project key [NAME AS NAME] value [KSQL_AGG_VARIABLE_0 AS N, (KSQL_AGG_VARIABLE_1 + CAST(KSQL_AGG_VARIABLE_0 AS DECIMAL(19, 0))) AS KSQL_COL_0, (KSQL_AGG_VARIABLE_0 * CAST(2 AS BIGINT)) AS TWICE]
      Aggregate by [NAME AS NAME] COUNT(*) AS KSQL_AGG_VARIABLE_0, SUM(AMOUNT) AS KSQL_AGG_VARIABLE_1
        Source S

CREATE TABLE o AS SELECT name AS k, UCASE(name) AS u, COUNT(*) AS n FROM s WHERE id > 3 GROUP BY name HAVING COUNT(*) > 1 AND name <> 'x';
    TABLE O SINK
      columns `K` STRING KEY, `U` STRING, `N` BIGINT
      topic O, key KAFKA, value JSON
    Project key [NAME AS K] value [UCASE(NAME) AS U, KSQL_AGG_VARIABLE_0 AS N]
      Filter ((KSQL_AGG_VARIABLE_0 > CAST(1 AS BIGINT)) AND (NAME <> 'x'))
        Aggregate by [NAME AS NAME] COUNT(*) AS KSQL_AGG_VARIABLE_0
          Filter (ID > 3)
            Source S

CREATE TABLE o AS SELECT id, name, COUNT(*) AS n FROM s GROUP BY id, name;
    FORMAT_SCHEMA: Key format does not support schema.
    format: KAFKA
    schema: [`ID` INTEGER KEY, `NAME` STRING KEY]
    reason: The 'KAFKA' format only supports a single field. Got: [`ID` INTEGER KEY, `NAME` STRING KEY]. Add WITH (KEY_FORMAT = 'JSON').
    line 1:1
      CREATE TABLE o AS SELECT id, name, COUNT(*) AS n FROM s GROUP BY id, name
      ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

CREATE TABLE o AS SELECT ABS(id) AS a, COUNT(*) AS n FROM s GROUP BY ABS(id);
    TABLE O SINK
      columns `A` INTEGER KEY, `N` BIGINT
      topic O, key KAFKA, value JSON
    Project key [A AS A] value [KSQL_AGG_VARIABLE_0 AS N]
      Aggregate by [ABS(ID) AS A] COUNT(*) AS KSQL_AGG_VARIABLE_0
        Source S

CREATE TABLE o AS SELECT pos->lat, COUNT(*) AS n FROM s GROUP BY pos->lat;
    TABLE O SINK
      columns `LAT` DOUBLE KEY, `N` BIGINT
      topic O, key KAFKA, value JSON
    Project key [LAT AS LAT] value [KSQL_AGG_VARIABLE_0 AS N]
      Aggregate by [POS->LAT AS LAT] COUNT(*) AS KSQL_AGG_VARIABLE_0
        Source S

CREATE TABLE o AS SELECT name, WINDOWSTART AS ws, WINDOWEND, COUNT(*) AS n FROM s WINDOW TUMBLING (SIZE 1 MINUTE) GROUP BY name;
    TABLE O SINK
      columns `NAME` STRING KEY, `WS` BIGINT, `N` BIGINT
      topic O, key KAFKA, value JSON
      window Windowing(kind='TUMBLING', size_ms=60000)
    Project key [NAME AS NAME] value [WINDOWSTART AS WS, KSQL_AGG_VARIABLE_0 AS N]
      Aggregate by [NAME AS NAME] COUNT(*) AS KSQL_AGG_VARIABLE_0 WindowSpec(kind='TUMBLING', size_ms=60000, advance_ms=None, retention_ms=86400000, grace_ms=86340000)
        Source S

CREATE TABLE o AS SELECT name, COUNT(*) AS n FROM s WINDOW HOPPING (SIZE 1 HOUR, ADVANCE BY 10 MINUTES, RETENTION 2 DAYS, GRACE PERIOD 1 HOUR) GROUP BY name;
    TABLE O SINK
      columns `NAME` STRING KEY, `N` BIGINT
      topic O, key KAFKA, value JSON
      window Windowing(kind='HOPPING', size_ms=3600000)
    Project key [NAME AS NAME] value [KSQL_AGG_VARIABLE_0 AS N]
      Aggregate by [NAME AS NAME] COUNT(*) AS KSQL_AGG_VARIABLE_0 WindowSpec(kind='HOPPING', size_ms=3600000, advance_ms=600000, retention_ms=172800000, grace_ms=3600000)
        Source S

CREATE TABLE o AS SELECT name, COUNT(*) AS n FROM s WINDOW SESSION (30 SECONDS) GROUP BY name EMIT FINAL;
    TABLE O SINK
      columns `NAME` STRING KEY, `N` BIGINT
      topic O, key KAFKA, value JSON
      window Windowing(kind='SESSION', size_ms=None)
    Project key [NAME AS NAME] value [KSQL_AGG_VARIABLE_0 AS N]
      Aggregate by [NAME AS NAME] COUNT(*) AS KSQL_AGG_VARIABLE_0 WindowSpec(kind='SESSION', size_ms=30000, advance_ms=None, retention_ms=86400000, grace_ms=0) FINAL
        Source S

CREATE TABLE o AS SELECT name, COUNT(DISTINCT id) AS n FROM s GROUP BY name;
    TABLE O SINK
      columns `NAME` STRING KEY, `N` BIGINT
      topic O, key KAFKA, value JSON
    Project key [NAME AS NAME] value [KSQL_AGG_VARIABLE_0 AS N]
      Aggregate by [NAME AS NAME] COUNT(DISTINCT ID) AS KSQL_AGG_VARIABLE_0
        Source S

CREATE TABLE o AS SELECT region, COUNT(*) AS n, SUM(v) FROM t GROUP BY region;
    TABLE O SINK
      columns `REGION` STRING KEY, `N` BIGINT, `KSQL_COL_0` INTEGER
      topic O, key KAFKA, value JSON
    Project key [REGION AS REGION] value [KSQL_AGG_VARIABLE_0 AS N, KSQL_AGG_VARIABLE_1 AS KSQL_COL_0]
      Aggregate by [REGION AS REGION] COUNT(*) AS KSQL_AGG_VARIABLE_0, SUM(V) AS KSQL_AGG_VARIABLE_1
        Source T

CREATE TABLE o AS SELECT name, TOPK(id, 3) AS top FROM s GROUP BY name;
    TABLE O SINK
      columns `NAME` STRING KEY, `TOP` ARRAY<INTEGER>
      topic O, key KAFKA, value JSON
    Project key [NAME AS NAME] value [KSQL_AGG_VARIABLE_0 AS TOP]
      Aggregate by [NAME AS NAME] TOPK(ID, 3) AS KSQL_AGG_VARIABLE_0
        Source S

SELECT COUNT(*) FROM s EMIT CHANGES;
    OUTPUT `KSQL_COL_0` BIGINT
    Project key [] value [KSQL_AGG_VARIABLE_0 AS KSQL_COL_0]
      Aggregate by [] COUNT(*) AS KSQL_AGG_VARIABLE_0
        Source S

SELECT COUNT(*), WINDOWSTART FROM s WINDOW TUMBLING (SIZE 1 DAY) GROUP BY name EMIT CHANGES LIMIT 5;
    OUTPUT `KSQL_COL_0` BIGINT, `WINDOWSTART` BIGINT LIMIT 5
    Project key [] value [KSQL_AGG_VARIABLE_0 AS KSQL_COL_0]
      Aggregate by [NAME AS NAME] COUNT(*) AS KSQL_AGG_VARIABLE_0 WindowSpec(kind='TUMBLING', size_ms=86400000, advance_ms=None, retention_ms=86400000, grace_ms=0)
        Source S

CREATE TABLE o AS SELECT COUNT(*) FROM s;
    INVALID_STATEMENT: CREATE TABLE AS SELECT statement does not support aggregate function [COUNT(*)] without a GROUP BY clause.
    line 1:19
      CREATE TABLE o AS SELECT COUNT(*) FROM s
                        ^^^^^^^^^^^^^^^^^^^^^^

CREATE TABLE o AS SELECT COUNT(*) AS n FROM s GROUP BY name;
    KEY_MISSING: Key missing from projection (ie, SELECT).
    The query used to build `O` must include the grouping expression NAME in its projection (eg, SELECT NAME...).
    line 1:19
      CREATE TABLE o AS SELECT COUNT(*) AS n FROM s GROUP BY name
                        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

CREATE TABLE o AS SELECT id, COUNT(*) AS n FROM s GROUP BY name;
    NOT_GROUPED: Non-aggregate SELECT expression(s) not part of GROUP BY: ID
    Either add the column(s) to the GROUP BY or remove them from the SELECT.
    line 1:26
      CREATE TABLE o AS SELECT id, COUNT(*) AS n FROM s GROUP BY name
                               ^^

CREATE TABLE o AS SELECT name, id + SUM(id) FROM s GROUP BY name;
    NOT_GROUPED: Non-aggregate SELECT expression(s) not part of GROUP BY: (ID + SUM(ID))
    Either add the column(s) to the GROUP BY or remove them from the SELECT.
    line 1:32
      CREATE TABLE o AS SELECT name, id + SUM(id) FROM s GROUP BY name
                                     ^^^^^^^^^^^^

CREATE TABLE o AS SELECT name, COUNT(*) FROM s GROUP BY name HAVING id > 1;
    NOT_GROUPED: Non-aggregate HAVING expression not part of GROUP BY: ID
    Either add the column(s) to the GROUP BY or remove them from the HAVING.
    line 1:69
      CREATE TABLE o AS SELECT name, COUNT(*) FROM s GROUP BY name HAVING id > 1
                                                                          ^^^^^^

CREATE TABLE o AS SELECT name, COUNT(*) FROM s GROUP BY name HAVING COUNT(*) > 'x';
    COMPARISON_TYPES: Error in HAVING expression: Cannot compare COUNT(*) (BIGINT) to 'x' (STRING) with GREATER_THAN.
    line 1:69
      CREATE TABLE o AS SELECT name, COUNT(*) FROM s GROUP BY name HAVING COUNT(*) > 'x'
                                                                          ^^^^^^^^^^^^^^

CREATE TABLE o AS SELECT name, SUM(COUNT(*)) FROM s GROUP BY name;
    INVALID_STATEMENT: Aggregate functions can not be nested: SUM(COUNT()).
    line 1:36
      CREATE TABLE o AS SELECT name, SUM(COUNT(*)) FROM s GROUP BY name
                                         ^^^^^^^^

CREATE TABLE o AS SELECT name, COUNT(*) FROM s GROUP BY name, s.name;
    INVALID_STATEMENT: Duplicate GROUP BY expression: S.NAME.
    line 1:63
      CREATE TABLE o AS SELECT name, COUNT(*) FROM s GROUP BY name, s.name
                                                                    ^^^^^^

CREATE TABLE o AS SELECT name, COUNT(*) FROM s GROUP BY SUM(id);
    INVALID_STATEMENT: GROUP BY does not support aggregate functions: SUM is an aggregate function.
    line 1:57
      CREATE TABLE o AS SELECT name, COUNT(*) FROM s GROUP BY SUM(id)
                                                              ^^^^^^^

CREATE TABLE o AS SELECT name FROM s GROUP BY name;
    INVALID_STATEMENT: GROUP BY requires aggregate functions in either the SELECT or HAVING clause. Add for instance COUNT(*).
    line 1:47
      CREATE TABLE o AS SELECT name FROM s GROUP BY name
                                                    ^^^^

CREATE TABLE o AS SELECT name, COUNT(*) FROM s WINDOW TUMBLING (SIZE 1 DAY) GROUP BY name, WINDOWSTART;
    INVALID_STATEMENT: Window bounds column WINDOWSTART can only be used in the SELECT clause of windowed aggregations and can not be passed to aggregate functions.
    line 1:92
      CREATE TABLE o AS SELECT name, COUNT(*) FROM s WINDOW TUMBLING (SIZE 1 DAY) GROUP BY name, WINDOWSTART
                                                                                                 ^^^^^^^^^^^

CREATE TABLE o AS SELECT name, MIN(WINDOWSTART) FROM s WINDOW TUMBLING (SIZE 1 DAY) GROUP BY name;
    INVALID_STATEMENT: Window bounds column WINDOWSTART can only be used in the SELECT clause of windowed aggregations and can not be passed to aggregate functions.
    line 1:36
      CREATE TABLE o AS SELECT name, MIN(WINDOWSTART) FROM s WINDOW TUMBLING (SIZE 1 DAY) GROUP BY name
                                         ^^^^^^^^^^^

CREATE TABLE o AS SELECT name, COUNT(*) FROM s WINDOW TUMBLING (SIZE 1 DAY, RETENTION 1 HOUR) GROUP BY name;
    INVALID_STATEMENT: RETENTION must be at least the window's size plus its grace period: 86400000 ms, got 3600000 ms.
    line 1:87
      CREATE TABLE o AS SELECT name, COUNT(*) FROM s WINDOW TUMBLING (SIZE 1 DAY, RETENTION 1 HOUR) GROUP BY name
                                                                                            ^^^^^^

CREATE TABLE o AS SELECT name, COUNT(*) FROM s WINDOW HOPPING (SIZE 1 DAY, ADVANCE BY 1 MILLISECOND) GROUP BY name;
    INVALID_STATEMENT: Each record would be in 86400000 windows; the maximum is 100000. Use a longer ADVANCE BY.
    line 1:87
      CREATE TABLE o AS SELECT name, COUNT(*) FROM s WINDOW HOPPING (SIZE 1 DAY, ADVANCE BY 1 MILLISECOND) GROUP BY name
                                                                                            ^^^^^^^^^^^^^

CREATE TABLE o AS SELECT name, COUNT(*) FROM s WINDOW HOPPING (SIZE 1 DAY, ADVANCE BY 2 DAYS) GROUP BY name;
    INVALID_STATEMENT: ADVANCE BY must be longer than zero and at most the SIZE of the window.
    line 1:87
      CREATE TABLE o AS SELECT name, COUNT(*) FROM s WINDOW HOPPING (SIZE 1 DAY, ADVANCE BY 2 DAYS) GROUP BY name
                                                                                            ^^^^^^

CREATE TABLE o AS SELECT * FROM t WINDOW TUMBLING (SIZE 1 DAY);
    INVALID_STATEMENT: WINDOW clause requires a GROUP BY clause.
    line 1:35
      CREATE TABLE o AS SELECT * FROM t WINDOW TUMBLING (SIZE 1 DAY)
                                        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^

CREATE TABLE o AS SELECT name, COUNT(*) FROM s GROUP BY name EMIT FINAL;
    INVALID_STATEMENT: EMIT FINAL is only supported for windowed aggregations.
    line 1:19
      CREATE TABLE o AS SELECT name, COUNT(*) FROM s GROUP BY name EMIT FINAL
                        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

CREATE TABLE o AS SELECT region, MAX(v), LATEST_BY_OFFSET(v) FROM t GROUP BY region;
    INVALID_STATEMENT: The aggregation functions MAX and LATEST_BY_OFFSET cannot be applied to a table source, only to a stream source.
    line 1:19
      CREATE TABLE o AS SELECT region, MAX(v), LATEST_BY_OFFSET(v) FROM t GROUP BY region
                        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

CREATE STREAM o AS SELECT name, COUNT(*) FROM s GROUP BY name;
    INVALID_STATEMENT: Invalid result type. Your SELECT query produces a TABLE. Please use CREATE TABLE AS SELECT statement instead.
    line 1:1
      CREATE STREAM o AS SELECT name, COUNT(*) FROM s GROUP BY name
      ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

CREATE TABLE o AS SELECT name, SUM(DISTINCT id) FROM s GROUP BY name;
    TABLE O SINK
      columns `NAME` STRING KEY, `KSQL_COL_0` INTEGER
      topic O, key KAFKA, value JSON
    Project key [NAME AS NAME] value [KSQL_AGG_VARIABLE_0 AS KSQL_COL_0]
      Aggregate by [NAME AS NAME] SUM(DISTINCT ID) AS KSQL_AGG_VARIABLE_0
        Source S

CREATE TABLE o AS SELECT name, AVG(DISTINCT id) AS a, COLLECT_LIST(DISTINCT id) AS l FROM s GROUP BY name;
    TABLE O SINK
      columns `NAME` STRING KEY, `A` DOUBLE, `L` ARRAY<INTEGER>
      topic O, key KAFKA, value JSON
    Project key [NAME AS NAME] value [KSQL_AGG_VARIABLE_0 AS A, KSQL_AGG_VARIABLE_1 AS L]
      Aggregate by [NAME AS NAME] AVG(DISTINCT ID) AS KSQL_AGG_VARIABLE_0, COLLECT_LIST(DISTINCT ID) AS KSQL_AGG_VARIABLE_1
        Source S

CREATE TABLE o AS SELECT name, TOPK(DISTINCT id, 2) AS t FROM s GROUP BY name;
    INVALID_STATEMENT: DISTINCT is only supported for one argument of AVG, BOOL_AND, BOOL_OR, COLLECT_LIST, COLLECT_SET, COUNT, HISTOGRAM, MAX, MEDIAN, MIN, STDDEV_SAMP, STDDEV_SAMPLE, STRING_AGG, SUM; not for TOPK.
    line 1:32
      CREATE TABLE o AS SELECT name, TOPK(DISTINCT id, 2) AS t FROM s GROUP BY name
                                     ^^^^^^^^^^^^^^^^^^^^

CREATE TABLE o WITH (KEY_FORMAT='JSON') AS SELECT id, name, COUNT(*) AS n FROM s GROUP BY id, name;
    TABLE O SINK
      columns `ID` INTEGER KEY, `NAME` STRING KEY, `N` BIGINT
      topic O, key JSON, value JSON
    Project key [ID AS ID, NAME AS NAME] value [KSQL_AGG_VARIABLE_0 AS N]
      Aggregate by [ID AS ID, NAME AS NAME] COUNT(*) AS KSQL_AGG_VARIABLE_0
        Source S

CREATE TABLE o AS SELECT CAST(id AS DECIMAL(4, 1)) AS d, COUNT(*) AS n FROM s GROUP BY CAST(id AS DECIMAL(4, 1));
    FORMAT_SCHEMA: Key format does not support schema.
    format: KAFKA
    schema: [`D` DECIMAL(4, 1) KEY]
    reason: The 'KAFKA' format does not support type 'DECIMAL', column: `D`. Add WITH (KEY_FORMAT = 'JSON').
    line 1:1
      CREATE TABLE o AS SELECT CAST(id AS DECIMAL(4, 1)) AS d, COUNT(*) AS n FROM s GROUP BY CAST(id AS DECIMAL(4, 1))
      ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

CREATE STREAM o AS SELECT * FROM s PARTITION BY id, name;
    FORMAT_SCHEMA: Key format does not support schema.
    format: KAFKA
    schema: [`ID` INTEGER KEY, `NAME` STRING KEY]
    reason: The 'KAFKA' format only supports a single field. Got: [`ID` INTEGER KEY, `NAME` STRING KEY]. Add WITH (KEY_FORMAT = 'JSON').
    line 1:1
      CREATE STREAM o AS SELECT * FROM s PARTITION BY id, name
      ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

CREATE TABLE o AS SELECT ROWTIME AS t, COUNT(*) AS n FROM s GROUP BY ROWTIME;
    TABLE O SINK
      columns `T` BIGINT KEY, `N` BIGINT
      topic O, key KAFKA, value JSON
    Project key [KSQL_ROWTIME AS T] value [KSQL_AGG_VARIABLE_0 AS N]
      Aggregate by [ROWTIME AS KSQL_ROWTIME] COUNT(*) AS KSQL_AGG_VARIABLE_0
        Source S

CREATE TABLE o AS SELECT ROWTIME, COUNT(*) AS n FROM s GROUP BY ROWTIME;
    INVALID_STATEMENT: Reserved column name in select: `ROWTIME`. Please remove or alias the column.
    line 1:26
      CREATE TABLE o AS SELECT ROWTIME, COUNT(*) AS n FROM s GROUP BY ROWTIME
                               ^^^^^^^

CREATE TABLE o AS SELECT name, EARLIEST_BY_OFFSET(id, 0) FROM s GROUP BY name;
    INVALID_STATEMENT: earliestN must be 1 or greater.
    line 1:32
      CREATE TABLE o AS SELECT name, EARLIEST_BY_OFFSET(id, 0) FROM s GROUP BY name
                                     ^^^^^^^^^^^^^^^^^^^^^^^^^

CREATE TABLE o AS SELECT name, LATEST_BY_OFFSET(id, -1, false) FROM s GROUP BY name;
    INVALID_STATEMENT: latestN must be 1 or greater.
    line 1:32
      CREATE TABLE o AS SELECT name, LATEST_BY_OFFSET(id, -1, false) FROM s GROUP BY name
                                     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

CREATE TABLE a AS SELECT id, COUNT(*) FILTER (WHERE amount > 1) AS c, SUM(amount) FILTER (WHERE name = 'x') AS t FROM s GROUP BY id HAVING COUNT(*) FILTER (WHERE amount > 1) > 2;
    TABLE A SINK
      columns `ID` INTEGER KEY, `C` BIGINT, `T` DECIMAL(10, 2)
      topic A, key KAFKA, value JSON
    Project key [ID AS ID] value [KSQL_AGG_VARIABLE_0 AS C, KSQL_AGG_VARIABLE_1 AS T]
      Filter (KSQL_AGG_VARIABLE_0 > CAST(2 AS BIGINT))
        Aggregate by [ID AS ID] COUNT(*) FILTER (WHERE (AMOUNT > 1)) AS KSQL_AGG_VARIABLE_0, SUM(AMOUNT) FILTER (WHERE (NAME = 'x')) AS KSQL_AGG_VARIABLE_1
          Source S

CREATE TABLE a AS SELECT id, COUNT(*) FILTER (WHERE amount) AS c FROM s GROUP BY id;
    PREDICATE_TYPE: Type error in FILTER expression: Should evaluate to boolean but is AMOUNT (DECIMAL(10, 2)) instead.
    line 1:53
      CREATE TABLE a AS SELECT id, COUNT(*) FILTER (WHERE amount) AS c FROM s GROUP BY id
                                                          ^^^^^^

CREATE TABLE a AS SELECT id, COUNT(*) FILTER (WHERE COUNT(*) > 1) AS c FROM s GROUP BY id;
    INVALID_STATEMENT: Aggregate functions can not be nested: COUNT(COUNT()).
    line 1:53
      CREATE TABLE a AS SELECT id, COUNT(*) FILTER (WHERE COUNT(*) > 1) AS c FROM s GROUP BY id
                                                          ^^^^^^^^

CREATE STREAM a AS SELECT id, UCASE(name) FILTER (WHERE amount > 1) AS c FROM s;
    INVALID_STATEMENT: FILTER is only for aggregate functions; UCASE is not one.
    line 1:57
      CREATE STREAM a AS SELECT id, UCASE(name) FILTER (WHERE amount > 1) AS c FROM s
                                                              ^^^^^^^^^^

CREATE STREAM a AS SELECT id, LAG(amount) FILTER (WHERE amount > 1) OVER (PARTITION BY id ORDER BY ROWTIME) AS c FROM s;
    INVALID_STATEMENT: LAG has no FILTER. Aggregates have.
    line 1:57
      CREATE STREAM a AS SELECT id, LAG(amount) FILTER (WHERE amount > 1) OVER (PARTITION BY id ORDER BY ROWTIME) AS c FROM s
                                                              ^^^^^^^^^^

CREATE TABLE a AS SELECT id, APPROX_PERCENTILE(id, 2.0) AS c FROM s GROUP BY id;
    INVALID_STATEMENT: A percentile needs a constant from 0 to 1.
    line 1:30
      CREATE TABLE a AS SELECT id, APPROX_PERCENTILE(id, 2.0) AS c FROM s GROUP BY id
                                   ^^^^^^^^^^^^^^^^^^^^^^^^^^

CREATE TABLE a AS SELECT id, APPROX_PERCENTILE(id, 1) AS c FROM s GROUP BY id;
    TABLE A SINK
      columns `ID` INTEGER KEY, `C` INTEGER
      topic A, key KAFKA, value JSON
    Project key [ID AS ID] value [KSQL_AGG_VARIABLE_0 AS C]
      Aggregate by [ID AS ID] APPROX_PERCENTILE(ID, 1) AS KSQL_AGG_VARIABLE_0
        Source S

CREATE TABLE o WITH (KEY_FORMAT='JSON') AS SELECT name, GROUPING(name) AS g, COUNT(*) AS n FROM s GROUP BY ROLLUP (name) HAVING name IS NOT NULL;
    TABLE O SINK
      columns `NAME` STRING KEY, `G` INTEGER KEY, `N` BIGINT
      topic O, key JSON, value JSON
    Project key [NAME AS NAME, KSQL_GROUPING AS G] value [KSQL_AGG_VARIABLE_0 AS N]
      Project key [NAME->VALUE AS NAME, KSQL_GROUPING AS KSQL_GROUPING] value [KSQL_AGG_VARIABLE_0 AS KSQL_AGG_VARIABLE_0]
        Filter (NAME->VALUE IS NOT NULL)
          Aggregate by [(CASE WHEN (KSQL_GROUPING IN (1)) THEN STRUCT(VALUE:=CAST(NULL AS STRING)) WHEN (NAME IS NOT NULL) THEN STRUCT(VALUE:=NAME) END) AS NAME, KSQL_GROUPING AS KSQL_GROUPING] COUNT(*) AS KSQL_AGG_VARIABLE_0
            FlatMap EXPLODE(ARRAY[0, 1]) AS KSQL_GROUPING
              Source S

CREATE TABLE o WITH (KEY_FORMAT='JSON') AS SELECT name, COUNT(*) AS n FROM s GROUP BY ROLLUP (name);
    KEY_MISSING: Key missing from projection (ie, SELECT).
    The query used to build `O` must include the grouping expression GROUPING(NAME) in its projection (eg, SELECT GROUPING(NAME)...).
    line 1:44
      CREATE TABLE o WITH (KEY_FORMAT='JSON') AS SELECT name, COUNT(*) AS n FROM s GROUP BY ROLLUP (name)
                                                 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

CREATE TABLE o WITH (KEY_FORMAT='JSON') AS SELECT region, GROUPING(region) AS g, COUNT(*) AS n FROM t GROUP BY ROLLUP (region);
    INVALID_STATEMENT: ROLLUP is for streams, not for tables.
    line 1:112
      CREATE TABLE o WITH (KEY_FORMAT='JSON') AS SELECT region, GROUPING(region) AS g, COUNT(*) AS n FROM t GROUP BY ROLLUP (region)
                                                                                                                     ^^^^^^^^^^^^^^^

CREATE TABLE o WITH (KEY_FORMAT='JSON') AS SELECT name, GROUPING(id) AS g, COUNT(*) AS n FROM s GROUP BY ROLLUP (name);
    INVALID_STATEMENT: GROUPING takes expressions of GROUP BY, not ID.
    line 1:66
      CREATE TABLE o WITH (KEY_FORMAT='JSON') AS SELECT name, GROUPING(id) AS g, COUNT(*) AS n FROM s GROUP BY ROLLUP (name)
                                                                       ^^

CREATE TABLE o WITH (KEY_FORMAT='JSON') AS SELECT name, GROUPING() AS g, COUNT(*) AS n FROM s GROUP BY ROLLUP (name);
    INVALID_STATEMENT: GROUPING needs columns of GROUP BY.
    line 1:57
      CREATE TABLE o WITH (KEY_FORMAT='JSON') AS SELECT name, GROUPING() AS g, COUNT(*) AS n FROM s GROUP BY ROLLUP (name)
                                                              ^^^^^^^^^^

CREATE TABLE o AS SELECT COUNT(*) AS n FROM s GROUP BY GROUPING SETS (());
    INVALID_STATEMENT: GROUPING SETS needs a column.
    line 1:56
      CREATE TABLE o AS SELECT COUNT(*) AS n FROM s GROUP BY GROUPING SETS (())
                                                             ^^^^^^^^^^^^^^^^^^

SELECT COUNT(*) FROM s GROUP BY CUBE (id, name, id + 1, id + 2, id + 3, id + 4, id + 5, id + 6, id + 7) EMIT CHANGES;
    INVALID_STATEMENT: GROUP BY has more than 256 grouping sets.
    line 1:33
      SELECT COUNT(*) FROM s GROUP BY CUBE (id, name, id + 1, id + 2, id + 3, id + 4, id + 5, id + 6, id + 7) EMIT CHANGES
                                      ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

SELECT COUNT(*) FROM s GROUP BY CUBE (id, name, id + 1, id + 2, id + 3), CUBE (id + 4, id + 5, id + 6, id + 7) EMIT CHANGES;
    INVALID_STATEMENT: GROUP BY has more than 256 grouping sets.
    line 1:33
      SELECT COUNT(*) FROM s GROUP BY CUBE (id, name, id + 1, id + 2, id + 3), CUBE (id + 4, id + 5, id + 6, id + 7) EMIT CHANGES
                                      ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

SELECT name, COUNT(*) FROM s GROUP BY CUBE (name);
    BATCH `NAME` STRING, `KSQL_COL_0` BIGINT
    Project key [] value [KSQL_GROUP_0 AS NAME, KSQL_AGG_VARIABLE_0 AS KSQL_COL_0]
      Project key [KSQL_GROUP_0->VALUE AS KSQL_GROUP_0, KSQL_GROUPING AS KSQL_GROUPING] value [KSQL_AGG_VARIABLE_0 AS KSQL_AGG_VARIABLE_0]
        Aggregate by [(CASE WHEN (KSQL_GROUPING IN (1)) THEN STRUCT(VALUE:=CAST(NULL AS STRING)) ELSE STRUCT(VALUE:=NAME) END) AS KSQL_GROUP_0, KSQL_GROUPING AS KSQL_GROUPING] COUNT(*) AS KSQL_AGG_VARIABLE_0
          FlatMap EXPLODE(ARRAY[0, 1]) AS KSQL_GROUPING
            Source S

CREATE TABLE o AS SELECT name, COUNT(*) AS n FROM s WINDOW TUMBLING (SIZE 1 DAY, TIME ZONE 'Europe/Berlin', OFFSET 6 HOURS, RETENTION 30 DAYS, GRACE PERIOD 1 HOUR) GROUP BY name;
    TABLE O SINK
      columns `NAME` STRING KEY, `N` BIGINT
      topic O, key KAFKA, value JSON
      window Windowing(kind='TUMBLING', size_ms=None, calendar=Calendar(amount=1, unit='DAYS', zone='Europe/Berlin', offset_months=0, offset_ms=21600000))
    Project key [NAME AS NAME] value [KSQL_AGG_VARIABLE_0 AS N]
      Aggregate by [NAME AS NAME] COUNT(*) AS KSQL_AGG_VARIABLE_0 WindowSpec(kind='TUMBLING', size_ms=90000000, advance_ms=None, retention_ms=2592000000, grace_ms=3600000, calendar=Calendar(amount=1, unit='DAYS', zone='Europe/Berlin', offset_months=0, offset_ms=21600000))
        Source S

CREATE TABLE o AS SELECT name, COUNT(*) AS n FROM s WINDOW TUMBLING (SIZE 1 WEEK) GROUP BY name;
    TABLE O SINK
      columns `NAME` STRING KEY, `N` BIGINT
      topic O, key KAFKA, value JSON
      window Windowing(kind='TUMBLING', size_ms=None, calendar=Calendar(amount=1, unit='WEEKS', zone='UTC', offset_months=0, offset_ms=0))
    Project key [NAME AS NAME] value [KSQL_AGG_VARIABLE_0 AS N]
      Aggregate by [NAME AS NAME] COUNT(*) AS KSQL_AGG_VARIABLE_0 WindowSpec(kind='TUMBLING', size_ms=604800000, advance_ms=None, retention_ms=604800000, grace_ms=0, calendar=Calendar(amount=1, unit='WEEKS', zone='UTC', offset_months=0, offset_ms=0))
        Source S

CREATE TABLE o AS SELECT name, COUNT(*) AS n FROM s WINDOW TUMBLING (SIZE 2 YEARS, OFFSET 3 MONTHS) GROUP BY name EMIT FINAL;
    TABLE O SINK
      columns `NAME` STRING KEY, `N` BIGINT
      topic O, key KAFKA, value JSON
      window Windowing(kind='TUMBLING', size_ms=None, calendar=Calendar(amount=2, unit='YEARS', zone='UTC', offset_months=3, offset_ms=0))
    Project key [NAME AS NAME] value [KSQL_AGG_VARIABLE_0 AS N]
      Aggregate by [NAME AS NAME] COUNT(*) AS KSQL_AGG_VARIABLE_0 WindowSpec(kind='TUMBLING', size_ms=63244800000, advance_ms=None, retention_ms=63244800000, grace_ms=0, calendar=Calendar(amount=2, unit='YEARS', zone='UTC', offset_months=3, offset_ms=0)) FINAL
        Source S

CREATE TABLE o AS SELECT name, COUNT(*) AS n FROM s WINDOW TUMBLING (SIZE 1 DAY, TIME ZONE 'UTC') GROUP BY name;
    TABLE O SINK
      columns `NAME` STRING KEY, `N` BIGINT
      topic O, key KAFKA, value JSON
      window Windowing(kind='TUMBLING', size_ms=86400000)
    Project key [NAME AS NAME] value [KSQL_AGG_VARIABLE_0 AS N]
      Aggregate by [NAME AS NAME] COUNT(*) AS KSQL_AGG_VARIABLE_0 WindowSpec(kind='TUMBLING', size_ms=86400000, advance_ms=None, retention_ms=86400000, grace_ms=0)
        Source S

CREATE TABLE o AS SELECT name, COUNT(*) AS n FROM s WINDOW CUMULATIVE (SIZE 1 DAY, STEP 1 HOUR) GROUP BY name;
    TABLE O SINK
      columns `NAME` STRING KEY, `N` BIGINT
      topic O, key KAFKA, value JSON
      window Windowing(kind='CUMULATIVE', size_ms=None)
    Project key [NAME AS NAME] value [KSQL_AGG_VARIABLE_0 AS N]
      Aggregate by [NAME AS NAME] COUNT(*) AS KSQL_AGG_VARIABLE_0 WindowSpec(kind='CUMULATIVE', size_ms=86400000, advance_ms=3600000, retention_ms=86400000, grace_ms=0, calendar=Calendar(amount=1, unit='DAYS', zone='UTC', offset_months=0, offset_ms=0))
        Source S

CREATE TABLE o AS SELECT name, COUNT(*) AS n FROM s WINDOW CUMULATIVE (SIZE 1 MONTH, STEP 1 DAY, TIME ZONE 'Europe/Berlin') GROUP BY name;
    TABLE O SINK
      columns `NAME` STRING KEY, `N` BIGINT
      topic O, key KAFKA, value JSON
      window Windowing(kind='CUMULATIVE', size_ms=None)
    Project key [NAME AS NAME] value [KSQL_AGG_VARIABLE_0 AS N]
      Aggregate by [NAME AS NAME] COUNT(*) AS KSQL_AGG_VARIABLE_0 WindowSpec(kind='CUMULATIVE', size_ms=2682000000, advance_ms=None, retention_ms=2682000000, grace_ms=0, calendar=Calendar(amount=1, unit='MONTHS', zone='Europe/Berlin', offset_months=0, offset_ms=0), step=Calendar(amount=1, unit='DAYS', zone='Europe/Berlin', offset_months=0, offset_ms=0))
        Source S

CREATE TABLE o AS SELECT name, COUNT(*) AS n FROM s WINDOW TUMBLING (SIZE 1 DAY, TIME ZONE 'Europe/Berln') GROUP BY name;
    INVALID_STATEMENT: There is no time zone 'Europe/Berln'. Did you mean 'Europe/Berlin' or 'Europe/Dublin' or 'Europe/Belfast'?
    line 1:92
      CREATE TABLE o AS SELECT name, COUNT(*) AS n FROM s WINDOW TUMBLING (SIZE 1 DAY, TIME ZONE 'Europe/Berln') GROUP BY name
                                                                                                 ^^^^^^^^^^^^^^

CREATE TABLE o AS SELECT name, COUNT(*) AS n FROM s WINDOW TUMBLING (SIZE 1 DAY, TIME ZONE 'kathmandu') GROUP BY name;
    INVALID_STATEMENT: There is no time zone 'kathmandu'. Did you mean 'Asia/Kathmandu' or 'Asia/Katmandu'?
    line 1:92
      CREATE TABLE o AS SELECT name, COUNT(*) AS n FROM s WINDOW TUMBLING (SIZE 1 DAY, TIME ZONE 'kathmandu') GROUP BY name
                                                                                                 ^^^^^^^^^^^

CREATE TABLE o AS SELECT name, COUNT(*) AS n FROM s WINDOW TUMBLING (SIZE 1 DAY, TIME ZONE '+02:00') GROUP BY name;
    INVALID_STATEMENT: There is no time zone '+02:00'. Zones are named as in 'Europe/Berlin' or 'UTC'.
    line 1:92
      CREATE TABLE o AS SELECT name, COUNT(*) AS n FROM s WINDOW TUMBLING (SIZE 1 DAY, TIME ZONE '+02:00') GROUP BY name
                                                                                                 ^^^^^^^^

CREATE TABLE o AS SELECT name, COUNT(*) AS n FROM s WINDOW TUMBLING (SIZE 1 DAY, TIME ZONE 'EST') GROUP BY name;
    INVALID_STATEMENT: There is no time zone 'EST'. Did you mean 'WET' or 'MET' or 'EET' or 'Brazil/West' or 'Brazil/East'?
    line 1:92
      CREATE TABLE o AS SELECT name, COUNT(*) AS n FROM s WINDOW TUMBLING (SIZE 1 DAY, TIME ZONE 'EST') GROUP BY name
                                                                                                 ^^^^^

CREATE TABLE o AS SELECT name, COUNT(*) AS n FROM s WINDOW TUMBLING (SIZE 24 HOURS, TIME ZONE 'Europe/Berlin') GROUP BY name;
    INVALID_STATEMENT: TIME ZONE needs a SIZE in DAYS, WEEKS, MONTHS or YEARS, not in HOURS. Shorter windows begin later with OFFSET.
    line 1:95
      CREATE TABLE o AS SELECT name, COUNT(*) AS n FROM s WINDOW TUMBLING (SIZE 24 HOURS, TIME ZONE 'Europe/Berlin') GROUP BY name
                                                                                                    ^^^^^^^^^^^^^^^

CREATE TABLE o AS SELECT name, COUNT(*) AS n FROM s WINDOW HOPPING (SIZE 1 DAY, ADVANCE BY 1 HOUR, TIME ZONE 'Europe/Berlin') GROUP BY name;
    INVALID_STATEMENT: TIME ZONE is for TUMBLING and CUMULATIVE windows only.
    line 1:110
      CREATE TABLE o AS SELECT name, COUNT(*) AS n FROM s WINDOW HOPPING (SIZE 1 DAY, ADVANCE BY 1 HOUR, TIME ZONE 'Europe/Berlin') GROUP BY name
                                                                                                                   ^^^^^^^^^^^^^^^

CREATE TABLE o AS SELECT name, COUNT(*) AS n FROM s WINDOW HOPPING (SIZE 1 DAY, ADVANCE BY 1 HOUR, OFFSET 1 MINUTE) GROUP BY name;
    INVALID_STATEMENT: OFFSET is for TUMBLING and CUMULATIVE windows only.
    line 1:107
      CREATE TABLE o AS SELECT name, COUNT(*) AS n FROM s WINDOW HOPPING (SIZE 1 DAY, ADVANCE BY 1 HOUR, OFFSET 1 MINUTE) GROUP BY name
                                                                                                                ^^^^^^^^

CREATE TABLE o AS SELECT name, COUNT(*) AS n FROM s WINDOW HOPPING (SIZE 1 MONTH, ADVANCE BY 1 DAY) GROUP BY name;
    INVALID_STATEMENT: MONTHS are for TUMBLING and CUMULATIVE windows only.
    line 1:74
      CREATE TABLE o AS SELECT name, COUNT(*) AS n FROM s WINDOW HOPPING (SIZE 1 MONTH, ADVANCE BY 1 DAY) GROUP BY name
                                                                               ^^^^^^^

CREATE TABLE o AS SELECT name, COUNT(*) AS n FROM s WINDOW TUMBLING (SIZE 1 DAY, OFFSET 24 HOURS) GROUP BY name;
    INVALID_STATEMENT: OFFSET must be shorter than the SIZE of the window.
    line 1:89
      CREATE TABLE o AS SELECT name, COUNT(*) AS n FROM s WINDOW TUMBLING (SIZE 1 DAY, OFFSET 24 HOURS) GROUP BY name
                                                                                              ^^^^^^^^

CREATE TABLE o AS SELECT name, COUNT(*) AS n FROM s WINDOW TUMBLING (SIZE 1 WEEK, OFFSET 1 MONTH) GROUP BY name;
    INVALID_STATEMENT: OFFSET must be shorter than the SIZE of the window.
    line 1:90
      CREATE TABLE o AS SELECT name, COUNT(*) AS n FROM s WINDOW TUMBLING (SIZE 1 WEEK, OFFSET 1 MONTH) GROUP BY name
                                                                                               ^^^^^^^

CREATE TABLE o AS SELECT name, COUNT(*) AS n FROM s WINDOW TUMBLING (SIZE 1 DAY, TIME ZONE 'Europe/Berlin', RETENTION 1 DAY) GROUP BY name;
    INVALID_STATEMENT: RETENTION must be at least the window's size plus its grace period: 90000000 ms, got 86400000 ms.
    line 1:119
      CREATE TABLE o AS SELECT name, COUNT(*) AS n FROM s WINDOW TUMBLING (SIZE 1 DAY, TIME ZONE 'Europe/Berlin', RETENTION 1 DAY) GROUP BY name
                                                                                                                            ^^^^^

CREATE TABLE o AS SELECT name, COUNT(*) AS n FROM s WINDOW CUMULATIVE (SIZE 1 MONTH, STEP 1 WEEK) GROUP BY name;
    INVALID_STATEMENT: The SIZE of the window must be a multiple of STEP: 1 WEEKS do not divide 1 MONTHS.
    line 1:91
      CREATE TABLE o AS SELECT name, COUNT(*) AS n FROM s WINDOW CUMULATIVE (SIZE 1 MONTH, STEP 1 WEEK) GROUP BY name
                                                                                                ^^^^^^

CREATE TABLE o AS SELECT name, COUNT(*) AS n FROM s WINDOW CUMULATIVE (SIZE 1 HOUR, STEP 7 MINUTES) GROUP BY name;
    INVALID_STATEMENT: The SIZE of the window must be a multiple of STEP: 7 MINUTES do not divide 1 HOURS.
    line 1:90
      CREATE TABLE o AS SELECT name, COUNT(*) AS n FROM s WINDOW CUMULATIVE (SIZE 1 HOUR, STEP 7 MINUTES) GROUP BY name
                                                                                               ^^^^^^^^^

CREATE TABLE o AS SELECT name, COUNT(*) AS n FROM s WINDOW CUMULATIVE (SIZE 1 DAY, STEP 0 HOURS) GROUP BY name;
    INVALID_STATEMENT: STEP must be longer than zero.
    line 1:89
      CREATE TABLE o AS SELECT name, COUNT(*) AS n FROM s WINDOW CUMULATIVE (SIZE 1 DAY, STEP 0 HOURS) GROUP BY name
                                                                                              ^^^^^^^

CREATE TABLE o AS SELECT name, COUNT(*) AS n FROM s WINDOW CUMULATIVE (SIZE 1 DAY, STEP 1 MILLISECOND) GROUP BY name;
    INVALID_STATEMENT: Each record would be in 86400000 windows; the maximum is 100000. Use a longer STEP.
    line 1:89
      CREATE TABLE o AS SELECT name, COUNT(*) AS n FROM s WINDOW CUMULATIVE (SIZE 1 DAY, STEP 1 MILLISECOND) GROUP BY name
                                                                                              ^^^^^^^^^^^^^

CREATE TABLE o AS SELECT name, COUNT(*) AS n FROM s WINDOW CUMULATIVE (SIZE 1 HOUR, STEP 1 DAY) GROUP BY name;
    INVALID_STATEMENT: The SIZE of the window must be a multiple of STEP: 1 DAYS do not divide 1 HOURS.
    line 1:90
      CREATE TABLE o AS SELECT name, COUNT(*) AS n FROM s WINDOW CUMULATIVE (SIZE 1 HOUR, STEP 1 DAY) GROUP BY name
                                                                                               ^^^^^

CREATE TABLE o AS SELECT name, COUNT(*) AS n FROM s GROUP BY name HAVING COUNT(*) > 1 EMIT CHANGES EVERY 10 SECONDS;
    TABLE O SINK
      columns `NAME` STRING KEY, `N` BIGINT
      topic O, key KAFKA, value JSON
    Project key [NAME AS NAME] value [KSQL_AGG_VARIABLE_0 AS N]
      Filter (KSQL_AGG_VARIABLE_0 > CAST(1 AS BIGINT))
        Aggregate by [NAME AS NAME] COUNT(*) AS KSQL_AGG_VARIABLE_0 every 10000 ms
          Source S

CREATE TABLE o AS SELECT name, n FROM (SELECT name, COUNT(*) AS n FROM s GROUP BY name) c WHERE n > 1 EMIT CHANGES EVERY 1 MINUTE;
    TABLE O SINK
      columns `NAME` STRING KEY, `N` BIGINT
      topic O, key KAFKA, value JSON
    Project key [NAME AS NAME] value [N AS N]
      Filter (N > CAST(1 AS BIGINT))
        Project key [NAME AS NAME] value [KSQL_AGG_VARIABLE_0 AS N]
          Aggregate by [NAME AS NAME] COUNT(*) AS KSQL_AGG_VARIABLE_0 every 60000 ms
            Source S

CREATE TABLE o AS SELECT region, COUNT(*) AS n FROM t GROUP BY region EMIT CHANGES EVERY 10 SECONDS;
    TABLE O SINK
      columns `REGION` STRING KEY, `N` BIGINT
      topic O, key KAFKA, value JSON
    Project key [REGION AS REGION] value [KSQL_AGG_VARIABLE_0 AS N]
      Aggregate by [REGION AS REGION] COUNT(*) AS KSQL_AGG_VARIABLE_0 every 10000 ms
        Source T

CREATE TABLE o AS SELECT name, COUNT(*) AS n FROM s GROUP BY name EMIT CHANGES EVERY 0 SECONDS;
    INVALID_STATEMENT: EVERY must be longer than zero.
    line 1:86
      CREATE TABLE o AS SELECT name, COUNT(*) AS n FROM s GROUP BY name EMIT CHANGES EVERY 0 SECONDS
                                                                                           ^^^^^^^^^

CREATE STREAM o AS SELECT id, name FROM s EMIT CHANGES EVERY 10 SECONDS;
    INVALID_STATEMENT: EVERY is for queries that aggregate. Other queries emit each row when it comes: remove EVERY.
    line 1:62
      CREATE STREAM o AS SELECT id, name FROM s EMIT CHANGES EVERY 10 SECONDS
                                                                   ^^^^^^^^^^

CREATE STREAM o AS SELECT name FROM s UNION ALL SELECT name FROM s EMIT CHANGES EVERY 10 SECONDS;
    INVALID_STATEMENT: EVERY is for queries that aggregate.
    line 1:87
      CREATE STREAM o AS SELECT name FROM s UNION ALL SELECT name FROM s EMIT CHANGES EVERY 10 SECONDS
                                                                                            ^^^^^^^^^^

CREATE TABLE o AS SELECT name, n FROM (SELECT name, COUNT(*) AS n FROM s GROUP BY name EMIT CHANGES EVERY 1 SECOND) c;
    INVALID_STATEMENT: EMIT is not allowed in a sub-query. Move EMIT to the end.
    line 1:40
      CREATE TABLE o AS SELECT name, n FROM (SELECT name, COUNT(*) AS n FROM s GROUP BY name EMIT CHANGES EVERY 1 SECOND) c
                                             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

CREATE TABLE o AS SELECT name, COUNT(*) AS n FROM s WINDOW SLIDING (SIZE 10 MINUTES, GRACE PERIOD 1 MINUTE) GROUP BY name EMIT FINAL;
    TABLE O SINK
      columns `NAME` STRING KEY, `N` BIGINT
      topic O, key KAFKA, value JSON
      window Windowing(kind='SLIDING', size_ms=600000)
    Project key [NAME AS NAME] value [KSQL_AGG_VARIABLE_0 AS N]
      Aggregate by [NAME AS NAME] COUNT(*) AS KSQL_AGG_VARIABLE_0 WindowSpec(kind='SLIDING', size_ms=600000, advance_ms=None, retention_ms=86400000, grace_ms=60000) FINAL
        Source S

CREATE TABLE o AS SELECT name, COUNT(*) AS n FROM s WINDOW SLIDING (SIZE 1 WEEK) GROUP BY name;
    INVALID_STATEMENT: WEEKS are for TUMBLING and CUMULATIVE windows only.
    line 1:74
      CREATE TABLE o AS SELECT name, COUNT(*) AS n FROM s WINDOW SLIDING (SIZE 1 WEEK) GROUP BY name
                                                                               ^^^^^^

CREATE TABLE o AS SELECT name, COUNT(*) AS n FROM s WINDOW SLIDING (SIZE 0 MINUTES) GROUP BY name;
    INVALID_STATEMENT: The window's SIZE must be longer than zero.
    line 1:74
      CREATE TABLE o AS SELECT name, COUNT(*) AS n FROM s WINDOW SLIDING (SIZE 0 MINUTES) GROUP BY name
                                                                               ^^^^^^^^^

CREATE TABLE o AS SELECT name, n FROM (SELECT name, COUNT(*) AS n FROM s WINDOW TUMBLING (SIZE 1 MINUTE) GROUP BY name EMIT FINAL) c;
    INVALID_STATEMENT: KSQL does not support persistent queries on windowed tables. GROUP BY or QUALIFY may, and push and pull queries; or declare the topic as a stream.
    line 1:39
      CREATE TABLE o AS SELECT name, n FROM (SELECT name, COUNT(*) AS n FROM s WINDOW TUMBLING (SIZE 1 MINUTE) GROUP BY name EMIT FINAL) c
                                            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

CREATE TABLE o AS SELECT name, n FROM (SELECT name, COUNT(*) AS n FROM s GROUP BY name EMIT FINAL) c;
    INVALID_STATEMENT: EMIT is not allowed in a sub-query. Move EMIT to the end.
    line 1:40
      CREATE TABLE o AS SELECT name, n FROM (SELECT name, COUNT(*) AS n FROM s GROUP BY name EMIT FINAL) c
                                             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

CREATE TABLE o AS SELECT name, n FROM (SELECT name, COUNT(*) AS n FROM s WINDOW TUMBLING (SIZE 1 MINUTE) GROUP BY name EMIT CHANGES) c;
    INVALID_STATEMENT: EMIT is not allowed in a sub-query. Move EMIT to the end.
    line 1:40
      CREATE TABLE o AS SELECT name, n FROM (SELECT name, COUNT(*) AS n FROM s WINDOW TUMBLING (SIZE 1 MINUTE) GROUP BY name EMIT CHANGES) c
                                             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
