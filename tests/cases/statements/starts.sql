-- START: where a query begins to read.
CREATE STREAM s (k STRING KEY, v INT) WITH (KAFKA_TOPIC = '${case}_s', VALUE_FORMAT = 'JSON', PARTITIONS = 1);

--@test: from a time on, by the timestamps of records
INSERT INTO s (ROWTIME, k, v) VALUES (1700000000000, 'a', 1);
INSERT INTO s (ROWTIME, k, v) VALUES (1700000060000, 'a', 2);
INSERT INTO s (ROWTIME, k, v) VALUES (1700000120000, 'a', 4);
CREATE TABLE whole AS SELECT k, SUM(v) AS total FROM s GROUP BY k EMIT CHANGES;
CREATE TABLE some WITH (START = '2023-11-14T22:14') AS SELECT k, SUM(v) AS total FROM s GROUP BY k EMIT CHANGES;
CREATE TABLE few WITH (START = 1700000060001) AS SELECT k, SUM(v) AS total FROM s GROUP BY k EMIT CHANGES;
CREATE TABLE none WITH (START = 'latest') AS SELECT k, SUM(v) AS total FROM s GROUP BY k EMIT CHANGES;
INSERT INTO s (ROWTIME, k, v) VALUES (1700000180000, 'a', 8);
--@output WHOLE folded
-- k | total
-- a | 15
--@output SOME folded
-- k | total
-- a | 14
--@output FEW folded
-- k | total
-- a | 12
--@output NONE folded
-- k | total
-- a | 8
