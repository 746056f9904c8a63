CREATE STREAM s (id INT KEY, name STRING, amount DECIMAL(10, 2), d DOUBLE, moment TIMESTAMP, tags ARRAY<BIGINT>, pos STRUCT<lat DOUBLE, note STRING>) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');
CREATE TABLE t (id INT PRIMARY KEY, v STRING) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON');
CREATE SOURCE TABLE fixed (id INT PRIMARY KEY, v STRING) WITH (KAFKA_TOPIC='f', VALUE_FORMAT='JSON');
CREATE STREAM h (id INT KEY, b BYTES HEADER('x'), v INT) WITH (KAFKA_TOPIC='h', VALUE_FORMAT='JSON');
CREATE STREAM w (id INT KEY, v INT) WITH (KAFKA_TOPIC='w', VALUE_FORMAT='JSON', WINDOW_TYPE='SESSION');
CREATE STREAM p (a ARRAY<DECIMAL(4, 1)>, m MAP<STRING, DECIMAL(4, 1)>) WITH (KAFKA_TOPIC='p', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE TABLE changed (id INT PRIMARY KEY, v STRING) WITH (KAFKA_TOPIC='changed', VALUE_FORMAT='JSON', ENVELOPE='debezium');
CREATE STREAM changes (id INT KEY, v STRING) WITH (KAFKA_TOPIC='changed', VALUE_FORMAT='JSON', ENVELOPE='debezium');
CREATE TABLE counted AS SELECT name, COUNT(*) AS n FROM s GROUP BY name;
CREATE TABLE its_topic (name STRING PRIMARY KEY, n BIGINT) WITH (KAFKA_TOPIC='COUNTED', VALUE_FORMAT='JSON');
----
INSERT INTO s VALUES (1, 'a', 3, 4, '2024-01-01T10:00', ARRAY[1, 2], STRUCT(lat := 1));
    ID = 1
    NAME = 'a'
    AMOUNT = CAST(3 AS DECIMAL(10, 2))
    D = CAST(4 AS DOUBLE)
    MOMENT = CAST('2024-01-01T10:00' AS TIMESTAMP)
    TAGS = ARRAY[CAST(1 AS BIGINT), CAST(2 AS BIGINT)]
    POS = STRUCT(LAT:=CAST(1 AS DOUBLE), NOTE:=CAST(NULL AS STRING))

INSERT INTO s (ROWTIME, name, amount) VALUES (1234, UCASE('x') + 'y', 1.5);
    ROWTIME = CAST(1234 AS BIGINT)
    NAME = (UCASE('x') + 'y')
    AMOUNT = CAST(1.5 AS DECIMAL(10, 2))

INSERT INTO s (ROWTIME, id) VALUES ('2024-01-01T00:00:00+01:00', 1);
    ROWTIME = 1704063600000
    ID = 1

INSERT INTO s (ROWTIME, id) VALUES ('yesterday', 1);
    TIMESTAMP_TEXT: Failed to parse timestamp 'yesterday'. A TIMESTAMP is written as 2020-02-23T23:45:10.250, UTC or with a zone such as +02:00; parts at its end may be missing.
    line 1:37
      INSERT INTO s (ROWTIME, id) VALUES ('yesterday', 1)
                                          ^^^^^^^^^^^

INSERT INTO t (id) VALUES (1);
    ID = 1

INSERT INTO s (id, name) VALUES ('1', 'a');
    INVALID_STATEMENT: Expected type INTEGER for field `ID` but got STRING('1'). Write the number without quotes: 1.
    line 1:34
      INSERT INTO s (id, name) VALUES ('1', 'a')
                                       ^^^

INSERT INTO s (id, amount) VALUES (1, 1.234);
    INVALID_STATEMENT: Expected type DECIMAL(10, 2) for field `AMOUNT` but got DECIMAL(4, 3)(1.234).
    line 1:39
      INSERT INTO s (id, amount) VALUES (1, 1.234)
                                            ^^^^^

INSERT INTO s (id, name) VALUES (1);
    INVALID_STATEMENT: Expected number columns and values to match: 2, 1
    line 1:1
      INSERT INTO s (id, name) VALUES (1)
      ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

INSERT INTO s VALUES (1, 'a');
    INVALID_STATEMENT: Expected a value for each column. Expected Columns: [`ID`, `NAME`, `AMOUNT`, `D`, `MOMENT`, `TAGS`, `POS`]. Got 2 value(s).
    line 1:1
      INSERT INTO s VALUES (1, 'a')
      ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

INSERT INTO s (id, nam) VALUES (1, 'a');
    INVALID_STATEMENT: Column name `NAM` does not exist. Did you mean NAME?
    line 1:20
      INSERT INTO s (id, nam) VALUES (1, 'a')
                         ^^^

INSERT INTO s (id, id) VALUES (1, 2);
    INVALID_STATEMENT: Column name ID is listed twice.
    line 1:20
      INSERT INTO s (id, id) VALUES (1, 2)
                         ^^

INSERT INTO s (id, name) VALUES (1, id);
    COLUMN_UNKNOWN: VALUES column 'ID' cannot be resolved.
    line 1:37
      INSERT INTO s (id, name) VALUES (1, id)
                                          ^^

INSERT INTO s (id, ROWOFFSET) VALUES (1, 2);
    INVALID_STATEMENT: Inserting into column `ROWOFFSET` is not allowed.
    line 1:20
      INSERT INTO s (id, ROWOFFSET) VALUES (1, 2)
                         ^^^^^^^^^

INSERT INTO t (id, v) VALUES (NULL, 'x');
    INVALID_STATEMENT: Failed to insert values into 'T'. Value for primary key column(s) ID is required for tables.
    line 1:1
      INSERT INTO t (id, v) VALUES (NULL, 'x')
      ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

INSERT INTO t (v) VALUES ('x');
    INVALID_STATEMENT: Failed to insert values into 'T'. Value for primary key column(s) ID is required for tables.
    line 1:1
      INSERT INTO t (v) VALUES ('x')
      ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

INSERT INTO fixed VALUES (1, 'x');
    INVALID_STATEMENT: Cannot insert values into read-only table: FIXED
    line 1:13
      INSERT INTO fixed VALUES (1, 'x')
                  ^^^^^

INSERT INTO h VALUES (1, NULL, 3);
    INVALID_STATEMENT: Cannot insert into HEADER columns: B
    line 1:1
      INSERT INTO h VALUES (1, NULL, 3)
      ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

INSERT INTO w VALUES (1, 3);
    INVALID_STATEMENT: Cannot insert values into windowed stream: W
    line 1:13
      INSERT INTO w VALUES (1, 3)
                  ^

INSERT INTO `t` VALUES (1, 'x');
    INSERT_UNKNOWN: Cannot insert values into an unknown stream/table: `t`
    Did you mean T? Hint: try removing double quotes from the source name.
    line 1:13
      INSERT INTO `t` VALUES (1, 'x')
                  ^^^

INSERT INTO `s` VALUES (1);
    INSERT_UNKNOWN: Cannot insert values into an unknown stream/table: `s`
    Did you mean S? Hint: try removing double quotes from the source name.
    line 1:13
      INSERT INTO `s` VALUES (1)
                  ^^^

INSERT INTO "S2" VALUES (1);
    INSERT_UNKNOWN: Cannot insert values into an unknown stream/table: `S2`
    Did you mean S?
    line 1:13
      INSERT INTO "S2" VALUES (1)
                  ^^^^

INSERT INTO p VALUES (ARRAY[NULL, 1, 2.5, -0.1], MAP('a' := 1, 'b' := 2.5));
    A = ARRAY[CAST(NULL AS DECIMAL(4, 1)), CAST(1 AS DECIMAL(4, 1)), CAST(2.5 AS DECIMAL(4, 1)), CAST(-0.1 AS DECIMAL(4, 1))]
    M = MAP('a':=CAST(1 AS DECIMAL(4, 1)), 'b':=CAST(2.5 AS DECIMAL(4, 1)))

INSERT INTO p (a) VALUES (ARRAY[1, 2.25]);
    INVALID_STATEMENT: Expected type DECIMAL(4, 1) for field `A` but got DECIMAL(3, 2)(2.25).
    line 1:27
      INSERT INTO p (a) VALUES (ARRAY[1, 2.25])
                                ^^^^^^^^^^^^^^

INSERT INTO p (a) VALUES (ARRAY[1000, 2.5]);
    INVALID_STATEMENT: Expected type DECIMAL(4, 1) for field `A` but got INTEGER(1000).
    line 1:27
      INSERT INTO p (a) VALUES (ARRAY[1000, 2.5])
                                ^^^^^^^^^^^^^^^^

INSERT INTO s (id, d) VALUES (1, TRY_CAST('x' AS INT));
    ID = 1
    D = CAST(TRY_CAST('x' AS INTEGER) AS DOUBLE)

INSERT INTO changed VALUES (1, 'a');
    INVALID_STATEMENT: Cannot insert values into table CHANGED: its topic holds envelopes of debezium, which tell what happened in a database. Change the row in the database, or insert into a table of your own.
    line 1:13
      INSERT INTO changed VALUES (1, 'a')
                  ^^^^^^^

INSERT INTO changes SELECT id, name AS v FROM s;
    INVALID_STATEMENT: Cannot insert into stream CHANGES: its topic holds envelopes of debezium, which tell what happened in a database. Change the row in the database, or insert into a stream of your own.
    line 1:13
      INSERT INTO changes SELECT id, name AS v FROM s
                  ^^^^^^^

INSERT INTO s (id, name) VALUES (1, 'a'), (1 + 1, NULL) RETURNING *;
    ID = 1
    NAME = 'a'
    ID = (1 + 1)
    NAME = CAST(NULL AS STRING)
    RETURNING ID, NAME, AMOUNT, D, MOMENT, TAGS, POS

INSERT INTO s (id) VALUES (1), (2) RETURNING name AS n, s.id, ROWTIME;
    ID = 1
    ID = 2
    RETURNING N, ID, ROWTIME

INSERT INTO s (id, name) VALUES (1, 'a'), (2);
    INVALID_STATEMENT: Expected number columns and values to match: 2, 1
    line 1:43
      INSERT INTO s (id, name) VALUES (1, 'a'), (2)
                                                ^^^

INSERT INTO s VALUES (1, 'a', 3, 4, '2024-01-01T10:00', ARRAY[1, 2], STRUCT(lat := 1)), (2);
    INVALID_STATEMENT: Expected a value for each column. Expected Columns: [`ID`, `NAME`, `AMOUNT`, `D`, `MOMENT`, `TAGS`, `POS`]. Got 1 value(s).
    line 1:89
      INSERT INTO s VALUES (1, 'a', 3, 4, '2024-01-01T10:00', ARRAY[1, 2], STRUCT(lat := 1)), (2)
                                                                                              ^^^

INSERT INTO s (id, name) VALUES (1, 'a'), (2, 'b'), ('3', 'c');
    INVALID_STATEMENT: Expected type INTEGER for field `ID` but got STRING('3'). Write the number without quotes: 3.
    line 1:54
      INSERT INTO s (id, name) VALUES (1, 'a'), (2, 'b'), ('3', 'c')
                                                           ^^^

INSERT INTO t (id, v) VALUES (1, 'x'), (NULL, 'y');
    INVALID_STATEMENT: Failed to insert values into 'T'. Value for primary key column(s) ID is required for tables.
    line 1:40
      INSERT INTO t (id, v) VALUES (1, 'x'), (NULL, 'y')
                                             ^^^^^^^^^^^

INSERT INTO h VALUES (1, 2), (1, 2, 3);
    INVALID_STATEMENT: Cannot insert into HEADER columns: B
    line 1:30
      INSERT INTO h VALUES (1, 2), (1, 2, 3)
                                   ^^^^^^^^^

INSERT INTO s (id) VALUES (1) RETURNING nam;
    INVALID_STATEMENT: RETURNING names no column of S: NAM. Did you mean NAME?
    line 1:41
      INSERT INTO s (id) VALUES (1) RETURNING nam
                                              ^^^

INSERT INTO s (id) VALUES (1) RETURNING t.id;
    INVALID_STATEMENT: RETURNING names columns of S, not of T.
    line 1:41
      INSERT INTO s (id) VALUES (1) RETURNING t.id
                                              ^^^^

INSERT INTO counted (name, n) VALUES ('a', 1);
    INVALID_STATEMENT: Cannot insert values into table COUNTED: a query maintains it and does not know of the row. Insert into what the query reads. SET 'ksql.insert.into.query.results.enabled' = 'true'; allows the row.
    line 1:13
      INSERT INTO counted (name, n) VALUES ('a', 1)
                  ^^^^^^^

INSERT INTO its_topic (name, n) VALUES ('a', 1);
    INVALID_STATEMENT: Cannot insert values into table ITS_TOPIC: a query maintains it and does not know of the row. Insert into what the query reads. SET 'ksql.insert.into.query.results.enabled' = 'true'; allows the row.
    line 1:13
      INSERT INTO its_topic (name, n) VALUES ('a', 1)
                  ^^^^^^^^^
