-- Taxi rides of New York, from two topics to five.
--
--   ksql-spark demo                        runs all of this and shows it live
--   ksql-spark run examples/taxi.sql       only makes the streams and tables; then feed them:
--   ksql-spark datagen zones --topic zones
--   ksql-spark datagen rides --topic rides --rate 50/s

-- Read what is in the topics already, not only what comes from now on.
SET 'auto.offset.reset' = 'earliest';

-- One event per ride. Its time is when the passengers got in.
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

-- What the location numbers mean.
CREATE TABLE zones (
  LocationID INT PRIMARY KEY,
  Borough STRING,
  Zone STRING,
  service_zone STRING
) WITH (KAFKA_TOPIC = 'zones', VALUE_FORMAT = 'JSON', PARTITIONS = 1);

-- Count by vendor.
CREATE TABLE rides_by_vendor AS
  SELECT VendorID, COUNT(*) AS trips, SUM(total_amount) AS revenue, AVG(trip_distance) AS distance
  FROM rides
  GROUP BY VendorID
  EMIT CHANGES;

-- Rides of 40 and more to one topic, cheaper ones to another.
CREATE STREAM expensive_rides AS
  SELECT * FROM rides WHERE total_amount >= 40 EMIT CHANGES;

CREATE STREAM cheap_rides AS
  SELECT * FROM rides WHERE total_amount < 40 EMIT CHANGES;

-- The same count, minute by minute.
CREATE TABLE rides_per_minute AS
  SELECT VendorID, COUNT(*) AS trips, SUM(total_amount) AS revenue
  FROM rides
  WINDOW TUMBLING (SIZE 1 MINUTE)
  GROUP BY VendorID
  EMIT CHANGES;

-- Where each ride began.
CREATE STREAM rides_with_zones AS
  SELECT r.PULocationID AS LocationID, z.Borough AS Borough, z.Zone AS Zone,
         r.trip_distance AS trip_distance, r.total_amount AS total_amount
  FROM rides r
  LEFT JOIN zones z ON r.PULocationID = z.LocationID
  EMIT CHANGES;
