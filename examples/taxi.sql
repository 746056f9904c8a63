-- New York taxi rides: two input topics, five output topics.
--
--   ksql-spark demo                        runs the whole example and shows live results
--   ksql-spark run examples/taxi.sql       only creates the streams and tables; then generate records:
--   ksql-spark datagen zones --topic zones
--   ksql-spark datagen rides --topic rides --rate 50/s

-- Read the topics from the beginning, not only new records.
SET 'auto.offset.reset' = 'earliest';

-- One event per ride. Its event time is the pickup.
CREATE STREAM rides (
  VendorID INT,
  tpep_pickup_datetime BIGINT,
  tpep_dropoff_datetime BIGINT,
  passenger_count INT,
  trip_distance DOUBLE,
  PULocationID INT,
  DOLocationID INT,
  fare_amount DOUBLE,
  tip_amount DOUBLE,
  total_amount DOUBLE
) WITH (KAFKA_TOPIC = 'rides', VALUE_FORMAT = 'JSON', PARTITIONS = 1, TIMESTAMP = 'tpep_pickup_datetime');

-- The names of the location IDs.
CREATE TABLE zones (
  LocationID INT PRIMARY KEY,
  Borough STRING,
  Zone STRING,
  service_zone STRING
) WITH (KAFKA_TOPIC = 'zones', VALUE_FORMAT = 'JSON', PARTITIONS = 1);

-- Count, revenue and mean distance by vendor.
CREATE TABLE rides_by_vendor AS
  SELECT VendorID, COUNT(*) AS trips, SUM(total_amount) AS revenue, AVG(trip_distance) AS distance
  FROM rides
  GROUP BY VendorID
  EMIT CHANGES;

-- Split the rides into two topics by price.
CREATE STREAM expensive_rides AS
  SELECT * FROM rides WHERE total_amount >= 40 EMIT CHANGES;

CREATE STREAM cheap_rides AS
  SELECT * FROM rides WHERE total_amount < 40 EMIT CHANGES;

-- Count and revenue by vendor and minute.
CREATE TABLE rides_per_minute AS
  SELECT VendorID, COUNT(*) AS trips, SUM(total_amount) AS revenue
  FROM rides
  WINDOW TUMBLING (SIZE 1 MINUTE)
  GROUP BY VendorID
  EMIT CHANGES;

-- Add the pickup zone to each ride.
CREATE STREAM rides_with_zones AS
  SELECT r.PULocationID AS LocationID, z.Borough AS Borough, z.Zone AS Zone,
         r.trip_distance AS trip_distance, r.total_amount AS total_amount
  FROM rides r
  LEFT JOIN zones z ON r.PULocationID = z.LocationID
  EMIT CHANGES;
