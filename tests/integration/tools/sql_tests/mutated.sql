--@test: a bound that no record is at
CREATE STREAM s (k INT KEY, a INT) WITH (KAFKA_TOPIC = 's', VALUE_FORMAT = 'JSON');
CREATE STREAM small AS SELECT * FROM s
  WHERE a < 3;
INSERT INTO s (ROWTIME, k, a) VALUES (1, 1, 1);
INSERT INTO s (ROWTIME, k, a) VALUES (2, 2, 4);
INSERT INTO s (ROWTIME, k, a) VALUES (3, 3, 2);
ASSERT VALUES small (k) VALUES (1);
ASSERT VALUES small (k) VALUES (3);
