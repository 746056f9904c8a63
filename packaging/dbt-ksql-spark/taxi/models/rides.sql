{{ config(materialized="source", with={
  "KAFKA_TOPIC": "rides", "VALUE_FORMAT": "JSON", "PARTITIONS": 1, "TIMESTAMP": "pickup"
}) }}
  vendor INT,
  pickup BIGINT,
  zone_id INT,
  distance DOUBLE,
  amount DOUBLE
