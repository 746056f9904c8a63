--@test: sums do not depend on the order
CREATE STREAM s (k INT KEY, a INT) WITH (KAFKA_TOPIC = 's', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE TABLE sums AS SELECT k, SUM(a) AS total FROM s
  WINDOW TUMBLING (SIZE 10 SECONDS, GRACE PERIOD 5 SECONDS) GROUP BY k;
INSERT INTO s (ROWTIME, k, a) VALUES (1000, 1, 1), (2000, 2, 2), (3000, 1, 3), (4000, 3, 4);
INSERT INTO s (ROWTIME, k, a) VALUES (5000, 2, 5);
INSERT INTO s (ROWTIME, k, a) VALUES (12000, 3, 6);
ASSERT VALUES sums (k, total) VALUES (1, 1);
ASSERT VALUES sums (k, total) VALUES (2, 2);
ASSERT VALUES sums (k, total) VALUES (1, 4);

--@test: the latest of several keys does
CREATE STREAM s (k INT KEY, g INT, a INT) WITH (KAFKA_TOPIC = 's', VALUE_FORMAT = 'JSON');
CREATE TABLE latest AS SELECT g, LATEST_BY_OFFSET(a) AS a, COUNT(*) AS n FROM s GROUP BY g;
INSERT INTO s (ROWTIME, k, g, a) VALUES (1, 1, 1, 1);
INSERT INTO s (ROWTIME, k, g, a) VALUES (2, 2, 1, 2);
INSERT INTO s (ROWTIME, k, g, a) VALUES (3, 3, 2, 3);
INSERT INTO s (ROWTIME, k, g, a) VALUES (4, 4, 2, 4);
ASSERT VALUES latest (g, a, n) VALUES (1, 1, 1);
