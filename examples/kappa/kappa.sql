-- Kappa: a rule changes; its new version reads the retained log beside the old one, and takes over

SET 'auto.offset.reset' = 'earliest';
-- how soon the server notices that the new version has caught up
SET 'ksql.checkpoint.interval.ms' = '5000';

-- The log. It keeps everything, so that a new rule can read it from the beginning.
CREATE STREAM payments (id INT, card STRING, place STRING, amount DOUBLE)
  WITH (KAFKA_TOPIC = 'payments', VALUE_FORMAT = 'JSON', PARTITIONS = 1, RETENTION_MS = -1);

--@generate payments --rate 50/s

-- The first rule: watch cards with payments of more than 350.
CREATE TABLE watch_list AS
  SELECT card, COUNT(*) AS payments, SUM(amount) AS total
  FROM payments
  WHERE amount > 350
  GROUP BY card
  EMIT CHANGES;

-- What another team has made of it.
CREATE TABLE suspicious AS
  SELECT card, payments, total FROM watch_list WHERE payments > 1 EMIT CHANGES;

--@show The watch list | key CARD; bar PAYMENTS | SELECT * FROM watch_list;
--@show What another team makes of it | key CARD; bar TOTAL | SELECT * FROM suspicious EMIT CHANGES;

--@then The rule changes: 300 is enough, also for payments of the past. Both tables will show the switch.

-- Ask first: EXPLAIN EVOLUTION tells what the change does, and to whom.
CREATE OR REPLACE TABLE watch_list WITH (EVOLVE = 'backfill') AS
  SELECT card, COUNT(*) AS payments, SUM(amount) AS total
  FROM payments
  WHERE amount > 300
  GROUP BY card
  EMIT CHANGES;

--@then The new version reads the log, and takes over by itself. ROLLBACK watch_list would go back.
