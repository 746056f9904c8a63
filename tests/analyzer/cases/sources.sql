CREATE TYPE address AS STRUCT<street STRING, city STRING>;
CREATE STREAM there (id INT KEY, v STRING) WITH (KAFKA_TOPIC='there', VALUE_FORMAT='JSON');
CREATE SOURCE STREAM fixed (id INT KEY, v STRING) WITH (KAFKA_TOPIC='fixed', VALUE_FORMAT='JSON');
----
CREATE STREAM s (v STRING, id INT KEY, home address) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON', PARTITIONS=4, REPLICAS=1);
    STREAM S
      columns `ID` INTEGER KEY, `V` STRING, `HOME` STRUCT<`STREET` STRING, `CITY` STRING>
      topic t, key KAFKA, value JSON
      partitions 4, replicas 1

CREATE TABLE t (id INT PRIMARY KEY, moment STRING) WITH (KAFKA_TOPIC='t', FORMAT='DELIMITED', KEY_DELIMITER='|', VALUE_DELIMITER='TAB', TIMESTAMP='moment', TIMESTAMP_FORMAT='yyyy-MM-dd');
    TABLE T
      columns `ID` INTEGER KEY, `MOMENT` STRING
      topic t, key DELIMITED {'delimiter': '|'}, value DELIMITED {'delimiter': '\t'}
      timestamp TimestampColumn(column='MOMENT', pattern='yyyy-MM-dd')

CREATE STREAM w (id INT KEY, v INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON', WINDOW_TYPE='tumbling', WINDOW_SIZE='10 SECONDS');
    STREAM W
      columns `ID` INTEGER KEY, `V` INTEGER
      topic t, key KAFKA, value JSON
      window Windowing(kind='TUMBLING', size_ms=10000)

CREATE STREAM h (v INT, a ARRAY<STRUCT<key STRING, value BYTES>> HEADERS) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON');
    STREAM H
      columns `V` INTEGER, `A` ARRAY<STRUCT<`KEY` STRING, `VALUE` BYTES>> HEADERS
      topic t, key NONE, value JSON

CREATE STREAM h (v INT, a BYTES HEADER('x'), b BYTES HEADER('y')) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON', WRAP_SINGLE_VALUE=false);
    STREAM H
      columns `V` INTEGER, `A` BYTES HEADER('x'), `B` BYTES HEADER('y')
      topic t, key NONE, value JSON {'wrapped': False}

CREATE OR REPLACE STREAM there (id INT KEY, v STRING, more INT) WITH (KAFKA_TOPIC='there', VALUE_FORMAT='JSON');
    STREAM THERE
      columns `ID` INTEGER KEY, `V` STRING, `MORE` INTEGER
      topic there, key KAFKA, value JSON

CREATE STREAM s (v STRING) WITH (VALUE_FORMAT='JSON');
    INVALID_STATEMENT: Missing required property "KAFKA_TOPIC" which has no default value. Add WITH (KAFKA_TOPIC = '...').
    line 1:1
      CREATE STREAM s (v STRING) WITH (VALUE_FORMAT='JSON')
      ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

CREATE STREAM s (v STRING) WITH (KAFKA_TOPIC='t');
    INVALID_STATEMENT: Statement is missing the 'VALUE_FORMAT' property from the WITH clause. Either provide one or set a default via the 'ksql.persistence.default.format.value' config.
    line 1:1
      CREATE STREAM s (v STRING) WITH (KAFKA_TOPIC='t')
      ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

CREATE STREAM s (v STRNG) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON');
    TYPE_UNKNOWN: Cannot resolve unknown type: STRNG. Did you mean STRING?
    line 1:20
      CREATE STREAM s (v STRNG) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON')
                         ^^^^^

CREATE STREAM s (v STRING, v INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON');
    INVALID_STATEMENT: Duplicate column names: `V`
    line 1:28
      CREATE STREAM s (v STRING, v INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON')
                                 ^^^^^

CREATE STREAM s (rowtime BIGINT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON');
    COLUMN_RESERVED: 'ROWTIME' is a reserved column name. You cannot use it as a name for a column.
    line 1:18
      CREATE STREAM s (rowtime BIGINT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON')
                       ^^^^^^^^^^^^^^

CREATE STREAM s (id INT PRIMARY KEY) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON');
    INVALID_STATEMENT: Column `ID` is a 'PRIMARY KEY' column: please use 'KEY' for streams.
    line 1:18
      CREATE STREAM s (id INT PRIMARY KEY) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON')
                       ^^^^^^^^^^^^^^^^^^

CREATE TABLE s (id INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON');
    INVALID_STATEMENT: Tables require a PRIMARY KEY. Please define the PRIMARY KEY. Write for instance: id INT PRIMARY KEY.
    line 1:1
      CREATE TABLE s (id INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON')
      ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

CREATE STREAM s (id MAP<STRING, INT> KEY, v INT) WITH (KAFKA_TOPIC='t', FORMAT='JSON');
    MAP_KEY: Map keys, including types that contain maps, are not supported as they may lead to unexpected behavior due to inconsistent serialization. Key column name: `ID`. Column type: MAP<STRING, INTEGER>.
    line 1:1
      CREATE STREAM s (id MAP<STRING, INT> KEY, v INT) WITH (KAFKA_TOPIC='t', FORMAT='JSON')
      ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

CREATE STREAM s (id BOOLEAN KEY, v INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON');
    FORMAT_SCHEMA: Key format does not support schema.
    format: KAFKA
    schema: [`ID` BOOLEAN KEY]
    reason: The 'KAFKA' format does not support type 'BOOLEAN', column: `ID`.
    line 1:1
      CREATE STREAM s (id BOOLEAN KEY, v INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON')
      ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

CREATE STREAM s (v INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSNO');
    FORMAT_UNKNOWN: Unknown format: JSNO. Did you mean JSON?
    line 1:48
      CREATE STREAM s (v INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSNO')
                                                     ^^^^^^^^^^^^^^^^^^^

CREATE STREAM s (v INT) WITH (KAFKA_TOPIC='t', VALUE_FORMT='JSON');
    PROPERTY_IN_WITH: Configuration VALUE_FORMT is invalid: it is not a valid property name. Did you mean VALUE_FORMAT?
    line 1:48
      CREATE STREAM s (v INT) WITH (KAFKA_TOPIC='t', VALUE_FORMT='JSON')
                                                     ^^^^^^^^^^^^^^^^^^

CREATE STREAM s (v INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON', PARTITIONS=0);
    PROPERTY_IN_WITH: Configuration PARTITIONS is invalid: Expected at least 1, got 0.
    line 1:69
      CREATE STREAM s (v INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON', PARTITIONS=0)
                                                                          ^^^^^^^^^^^^

CREATE STREAM s (v INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON', PARTITIONS=2000000000);
    PROPERTY_IN_WITH: Configuration PARTITIONS is invalid: Expected at most 10000, got 2000000000.
    line 1:69
      CREATE STREAM s (v INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON', PARTITIONS=2000000000)
                                                                          ^^^^^^^^^^^^^^^^^^^^^

CREATE STREAM s (v INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON', PARTITIONS=1, REPLICAS=40000);
    PROPERTY_IN_WITH: Configuration REPLICAS is invalid: Expected at most 10000, got 40000.
    line 1:83
      CREATE STREAM s (v INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON', PARTITIONS=1, REPLICAS=40000)
                                                                                        ^^^^^^^^^^^^^^

CREATE STREAM s (v INT) WITH (KAFKA_TOPIC='a/b', VALUE_FORMAT='JSON', PARTITIONS=1);
    PROPERTY_IN_WITH: Configuration KAFKA_TOPIC is invalid: Expected a topic's name, up to 249 letters (a-z, A-Z), digits, '.', '_' and '-', got 'a/b'.
    line 1:31
      CREATE STREAM s (v INT) WITH (KAFKA_TOPIC='a/b', VALUE_FORMAT='JSON', PARTITIONS=1)
                                    ^^^^^^^^^^^^^^^^^

CREATE STREAM s (v INT) WITH (KAFKA_TOPIC='..', VALUE_FORMAT='JSON', PARTITIONS=1);
    PROPERTY_IN_WITH: Configuration KAFKA_TOPIC is invalid: Expected a topic's name, up to 249 letters (a-z, A-Z), digits, '.', '_' and '-', got '..'.
    line 1:31
      CREATE STREAM s (v INT) WITH (KAFKA_TOPIC='..', VALUE_FORMAT='JSON', PARTITIONS=1)
                                    ^^^^^^^^^^^^^^^^

CREATE STREAM s (v INT) WITH (KAFKA_TOPIC='xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx', VALUE_FORMAT='JSON', PARTITIONS=1);
    PROPERTY_IN_WITH: Configuration KAFKA_TOPIC is invalid: Expected a topic's name, up to 249 letters (a-z, A-Z), digits, '.', '_' and '-', got 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...'.
    line 1:31
      CREATE STREAM s (v INT) WITH (KAFKA_TOPIC='xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx', VALUE_FORMAT='JSON', PARTITIONS=1)
                                    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

CREATE STREAM s (v INT) WITH (KAFKA_TOPIC='t', FORMAT='JSON', KEY_FORMAT='JSON');
    INVALID_STATEMENT: Cannot supply both 'KEY_FORMAT' and 'FORMAT' properties, as 'FORMAT' sets both.
    line 1:63
      CREATE STREAM s (v INT) WITH (KAFKA_TOPIC='t', FORMAT='JSON', KEY_FORMAT='JSON')
                                                                    ^^^^^^^^^^^^^^^^^

CREATE STREAM s (v INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON', VALUE_DELIMITER='|');
    INVALID_STATEMENT: JSON does not support the following configs: [delimiter].
    line 1:69
      CREATE STREAM s (v INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON', VALUE_DELIMITER='|')
                                                                          ^^^^^^^^^^^^^^^^^^^

CREATE STREAM s (v INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='DELIMITED', VALUE_DELIMITER='<>');
    PROPERTY_IN_WITH: Configuration VALUE_DELIMITER is invalid: Invalid delimiter value: '<>'. Delimiter must be a single character or TAB,SPACE
    Example valid value: ';'.
    line 1:74
      CREATE STREAM s (v INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='DELIMITED', VALUE_DELIMITER='<>')
                                                                               ^^^^^^^^^^^^^^^^^^^^

CREATE STREAM s (v INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='DELIMITED', VALUE_DELIMITER='"');
    PROPERTY_IN_WITH: Configuration VALUE_DELIMITER is invalid: A quote or the end of a line cannot be the delimiter
    Example valid value: ';'.
    line 1:74
      CREATE STREAM s (v INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='DELIMITED', VALUE_DELIMITER='"')
                                                                               ^^^^^^^^^^^^^^^^^^^

CREATE STREAM s (v INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='AVRO', VALUE_AVRO_SCHEMA_FULL_NAME='1 a');
    INVALID_STATEMENT: '1 a' is not a valid name of a schema, which has letters, digits, _ and dots, and no part that begins with a digit.
    line 1:69
      CREATE STREAM s (v INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='AVRO', VALUE_AVRO_SCHEMA_FULL_NAME='1 a')
                                                                          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

CREATE STREAM s (v INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='AVRO', VALUE_SCHEMA_FULL_NAME='io.a_1.B');
    STREAM S
      columns `V` INTEGER
      topic t, key NONE, value AVRO {'full_name': 'io.a_1.B'}

CREATE STREAM s (v INT, w INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON', WRAP_SINGLE_VALUE=true);
    INVALID_STATEMENT: 'WRAP_SINGLE_VALUE' is only valid for single-field value schemas.
    line 1:76
      CREATE STREAM s (v INT, w INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON', WRAP_SINGLE_VALUE=true)
                                                                                 ^^^^^^^^^^^^^^^^^^^^^^

CREATE STREAM s (v INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON', TIMESTAMP='vv');
    INVALID_STATEMENT: The TIMESTAMP column set in the WITH clause does not exist in the schema: 'VV'. Did you mean V?
    line 1:69
      CREATE STREAM s (v INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON', TIMESTAMP='vv')
                                                                          ^^^^^^^^^^^^^^

CREATE STREAM s (v INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON', TIMESTAMP='v');
    INVALID_STATEMENT: Timestamp column, `V`, should be LONG(INT64), TIMESTAMP, or a String with a timestamp_format specified. It is INTEGER.
    line 1:69
      CREATE STREAM s (v INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON', TIMESTAMP='v')
                                                                          ^^^^^^^^^^^^^

CREATE STREAM s (v STRING) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON', TIMESTAMP='v');
    INVALID_STATEMENT: A String timestamp field, `V`, has been specified without also specifying the timestamp_format.
    line 1:72
      CREATE STREAM s (v STRING) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON', TIMESTAMP='v')
                                                                             ^^^^^^^^^^^^^

CREATE STREAM s (v STRING) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON', TIMESTAMP='v', TIMESTAMP_FORMAT='yyyy-MM-ddTHH');
    PROPERTY_IN_WITH: Configuration TIMESTAMP_FORMAT is invalid: Invalid date time format: yyyy-MM-ddTHH. Unknown pattern letter: T (quote literal text: ''T'').
    line 1:87
      CREATE STREAM s (v STRING) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON', TIMESTAMP='v', TIMESTAMP_FORMAT='yyyy-MM-ddTHH')
                                                                                            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

CREATE STREAM s (id INT KEY, v INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON', WINDOW_TYPE='SESSION', WINDOW_SIZE='1 DAY');
    INVALID_STATEMENT: 'WINDOW_SIZE' should not be set for SESSION windows.
    line 1:104
      CREATE STREAM s (id INT KEY, v INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON', WINDOW_TYPE='SESSION', WINDOW_SIZE='1 DAY')
                                                                                                             ^^^^^^^^^^^^^^^^^^^

CREATE STREAM s (id INT KEY, v INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON', WINDOW_TYPE='HOPPING', WINDOW_SIZE='1 bob');
    PROPERTY_IN_WITH: Configuration WINDOW_SIZE is invalid: Invalid duration: '1 bob'. Unknown time unit: 'BOB'.
    line 1:104
      CREATE STREAM s (id INT KEY, v INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON', WINDOW_TYPE='HOPPING', WINDOW_SIZE='1 bob')
                                                                                                             ^^^^^^^^^^^^^^^^^^^

CREATE TABLE s (id INT PRIMARY KEY, v INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON', RETENTION_MS=1);
    INVALID_STATEMENT: Cannot define RETENTION_MS on an unwindowed table: its topic is compacted.
    line 1:88
      CREATE TABLE s (id INT PRIMARY KEY, v INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON', RETENTION_MS=1)
                                                                                             ^^^^^^^^^^^^^^

CREATE STREAM s WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON');
    INVALID_STATEMENT: No columns supplied. The statement does not define any columns. List the columns; or add INFER = 'sample' to WITH, which takes them from records of the topic; or use AVRO, JSON_SR or PROTOBUF, which take them from a schema registry.
    line 1:1
      CREATE STREAM s WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON')
      ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

CREATE STREAM s WITH (KAFKA_TOPIC='t', VALUE_FORMAT='AVRO');
    SCHEMA_REGISTRY_MISSING: Taking the value columns from a schema needs a schema registry. Set ksql.schema.registry.url to its address, or list the columns in the statement.
    line 1:1
      CREATE STREAM s WITH (KAFKA_TOPIC='t', VALUE_FORMAT='AVRO')
      ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

CREATE STREAM there (v INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON');
    INVALID_STATEMENT: Cannot add stream 'THERE': A stream with the same name already exists. Use CREATE OR REPLACE, or DROP STREAM THERE; first.
    line 1:15
      CREATE STREAM there (v INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON')
                    ^^^^^

CREATE OR REPLACE STREAM there (id INT KEY, w STRING) WITH (KAFKA_TOPIC='there', VALUE_FORMAT='JSON');
    INVALID_STATEMENT: Cannot add stream 'THERE': Cannot upgrade data source: The following columns are changed, missing or reordered: [`V` STRING]. CREATE OR REPLACE may only append value columns.
    line 1:26
      CREATE OR REPLACE STREAM there (id INT KEY, w STRING) WITH (KAFKA_TOPIC='there', VALUE_FORMAT='JSON')
                               ^^^^^

CREATE OR REPLACE STREAM fixed (id INT KEY, v STRING) WITH (KAFKA_TOPIC='fixed', VALUE_FORMAT='JSON');
    INVALID_STATEMENT: Cannot add stream 'FIXED': CREATE OR REPLACE is not supported on source streams.
    line 1:26
      CREATE OR REPLACE STREAM fixed (id INT KEY, v STRING) WITH (KAFKA_TOPIC='fixed', VALUE_FORMAT='JSON')
                               ^^^^^

CREATE STREAM s (v DECIMAL(3, 4)) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON');
    INVALID_STATEMENT: DECIMAL scale must be between 0 and the precision: DECIMAL(3, 4).
    line 1:20
      CREATE STREAM s (v DECIMAL(3, 4)) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON')
                         ^^^^^^^^^^^^^

ALTER STREAM there ADD COLUMN w INT, ADD x address;
    STREAM THERE
      columns `ID` INTEGER KEY, `V` STRING, `W` INTEGER, `X` STRUCT<`STREET` STRING, `CITY` STRING>
      topic there, key KAFKA, value JSON

ALTER STREAM there ADD COLUMN v INT;
    INVALID_STATEMENT: Cannot add column `V` to schema. A column with the same name already exists.
    line 1:31
      ALTER STREAM there ADD COLUMN v INT
                                    ^^^^^

ALTER TABLE there ADD COLUMN w INT;
    INVALID_STATEMENT: Incompatible data source type is STREAM, but statement was ALTER TABLE. Write ALTER STREAM THERE.
    line 1:13
      ALTER TABLE there ADD COLUMN w INT
                  ^^^^^

ALTER STREAM fixed ADD COLUMN w INT;
    INVALID_STATEMENT: Cannot alter stream 'FIXED': ALTER operations are not supported on source streams.
    line 1:14
      ALTER STREAM fixed ADD COLUMN w INT
                   ^^^^^

CREATE STREAM s (v INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON', PARTITIONS='99999999999999999999999999999999999999999999999999999999999999999999');
    PROPERTY_IN_WITH: Configuration PARTITIONS is invalid: Expected an integer, got '999999999999999999999999999999999999999999999999999999999...'.
    line 1:69
      CREATE STREAM s (v INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON', PARTITIONS='99999999999999999999999999999999999999999999999999999999999999999999')
                                                                          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

CREATE STREAM s (v INT KEY) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON', WINDOW_TYPE='TUMBLING', WINDOW_SIZE='99999999999999999999 DAYS');
    PROPERTY_IN_WITH: Configuration WINDOW_SIZE is invalid: Invalid duration: '99999999999999999999 DAYS'. Its milliseconds do not fit into 64 bits.
    line 1:97
      CREATE STREAM s (v INT KEY) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON', WINDOW_TYPE='TUMBLING', WINDOW_SIZE='99999999999999999999 DAYS')
                                                                                                      ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

CREATE STREAM s (v INT KEY) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON', WINDOW_TYPE='TUMBLING', WINDOW_SIZE='99999999999999999999999999999999999999999999999999999999999999999999 DAYS');
    PROPERTY_IN_WITH: Configuration WINDOW_SIZE is invalid: Invalid duration: '99999999999999999999999999999999999999999999999999999999999999999999 DAYS'. Its milliseconds do not fit into 64 bits.
    line 1:97
      CREATE STREAM s (v INT KEY) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON', WINDOW_TYPE='TUMBLING', WINDOW_SIZE='99999999999999999999999999999999999999999999999999999999999999999999 DAYS')
                                                                                                      ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

CREATE STREAM o (id LONG) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');
    TYPE_UNKNOWN: Cannot resolve unknown type: LONG. Did you mean BIGINT?
    line 1:21
      CREATE STREAM o (id LONG) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON')
                          ^^^^

CREATE STREAM o (id INT, p NUMERIC(10, 2)) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');
    TYPE_UNKNOWN: Cannot resolve unknown type: NUMERIC. Did you mean DECIMAL(precision, scale)?
    line 1:28
      CREATE STREAM o (id INT, p NUMERIC(10, 2)) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON')
                                 ^^^^^^^^^^^^^^

CREATE TABLE o (id INT PRIMARY KEY) WITH ('connector'='kafka', 'topic'='s');
    PROPERTY_IN_WITH: Configuration CONNECTOR is invalid: it is not a valid property name. Write KAFKA_TOPIC = 'topic', or SOURCE for a file or a table of a database.
    line 1:43
      CREATE TABLE o (id INT PRIMARY KEY) WITH ('connector'='kafka', 'topic'='s')
                                                ^^^^^^^^^^^^^^^^^^^

CREATE STREAM o (id INT) WITH (TOPIC='s', VALUE_FORMAT='JSON');
    PROPERTY_IN_WITH: Configuration TOPIC is invalid: it is not a valid property name. Did you mean KAFKA_TOPIC?
    line 1:32
      CREATE STREAM o (id INT) WITH (TOPIC='s', VALUE_FORMAT='JSON')
                                     ^^^^^^^^^

CREATE TABLE t (id INT PRIMARY KEY, name STRING) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON', ENVELOPE='debezium');
    TABLE T
      columns `ID` INTEGER KEY, `NAME` STRING
      topic t, key JSON {'envelope': 'debezium'}, value JSON {'envelope': 'debezium'}

CREATE TABLE t (id INT PRIMARY KEY, name STRING) WITH (KAFKA_TOPIC='t', KEY_FORMAT='KAFKA', VALUE_FORMAT='AVRO', ENVELOPE='Debezium');
    TABLE T
      columns `ID` INTEGER KEY, `NAME` STRING
      topic t, key KAFKA, value AVRO {'envelope': 'debezium'}

CREATE STREAM s (name STRING) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON', ENVELOPE='debezium');
    STREAM S
      columns `NAME` STRING
      topic t, key NONE, value JSON {'envelope': 'debezium'}

CREATE TABLE t (id INT PRIMARY KEY, name STRING) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON', ENVELOPE='maxwell');
    TABLE T
      columns `ID` INTEGER KEY, `NAME` STRING
      topic t, key JSON {'envelope': 'maxwell'}, value JSON {'envelope': 'maxwell'}

CREATE TABLE t (id INT PRIMARY KEY, name STRING) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON', ENVELOPE='debesium');
    PROPERTY_IN_WITH: Configuration ENVELOPE is invalid: 'debesium' is none of debezium, maxwell. Did you mean 'debezium'?
    line 1:94
      CREATE TABLE t (id INT PRIMARY KEY, name STRING) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON', ENVELOPE='debesium')
                                                                                                   ^^^^^^^^^^^^^^^^^^^

CREATE TABLE t (id INT PRIMARY KEY, name STRING) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='AVRO', ENVELOPE='maxwell');
    PROPERTY_IN_WITH: Configuration ENVELOPE is invalid: 'maxwell' needs the VALUE_FORMAT JSON, and it is AVRO.
    line 1:94
      CREATE TABLE t (id INT PRIMARY KEY, name STRING) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='AVRO', ENVELOPE='maxwell')
                                                                                                   ^^^^^^^^^^^^^^^^^^

CREATE TABLE t (id INT PRIMARY KEY, name STRING) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='DELIMITED', ENVELOPE='debezium');
    PROPERTY_IN_WITH: Configuration ENVELOPE is invalid: 'debezium' needs the VALUE_FORMAT JSON or JSON_SR or AVRO or PROTOBUF, and it is DELIMITED.
    line 1:99
      CREATE TABLE t (id INT PRIMARY KEY, name STRING) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='DELIMITED', ENVELOPE='debezium')
                                                                                                        ^^^^^^^^^^^^^^^^^^^

CREATE TABLE t (id INT PRIMARY KEY) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON', ENVELOPE='debezium');
    INVALID_STATEMENT: A source with an ENVELOPE needs a value column.
    line 1:81
      CREATE TABLE t (id INT PRIMARY KEY) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON', ENVELOPE='debezium')
                                                                                      ^^^^^^^^^^^^^^^^^^^

CREATE TABLE t (id INT PRIMARY KEY, v INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON', ENVELOPE='debezium', WRAP_SINGLE_VALUE=false);
    INVALID_STATEMENT: 'WRAP_SINGLE_VALUE' is not for sources with an ENVELOPE.
    line 1:109
      CREATE TABLE t (id INT PRIMARY KEY, v INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON', ENVELOPE='debezium', WRAP_SINGLE_VALUE=false)
                                                                                                                  ^^^^^^^^^^^^^^^^^^^^^^^

CREATE STREAM s (id INT KEY, v INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON', ENVELOPE='debezium', WINDOW_TYPE='SESSION');
    INVALID_STATEMENT: 'WINDOW_TYPE' is not for sources with an ENVELOPE.
    line 1:102
      CREATE STREAM s (id INT KEY, v INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON', ENVELOPE='debezium', WINDOW_TYPE='SESSION')
                                                                                                           ^^^^^^^^^^^^^^^^^^^^^

CREATE TABLE t WITH (ENVELOPE='debezium') AS SELECT * FROM there;
    PROPERTY_IN_WITH: Configuration ENVELOPE is invalid: it is only allowed in CREATE.
    line 1:22
      CREATE TABLE t WITH (ENVELOPE='debezium') AS SELECT * FROM there
                           ^^^^^^^^^^^^^^^^^^^

CREATE STREAM s (id INT KEY NOT NULL, amount DOUBLE CHECK (amount > 0), b INT, CONSTRAINT less CHECK (id < b OR b IS NULL)) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON');
    STREAM S
      columns `ID` INTEGER KEY, `AMOUNT` DOUBLE, `B` INTEGER
      topic t, key KAFKA, value JSON
      constraint ID NOT NULL: (ID IS NOT NULL)
      constraint CHECK (AMOUNT > 0): (AMOUNT > CAST(0 AS DOUBLE))
      constraint CONSTRAINT LESS CHECK (ID < B OR B IS NULL): ((ID < B) OR (B IS NULL))

CREATE STREAM s (a INT CHECK (a + 1)) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON');
    PREDICATE_TYPE: Type error in CHECK expression: Should evaluate to boolean but is (A + 1) (INTEGER) instead.
    line 1:31
      CREATE STREAM s (a INT CHECK (a + 1)) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON')
                                    ^^^^^

CREATE STREAM s (a INT CHECK (c > 1)) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON');
    COLUMN_UNKNOWN: CHECK column 'C' cannot be resolved. There are: A.
    line 1:31
      CREATE STREAM s (a INT CHECK (c > 1)) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON')
                                    ^

CREATE STREAM s (a INT, CHECK (SUM(a) > 1)) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON');
    AGGREGATE_NOT_ALLOWED: SUM is an aggregate function: it cannot be used in CHECK.
    line 1:32
      CREATE STREAM s (a INT, CHECK (SUM(a) > 1)) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON')
                                     ^^^^^^

CREATE STREAM s (a INT, CHECK (1 > 2)) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON');
    INVALID_STATEMENT: A CHECK must name a column.
    line 1:25
      CREATE STREAM s (a INT, CHECK (1 > 2)) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON')
                              ^^^^^^^^^^^^^

CREATE STREAM s (a INT, CHECK (ROWTIME > 2)) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON');
    COLUMN_UNKNOWN: CHECK column 'ROWTIME' cannot be resolved. There are: A.
    line 1:32
      CREATE STREAM s (a INT, CHECK (ROWTIME > 2)) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON')
                                     ^^^^^^^

CREATE SOURCE TABLE s (a INT PRIMARY KEY, b INT NOT NULL) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON');
    INVALID_STATEMENT: A SOURCE TABLE cannot have constraints, since pull queries read its topic as it is. CREATE TABLE ... without SOURCE, and CREATE TABLE ... AS SELECT to query it.
    line 1:43
      CREATE SOURCE TABLE s (a INT PRIMARY KEY, b INT NOT NULL) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON')
                                                ^^^^^

CREATE OR REPLACE STREAM there (id INT KEY, v STRING NOT NULL) WITH (KAFKA_TOPIC='there', VALUE_FORMAT='JSON');
    INVALID_STATEMENT: Cannot add stream 'THERE': Cannot upgrade data source: the constraints cannot change. CREATE OR REPLACE may only append value columns.
    line 1:26
      CREATE OR REPLACE STREAM there (id INT KEY, v STRING NOT NULL) WITH (KAFKA_TOPIC='there', VALUE_FORMAT='JSON')
                               ^^^^^

CREATE STREAM s (id INT KEY, v INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON', LATENESS='5 seconds');
    STREAM S
      columns `ID` INTEGER KEY, `V` INTEGER
      topic t, key KAFKA, value JSON
      lateness_ms 5000

CREATE TABLE t (id INT PRIMARY KEY, v INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON', LATENESS='5 seconds');
    INVALID_STATEMENT: LATENESS is for streams only: windows are over streams.
    line 1:88
      CREATE TABLE t (id INT PRIMARY KEY, v INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON', LATENESS='5 seconds')
                                                                                             ^^^^^^^^^^^^^^^^^^^^

CREATE STREAM s (id INT KEY, v INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON', LATENESS='soon');
    PROPERTY_IN_WITH: Configuration LATENESS is invalid: Invalid duration: 'soon'. Expected a number and a time unit, for instance '10 SECONDS'.
    line 1:81
      CREATE STREAM s (id INT KEY, v INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON', LATENESS='soon')
                                                                                      ^^^^^^^^^^^^^^^

CREATE STREAM s WITH (LATENESS='2 DAYS') AS SELECT * FROM there;
    STREAM S SINK
      columns `ID` INTEGER KEY, `V` STRING
      topic S, key KAFKA, value JSON
      lateness_ms 172800000
    Project key [ID AS ID] value [V AS V]
      Source THERE

CREATE TABLE t WITH (TTL='soon') AS SELECT id, COUNT(*) AS n FROM there GROUP BY id;
    PROPERTY_IN_WITH: Configuration TTL is invalid: Invalid duration: 'soon'. Expected a number and a time unit, for instance '10 SECONDS'.
    line 1:22
      CREATE TABLE t WITH (TTL='soon') AS SELECT id, COUNT(*) AS n FROM there GROUP BY id
                           ^^^^^^^^^^

CREATE STREAM s WITH (TTL='2 DAYS') AS SELECT * FROM there;
    INVALID_STATEMENT: TTL is for tables without a window. The rows of a stream stay for RETENTION_MS.
    line 1:23
      CREATE STREAM s WITH (TTL='2 DAYS') AS SELECT * FROM there
                            ^^^^^^^^^^^^

CREATE TABLE t WITH (TTL='2 DAYS') AS SELECT id, COUNT(*) AS n FROM there WINDOW TUMBLING (SIZE 1 HOUR) GROUP BY id;
    INVALID_STATEMENT: TTL is for tables without a window. RETENTION in WINDOW says how long windows are kept.
    line 1:22
      CREATE TABLE t WITH (TTL='2 DAYS') AS SELECT id, COUNT(*) AS n FROM there WINDOW TUMBLING (SIZE 1 HOUR) GROUP BY id
                           ^^^^^^^^^^^^

CREATE TABLE t WITH (TTL='2 DAYS') AS SELECT id, COUNT(*) AS n FROM there GROUP BY id HAVING COUNT(*) > 1;
    TABLE T SINK
      columns `ID` INTEGER KEY, `N` BIGINT
      topic T, key KAFKA, value JSON
    Project key [ID AS ID] value [KSQL_AGG_VARIABLE_0 AS N]
      Filter (KSQL_AGG_VARIABLE_0 > CAST(1 AS BIGINT))
        Aggregate by [ID AS ID] COUNT(*) AS KSQL_AGG_VARIABLE_0 ttl 172800000 ms
          Source THERE

CREATE STREAM s (id INT KEY, v INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON', WINDOW_TYPE='TUMBLING', WINDOW_SIZE='1 day', WINDOW_TIME_ZONE='Europe/Berlin', WINDOW_OFFSET='6 hours');
    STREAM S
      columns `ID` INTEGER KEY, `V` INTEGER
      topic t, key KAFKA, value JSON
      window Windowing(kind='TUMBLING', size_ms=None, calendar=Calendar(amount=1, unit='DAYS', zone='Europe/Berlin', offset_months=0, offset_ms=21600000))

CREATE STREAM s (id INT KEY, v INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON', WINDOW_TYPE='TUMBLING', WINDOW_SIZE='1 MONTH');
    STREAM S
      columns `ID` INTEGER KEY, `V` INTEGER
      topic t, key KAFKA, value JSON
      window Windowing(kind='TUMBLING', size_ms=None, calendar=Calendar(amount=1, unit='MONTHS', zone='UTC', offset_months=0, offset_ms=0))

CREATE STREAM s (id INT KEY, v INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON', WINDOW_TYPE='CUMULATIVE');
    STREAM S
      columns `ID` INTEGER KEY, `V` INTEGER
      topic t, key KAFKA, value JSON
      window Windowing(kind='CUMULATIVE', size_ms=None)

CREATE STREAM s (id INT KEY, v INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON', WINDOW_TYPE='TUMBLING', WINDOW_SIZE='1 DAY', WINDOW_TIME_ZONE='Europe/Berln');
    INVALID_STATEMENT: There is no time zone 'Europe/Berln'. Did you mean 'Europe/Berlin' or 'Europe/Dublin' or 'Europe/Belfast'?
    line 1:126
      CREATE STREAM s (id INT KEY, v INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON', WINDOW_TYPE='TUMBLING', WINDOW_SIZE='1 DAY', WINDOW_TIME_ZONE='Europe/Berln')
                                                                                                                                   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

CREATE STREAM s (id INT KEY, v INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON', WINDOW_TYPE='HOPPING', WINDOW_SIZE='1 DAY', WINDOW_TIME_ZONE='Europe/Berlin');
    INVALID_STATEMENT: 'WINDOW_TIME_ZONE' is for TUMBLING windows only.
    line 1:125
      CREATE STREAM s (id INT KEY, v INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON', WINDOW_TYPE='HOPPING', WINDOW_SIZE='1 DAY', WINDOW_TIME_ZONE='Europe/Berlin')
                                                                                                                                  ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

CREATE STREAM s (id INT KEY, v INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON', WINDOW_TYPE='CUMULATIVE', WINDOW_SIZE='1 DAY');
    INVALID_STATEMENT: 'WINDOW_SIZE' should not be set for CUMULATIVE windows.
    line 1:107
      CREATE STREAM s (id INT KEY, v INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON', WINDOW_TYPE='CUMULATIVE', WINDOW_SIZE='1 DAY')
                                                                                                                ^^^^^^^^^^^^^^^^^^^

CREATE STREAM s (id INT KEY, v INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON', WINDOW_OFFSET='6 HOURS');
    INVALID_STATEMENT: 'WINDOW_OFFSET' needs 'WINDOW_TYPE' too.
    line 1:81
      CREATE STREAM s (id INT KEY, v INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON', WINDOW_OFFSET='6 HOURS')
                                                                                      ^^^^^^^^^^^^^^^^^^^^^^^

CREATE STREAM s (id INT KEY, v INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON', WINDOW_TYPE='TUMBLING', WINDOW_SIZE='1 DAY', WINDOW_OFFSET='1 WEEK');
    INVALID_STATEMENT: OFFSET must be shorter than the SIZE of the window.
    line 1:126
      CREATE STREAM s (id INT KEY, v INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON', WINDOW_TYPE='TUMBLING', WINDOW_SIZE='1 DAY', WINDOW_OFFSET='1 WEEK')
                                                                                                                                   ^^^^^^^^^^^^^^^^^^^^^^

CREATE STREAM s (id INT KEY, v INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON', WINDOW_TYPE='HOPPING', WINDOW_SIZE='1 MONTH');
    PROPERTY_IN_WITH: Configuration WINDOW_SIZE is invalid: Invalid duration: '1 MONTH'. Unknown time unit: 'MONTH'.
    line 1:104
      CREATE STREAM s (id INT KEY, v INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON', WINDOW_TYPE='HOPPING', WINDOW_SIZE='1 MONTH')
                                                                                                             ^^^^^^^^^^^^^^^^^^^^^

CREATE STREAM s (id INT KEY, v INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON', WINDOW_TYPE='TUMBLING', WINDOW_SIZE='0 MONTHS');
    PROPERTY_IN_WITH: Configuration WINDOW_SIZE is invalid: Invalid duration: '0 DAYS'. Not a positive number: '0'.
    line 1:105
      CREATE STREAM s (id INT KEY, v INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON', WINDOW_TYPE='TUMBLING', WINDOW_SIZE='0 MONTHS')
                                                                                                              ^^^^^^^^^^^^^^^^^^^^^^

CREATE STREAM p (id INT KEY, src STRING TOPIC, v INT) WITH (TOPIC_PATTERN='orders\..*', VALUE_FORMAT='JSON');
    STREAM P
      columns `ID` INTEGER KEY, `SRC` STRING TOPIC, `V` INTEGER
      topic /orders\..*/, key KAFKA, value JSON

CREATE STREAM p (v INT) WITH (TOPIC_PATTERN='orders(', VALUE_FORMAT='JSON');
    INVALID_STATEMENT: TOPIC_PATTERN is not a regular expression of topics: missing ): orders(. For instance: 'orders\..*' for orders.eu and orders.us.
    line 1:31
      CREATE STREAM p (v INT) WITH (TOPIC_PATTERN='orders(', VALUE_FORMAT='JSON')
                                    ^^^^^^^^^^^^^^^^^^^^^^^

CREATE STREAM p (v INT) WITH (TOPIC_PATTERN='(?<name>a)', VALUE_FORMAT='JSON');
    INVALID_STATEMENT: TOPIC_PATTERN is not a regular expression of topics: "(?<" at position 0 does not mean the same everywhere. For instance: 'orders\..*' for orders.eu and orders.us.
    line 1:31
      CREATE STREAM p (v INT) WITH (TOPIC_PATTERN='(?<name>a)', VALUE_FORMAT='JSON')
                                    ^^^^^^^^^^^^^^^^^^^^^^^^^^

CREATE STREAM p (v INT) WITH (TOPIC_PATTERN='[a-z&&[^b]]', VALUE_FORMAT='JSON');
    INVALID_STATEMENT: TOPIC_PATTERN is not a regular expression of topics: "[a-z&&[" at position 0 does not mean the same everywhere. For instance: 'orders\..*' for orders.eu and orders.us.
    line 1:31
      CREATE STREAM p (v INT) WITH (TOPIC_PATTERN='[a-z&&[^b]]', VALUE_FORMAT='JSON')
                                    ^^^^^^^^^^^^^^^^^^^^^^^^^^^

CREATE STREAM p (v INT) WITH (TOPIC_PATTERN='', VALUE_FORMAT='JSON');
    INVALID_STATEMENT: TOPIC_PATTERN is not a regular expression of topics: it is empty. For instance: 'orders\..*' for orders.eu and orders.us.
    line 1:31
      CREATE STREAM p (v INT) WITH (TOPIC_PATTERN='', VALUE_FORMAT='JSON')
                                    ^^^^^^^^^^^^^^^^

CREATE STREAM p (v INT) WITH (TOPIC_PATTERN='a.*', KAFKA_TOPIC='a', VALUE_FORMAT='JSON');
    INVALID_STATEMENT: 'KAFKA_TOPIC' is not for streams with TOPIC_PATTERN.
    line 1:52
      CREATE STREAM p (v INT) WITH (TOPIC_PATTERN='a.*', KAFKA_TOPIC='a', VALUE_FORMAT='JSON')
                                                         ^^^^^^^^^^^^^^^

CREATE STREAM p (v INT) WITH (TOPIC_PATTERN='a.*', PARTITIONS=2, VALUE_FORMAT='JSON');
    INVALID_STATEMENT: 'PARTITIONS' is not for streams with TOPIC_PATTERN.
    line 1:52
      CREATE STREAM p (v INT) WITH (TOPIC_PATTERN='a.*', PARTITIONS=2, VALUE_FORMAT='JSON')
                                                         ^^^^^^^^^^^^

CREATE STREAM p WITH (TOPIC_PATTERN='a.*', VALUE_FORMAT='JSON');
    INVALID_STATEMENT: A stream with TOPIC_PATTERN needs its columns in the statement: each topic has its own schema.
    line 1:1
      CREATE STREAM p WITH (TOPIC_PATTERN='a.*', VALUE_FORMAT='JSON')
      ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

CREATE STREAM p WITH (TOPIC_PATTERN='a.*', VALUE_FORMAT='AVRO');
    INVALID_STATEMENT: A stream with TOPIC_PATTERN needs its columns in the statement: each topic has its own schema.
    line 1:1
      CREATE STREAM p WITH (TOPIC_PATTERN='a.*', VALUE_FORMAT='AVRO')
      ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

CREATE TABLE p (id INT PRIMARY KEY, v INT) WITH (TOPIC_PATTERN='a.*', VALUE_FORMAT='JSON');
    INVALID_STATEMENT: TOPIC_PATTERN is for streams: a row of a table is what one topic says of its key. CREATE a stream, and a table AS SELECT ... GROUP BY of it.
    line 1:50
      CREATE TABLE p (id INT PRIMARY KEY, v INT) WITH (TOPIC_PATTERN='a.*', VALUE_FORMAT='JSON')
                                                       ^^^^^^^^^^^^^^^^^^^

CREATE STREAM p (v INT) WITH (KAFKA_TOPIC='/a.*/', VALUE_FORMAT='JSON');
    PROPERTY_IN_WITH: Configuration KAFKA_TOPIC is invalid: Expected a topic's name, up to 249 letters (a-z, A-Z), digits, '.', '_' and '-', got '/a.*/'.
    line 1:31
      CREATE STREAM p (v INT) WITH (KAFKA_TOPIC='/a.*/', VALUE_FORMAT='JSON')
                                    ^^^^^^^^^^^^^^^^^^^

CREATE STREAM p (v INT, src INT TOPIC) WITH (KAFKA_TOPIC='a', VALUE_FORMAT='JSON');
    INVALID_STATEMENT: Invalid type for TOPIC column: expected STRING, got INTEGER.
    line 1:25
      CREATE STREAM p (v INT, src INT TOPIC) WITH (KAFKA_TOPIC='a', VALUE_FORMAT='JSON')
                              ^^^^^^^^^^^^^

CREATE STREAM p (v INT, src STRING TOPIC, other STRING TOPIC) WITH (KAFKA_TOPIC='a', VALUE_FORMAT='JSON');
    INVALID_STATEMENT: Schema already contains a TOPIC column.
    line 1:43
      CREATE STREAM p (v INT, src STRING TOPIC, other STRING TOPIC) WITH (KAFKA_TOPIC='a', VALUE_FORMAT='JSON')
                                                ^^^^^^^^^^^^^^^^^^
