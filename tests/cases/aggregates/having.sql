-- HAVING: conditions on groups and their aggregates.
CREATE STREAM s (k STRING, v STRING, n INT) WITH (KAFKA_TOPIC = '${case}_s', VALUE_FORMAT = 'JSON', PARTITIONS = 1);

--@test: texts that look like columns stay as they are
CREATE TABLE t AS SELECT k, MAX(v) AS most FROM s GROUP BY k
  HAVING MAX(v) = 'use `K` here' OR MAX(v) = '`KSQL_AGG_VARIABLE_0`' EMIT CHANGES;
INSERT INTO s (k, v) VALUES ('a', 'A');
INSERT INTO s (k, v) VALUES ('a', 'use `K` here');
INSERT INTO s (k, v) VALUES ('b', '`KSQL_AGG_VARIABLE_0`');
--@output T ordered
-- k | most
-- a | use `K` here
-- b | `KSQL_AGG_VARIABLE_0`

--@test: the group and aggregates in one condition
CREATE TABLE t AS SELECT k, SUM(n) AS total FROM s GROUP BY k
  HAVING (k = 'a' AND SUM(n) > 1) OR (k <> 'a' AND COUNT(*) > SUM(n)) EMIT CHANGES;
INSERT INTO s (k, n) VALUES ('a', 1);
INSERT INTO s (k, n) VALUES ('b', 2);
INSERT INTO s (k, n) VALUES ('a', 2);
INSERT INTO s (k, n) VALUES ('b', -3);
--@output T ordered
-- k | total
-- a | 3
-- b | -1
