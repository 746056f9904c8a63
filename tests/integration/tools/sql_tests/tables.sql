CREATE STREAM orders (id INT KEY, item STRING, price DECIMAL(6, 2))
  WITH (KAFKA_TOPIC = 'orders', VALUE_FORMAT = 'JSON');
CREATE TABLE sums AS SELECT item, SUM(price) AS total FROM orders GROUP BY item HAVING SUM(price) < 9;

--@test: each record of a table, across a restart
INSERT INTO orders (ROWTIME, id, item, price) VALUES (10, 1, 'tea', 3.5), (20, 2, NULL, 4), (30, 3, 'a | b', 1);
--@output SUMS ordered
-- item    | total
-- tea     | 3.50
-- "a | b" | 1.00
--@restart
INSERT INTO orders (ROWTIME, id, item, price) VALUES (40, 4, 'tea', 6);
--@output SUMS ordered
-- item | total
-- tea  | <deleted>
--@output SUMS folded
-- item    | total
-- "a | b" | 1.00

--@test: the first identifiers, whatever ran before
--@server: ksql.streams.processing.guarantee = exactly_once_v2
SELECT id FROM orders EMIT CHANGES LIMIT 1;
INSERT INTO orders (id) VALUES (7);
--@rows
-- id
-- 7
EXPLAIN CTAS_SUMS_9;
--@error: QUERY_UNKNOWN
-- Unknown queryId: CTAS_SUMS_9. Did you mean CTAS_SUMS_1?
-- line 1:9
--   EXPLAIN CTAS_SUMS_9
--           ^^^^^^^^^^^

--@test: assertions beside tables
INSERT INTO orders (ROWTIME, id, item, price) VALUES (10, 1, 'tea', 3.5);
INSERT INTO orders (ROWTIME, id, item, price) VALUES (20, 2, 'cake', 1), (30, 3, 'tea', 1);
ASSERT VALUES sums (item, total) VALUES ('tea', 3.50);
--@output SUMS rowsort
-- item | total
-- cake | 1.00
-- tea  | 4.50
