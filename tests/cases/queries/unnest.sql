-- CROSS JOIN UNNEST: a row for each element, with its number.
CREATE STREAM s (id STRING KEY, items ARRAY<STRUCT<n INT, tags ARRAY<STRING>>>) WITH (KAFKA_TOPIC = '${case}_s', VALUE_FORMAT = 'JSON', PARTITIONS = 4);

--@test: elements with their numbers, and elements of elements
CREATE STREAM numbered AS
  SELECT s.id, i->n AS n, place FROM s CROSS JOIN UNNEST(items) WITH ORDINALITY AS u (i, place) WHERE place < 3 EMIT CHANGES;
CREATE STREAM tagged AS
  SELECT id, u.i->n AS n, tag FROM s CROSS JOIN UNNEST(items) u (i) CROSS JOIN UNNEST(u.i->tags) v (tag) EMIT CHANGES;
CREATE TABLE counted AS
  SELECT tag, COUNT(*) AS n FROM s CROSS JOIN UNNEST(items) u (i) CROSS JOIN UNNEST(u.i->tags) v (tag) GROUP BY tag EMIT CHANGES;
INSERT INTO s (id, items) VALUES ('a', ARRAY[STRUCT(n := 1, tags := ARRAY['x', 'y']), STRUCT(n := CAST(NULL AS INT), tags := ARRAY['x']), STRUCT(n := 3, tags := ARRAY['z'])]);
INSERT INTO s (id, items) VALUES ('b', NULL);
INSERT INTO s (id, items) VALUES (NULL, ARRAY[STRUCT(n := 4, tags := ARRAY['w'])]);
INSERT INTO s (id, items) VALUES ('c', ARRAY[NULL, STRUCT(n := 6, tags := ARRAY['v'])]);
--@output NUMBERED rowsort
-- id   | n    | place
-- NULL | 4    | 1
-- a    | 1    | 1
-- a    | NULL | 2
-- c    | 6    | 2
-- c    | NULL | 1
--@output TAGGED rowsort
-- id   | n    | tag
-- NULL | 4    | w
-- a    | 1    | x
-- a    | 1    | y
-- a    | 3    | z
-- a    | NULL | x
-- c    | 6    | v
--@output COUNTED folded
-- tag | n
-- v   | 1
-- w   | 1
-- x   | 2
-- y   | 1
-- z   | 1
SELECT id, place FROM s CROSS JOIN UNNEST(items) WITH ORDINALITY u (i, place) WHERE id = 'a' ORDER BY place DESC;
--@rows
-- id | place
-- a  | 3
-- a  | 2
-- a  | 1
