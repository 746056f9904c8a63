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
