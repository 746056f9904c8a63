-- Tables: projections and filters.
CREATE TABLE drivers (id STRING PRIMARY KEY, zone INT, rating INT) WITH (KAFKA_TOPIC = 'drivers', VALUE_FORMAT = 'JSON', PARTITIONS = 4);

CREATE TABLE renamed AS SELECT id AS driver, rating + 1 AS better FROM drivers EMIT CHANGES;
CREATE TABLE good AS SELECT id, zone FROM drivers WHERE rating >= 4 EMIT CHANGES;

SELECT * FROM drivers EMIT CHANGES;
SELECT zone, rating FROM drivers WHERE rating BETWEEN 2 AND 3 EMIT CHANGES LIMIT 2;
