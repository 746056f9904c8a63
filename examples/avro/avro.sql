-- Avro: taxi rides from and to Python programs, with a schema that grows while queries run

--@registry

SET 'auto.offset.reset' = 'earliest';

-- A Python program registers version 1 of the schema and writes rides with it.
--@run producer.py --version 1 --count 50

-- The columns come from the schema registry.
CREATE STREAM avro_rides WITH (KAFKA_TOPIC = 'avro_rides', VALUE_FORMAT = 'AVRO');

CREATE TABLE avro_vendors AS
  SELECT vendor, COUNT(*) AS trips, SUM(total) AS revenue
  FROM avro_rides
  GROUP BY vendor
  EMIT CHANGES;

--@show Vendors | key VENDOR; bar TRIPS | SELECT * FROM avro_vendors EMIT CHANGES;
--@show A consumer in Python | | python consumer.py

-- Version 2 has a tip. The query above reads on.
--@run producer.py --version 2 --count 50

-- From here on the stream has the new column. It is NULL in rides of version 1: each record is read by the schema
-- that it was written with.
CREATE OR REPLACE STREAM avro_rides WITH (KAFKA_TOPIC = 'avro_rides', VALUE_FORMAT = 'AVRO');

CREATE TABLE avro_tips AS
  SELECT vendor, SUM(tip) AS tips, MAX(tip) AS highest
  FROM avro_rides
  GROUP BY vendor
  EMIT CHANGES;

--@start producer.py --version 2 --rate 10
--@show Tips | key VENDOR; bar TIPS | SELECT * FROM avro_tips EMIT CHANGES;
