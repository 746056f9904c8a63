-- Two streams joined without WITHIN: all rows are kept, whatever their times.
CREATE STREAM auctions (id INT KEY, item STRING, opened BIGINT, expires BIGINT)
  WITH (KAFKA_TOPIC = '${case}_auctions', VALUE_FORMAT = 'JSON', PARTITIONS = 4, TIMESTAMP = 'opened');
CREATE STREAM bids (bidder STRING KEY, auction INT, price INT, placed BIGINT)
  WITH (KAFKA_TOPIC = '${case}_bids', VALUE_FORMAT = 'JSON', PARTITIONS = 4, TIMESTAMP = 'placed');
CREATE STREAM lefts (k STRING KEY, v INT) WITH (KAFKA_TOPIC = '${case}_lefts', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE STREAM rights (k STRING KEY, w INT) WITH (KAFKA_TOPIC = '${case}_rights', VALUE_FORMAT = 'JSON', PARTITIONS = 1);

--@test: pairs meet at any time, with the later of both, and after a restart
CREATE STREAM offers AS
  SELECT a.id AS id, a.item AS item, b.bidder AS bidder, b.price AS price
  FROM auctions a JOIN bids b ON a.id = b.auction EMIT CHANGES;
INSERT INTO auctions (id, item, opened, expires) VALUES (1, 'clock', 1000, 5000);
INSERT INTO auctions (id, item, opened, expires) VALUES (2, 'vase', 2000, 3000);
INSERT INTO bids (bidder, auction, price, placed) VALUES ('ann', 1, 10, 31536000000);
INSERT INTO bids (bidder, auction, price, placed) VALUES ('bob', 1, 11, 0);
INSERT INTO bids (bidder, auction, price, placed) VALUES ('bob', 3, 12, 4000);
INSERT INTO bids (bidder, auction, price, placed) VALUES ('cid', NULL, 13, 4000);
INSERT INTO bids (bidder, auction, price, placed) VALUES (NULL, 2, 14, 4000);
--@output OFFERS rowsort
-- rowtime     | id | item  | bidder | price
-- 1000        | 1  | clock | bob    | 11
-- 31536000000 | 1  | clock | ann    | 10
-- 4000        | 2  | vase  | NULL   | 14
--@restart
INSERT INTO auctions (id, item, opened, expires) VALUES (3, 'lamp', 50000, 60000);
INSERT INTO auctions (id, item, opened, expires) VALUES (NULL, 'no id', 50000, 60000);
INSERT INTO auctions (id, item, opened, expires) VALUES (1, 'clock again', 10, 20);
INSERT INTO bids (bidder, auction, price, placed) VALUES ('dan', 1, 15, 1);
--@output OFFERS rowsort
-- rowtime     | id | item        | bidder | price
-- 10          | 1  | clock again | bob    | 11
-- 10          | 1  | clock again | dan    | 15
-- 1000        | 1  | clock       | dan    | 15
-- 31536000000 | 1  | clock again | ann    | 10
-- 50000       | 3  | lamp        | bob    | 12

--@test: other conditions, also on times in columns
CREATE STREAM valid AS
  SELECT a.id AS id, a.item AS item, b.bidder AS bidder, b.price AS price
  FROM auctions a JOIN bids b ON a.id = b.auction AND b.placed BETWEEN a.opened AND a.expires AND b.price > 5 EMIT CHANGES;
INSERT INTO bids (bidder, auction, price, placed) VALUES ('early', 1, 10, 999);
INSERT INTO bids (bidder, auction, price, placed) VALUES ('first', 1, 10, 1000);
INSERT INTO bids (bidder, auction, price, placed) VALUES ('late', 1, 10, 5001);
INSERT INTO bids (bidder, auction, price, placed) VALUES ('cheap', 1, 5, 2000);
INSERT INTO auctions (id, item, opened, expires) VALUES (1, 'clock', 1000, 5000);
INSERT INTO bids (bidder, auction, price, placed) VALUES ('last', 1, 12, 5000);
--@output VALID rowsort
-- rowtime | id | item  | bidder | price
-- 1000    | 1  | clock | first  | 10
-- 5000    | 1  | clock | last   | 12

--@test: one partition: pairs come in the order of the times of their partners
CREATE STREAM pairs AS SELECT l.k AS k, v, w FROM lefts l JOIN rights r ON l.k = r.k EMIT CHANGES;
INSERT INTO lefts (ROWTIME, k, v) VALUES (3000, 'a', 1);
INSERT INTO lefts (ROWTIME, k, v) VALUES (1000, 'a', 2);
INSERT INTO lefts (ROWTIME, k, v) VALUES (2000, 'b', 3);
INSERT INTO lefts (ROWTIME, k, v) VALUES (2000, NULL, 4);
INSERT INTO rights (ROWTIME, k, w) VALUES (9000, NULL, 5);
INSERT INTO rights (ROWTIME, k, w) VALUES (9000, 'a', 6);
--@output PAIRS ordered
-- rowtime | k | v | w
-- 9000    | a | 2 | 6
-- 9000    | a | 1 | 6

--@test: an aggregate of the pairs in the same statement
CREATE TABLE best AS
  SELECT a.id AS id, COUNT(*) AS bids, MAX(b.price) AS price
  FROM auctions a JOIN bids b ON a.id = b.auction AND b.placed BETWEEN a.opened AND a.expires
  GROUP BY a.id EMIT CHANGES;
INSERT INTO auctions (id, item, opened, expires) VALUES (1, 'clock', 1000, 5000);
INSERT INTO auctions (id, item, opened, expires) VALUES (2, 'vase', 1000, 5000);
INSERT INTO bids (bidder, auction, price, placed) VALUES ('a', 1, 10, 2000);
INSERT INTO bids (bidder, auction, price, placed) VALUES ('b', 1, 12, 3000);
INSERT INTO bids (bidder, auction, price, placed) VALUES ('c', 1, 15, 6000);
INSERT INTO bids (bidder, auction, price, placed) VALUES ('d', 2, 1, 5000);
--@output BEST folded
-- id | bids | price
-- 1  | 2    | 12
-- 2  | 1    | 1

--@test: refused: an outer join, which would never know that a row has no partner
CREATE STREAM offers AS
  SELECT a.id AS id, a.item AS item, b.price AS price FROM auctions a LEFT JOIN bids b ON a.id = b.auction EMIT CHANGES;
--@error: INVALID_STATEMENT
