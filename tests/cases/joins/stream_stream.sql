-- Two streams joined within a span of event time.
CREATE STREAM impressions (id STRING KEY, ts BIGINT, page STRING)
  WITH (KAFKA_TOPIC = '${case}_impressions', VALUE_FORMAT = 'JSON', PARTITIONS = 1, TIMESTAMP = 'ts');
CREATE STREAM clicks (id STRING KEY, ts BIGINT, button STRING)
  WITH (KAFKA_TOPIC = '${case}_clicks', VALUE_FORMAT = 'JSON', PARTITIONS = 1, TIMESTAMP = 'ts');

--@test: pairs within ten seconds either way, each with the later time
CREATE STREAM pairs AS
  SELECT i.id AS id, i.page AS page, c.button AS button
  FROM impressions i JOIN clicks c WITHIN 10 SECONDS ON i.id = c.id EMIT CHANGES;
INSERT INTO impressions (id, ts, page) VALUES ('a', 10000, 'home');
--@output PAIRS ordered
-- rowtime | id | page | button
INSERT INTO clicks (id, ts, button) VALUES ('a', 20000, 'at the bound');
INSERT INTO clicks (id, ts, button) VALUES ('a', 20001, 'too late');
INSERT INTO clicks (id, ts, button) VALUES ('a', 0, 'before');
INSERT INTO clicks (id, ts, button) VALUES ('b', 10000, 'another key');
INSERT INTO clicks (id, ts, button) VALUES ('a', 12000, 'last');
--@output PAIRS rowsort
-- rowtime | id | page | button
-- 10000   | a  | home | before
-- 12000   | a  | home | last
-- 20000   | a  | home | at the bound

--@test: bounds of their own before and after, and a grace period
CREATE STREAM pairs AS
  SELECT i.id AS id, i.page AS page, c.button AS button
  FROM impressions i JOIN clicks c WITHIN (0 SECONDS, 5 SECONDS) GRACE PERIOD 1 HOUR ON i.id = c.id EMIT CHANGES;
INSERT INTO impressions (id, ts, page) VALUES ('a', 10000, 'home');
INSERT INTO impressions (id, ts, page) VALUES ('a', 11000, 'news');
INSERT INTO clicks (id, ts, button) VALUES ('a', 9999, 'before both');
INSERT INTO clicks (id, ts, button) VALUES ('a', 15000, 'within both');
INSERT INTO clicks (id, ts, button) VALUES ('a', 15001, 'within one');
--@output PAIRS rowsort
-- rowtime | id | page | button
-- 15000   | a  | home | within both
-- 15000   | a  | news | within both
-- 15001   | a  | news | within one

--@test: RIGHT: WITHIN is relative to the right record, as in ksqlDB, and conditions in ON mean what they say
INSERT INTO impressions (id, ts, page) VALUES ('a', 100000, 'home');
INSERT INTO clicks (id, ts, button) VALUES ('a', 85000, 'before');
INSERT INTO clicks (id, ts, button) VALUES ('a', 115000, 'after');
CREATE STREAM pairs AS
  SELECT c.id AS id, i.page AS page, c.button AS button
  FROM impressions i RIGHT JOIN clicks c WITHIN (10 SECONDS, 20 SECONDS) ON i.id = c.id EMIT CHANGES;
CREATE STREAM bounded AS
  SELECT c.id AS id, i.page AS page, c.button AS button
  FROM impressions i RIGHT JOIN clicks c
  ON i.id = c.id AND c.ROWTIME BETWEEN i.ROWTIME - 10000 AND i.ROWTIME + 20000 EMIT CHANGES;
--@output PAIRS rowsort
-- rowtime | id | page | button
-- 100000  | a  | home | before
-- 115000  | a  | NULL | after
-- 85000   | a  | NULL | before
--@output BOUNDED rowsort
-- rowtime | id | page | button
-- 115000  | a  | home | after
-- 85000   | a  | NULL | before

--@test: each side's rows are kept by its own time, late ones of an outer side leave at once
CREATE STREAM pairs AS
  SELECT c.id AS id, i.page AS page, c.button AS button
  FROM impressions i RIGHT JOIN clicks c WITHIN 1 MINUTE GRACE PERIOD 1 MINUTE ON i.id = c.id EMIT CHANGES;
INSERT INTO impressions (id, ts, page) VALUES ('x', 330000, 'far ahead');
INSERT INTO clicks (id, ts, button) VALUES ('x', 300000, 'met: seen after the page');
--@output PAIRS ordered
-- rowtime | id | page      | button
-- 330000  | x  | far ahead | met: seen after the page
INSERT INTO impressions (id, ts, page) VALUES ('b', 90000, 'gone at once: its side is at 330000');
INSERT INTO clicks (id, ts, button) VALUES ('b', 90000, 'late, alone');
--@output PAIRS ordered
-- rowtime | id | page | button
-- 90000   | b  | NULL | late, alone

--@test: a row whose window is over when it comes waits for its match until the grace period is over, too
CREATE STREAM pairs AS
  SELECT i.id AS id, i.page AS page, c.button AS button
  FROM impressions i LEFT JOIN clicks c WITHIN 10 SECONDS GRACE PERIOD 1 MINUTE ON i.id = c.id EMIT CHANGES;
CREATE STREAM unseen AS
  SELECT id, page FROM impressions i
  WHERE NOT EXISTS (SELECT 1 FROM clicks c WITHIN 10 SECONDS GRACE PERIOD 1 MINUTE WHERE c.id = i.id) EMIT CHANGES;
INSERT INTO impressions (id, ts, page) VALUES ('z', 100000, 'now');
INSERT INTO impressions (id, ts, page) VALUES ('a', 50000, 'late');
INSERT INTO impressions (id, ts, page) VALUES ('b', 50000, 'late, alone');
INSERT INTO impressions (id, ts, page) VALUES ('c', 20000, 'too late');
--@output PAIRS ordered
-- rowtime | id | page     | button
-- 20000   | c  | too late | NULL
--@output UNSEEN ordered
-- rowtime | id | page
-- 20000   | c  | too late
INSERT INTO clicks (id, ts, button) VALUES ('a', 55000, 'met');
INSERT INTO clicks (id, ts, button) VALUES ('y', 150000, 'b is over');
--@output PAIRS rowsort
-- rowtime | id | page        | button
-- 50000   | b  | late, alone | NULL
-- 55000   | a  | late        | met
--@output UNSEEN rowsort
-- rowtime | id | page
-- 50000   | b  | late, alone

--@test: of rows of equal times the left one is taken first: alone, then with its match
CREATE STREAM pairs AS
  SELECT i.id AS id, i.page AS page, c.button AS button
  FROM impressions i LEFT JOIN clicks c WITHIN 10 SECONDS ON i.id = c.id EMIT CHANGES;
INSERT INTO impressions (id, ts, page) VALUES ('a', 1000, 'home');
--@output PAIRS ordered
-- rowtime | id | page | button
-- 1000    | a  | home | NULL
INSERT INTO clicks (id, ts, button) VALUES ('a', 1000, 'at once');
--@output PAIRS ordered
-- rowtime | id | page | button
-- 1000    | a  | home | at once

--@test: of rows of equal times that of a stream which need not be re-keyed is taken first
CREATE STREAM pairs AS
  SELECT c.id AS id, i.page AS page, c.button AS button
  FROM impressions i LEFT JOIN clicks c WITHIN 10 SECONDS ON LCASE(i.page) = c.id EMIT CHANGES;
INSERT INTO clicks (id, ts, button) VALUES ('home', 1000, 'at once');
INSERT INTO impressions (id, ts, page) VALUES ('a', 1000, 'HOME');
--@output PAIRS ordered
-- rowtime | id   | page | button
-- 1000    | home | HOME | at once

--@test: rows that met nothing leave by their time when both sides are outer
CREATE STREAM pairs AS
  SELECT ROWKEY AS id, i.page AS page, c.button AS button
  FROM impressions i FULL OUTER JOIN clicks c WITHIN (5 SECONDS, 20 SECONDS) GRACE PERIOD 0 SECONDS ON i.id = c.id
  EMIT CHANGES;
INSERT INTO impressions (id, ts, page) VALUES ('a', 1000, 'alone');
INSERT INTO clicks (id, ts, button) VALUES ('b', 2000, 'alone, closed before a');
INSERT INTO impressions (id, ts, page) VALUES ('c', 100000, 'now');
--@output PAIRS ordered
-- rowtime | id | page  | button
-- 1000    | a  | alone | NULL
-- 2000    | b  | NULL  | alone, closed before a

--@test: rows that met nothing leave when nothing comes for the idle timeout
SET 'ksql.idle.window.timeout' = '1500';
CREATE STREAM pairs AS
  SELECT i.id AS id, i.page AS page, c.button AS button
  FROM impressions i LEFT JOIN clicks c WITHIN 10 SECONDS GRACE PERIOD 1 HOUR ON i.id = c.id EMIT CHANGES;
INSERT INTO impressions (id, ts, page) VALUES ('a', 1000, 'alone');
--@output PAIRS ordered
-- rowtime | id | page  | button
-- 1000    | a  | alone | NULL

--@test: pairs meet at any time, however short the grace period
CREATE STREAM pairs AS
  SELECT i.id AS id, i.page AS page, c.button AS button
  FROM impressions i JOIN clicks c WITHIN 10 SECONDS GRACE PERIOD 5 SECONDS ON i.id = c.id EMIT CHANGES;
INSERT INTO impressions (id, ts, page) VALUES ('a', 10000, 'home');
INSERT INTO clicks (id, ts, button) VALUES ('a', 15000, 'first');
--@output PAIRS ordered
-- rowtime | id | page | button
-- 15000   | a  | home | first
INSERT INTO impressions (id, ts, page) VALUES ('a', 1000000, 'news');
INSERT INTO clicks (id, ts, button) VALUES ('a', 1009000, 'second');
--@output PAIRS ordered
-- rowtime | id | page | button
-- 1009000 | a  | news | second
INSERT INTO impressions (id, ts, page) VALUES ('b', 3600000, 'home');
INSERT INTO clicks (id, ts, button) VALUES ('b', 3600001, 'third');
--@output PAIRS ordered
-- rowtime | id | page | button
-- 3600001 | b  | home | third
