-- Several queries that write one stream.
CREATE STREAM first (k STRING KEY, n INT) WITH (KAFKA_TOPIC = '${case}_first', VALUE_FORMAT = 'JSON', PARTITIONS = 2);
CREATE STREAM other (k STRING KEY, n INT) WITH (KAFKA_TOPIC = '${case}_other', VALUE_FORMAT = 'JSON', PARTITIONS = 3);

--@test: each writer's rows of a key keep their order; ending one leaves the others
CREATE STREAM both_of WITH (PARTITIONS = 2) AS SELECT k, n, 'first' AS writer FROM first EMIT CHANGES;
INSERT INTO both_of WITH (QUERY_ID = 'second') SELECT k, n * 10 AS n, 'other' AS writer FROM other EMIT CHANGES;
CREATE TABLE orders WITH (KEY_FORMAT = 'JSON') AS
  SELECT writer, k, COLLECT_LIST(n) AS seen FROM both_of GROUP BY writer, k EMIT CHANGES;
INSERT INTO first (k, n) VALUES ('a', 1);
INSERT INTO first (k, n) VALUES ('b', 2);
INSERT INTO other (k, n) VALUES ('a', 1);
INSERT INTO first (k, n) VALUES ('a', 3);
INSERT INTO other (k, n) VALUES ('a', 2);
INSERT INTO other (k, n) VALUES ('b', 3);
INSERT INTO first (k, n) VALUES ('a', 4);
--@output ORDERS folded
-- writer | k | seen
-- first  | a | [1, 3, 4]
-- first  | b | [2]
-- other  | a | [10, 20]
-- other  | b | [30]
TERMINATE second;
INSERT INTO other (k, n) VALUES ('a', 9);
INSERT INTO first (k, n) VALUES ('b', 5);
--@output ORDERS folded
-- writer | k | seen
-- first  | a | [1, 3, 4]
-- first  | b | [2, 5]
-- other  | a | [10, 20]
-- other  | b | [30]
