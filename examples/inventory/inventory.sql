-- Inventory: what is in stock, by item and by store, from sales and deliveries; look-ups over REST

--@server ksql.heartbeat.enable = true
--@server ksql.lag.reporting.enable = true

SET 'auto.offset.reset' = 'earliest';

CREATE STREAM sales (store STRING, item STRING, quantity INT)
  WITH (KAFKA_TOPIC = 'sales', VALUE_FORMAT = 'JSON', PARTITIONS = 1);

CREATE STREAM restocks (store STRING, item STRING, quantity INT)
  WITH (KAFKA_TOPIC = 'restocks', VALUE_FORMAT = 'JSON', PARTITIONS = 1);

--@generate restocks --rate 2/s
--@generate sales --rate 5/s

-- One stream of all changes: two queries write it.
CREATE STREAM movements (store STRING, item STRING, quantity INT)
  WITH (KAFKA_TOPIC = 'movements', VALUE_FORMAT = 'JSON', PARTITIONS = 2);

INSERT INTO movements SELECT store, item, quantity FROM restocks EMIT CHANGES;
--@show Movements | | SELECT * FROM movements EMIT CHANGES;
INSERT INTO movements SELECT store, item, 0 - quantity AS quantity FROM sales EMIT CHANGES;

CREATE TABLE stock_by_item AS
  SELECT item, SUM(quantity) AS in_stock, COUNT(*) AS movements
  FROM movements
  GROUP BY item
  EMIT CHANGES;

--@show Stock by item | key ITEM; bar IN_STOCK | SELECT * FROM stock_by_item EMIT CHANGES;

-- The key has two columns, so it is JSON.
CREATE TABLE stock_by_store WITH (KEY_FORMAT = 'JSON') AS
  SELECT store, item, SUM(quantity) AS in_stock
  FROM movements
  GROUP BY store, item
  EMIT CHANGES;

--@show Look-up: tea | key ITEM | SELECT * FROM stock_by_item WHERE item = 'tea';
--@show Look-up: all of Oslo | key STORE, ITEM | SELECT * FROM stock_by_store WHERE store = 'Oslo';
