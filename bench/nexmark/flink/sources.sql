CREATE TABLE person (id BIGINT, name STRING, emailAddress STRING, creditCard STRING, city STRING, state STRING,
  `dateTime` BIGINT, extra STRING, ts AS TO_TIMESTAMP_LTZ(`dateTime`, 3), WATERMARK FOR ts AS ts - INTERVAL '1' SECOND)
WITH (${source}, 'topic' = 'person');
CREATE TABLE auction (id BIGINT, itemName STRING, description STRING, initialBid BIGINT, reserve BIGINT,
  `dateTime` BIGINT, expires BIGINT, seller BIGINT, category BIGINT, extra STRING,
  ts AS TO_TIMESTAMP_LTZ(`dateTime`, 3), WATERMARK FOR ts AS ts - INTERVAL '1' SECOND)
WITH (${source}, 'topic' = 'auction');
CREATE TABLE bid (auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING, `dateTime` BIGINT,
  extra STRING, ts AS TO_TIMESTAMP_LTZ(`dateTime`, 3), WATERMARK FOR ts AS ts - INTERVAL '1' SECOND)
WITH (${source}, 'topic' = 'bid');
