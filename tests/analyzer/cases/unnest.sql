CREATE STREAM s (id INT KEY, items ARRAY<STRUCT<n INT, tags ARRAY<STRING>>>, x STRING) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON', PARTITIONS=2);
CREATE TABLE t (id INT PRIMARY KEY, items ARRAY<INT>) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON', PARTITIONS=2);
CREATE TABLE counts AS SELECT id, COLLECT_LIST(x) AS xs FROM s GROUP BY id;
----
CREATE STREAM o AS SELECT id, i->n AS n, number FROM s CROSS JOIN UNNEST(items) WITH ORDINALITY AS u (i, number) WHERE number > 1 AND u.i->n IS NOT NULL;
    STREAM O SINK
      columns `ID` INTEGER KEY, `N` INTEGER, `NUMBER` INTEGER
      topic O, key KAFKA, value JSON
    Project key [ID AS ID] value [I->N AS N, NUMBER AS NUMBER]
      Filter ((NUMBER > 1) AND (I->N IS NOT NULL))
        FlatMap EXPLODE(ITEMS) AS I, EXPLODE_POSITIONS(ITEMS) AS NUMBER
          Source S

CREATE STREAM o AS SELECT * FROM s CROSS JOIN UNNEST(items) u (i) CROSS JOIN UNNEST(i->tags) v (tag);
    STREAM O SINK
      columns `ID` INTEGER KEY, `ITEMS` ARRAY<STRUCT<`N` INTEGER, `TAGS` ARRAY<STRING>>>, `X` STRING, `I` STRUCT<`N` INTEGER, `TAGS` ARRAY<STRING>>, `TAG` STRING
      topic O, key KAFKA, value JSON
    Project key [ID AS ID] value [ITEMS AS ITEMS, X AS X, I AS I, TAG AS TAG]
      FlatMap EXPLODE(I->TAGS) AS TAG
        FlatMap EXPLODE(ITEMS) AS I
          Source S

CREATE TABLE o AS SELECT tag, COUNT(*) AS n FROM s CROSS JOIN UNNEST(items) u (i) CROSS JOIN UNNEST(u.i->tags) v (tag) GROUP BY tag;
    TABLE O SINK
      columns `TAG` STRING KEY, `N` BIGINT
      topic O, key KAFKA, value JSON
    Project key [TAG AS TAG] value [KSQL_AGG_VARIABLE_0 AS N]
      Aggregate by [TAG AS TAG] COUNT(*) AS KSQL_AGG_VARIABLE_0
        FlatMap EXPLODE(I->TAGS) AS TAG
          FlatMap EXPLODE(ITEMS) AS I
            Source S

CREATE STREAM o AS SELECT e AS e, s.id, s.x FROM s JOIN t ON s.id = t.id CROSS JOIN UNNEST(t.items) u (e) PARTITION BY u.e;
    STREAM O SINK
      columns `E` INTEGER KEY, `S_ID` INTEGER, `X` STRING
      topic O, key KAFKA, value JSON
    Project key [E AS E] value [S_ID AS S_ID, S_X AS X]
      SelectKey E AS E
        FlatMap EXPLODE(T_ITEMS) AS E
          Join INNER STREAM_TABLE on S_ID = T_ID as S_ID
            Source S prefixed
            Source T prefixed

CREATE STREAM o AS SELECT id, e FROM s CROSS JOIN UNNEST(ARRAY[1, 2]) u (e) WHERE e NOT IN (SELECT id FROM t);
    STREAM O SINK
      columns `ID` INTEGER KEY, `E` INTEGER
      topic O, key KAFKA, value JSON
    Project key [ID AS ID] value [E AS E]
      SelectKey ID AS ID
        Filter ((E IS NOT NULL) AND (KSQL_0__FOUND IS NULL))
          Join LEFT STREAM_TABLE on E = KSQL_0_ID as KSQL_0_ID
            FlatMap EXPLODE(ARRAY[1, 2]) AS E
              Source S
            Project key [ID AS KSQL_0_ID] value [TRUE AS KSQL_0__FOUND]
              Source T

SELECT id, x, number FROM counts CROSS JOIN UNNEST(xs) WITH ORDINALITY u (x, number) WHERE x > 'a' ORDER BY number DESC;
    BATCH `ID` INTEGER, `X` STRING, `NUMBER` INTEGER
    Sort NUMBER DESC
      Project key [] value [ID AS ID, X AS X, NUMBER AS NUMBER]
        Filter (X > 'a')
          FlatMap EXPLODE(XS) AS X, EXPLODE_POSITIONS(XS) AS NUMBER
            Source COUNTS

CREATE TABLE o AS SELECT id, e FROM t CROSS JOIN UNNEST(items) u (e);
    INVALID_STATEMENT: Table source is not supported with table functions: UNNEST.
    line 1:37
      CREATE TABLE o AS SELECT id, e FROM t CROSS JOIN UNNEST(items) u (e)
                                          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

CREATE STREAM o AS SELECT id, x FROM s CROSS JOIN UNNEST(items) u (x);
    INVALID_STATEMENT: UNNEST: there is a column X already.
    line 1:68
      CREATE STREAM o AS SELECT id, x FROM s CROSS JOIN UNNEST(items) u (x)
                                                                         ^

CREATE STREAM o AS SELECT id, e FROM s CROSS JOIN UNNEST(items) s (e);
    INVALID_STATEMENT: The alias 'S' is used twice in FROM. Give each its own alias: FROM a x JOIN a y ON ...
    line 1:38
      CREATE STREAM o AS SELECT id, e FROM s CROSS JOIN UNNEST(items) s (e)
                                           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

CREATE STREAM o AS SELECT id, e FROM s CROSS JOIN UNNEST(x) u (e);
    FUNCTION_ARGUMENTS: Function 'EXPLODE' does not accept parameters (STRING).
    Valid alternatives are:
    EXPLODE(ARRAY<T> array)
    line 1:58
      CREATE STREAM o AS SELECT id, e FROM s CROSS JOIN UNNEST(x) u (e)
                                                               ^

CREATE STREAM o AS SELECT id, e FROM s CROSS JOIN UNNEST(items) u (rowtime);
    INVALID_STATEMENT: UNNEST: there is a column ROWTIME already.
    line 1:68
      CREATE STREAM o AS SELECT id, e FROM s CROSS JOIN UNNEST(items) u (rowtime)
                                                                         ^^^^^^^
