-- DROP and TERMINATE: what depends on what.
CREATE STREAM s (k STRING KEY, v INT) WITH (KAFKA_TOPIC = '${case}_s', VALUE_FORMAT = 'JSON', PARTITIONS = 1);

--@test: a source that others read stays until they are gone
CREATE STREAM a AS SELECT * FROM s EMIT CHANGES;
CREATE STREAM b AS SELECT * FROM a EMIT CHANGES;
DROP STREAM s;
--@error: INVALID_STATEMENT
-- Cannot drop S.
-- The following streams and/or tables read from this source: [A].
-- You need to drop them before dropping S.
DROP STREAM a;
--@error: INVALID_STATEMENT
-- Cannot drop A.
-- The following streams and/or tables read from this source: [B].
-- You need to drop them before dropping A.
DROP TABLE b;
--@error: INVALID_STATEMENT
-- Incompatible data source type is STREAM, but statement was DROP TABLE. Write DROP STREAM B.
-- line 1:12
--   DROP TABLE b
--              ^
DROP STREAM b DELETE TOPIC;
DROP STREAM a;
DROP STREAM s;
DROP STREAM s;
--@error: SOURCE_UNKNOWN
-- Stream or table does not exist: S. SHOW STREAMS and SHOW TABLES list all of them.
-- line 1:13
--   DROP STREAM s
--               ^
DROP STREAM IF EXISTS s;

--@test: a terminated query writes no more; its sink stays and can be read
CREATE STREAM a AS SELECT * FROM s EMIT CHANGES;
INSERT INTO s (k, v) VALUES ('x', 1);
--@output A ordered
-- k | v
-- x | 1
TERMINATE ALL;
CREATE STREAM b AS SELECT k, v + 1 AS v FROM a EMIT CHANGES;
INSERT INTO s (k, v) VALUES ('not seen by a', 2);
INSERT INTO a (k, v) VALUES ('by hand', 3);
--@output A ordered
-- k       | v
-- by hand | 3
--@output B ordered
-- k       | v
-- x       | 2
-- by hand | 4
TERMINATE nothing_like_it;
--@error: QUERY_UNKNOWN
-- Unknown queryId: NOTHING_LIKE_IT. SHOW QUERIES lists all queries.
-- line 1:11
--   TERMINATE nothing_like_it
--             ^^^^^^^^^^^^^^^
DROP STREAM b;
DROP STREAM a;
DROP STREAM s;

--@test: INSERT INTO SELECT must be terminated before its streams are dropped
CREATE STREAM t (k STRING KEY, v INT) WITH (KAFKA_TOPIC = '${case}_t', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
INSERT INTO t WITH (QUERY_ID = 'copying') SELECT * FROM s EMIT CHANGES;
DROP STREAM s;
--@error: INVALID_STATEMENT
-- Cannot drop source S.
-- The following queries read from this source: [COPYING].
-- The following queries write into this source: [].
-- You need to terminate them before dropping it.
DROP STREAM t;
--@error: INVALID_STATEMENT
-- Cannot drop source T.
-- The following queries read from this source: [].
-- The following queries write into this source: [COPYING].
-- You need to terminate them before dropping it.
TERMINATE copying;
DROP STREAM t;
DROP STREAM s;

--@test: the same name twice
CREATE STREAM s (k STRING KEY) WITH (KAFKA_TOPIC = '${case}_s', VALUE_FORMAT = 'JSON');
--@error: INVALID_STATEMENT
-- Cannot add stream 'S': A stream with the same name already exists. Use CREATE OR REPLACE, or DROP STREAM S; first.
-- line 1:15
--   CREATE STREAM s (k STRING KEY) WITH (KAFKA_TOPIC = '${case}_s', VALUE_FORMAT = 'JSON')
--                 ^
CREATE STREAM IF NOT EXISTS s (k STRING KEY) WITH (KAFKA_TOPIC = '${case}_s', VALUE_FORMAT = 'JSON');

--@test: PAUSE and RESUME; nothing that came meanwhile is lost, also over a restart
CREATE STREAM a AS SELECT * FROM s EMIT CHANGES;
INSERT INTO s (k, v) VALUES ('x', 1);
--@output A folded
-- k | v
-- x | 1
PAUSE ALL;
INSERT INTO s (k, v) VALUES ('y', 2);
--@restart
RESUME ALL;
INSERT INTO s (k, v) VALUES ('z', 3);
--@output A folded
-- k | v
-- x | 1
-- y | 2
-- z | 3
