-- Beyond ksqlDB: what SQL has for reads, over complete inputs (tests/spark/test_selects_duckdb.py tries more).
CREATE STREAM sold (id INT KEY, who STRING, item STRING, amount DOUBLE) WITH (KAFKA_TOPIC = '${case}_sold', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
INSERT INTO sold (ROWTIME, id, who, item, amount) VALUES (1, 1, 'ann', 'tea', 3.5);
INSERT INTO sold (ROWTIME, id, who, item, amount) VALUES (2, 2, 'bob', 'tea', 4.0);
INSERT INTO sold (ROWTIME, id, who, item, amount) VALUES (3, 3, 'ann', 'jam', 1.0);
INSERT INTO sold (ROWTIME, id, who, item) VALUES (4, 4, 'cid', 'jam');
INSERT INTO sold (ROWTIME, id, item, amount) VALUES (5, 5, 'oil', 9.0);

--@test: without FROM, and VALUES
SELECT 1;
--@rows
-- ksql_col_0
-- 1
SELECT 1 AS one, 'a' || 'b' AS two WHERE 1 > 2;
--@rows
-- one | two
VALUES (2, 'b'), (1, NULL) ORDER BY column1;
--@rows
-- column1 | column2
-- 1       | NULL
-- 2       | b
SELECT v.name, s.amount FROM (VALUES (1, 'x'), (3, 'y')) AS v (id, name) JOIN sold s ON s.id = v.id ORDER BY v.name;
--@rows
-- name | amount
-- x    | 3.5
-- y    | 1.0
SELECT (SELECT COUNT(*) FROM sold) AS n;
--@rows
-- n
-- 5

--@test: GROUP BY by number and by alias, HAVING by alias
SELECT UCASE(item) AS what, COUNT(*) AS n FROM sold GROUP BY 1 HAVING n > 1 ORDER BY what;
--@rows
-- what | n
-- JAM  | 2
-- TEA  | 2
SELECT UCASE(item) AS what, COUNT(*) AS n FROM sold GROUP BY what ORDER BY 2, 1;
--@rows
-- what | n
-- OIL  | 1
-- JAM  | 2
-- TEA  | 2
CREATE TABLE per_item AS SELECT UCASE(item) AS what, COUNT(*) AS n FROM sold GROUP BY 1;
--@output PER_ITEM folded
-- what | n
-- JAM  | 2
-- OIL  | 1
-- TEA  | 2

--@test: windows, QUALIFY and DISTINCT ON
SELECT id, ROW_NUMBER() OVER (ORDER BY amount DESC) AS place, SUM(amount) OVER (PARTITION BY who ORDER BY id) AS running FROM sold ORDER BY id;
--@rows
-- id | place | running
-- 1  | 3     | 3.5
-- 2  | 2     | 4.0
-- 3  | 4     | 4.5
-- 4  | 5     | 0.0
-- 5  | 1     | 9.0
SELECT id, LAG(item, 1, 'none') OVER (ORDER BY id) AS before, COUNT(*) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS near, AVG(amount) OVER (PARTITION BY item) AS mean FROM sold ORDER BY id;
--@rows
-- id | before | near | mean
-- 1  | none   | 2    | 3.75
-- 2  | tea    | 3    | 3.75
-- 3  | tea    | 3    | 1.0
-- 4  | jam    | 3    | 1.0
-- 5  | jam    | 2    | 9.0
SELECT id, BOOL_AND(item LIKE 't%') OVER (PARTITION BY who) AS teas FROM sold ORDER BY id;
--@rows
-- id | teas
-- 1  | false
-- 2  | true
-- 3  | false
-- 4  | false
-- 5  | false
SELECT item, COUNT(*) AS n, SUM(COUNT(*)) OVER (ORDER BY item) AS running, RANK() OVER (ORDER BY COUNT(*) DESC) AS place FROM sold GROUP BY item ORDER BY item;
--@rows
-- item | n | running | place
-- jam  | 2 | 2       | 1
-- oil  | 1 | 3       | 3
-- tea  | 2 | 5       | 1
SELECT item, id FROM sold QUALIFY ROW_NUMBER() OVER (PARTITION BY item ORDER BY amount DESC NULLS LAST) = 1 ORDER BY item;
--@rows
-- item | id
-- jam  | 3
-- oil  | 5
-- tea  | 2
SELECT DISTINCT ON (item) item, amount FROM sold ORDER BY item, amount DESC NULLS FIRST;
--@rows
-- item | amount
-- jam  | NULL
-- oil  | 9.0
-- tea  | 4.0

--@test: sub-queries as values
SELECT id FROM sold WHERE amount > (SELECT AVG(amount) FROM sold) ORDER BY id;
--@rows
-- id
-- 5
SELECT id, (SELECT COUNT(*) FROM sold b WHERE b.item = a.item AND b.id < a.id) AS earlier FROM sold a ORDER BY id;
--@rows
-- id | earlier
-- 1  | 0
-- 2  | 1
-- 3  | 0
-- 4  | 1
-- 5  | 0
SELECT id FROM sold a WHERE a.id = 5 OR EXISTS (SELECT 1 FROM sold b WHERE b.amount > a.amount AND b.who = a.who) ORDER BY id;
--@rows
-- id
-- 3
-- 5
SELECT id, who IN (SELECT who FROM sold WHERE item = 'jam') AS is_in FROM sold WHERE item NOT IN (SELECT item FROM sold WHERE id = 5) ORDER BY id;
--@rows
-- id | is_in
-- 1  | true
-- 2  | false
-- 3  | true
-- 4  | true

--@test: joins of all kinds, USING
SELECT a.id, b.id AS other FROM sold a JOIN sold b ON a.amount < b.amount AND a.id > 2 ORDER BY 1, 2;
--@rows
-- id | other
-- 3  | 1
-- 3  | 2
-- 3  | 5
SELECT COUNT(*) AS n FROM sold a, sold b CROSS JOIN (VALUES (1), (2)) c WHERE a.id <> b.id;
--@rows
-- n
-- 40
SELECT item, a.n, b.total FROM (SELECT item, COUNT(*) AS n FROM sold WHERE id < 5 GROUP BY item) a FULL JOIN (SELECT item, SUM(amount) AS total FROM sold WHERE id > 2 GROUP BY item) b USING (item) ORDER BY item;
--@rows
-- item | n    | total
-- jam  | 2    | 1.0
-- oil  | NULL | 9.0
-- tea  | 2    | NULL

--@test: grouping sets, ordered aggregates, percentiles, set operations with ALL
SELECT item, who, COUNT(*) AS n, GROUPING(item, who) AS level FROM sold WHERE id < 5 GROUP BY ROLLUP (item, who) ORDER BY level, item, who;
--@rows
-- item | who  | n | level
-- jam  | ann  | 1 | 0
-- jam  | cid  | 1 | 0
-- tea  | ann  | 1 | 0
-- tea  | bob  | 1 | 0
-- jam  | NULL | 2 | 1
-- tea  | NULL | 2 | 1
-- NULL | NULL | 4 | 3
SELECT item, who, COUNT(*) AS n, MAX(id) AS last, GROUPING(item, who) AS level FROM sold WHERE id < 0 GROUP BY CUBE (item, who);
--@rows
-- item | who  | n | last | level
-- NULL | NULL | 0 | NULL | 3
SELECT item, COUNT(*) AS n FROM sold WHERE id < 0 GROUP BY ROLLUP (item) HAVING COUNT(*) > 0;
--@rows
-- item | n
SELECT who, COUNT(*) AS n FROM sold GROUP BY CUBE (who) ORDER BY who, n;
--@rows
-- who  | n
-- ann  | 2
-- bob  | 1
-- cid  | 1
-- NULL | 1
-- NULL | 5
SELECT item, STRING_AGG(who, ',' ORDER BY id DESC) AS names, COLLECT_LIST(id ORDER BY id DESC) AS ids FROM sold GROUP BY item ORDER BY item;
--@rows
-- item | names   | ids
-- jam  | cid,ann | [4, 3]
-- oil  | NULL    | [5]
-- tea  | bob,ann | [2, 1]
SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY amount) AS middle, PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY id) AS id, COUNT(*) FILTER (WHERE amount > 3) AS n FROM sold;
--@rows
-- middle | id | n
-- 3.75   | 3  | 3
SELECT item FROM sold EXCEPT ALL SELECT item FROM sold WHERE id = 1 ORDER BY item;
--@rows
-- item
-- jam
-- jam
-- oil
-- tea
SELECT item FROM sold INTERSECT ALL SELECT item FROM sold WHERE id < 3;
--@rows
-- item
-- tea
-- tea

--@test: parts of times
SELECT EXTRACT(HOUR FROM TO_TIMESTAMP(3600)) AS h, EXTRACT(epoch FROM TO_TIMESTAMP(1.5)) AS e, TO_TIMESTAMP(id) < CURRENT_TIMESTAMP AS past FROM sold WHERE id = 1;
--@rows
-- h | e | past
-- 1 | 1 | true

--@test: LATERAL
SELECT i.item, t.id, t.amount FROM (SELECT DISTINCT item FROM sold) i CROSS JOIN LATERAL (SELECT id, amount FROM sold s WHERE s.item = i.item ORDER BY amount DESC NULLS LAST LIMIT 1) t ORDER BY i.item;
--@rows
-- item | id | amount
-- jam  | 3  | 1.0
-- oil  | 5  | 9.0
-- tea  | 2  | 4.0
SELECT v.id, t.n FROM (VALUES (1), (3)) AS v (id) LEFT JOIN LATERAL (SELECT COUNT(*) AS n FROM sold s WHERE s.id < v.id) t ON TRUE ORDER BY v.id;
--@rows
-- id | n
-- 1  | 0
-- 3  | 2

--@test: PostgreSQL's meaning: what has no value is an error with its SQLSTATE, in look-ups, too
CREATE TABLE sums AS SELECT who, COUNT(*) AS n FROM sold WHERE who IS NOT NULL GROUP BY who EMIT CHANGES;
--@output SUMS folded
-- who | n
-- ann | 2
-- bob | 1
-- cid | 1
SET 'ksql.sql.dialect' = 'postgres';
SELECT n / 0 FROM sums WHERE who = 'ann';
--@error: VALUE_REFUSED
