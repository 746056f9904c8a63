-- CDC: a table of PostgreSQL becomes a table here, change by change, and joins a stream

--@connector io.debezium:debezium-connector-postgres:3.7.0.Final

SET 'auto.offset.reset' = 'earliest';

-- A database of our own, whose customers move, leave and come back.
--@before database.py --port 54329
--@run database.py --port 54329 --wait

-- Debezium copies the table, then follows the database's log. Its envelope is unwrapped: what is left is the
-- row after the change; a row that was deleted is a record without a value, a tombstone.
CREATE SOURCE CONNECTOR customers_cdc WITH (
  "connector.class" = 'io.debezium.connector.postgresql.PostgresConnector',
  "database.hostname" = '127.0.0.1',
  "database.port" = '54329',
  "database.user" = 'postgres',
  "database.password" = 'not asked for',
  "database.dbname" = 'postgres',
  "table.include.list" = 'public.customers',
  "topic.prefix" = 'shop',
  "plugin.name" = 'pgoutput',
  "errors.max.retries" = '3',
  "transforms" = 'unwrap,key',
  "transforms.unwrap.type" = 'io.debezium.transforms.ExtractNewRecordState',
  "transforms.unwrap.delete.tombstone.handling.mode" = 'delete-to-tombstone',
  "transforms.key.type" = 'org.apache.kafka.connect.transforms.ExtractField$Key',
  "transforms.key.field" = 'id'
);
ASSERT TOPIC `shop.public.customers` TIMEOUT 60 SECONDS;

CREATE TABLE customers (id INT PRIMARY KEY, name STRING, city STRING)
  WITH (KAFKA_TOPIC = 'shop.public.customers', KEY_FORMAT = 'JSON', VALUE_FORMAT = 'JSON');

CREATE STREAM calls (customer INT, duration INT)
  WITH (KAFKA_TOPIC = 'calls', VALUE_FORMAT = 'JSON', PARTITIONS = 1);

--@generate calls --rate 2/s

--@show Changes in the database | key ID | SELECT * FROM customers EMIT CHANGES;

-- A customer who moves is taken out of one city, and added to another.
CREATE TABLE customers_by_city AS
  SELECT city, COUNT(*) AS customers
  FROM customers
  GROUP BY city
  EMIT CHANGES;

--@show Customers by city | key CITY; bar CUSTOMERS | SELECT * FROM customers_by_city EMIT CHANGES;

-- Each call with the name and city that the customer has at that moment.
CREATE STREAM named_calls AS
  SELECT c.customer AS customer, p.name AS name, p.city AS city, c.duration AS duration
  FROM calls c
  LEFT JOIN customers p ON c.customer = p.id
  EMIT CHANGES;

--@show Calls | | SELECT * FROM named_calls EMIT CHANGES;
