CREATE STREAM s (id INT KEY, name STRING, amount DECIMAL(10, 2), pos STRUCT<lat DOUBLE, lon DOUBLE>, tags ARRAY<STRING>, moment TIMESTAMP) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');
CREATE STREAM keyless (v INT, w STRING) WITH (KAFKA_TOPIC='keyless', VALUE_FORMAT='JSON');
CREATE TABLE t (id INT PRIMARY KEY, id2 INT PRIMARY KEY, v STRING) WITH (KAFKA_TOPIC='t', FORMAT='JSON');
CREATE STREAM w (id INT KEY, v INT) WITH (KAFKA_TOPIC='w', VALUE_FORMAT='JSON', WINDOW_TYPE='SESSION');
CREATE STREAM raw (id INT KEY, v INT) WITH (KAFKA_TOPIC='raw', VALUE_FORMAT='KAFKA');
----
CREATE STREAM o AS SELECT * FROM s;
    STREAM O SINK
      columns `ID` INTEGER KEY, `NAME` STRING, `AMOUNT` DECIMAL(10, 2), `POS` STRUCT<`LAT` DOUBLE, `LON` DOUBLE>, `TAGS` ARRAY<STRING>, `MOMENT` TIMESTAMP
      topic O, key KAFKA, value JSON
    Project key [ID AS ID] value [NAME AS NAME, AMOUNT AS AMOUNT, POS AS POS, TAGS AS TAGS, MOMENT AS MOMENT]
      Source S

CREATE STREAM o WITH (KAFKA_TOPIC='elsewhere', VALUE_FORMAT='DELIMITED', PARTITIONS=3) AS SELECT id AS k, name, -amount, pos->lat, pos->lat, LEN(name) FROM s x WHERE x.amount > 1.5 AND name LIKE 'a%';
    STREAM O SINK
      columns `K` INTEGER KEY, `NAME` STRING, `KSQL_COL_0` DECIMAL(10, 2), `LAT` DOUBLE, `LAT_1` DOUBLE, `KSQL_COL_1` INTEGER
      topic elsewhere, key KAFKA, value DELIMITED
      partitions 3
    Project key [ID AS K] value [NAME AS NAME, -AMOUNT AS KSQL_COL_0, POS->LAT AS LAT, POS->LAT AS LAT_1, LEN(NAME) AS KSQL_COL_1]
      Filter ((AMOUNT > CAST(1.5 AS DECIMAL(10, 2))) AND (NAME LIKE 'a%'))
        Source S X

CREATE STREAM o AS SELECT id, pos->*, tags[1] AS first FROM s;
    STREAM O SINK
      columns `ID` INTEGER KEY, `LAT` DOUBLE, `LON` DOUBLE, `FIRST` STRING
      topic O, key KAFKA, value JSON
    Project key [ID AS ID] value [POS->LAT AS LAT, POS->LON AS LON, TAGS[1] AS FIRST]
      Source S

CREATE STREAM o AS SELECT v, w FROM keyless;
    STREAM O SINK
      columns `V` INTEGER, `W` STRING
      topic O, key NONE, value JSON
    Project key [] value [V AS V, W AS W]
      Source KEYLESS

CREATE STREAM o AS SELECT id, AS_VALUE(id) AS copy FROM s;
    STREAM O SINK
      columns `ID` INTEGER KEY, `COPY` INTEGER
      topic O, key KAFKA, value JSON
    Project key [ID AS ID] value [AS_VALUE(ID) AS COPY]
      Source S

CREATE STREAM o AS SELECT id, v, WINDOWSTART AS ws, ROWTIME AS rt FROM w;
    STREAM O SINK
      columns `ID` INTEGER KEY, `V` INTEGER, `WS` BIGINT, `RT` BIGINT
      topic O, key KAFKA, value JSON
      window Windowing(kind='SESSION', size_ms=None)
    Project key [ID AS ID] value [V AS V, WINDOWSTART AS WS, ROWTIME AS RT]
      Source W

CREATE STREAM o AS SELECT id, EXPLODE(tags) AS tag FROM s;
    STREAM O SINK
      columns `ID` INTEGER KEY, `TAG` STRING
      topic O, key KAFKA, value JSON
    Project key [ID AS ID] value [KSQL_SYNTH_0 AS TAG]
      FlatMap EXPLODE(TAGS) AS KSQL_SYNTH_0
        Source S

CREATE STREAM o WITH (TIMESTAMP='moment') AS SELECT id, moment FROM s;
    STREAM O SINK
      columns `ID` INTEGER KEY, `MOMENT` TIMESTAMP
      topic O, key KAFKA, value JSON
      timestamp TimestampColumn(column='MOMENT', pattern=None)
    Project key [ID AS ID] value [MOMENT AS MOMENT]
      Source S

CREATE TABLE o AS SELECT * FROM t WHERE v = 'x';
    TABLE O SINK
      columns `ID` INTEGER KEY, `ID2` INTEGER KEY, `V` STRING
      topic O, key JSON, value JSON
    Project key [ID AS ID, ID2 AS ID2] value [V AS V]
      Filter (V = 'x')
        Source T

CREATE STREAM o AS SELECT * FROM s PARTITION BY name;
    STREAM O SINK
      columns `NAME` STRING KEY, `AMOUNT` DECIMAL(10, 2), `POS` STRUCT<`LAT` DOUBLE, `LON` DOUBLE>, `TAGS` ARRAY<STRING>, `MOMENT` TIMESTAMP, `ID` INTEGER
      topic O, key KAFKA, value JSON
    Project key [NAME AS NAME] value [AMOUNT AS AMOUNT, POS AS POS, TAGS AS TAGS, MOMENT AS MOMENT, ID AS ID]
      SelectKey NAME AS NAME
        Source S

CREATE STREAM o AS SELECT id, ABS(id) AS a, name FROM s PARTITION BY ABS(id);
    STREAM O SINK
      columns `A` INTEGER KEY, `ID` INTEGER, `NAME` STRING
      topic O, key KAFKA, value JSON
    Project key [A AS A] value [ID AS ID, NAME AS NAME]
      SelectKey ABS(ID) AS A
        Source S

CREATE STREAM o AS SELECT * FROM s PARTITION BY id;
    STREAM O SINK
      columns `ID` INTEGER KEY, `NAME` STRING, `AMOUNT` DECIMAL(10, 2), `POS` STRUCT<`LAT` DOUBLE, `LON` DOUBLE>, `TAGS` ARRAY<STRING>, `MOMENT` TIMESTAMP
      topic O, key KAFKA, value JSON
    Project key [ID AS ID] value [NAME AS NAME, AMOUNT AS AMOUNT, POS AS POS, TAGS AS TAGS, MOMENT AS MOMENT]
      Source S

CREATE STREAM o AS SELECT id, name, amount FROM s PARTITION BY name, amount;
    FORMAT_SCHEMA: Key format does not support schema.
    format: KAFKA
    schema: [`NAME` STRING KEY, `AMOUNT` DECIMAL(10, 2) KEY]
    reason: The 'KAFKA' format only supports a single field. Got: [`NAME` STRING KEY, `AMOUNT` DECIMAL(10, 2) KEY]. Add WITH (KEY_FORMAT = 'JSON').
    line 1:1
      CREATE STREAM o AS SELECT id, name, amount FROM s PARTITION BY name, amount
      ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

CREATE STREAM o WITH (KEY_FORMAT='JSON') AS SELECT id, amount, name FROM s PARTITION BY name, amount;
    STREAM O SINK
      columns `NAME` STRING KEY, `AMOUNT` DECIMAL(10, 2) KEY, `ID` INTEGER
      topic O, key JSON, value JSON
    Project key [NAME AS NAME, AMOUNT AS AMOUNT] value [ID AS ID]
      SelectKey NAME AS NAME, AMOUNT AS AMOUNT
        Source S

CREATE STREAM o AS SELECT id, name FROM s PARTITION BY NULL;
    STREAM O SINK
      columns `ID` INTEGER, `NAME` STRING
      topic O, key NONE, value JSON
    Project key [] value [ID AS ID, NAME AS NAME]
      SelectKey none
        Source S

INSERT INTO keyless SELECT amount, name FROM s PARTITION BY NULL;
    INVALID_STATEMENT: Incompatible schema between results and sink.
    Result schema is `AMOUNT` DECIMAL(10, 2), `NAME` STRING
    Sink schema is `V` INTEGER, `W` STRING
    line 1:21
      INSERT INTO keyless SELECT amount, name FROM s PARTITION BY NULL
                          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

INSERT INTO keyless SELECT id, name FROM s PARTITION BY NULL;
    INTO KEYLESS
    Project key [] value [ID AS V, NAME AS W]
      SelectKey none
        Source S

INSERT INTO s WITH (QUERY_ID='mine') SELECT id, 'x' AS name, CAST(NULL AS DECIMAL(10, 2)), CAST(NULL AS STRUCT<lat DOUBLE, lon DOUBLE>), ARRAY['a'], '2024-01-01' FROM w;
    INTO S
    query id MINE
    Project key [ID AS ID] value ['x' AS NAME, CAST(NULL AS DECIMAL(10, 2)) AS AMOUNT, CAST(NULL AS STRUCT<`LAT` DOUBLE, `LON` DOUBLE>) AS POS, ARRAY['a'] AS TAGS, CAST('2024-01-01' AS TIMESTAMP) AS MOMENT]
      Source W

CREATE STREAM o AS SELECT name FROM s;
    KEY_MISSING: Key missing from projection (ie, SELECT).
    The query used to build `O` must include the key column ID in its projection (eg, SELECT ID...).
    line 1:20
      CREATE STREAM o AS SELECT name FROM s
                         ^^^^^^^^^^^^^^^^^^

CREATE TABLE o AS SELECT id, v FROM t;
    KEY_MISSING: Key missing from projection (ie, SELECT).
    The query used to build `O` must include the key columns ID and ID2 in its projection (eg, SELECT ID, ID2...).
    line 1:19
      CREATE TABLE o AS SELECT id, v FROM t
                        ^^^^^^^^^^^^^^^^^^^

CREATE STREAM o AS SELECT id, id AS other, name FROM s;
    KEY_REPEATED: The projection contains a key column (`ID`) more than once, aliased as: ID and OTHER. Use AS_VALUE(ID) for the copy.
    line 1:31
      CREATE STREAM o AS SELECT id, id AS other, name FROM s
                                    ^^^^^^^^^^^

CREATE STREAM o AS SELECT id FROM s;
    INVALID_STATEMENT: The projection contains no value columns. AS_VALUE(key) copies a key.
    line 1:20
      CREATE STREAM o AS SELECT id FROM s
                         ^^^^^^^^^^^^^^^^

CREATE STREAM o AS SELECT id, nmae FROM s;
    COLUMN_UNKNOWN: SELECT column 'NMAE' cannot be resolved. Did you mean NAME?
    line 1:31
      CREATE STREAM o AS SELECT id, nmae FROM s
                                    ^^^^

CREATE STREAM o AS SELECT id, z.name FROM s;
    ALIAS_UNKNOWN: 'Z' is not a valid stream/table name or alias. There are: S.
    line 1:31
      CREATE STREAM o AS SELECT id, z.name FROM s
                                    ^^^^^^

CREATE STREAM o AS SELECT id, pos->alt FROM s;
    FIELD_UNKNOWN: The STRUCT POS has no field 'ALT'. Did you mean LAT?
    line 1:31
      CREATE STREAM o AS SELECT id, pos->alt FROM s
                                    ^^^^^^^^

CREATE STREAM o AS SELECT id, name, ROWTIME FROM s;
    INVALID_STATEMENT: Reserved column name in select: `ROWTIME`. Please remove or alias the column.
    line 1:37
      CREATE STREAM o AS SELECT id, name, ROWTIME FROM s
                                          ^^^^^^^

CREATE STREAM o AS SELECT id, name AS rowtime FROM s;
    COLUMN_RESERVED: `ROWTIME` is a reserved column name. You cannot use it as an alias for a column.
    line 1:31
      CREATE STREAM o AS SELECT id, name AS rowtime FROM s
                                    ^^^^^^^^^^^^^^^

CREATE STREAM o AS SELECT id, name, amount AS name FROM s;
    INVALID_STATEMENT: The projection contains more than one column called `NAME`. Give one of them another name with AS.
    line 1:37
      CREATE STREAM o AS SELECT id, name, amount AS name FROM s
                                          ^^^^^^^^^^^^^^

CREATE STREAM o AS SELECT id, NULL AS n FROM s;
    INVALID_STATEMENT: Can't infer a type of null. Please explicitly cast it to a required type, e.g. CAST(null AS VARCHAR).
    line 1:31
      CREATE STREAM o AS SELECT id, NULL AS n FROM s
                                    ^^^^^^^^^

CREATE STREAM o AS SELECT id, name FROM s WHERE amount;
    PREDICATE_TYPE: Type error in WHERE expression: Should evaluate to boolean but is AMOUNT (DECIMAL(10, 2)) instead.
    line 1:49
      CREATE STREAM o AS SELECT id, name FROM s WHERE amount
                                                      ^^^^^^

CREATE STREAM o AS SELECT id, name FROM s WHERE id > name;
    COMPARISON_TYPES: Error in WHERE expression: Cannot compare ID (INTEGER) to NAME (STRING) with GREATER_THAN. CAST(… AS INTEGER) makes a number of a text.
    line 1:49
      CREATE STREAM o AS SELECT id, name FROM s WHERE id > name
                                                      ^^^^^^^^^

CREATE STREAM o AS SELECT id, name FROM s WHERE name = NULL;
    COMPARISON_NULL: Error in WHERE expression: Comparison with NULL not supported: STRING = NULL
    Use 'IS NULL' or 'IS NOT NULL' instead.
    line 1:49
      CREATE STREAM o AS SELECT id, name FROM s WHERE name = NULL
                                                      ^^^^^^^^^^^

CREATE STREAM o AS SELECT id, name FROM s WHERE COUNT(*) > 1;
    AGGREGATE_NOT_ALLOWED: COUNT is an aggregate function: it cannot be used in WHERE.
    line 1:49
      CREATE STREAM o AS SELECT id, name FROM s WHERE COUNT(*) > 1
                                                      ^^^^^^^^

CREATE STREAM o AS SELECT id, name + amount FROM s;
    ARITHMETIC_TYPES: Error in SELECT expression: Error processing expression: (NAME + AMOUNT). Unsupported arithmetic types. STRING DECIMAL(10, 2)
    CAST(… AS DECIMAL(10, 2)) makes a number of a text.
    line 1:31
      CREATE STREAM o AS SELECT id, name + amount FROM s
                                    ^^^^^^^^^^^^^

CREATE STREAM o AS SELECT id, name FROM s LIMIT 3;
    INVALID_STATEMENT: CREATE STREAM AS SELECT statements don't support LIMIT clause. The query runs forever.
    line 1:20
      CREATE STREAM o AS SELECT id, name FROM s LIMIT 3
                         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

CREATE STREAM o AS SELECT id, name FROM s ORDER BY id;
    INVALID_STATEMENT: CREATE STREAM AS SELECT statements don't support ORDER BY, because a stream never ends. Use ORDER BY in a pull query on the result.
    line 1:20
      CREATE STREAM o AS SELECT id, name FROM s ORDER BY id
                         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

CREATE TABLE o AS SELECT id, name FROM s;
    INVALID_STATEMENT: Invalid result type. Your SELECT query produces a STREAM. Please use CREATE STREAM AS SELECT statement instead.
    line 1:1
      CREATE TABLE o AS SELECT id, name FROM s
      ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

CREATE STREAM o AS SELECT id, name FROM sss;
    SOURCE_UNKNOWN: Stream or table does not exist: SSS. SHOW STREAMS and SHOW TABLES list all of them.
    line 1:41
      CREATE STREAM o AS SELECT id, name FROM sss
                                              ^^^

CREATE STREAM o AS SELECT * FROM s EMIT FINAL;
    INVALID_STATEMENT: EMIT FINAL is only supported for windowed aggregations.
    line 1:20
      CREATE STREAM o AS SELECT * FROM s EMIT FINAL
                         ^^^^^^^^^^^^^^^^^^^^^^^^^^

CREATE STREAM o AS SELECT id, LEN(EXPLODE(tags)) FROM s;
    INVALID_STATEMENT: Table functions can't be nested: EXPLODE.
    line 1:35
      CREATE STREAM o AS SELECT id, LEN(EXPLODE(tags)) FROM s
                                        ^^^^^^^^^^^^^

CREATE STREAM o AS SELECT id, EXPLODE(EXPLODE(ARRAY[tags])) AS e FROM s;
    INVALID_STATEMENT: Table functions can't be nested: EXPLODE.
    line 1:39
      CREATE STREAM o AS SELECT id, EXPLODE(EXPLODE(ARRAY[tags])) AS e FROM s
                                            ^^^^^^^^^^^^^^^^^^^^

SELECT COUNT(EXPLODE(tags)) FROM s EMIT CHANGES;
    INVALID_STATEMENT: Table functions can't be nested: EXPLODE.
    line 1:14
      SELECT COUNT(EXPLODE(tags)) FROM s EMIT CHANGES
                   ^^^^^^^^^^^^^

CREATE TABLE o AS SELECT id, id2, EXPLODE(ARRAY[v]) FROM t;
    INVALID_STATEMENT: Table source is not supported with table functions.
    line 1:35
      CREATE TABLE o AS SELECT id, id2, EXPLODE(ARRAY[v]) FROM t
                                        ^^^^^^^^^^^^^^^^^

CREATE STREAM o AS SELECT * FROM t PARTITION BY v;
    INVALID_STATEMENT: PARTITION BY is for streams: the key of a table cannot be changed. Use GROUP BY.
    line 1:49
      CREATE STREAM o AS SELECT * FROM t PARTITION BY v
                                                      ^

CREATE STREAM o AS SELECT id, name AS n FROM s PARTITION BY n;
    COLUMN_UNKNOWN: PARTITION BY column 'N' cannot be resolved. 'N' must be a column in the source schema since PARTITION BY is applied on the input.
    line 1:61
      CREATE STREAM o AS SELECT id, name AS n FROM s PARTITION BY n
                                                                  ^

CREATE STREAM o WITH (KEY_FORMAT='JSON') AS SELECT id, name FROM s PARTITION BY NULL;
    INVALID_STATEMENT: Key format specified for stream without key columns.
    line 1:23
      CREATE STREAM o WITH (KEY_FORMAT='JSON') AS SELECT id, name FROM s PARTITION BY NULL
                            ^^^^^^^^^^^^^^^^^

CREATE STREAM o AS SELECT id, JSON_ARRAY_CONTAINS(name, NULL) AS c FROM s;
    STREAM O SINK
      columns `ID` INTEGER KEY, `C` BOOLEAN
      topic O, key KAFKA, value JSON
    Project key [ID AS ID] value [JSON_ARRAY_CONTAINS(NAME, NULL) AS C]
      Source S

CREATE STREAM o AS SELECT id, pos.lat FROM s;
    ALIAS_UNKNOWN: 'POS' is not a valid stream/table name or alias. POS is a STRUCT column; write POS->LAT for its field.
    line 1:31
      CREATE STREAM o AS SELECT id, pos.lat FROM s
                                    ^^^^^^^

CREATE STREAM o AS SELECT * FROM s WHERE name = "ada";
    COLUMN_UNKNOWN: WHERE column 'ada' cannot be resolved. There are: ID, NAME, AMOUNT, POS, TAGS, MOMENT. If it is a string, write it in single quotes: 'ada'.
    line 1:49
      CREATE STREAM o AS SELECT * FROM s WHERE name = "ada"
                                                      ^^^^^

CREATE STREAM o AS SELECT id, amount * '2' FROM s;
    ARITHMETIC_TYPES: Error in SELECT expression: Error processing expression: (AMOUNT * '2'). Unsupported arithmetic types. DECIMAL(10, 2) STRING
    Write the number without quotes: 2.
    line 1:31
      CREATE STREAM o AS SELECT id, amount * '2' FROM s
                                    ^^^^^^^^^^^^

CREATE STREAM o AS SELECT id FROM s WHERE id = '5';
    COMPARISON_TYPES: Error in WHERE expression: Cannot compare ID (INTEGER) to '5' (STRING) with EQUAL. Write the number without quotes: 5.
    line 1:43
      CREATE STREAM o AS SELECT id FROM s WHERE id = '5'
                                                ^^^^^^^^

CREATE STREAM o AS SELECT v FROM keyless WHERE w > 5;
    COMPARISON_TYPES: Error in WHERE expression: Cannot compare W (STRING) to 5 (INTEGER) with GREATER_THAN. CAST(… AS INTEGER) makes a number of a text.
    line 1:48
      CREATE STREAM o AS SELECT v FROM keyless WHERE w > 5
                                                     ^^^^^

CREATE STREAM o AS SELECT id FROM s WHERE ROWOFFSET > name;
    COMPARISON_TYPES: Error in WHERE expression: Cannot compare ROWOFFSET (BIGINT) to NAME (STRING) with GREATER_THAN. FROM_UNIXTIME(…) makes a TIMESTAMP of milliseconds. CAST(… AS BIGINT) makes a number of a text.
    line 1:43
      CREATE STREAM o AS SELECT id FROM s WHERE ROWOFFSET > name
                                                ^^^^^^^^^^^^^^^^

CREATE STREAM o AS SELECT id FROM s WHERE ROWOFFSET > moment;
    COMPARISON_TYPES: Error in WHERE expression: Cannot compare ROWOFFSET (BIGINT) to MOMENT (TIMESTAMP) with GREATER_THAN. FROM_UNIXTIME(…) makes a TIMESTAMP of milliseconds.
    line 1:43
      CREATE STREAM o AS SELECT id FROM s WHERE ROWOFFSET > moment
                                                ^^^^^^^^^^^^^^^^^^

CREATE STREAM o AS SELECT id FROM s WHERE ROWOFFSET + 1 > '2026-01-01';
    COMPARISON_TYPES: Error in WHERE expression: Cannot compare (ROWOFFSET + CAST(1 AS BIGINT)) (BIGINT) to '2026-01-01' (STRING) with GREATER_THAN. FROM_UNIXTIME(…) makes a TIMESTAMP of milliseconds.
    line 1:43
      CREATE STREAM o AS SELECT id FROM s WHERE ROWOFFSET + 1 > '2026-01-01'
                                                ^^^^^^^^^^^^^^^^^^^^^^^^^^^^

CREATE STREAM o AS SELECT id, FORMAT_TIMESTAMP(ROWOFFSET, 'yyyy') FROM s;
    FUNCTION_ARGUMENTS: Function 'FORMAT_TIMESTAMP' does not accept parameters (BIGINT, STRING).
    Valid alternatives are:
    FORMAT_TIMESTAMP(TIMESTAMP value, STRING pattern)
    FORMAT_TIMESTAMP(TIMESTAMP value, STRING pattern, STRING zone)
    FROM_UNIXTIME(…) makes a TIMESTAMP of milliseconds. CAST(… AS STRING) makes a text of a number.
    line 1:31
      CREATE STREAM o AS SELECT id, FORMAT_TIMESTAMP(ROWOFFSET, 'yyyy') FROM s
                                    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

CREATE STREAM o AS SELECT id, ROUND(name) FROM s;
    FUNCTION_ARGUMENTS: Function 'ROUND' does not accept parameters (STRING).
    Valid alternatives are:
    ROUND(INTEGER value)
    ROUND(BIGINT value)
    ROUND(DOUBLE value)
    ROUND(DECIMAL value)
    ROUND(DOUBLE value, INTEGER decimals)
    ROUND(DECIMAL value, INTEGER decimals)
    CAST(… AS DOUBLE) makes a number of a text.
    line 1:31
      CREATE STREAM o AS SELECT id, ROUND(name) FROM s
                                    ^^^^^^^^^^^

CREATE STREAM o AS SELECT id, UCASE(id) FROM s;
    FUNCTION_ARGUMENTS: Function 'UCASE' does not accept parameters (INTEGER).
    Valid alternatives are:
    UCASE(STRING text)
    CAST(… AS STRING) makes a text of a number.
    line 1:31
      CREATE STREAM o AS SELECT id, UCASE(id) FROM s
                                    ^^^^^^^^^

CREATE TABLE o AS SELECT id, SUM(amount) OVER (PARTITION BY id ORDER BY ROWTIME) AS total FROM s;
    INVALID_STATEMENT: OVER gives a row for each row, so the result is a STREAM. Write CREATE STREAM O AS SELECT …; or GROUP BY, for a TABLE with a row for each group.
    line 1:30
      CREATE TABLE o AS SELECT id, SUM(amount) OVER (PARTITION BY id ORDER BY ROWTIME) AS total FROM s
                                   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

CREATE TABLE o AS SELECT id, 1 + LAG(amount) OVER (PARTITION BY id) AS before FROM s;
    INVALID_STATEMENT: OVER gives a row for each row, so the result is a STREAM. Write CREATE STREAM O AS SELECT …; or GROUP BY, for a TABLE with a row for each group.
    line 1:34
      CREATE TABLE o AS SELECT id, 1 + LAG(amount) OVER (PARTITION BY id) AS before FROM s
                                       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
