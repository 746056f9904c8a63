-- Statements that are refused after those of docs/reference/formats-in-detail.md below the same heading.

-- ## 5.4 Key formats
CREATE TABLE counts AS
  SELECT sensor, at_time, COUNT(*) AS n FROM readings GROUP BY sensor, at_time;
CREATE TABLE counts AS SELECT line, COUNT(*) AS n FROM lines GROUP BY line;

-- ## 5.9 Envelopes
CREATE TABLE t (id INT PRIMARY KEY, v INT) WITH (KAFKA_TOPIC = 't', VALUE_FORMAT = 'JSON', ENVELOPE = 'canal');
CREATE TABLE t (id INT PRIMARY KEY, v INT) WITH (KAFKA_TOPIC = 't', VALUE_FORMAT = 'DELIMITED', ENVELOPE = 'debezium');
CREATE TABLE t (id INT PRIMARY KEY) WITH (KAFKA_TOPIC = 't', VALUE_FORMAT = 'JSON', ENVELOPE = 'debezium');
INSERT INTO customers (id, name) VALUES (1, 'Ann');
