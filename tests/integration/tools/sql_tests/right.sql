--@test: a stream, its values and its schema
CREATE TYPE money AS DECIMAL(6, 2);
CREATE STREAM orders (id INT KEY, item STRING, price money, tags ARRAY<STRING>, at_ms TIMESTAMP)
  WITH (KAFKA_TOPIC = 'orders', VALUE_FORMAT = 'JSON');
DEFINE format = 'DELIMITED';
CREATE STREAM dear WITH (KAFKA_TOPIC = 'dear_ones', VALUE_FORMAT = '${format}') AS
  SELECT id, item, price FROM orders WHERE price > 3;
INSERT INTO orders (rowtime, id, item, price, tags) VALUES (10, 1, 'it''s tea', 3.5, ARRAY['a', NULL]);
INSERT INTO orders (rowtime, id, item, price, at_ms) VALUES (20, 2, 'coffee', 2, '2026-01-31T12:00:00');
INSERT INTO orders (rowtime, id, item, price) VALUES (30, NULL, NULL, 4);
ASSERT VALUES dear (rowtime, id, item, price) VALUES (10, 1, 'it''s tea', 3.50);
ASSERT VALUES dear VALUES (NULL, NULL, 4);
ASSERT VALUES orders (tags, at_ms) VALUES (ARRAY['a', NULL], NULL);
ASSERT VALUES orders (at_ms) VALUES ('2026-01-31T12:00:00');
ASSERT STREAM dear (id INT KEY, item VARCHAR, price DECIMAL(6, 2))
  WITH (KAFKA_TOPIC = 'dear_ones', VALUE_FORMAT = 'delimited', PARTITIONS = 1);

--@test: the same names again, and records of two sources in the order in which they are written
CREATE TABLE orders (id INT PRIMARY KEY, item STRING) WITH (KAFKA_TOPIC = 'orders', VALUE_FORMAT = 'JSON');
CREATE STREAM clicks (id INT KEY, place STRING) WITH (KAFKA_TOPIC = 'clicks', VALUE_FORMAT = 'JSON');
CREATE STREAM dear AS SELECT c.id AS id, item, place FROM clicks c JOIN orders o ON c.id = o.id;
CREATE TABLE few AS SELECT id, COUNT(*) AS n FROM clicks GROUP BY id HAVING COUNT(*) < 2;
CREATE TABLE per_minute AS SELECT id, COUNT(*) AS n FROM dear WINDOW TUMBLING (SIZE 1 MINUTE) GROUP BY id;
INSERT INTO orders (rowtime, id, item) VALUES (1000, 1, 'tea');
INSERT INTO clicks (rowtime, id, place) VALUES (1000, 1, 'x');
INSERT INTO orders (rowtime, id, item) VALUES (500, 1, 'late, but there before');
INSERT INTO clicks (rowtime, id, place) VALUES (400, 1, 'y');
ASSERT VALUES dear (rowtime, id, item, place) VALUES (1000, 1, 'tea', 'x');
ASSERT VALUES dear (id, item) VALUES (1, 'late, but there before');
ASSERT VALUES per_minute (id, windowstart, windowend, n) VALUES (1, 0, 60000, 1);
ASSERT VALUES per_minute (n) VALUES (2);
ASSERT VALUES few (id, n) VALUES (1, 1);
ASSERT NULL VALUES few (id) KEY (1);
ASSERT TABLE few (id INT PRIMARY KEY, n BIGINT);

--@test: a topic that DROP must not delete, and a function
CREATE SOURCE STREAM kept (b INT) WITH (KAFKA_TOPIC = 'kept', VALUE_FORMAT = 'JSON');
CREATE STREAM written (b INT) WITH (KAFKA_TOPIC = 'kept', VALUE_FORMAT = 'JSON');
CREATE FUNCTION doubled(x INT) RETURNS INT LANGUAGE PYTHON AS $$
return 2 * x
$$;
CREATE STREAM twice AS SELECT doubled(b) AS b FROM kept;
INSERT INTO written VALUES (3);
ASSERT VALUES twice (b) VALUES (6);

--@test: neither is there any more
CREATE STREAM kept (b INT) WITH (KAFKA_TOPIC = 'kept', VALUE_FORMAT = 'JSON');
CREATE FUNCTION doubled(x INT) RETURNS INT LANGUAGE PYTHON AS $$
return 3 * x
$$;
CREATE STREAM twice AS SELECT doubled(b) AS b FROM kept;
INSERT INTO kept VALUES (1);
ASSERT VALUES twice (b) VALUES (3);

--@test: what is in another file
RUN SCRIPT 'shared/source.txt';
INSERT INTO shared VALUES (1);
ASSERT VALUES shared (b) VALUES (1);

--@test: a record that is not so
--@expected.error: java.lang.AssertionError
--@expected.message: Expected record does not match actual
RUN SCRIPT 'shared/source.txt';
INSERT INTO shared VALUES (1);
ASSERT VALUES shared (b) VALUES (2);

--@test: a statement that is refused
--@expected.error: io.confluent.ksql.util.KsqlException
--@expected.message: cannot be resolved
RUN SCRIPT 'shared/source.txt';
CREATE STREAM other AS SELECT c FROM shared;
