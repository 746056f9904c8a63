-- COUNT, SUM, MIN, MAX and AVG without a window.
CREATE STREAM rides (vendor STRING, fare DOUBLE, people INT)
  WITH (KAFKA_TOPIC = '${case}_rides', VALUE_FORMAT = 'JSON', PARTITIONS = 1);

--@test: every row updates its group
CREATE TABLE by_vendor AS
  SELECT vendor, COUNT(*) AS n, COUNT(people) AS known, SUM(people) AS people, MIN(fare) AS least, MAX(fare) AS most, AVG(fare) AS mean
  FROM rides GROUP BY vendor EMIT CHANGES;
INSERT INTO rides (vendor, fare, people) VALUES ('a', 10.0, 1);
INSERT INTO rides (vendor, fare, people) VALUES ('b', 2.5, 2);
INSERT INTO rides (vendor, fare) VALUES ('a', 20.0);
INSERT INTO rides (vendor, fare, people) VALUES ('a', -3.0, 4);
INSERT INTO rides (fare, people) VALUES (99.0, 9);
INSERT INTO rides (vendor) VALUES ('b');
--@output BY_VENDOR ordered
-- vendor | n | known | people | least | most | mean
-- a      | 1 | 1     | 1      | 10.0  | 10.0 | 10.0
-- b      | 1 | 1     | 2      | 2.5   | 2.5  | 2.5
-- a      | 2 | 1     | 1      | 10.0  | 20.0 | 15.0
-- a      | 3 | 2     | 5      | -3.0  | 20.0 | 9.0
-- b      | 2 | 1     | 2      | 2.5   | 2.5  | 2.5
--@output BY_VENDOR folded
-- vendor | n | known | people | least | most | mean
-- a      | 3 | 2     | 5      | -3.0  | 20.0 | 9.0
-- b      | 2 | 1     | 2      | 2.5   | 2.5  | 2.5

--@test: grouping by an expression and by two columns, and a filter before
CREATE TABLE by_class AS
  SELECT CASE WHEN fare >= 10 THEN 'high' ELSE 'low' END AS class, COUNT(*) AS n
  FROM rides WHERE people > 0 GROUP BY CASE WHEN fare >= 10 THEN 'high' ELSE 'low' END EMIT CHANGES;
CREATE TABLE by_both WITH (KEY_FORMAT = 'JSON') AS
  SELECT vendor, people, SUM(fare) AS total FROM rides GROUP BY vendor, people EMIT CHANGES;
INSERT INTO rides (vendor, fare, people) VALUES ('a', 10.0, 1);
INSERT INTO rides (vendor, fare, people) VALUES ('a', 1.0, 0);
INSERT INTO rides (vendor, fare, people) VALUES ('a', 2.0, 1);
INSERT INTO rides (vendor, fare, people) VALUES ('b', 3.0, 1);
INSERT INTO rides (vendor, fare, people) VALUES ('a', 30.0, 1);
--@output BY_CLASS ordered
-- class | n
-- high  | 1
-- low   | 1
-- low   | 2
-- high  | 2
--@output BY_BOTH folded
-- vendor | people | total
-- a      | 0      | 1.0
-- a      | 1      | 42.0
-- b      | 1      | 3.0

--@test: arithmetic on aggregates
CREATE TABLE shares AS
  SELECT vendor, SUM(fare) / COUNT(*) AS mean, MAX(fare) - MIN(fare) AS spread FROM rides GROUP BY vendor EMIT CHANGES;
INSERT INTO rides (vendor, fare) VALUES ('a', 10.0);
INSERT INTO rides (vendor, fare) VALUES ('a', 5.0);
--@output SHARES ordered
-- vendor | mean | spread
-- a      | 10.0 | 0.0
-- a      | 7.5  | 5.0

--@test: counts go on after a restart
CREATE TABLE counts AS SELECT vendor, COUNT(*) AS n, SUM(fare) AS total FROM rides GROUP BY vendor EMIT CHANGES;
INSERT INTO rides (vendor, fare) VALUES ('a', 1.0);
INSERT INTO rides (vendor, fare) VALUES ('b', 2.0);
--@output COUNTS folded
-- vendor | n | total
-- a      | 1 | 1.0
-- b      | 1 | 2.0
--@restart
INSERT INTO rides (vendor, fare) VALUES ('a', 4.0);
--@output COUNTS folded
-- vendor | n | total
-- a      | 2 | 5.0
-- b      | 1 | 2.0
--@restart
INSERT INTO rides (vendor, fare) VALUES ('b', 8.0);
--@output COUNTS folded
-- vendor | n | total
-- a      | 2 | 5.0
-- b      | 2 | 10.0
SELECT vendor, n, total FROM counts WHERE vendor = 'b';
--@rows
-- vendor | n | total
-- b      | 2 | 10.0
