--@test: another value
CREATE STREAM a (id INT KEY, b STRING) WITH (KAFKA_TOPIC = 'a', VALUE_FORMAT = 'JSON');
INSERT INTO a (rowtime, id, b) VALUES (7, 1, 'x');
  ASSERT VALUES a (rowtime, id, b) VALUES (7, 1, 'longer');

--@test: no record
CREATE STREAM a (id INT KEY, b STRING) WITH (KAFKA_TOPIC = 'a', VALUE_FORMAT = 'JSON');
ASSERT VALUES a (id) VALUES (1);

--@test: no tombstone
CREATE TABLE a (id INT PRIMARY KEY, b STRING) WITH (KAFKA_TOPIC = 'a', VALUE_FORMAT = 'JSON');
INSERT INTO a VALUES (1, 'x');
ASSERT NULL VALUES a (id) KEY (1);

--@test: another schema
CREATE STREAM a (id INT KEY, b STRING) WITH (KAFKA_TOPIC = 'a', VALUE_FORMAT = 'JSON');
ASSERT STREAM a (id INT, b STRING);

--@test: another property
CREATE STREAM a (id INT KEY, b STRING) WITH (KAFKA_TOPIC = 'a', VALUE_FORMAT = 'JSON');
ASSERT STREAM a WITH (VALUE_FORMAT = 'AVRO');

--@test: a column that is not there
CREATE STREAM a (id INT KEY, b STRING) WITH (KAFKA_TOPIC = 'a', VALUE_FORMAT = 'JSON');
ASSERT VALUES a (c) VALUES (1);

--@test: no error
--@expected.message: something
CREATE STREAM a (id INT KEY, b STRING) WITH (KAFKA_TOPIC = 'a', VALUE_FORMAT = 'JSON');

--@test: a query
CREATE STREAM a (id INT KEY, b STRING) WITH (KAFKA_TOPIC = 'a', VALUE_FORMAT = 'JSON');
SELECT * FROM a EMIT CHANGES;

--@test: another table
CREATE STREAM a (id INT KEY, b STRING) WITH (KAFKA_TOPIC = 'a', VALUE_FORMAT = 'JSON');
INSERT INTO a VALUES (1, 'x');
--@output A ordered
-- id | b
-- 1  | y

--@test: another error
SELECT * FROM a EMIT CHANGES;
--@error: COLUMN_UNKNOWN
