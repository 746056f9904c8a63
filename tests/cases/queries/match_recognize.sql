-- MATCH_RECOGNIZE: first the examples of Flink's documentation, with their results.
CREATE STREAM ticker (symbol STRING KEY, price INT, tax INT)
  WITH (KAFKA_TOPIC = '${case}_ticker', VALUE_FORMAT = 'JSON', PARTITIONS = 1);

--@test: a period of falling prices
CREATE STREAM found AS SELECT * FROM ticker MATCH_RECOGNIZE (
  PARTITION BY symbol
  ORDER BY ROWTIME
  MEASURES
    START_ROW.ROWTIME AS start_tstamp,
    LAST(PRICE_DOWN.ROWTIME) AS bottom_tstamp,
    LAST(PRICE_UP.ROWTIME) AS end_tstamp
  ONE ROW PER MATCH
  AFTER MATCH SKIP TO LAST PRICE_UP
  PATTERN (START_ROW PRICE_DOWN+ PRICE_UP) WITHIN 1 MINUTE
  DEFINE
    PRICE_DOWN AS (LAST(PRICE_DOWN.price, 1) IS NULL AND PRICE_DOWN.price < START_ROW.price) OR
      PRICE_DOWN.price < LAST(PRICE_DOWN.price, 1),
    PRICE_UP AS PRICE_UP.price > LAST(PRICE_DOWN.price, 1)
) MR EMIT CHANGES;
INSERT INTO ticker (ROWTIME, symbol, price, tax) VALUES (0, 'ACME', 12, 1);
INSERT INTO ticker (ROWTIME, symbol, price, tax) VALUES (1000, 'ACME', 17, 1);
INSERT INTO ticker (ROWTIME, symbol, price, tax) VALUES (2000, 'ACME', 19, 1);
INSERT INTO ticker (ROWTIME, symbol, price, tax) VALUES (3000, 'ACME', 21, 1);
INSERT INTO ticker (ROWTIME, symbol, price, tax) VALUES (4000, 'ACME', 25, 1);
INSERT INTO ticker (ROWTIME, symbol, price, tax) VALUES (5000, 'ACME', 18, 1);
--@restart
INSERT INTO ticker (ROWTIME, symbol, price, tax) VALUES (6000, 'ACME', 15, 1);
INSERT INTO ticker (ROWTIME, symbol, price, tax) VALUES (7000, 'ACME', 14, 1);
--@restart
INSERT INTO ticker (ROWTIME, symbol, price, tax) VALUES (8000, 'ACME', 24, 1);
INSERT INTO ticker (ROWTIME, symbol, price, tax) VALUES (9000, 'ACME', 25, 1);
INSERT INTO ticker (ROWTIME, symbol, price, tax) VALUES (10000, 'ACME', 19, 1);
--@output FOUND ordered
-- symbol | start_tstamp | bottom_tstamp | end_tstamp
-- ACME   | 4000         | 7000          | 8000

--@test: the longest time with an average below 15
CREATE STREAM found AS SELECT * FROM ticker MATCH_RECOGNIZE (
  PARTITION BY symbol ORDER BY ROWTIME
  MEASURES FIRST(A.ROWTIME) AS start_tstamp, LAST(A.ROWTIME) AS end_tstamp, AVG(A.price) AS avgPrice
  ONE ROW PER MATCH
  AFTER MATCH SKIP PAST LAST ROW
  PATTERN (A+ B) WITHIN 1 MINUTE
  DEFINE A AS AVG(A.price) < 15
) MR EMIT CHANGES;
INSERT INTO ticker (ROWTIME, symbol, price, tax) VALUES (0, 'ACME', 12, 1);
INSERT INTO ticker (ROWTIME, symbol, price, tax) VALUES (1000, 'ACME', 17, 1);
INSERT INTO ticker (ROWTIME, symbol, price, tax) VALUES (2000, 'ACME', 13, 1);
--@restart
INSERT INTO ticker (ROWTIME, symbol, price, tax) VALUES (3000, 'ACME', 16, 1);
INSERT INTO ticker (ROWTIME, symbol, price, tax) VALUES (4000, 'ACME', 25, 1);
INSERT INTO ticker (ROWTIME, symbol, price, tax) VALUES (5000, 'ACME', 2, 1);
INSERT INTO ticker (ROWTIME, symbol, price, tax) VALUES (6000, 'ACME', 4, 1);
INSERT INTO ticker (ROWTIME, symbol, price, tax) VALUES (7000, 'ACME', 10, 1);
INSERT INTO ticker (ROWTIME, symbol, price, tax) VALUES (8000, 'ACME', 15, 1);
INSERT INTO ticker (ROWTIME, symbol, price, tax) VALUES (9000, 'ACME', 25, 1);
INSERT INTO ticker (ROWTIME, symbol, price, tax) VALUES (10000, 'ACME', 25, 1);
INSERT INTO ticker (ROWTIME, symbol, price, tax) VALUES (11000, 'ACME', 30, 1);
--@output FOUND ordered
-- symbol | start_tstamp | end_tstamp | avgprice
-- ACME   | 0            | 3000       | 14.5
-- ACME   | 5000         | 10000      | 13.5

--@test: a greedy quantifier
CREATE STREAM found AS SELECT * FROM ticker MATCH_RECOGNIZE (
  PARTITION BY symbol ORDER BY ROWTIME
  MEASURES C.price AS lastPrice
  ONE ROW PER MATCH
  AFTER MATCH SKIP PAST LAST ROW
  PATTERN (A B* C) WITHIN 1 MINUTE
  DEFINE A AS A.price > 10, B AS B.price < 15, C AS C.price > 12
) EMIT CHANGES;
INSERT INTO ticker (ROWTIME, symbol, price, tax) VALUES (2000, 'XYZ', 10, 1);
INSERT INTO ticker (ROWTIME, symbol, price, tax) VALUES (3000, 'XYZ', 11, 1);
INSERT INTO ticker (ROWTIME, symbol, price, tax) VALUES (4000, 'XYZ', 12, 1);
INSERT INTO ticker (ROWTIME, symbol, price, tax) VALUES (5000, 'XYZ', 13, 1);
--@restart
INSERT INTO ticker (ROWTIME, symbol, price, tax) VALUES (6000, 'XYZ', 14, 1);
INSERT INTO ticker (ROWTIME, symbol, price, tax) VALUES (7000, 'XYZ', 16, 1);
--@output FOUND ordered
-- symbol | lastprice
-- XYZ    | 16

--@test: a reluctant quantifier
CREATE STREAM found AS SELECT * FROM ticker MATCH_RECOGNIZE (
  PARTITION BY symbol ORDER BY ROWTIME
  MEASURES C.price AS lastPrice
  ONE ROW PER MATCH
  AFTER MATCH SKIP PAST LAST ROW
  PATTERN (A B*? C) WITHIN 1 MINUTE
  DEFINE A AS A.price > 10, B AS B.price < 15, C AS C.price > 12
) EMIT CHANGES;
INSERT INTO ticker (ROWTIME, symbol, price, tax) VALUES (2000, 'XYZ', 10, 1);
INSERT INTO ticker (ROWTIME, symbol, price, tax) VALUES (3000, 'XYZ', 11, 1);
INSERT INTO ticker (ROWTIME, symbol, price, tax) VALUES (4000, 'XYZ', 12, 1);
INSERT INTO ticker (ROWTIME, symbol, price, tax) VALUES (5000, 'XYZ', 13, 1);
--@restart
INSERT INTO ticker (ROWTIME, symbol, price, tax) VALUES (6000, 'XYZ', 14, 1);
INSERT INTO ticker (ROWTIME, symbol, price, tax) VALUES (7000, 'XYZ', 16, 1);
--@output FOUND ordered
-- symbol | lastprice
-- XYZ    | 13
-- XYZ    | 16

--@test: a fall within an hour, which includes exactly an hour
CREATE STREAM found AS SELECT * FROM ticker MATCH_RECOGNIZE (
  PARTITION BY symbol ORDER BY ROWTIME
  MEASURES C.ROWTIME AS dropTime, A.price - C.price AS dropDiff
  ONE ROW PER MATCH
  AFTER MATCH SKIP PAST LAST ROW
  PATTERN (A B* C) WITHIN INTERVAL '1' HOUR
  DEFINE B AS B.price > A.price - 10, C AS C.price < A.price - 10
) EMIT CHANGES;
INSERT INTO ticker (ROWTIME, symbol, price, tax) VALUES (0, 'ACME', 20, 1);
INSERT INTO ticker (ROWTIME, symbol, price, tax) VALUES (1200000, 'ACME', 17, 1);
INSERT INTO ticker (ROWTIME, symbol, price, tax) VALUES (2400000, 'ACME', 18, 1);
INSERT INTO ticker (ROWTIME, symbol, price, tax) VALUES (3600000, 'ACME', 11, 1);
INSERT INTO ticker (ROWTIME, symbol, price, tax) VALUES (4800000, 'ACME', 14, 1);
INSERT INTO ticker (ROWTIME, symbol, price, tax) VALUES (6000000, 'ACME', 9, 1);
INSERT INTO ticker (ROWTIME, symbol, price, tax) VALUES (7200000, 'ACME', 15, 1);
INSERT INTO ticker (ROWTIME, symbol, price, tax) VALUES (8400000, 'ACME', 14, 1);
--@restart
INSERT INTO ticker (ROWTIME, symbol, price, tax) VALUES (9600000, 'ACME', 24, 1);
INSERT INTO ticker (ROWTIME, symbol, price, tax) VALUES (10800000, 'ACME', 1, 1);
INSERT INTO ticker (ROWTIME, symbol, price, tax) VALUES (12000000, 'ACME', 19, 1);
--@output FOUND ordered
-- symbol | droptime | dropdiff
-- ACME   | 10800000 | 14

--@test: first, last and next price of a rise
CREATE STREAM found AS SELECT * FROM ticker MATCH_RECOGNIZE (
  PARTITION BY symbol ORDER BY ROWTIME
  MEASURES FIRST(A.price) AS startPrice, LAST(A.price) AS topPrice, B.price AS lastPrice
  PATTERN (A+ B) WITHIN 1 MINUTE
  DEFINE A AS LAST(A.price, 1) IS NULL OR A.price > LAST(A.price, 1), B AS B.price < LAST(A.price)
) EMIT CHANGES;
INSERT INTO ticker (ROWTIME, symbol, price, tax) VALUES (2000, 'XYZ', 10, 1);
INSERT INTO ticker (ROWTIME, symbol, price, tax) VALUES (3000, 'XYZ', 12, 1);
INSERT INTO ticker (ROWTIME, symbol, price, tax) VALUES (4000, 'XYZ', 13, 1);
INSERT INTO ticker (ROWTIME, symbol, price, tax) VALUES (5000, 'XYZ', 11, 1);
--@output FOUND ordered
-- symbol | startprice | topprice | lastprice
-- XYZ    | 10         | 13       | 11

--@test: AFTER MATCH SKIP PAST LAST ROW
CREATE STREAM found AS SELECT * FROM ticker MATCH_RECOGNIZE (
  PARTITION BY symbol ORDER BY ROWTIME
  MEASURES SUM(A.price) AS sumPrice, FIRST(ROWTIME) AS startTime, LAST(ROWTIME) AS endTime
  ONE ROW PER MATCH
  AFTER MATCH SKIP PAST LAST ROW
  PATTERN (A+ C) WITHIN 1 MINUTE
  DEFINE A AS SUM(A.price) < 30
) EMIT CHANGES;
INSERT INTO ticker (ROWTIME, symbol, price, tax) VALUES (1000, 'XYZ', 7, 1);
INSERT INTO ticker (ROWTIME, symbol, price, tax) VALUES (2000, 'XYZ', 9, 1);
--@restart
INSERT INTO ticker (ROWTIME, symbol, price, tax) VALUES (3000, 'XYZ', 10, 1);
INSERT INTO ticker (ROWTIME, symbol, price, tax) VALUES (4000, 'XYZ', 5, 1);
INSERT INTO ticker (ROWTIME, symbol, price, tax) VALUES (5000, 'XYZ', 10, 1);
--@restart
INSERT INTO ticker (ROWTIME, symbol, price, tax) VALUES (6000, 'XYZ', 7, 1);
INSERT INTO ticker (ROWTIME, symbol, price, tax) VALUES (7000, 'XYZ', 14, 1);
--@output FOUND ordered
-- symbol | sumprice | starttime | endtime
-- XYZ    | 26       | 1000      | 4000
-- XYZ    | 17       | 5000      | 7000

--@test: AFTER MATCH SKIP TO NEXT ROW
CREATE STREAM found AS SELECT * FROM ticker MATCH_RECOGNIZE (
  PARTITION BY symbol ORDER BY ROWTIME
  MEASURES SUM(A.price) AS sumPrice, FIRST(ROWTIME) AS startTime, LAST(ROWTIME) AS endTime
  ONE ROW PER MATCH
  AFTER MATCH SKIP TO NEXT ROW
  PATTERN (A+ C) WITHIN 1 MINUTE
  DEFINE A AS SUM(A.price) < 30
) EMIT CHANGES;
INSERT INTO ticker (ROWTIME, symbol, price, tax) VALUES (1000, 'XYZ', 7, 1);
INSERT INTO ticker (ROWTIME, symbol, price, tax) VALUES (2000, 'XYZ', 9, 1);
--@restart
INSERT INTO ticker (ROWTIME, symbol, price, tax) VALUES (3000, 'XYZ', 10, 1);
INSERT INTO ticker (ROWTIME, symbol, price, tax) VALUES (4000, 'XYZ', 5, 1);
INSERT INTO ticker (ROWTIME, symbol, price, tax) VALUES (5000, 'XYZ', 10, 1);
--@restart
INSERT INTO ticker (ROWTIME, symbol, price, tax) VALUES (6000, 'XYZ', 7, 1);
INSERT INTO ticker (ROWTIME, symbol, price, tax) VALUES (7000, 'XYZ', 14, 1);
--@output FOUND ordered
-- symbol | sumprice | starttime | endtime
-- XYZ    | 26       | 1000      | 4000
-- XYZ    | 24       | 2000      | 5000
-- XYZ    | 25       | 3000      | 6000
-- XYZ    | 22       | 4000      | 7000
-- XYZ    | 17       | 5000      | 7000

--@test: AFTER MATCH SKIP TO LAST A
CREATE STREAM found AS SELECT * FROM ticker MATCH_RECOGNIZE (
  PARTITION BY symbol ORDER BY ROWTIME
  MEASURES SUM(A.price) AS sumPrice, FIRST(ROWTIME) AS startTime, LAST(ROWTIME) AS endTime
  ONE ROW PER MATCH
  AFTER MATCH SKIP TO LAST A
  PATTERN (A+ C) WITHIN 1 MINUTE
  DEFINE A AS SUM(A.price) < 30
) EMIT CHANGES;
INSERT INTO ticker (ROWTIME, symbol, price, tax) VALUES (1000, 'XYZ', 7, 1);
INSERT INTO ticker (ROWTIME, symbol, price, tax) VALUES (2000, 'XYZ', 9, 1);
--@restart
INSERT INTO ticker (ROWTIME, symbol, price, tax) VALUES (3000, 'XYZ', 10, 1);
INSERT INTO ticker (ROWTIME, symbol, price, tax) VALUES (4000, 'XYZ', 5, 1);
INSERT INTO ticker (ROWTIME, symbol, price, tax) VALUES (5000, 'XYZ', 10, 1);
--@restart
INSERT INTO ticker (ROWTIME, symbol, price, tax) VALUES (6000, 'XYZ', 7, 1);
INSERT INTO ticker (ROWTIME, symbol, price, tax) VALUES (7000, 'XYZ', 14, 1);
--@output FOUND ordered
-- symbol | sumprice | starttime | endtime
-- XYZ    | 26       | 1000      | 4000
-- XYZ    | 25       | 3000      | 6000
-- XYZ    | 17       | 5000      | 7000

--@test: failed logins before one that succeeds; equal times, late rows and NULLs
CREATE STREAM logins (id STRING KEY, ok BOOLEAN, ip STRING)
  WITH (KAFKA_TOPIC = '${case}_logins', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE STREAM suspicious AS
  SELECT id, attempts, ip, ROWTIME - began AS ms FROM logins MATCH_RECOGNIZE (
    PARTITION BY id ORDER BY ROWTIME
    MEASURES COUNT(failed.ok) AS attempts, FIRST(ROWTIME) AS began, success.ip AS ip
    PATTERN (failed{3,} success) WITHIN 5 MINUTES
    DEFINE failed AS NOT ok, success AS ok
  ) EMIT CHANGES;
INSERT INTO logins (ROWTIME, id, ok, ip) VALUES (100000, 'a', FALSE, 'x');
INSERT INTO logins (ROWTIME, id, ok, ip) VALUES (100000, 'a', FALSE, 'x');
INSERT INTO logins (ROWTIME, id, ok, ip) VALUES (100000, 'b', FALSE, 'y');
INSERT INTO logins (ROWTIME, id, ok, ip) VALUES (90000, 'a', FALSE, 'x');
--@restart
INSERT INTO logins (ROWTIME, id, ok, ip) VALUES (120000, 'a', TRUE, 'z');
INSERT INTO logins (ROWTIME, id, ok, ip) VALUES (120000, 'b', FALSE, NULL);
INSERT INTO logins (ROWTIME, id, ok, ip) VALUES (130000, 'b', NULL, NULL);
INSERT INTO logins (ROWTIME, id, ok, ip) VALUES (140000, 'b', FALSE, NULL);
INSERT INTO logins (ROWTIME, id, ok, ip) VALUES (140000, 'b', FALSE, NULL);
INSERT INTO logins (ROWTIME, id, ok, ip) VALUES (140000, 'b', FALSE, NULL);
INSERT INTO logins (ROWTIME, id, ok, ip) VALUES (200000, 'c', FALSE, NULL);
INSERT INTO logins (ROWTIME, id, ok, ip) VALUES (200000, 'c', FALSE, NULL);
INSERT INTO logins (ROWTIME, id, ok, ip) VALUES (440000, 'd', FALSE, NULL);
--@restart
INSERT INTO logins (ROWTIME, id, ok, ip) VALUES (139999, 'b', NULL, 'too late');
INSERT INTO logins (ROWTIME, id, ok, ip) VALUES (440000, 'b', TRUE, NULL);
INSERT INTO logins (ROWTIME, id, ok, ip) VALUES (500001, 'c', FALSE, NULL);
INSERT INTO logins (ROWTIME, id, ok, ip) VALUES (500001, 'c', TRUE, 'w');
--@output SUSPICIOUS ordered
-- id | attempts | ip   | ms
-- a  | 3        | z    | 20000
-- b  | 3        | NULL | 300000

--@test: all rows of a match, with the rows so far and all rows
CREATE STREAM found AS SELECT *, ROWTIME AS at_ms FROM ticker MATCH_RECOGNIZE (
  PARTITION BY symbol ORDER BY ROWTIME
  MEASURES CLASSIFIER() AS what, COUNT(*) AS n, FINAL COUNT(*) AS rows, PREV(price) AS before,
    RUNNING LAST(B.tax) AS b, FINAL LAST(B.tax) AS last_b, MATCH_ROWTIME() AS seen
  ALL ROWS PER MATCH
  PATTERN (A (B | C)+ D?) WITHIN 1 MINUTE
  DEFINE A AS price = 1, B AS tax IS NULL OR tax > 5, C AS price > PREV(price), D AS price IS NULL
) EMIT CHANGES;
INSERT INTO ticker (ROWTIME, symbol, price, tax) VALUES (1000, 'a', 7, 1);
INSERT INTO ticker (ROWTIME, symbol, price, tax) VALUES (2000, 'a', 1, 2);
INSERT INTO ticker (ROWTIME, symbol, price, tax) VALUES (2000, 'b', 1, 2);
INSERT INTO ticker (ROWTIME, symbol, price, tax) VALUES (3000, 'a', 0, 6);
--@restart
INSERT INTO ticker (ROWTIME, symbol, price, tax) VALUES (4000, 'a', 3, 4);
INSERT INTO ticker (ROWTIME, symbol, price, tax) VALUES (4000, 'a', 1, NULL);
INSERT INTO ticker (ROWTIME, symbol, price, tax) VALUES (5000, 'a', NULL, 3);
INSERT INTO ticker (ROWTIME, symbol, price, tax) VALUES (6000, 'b', 4, 1);
INSERT INTO ticker (ROWTIME, symbol, price, tax) VALUES (90000, 'c', 4, 1);
--@output FOUND ordered
-- symbol | what | n | rows | before | b    | last_b | seen | price | tax  | at_ms
-- a      | A    | 1 | 5    | 7      | NULL | NULL   | 2000 | 1     | 2    | 2000
-- a      | B    | 2 | 5    | 1      | 6    | NULL   | 3000 | 0     | 6    | 3000
-- a      | C    | 3 | 5    | 0      | 6    | NULL   | 4000 | 3     | 4    | 4000
-- a      | B    | 4 | 5    | 3      | NULL | NULL   | 4000 | 1     | NULL | 4000
-- a      | D    | 5 | 5    | 1      | NULL | NULL   | 5000 | NULL  | 3    | 5000
-- b      | A    | 1 | 2    | NULL   | NULL | NULL   | 2000 | 1     | 2    | 2000
-- b      | C    | 2 | 2    | 1      | NULL | NULL   | 6000 | 4     | 1    | 6000

--@test: matches that wait for stream time, counted by another key
CREATE TABLE lengths AS
  SELECT n, COUNT(*) AS times, SUM(total) AS total FROM ticker MATCH_RECOGNIZE (
    PARTITION BY tax ORDER BY ROWTIME
    MEASURES COUNT(*) AS n, SUM(price) AS total
    PATTERN (A B{1,2}) WITHIN 10 SECONDS
    DEFINE B AS price >= PREV(price)
  ) GROUP BY n EMIT CHANGES;
INSERT INTO ticker (ROWTIME, symbol, price, tax) VALUES (1000, 'a', 1, 1);
INSERT INTO ticker (ROWTIME, symbol, price, tax) VALUES (2000, 'b', 2, 1);
INSERT INTO ticker (ROWTIME, symbol, price, tax) VALUES (2000, 'b', 5, NULL);
INSERT INTO ticker (ROWTIME, symbol, price, tax) VALUES (3000, 'c', 5, NULL);
INSERT INTO ticker (ROWTIME, symbol, price, tax) VALUES (4000, 'd', 9, NULL);
--@restart
INSERT INTO ticker (ROWTIME, symbol, price, tax) VALUES (11001, 'e', 1, 2);
INSERT INTO ticker (ROWTIME, symbol, price, tax) VALUES (12000, 'e', 1, 2);
INSERT INTO ticker (ROWTIME, symbol, price, tax) VALUES (50000, 'e', 0, 2);
--@output LENGTHS folded
-- n | times | total
-- 2 | 2     | 5
-- 3 | 1     | 19

--@test: a table has no order
CREATE TABLE prices (symbol STRING PRIMARY KEY, price INT)
  WITH (KAFKA_TOPIC = '${case}_prices', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE STREAM found AS SELECT * FROM prices MATCH_RECOGNIZE (
  PARTITION BY symbol ORDER BY ROWTIME MEASURES A.price AS p PATTERN (A B) WITHIN 1 HOUR);
--@error: INVALID_STATEMENT

--@test: PREV finds nothing behind a row that is forgotten
CREATE STREAM rides (id STRING KEY, n INT) WITH (KAFKA_TOPIC = '${case}_rides', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE STREAM before AS
  SELECT * FROM rides MATCH_RECOGNIZE (
    PARTITION BY id ORDER BY ROWTIME
    MEASURES a.n AS n, PREV(a.n) AS p1, PREV(a.n, 2) AS p2
    PATTERN (a) WITHIN 20 SECONDS
    DEFINE a AS n > 0
  ) EMIT CHANGES;
INSERT INTO rides (ROWTIME, id, n) VALUES (14000, 'c', 11);
INSERT INTO rides (ROWTIME, id, n) VALUES (16000, 'c', 12);
INSERT INTO rides (ROWTIME, id, n) VALUES (2000, 'c', 13);
INSERT INTO rides (ROWTIME, id, n) VALUES (31500, 'b', 14);
INSERT INTO rides (ROWTIME, id, n) VALUES (18500, 'c', 15);
INSERT INTO rides (ROWTIME, id, n) VALUES (19000, 'c', 16);
--@output BEFORE ordered
-- id | n  | p1   | p2
-- c  | 11 | NULL | NULL
-- c  | 12 | 11   | NULL
-- c  | 13 | 12   | 11
-- b  | 14 | NULL | NULL
-- c  | 15 | NULL | NULL
-- c  | 16 | 15   | NULL
