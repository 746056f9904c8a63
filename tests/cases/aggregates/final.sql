-- EMIT FINAL: what a window holds when it is over.
CREATE STREAM clicks (page STRING KEY, ts BIGINT)
  WITH (KAFKA_TOPIC = '${case}_clicks', VALUE_FORMAT = 'JSON', PARTITIONS = 2, TIMESTAMP = 'ts');

--@test: a jump in time loses no window, however long it is
CREATE TABLE finals AS
  SELECT page, COUNT(*) AS n FROM clicks WINDOW TUMBLING (SIZE 2 MILLISECONDS, GRACE PERIOD 1 MILLISECONDS)
  GROUP BY page EMIT FINAL;
INSERT INTO clicks (page, ts) VALUES ('home', 0);
INSERT INTO clicks (page, ts) VALUES ('home', 1);
INSERT INTO clicks (page, ts) VALUES ('home', 2);
INSERT INTO clicks (page, ts) VALUES ('home', 1000000);
--@output FINALS ordered
-- rowtime | page | windowstart | windowend | n
-- 1       | home | 0           | 2         | 2
-- 2       | home | 2           | 4         | 1

--@test: where jumps are lossy, windows whose end and grace period lie before the closing record's window are lost
SET 'ksql.suppress.lossy.jumps' = 'true';
CREATE TABLE finals AS
  SELECT page, COUNT(*) AS n FROM clicks WINDOW TUMBLING (SIZE 2 MILLISECONDS, GRACE PERIOD 1 MILLISECONDS)
  GROUP BY page EMIT FINAL;
CREATE TABLE hops AS
  SELECT page, COUNT(*) AS n FROM clicks
  WINDOW HOPPING (SIZE 4 MILLISECONDS, ADVANCE BY 2 MILLISECONDS, GRACE PERIOD 0 MILLISECONDS)
  GROUP BY page EMIT FINAL;
CREATE TABLE sessions AS
  SELECT page, COUNT(*) AS n FROM clicks WINDOW SESSION (2 MILLISECONDS, GRACE PERIOD 0 MILLISECONDS)
  GROUP BY page EMIT FINAL;
INSERT INTO clicks (page, ts) VALUES ('home', 0);
INSERT INTO clicks (page, ts) VALUES ('home', 1);
INSERT INTO clicks (page, ts) VALUES ('home', 2);
INSERT INTO clicks (page, ts) VALUES ('home', 5);
INSERT INTO clicks (page, ts) VALUES ('home', 7);
INSERT INTO clicks (page, ts) VALUES ('home', 1000000);
INSERT INTO clicks (page, ts) VALUES ('home', 1000003);
--@output FINALS ordered
-- page | windowstart | windowend | n
-- home | 2           | 4         | 1
-- home | 4           | 6         | 1
-- home | 1000000     | 1000002   | 1
--@output HOPS ordered
-- page | windowstart | windowend | n
-- home | 0           | 4         | 3
-- home | 2           | 6         | 2
-- home | 999998      | 1000002   | 1
--@output SESSIONS ordered
-- page | windowstart | windowend | n
-- home | 0           | 2         | 3
-- home | 5           | 7         | 2
-- home | 1000000     | 1000000   | 1

--@test: windows close when nothing comes for the idle timeout, and stay closed
SET 'ksql.idle.window.timeout' = '1500';
INSERT INTO clicks (page, ts) VALUES ('home', 100);
INSERT INTO clicks (page, ts) VALUES ('home', 200);
INSERT INTO clicks (page, ts) VALUES ('news', 1200);
CREATE TABLE finals AS
  SELECT page, COUNT(*) AS n FROM clicks WINDOW TUMBLING (SIZE 1 SECOND) GROUP BY page EMIT FINAL;
--@output FINALS rowsort
-- rowtime | page | windowstart | windowend | n
-- 1200    | news | 1000        | 2000      | 1
-- 200     | home | 0           | 1000      | 2
INSERT INTO clicks (page, ts) VALUES ('home', 300);
INSERT INTO clicks (page, ts) VALUES ('home', 5000);
--@output FINALS rowsort
-- rowtime | page | windowstart | windowend | n
-- 5000    | home | 5000        | 6000      | 1

--@test: sessions too, and in micro-batches
SET 'ksql.idle.window.timeout' = '1500';
SET 'ksql.execution.mode' = 'microbatch';
INSERT INTO clicks (page, ts) VALUES ('home', 100);
INSERT INTO clicks (page, ts) VALUES ('home', 200);
CREATE TABLE finals AS
  SELECT page, COUNT(*) AS n FROM clicks WINDOW SESSION (1 SECOND) GROUP BY page EMIT FINAL;
--@output FINALS rowsort
-- rowtime | page | windowstart | windowend | n
-- 200     | home | 100         | 200       | 2
