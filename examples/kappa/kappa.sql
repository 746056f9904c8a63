-- Kappa: a rule changes; the same SQL runs over the retained log again, is compared, and takes over

SET 'auto.offset.reset' = 'earliest';

-- The log. It keeps everything, so that a new rule can read it from the beginning.
CREATE STREAM payments (id INT, card STRING, place STRING, amount DOUBLE)
  WITH (KAFKA_TOPIC = 'payments', VALUE_FORMAT = 'JSON', PARTITIONS = 1, RETENTION_MS = -1);

--@generate payments --rate 50/s

-- The first rule: watch cards with payments of more than 350.
CREATE TABLE watch_list_v1 AS
  SELECT card, COUNT(*) AS payments, SUM(amount) AS total
  FROM payments
  WHERE amount > 350
  GROUP BY card
  EMIT CHANGES;

-- The name that applications read.
CREATE SOURCE TABLE watch_list (card STRING PRIMARY KEY, payments BIGINT, total DOUBLE)
  WITH (KAFKA_TOPIC = 'WATCH_LIST_V1', VALUE_FORMAT = 'JSON');

--@show What applications read | key CARD; bar PAYMENTS | SELECT * FROM watch_list;

--@then The rule changes: 300 is enough. It reads the log from the beginning, beside the first one.

CREATE TABLE watch_list_v2 AS
  SELECT card, COUNT(*) AS payments, SUM(amount) AS total
  FROM payments
  WHERE amount > 300
  GROUP BY card
  EMIT CHANGES;

-- Both results side by side.
CREATE TABLE rules_compared AS
  SELECT ROWKEY AS card, a.payments AS payments_v1, b.payments AS payments_v2,
         IFNULL(b.payments, CAST(0 AS BIGINT)) - IFNULL(a.payments, CAST(0 AS BIGINT)) AS more
  FROM watch_list_v1 a
  FULL OUTER JOIN watch_list_v2 b ON a.card = b.card
  EMIT CHANGES;

--@show The rules compared | key CARD; bar MORE | SELECT * FROM rules_compared EMIT CHANGES;

--@then The new result is right: applications read it from now on, and the old one goes.

DROP TABLE watch_list;
CREATE SOURCE TABLE watch_list (card STRING PRIMARY KEY, payments BIGINT, total DOUBLE)
  WITH (KAFKA_TOPIC = 'WATCH_LIST_V2', VALUE_FORMAT = 'JSON');
DROP TABLE rules_compared DELETE TOPIC;
DROP TABLE watch_list_v1 DELETE TOPIC;
