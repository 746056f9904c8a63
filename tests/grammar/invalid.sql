-- Texts that are not KSQL. The comment before each says line:column and a part of the message.

-- 1:1 Unknown statement 'SELEC'. Did you mean SELECT?
SELEC * FROM s;
-- 1:19 UPDATE needs a WHERE that says which rows: WHERE key = ….
UPDATE s SET a = 1;
-- 1:12 TRUNCATE removes all rows: DELETE FROM … WHERE removes some
TRUNCATE t WHERE k = 1;
-- 1:14 DELETE needs a WHERE that says which rows: WHERE key = ….
DELETE FROM s;
-- 1:14 Unexpected '('. Expected a name.
UPDATE s SET (a) = 1 WHERE k = 1;
-- 1:8 Unexpected 's'. Expected FROM.
DELETE s WHERE k = 1;
-- 1:13 LEFT is a reserved word
SELECT a AS left FROM s;
-- 1:1 Unknown statement 'RUN'.
RUN SCRIPT 'x';
-- 1:8 Unexpected 'VALUES'. Expected NOT, TOPIC or SCHEMA.
ASSERT VALUES s (id INT) VALUES (1);
-- 1:69 A duration cannot be longer than 1000000000 DAYS
SELECT a, COUNT(*) FROM s WINDOW TUMBLING (SIZE 1 DAY, GRACE PERIOD 9223372036854775807 DAYS) GROUP BY a;
-- 1:1 Unknown statement ')'.
);
-- 1:8 Unexpected 'ROLE'. Roles are not set by statements: a user's are in the file ksql.server.auth.users.file
CREATE ROLE x;
-- 1:1 Unknown statement 'GRANT'. Roles are not set by statements: a user's are in the file
GRANT SELECT ON t TO x;
-- 1:8 Unexpected 'SECRET'. Passwords are in files or variables of the server, which statements name
CREATE SECRET x AS 'y';
-- 1:8 Unexpected 'UNIQUE'. CREATE INDEX ON table (column) finds rows faster; only a table's key is unique.
CREATE UNIQUE INDEX x ON s (a);
-- 1:21 Unexpected 'USING'. Expected '('.
CREATE INDEX x ON s USING btree (a);
-- 1:23 Unexpected '('. Expected '->', ',' or ')'.
CREATE INDEX ON s (abs(a));
-- 1:8 Unexpected 'MATERIALIZED'. CREATE TABLE name AS SELECT …
CREATE MATERIALIZED VIEW x AS SELECT * FROM s;
-- 1:17 VIEW is a reserved word; to use it as a name, quote it: `VIEW`.
CREATE TABLE t (view INT) WITH (kafka_topic='x');
-- 1:6 Unexpected 'MATERIALIZED'. SHOW STREAMS and SHOW TABLES also list
SHOW MATERIALIZED VIEWS;
-- 1:8 Unexpected 'TEMPORARY'. WITH name AS (SELECT …) SELECT … names a query within a statement.
CREATE TEMPORARY VIEW x AS SELECT * FROM s;
-- 1:6 Unexpected 'DATABASES'. There are no databases, schemas or catalogs: each server has one set of streams and tables. SHOW STREAMS and
SHOW DATABASES;
-- 1:6 Unexpected 'SCHEMAS'. There are no databases
LIST SCHEMAS;
-- 1:8 Unexpected 'DATABASE'. There are no databases
CREATE DATABASE d;
-- 1:1 Unknown statement 'USE'. There are no databases, schemas or catalogs
USE d;
-- 1:13 Unexpected 'LIKE'. SHOW takes no pattern or condition: it lists all.
SHOW TABLES LIKE 'x%';
-- 1:23 Unexpected 'LIKE'. SHOW takes no pattern or condition: it lists all.
SHOW STREAMS EXTENDED LIKE 'x%';
-- 1:6 Unexpected 'CREATE'. DESCRIBE name EXTENDED shows the statement that created a stream or table.
SHOW CREATE TABLE t;
-- 1:6 Unexpected 'COLUMNS'. DESCRIBE name lists the columns of a stream or table.
SHOW COLUMNS FROM t;
-- 1:6 Unexpected 'JOBS'. SHOW QUERIES lists the queries that run.
SHOW JOBS;
-- 1:1 Unknown statement 'SUBSCRIBE'. SELECT … EMIT CHANGES sends each change of a result.
SUBSCRIBE TO t;
-- 1:15 Windows are a clause after the source: FROM name WINDOW TUMBLING (SIZE 1 HOUR) … GROUP BY …
SELECT * FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '1' HOUR));
-- 1:15 Windows are a clause after the source: FROM name WINDOW TUMBLING (SIZE 1 HOUR) … GROUP BY …
SELECT * FROM TUMBLE(t, ts, INTERVAL '1 HOUR');
-- 1:46 Unexpected 'WATERMARK'. WITH (TIMESTAMP = 'column') makes a column the time of a row
CREATE STREAM s (id STRING KEY, t TIMESTAMP, WATERMARK FOR t AS t - INTERVAL '5' SECOND);
-- 1:34 Unexpected 'METADATA'. Each row has ROWTIME, ROWPARTITION and ROWOFFSET without a definition
CREATE STREAM s (ts TIMESTAMP(3) METADATA FROM 'timestamp');
-- 1:37 Columns are computed by a query: CREATE STREAM … AS SELECT *, expression AS NOW FROM name
CREATE STREAM s (id STRING KEY, now AS PROCTIME());
-- 1:33 Unexpected 'PARTITIONED'. KEY after the type of a column makes it the record's key
CREATE STREAM s (id STRING KEY) PARTITIONED BY (id);
-- 1:13 The syntax is EXPLAIN ROW FROM name WHERE condition.
EXPLAIN ROW customers WHERE id = 1;
-- 1:21 The syntax is EXPLAIN MISSING ROW FROM name WHERE condition.
EXPLAIN MISSING ROW customers WHERE id = 1;
-- 1:8 Unexpected 'STREM'. Did you mean STREAM?
CREATE STREM x AS SELECT * FROM s;
-- 1:10 Unexpected 'FORM'. Did you mean FROM?
SELECT a FORM s EMIT CHANGES;
-- 1:17 Unexpected 'WHER'. Did you mean WHERE?
SELECT a FROM s WHER a = 1;
-- 1:22 Unexpected 'CHANGE'. Did you mean CHANGES?
SELECT a FROM s EMIT CHANGE;
-- 1:15 TABLE is a reserved word; to use it as a name, quote it: `TABLE`.
CREATE STREAM table (a INT) WITH (kafka_topic='x');
-- 1:18 FROM is a reserved word; to use it as a name, quote it: `FROM`.
CREATE STREAM s (from INT) WITH (kafka_topic='x');
-- 1:13 WHERE is a reserved word
SELECT a AS where FROM s;
-- 1:9 Nothing comes between ',' and FROM.
SELECT a, FROM s;
-- 1:23 Unbalanced bracket: this '(' is never closed.
SELECT * FROM s WHERE (a = 1;
-- 1:24 Unbalanced bracket: this ')' closes nothing.
SELECT * FROM s WHERE a) = 1;
-- 1:9 Unbalanced bracket: this '[' is never closed.
SELECT a[1) FROM s;
-- 1:13 Unbalanced bracket: this '(' is never closed.
SELECT COUNT(* FROM s;
-- 1:8 This string is never closed.
SELECT 'abc FROM s;
-- 1:8 This quoted name is never closed.
SELECT `abc FROM s;
-- 1:10 This comment is never closed.
SELECT a /* FROM s;
-- 1:11 Unexpected '#'. A comment begins with --.
SELECT a, #b FROM s;
-- 1:8 Variable ${x} is not defined.
SELECT ${x} FROM s;
-- 1:16 The statement does not end in ';'.
SELECT * FROM s
-- 1:29 Unexpected '='.
SELECT a FROM s WHERE a = b = c;
-- 1:27 Unexpected 'IS'.
SELECT a FROM s WHERE a=b IS NULL;
-- 1:29 Unexpected ')'. Expected an expression.
SELECT a FROM s WHERE a IN ();
-- 1:29 Unexpected '3'. Expected IN, BETWEEN or LIKE.
SELECT a FROM s WHERE a NOT 3;
-- 1:32 Unexpected 'AND'.
SELECT * FROM s PARTITION BY a AND b;
-- 1:13 Unexpected '+'. Expected ',' or FROM.
SELECT a->* + 1 FROM s;
-- 1:11 Unexpected '->'.
SELECT 1+1->* FROM s;
-- 1:17 Unexpected '('.
SELECT * FROM f (x);
-- 1:11 Unexpected '.'.
SELECT a.b.c FROM s;
-- 1:8 Number overflows DOUBLE: 1.8E308.
SELECT 1.8E308 FROM s;
-- 1:8 The number 9223372036854775808 does not fit BIGINT.
SELECT 9223372036854775808 FROM s;
-- 1:12 The number 9223372036854775808 does not fit BIGINT.
SELECT 1 - 9223372036854775808 FROM s;
-- 1:16 'x' is not a decimal number.
SELECT DECIMAL 'x' FROM s;
-- 1:18 Unexpected 'NULL'. Expected DECIMAL or a type.
SELECT CAST(a AS NULL) FROM s;
-- 1:32 Unexpected 'KEY'. Expected STRING or a whole number.
CREATE STREAM INPUT (K STRING (KEY)) WITH (kafka_topic='input');
-- 1:25 Unexpected '>'.
CREATE TYPE t AS MAP<INT>;
-- 1:18 DECIMAL takes a precision and a scale, as in DECIMAL(10, 2).
CREATE TYPE t AS DECIMAL(1);
-- 1:18 Unexpected ')'. Expected a name.
CREATE STREAM s () WITH (kafka_topic='x');
-- 1:40 Property KAFKA_TOPIC is set twice.
CREATE STREAM s WITH (kafka_topic='x', KAFKA_TOPIC='y');
-- 1:25 Unexpected 'x'. Expected a literal (a string is in single quotes).
CREATE STREAM s WITH (a=x);
-- 1:25 AS SELECT takes the columns from the query: remove the column list.
CREATE STREAM s (a INT) AS SELECT * FROM x;
-- 1:24 A SOURCE stream or table cannot be created AS SELECT.
CREATE SOURCE STREAM s AS SELECT * FROM x;
-- 1:23 Unexpected 'VALUE'. Did you mean VALUES?
INSERT INTO foo (a,b) VALUE (1,2);
-- 1:41 Unexpected 'HUOR'. Did you mean HOUR?
SELECT * FROM s WINDOW TUMBLING (SIZE 1 HUOR) GROUP BY a;
-- 1:39 Unexpected '1.5'. Expected a whole number.
SELECT * FROM s WINDOW TUMBLING (SIZE 1.5 HOURS) GROUP BY a;
-- 1:23 Unexpected 'heh'. Expected ALL or a whole number.
SELECT * FROM s LIMIT heh;
-- 1:23 The number 2147483648 is too large; the maximum is 2147483647.
SELECT * FROM s LIMIT 2147483648;
-- 1:32 The number 2147483647 is too large; the maximum is 2147483646.
SELECT * FROM s LIMIT 1 OFFSET 2147483647;
-- 1:28 EMIT, ORDER BY, LIMIT and OFFSET come after the last SELECT of an EXCEPT.
SELECT a FROM s ORDER BY a EXCEPT SELECT b FROM t;
-- 1:30 EMIT, ORDER BY, LIMIT and OFFSET come after the last SELECT of a UNION.
SELECT a FROM s EMIT CHANGES UNION ALL SELECT b FROM t;
-- 1:8 SELECT is a keyword and cannot be the name of a variable.
DEFINE select = 'x';
-- 1:8 ID is a keyword and cannot be the name of a variable.
DEFINE id = 'x';
-- 1:8 Unexpected '`x`'. Expected a variable name.
DEFINE `x` = 'x';
-- 1:12 Unexpected 'x'. Expected a string in single quotes.
DEFINE y = x;
-- 1:8 A name may not be empty.
SELECT `` FROM s;
-- 1:6 Unexpected 'STREEMS'. Did you mean STREAMS?
SHOW STREEMS;
-- 1:17 Unexpected 'EXTENDED'.
SHOW PROPERTIES EXTENDED;
-- 1:18 Unexpected 'FORM'. Did you mean FROM?
EXPLAIN SELECT * FORM s;
-- 1:9 Unknown statement 'FOO'.
EXPLAIN FOO BAR;
-- 1:15 'a b' cannot name a stream or table: use letters, digits, _ and -.
CREATE STREAM `a b` (a INT);
-- 1:13 'a.b' cannot name a stream or table: use letters, digits, _ and -.
INSERT INTO `a.b` VALUES (1);
-- 1:32 A sub-query needs parentheses: (SELECT …).
SELECT * FROM s WHERE a IN (1, SELECT b FROM t);
-- 1:9 A name with characters other than letters, digits and _ needs quotes, as in 'my-topic'.
PRINT my-topic;
-- 1:14 A ';' is missing before SHOW.
SHOW STREAMS SHOW TABLES;
-- 1:30 A ';' is missing before SELECT.
EXPLAIN SELECT a FROM s AS s SELECT b FROM t;
-- 1:26 Unexpected '=='. Equality is written with one =.
SELECT a FROM s WHERE id == 3;
-- 1:26 Unexpected '&'. AND joins conditions.
SELECT a FROM s WHERE id && b;
-- 1:23 Unexpected '!'. NOT negates a condition.
SELECT a FROM s WHERE !b;
-- 1:13 Unexpected 'FROM'. Expected DECIMAL or a type.
SELECT id:: FROM s;
-- 1:17 Unexpected '//'. A comment begins with --.
SELECT a FROM s // b;
-- 1:27 Unexpected '‘'. Text needs straight single quotes: 'text'.
SELECT a FROM s WHERE b = ‘x’;
-- 1:27 Unexpected '“'. Text needs straight single quotes: 'text'.
SELECT a FROM s WHERE b = “x”;
-- 1:10 Unexpected '–'. Write a minus sign as -.
SELECT a – 1 FROM s;
-- 1:11 There is an invisible character here, U+200B (zero width space). Delete it.
SELECT a, ​b FROM s;
-- 1:1 There is an invisible character here, U+200B (zero width space). Delete it.
​SELECT a FROM s;
-- 1:34 Unexpected '{'. A map is written MAP('key' := value).
INSERT INTO s (id, m) VALUES (1, {'a': 1});
-- 1:28 Nothing comes between ',' and ')'.
CREATE STREAM s (id INT KEY,) WITH (kafka_topic='s');
-- 1:38 Nothing comes between ',' and ')'.
CREATE STREAM s WITH (kafka_topic='s',);
-- 1:9 Nothing comes between ',' and ','.
SELECT a,,b FROM s;
-- 1:31 WINDOW is not allowed here: each clause comes once, in the order FROM, WINDOW, WHERE, GROUP BY, PARTITION BY, HAVING, QUALIFY, ORDER BY, EMIT, LIMIT, OFFSET.
SELECT a FROM s GROUP BY a, b WINDOW TUMBLING (SIZE 1 HOUR);
-- 1:31 WHERE is not allowed here: each clause comes once
SELECT a FROM s EMIT CHANGES  WHERE a = 1;
-- 1:31 WHERE is not allowed here: each clause comes once
SELECT a FROM s WHERE a = 1   WHERE b = 1;
-- 1:25 EMIT is not allowed here: each clause comes once
SELECT a FROM s LIMIT 5 EMIT CHANGES;
-- 1:17 Unexpected '-'. A name with - needs backticks, which keep its case: `US-EAST`.
CREATE STREAM us-east (a INT) WITH (kafka_topic='x');
-- 1:17 Unexpected '-'. A name with - needs backticks
SELECT * FROM us-east;
-- 1:18 Unexpected '-'. A name with - needs backticks
TERMINATE CSAS_us-east_1;
-- 1:17 Unexpected '.'. Names of streams and tables have no dots; topics may have them.
CREATE STREAM us.orders (a INT) WITH (kafka_topic='us.orders');
-- 1:13 Unexpected '.'. -> reads a STRUCT's field, as in POS->LAT.
SELECT s.pos.lat FROM s;
-- 1:25 Unexpected 'ILIKE'. LCASE(text) LIKE 'pattern' ignores case.
SELECT a FROM s WHERE a ILIKE 'x%';
-- 1:28 IS compares with NULL or DISTINCT FROM; use = for other values.
SELECT a FROM s WHERE b IS 3;
-- 1:23 Rows in a comparison have the same number of values, as in (a, b) = (c, d).
SELECT a FROM s WHERE (a, b) = (1, 2, 3);
-- 1:54 ALL and ANY (SELECT …) cannot be nested: put one of them into WITH.
SELECT a FROM s WHERE a > ALL (SELECT b FROM t WHERE b > ANY (SELECT c FROM u WHERE c < ALL (SELECT d FROM v)));
-- 1:23 Comparisons of rows cannot be nested.
SELECT a FROM s WHERE ((a, b) < (c, d), 1) < (2, 3);
-- 1:20 There is no WINDOW V AS (…).
SELECT SUM(a) OVER V FROM s WINDOW w AS (ORDER BY a);
-- 1:60 Unexpected 'PRECEDING'. Expected FOLLOWING
SELECT SUM(a) OVER (ROWS BETWEEN 1 PRECEDING AND UNBOUNDED PRECEDING) FROM s;
-- 1:38 QUALIFY is not allowed here: each clause comes once
SELECT a FROM s HAVING a QUALIFY (a) QUALIFY (b);
-- 1:31 Unexpected 'a'. Expected WITH or SELECT.
SELECT a FROM s WHERE EXISTS (a);
-- 1:25 PRIMARY KEY follows each key column, as in id INT PRIMARY KEY.
CREATE TABLE s (id INT, PRIMARY KEY (id)) WITH (kafka_topic='s');
-- 1:31 WITH comes before its SELECT: INSERT … WITH name AS (…) SELECT ….
WITH x AS (SELECT a FROM s)   INSERT INTO t SELECT * FROM x;
-- 1:15 INSERT INTO … SELECT has no column list: SELECT all columns in their order.
INSERT INTO s (a, b) SELECT a, b FROM t;
-- 1:30 The statement ends too early.
INSERT INTO s VALUES (1, 2) , ;
-- 1:42 RETURNING takes * or names of columns.
INSERT INTO s (a) VALUES (1) RETURNING a + 1;
-- 1:10 DESCRIBE takes only the name: DESCRIBE C.
DESCRIBE TABLE c;
-- 1:11 TERMINATE takes only the name: TERMINATE CSAS_X_1.
TERMINATE QUERY csas_x_1;
-- 1:8 IF NOT EXISTS comes before the name: CREATE STREAM IF NOT EXISTS name.
CREATE IF NOT EXISTS STREAM s (id INT) WITH (kafka_topic='s');
-- 1:6 IF EXISTS comes before the name: DROP STREAM IF EXISTS name.
DROP IF EXISTS STREAM s;
-- 1:40 FOR SYSTEM_TIME AS OF follows the name of a table
SELECT * FROM s JOIN (SELECT a FROM t) FOR SYSTEM_TIME AS OF s.ROWTIME ON a = b;
-- 1:24 FOR SYSTEM_TIME AS OF takes a column, as in s.ROWTIME
SELECT * FROM s JOIN t FOR SYSTEM_TIME AS OF F(a) ON a = b;
-- 1:59 UNNEST of one array WITH ORDINALITY has two columns: u (element, number)
SELECT * FROM s CROSS JOIN UNNEST(a) WITH ORDINALITY AS u (x);
-- 1:48 CROSS JOIN UNNEST comes after all other joins, or in a sub-query
SELECT * FROM s CROSS JOIN UNNEST(a) AS u (x)  JOIN t ON x = y;
-- 1:68 Unexpected ')'. Expected a name.
SELECT * FROM s MATCH_RECOGNIZE (ORDER BY ROWTIME PATTERN (A | B | ) WITHIN 1 HOUR);
-- 1:61 A quantifier {n,m} needs 0 <= n <= m and m > 0.
SELECT * FROM s MATCH_RECOGNIZE (ORDER BY ROWTIME PATTERN (A{3,2}));
-- 1:62 A part of a pattern has one quantifier; put brackets around
SELECT * FROM s MATCH_RECOGNIZE (ORDER BY ROWTIME PATTERN (A+*));
-- 1:60 ^ and $ are not supported
SELECT * FROM s MATCH_RECOGNIZE (ORDER BY ROWTIME PATTERN (^A B));
-- 1:62 Exclusion, {- … -}, is not supported
SELECT * FROM s MATCH_RECOGNIZE (ORDER BY ROWTIME PATTERN (A {- B -}));
-- 1:60 PERMUTE is not supported
SELECT * FROM s MATCH_RECOGNIZE (ORDER BY ROWTIME PATTERN (PERMUTE(A, B)));
-- 1:51 SUBSET is not supported
SELECT * FROM s MATCH_RECOGNIZE (ORDER BY ROWTIME SUBSET U = (A, B) PATTERN (A B));
-- 1:83 WITHIN comes between PATTERN and DEFINE.
SELECT * FROM s MATCH_RECOGNIZE (ORDER BY ROWTIME PATTERN (A) DEFINE A AS a.x > 1 WITHIN 1 HOUR);
-- 1:79 INTERVAL takes a whole number in quotes
SELECT * FROM s MATCH_RECOGNIZE (ORDER BY ROWTIME PATTERN (A) WITHIN INTERVAL 'a' HOUR);
-- 1:70 ALL ROWS PER MATCH has the rows of matches only
SELECT * FROM s MATCH_RECOGNIZE (ORDER BY ROWTIME ALL ROWS PER MATCH SHOW EMPTY MATCHES PATTERN (A));
-- 1:63 The number 1001 is too large; the maximum is 1000.
SELECT * FROM s MATCH_RECOGNIZE (ORDER BY ROWTIME PATTERN (A {1001}) WITHIN 1 HOUR);
-- 1:49 Unexpected 'EVERY'.
SELECT a, COUNT(*) FROM s GROUP BY a EMIT FINAL EVERY 10 SECONDS;
-- 1:59 Unexpected 'MONTH'.
SELECT a, COUNT(*) FROM s GROUP BY a EMIT CHANGES EVERY 1 MONTH;
-- 1:18 Expected the name of a JSON member.
SELECT payload:a.'b' FROM s;
-- 1:21 INTERVAL takes whole numbers and units, as in INTERVAL '1' HOUR or INTERVAL '1 day 2 hours'; not 'one day'.
SELECT t + INTERVAL 'one day' FROM s;
-- 1:23 Unexpected 'FOO'.
SELECT t + INTERVAL 1 FOO FROM s;
-- 1:6 WITH RECURSIVE is not supported: a query of WITH reads those before it, not itself
WITH RECURSIVE r AS (SELECT 1) SELECT * FROM r;
-- 1:37 A frame without BETWEEN begins before the current row, or with it
SELECT SUM(a) OVER (ORDER BY a ROWS 1 FOLLOWING) FROM s;
-- 1:21 Unexpected 'IS'. Expected '.'.
COMMENT ON COLUMN t IS 'x';
-- 1:12 Unexpected 'INDEX'. Expected STREAM, TABLE, VIEW or COLUMN.
COMMENT ON INDEX i IS 'x';
-- 1:57 A comma comes before GRACE PERIOD: write , GRACE PERIOD 5 MINUTES.
SELECT a, COUNT(*) FROM s WINDOW TUMBLING (SIZE 1 HOURS GRACE 5 MINUTES) GROUP BY a;
-- 1:56 A comma comes before GRACE PERIOD: write , GRACE PERIOD 5 MINUTES.
SELECT a, COUNT(*) FROM s WINDOW TUMBLING (SIZE 1 HOUR GRACE PERIOD 5 MINUTES) GROUP BY a;
-- 1:57 Write GRACE PERIOD 5 MINUTES.
SELECT a, COUNT(*) FROM s WINDOW TUMBLING (SIZE 1 HOUR, GRACE 5 MINUTES) GROUP BY a;
-- 1:55 A comma comes before ADVANCE BY: write , ADVANCE BY 5 MINUTES.
SELECT a, COUNT(*) FROM s WINDOW HOPPING (SIZE 1 HOUR ADVANCE BY 5 MINUTES) GROUP BY a;
-- 1:56 Write ADVANCE BY 5 MINUTES.
SELECT a, COUNT(*) FROM s WINDOW HOPPING (SIZE 1 HOUR, ADVANCE 5 MINUTES) GROUP BY a;
-- 1:53 A comma comes before GRACE PERIOD
SELECT a, COUNT(*) FROM s WINDOW SESSION (5 MINUTES GRACE PERIOD 1 MINUTE) GROUP BY a;
-- 1:80 A comma comes before RETENTION: write , RETENTION 1 DAY.
SELECT a, COUNT(*) FROM s WINDOW TUMBLING (SIZE 1 HOUR, GRACE PERIOD 5 MINUTES RETENTION 1 DAY) GROUP BY a;
-- 1:44 A window begins with SIZE: TUMBLING (SIZE 1 HOUR …).
SELECT a, COUNT(*) FROM s WINDOW TUMBLING (1 HOUR) GROUP BY a;
-- 1:47 Write GRACE PERIOD 5 MINUTES.
SELECT * FROM s JOIN u WITHIN 1 HOUR          GRACE 5 MINUTES ON s.a = u.a;
-- 1:25 OFFSET is for pull queries: rows of a stream have no numbers. Remove OFFSET or EMIT.
SELECT a FROM s LIMIT 5 OFFSET 2 EMIT CHANGES;
-- 1:17 OFFSET is for pull queries
SELECT a FROM s OFFSET 2 EMIT CHANGES;
