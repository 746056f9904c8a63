-- Projections, filters, keys, table functions, unions of streams.
CREATE STREAM rides (id STRING KEY, zone INT, fare DECIMAL(8, 2), tags ARRAY<STRING>, "from" STRING, pos STRUCT<lat DOUBLE, lon DOUBLE>)
  WITH (KAFKA_TOPIC = 'rides', VALUE_FORMAT = 'JSON', PARTITIONS = 4);
CREATE STREAM bare (a INT, b STRING) WITH (KAFKA_TOPIC = 'bare', VALUE_FORMAT = 'DELIMITED', PARTITIONS = 1);
CREATE STREAM hops (k STRING KEY, v INT)
  WITH (KAFKA_TOPIC = 'hops', VALUE_FORMAT = 'JSON', WINDOW_TYPE = 'HOPPING', WINDOW_SIZE = '10 SECONDS');

CREATE STREAM all_of_it AS SELECT * FROM rides EMIT CHANGES;
CREATE STREAM dear AS
  SELECT id, fare * 2 AS twice, `from` AS start, pos->lat, CASE WHEN zone IN (1, 2) THEN 'near' ELSE 'far' END AS how
  FROM rides WHERE fare > 10 AND tags[1] LIKE 'x%' EMIT CHANGES;
CREATE STREAM by_zone WITH (KEY_FORMAT = 'JSON', PARTITIONS = 2) AS
  SELECT zone, id, ROWTIME AS moment FROM rides PARTITION BY zone EMIT CHANGES;
CREATE STREAM by_two WITH (KEY_FORMAT = 'JSON') AS
  SELECT zone, UCASE(`from`) AS start, fare FROM rides PARTITION BY zone, UCASE(`from`) EMIT CHANGES;
CREATE STREAM keyless AS SELECT id, zone FROM rides PARTITION BY NULL EMIT CHANGES;
CREATE STREAM exploded AS SELECT id, EXPLODE(tags) AS tag, TRANSFORM(tags, t => UCASE(t)) AS upper FROM rides EMIT CHANGES;
CREATE STREAM windowed AS SELECT k, v, WINDOWSTART AS begins FROM hops WHERE v > 0 EMIT CHANGES;
INSERT INTO bare SELECT zone, `from` FROM rides PARTITION BY NULL EMIT CHANGES;
INSERT INTO all_of_it WITH (QUERY_ID = 'copying') SELECT * FROM rides WHERE zone = 7 EMIT CHANGES;

SELECT * FROM rides EMIT CHANGES;
SELECT ROWTIME, ROWOFFSET, fare FROM rides WHERE zone = 3 EMIT CHANGES LIMIT 5;

-- a cast whose failures nobody needs to hear of
CREATE STREAM tried AS SELECT id, TRY_CAST(`from` AS INT) AS n FROM rides EMIT CHANGES;
