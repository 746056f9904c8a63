CREATE STREAM s (id INT KEY, name STRING, n INT, h ARRAY<STRUCT<key STRING, value BYTES>> HEADERS) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');
----
-- the records' headers are written from a column
CREATE STREAM o WITH (HEADERS = 'h') AS SELECT id, n, h FROM s;
    STREAM O SINK
      columns `ID` INTEGER KEY, `N` INTEGER, `H` ARRAY<STRUCT<`KEY` STRING, `VALUE` BYTES>> HEADERS
      topic O, key KAFKA, value JSON
    Project key [ID AS ID] value [N AS N, H AS H]
      Source S

CREATE STREAM o WITH (HEADERS = 'x') AS SELECT id, n, ARRAY[STRUCT(key := 'source', value := TO_BYTES(name, 'utf8'))] AS x FROM s;
    STREAM O SINK
      columns `ID` INTEGER KEY, `N` INTEGER, `X` ARRAY<STRUCT<`KEY` STRING, `VALUE` BYTES>> HEADERS
      topic O, key KAFKA, value JSON
    Project key [ID AS ID] value [N AS N, ARRAY[STRUCT(KEY:='source', VALUE:=TO_BYTES(NAME, 'utf8'))] AS X]
      Source S

CREATE STREAM o WITH (HEADERS = 'z') AS SELECT id, n, h FROM s;
    INVALID_STATEMENT: The HEADERS column set in the WITH clause is not a value column: 'z'.
    line 1:23
      CREATE STREAM o WITH (HEADERS = 'z') AS SELECT id, n, h FROM s
                            ^^^^^^^^^^^^^

CREATE STREAM o WITH (HEADERS = 'n') AS SELECT id, n, h FROM s;
    INVALID_STATEMENT: Invalid type for HEADERS column: expected ARRAY<STRUCT<`KEY` STRING, `VALUE` BYTES>>, got INTEGER.
    line 1:23
      CREATE STREAM o WITH (HEADERS = 'n') AS SELECT id, n, h FROM s
                            ^^^^^^^^^^^^^

CREATE STREAM o WITH (HEADERS = 'h') AS SELECT id, h FROM s;
    INVALID_STATEMENT: The projection contains no value columns besides the headers.
    line 1:23
      CREATE STREAM o WITH (HEADERS = 'h') AS SELECT id, h FROM s
                            ^^^^^^^^^^^^^

CREATE TABLE o WITH (HEADERS = 'l') AS SELECT id, COLLECT_LIST(n) AS l FROM s GROUP BY id;
    INVALID_STATEMENT: HEADERS is for streams only.
    line 1:22
      CREATE TABLE o WITH (HEADERS = 'l') AS SELECT id, COLLECT_LIST(n) AS l FROM s GROUP BY id
                           ^^^^^^^^^^^^^

-- rows by their event time
CREATE TABLE o WITH (ORDER = 'Event-Time') AS SELECT id, COUNT(*) AS c FROM s GROUP BY id;
    TABLE O SINK
      columns `ID` INTEGER KEY, `C` BIGINT
      topic O, key KAFKA, value JSON
    Project key [ID AS ID] value [KSQL_AGG_VARIABLE_0 AS C]
      Aggregate by [ID AS ID] COUNT(*) AS KSQL_AGG_VARIABLE_0
        Source S

CREATE TABLE o WITH (ORDER = 'random') AS SELECT id, COUNT(*) AS c FROM s GROUP BY id;
    PROPERTY_IN_WITH: Configuration ORDER is invalid: 'random' is none of arrival, event-time.
    line 1:22
      CREATE TABLE o WITH (ORDER = 'random') AS SELECT id, COUNT(*) AS c FROM s GROUP BY id
                           ^^^^^^^^^^^^^^^^

CREATE STREAM o (id INT KEY) WITH (KAFKA_TOPIC = 'o', VALUE_FORMAT = 'JSON', ORDER = 'event-time');
    PROPERTY_IN_WITH: Configuration ORDER is invalid: it is only allowed in CREATE AS and INSERT.
    line 1:78
      CREATE STREAM o (id INT KEY) WITH (KAFKA_TOPIC = 'o', VALUE_FORMAT = 'JSON', ORDER = 'event-time')
                                                                                   ^^^^^^^^^^^^^^^^^^^^
