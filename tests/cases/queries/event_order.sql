-- ORDER = 'event-time': history in the order in which it happened.
CREATE STREAM left_side (id STRING KEY, ts BIGINT, v STRING)
  WITH (KAFKA_TOPIC = '${case}_left', VALUE_FORMAT = 'JSON', PARTITIONS = 3, TIMESTAMP = 'ts');
CREATE TABLE state_of (id STRING PRIMARY KEY, ts BIGINT, state STRING)
  WITH (KAFKA_TOPIC = '${case}_state', VALUE_FORMAT = 'JSON', PARTITIONS = 3, TIMESTAMP = 'ts');
INSERT INTO state_of (id, ts, state) VALUES ('a', 1000, 'open');
INSERT INTO state_of (id, ts, state) VALUES ('a', 3000, 'closed');
INSERT INTO state_of (id, ts, state) VALUES ('b', 500, 'open');
INSERT INTO left_side (id, ts, v) VALUES ('a', 3500, 'fourth');
INSERT INTO left_side (id, ts, v) VALUES ('a', 500, 'first');
INSERT INTO left_side (id, ts, v) VALUES ('a', 2000, 'second');
INSERT INTO left_side (id, ts, v) VALUES ('a', 3000, 'third, the table goes first');
INSERT INTO left_side (id, ts, v) VALUES ('b', 400, 'before its table');

--@test: each row meets the table as it was then
CREATE STREAM met WITH (ORDER = 'event-time', PARTITIONS = 1) AS
  SELECT l.id AS id, v, state FROM left_side l LEFT JOIN state_of s ON l.id = s.id EMIT CHANGES;
--@output MET rowsort
-- rowtime | id | v                           | state
-- 2000    | a  | second                      | open
-- 3000    | a  | third, the table goes first | closed
-- 3500    | a  | fourth                      | closed
-- 400     | b  | before its table            | NULL
-- 500     | a  | first                       | NULL

--@test: no row of the history is late
CREATE TABLE counts WITH (ORDER = 'event-time') AS
  SELECT id, COUNT(*) AS n FROM left_side WINDOW TUMBLING (SIZE 1 SECOND, GRACE PERIOD 0 SECONDS)
  GROUP BY id EMIT CHANGES;
--@output COUNTS folded
-- id | windowstart | n
-- a  | 0           | 1
-- a  | 2000        | 1
-- a  | 3000        | 2
-- b  | 0           | 1
INSERT INTO left_side (id, ts, v) VALUES ('b', 9000, 'new');
--@output COUNTS folded
-- id | windowstart | n
-- a  | 0           | 1
-- a  | 2000        | 1
-- a  | 3000        | 2
-- b  | 0           | 1
-- b  | 9000        | 1
INSERT INTO left_side (id, ts, v) VALUES ('b', 100, 'late: not of the history');
INSERT INTO left_side (id, ts, v) VALUES ('b', 9001, 'newest');
--@output COUNTS folded
-- id | windowstart | n
-- a  | 0           | 1
-- a  | 2000        | 1
-- a  | 3000        | 2
-- b  | 0           | 1
-- b  | 9000        | 2

--@test: a sub-topology begins with all that the one before it made of the history
CREATE TABLE per_state WITH (ORDER = 'event-time') AS
  SELECT s.state AS state, COUNT(*) AS n
  FROM left_side l JOIN state_of s ON l.id = s.id
  WINDOW TUMBLING (SIZE 500 MILLISECONDS, GRACE PERIOD 0 SECONDS)
  GROUP BY s.state EMIT CHANGES;
--@output PER_STATE folded
-- state  | windowstart | n
-- closed | 3000        | 1
-- closed | 3500        | 1
-- open   | 2000        | 1
--@restart
INSERT INTO left_side (id, ts, v) VALUES ('a', 3600, 'on and on');
--@output PER_STATE folded
-- state  | windowstart | n
-- closed | 3000        | 1
-- closed | 3500        | 2
-- open   | 2000        | 1
