-- Beyond ksqlDB: the n best rows of each group, as a table.
CREATE STREAM sales (id INT KEY, item STRING, price INT, who STRING)
  WITH (KAFKA_TOPIC = '${case}_sales', FORMAT = 'JSON', PARTITIONS = 1);

--@test: each place of a group has its own key; of equal rows the first stays ahead
CREATE TABLE best AS
  SELECT item, ROW_NUMBER() OVER (PARTITION BY item ORDER BY price DESC) AS place, price, who, ROWTIME AS t
  FROM sales WHERE price > 0 QUALIFY place <= 2 EMIT CHANGES;
INSERT INTO sales (ROWTIME, id, item, price, who) VALUES (1000, 1, 'tea', 5, 'ann');
INSERT INTO sales (ROWTIME, id, item, price, who) VALUES (2000, 2, 'tea', 5, 'bob');
INSERT INTO sales (ROWTIME, id, item, price, who) VALUES (3000, 3, 'tea', 5, 'cid');
INSERT INTO sales (ROWTIME, id, item, price, who) VALUES (4000, 4, 'jam', 1, 'ann');
INSERT INTO sales (ROWTIME, id, item, price, who) VALUES (500, 5, 'tea', 7, 'dan');
INSERT INTO sales (ROWTIME, id, item, price, who) VALUES (6000, 6, 'tea', 0, 'eve');
INSERT INTO sales (ROWTIME, id, price, who) VALUES (7000, 7, 9, 'fay');
INSERT INTO sales (ROWTIME, id, item, price, who) VALUES (8000, 8, 'tea', 6, 'gus');
--@output BEST ordered
-- rowtime | item | place | price | who | t
-- 1000    | tea  | 1     | 5     | ann | 1000
-- 2000    | tea  | 2     | 5     | bob | 2000
-- 4000    | jam  | 1     | 1     | ann | 4000
-- 500     | tea  | 1     | 7     | dan | 500
-- 1000    | tea  | 2     | 5     | ann | 1000
-- 8000    | tea  | 2     | 6     | gus | 8000

--@test: one row of each group needs no place in its key
CREATE TABLE latest AS
  SELECT item, price FROM sales QUALIFY ROW_NUMBER() OVER (PARTITION BY item ORDER BY ROWTIME DESC) = 1 EMIT CHANGES;
INSERT INTO sales (ROWTIME, id, item, price) VALUES (1000, 1, 'tea', 5);
INSERT INTO sales (ROWTIME, id, item, price) VALUES (3000, 2, 'tea', 6);
INSERT INTO sales (ROWTIME, id, item, price) VALUES (2000, 3, 'tea', 7);
INSERT INTO sales (ROWTIME, id, item, price) VALUES (4000, 4, 'tea', NULL);
--@output LATEST ordered
-- rowtime | item | price
-- 1000    | tea  | 5
-- 3000    | tea  | 6
-- 4000    | tea  | NULL

--@test: several values, NULLs and texts in order
CREATE TABLE leading AS
  SELECT item, ROW_NUMBER() OVER (PARTITION BY item ORDER BY who NULLS FIRST, price DESC) AS place, who, price
  FROM sales QUALIFY ROW_NUMBER() OVER (PARTITION BY item ORDER BY who NULLS FIRST, price DESC) < 4 EMIT CHANGES;
INSERT INTO sales (id, item, price, who) VALUES (1, 'tea', 1, 'b');
INSERT INTO sales (id, item, price, who) VALUES (2, 'tea', NULL, 'a');
INSERT INTO sales (id, item, price, who) VALUES (3, 'tea', 2, 'a');
INSERT INTO sales (id, item, price) VALUES (4, 'tea', 3);
INSERT INTO sales (id, item, price, who) VALUES (5, 'tea', 9, 'c');
--@output LEADING ordered
-- item | place | who  | price
-- tea  | 1     | b    | 1
-- tea  | 1     | a    | NULL
-- tea  | 2     | b    | 1
-- tea  | 1     | a    | 2
-- tea  | 2     | a    | NULL
-- tea  | 3     | b    | 1
-- tea  | 1     | NULL | 3
-- tea  | 2     | a    | 2
-- tea  | 3     | a    | NULL

--@test: rows of equal rank pass together, and places that become empty are deleted
CREATE TABLE ranked AS
  SELECT item, ROW_NUMBER() OVER (PARTITION BY item ORDER BY price DESC) AS place,
    RANK() OVER (PARTITION BY item ORDER BY price DESC) AS rank, price, who
  FROM sales QUALIFY rank = 1 EMIT CHANGES;
INSERT INTO sales (id, item, price, who) VALUES (1, 'tea', 5, 'ann');
INSERT INTO sales (id, item, price, who) VALUES (2, 'tea', 5, 'bob');
INSERT INTO sales (id, item, price, who) VALUES (3, 'tea', 4, 'cid');
INSERT INTO sales (id, item, price, who) VALUES (4, 'tea', 6, 'dan');
--@output RANKED ordered
-- item | place | rank | price | who
-- tea  | 1     | 1    | 5     | ann
-- tea  | 2     | 1    | 5     | bob
-- tea  | 1     | 1    | 6     | dan
-- tea  | 2     | <deleted> | <deleted> | <deleted>

--@test: of a table, a row that becomes worse or leaves its group lets the next one in
CREATE TABLE stock (id INT PRIMARY KEY, shelf STRING, amount INT)
  WITH (KAFKA_TOPIC = '${case}_stock', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE TABLE fullest WITH (KEY_FORMAT = 'JSON') AS
  SELECT shelf, ROW_NUMBER() OVER (PARTITION BY shelf ORDER BY amount DESC) AS place, id, amount
  FROM stock QUALIFY place <= 2 EMIT CHANGES;
INSERT INTO stock (id, shelf, amount) VALUES (1, 'a', 5);
INSERT INTO stock (id, shelf, amount) VALUES (2, 'a', 7);
INSERT INTO stock (id, shelf, amount) VALUES (3, 'a', 6);
INSERT INTO stock (id, shelf, amount) VALUES (2, 'a', 1);
INSERT INTO stock (id, shelf, amount) VALUES (3, 'b', 6);
--@output FULLEST ordered
-- shelf | place | id | amount
-- a     | 1     | 1  | 5
-- a     | 1     | 2  | 7
-- a     | 2     | 1  | 5
-- a     | 2     | 3  | 6
-- a     | 1     | 3  | 6
-- a     | 2     | 1  | 5
-- a     | 1     | 1  | 5
-- a     | 2     | 2  | 1
-- b     | 1     | 3  | 6

--@test: the best of each window
CREATE TABLE per_hour WITH (KEY_FORMAT = 'JSON') AS
  SELECT who, COUNT(*) AS n FROM sales WINDOW TUMBLING (SIZE 1 HOUR) GROUP BY who EMIT CHANGES;
CREATE TABLE best_of_hour WITH (KEY_FORMAT = 'JSON') AS
  SELECT WINDOWSTART AS ws, who, n FROM per_hour
  QUALIFY ROW_NUMBER() OVER (PARTITION BY WINDOWSTART ORDER BY n DESC) = 1 EMIT CHANGES;
INSERT INTO sales (ROWTIME, id, who) VALUES (1000, 1, 'ann');
INSERT INTO sales (ROWTIME, id, who) VALUES (2000, 2, 'bob');
INSERT INTO sales (ROWTIME, id, who) VALUES (3000, 3, 'bob');
INSERT INTO sales (ROWTIME, id, who) VALUES (3601000, 4, 'cid');
--@output BEST_OF_HOUR ordered
-- ws      | who | n
-- 0       | ann | 1
-- 0       | bob | 2
-- 3600000 | cid | 1
