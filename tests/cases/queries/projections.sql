-- Projection, WHERE and expressions over a stream.
CREATE STREAM orders (id STRING KEY, customer STRING, amount DOUBLE, quantity INT, tags ARRAY<STRING>, ship STRUCT<city STRING, zip INT>)
  WITH (KAFKA_TOPIC = '${case}_orders', VALUE_FORMAT = 'JSON', PARTITIONS = 1);

--@test: columns keep their names and types, rows their key
CREATE STREAM copy AS SELECT * FROM orders EMIT CHANGES;
INSERT INTO orders (id, customer, amount, quantity, tags, ship) VALUES ('a', 'ann', 9.5, 2, ARRAY['x', 'y'], STRUCT(city := 'Ulm', zip := 89073));
INSERT INTO orders (id, customer) VALUES ('b', 'bob');
INSERT INTO orders (customer, amount) VALUES ('nobody', -0.25);
--@output COPY ordered
-- id   | customer | amount | quantity | tags       | ship
-- a    | ann      | 9.5    | 2        | ["x", "y"] | {"CITY": "Ulm", "ZIP": 89073}
-- b    | bob      | NULL   | NULL     | NULL       | NULL
-- NULL | nobody   | -0.25  | NULL     | NULL       | NULL

--@test: expressions and functions are computed row by row
CREATE STREAM computed AS
  SELECT id, UCASE(customer) AS who, amount * quantity AS total, quantity + 1 AS next,
         CASE WHEN amount >= 10 THEN 'high' WHEN amount >= 5 THEN 'mid' ELSE 'low' END AS class,
         tags[1] AS first, ship->city AS city, CAST(quantity AS STRING) + '!' AS text,
         COALESCE(customer, 'unknown') AS name
  FROM orders EMIT CHANGES;
INSERT INTO orders (id, customer, amount, quantity, tags, ship) VALUES ('a', 'ann', 9.5, 2, ARRAY['x', 'y'], STRUCT(city := 'Ulm', zip := 89073));
INSERT INTO orders (id, amount) VALUES ('b', 10);
INSERT INTO orders (id, customer, amount, quantity) VALUES ('c', 'cy', 1e0, 0);
--@output COMPUTED ordered
-- id | who  | total | next | class | first | city | text | name
-- a  | ANN  | 19.0  | 3    | mid   | x     | Ulm  | 2!   | ann
-- b  | NULL | NULL  | NULL | high  | NULL  | NULL | NULL | unknown
-- c  | CY   | 0.0   | 1    | low   | NULL  | NULL | 0!   | cy

--@test: letters and names of days are the same on every machine
CREATE STREAM cased AS
  SELECT id, UCASE(customer) AS upper, LCASE(customer) AS lower, INITCAP(customer) AS initial,
         FORMAT_DATE(FROM_DAYS(quantity), 'EEEE d MMMM') AS day, FORMAT_TIMESTAMP(FROM_UNIXTIME(ROWTIME), 'HH:mm') AS minute
  FROM orders EMIT CHANGES;
INSERT INTO orders (ROWTIME, id, customer, quantity) VALUES (1, 'a', 'istanbul iıIİßŞΣ', 0);
--@output CASED ordered
-- id | upper             | lower            | initial          | day                | minute
-- a  | ISTANBUL IIIİSSŞΣ | istanbul iıii̇ßşς | Istanbul Iıii̇ßşς | Thursday 1 January | 00:00

--@test: WHERE keeps rows for which it is true, not those for which it is NULL
CREATE STREAM large AS
  SELECT id, amount FROM orders WHERE amount BETWEEN 10 AND 20 AND NOT customer LIKE 'b%' OR quantity IN (7, 8) EMIT CHANGES;
INSERT INTO orders (id, customer, amount) VALUES ('a', 'ann', 9.99);
INSERT INTO orders (id, customer, amount) VALUES ('b', 'bob', 15.0);
INSERT INTO orders (id, customer, amount) VALUES ('c', 'cy', 20.0);
INSERT INTO orders (id, amount) VALUES ('d', 15.0);
INSERT INTO orders (id, customer) VALUES ('e', 'eve');
INSERT INTO orders (id, quantity) VALUES ('f', 8);
--@output LARGE ordered
-- id | amount
-- c  | 20.0
-- f  | NULL

--@test: a chain of streams, each on the one before
CREATE STREAM doubled AS SELECT id, amount * 2 AS amount FROM orders EMIT CHANGES;
CREATE STREAM positive AS SELECT id, amount FROM doubled WHERE amount > 0 EMIT CHANGES;
INSERT INTO orders (id, amount) VALUES ('a', 1.5);
INSERT INTO orders (id, amount) VALUES ('b', -1.5);
INSERT INTO orders (id, amount) VALUES ('c', 2.5);
--@output POSITIVE ordered
-- id | amount
-- a  | 3.0
-- c  | 5.0

--@test: PARTITION BY gives rows another key
CREATE STREAM by_customer AS SELECT customer, id, amount FROM orders PARTITION BY customer EMIT CHANGES;
INSERT INTO orders (id, customer, amount) VALUES ('a', 'ann', 1.0);
INSERT INTO orders (id, amount) VALUES ('b', 2.0);
INSERT INTO orders (id, customer, amount) VALUES ('c', 'cy', 3.0);
--@output BY_CUSTOMER ordered
-- customer | id | amount
-- ann      | a  | 1.0
-- NULL     | b  | 2.0
-- cy       | c  | 3.0

--@test: INSERT INTO SELECT writes to a stream that is there
CREATE STREAM everything (id STRING KEY, amount DOUBLE)
  WITH (KAFKA_TOPIC = '${case}_everything', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
INSERT INTO everything SELECT id, amount FROM orders WHERE amount > 1 EMIT CHANGES;
INSERT INTO orders (id, amount) VALUES ('a', 1.0);
INSERT INTO orders (id, amount) VALUES ('b', 2.0);
--@output EVERYTHING ordered
-- id | amount
-- b  | 2.0
