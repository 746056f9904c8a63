-- The topics of generator.py. Rows come at most a second late, so windows wait a second.
CREATE STREAM person (id BIGINT KEY, name STRING, emailAddress STRING, creditCard STRING, city STRING, state STRING,
    dateTime TIMESTAMP, extra STRING)
  WITH (KAFKA_TOPIC = 'person', KEY_FORMAT = 'KAFKA', VALUE_FORMAT = '${format}', LATENESS = '1 SECOND');
CREATE STREAM auction (id BIGINT KEY, itemName STRING, description STRING, initialBid BIGINT, reserve BIGINT,
    dateTime TIMESTAMP, expires TIMESTAMP, seller BIGINT, category BIGINT, extra STRING)
  WITH (KAFKA_TOPIC = 'auction', KEY_FORMAT = 'KAFKA', VALUE_FORMAT = '${format}', LATENESS = '1 SECOND');
CREATE STREAM bid (auction BIGINT KEY, bidder BIGINT, price BIGINT, channel STRING, url STRING, dateTime TIMESTAMP,
    extra STRING)
  WITH (KAFKA_TOPIC = 'bid', KEY_FORMAT = 'KAFKA', VALUE_FORMAT = '${format}', LATENESS = '1 SECOND');
CREATE TABLE side_input (id BIGINT PRIMARY KEY, value STRING)
  WITH (LAKE = '${side_input}', FORMAT = 'parquet', REPLICATED = true);
