-- Lakehouse: sales at the prices of a database, in a table of Delta Lake that DuckDB reads

--@package deltalake ksql-spark[lake,jdbc]
--@package sqlalchemy ksql-spark[lake,jdbc]
--@package duckdb duckdb

SET 'auto.offset.reset' = 'earliest';

-- A shop's database in SQLite, with a table of prices.
--@run prices.py ${folder}/shop.db

-- The server looks at it each second, so that changes of prices arrive here.
CREATE TABLE prices (item STRING PRIMARY KEY, price DOUBLE)
  WITH (LAKE = 'sqlite:///${folder}/shop.db', FORMAT = 'jdbc', REFRESH = '1 second', PARTITIONS = 1);

--@show Prices, from SQLite | key ITEM | SELECT * FROM prices EMIT CHANGES;

CREATE STREAM sales (store STRING, item STRING, quantity INT)
  WITH (KAFKA_TOPIC = 'sales', VALUE_FORMAT = 'JSON', PARTITIONS = 1);

--@generate sales --rate 10/s

-- Each sale at the price that the item has at that moment, by item.
CREATE TABLE revenue AS
  SELECT s.item AS item, SUM(s.quantity) AS sold, SUM(s.quantity * p.price) AS revenue
  FROM sales s
  JOIN prices p ON s.item = p.item
  GROUP BY s.item
  EMIT CHANGES;

--@show Revenue, in Kafka | key ITEM; bar REVENUE | SELECT * FROM revenue EMIT CHANGES;

-- The lake table equals the table after each commit.
CREATE SINK revenue_lake FROM revenue
  WITH (TYPE = 'delta', PATH = '${folder}/revenue', COMMIT_INTERVAL = '1 second');

--@show Revenue, in DuckDB | | python report.py ${folder}/revenue
