-- History: rides that retention has removed come from an archive in Parquet, live rides from the topic

--@package deltalake ksql-spark[lake]

SET 'auto.offset.reset' = 'earliest';

-- The topic keeps a week of rides.
CREATE STREAM rides (tpep_pickup_datetime BIGINT, PULocationID INT, total_amount DOUBLE)
  WITH (KAFKA_TOPIC = 'rides', VALUE_FORMAT = 'JSON', PARTITIONS = 1,
    TIMESTAMP = 'tpep_pickup_datetime', RETENTION_MS = 604800000);

-- The archive keeps all of them.
CREATE SINK rides_archive FROM rides
  WITH (TYPE = 'parquet', PATH = '${folder}/rides', ARCHIVE = true, COMMIT_INTERVAL = '1 second');

-- Write the rides of yesterday, and remove them from the topic as soon as the archive has them.
--@run yesterday.py --archive ${folder}/rides

-- A ride is joined with the zones of its time, so the zones have an older one.
CREATE TABLE zones (LocationID INT PRIMARY KEY, Zone STRING)
  WITH (KAFKA_TOPIC = 'zones', VALUE_FORMAT = 'JSON', PARTITIONS = 1);

--@fill zones --start 2026-01-01T00:00:00

-- The same topic with its past.
CREATE STREAM all_rides (tpep_pickup_datetime BIGINT, PULocationID INT, total_amount DOUBLE)
  WITH (KAFKA_TOPIC = 'rides', VALUE_FORMAT = 'JSON',
    TIMESTAMP = 'tpep_pickup_datetime', ARCHIVE = '${folder}/rides');

-- Fares by zone and hour: those of yesterday, then those of now.
CREATE TABLE fares AS
  SELECT z.Zone AS zone, COUNT(*) AS rides, SUM(r.total_amount) AS fares
  FROM all_rides r
  JOIN zones z ON r.PULocationID = z.LocationID
  WINDOW TUMBLING (SIZE 1 HOUR)
  GROUP BY z.Zone
  EMIT CHANGES;

--@show Fares by zone and hour | key WINDOWSTART, ZONE; bar FARES | SELECT WINDOWSTART, ZONE, RIDES, FARES FROM fares EMIT CHANGES;
--@show Hours at JFK Airport | key WINDOWSTART | SELECT WINDOWSTART, RIDES, FARES FROM fares WHERE zone = 'JFK Airport';

--@generate rides --rate 20/s
