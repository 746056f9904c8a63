CREATE STREAM s (id INT KEY, name STRING, amount DECIMAL(10, 2)) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');
CREATE STREAM s2 (id INT KEY, title STRING) WITH (KAFKA_TOPIC='s2', VALUE_FORMAT='JSON');
CREATE STREAM log_of_commands (id INT KEY, v STRING) WITH (KAFKA_TOPIC='_confluent-ksql-x_command_topic', VALUE_FORMAT='JSON');
CREATE TABLE plain (id INT PRIMARY KEY, v STRING) WITH (KAFKA_TOPIC='plain', VALUE_FORMAT='JSON');
CREATE TABLE counts AS SELECT name, COUNT(*) AS n FROM s GROUP BY name;
CREATE TABLE pairs WITH (KEY_FORMAT='JSON') AS SELECT id, name, COUNT(*) AS n FROM s GROUP BY id, name;
CREATE TABLE per_minute AS SELECT name, COUNT(*) AS n FROM s WINDOW TUMBLING (SIZE 1 MINUTE) GROUP BY name;
----
SELECT * FROM s EMIT CHANGES;
    OUTPUT `ID` INTEGER, `NAME` STRING, `AMOUNT` DECIMAL(10, 2)
    Project key [ID AS ID] value [NAME AS NAME, AMOUNT AS AMOUNT]
      Source S

SELECT amount, name, id, id AS again FROM s EMIT CHANGES LIMIT 2;
    OUTPUT `AMOUNT` DECIMAL(10, 2), `NAME` STRING, `ID` INTEGER, `AGAIN` INTEGER LIMIT 2
    Project key [ID AS ID] value [AMOUNT AS AMOUNT, NAME AS NAME, ID AS AGAIN]
      Source S

SELECT ROWTIME, ROWPARTITION, ROWOFFSET AS o FROM s EMIT CHANGES;
    OUTPUT `ROWTIME` BIGINT, `ROWPARTITION` INTEGER, `O` BIGINT
    Project key [] value [ROWOFFSET AS O]
      Source S

SELECT * FROM per_minute EMIT CHANGES;
    OUTPUT `NAME` STRING, `WINDOWSTART` BIGINT, `WINDOWEND` BIGINT, `N` BIGINT
    Project key [NAME AS NAME] value [N AS N]
      Source PER_MINUTE

SELECT b.id, b.name FROM (SELECT id, name FROM s WHERE amount > 1) b EMIT CHANGES;
    OUTPUT `ID` INTEGER, `NAME` STRING
    Project key [ID AS ID] value [NAME AS NAME]
      Project key [ID AS ID] value [NAME AS NAME]
        Filter (CAST(AMOUNT AS DECIMAL(12, 2)) > CAST(1 AS DECIMAL(12, 2)))
          Source S

WITH big AS (SELECT id, name FROM s WHERE amount > 1), named AS (SELECT id, UCASE(name) AS name FROM big) SELECT * FROM named EMIT CHANGES;
    OUTPUT `ID` INTEGER, `NAME` STRING
    Project key [ID AS ID] value [NAME AS NAME]
      Project key [ID AS ID] value [UCASE(NAME) AS NAME]
        Project key [ID AS ID] value [NAME AS NAME]
          Filter (CAST(AMOUNT AS DECIMAL(12, 2)) > CAST(1 AS DECIMAL(12, 2)))
            Source S

SELECT MAP(1 := 'x') AS e FROM s EMIT CHANGES LIMIT 1;
    FORMAT_SCHEMA: Value format does not support schema.
    format: JSON
    schema: [`E` MAP<INTEGER, STRING>]
    reason: JSON only supports MAP types with STRING keys. Make a MAP's keys text: TRANSFORM(m, (k, v) => CAST(k AS STRING), (k, v) => v).
    line 1:1
      SELECT MAP(1 := 'x') AS e FROM s EMIT CHANGES LIMIT 1
      ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

SELECT MAP(1 := name)[1] AS e, TRANSFORM(MAP(1 := name), (k, v) => CAST(k AS STRING), (k, v) => v) AS m FROM s EMIT CHANGES;
    OUTPUT `E` STRING, `M` MAP<STRING, STRING>
    Project key [] value [MAP(1:=NAME)[1] AS E, TRANSFORM(MAP(1:=NAME), (K, V) => CAST(K AS STRING), (K, V) => V) AS M]
      Source S

SELECT MAP(id := 'x') AS e FROM s UNION ALL SELECT MAP(id := 'y') AS e FROM s2 EMIT CHANGES;
    FORMAT_SCHEMA: Value format does not support schema.
    format: JSON
    schema: [`E` MAP<INTEGER, STRING>]
    reason: JSON only supports MAP types with STRING keys. Make a MAP's keys text: TRANSFORM(m, (k, v) => CAST(k AS STRING), (k, v) => v).
    line 1:1
      SELECT MAP(id := 'x') AS e FROM s UNION ALL SELECT MAP(id := 'y') AS e FROM s2 EMIT CHANGES
      ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

CREATE STREAM o AS SELECT id, name FROM s UNION ALL SELECT id, title FROM s2;
    STREAM O SINK
      columns `ID` INTEGER KEY, `NAME` STRING
      topic O, key KAFKA, value JSON
    UnionAll
      Project key [ID AS ID] value [NAME AS NAME]
        Source S
      Project key [ID AS ID] value [TITLE AS NAME]
        Source S2

SELECT name, id FROM s UNION ALL SELECT title, id FROM s2 EMIT CHANGES;
    OUTPUT `NAME` STRING, `ID` INTEGER
    UnionAll
      Project key [ID AS ID] value [NAME AS NAME]
        Source S
      Project key [ID AS ID] value [TITLE AS NAME]
        Source S2

SELECT * FROM counts WHERE name = 'a';
    PULL NAME AS NAME, N AS N FROM COUNTS KEYS NAME
      lookup 'a'
      where (NAME = 'a')

SELECT * FROM counts WHERE name IN ('a', 'b') OR ('c' = name AND n > 3);
    PULL NAME AS NAME, N AS N FROM COUNTS KEYS NAME
      lookup 'a'
      lookup 'b'
      lookup 'c'
      where ((NAME IN ('a', 'b')) OR (('c' = NAME) AND (N > CAST(3 AS BIGINT))))

SELECT n + 1, name AS k FROM counts WHERE n > 3;
    PULL (N + CAST(1 AS BIGINT)) AS KSQL_COL_0, NAME AS K FROM COUNTS KEYS K
      scan
      where (N > CAST(3 AS BIGINT))

SELECT * FROM pairs WHERE id IN (1, 2) AND name = 'x';
    PULL ID AS ID, NAME AS NAME, N AS N FROM PAIRS KEYS ID, NAME
      lookup 1, 'x'
      lookup 2, 'x'
      where ((ID IN (1, 2)) AND (NAME = 'x'))

SELECT * FROM pairs WHERE id = 1;
    PULL ID AS ID, NAME AS NAME, N AS N FROM PAIRS KEYS ID, NAME
      scan
      where (ID = 1)

SELECT * FROM per_minute WHERE name = 'a' AND WINDOWSTART >= '2024-01-01' AND WINDOWEND < 99;
    PULL NAME AS NAME, WINDOWSTART AS WINDOWSTART, WINDOWEND AS WINDOWEND, N AS N FROM PER_MINUTE KEYS NAME, WINDOWEND, WINDOWSTART
      lookup 'a'
      where (((NAME = 'a') AND (WINDOWSTART >= 1704067200000)) AND (WINDOWEND < CAST(99 AS BIGINT)))

SELECT DISTINCT n FROM counts ORDER BY n DESC LIMIT 3 OFFSET 1;
    BATCH `N` BIGINT
    Limit 3 from 1
      Sort N DESC
        Distinct
          Project key [] value [N AS N]
            Source COUNTS

SELECT name FROM s WHERE amount > 1 LIMIT 3;
    BATCH `NAME` STRING
    Limit 3 from 0
      Project key [] value [NAME AS NAME]
        Filter (CAST(AMOUNT AS DECIMAL(12, 2)) > CAST(1 AS DECIMAL(12, 2)))
          Source S

SELECT * FROM plain;
    INVALID_STATEMENT: The `PLAIN` table isn't queryable. To derive a queryable table, you can do 'CREATE TABLE QUERYABLE_PLAIN AS SELECT * FROM PLAIN'. Add EMIT CHANGES if you intended to issue a push query.
    line 1:15
      SELECT * FROM plain
                    ^^^^^

SELECT * FROM counts WHERE name = 3;
    COMPARISON_TYPES: Error in WHERE expression: Cannot compare NAME (STRING) to 3 (INTEGER) with EQUAL. CAST(… AS INTEGER) makes a number of a text.
    line 1:28
      SELECT * FROM counts WHERE name = 3
                                 ^^^^^^^^

SELECT * FROM counts WHERE name = NULL;
    COMPARISON_NULL: Error in WHERE expression: Comparison with NULL not supported: STRING = NULL
    Use 'IS NULL' or 'IS NOT NULL' instead.
    line 1:28
      SELECT * FROM counts WHERE name = NULL
                                 ^^^^^^^^^^^

SELECT * FROM pairs WHERE id IN ('1', 2);
    INVALID_STATEMENT: '1' can not be converted to the type of the key column: ID INTEGER KEY
    line 1:27
      SELECT * FROM pairs WHERE id IN ('1', 2)
                                ^^^^^^^^^^^^^^

SELECT *, ROWPARTITION FROM counts;
    INVALID_STATEMENT: Pull queries don't support the following columns in SELECT clauses: `ROWPARTITION`.
    line 1:11
      SELECT *, ROWPARTITION FROM counts
                ^^^^^^^^^^^^

SELECT * FROM counts WHERE WINDOWSTART = 3;
    COLUMN_UNKNOWN: WHERE column 'WINDOWSTART' cannot be resolved. There are: NAME, N.
    line 1:28
      SELECT * FROM counts WHERE WINDOWSTART = 3
                                 ^^^^^^^^^^^

SELECT name, COUNT(*) FROM counts GROUP BY name;
    BATCH `NAME` STRING, `KSQL_COL_0` BIGINT
    Project key [] value [KSQL_GROUP_0 AS NAME, KSQL_AGG_VARIABLE_0 AS KSQL_COL_0]
      Aggregate by [NAME AS KSQL_GROUP_0] COUNT(*) AS KSQL_AGG_VARIABLE_0
        Source COUNTS

SELECT * FROM counts JOIN plain ON counts.name = plain.id;
    INVALID_STATEMENT: The `PLAIN` table isn't queryable. To derive a queryable table, you can do 'CREATE TABLE QUERYABLE_PLAIN AS SELECT * FROM PLAIN'. Add EMIT CHANGES if you intended to issue a push query.
    line 1:27
      SELECT * FROM counts JOIN plain ON counts.name = plain.id
                                ^^^^^

SELECT * FROM counts PARTITION BY n;
    INVALID_STATEMENT: Pull queries don't support PARTITION BY clauses. Add EMIT CHANGES if you intended to issue a push query.
    line 1:1
      SELECT * FROM counts PARTITION BY n
      ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

SELECT COUNT(*) FROM counts;
    BATCH `KSQL_COL_0` BIGINT
    Project key [] value [KSQL_AGG_VARIABLE_0 AS KSQL_COL_0]
      Aggregate by [] COUNT(*) AS KSQL_AGG_VARIABLE_0
        Source COUNTS

SELECT * FROM s ORDER BY id EMIT CHANGES;
    INVALID_STATEMENT: ORDER BY is not supported in push queries, because a stream never ends. Remove EMIT to get a pull query, which can sort; or use TOPK(...) in a window.
    line 1:26
      SELECT * FROM s ORDER BY id EMIT CHANGES
                               ^^

SELECT DISTINCT id FROM s EMIT CHANGES;
    INVALID_STATEMENT: SELECT DISTINCT cannot run on a stream of changes. Write DISTINCT ON (expression, …), or GROUP BY the columns with an aggregate.
    line 1:1
      SELECT DISTINCT id FROM s EMIT CHANGES
      ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

SELECT * FROM (SELECT * FROM s LIMIT 3) x EMIT CHANGES;
    INVALID_STATEMENT: LIMIT is not allowed in a sub-query. Move LIMIT to the end.
    line 1:16
      SELECT * FROM (SELECT * FROM s LIMIT 3) x EMIT CHANGES
                     ^^^^^^^^^^^^^^^^^^^^^^^

CREATE STREAM o AS SELECT id, name FROM s UNION ALL SELECT id, amount FROM s;
    INVALID_STATEMENT: The sides of UNION ALL differ in column 2: `NAME` STRING and `AMOUNT` DECIMAL(10, 2). Cast one of them.
    line 1:20
      CREATE STREAM o AS SELECT id, name FROM s UNION ALL SELECT id, amount FROM s
                         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

CREATE TABLE o AS SELECT * FROM per_minute;
    INVALID_STATEMENT: KSQL does not support persistent queries on windowed tables. GROUP BY or QUALIFY may, and push and pull queries; or declare the topic as a stream.
    line 1:33
      CREATE TABLE o AS SELECT * FROM per_minute
                                      ^^^^^^^^^^

CREATE TABLE o AS SELECT WINDOWSTART AS ws, COUNT(*) AS n FROM per_minute GROUP BY WINDOWSTART;
    TABLE O SINK
      columns `WS` BIGINT KEY, `N` BIGINT
      topic O, key KAFKA, value JSON
    Project key [KSQL_WINDOWSTART AS WS] value [KSQL_AGG_VARIABLE_0 AS N]
      Aggregate by [WINDOWSTART AS KSQL_WINDOWSTART] COUNT(*) AS KSQL_AGG_VARIABLE_0
        Source PER_MINUTE

INSERT INTO counts SELECT id, title FROM s2;
    INVALID_STATEMENT: INSERT INTO can only be used to insert into a stream. COUNTS is a table.
    line 1:13
      INSERT INTO counts SELECT id, title FROM s2
                  ^^^^^^

INSERT INTO s2 SELECT id, name, amount FROM s;
    INVALID_STATEMENT: Incompatible schema between results and sink.
    Result schema is `ID` INTEGER KEY, `NAME` STRING, `AMOUNT` DECIMAL(10, 2)
    Sink schema is `ID` INTEGER KEY, `TITLE` STRING
    line 1:16
      INSERT INTO s2 SELECT id, name, amount FROM s
                     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

INSERT INTO s2 WITH (QUERY_ID='csas_x') SELECT id, name FROM s;
    INVALID_STATEMENT: Query IDs must not start with a reserved query ID prefix (CSAS_, CTAS_, CST_, INSERTQUERY_, TRANSIENT_). Got 'CSAS_X'.
    line 1:22
      INSERT INTO s2 WITH (QUERY_ID='csas_x') SELECT id, name FROM s
                           ^^^^^^^^^^^^^^^^^

CREATE STREAM o WITH (START = 'Earliest') AS SELECT id, name FROM s;
    STREAM O SINK
      columns `ID` INTEGER KEY, `NAME` STRING
      topic O, key KAFKA, value JSON
    start earliest
    Project key [ID AS ID] value [NAME AS NAME]
      Source S

CREATE STREAM o WITH (START = '2024-01-01T00:00') AS SELECT id, name FROM s;
    STREAM O SINK
      columns `ID` INTEGER KEY, `NAME` STRING
      topic O, key KAFKA, value JSON
    start 1704067200000
    Project key [ID AS ID] value [NAME AS NAME]
      Source S

INSERT INTO s2 WITH (QUERY_ID = 'mine', START = 1700000000000) SELECT id, name FROM s;
    INTO S2
    query id MINE
    start 1700000000000
    Project key [ID AS ID] value [NAME AS TITLE]
      Source S

CREATE STREAM o WITH (START = 's 0:5,1:7') AS SELECT id, name FROM s;
    STREAM O SINK
      columns `ID` INTEGER KEY, `NAME` STRING
      topic O, key KAFKA, value JSON
    start (('s', 0, 5), ('s', 1, 7))
    Project key [ID AS ID] value [NAME AS NAME]
      Source S

CREATE TABLE o WITH (START = 's 0:5,1:7') AS SELECT id, COUNT(*) AS n FROM s GROUP BY id;
    INVALID_STATEMENT: START at offsets is for queries that keep no state: this one's would lack what was before. START = 'earliest', or a time that is early enough, reads it first.
    line 1:22
      CREATE TABLE o WITH (START = 's 0:5,1:7') AS SELECT id, COUNT(*) AS n FROM s GROUP BY id
                           ^^^^^^^^^^^^^^^^^^^

CREATE STREAM o WITH (START = 'yesterday') AS SELECT id, name FROM s;
    PROPERTY_IN_WITH: Configuration START is invalid: Expected 'earliest', 'latest', an ISO 8601 time, milliseconds since 1970 or 'topic 0:120,1:77', got 'yesterday'.
    line 1:23
      CREATE STREAM o WITH (START = 'yesterday') AS SELECT id, name FROM s
                            ^^^^^^^^^^^^^^^^^^^

CREATE STREAM o WITH (START = -5) AS SELECT id, name FROM s;
    PROPERTY_IN_WITH: Configuration START is invalid: Expected 'earliest', 'latest', an ISO 8601 time, milliseconds since 1970 or 'topic 0:120,1:77', got -5.
    line 1:23
      CREATE STREAM o WITH (START = -5) AS SELECT id, name FROM s
                            ^^^^^^^^^^

CREATE STREAM o WITH (START = '99999999999999999999999') AS SELECT id, name FROM s;
    PROPERTY_IN_WITH: Configuration START is invalid: Expected 'earliest', 'latest', an ISO 8601 time, milliseconds since 1970 or 'topic 0:120,1:77', got '99999999999999999999999'.
    line 1:23
      CREATE STREAM o WITH (START = '99999999999999999999999') AS SELECT id, name FROM s
                            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

CREATE STREAM o WITH (START = '99999999999999999999999999999999999999999999999999999999999999999999') AS SELECT id, name FROM s;
    PROPERTY_IN_WITH: Configuration START is invalid: Expected 'earliest', 'latest', an ISO 8601 time, milliseconds since 1970 or 'topic 0:120,1:77', got '999999999999999999999999999999999999999999999999999999999...'.
    line 1:23
      CREATE STREAM o WITH (START = '99999999999999999999999999999999999999999999999999999999999999999999') AS SELECT id, name FROM s
                            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

CREATE STREAM o (id INT KEY) WITH (KAFKA_TOPIC = 't', VALUE_FORMAT = 'JSON', START = 'latest');
    PROPERTY_IN_WITH: Configuration START is invalid: it is only allowed in CREATE AS and INSERT.
    line 1:78
      CREATE STREAM o (id INT KEY) WITH (KAFKA_TOPIC = 't', VALUE_FORMAT = 'JSON', START = 'latest')
                                                                                   ^^^^^^^^^^^^^^^^

SELECT n, n + 1 AS n FROM counts;
    INVALID_STATEMENT: The projection contains more than one column called `N`. Give one of them another name with AS.
    line 1:11
      SELECT n, n + 1 AS n FROM counts
                ^^^^^^^^^^

SELECT n AS rowtime FROM counts;
    COLUMN_RESERVED: `ROWTIME` is a reserved column name. You cannot use it as an alias for a column.
    line 1:8
      SELECT n AS rowtime FROM counts
             ^^^^^^^^^^^^

CREATE STREAM o WITH (KAFKA_TOPIC='_confluent-ksql-default__command_topic') AS SELECT id, name FROM s;
    INVALID_STATEMENT: Cannot write to read-only topic: _confluent-ksql-default__command_topic
    line 1:23
      CREATE STREAM o WITH (KAFKA_TOPIC='_confluent-ksql-default__command_topic') AS SELECT id, name FROM s
                            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

INSERT INTO log_of_commands SELECT id, name FROM s;
    INVALID_STATEMENT: Cannot insert into read-only topic: _confluent-ksql-x_command_topic
    line 1:13
      INSERT INTO log_of_commands SELECT id, name FROM s
                  ^^^^^^^^^^^^^^^

SELECT name, COUNT(*) AS n FROM s GROUP BY name HAVING n > 3 EMIT CHANGES;
    OUTPUT `NAME` STRING, `N` BIGINT
    Project key [NAME AS NAME] value [KSQL_AGG_VARIABLE_0 AS N]
      Filter (KSQL_AGG_VARIABLE_0 > CAST(3 AS BIGINT))
        Aggregate by [NAME AS NAME] COUNT(*) AS KSQL_AGG_VARIABLE_0
          Source S

SELECT id AS i FROM s WHERE i > 3 EMIT CHANGES;
    COLUMN_UNKNOWN: WHERE column 'I' cannot be resolved. I is an alias of the SELECT, which only GROUP BY, HAVING, QUALIFY and ORDER BY can use: write ID.
    line 1:29
      SELECT id AS i FROM s WHERE i > 3 EMIT CHANGES
                                  ^

SELECT UCASE(name) AS k, COUNT(*) AS n FROM s GROUP BY k EMIT CHANGES;
    OUTPUT `K` STRING, `N` BIGINT
    Project key [K AS K] value [KSQL_AGG_VARIABLE_0 AS N]
      Aggregate by [UCASE(NAME) AS K] COUNT(*) AS KSQL_AGG_VARIABLE_0
        Source S

SELECT zz AS zz FROM s EMIT CHANGES;
    COLUMN_UNKNOWN: SELECT column 'ZZ' cannot be resolved. There are: ID, NAME, AMOUNT.
    line 1:8
      SELECT zz AS zz FROM s EMIT CHANGES
             ^^

SELECT id FROM s WHERE CAST(name AS TIMESTAMP) > '2024-01-01 00:00:00' EMIT CHANGES;
    TIMESTAMP_TEXT: Failed to parse timestamp '2024-01-01 00:00:00'. Write T between the date and the time: '2024-01-01T00:00:00'.
    line 1:24
      SELECT id FROM s WHERE CAST(name AS TIMESTAMP) > '2024-01-01 00:00:00' EMIT CHANGES
                             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

SELECT id FROM s WHERE CAST(name AS TIMESTAMP) BETWEEN '2024-01-01' AND '2024-02-30' EMIT CHANGES;
    TIMESTAMP_TEXT: Failed to parse timestamp '2024-02-30'. A TIMESTAMP is written as 2020-02-23T23:45:10.250, UTC or with a zone such as +02:00; parts at its end may be missing.
    line 1:73
      SELECT id FROM s WHERE CAST(name AS TIMESTAMP) BETWEEN '2024-01-01' AND '2024-02-30' EMIT CHANGES
                                                                              ^^^^^^^^^^^^

SELECT id FROM s WHERE CAST(name AS DATE) IN ('2024-01-01', '01/02/2024') EMIT CHANGES;
    TIMESTAMP_TEXT: Failed to parse date '01/02/2024'. A DATE is written as 2020-02-23; parts at its end may be missing.
    line 1:24
      SELECT id FROM s WHERE CAST(name AS DATE) IN ('2024-01-01', '01/02/2024') EMIT CHANGES
                             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

SELECT id FROM s WHERE CAST(name AS TIME) = '25:00' EMIT CHANGES;
    TIMESTAMP_TEXT: Failed to parse time '25:00'. A TIME is written as 23:45:10.250; parts at its end may be missing.
    line 1:24
      SELECT id FROM s WHERE CAST(name AS TIME) = '25:00' EMIT CHANGES
                             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^

SELECT id FROM s WHERE TRY_CAST('soon' AS DATE) IN (CAST(name AS DATE)) OR ROWTIME > TRY_CAST('soon' AS TIMESTAMP) EMIT CHANGES;
    OUTPUT `ID` INTEGER
    Project key [ID AS ID] value []
      Filter ((TRY_CAST('soon' AS DATE) IN (CAST(NAME AS DATE))) OR (ROWTIME > CAST(NULL AS BIGINT)))
        Source S

CREATE TABLE o AS SELECT id, v FROM plain UNION ALL SELECT id, v FROM plain;
    INVALID_STATEMENT: UNION ALL is for streams; this side is a table. Use UNION, which gives each row once. A column such as 'a' AS origin tells equal rows of both sides apart.
    line 1:19
      CREATE TABLE o AS SELECT id, v FROM plain UNION ALL SELECT id, v FROM plain
                        ^^^^^^^^^^^^^^^^^^^^^^^

SELECT id, title AS t FROM s2 UNION ALL SELECT id, name FROM s WHERE id IN (SELECT id FROM plain) EMIT CHANGES;
    OUTPUT `ID` INTEGER, `T` STRING
    UnionAll
      Project key [ID AS ID] value [TITLE AS T]
        Source S2
      Project key [ID AS ID] value [NAME AS T]
        Join INNER STREAM_TABLE on ID = KSQL_0_ID as ID
          Source S
          Project key [ID AS KSQL_0_ID] value []
            Source PLAIN

CREATE TABLE o WITH (KEY_FORMAT = 'JSON') AS SELECT id, v FROM plain UNION SELECT id, v FROM plain;
    TABLE O SINK
      columns `ID` INTEGER KEY, `V` STRING KEY
      topic O, key JSON, value JSON
    SetOperation UNION
      Project key [ID AS ID] value [V AS V]
        Source PLAIN
      Project key [ID AS ID] value [V AS V]
        Source PLAIN

CREATE TABLE o WITH (KEY_FORMAT = 'JSON') AS SELECT id FROM plain EXCEPT SELECT id FROM plain WHERE v > 'x' INTERSECT SELECT id FROM plain;
    TABLE O SINK
      columns `ID` INTEGER KEY
      topic O, key JSON, value JSON
    SetOperation EXCEPT
      Project key [ID AS ID] value []
        Source PLAIN
      SetOperation INTERSECT
        Project key [ID AS ID] value []
          Filter (V > 'x')
            Source PLAIN
        Project key [ID AS ID] value []
          Source PLAIN

CREATE TABLE o WITH (KEY_FORMAT = 'JSON') AS SELECT id, v FROM plain UNION SELECT v, id FROM plain;
    INVALID_STATEMENT: The key columns of both sides must be at the same places in SELECT: ID is not.
    line 1:76
      CREATE TABLE o WITH (KEY_FORMAT = 'JSON') AS SELECT id, v FROM plain UNION SELECT v, id FROM plain
                                                                                 ^^^^^^^^^^^^^^^^^^^^^^^

CREATE TABLE o AS SELECT id, v FROM plain UNION SELECT id, v FROM plain;
    FORMAT_SCHEMA: Key format does not support schema.
    format: KAFKA
    schema: [`ID` INTEGER KEY, `V` STRING KEY]
    reason: The 'KAFKA' format only supports a single field. Got: [`ID` INTEGER KEY, `V` STRING KEY]. Add WITH (KEY_FORMAT = 'JSON').
    line 1:1
      CREATE TABLE o AS SELECT id, v FROM plain UNION SELECT id, v FROM plain
      ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

CREATE STREAM o AS SELECT id, title FROM s2 UNION SELECT id, name FROM s;
    INVALID_STATEMENT: UNION is for tables; this side is a stream, of which all rows would be kept. Use UNION ALL, and DISTINCT ON (…) … WITHIN over it.
    line 1:20
      CREATE STREAM o AS SELECT id, title FROM s2 UNION SELECT id, name FROM s
                         ^^^^^^^^^^^^^^^^^^^^^^^^

SELECT id, v FROM plain EXCEPT SELECT id, name FROM s EMIT CHANGES;
    INVALID_STATEMENT: EXCEPT is for tables; this side is a stream, of which all rows would be kept. Use WHERE NOT EXISTS (SELECT …).
    line 1:32
      SELECT id, v FROM plain EXCEPT SELECT id, name FROM s EMIT CHANGES
                                     ^^^^^^^^^^^^^^^^^^^^^^

SELECT v, id FROM plain INTERSECT SELECT v, id FROM plain EMIT CHANGES;
    OUTPUT `V` STRING, `ID` INTEGER
    SetOperation INTERSECT
      Project key [ID AS ID] value [V AS V]
        Source PLAIN
      Project key [ID AS ID] value [V AS V]
        Source PLAIN

SELECT id, v FROM plain INTERSECT SELECT id, MAP('x' := v) AS m FROM plain EMIT CHANGES;
    INVALID_STATEMENT: The sides of INTERSECT differ in column 2: `V` STRING and `M` MAP<STRING, STRING>. Cast one of them.
    line 1:1
      SELECT id, v FROM plain INTERSECT SELECT id, MAP('x' := v) AS m FROM plain EMIT CHANGES
      ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

SELECT id, MAP('x' := v) AS m FROM plain INTERSECT SELECT id, MAP('x' := v) AS m FROM plain EMIT CHANGES;
    INVALID_STATEMENT: INTERSECT cannot compare MAPs: `M` MAP<STRING, STRING>.
    line 1:1
      SELECT id, MAP('x' := v) AS m FROM plain INTERSECT SELECT id, MAP('x' := v) AS m FROM plain EMIT CHANGES
      ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

SELECT id FROM (SELECT id, v FROM plain UNION SELECT id, v FROM plain) u UNION SELECT id, v FROM plain EMIT CHANGES;
    KEY_MISSING: Key missing from projection (ie, SELECT).
    The query must include the key columns ID and V in its projection (eg, SELECT ID, V...).
    line 1:1
      SELECT id FROM (SELECT id, v FROM plain UNION SELECT id, v FROM plain) u UNION SELECT id, v FROM plain EMIT CHANGES
      ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

SELECT id, v FROM (SELECT id, v FROM plain UNION SELECT id, v FROM plain) u UNION SELECT id, v FROM plain EMIT CHANGES;
    INVALID_STATEMENT: The sides of UNION need the same number of key and value columns: `ID` INTEGER KEY, `V` STRING KEY and `ID` INTEGER KEY, `V` STRING.
    line 1:1
      SELECT id, v FROM (SELECT id, v FROM plain UNION SELECT id, v FROM plain) u UNION SELECT id, v FROM plain EMIT CHANGES
      ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

CREATE TABLE o AS SELECT id, v FROM plain UNION SELECT id, v FROM plain EMIT CHANGES EVERY 10 SECONDS;
    INVALID_STATEMENT: EVERY is for queries that aggregate.
    line 1:92
      CREATE TABLE o AS SELECT id, v FROM plain UNION SELECT id, v FROM plain EMIT CHANGES EVERY 10 SECONDS
                                                                                                 ^^^^^^^^^^

CREATE TABLE o WITH (FORMAT = 'AVRO') AS SELECT id, v FROM plain UNION SELECT id, v FROM plain;
    INVALID_STATEMENT: All columns are the key, and the AVRO format has no value without columns. Add WITH (VALUE_FORMAT = 'JSON').
    line 1:22
      CREATE TABLE o WITH (FORMAT = 'AVRO') AS SELECT id, v FROM plain UNION SELECT id, v FROM plain
                           ^^^^^^^^^^^^^^^

CREATE STREAM o AS SELECT * FROM (SELECT * FROM s LIMIT 0);
    INVALID_STATEMENT: LIMIT is not allowed in a sub-query. Move LIMIT to the end.
    line 1:35
      CREATE STREAM o AS SELECT * FROM (SELECT * FROM s LIMIT 0)
                                        ^^^^^^^^^^^^^^^^^^^^^^^
