-- Fraud: cards that are used in two far places within minutes

SET 'auto.offset.reset' = 'earliest';

CREATE STREAM payments (id INT, card STRING, place STRING, latitude DOUBLE, longitude DOUBLE, amount DOUBLE)
  WITH (KAFKA_TOPIC = 'payments', VALUE_FORMAT = 'JSON', PARTITIONS = 1);

-- The same topic under a second name, because ksqlDB cannot join a stream with itself.
CREATE STREAM later_payments (id INT, card STRING, place STRING, latitude DOUBLE, longitude DOUBLE, amount DOUBLE)
  WITH (KAFKA_TOPIC = 'payments', VALUE_FORMAT = 'JSON');

--@generate payments --rate 50/s

-- Nobody travels 500 km in ten minutes.
CREATE STREAM suspicious_pairs AS
  SELECT a.card AS card, a.id AS first_id, b.id AS second_id, a.place AS first_place, b.place AS second_place,
         GEO_DISTANCE(a.latitude, a.longitude, b.latitude, b.longitude, 'KM') AS km,
         a.amount + b.amount AS amount
  FROM payments a
  INNER JOIN later_payments b WITHIN (0 SECONDS, 10 MINUTES) GRACE PERIOD 1 MINUTE ON a.card = b.card
  WHERE a.id < b.id AND GEO_DISTANCE(a.latitude, a.longitude, b.latitude, b.longitude, 'KM') > 500
  EMIT CHANGES;

--@show Payments in far places | | SELECT CARD, FIRST_PLACE, SECOND_PLACE, KM FROM suspicious_pairs EMIT CHANGES;

CREATE TABLE suspicious_cards AS
  SELECT card, COUNT(*) AS pairs, MAX(km) AS farthest_km, SUM(amount) AS amount
  FROM suspicious_pairs
  GROUP BY card
  EMIT CHANGES;

--@show Cards to block | key CARD; bar PAIRS | SELECT * FROM suspicious_cards EMIT CHANGES;
