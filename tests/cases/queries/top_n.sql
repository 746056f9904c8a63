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
