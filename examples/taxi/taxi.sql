-- Taxi rides of New York: counts, a split by price, windows, zones, yellow and green taxis

-- Read the topics from the beginning, not only new records.
SET 'auto.offset.reset' = 'earliest';

-- One event per ride of a yellow taxi. Its event time is the pickup.
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

-- The same of green taxis, which serve the outer boroughs.
CREATE STREAM green_rides (
  VendorID INT,
  lpep_pickup_datetime BIGINT,
  lpep_dropoff_datetime BIGINT,
  PULocationID INT,
  DOLocationID INT,
  trip_distance DOUBLE,
  total_amount DOUBLE
) WITH (KAFKA_TOPIC = 'green_rides', VALUE_FORMAT = 'JSON', PARTITIONS = 1, TIMESTAMP = 'lpep_pickup_datetime');

-- The names of the location IDs.
CREATE TABLE zones (
  LocationID INT PRIMARY KEY,
  Borough STRING,
  Zone STRING,
  service_zone STRING
) WITH (KAFKA_TOPIC = 'zones', VALUE_FORMAT = 'JSON', PARTITIONS = 1);

--@fill zones
--@generate rides --rate 50/s
--@generate green_rides --rate 5/s

-- Split the rides into two topics by price.
CREATE STREAM expensive_rides AS
  SELECT * FROM rides WHERE total_amount >= 40 EMIT CHANGES;

--@show Rides of $40 and more | | SELECT TRIP_DISTANCE, TOTAL_AMOUNT, VENDORID FROM expensive_rides EMIT CHANGES;

CREATE STREAM cheap_rides AS
  SELECT * FROM rides WHERE total_amount < 40 EMIT CHANGES;

-- Count, revenue and mean distance by vendor.
CREATE TABLE rides_by_vendor AS
  SELECT VendorID, COUNT(*) AS trips, SUM(total_amount) AS revenue, AVG(trip_distance) AS distance
  FROM rides
  GROUP BY VendorID
  EMIT CHANGES;

--@show Rides by vendor | key VENDORID; bar TRIPS | SELECT * FROM rides_by_vendor EMIT CHANGES;

-- Count and revenue by vendor and minute.
CREATE TABLE rides_per_minute AS
  SELECT VendorID, COUNT(*) AS trips, SUM(total_amount) AS revenue
  FROM rides
  WINDOW TUMBLING (SIZE 1 MINUTE)
  GROUP BY VendorID
  EMIT CHANGES;

--@show One-minute windows | key WINDOWSTART, VENDORID | SELECT WINDOWSTART, VENDORID, TRIPS, REVENUE FROM rides_per_minute EMIT CHANGES;

-- Add the pickup zone to each ride.
CREATE STREAM rides_with_zones AS
  SELECT r.PULocationID AS LocationID, z.Borough AS Borough, z.Zone AS Zone,
         r.trip_distance AS trip_distance, r.total_amount AS total_amount
  FROM rides r
  LEFT JOIN zones z ON r.PULocationID = z.LocationID
  EMIT CHANGES;

--@show Where rides begin | | SELECT ZONE, BOROUGH, TOTAL_AMOUNT FROM rides_with_zones EMIT CHANGES;

-- Yellow and green rides that begin in one zone within a minute.
CREATE STREAM yellow_and_green AS
  SELECT y.PULocationID AS LocationID, y.total_amount AS yellow_amount, g.total_amount AS green_amount
  FROM rides y
  INNER JOIN green_rides g WITHIN 1 MINUTE GRACE PERIOD 10 SECONDS ON y.PULocationID = g.PULocationID
  EMIT CHANGES;

--@show Yellow and green in one zone | | SELECT * FROM yellow_and_green EMIT CHANGES;
