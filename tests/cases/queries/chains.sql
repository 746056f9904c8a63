-- Several operations with state in one query: what the upper ones see of the lower ones' changes.
CREATE STREAM visits (id STRING KEY, shop STRING, amount INT)
  WITH (KAFKA_TOPIC = '${case}_visits', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE TABLE shops (shop STRING PRIMARY KEY, city STRING, floor INT)
  WITH (KAFKA_TOPIC = '${case}_shops', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE TABLE prices (shop STRING PRIMARY KEY, price INT)
  WITH (KAFKA_TOPIC = '${case}_prices', VALUE_FORMAT = 'JSON', PARTITIONS = 1);

--@test: how many keys have each count: a group loses what another gains
CREATE TABLE counts AS
  SELECT n, COUNT(*) AS ids, SUM(total) AS totals
  FROM (SELECT id, COUNT(*) AS n, SUM(amount) AS total FROM visits GROUP BY id) c GROUP BY n EMIT CHANGES;
INSERT INTO visits VALUES ('a', 'x', 1);
INSERT INTO visits VALUES ('b', 'x', 10);
INSERT INTO visits VALUES ('a', 'x', 2);
--@restart
INSERT INTO visits VALUES ('a', 'x', NULL);
INSERT INTO visits VALUES ('b', 'x', 20);
--@output COUNTS ordered
-- n | ids | totals
-- 1 | 1   | 1
-- 1 | 2   | 11
-- 1 | 1   | 10
-- 2 | 1   | 3
-- 2 | 0   | 0
-- 3 | 1   | 3
-- 1 | 0   | 0
-- 2 | 1   | 30

--@test: a result that stays as it was is not passed on
CREATE TABLE best AS
  SELECT shop, SUM(most) AS total FROM (SELECT id, shop, MAX(amount) AS most FROM visits GROUP BY id, shop) m
  GROUP BY shop EMIT CHANGES;
INSERT INTO visits VALUES ('a', 'x', 5);
INSERT INTO visits VALUES ('a', 'x', 3);
INSERT INTO visits VALUES ('b', 'x', 4);
INSERT INTO visits VALUES ('a', 'x', 5);
INSERT INTO visits VALUES ('b', 'x', 7);
--@output BEST ordered
-- shop | total
-- x    | 5
-- x    | 9
-- x    | 12

--@test: WHERE and HAVING between them: rows come and go
CREATE TABLE busy AS
  SELECT shop, COUNT(*) AS ids, SUM(n) AS visits
  FROM (SELECT id, shop, COUNT(*) AS n, SUM(amount) AS total FROM visits GROUP BY id, shop HAVING SUM(amount) < 10) c
  WHERE n > 1 GROUP BY shop HAVING COUNT(*) > 0 EMIT CHANGES;
INSERT INTO visits VALUES ('a', 'x', 1);
INSERT INTO visits VALUES ('a', 'x', 1);
INSERT INTO visits VALUES ('b', 'x', 1);
INSERT INTO visits VALUES ('b', 'x', 1);
INSERT INTO visits VALUES ('a', 'x', 9);
INSERT INTO visits VALUES ('b', 'x', 9);
INSERT INTO visits VALUES ('c', 'y', 1);
INSERT INTO visits VALUES ('c', 'y', 1);
--@output BUSY ordered
-- shop | ids       | visits
-- x    | 1         | 2
-- x    | 2         | 4
-- x    | 1         | 2
-- x    | <deleted> | <deleted>
-- y    | 1         | 2

--@test: three aggregates on top of each other
CREATE TABLE third AS
  SELECT ids, COUNT(*) AS counts FROM (
    SELECT n, COUNT(*) AS ids FROM (SELECT id, COUNT(*) AS n FROM visits GROUP BY id) c GROUP BY n
  ) d WHERE ids > 0 GROUP BY ids EMIT CHANGES;
INSERT INTO visits VALUES ('a', 'x', 1);
INSERT INTO visits VALUES ('b', 'x', 1);
INSERT INTO visits VALUES ('a', 'x', 1);
INSERT INTO visits VALUES ('c', 'x', 1);
--@restart
INSERT INTO visits VALUES ('b', 'x', 1);
INSERT INTO visits VALUES ('d', 'x', 1);
--@output THIRD folded
-- ids | counts
-- 1   | 0
-- 2   | 2

--@test: a row that stays in its group, by a group that is computed of what changes
CREATE TABLE tens AS
  SELECT total / 10 AS ten, COUNT(*) AS ids, COLLECT_LIST(total) AS totals
  FROM (SELECT id, SUM(amount) AS total FROM visits GROUP BY id) c GROUP BY total / 10 EMIT CHANGES;
INSERT INTO visits VALUES ('a', 'x', 1);
INSERT INTO visits VALUES ('a', 'x', 2);
INSERT INTO visits VALUES ('b', 'x', 5);
INSERT INTO visits VALUES ('a', 'x', 10);
INSERT INTO visits VALUES ('a', 'x', 1);
--@output TENS ordered
-- ten | ids | totals
-- 0   | 1   | [1]
-- 0   | 1   | [3]
-- 0   | 2   | [3, 5]
-- 0   | 1   | [5]
-- 1   | 1   | [13]
-- 1   | 1   | [14]

--@test: WHERE between them, and rows that stay in their task
CREATE TABLE odd AS
  SELECT id, COUNT(*) AS rows, SUM(n) AS visits FROM (SELECT id, COUNT(*) AS n FROM visits GROUP BY id) c
  WHERE n <> 2 GROUP BY id EMIT CHANGES;
INSERT INTO visits VALUES ('a', 'x', 1);
INSERT INTO visits VALUES ('a', 'x', 1);
INSERT INTO visits VALUES ('a', 'x', 1);
INSERT INTO visits VALUES ('b', 'x', 1);
--@output ODD ordered
-- id | rows | visits
-- a  | 1    | 1
-- a  | 0    | 0
-- a  | 1    | 3
-- b  | 1    | 1

--@test: the shops with most visits
CREATE TABLE top WITH (KEY_FORMAT = 'JSON') AS
  SELECT city, ROW_NUMBER() OVER (PARTITION BY city ORDER BY n DESC, shop) AS place, shop, n FROM (
    SELECT shop, IFNULL(SUBSTRING(shop, 1, 1), '') AS city, COUNT(*) AS n FROM visits GROUP BY shop
  ) c QUALIFY place <= 2 EMIT CHANGES;
INSERT INTO visits VALUES ('1', 'a1', 1);
INSERT INTO visits VALUES ('2', 'a2', 1);
INSERT INTO visits VALUES ('3', 'a3', 1);
INSERT INTO visits VALUES ('4', 'a3', 1);
INSERT INTO visits VALUES ('5', 'b1', 1);
--@restart
INSERT INTO visits VALUES ('6', 'a2', 1);
INSERT INTO visits VALUES ('7', 'a2', 1);
INSERT INTO visits VALUES ('8', 'b1', 1);
--@output TOP folded
-- city | place | shop | n
-- a    | 1     | a2   | 3
-- a    | 2     | a3   | 2
-- b    | 1     | b1   | 2

--@test: a join of tables, then an aggregate
CREATE TABLE per_city AS
  SELECT s.city, COUNT(*) AS shops, SUM(p.price) AS total, COLLECT_LIST(p.price) AS prices
  FROM shops s LEFT JOIN prices p ON s.shop = p.shop GROUP BY s.city EMIT CHANGES;
INSERT INTO shops VALUES ('a', 'Rome', 1);
INSERT INTO prices VALUES ('a', 10);
INSERT INTO shops VALUES ('b', 'Rome', 1);
INSERT INTO prices VALUES ('b', 5);
INSERT INTO prices VALUES ('a', 11);
--@output PER_CITY folded
-- city | shops | total | prices
-- Rome | 2     | 16    | [5, 11]
INSERT INTO shops VALUES ('a', 'Oslo', 2);
INSERT INTO prices (shop) VALUES ('b');
INSERT INTO prices VALUES ('a', 12);
--@output PER_CITY folded
-- city | shops | total | prices
-- Oslo | 1     | 12    | [12]
-- Rome | 1     | 0     | [null]

--@test: a stream with a table, then an aggregate, from which a key is removed
INSERT INTO shops VALUES ('a', 'Rome', 1);
INSERT INTO shops VALUES ('b', 'Rome', 2);
CREATE TABLE per_floor AS
  SELECT s.floor, COUNT(*) AS visits, SUM(v.amount) AS total
  FROM visits v JOIN shops s FOR SYSTEM_TIME AS OF CURRENT_TIMESTAMP ON v.shop = s.shop GROUP BY s.floor EMIT CHANGES;
INSERT INTO visits VALUES ('1', 'a', 5);
INSERT INTO visits VALUES ('2', 'b', 7);
INSERT INTO visits VALUES ('3', 'a', 6);
--@output PER_FLOOR folded
-- floor | visits | total
-- 1     | 2      | 11
-- 2     | 1      | 7
FORGET FROM per_floor WHERE floor = 1;
INSERT INTO visits VALUES ('4', 'a', 1);
--@output PER_FLOOR folded
-- floor | visits | total
-- 1     | 1      | 1
-- 2     | 1      | 7

--@test: each id once, then counted
CREATE TABLE ids AS
  SELECT shop, COUNT(*) AS ids FROM (SELECT DISTINCT ON (id, shop) id, shop FROM visits) d GROUP BY shop EMIT CHANGES;
INSERT INTO visits VALUES ('a', 'x', 1);
INSERT INTO visits VALUES ('a', 'x', 2);
INSERT INTO visits VALUES ('b', 'x', 3);
INSERT INTO visits VALUES ('a', 'y', 3);
INSERT INTO visits VALUES ('b', 'x', 3);
INSERT INTO visits VALUES ('b', 'y', 3);
--@output IDS ordered
-- shop | ids
-- x    | 1
-- x    | 2
-- y    | 1
-- y    | 2

--@test: windows below, with their bounds as groups
CREATE TABLE per_hour AS
  SELECT WINDOWSTART AS begin, COUNT(*) AS ids, SUM(n) AS visits FROM (
    SELECT id, COUNT(*) AS n FROM visits WINDOW TUMBLING (SIZE 1 HOUR) GROUP BY id
  ) w GROUP BY WINDOWSTART EMIT CHANGES;
INSERT INTO visits (ROWTIME, id, shop, amount) VALUES (0, 'a', 'x', 1);
INSERT INTO visits (ROWTIME, id, shop, amount) VALUES (1, 'a', 'x', 1);
INSERT INTO visits (ROWTIME, id, shop, amount) VALUES (3600000, 'a', 'x', 1);
INSERT INTO visits (ROWTIME, id, shop, amount) VALUES (2, 'b', 'x', 1);
INSERT INTO visits (ROWTIME, id, shop, amount) VALUES (3600001, 'b', 'x', 1);
--@output PER_HOUR ordered
-- begin   | ids | visits
-- 0       | 1   | 1
-- 0       | 1   | 2
-- 3600000 | 1   | 1
-- 0       | 2   | 3
-- 3600000 | 2   | 2

--@test: a group of NULL is reported once, and a column that fails too
CREATE TABLE halves AS
  SELECT half, COUNT(*) AS ids FROM (
    SELECT id, 100 / SUM(amount) AS half FROM visits GROUP BY id
  ) c GROUP BY half EMIT CHANGES;
INSERT INTO visits VALUES ('a', 'x', 50);
INSERT INTO visits VALUES ('b', 'x', 0);
INSERT INTO visits VALUES ('b', 'x', 50);
INSERT INTO visits VALUES ('a', 'x', -50);
INSERT INTO visits VALUES ('a', 'x', 10);
--@output HALVES ordered
-- half | ids
-- 2    | 1
-- 2    | 2
-- 2    | 1
-- 10   | 1

--@test: groups of the times of rows
CREATE TABLE times AS
  SELECT ROWTIME AS time, COUNT(*) AS ids FROM (SELECT id, COUNT(*) AS n FROM visits GROUP BY id) c
  GROUP BY ROWTIME EMIT CHANGES;
INSERT INTO visits (ROWTIME, id, shop) VALUES (1, 'a', 'x');
INSERT INTO visits (ROWTIME, id, shop) VALUES (1, 'b', 'x');
INSERT INTO visits (ROWTIME, id, shop) VALUES (2, 'c', 'x');
--@output TIMES ordered
-- time | ids
-- 1    | 1
-- 1    | 2
-- 2    | 1

--@test: rows of a push query
CREATE TABLE counted AS SELECT id, COUNT(*) AS n FROM visits GROUP BY id EMIT CHANGES;
INSERT INTO visits VALUES ('a', 'x', 1);
INSERT INTO visits VALUES ('b', 'x', 1);
INSERT INTO visits VALUES ('b', 'x', 1);
SET 'auto.offset.reset' = 'earliest';
SELECT n, COUNT(*) AS ids FROM (SELECT id, COUNT(*) AS n FROM visits GROUP BY id) c GROUP BY n EMIT CHANGES LIMIT 4;
--@rows ordered
-- n | ids
-- 1 | 1
-- 1 | 2
-- 1 | 1
-- 2 | 1

--@test: rows stay in their task: the group has the key of the join
CREATE STREAM clicks (shop STRING KEY, n INT)
  WITH (KAFKA_TOPIC = '${case}_clicks', VALUE_FORMAT = 'JSON', PARTITIONS = 4);
CREATE TABLE places (shop STRING PRIMARY KEY, city STRING)
  WITH (KAFKA_TOPIC = '${case}_places', VALUE_FORMAT = 'JSON', PARTITIONS = 4);
INSERT INTO places (ROWTIME, shop, city) VALUES (0, 'a', 'Rome');
INSERT INTO places (ROWTIME, shop, city) VALUES (0, 'b', 'Oslo');
INSERT INTO places (ROWTIME, shop, city) VALUES (0, 'c', 'Rome');
CREATE TABLE per_minute AS
  SELECT c.shop, COUNT(*) AS clicks, SUM(n) AS total
  FROM clicks c JOIN places p FOR SYSTEM_TIME AS OF CURRENT_TIMESTAMP ON c.shop = p.shop
  WINDOW TUMBLING (SIZE 1 MINUTE, GRACE PERIOD 0 SECONDS) GROUP BY c.shop EMIT CHANGES;
CREATE TABLE per_shop WITH (KEY_FORMAT = 'JSON') AS
  SELECT c.shop, city, COUNT(*) AS clicks, SUM(n) AS total
  FROM clicks c LEFT JOIN places p FOR SYSTEM_TIME AS OF CURRENT_TIMESTAMP ON c.shop = p.shop
  GROUP BY c.shop, city EMIT CHANGES;
INSERT INTO clicks (ROWTIME, shop, n) VALUES (1000, 'a', 1);
INSERT INTO clicks (ROWTIME, shop, n) VALUES (2000, 'b', 2);
INSERT INTO clicks (ROWTIME, shop, n) VALUES (3000, 'a', 3);
INSERT INTO clicks (ROWTIME, shop, n) VALUES (4000, 'c', 4);
--@output PER_SHOP folded
-- c_shop | city | clicks | total
-- a      | Rome | 2      | 4
-- b      | Oslo | 1      | 2
-- c      | Rome | 1      | 4
--@restart
INSERT INTO clicks (ROWTIME, shop, n) VALUES (61000, 'a', 5);
INSERT INTO clicks (ROWTIME, shop, n) VALUES (5000, 'a', 6);
INSERT INTO clicks (ROWTIME, shop, n) VALUES (62000, 'c', 7);
INSERT INTO clicks (ROWTIME, shop, n) VALUES (63000, 'b', 8);
--@output PER_MINUTE folded
-- c_shop | windowstart | windowend | clicks | total
-- a      | 0           | 60000     | 2      | 4
-- a      | 60000       | 120000    | 1      | 5
-- b      | 0           | 60000     | 1      | 2
-- b      | 60000       | 120000    | 1      | 8
-- c      | 0           | 60000     | 1      | 4
-- c      | 60000       | 120000    | 1      | 7
--@output PER_SHOP folded
-- c_shop | city | clicks | total
-- a      | Rome | 4      | 15
-- b      | Oslo | 2      | 10
-- c      | Rome | 2      | 11

--@test: exactly once, in micro-batches
SET 'processing.guarantee' = 'exactly_once_v2';
CREATE STREAM clicks (shop STRING KEY, n INT)
  WITH (KAFKA_TOPIC = '${case}_clicks', VALUE_FORMAT = 'JSON', PARTITIONS = 4);
CREATE TABLE moved AS
  SELECT clicks, COUNT(*) AS shops, SUM(total) AS total
  FROM (SELECT shop, COUNT(*) AS clicks, SUM(n) AS total FROM clicks GROUP BY shop) c
  WHERE clicks < 3 GROUP BY clicks EMIT CHANGES;
CREATE TABLE stayed WITH (KEY_FORMAT = 'JSON') AS
  SELECT shop, n, COUNT(*) AS clicks FROM (SELECT DISTINCT ON (shop, n) shop, n FROM clicks) c
  GROUP BY shop, n EMIT CHANGES;
INSERT INTO clicks VALUES ('a', 1);
INSERT INTO clicks VALUES ('b', 2);
INSERT INTO clicks VALUES ('a', 1);
--@output MOVED folded
-- clicks | shops | total
-- 1      | 1     | 2
-- 2      | 1     | 2
INSERT INTO clicks VALUES ('c', 4);
--@restart
INSERT INTO clicks VALUES ('a', 5);
INSERT INTO clicks VALUES ('b', 2);
INSERT INTO clicks VALUES ('b', 6);
INSERT INTO clicks VALUES ('d', 7);
--@output MOVED folded
-- clicks | shops | total
-- 1      | 2     | 11
-- 2      | 0     | 0
--@output STAYED folded
-- shop | n | clicks
-- a    | 1 | 1
-- a    | 5 | 1
-- b    | 2 | 1
-- b    | 6 | 1
-- c    | 4 | 1
-- d    | 7 | 1

--@test: windows over a join, by another column, have a topic between them
CREATE STREAM clicks (shop STRING KEY, n INT)
  WITH (KAFKA_TOPIC = '${case}_clicks', VALUE_FORMAT = 'JSON', PARTITIONS = 4);
CREATE TABLE places (shop STRING PRIMARY KEY, city STRING)
  WITH (KAFKA_TOPIC = '${case}_places', VALUE_FORMAT = 'JSON', PARTITIONS = 4);
INSERT INTO places (ROWTIME, shop, city) VALUES (0, 'a', 'Rome');
INSERT INTO places (ROWTIME, shop, city) VALUES (0, 'b', 'Oslo');
INSERT INTO places (ROWTIME, shop, city) VALUES (0, 'c', 'Rome');
CREATE TABLE per_city AS
  SELECT city, COUNT(*) AS clicks, SUM(n) AS total FROM clicks c JOIN places p ON c.shop = p.shop
  WINDOW TUMBLING (SIZE 1 MINUTE) GROUP BY city EMIT CHANGES;
INSERT INTO clicks (ROWTIME, shop, n) VALUES (1000, 'a', 1);
INSERT INTO clicks (ROWTIME, shop, n) VALUES (2000, 'b', 2);
INSERT INTO clicks (ROWTIME, shop, n) VALUES (3000, 'a', 3);
INSERT INTO clicks (ROWTIME, shop, n) VALUES (4000, 'c', 4);
--@output PER_CITY folded
-- city | windowstart | windowend | clicks | total
-- Oslo | 0           | 60000     | 1      | 2
-- Rome | 0           | 60000     | 3      | 8
--@restart
INSERT INTO clicks (ROWTIME, shop, n) VALUES (5000, 'c', 5);
INSERT INTO clicks (ROWTIME, shop, n) VALUES (6000, 'b', 6);
--@output PER_CITY folded
-- city | windowstart | windowend | clicks | total
-- Oslo | 0           | 60000     | 2      | 8
-- Rome | 0           | 60000     | 4      | 13

--@test: two joins and an aggregate: rows go from join to join through a topic
CREATE STREAM clicks (shop STRING KEY, kind INT, n INT)
  WITH (KAFKA_TOPIC = '${case}_clicks', VALUE_FORMAT = 'JSON', PARTITIONS = 4);
CREATE TABLE places (shop STRING PRIMARY KEY, city STRING)
  WITH (KAFKA_TOPIC = '${case}_places', VALUE_FORMAT = 'JSON', PARTITIONS = 4);
CREATE TABLE kinds (kind INT PRIMARY KEY, name STRING)
  WITH (KAFKA_TOPIC = '${case}_kinds', VALUE_FORMAT = 'JSON', PARTITIONS = 4);
INSERT INTO places (ROWTIME, shop, city) VALUES (0, 'a', 'Rome');
INSERT INTO places (ROWTIME, shop, city) VALUES (0, 'b', 'Oslo');
INSERT INTO kinds (ROWTIME, kind, name) VALUES (0, 1, 'tea');
INSERT INTO kinds (ROWTIME, kind, name) VALUES (0, 2, 'jam');
CREATE TABLE per_name WITH (KEY_FORMAT = 'JSON') AS
  SELECT city, name, COUNT(*) AS clicks, SUM(n) AS total
  FROM clicks c JOIN places p ON c.shop = p.shop JOIN kinds k ON c.kind = k.kind GROUP BY city, name EMIT CHANGES;
INSERT INTO clicks (ROWTIME, shop, kind, n) VALUES (1000, 'a', 1, 1);
INSERT INTO clicks (ROWTIME, shop, kind, n) VALUES (2000, 'b', 2, 2);
INSERT INTO clicks (ROWTIME, shop, kind, n) VALUES (3000, 'a', 1, 3);
--@output PER_NAME folded
-- city | name | clicks | total
-- Oslo | jam  | 1      | 2
-- Rome | tea  | 2      | 4
--@restart
INSERT INTO kinds (ROWTIME, kind, name) VALUES (4000, 2, 'honey');
INSERT INTO clicks (ROWTIME, shop, kind, n) VALUES (5000, 'a', 1, 4);
INSERT INTO clicks (ROWTIME, shop, kind, n) VALUES (6000, 'b', 2, 5);
--@output PER_NAME folded
-- city | name  | clicks | total
-- Oslo | honey | 1      | 5
-- Oslo | jam   | 1      | 2
-- Rome | tea   | 3      | 8

--@test: DISTINCT ON, OVER and Top-N by the key of a join stay in its task
CREATE STREAM clicks (id STRING KEY, shop STRING, n INT)
  WITH (KAFKA_TOPIC = '${case}_clicks', VALUE_FORMAT = 'JSON', PARTITIONS = 4);
CREATE TABLE places (shop STRING PRIMARY KEY, city STRING)
  WITH (KAFKA_TOPIC = '${case}_places', VALUE_FORMAT = 'JSON', PARTITIONS = 4);
CREATE STREAM opened (shop STRING KEY, door INT)
  WITH (KAFKA_TOPIC = '${case}_opened', VALUE_FORMAT = 'JSON', PARTITIONS = 4);
INSERT INTO places (ROWTIME, shop, city) VALUES (0, 'a', 'Rome');
INSERT INTO places (ROWTIME, shop, city) VALUES (0, 'b', 'Oslo');
CREATE STREAM firsts AS
  SELECT DISTINCT ON (p.shop) p.shop AS shop, n, city FROM clicks c JOIN places p ON c.shop = p.shop EMIT CHANGES;
CREATE STREAM grown AS
  SELECT shop, n, n - LAG(n) OVER (PARTITION BY shop ORDER BY ROWTIME) AS more
  FROM (SELECT p.shop AS shop, n FROM clicks c JOIN places p ON c.shop = p.shop) j EMIT CHANGES;
CREATE TABLE most WITH (KEY_FORMAT = 'JSON') AS
  SELECT shop, ROW_NUMBER() OVER (PARTITION BY shop ORDER BY n DESC) AS place, n
  FROM (SELECT p.shop AS shop, n FROM clicks c JOIN places p ON c.shop = p.shop) j QUALIFY place <= 2 EMIT CHANGES;
CREATE STREAM doors AS
  SELECT DISTINCT ON (o.shop) o.shop AS shop, door, n
  FROM opened o JOIN clicks c WITHIN 1 HOUR ON o.shop = c.shop WITHIN 2 HOURS WHERE n > 1 EMIT CHANGES;
INSERT INTO opened (ROWTIME, shop, door) VALUES (500, 'a', 7);
INSERT INTO opened (ROWTIME, shop, door) VALUES (600, 'b', 8);
INSERT INTO clicks (ROWTIME, id, shop, n) VALUES (1000, 'x', 'a', 1);
INSERT INTO clicks (ROWTIME, id, shop, n) VALUES (2000, 'y', 'b', 2);
INSERT INTO clicks (ROWTIME, id, shop, n) VALUES (3000, 'x', NULL, 9);
INSERT INTO clicks (ROWTIME, id, shop, n) VALUES (4000, 'z', 'a', 5);
--@restart
INSERT INTO clicks (ROWTIME, id, shop, n) VALUES (5000, 'y', 'a', 3);
INSERT INTO clicks (ROWTIME, id, shop, n) VALUES (6000, 'x', 'b', 4);
--@output FIRSTS rowsort
-- shop | n | city
-- a    | 1 | Rome
-- b    | 2 | Oslo
--@output GROWN rowsort
-- shop | n | more
-- a    | 1 | NULL
-- a    | 3 | -2
-- a    | 5 | 4
-- b    | 2 | NULL
-- b    | 4 | 2
--@output MOST folded
-- shop | place | n
-- a    | 1     | 5
-- a    | 2     | 3
-- b    | 1     | 4
-- b    | 2     | 2
--@output DOORS rowsort
-- shop | door | n
-- a    | 7    | 5
-- b    | 8    | 2

--@test: an aggregate of the best rows of each group
CREATE TABLE goods (id STRING PRIMARY KEY, shop STRING, price INT)
  WITH (KAFKA_TOPIC = '${case}_goods', VALUE_FORMAT = 'JSON', PARTITIONS = 4);
CREATE TABLE dear AS
  SELECT shop, SUM(price) AS total, COUNT(*) AS n
  FROM (
    SELECT shop, ROW_NUMBER() OVER (PARTITION BY shop ORDER BY price DESC, id) AS place, price
    FROM goods QUALIFY place <= 2
  ) b GROUP BY shop EMIT CHANGES;
CREATE TABLE dearest AS
  SELECT n, COUNT(*) AS shops
  FROM (
    SELECT shop, COUNT(*) AS n FROM (
      SELECT shop, ROW_NUMBER() OVER (PARTITION BY shop ORDER BY price DESC, id) AS place, price
      FROM goods QUALIFY place <= 2
    ) b GROUP BY shop
  ) c GROUP BY n EMIT CHANGES;
INSERT INTO goods VALUES ('p', 'a', 5);
INSERT INTO goods VALUES ('q', 'a', 7);
INSERT INTO goods VALUES ('r', 'a', 6);
INSERT INTO goods VALUES ('s', 'b', 1);
--@output DEAR folded
-- shop | total | n
-- a    | 13    | 2
-- b    | 1     | 1
--@output DEAREST folded
-- n | shops
-- 1 | 1
-- 2 | 1
--@restart
INSERT INTO goods VALUES ('q', 'b', 7);
INSERT INTO goods VALUES ('t', 'a', 9);
INSERT INTO goods (id, shop, price) VALUES ('s', NULL, 1);
--@output DEAR folded
-- shop | total | n
-- a    | 15    | 2
-- b    | 7     | 1
--@output DEAREST folded
-- n | shops
-- 1 | 1
-- 2 | 1

--@test: what follows windows that are emitted once
CREATE STREAM clicks (shop STRING KEY, n INT)
  WITH (KAFKA_TOPIC = '${case}_clicks', VALUE_FORMAT = 'JSON', PARTITIONS = 4);
CREATE TABLE best WITH (KEY_FORMAT = 'JSON') AS
  SELECT WINDOWSTART AS starts, ROW_NUMBER() OVER (PARTITION BY WINDOWSTART ORDER BY clicks DESC, shop) AS place,
    shop, clicks
  FROM (
    SELECT shop, COUNT(*) AS clicks FROM clicks
    WINDOW HOPPING (SIZE 10 SECONDS, ADVANCE BY 5 SECONDS, GRACE PERIOD 0 SECONDS) GROUP BY shop EMIT FINAL
  ) w QUALIFY place <= 1 EMIT CHANGES;
CREATE TABLE busy AS
  SELECT WINDOWEND AS ends, COUNT(*) AS shops, SUM(clicks) AS clicks
  FROM (
    SELECT shop, COUNT(*) AS clicks FROM clicks
    WINDOW TUMBLING (SIZE 10 SECONDS, GRACE PERIOD 0 SECONDS) GROUP BY shop EMIT FINAL
  ) w GROUP BY WINDOWEND EMIT CHANGES;
INSERT INTO clicks (ROWTIME, shop, n) VALUES (1000, 'a', 1);
INSERT INTO clicks (ROWTIME, shop, n) VALUES (2000, 'b', 2);
INSERT INTO clicks (ROWTIME, shop, n) VALUES (6000, 'b', 3);
INSERT INTO clicks (ROWTIME, shop, n) VALUES (7000, 'a', 3);
INSERT INTO clicks (ROWTIME, shop, n) VALUES (8000, 'a', 3);
--@restart
INSERT INTO clicks (ROWTIME, shop, n) VALUES (11000, 'b', 4);
INSERT INTO clicks (ROWTIME, shop, n) VALUES (40000, 'a', 5);
INSERT INTO clicks (ROWTIME, shop, n) VALUES (40000, 'b', 6);
INSERT INTO clicks (ROWTIME, shop, n) VALUES (40000, 'c', 6);
INSERT INTO clicks (ROWTIME, shop, n) VALUES (40000, 'd', 6);
--@output BEST folded
-- starts | place | shop | clicks
-- 0      | 1     | a    | 3
-- 10000  | 1     | b    | 1
-- 5000   | 1     | a    | 2
--@output BUSY folded
-- ends  | shops | clicks
-- 10000 | 2     | 5
-- 20000 | 1     | 1

--@test: rows of one group come from several partitions, and stay in the task of their group
CREATE STREAM s (k STRING KEY, a INT, v INT)
  WITH (KAFKA_TOPIC = '${case}_s', VALUE_FORMAT = 'JSON', PARTITIONS = 4);
CREATE TABLE of_best AS
  SELECT a, SUM(v) AS total
  FROM (SELECT a, ROW_NUMBER() OVER (PARTITION BY a ORDER BY v DESC) AS p, v FROM s QUALIFY p <= 2) b
  GROUP BY a EMIT CHANGES;
CREATE TABLE best WITH (KEY_FORMAT = 'JSON') AS
  SELECT a, ROW_NUMBER() OVER (PARTITION BY a ORDER BY v DESC) AS p, v, b
  FROM (SELECT a, v, LAG(v) OVER (PARTITION BY a ORDER BY ROWTIME) AS b FROM s) o QUALIFY p <= 2 EMIT CHANGES;
CREATE TABLE of_over AS
  SELECT a, COUNT(*) AS n, COUNT(b) AS later
  FROM (SELECT a, v, LAG(v) OVER (PARTITION BY a ORDER BY ROWTIME) AS b FROM s) o GROUP BY a EMIT CHANGES;
CREATE TABLE of_distinct AS
  SELECT a, COUNT(*) AS n
  FROM (SELECT DISTINCT ON (a) a, v FROM s WITHIN 1 HOUR) d GROUP BY a EMIT CHANGES;
INSERT INTO s (ROWTIME, k, a, v) VALUES (1000, 'a', 1, 5);
INSERT INTO s (ROWTIME, k, a, v) VALUES (2000, 'b', 1, 7);
INSERT INTO s (ROWTIME, k, a, v) VALUES (3000, 'c', 1, 6);
INSERT INTO s (ROWTIME, k, a, v) VALUES (4000, 'd', 1, 1);
--@restart
INSERT INTO s (ROWTIME, k, a, v) VALUES (7200000, 'e', 1, 2);
INSERT INTO s (ROWTIME, k, a, v) VALUES (7200001, 'f', 1, 3);
--@output OF_BEST folded
-- a | total
-- 1 | 13
--@output BEST folded
-- a | p | v
-- 1 | 1 | 7
-- 1 | 2 | 6
--@output OF_OVER folded
-- a | n | later
-- 1 | 6 | 5
--@output OF_DISTINCT folded
-- a | n
-- 1 | 2
