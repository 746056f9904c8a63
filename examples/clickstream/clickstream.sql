-- Click stream: sessions of users, pages in hopping windows, who clicks, and error rates

SET 'auto.offset.reset' = 'earliest';

CREATE STREAM clicks (user_id INT, page STRING, status INT, bytes INT, agent STRING)
  WITH (KAFKA_TOPIC = 'clicks', VALUE_FORMAT = 'JSON', PARTITIONS = 1);

CREATE TABLE site_users (user_id INT PRIMARY KEY, name STRING, city STRING, level STRING)
  WITH (KAFKA_TOPIC = 'site_users', VALUE_FORMAT = 'JSON', PARTITIONS = 1);

CREATE TABLE status_codes (status INT PRIMARY KEY, meaning STRING)
  WITH (KAFKA_TOPIC = 'status_codes', VALUE_FORMAT = 'JSON', PARTITIONS = 1);

INSERT INTO site_users VALUES (1, 'Ada', 'London', 'Gold');
INSERT INTO site_users VALUES (2, 'Ben', 'Paris', 'Silver');
INSERT INTO site_users VALUES (3, 'Cleo', 'Cairo', 'Silver');
INSERT INTO site_users VALUES (4, 'Dan', 'Oslo', 'Platinum');
INSERT INTO site_users VALUES (5, 'Eve', 'Rome', 'Gold');
INSERT INTO site_users VALUES (6, 'Finn', 'Cork', 'Silver');
INSERT INTO status_codes VALUES (200, 'OK');
INSERT INTO status_codes VALUES (304, 'Not modified');
INSERT INTO status_codes VALUES (404, 'Page not found');
INSERT INTO status_codes VALUES (500, 'Internal server error');

--@generate clicks --rate 20/s

-- A session of a user ends after 30 seconds without a click.
CREATE TABLE user_sessions AS
  SELECT user_id, COUNT(*) AS clicks, SUM(bytes) AS total_bytes
  FROM clicks
  WINDOW SESSION (30 SECONDS)
  GROUP BY user_id
  EMIT CHANGES;

--@show Sessions | key USER_ID; bar CLICKS | SELECT USER_ID, CLICKS, TOTAL_BYTES FROM user_sessions EMIT CHANGES;

-- Views of each page within a minute, every 20 seconds anew.
CREATE TABLE pages_per_minute AS
  SELECT page, COUNT(*) AS views
  FROM clicks
  WINDOW HOPPING (SIZE 60 SECONDS, ADVANCE BY 20 SECONDS)
  GROUP BY page
  EMIT CHANGES;

-- Who clicks. Users 7 and 8 are unknown: LEFT JOIN keeps their clicks.
CREATE STREAM user_clicks AS
  SELECT c.user_id AS user_id, u.name AS name, u.city AS city, u.level AS level, c.page AS page, c.status AS status
  FROM clicks c
  LEFT JOIN site_users u ON c.user_id = u.user_id
  EMIT CHANGES;

--@show Who clicks | | SELECT NAME, CITY, PAGE, STATUS FROM user_clicks EMIT CHANGES;

-- What went wrong, in words.
CREATE STREAM click_errors AS
  SELECT c.status AS status, s.meaning AS meaning, c.page AS page, c.user_id AS user_id
  FROM clicks c
  INNER JOIN status_codes s ON c.status = s.status
  WHERE c.status >= 400
  EMIT CHANGES;

-- The share of failed requests of each page and minute, once there are enough requests for a rate.
CREATE TABLE error_rates AS
  SELECT page, COUNT(*) AS requests, SUM(CASE WHEN status >= 400 THEN 1 ELSE 0 END) AS errors,
         SUM(CASE WHEN status >= 400 THEN 100 ELSE 0 END) / COUNT(*) AS error_percent
  FROM clicks
  WINDOW TUMBLING (SIZE 1 MINUTE)
  GROUP BY page
  HAVING COUNT(*) >= 5
  EMIT CHANGES;

--@show Error rates | key PAGE; bar ERROR_PERCENT | SELECT PAGE, REQUESTS, ERROR_PERCENT FROM error_rates EMIT CHANGES;
--@show Errors | | SELECT STATUS, MEANING, PAGE, USER_ID FROM click_errors EMIT CHANGES;
