-- Aggregates in tumbling windows of event time.
CREATE STREAM clicks (who STRING KEY, ts BIGINT, n INT)
  WITH (KAFKA_TOPIC = '${case}_clicks', VALUE_FORMAT = 'JSON', PARTITIONS = 1, TIMESTAMP = 'ts');

--@test: windows are aligned to the epoch, their end is not in them, late rows count
CREATE TABLE per_minute AS
  SELECT who, COUNT(*) AS clicks, SUM(n) AS total, MIN(n) AS least, MAX(n) AS most, AVG(n) AS mean
  FROM clicks WINDOW TUMBLING (SIZE 1 MINUTE) GROUP BY who EMIT CHANGES;
INSERT INTO clicks (who, ts, n) VALUES ('ann', 0, 1);
INSERT INTO clicks (who, ts, n) VALUES ('ann', 59999, 3);
INSERT INTO clicks (who, ts, n) VALUES ('ann', 60000, 5);
INSERT INTO clicks (who, ts, n) VALUES ('bob', 125000, 7);
INSERT INTO clicks (who, ts, n) VALUES ('ann', 30000, 9);
--@output PER_MINUTE ordered
-- rowtime | who | windowstart | windowend | clicks | total | least | most | mean
-- 0       | ann | 0           | 60000     | 1      | 1     | 1     | 1    | 1.0
-- 59999   | ann | 0           | 60000     | 2      | 4     | 1     | 3    | 2.0
-- 60000   | ann | 60000       | 120000    | 1      | 5     | 5     | 5    | 5.0
-- 125000  | bob | 120000      | 180000    | 1      | 7     | 7     | 7    | 7.0
-- 59999   | ann | 0           | 60000     | 3      | 13    | 1     | 9    | 4.333333333333333
--@output PER_MINUTE folded
-- who | windowstart | windowend | clicks | total | least | most | mean
-- ann | 0           | 60000     | 3      | 13    | 1     | 9    | 4.333333333333333
-- ann | 60000       | 120000    | 1      | 5     | 5     | 5    | 5.0
-- bob | 120000      | 180000    | 1      | 7     | 7     | 7    | 7.0
SELECT who, WINDOWSTART, clicks FROM per_minute WHERE who = 'ann';
--@rows
-- who | windowstart | clicks
-- ann | 0           | 3
-- ann | 60000       | 1
SELECT who, WINDOWEND, total FROM per_minute WHERE who = 'ann' AND WINDOWSTART >= 60000;
--@rows
-- who | windowend | total
-- ann | 120000    | 5

--@test: the window's bounds as columns, a key by another column
CREATE TABLE per_number WITH (KEY_FORMAT = 'JSON') AS
  SELECT n, WINDOWSTART AS s, WINDOWEND AS e, COUNT(*) AS c
  FROM clicks WINDOW TUMBLING (SIZE 10 SECONDS, GRACE PERIOD 1 DAY) GROUP BY n EMIT CHANGES;
INSERT INTO clicks (who, ts, n) VALUES ('ann', 10000, 1);
INSERT INTO clicks (who, ts, n) VALUES ('bob', 12000, 1);
INSERT INTO clicks (who, ts, n) VALUES ('bob', 20000, 1);
--@output PER_NUMBER ordered
-- n | windowstart | windowend | s     | e     | c
-- 1 | 10000       | 20000     | 10000 | 20000 | 1
-- 1 | 10000       | 20000     | 10000 | 20000 | 2
-- 1 | 20000       | 30000     | 20000 | 30000 | 1

--@test: windows go on after a restart
CREATE TABLE counts AS SELECT who, COUNT(*) AS n FROM clicks WINDOW TUMBLING (SIZE 1 MINUTE) GROUP BY who EMIT CHANGES;
INSERT INTO clicks (who, ts) VALUES ('ann', 1000);
INSERT INTO clicks (who, ts) VALUES ('ann', 61000);
--@output COUNTS folded
-- who | windowstart | windowend | n
-- ann | 0           | 60000     | 1
-- ann | 60000       | 120000    | 1
--@restart
INSERT INTO clicks (who, ts) VALUES ('ann', 2000);
--@output COUNTS folded
-- who | windowstart | windowend | n
-- ann | 0           | 60000     | 2
-- ann | 60000       | 120000    | 1
