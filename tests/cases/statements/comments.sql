-- Beyond ksqlDB: comments on streams, tables, views and columns (what DESCRIBE shows of them: tests/statements).

--@test: comments come back after a restart, and what runs goes on
CREATE STREAM rides (zone STRING KEY, fare INT) WITH (KAFKA_TOPIC = '${case}_rides', FORMAT = 'JSON', PARTITIONS = 1);
CREATE TABLE per_zone WITH (KAFKA_TOPIC = '${case}_per_zone') AS SELECT zone, COUNT(*) AS n FROM rides GROUP BY zone;
CREATE VIEW busy AS SELECT * FROM per_zone WHERE n > 1;
COMMENT ON STREAM rides IS 'One ride each; it''s in dollars';
COMMENT ON TABLE per_zone IS 'Rides of each zone';
COMMENT ON COLUMN per_zone.n IS 'Since the beginning';
COMMENT ON VIEW busy IS 'Zones with several rides';
INSERT INTO rides VALUES ('a', 1);
--@output PER_ZONE folded
-- zone | n
-- a    | 1
--@restart
COMMENT ON COLUMN per_zone.n IS NULL;
COMMENT ON COLUMN per_zone.m IS 'There is no such column';
--@error: INVALID_STATEMENT
-- PER_ZONE has no column M. DESCRIBE PER_ZONE; shows its columns.
-- line 1:28
--   COMMENT ON COLUMN per_zone.m IS 'There is no such column'
--                              ^
COMMENT ON TABLE nowhere IS 'There is no such table';
--@error: SOURCE_UNKNOWN
-- Stream or table does not exist: NOWHERE. SHOW STREAMS and SHOW TABLES list all of them.
-- line 1:18
--   COMMENT ON TABLE nowhere IS 'There is no such table'
--                    ^^^^^^^
COMMENT ON STREAM per_zone IS 'It is a table';
--@error: INVALID_STATEMENT
-- PER_ZONE is a table. Write COMMENT ON TABLE PER_ZONE IS '…';
-- line 1:19
--   COMMENT ON STREAM per_zone IS 'It is a table'
--                     ^^^^^^^^
INSERT INTO rides VALUES ('a', 2);
--@output PER_ZONE folded
-- zone | n
-- a    | 2
SELECT * FROM busy;
--@rows
-- zone | n
-- a    | 2
