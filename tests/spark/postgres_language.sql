-- Statements that people and tools write, each in a line.
SELECT id FROM orders "any text: $1" WHERE "any text: $1".id = 1
SELECT o.id, p.id FROM orders o, (SELECT id FROM orders) "o 2", orders "p" WHERE o.id = "o 2".id AND p.id = o.id
WITH "any text" (a) AS (SELECT id FROM orders) SELECT a AS select, a AS table, a AS seconds FROM "any text"
SELECT 1 / 3.0 + 0 AS a, 7 / 2.0 * 2 + 1 AS b, customer || NULL || 'x' AS c, amount * 2 / 3 + 1 AS d FROM orders
SELECT amount / (id - 1) + 1 FROM orders
SELECT DATE_TRUNC('day', ordered) AS windowstart, SUM(quantity) AS rowtime FROM orders GROUP BY DATE_TRUNC('day', ordered) ORDER BY windowstart
SELECT rowtime, s.windowstart + 1 FROM (SELECT id AS windowstart, customer AS rowtime FROM orders) s WHERE rowtime = 'ann' AND windowstart > 1
-- texts
SELECT SUBSTRING(customer FROM 2 FOR 1), SUBSTRING(customer FROM 2), SUBSTRING(customer FOR 2), SUBSTRING(customer, 1, 2) FROM orders
SELECT SUBSTRING(customer FROM '(n)(.?)'), SUBSTRING(customer FROM 'n+'), SUBSTRING(customer FROM 'b.*$') FROM orders
SELECT POSITION('n' IN customer), POSITION('' IN customer), STRPOS(customer, 'a') FROM orders
SELECT TRIM(BOTH 'an' FROM customer), TRIM(LEADING 'a' FROM customer), TRIM(TRAILING 'n' FROM customer), TRIM(customer), TRIM('an' FROM customer) FROM orders
SELECT TRIM(FROM ' a ' || customer), BTRIM(customer, 'a'), LTRIM('  ' || customer), RTRIM(customer, 'nb'), TRIM(E'\t a') FROM orders
SELECT OVERLAY(customer PLACING 'XY' FROM 2 FOR 1), OVERLAY(customer PLACING 'XYZ' FROM 2), SPLIT_PART(customer, 'n', 2), SPLIT_PART(customer, 'n', -1), SPLIT_PART('', ',', 1) FROM orders
SELECT OVERLAY(customer PLACING 'XY' FROM 0) FROM orders
SELECT SPLIT_PART(customer, 'n', 0) FROM orders
SELECT id FROM orders WHERE customer SIMILAR TO '(a|b)%' ORDER BY id
SELECT customer SIMILAR TO '_ob', customer NOT SIMILAR TO 'a[nm]{2}', 'a.c' SIMILAR TO 'a.c', 'abc' SIMILAR TO 'a.c', 'a%' SIMILAR TO 'a#%' ESCAPE '#' FROM orders
-- numbers
SELECT MOD(quantity, 2), MOD(amount, 3), MOD(-7, 2), MOD(7.5, 2) FROM orders
SELECT MOD(quantity, 0) FROM orders
SELECT STDDEV_POP(price), VAR_POP(price), VAR_SAMP(price), VARIANCE(price), STDDEV(price), STDDEV_SAMP(price) FROM orders
SELECT STDDEV_POP(price), VAR_POP(price), VAR_SAMP(price) FROM orders WHERE id = 1
SELECT STDDEV_POP(price), VAR_POP(price), VAR_SAMP(price) FROM orders WHERE id = 99
-- times
SELECT TO_CHAR(ordered, 'YYYY-MM-DD HH24:MI:SS.MS US'), TO_CHAR(day, 'DD.MM.YY'), TO_CHAR(ordered, 'FMDD/FMMM/YYYY') FROM orders
SELECT TO_CHAR(ordered, 'Month|FMMonth|MON|mon|Mon|month|MONTH'), TO_CHAR(ordered, 'Day|FMDay|DY|dy|Dy|day|DAY|D|ID'), TO_CHAR(ordered, 'DDD|WW|IW|W|Q|CC|J|IYYY|IYY|IY|I|YYY|Y|IDDD') FROM orders
SELECT TO_CHAR(ordered, 'HH|HH12|HH24|AM|pm|SSSS|FF1|FF3|FF6|RM|rm|FMRM'), TO_CHAR(ordered, 'DDth|FMDDTH|MMth|FMMMth "of" YYYY') FROM orders
SELECT TO_CHAR(ordered, '"at \" T" - [YYYY], HH24"h"') FROM orders
SELECT TO_TIMESTAMP('2026-01-05 10:07:31.25', 'YYYY-MM-DD HH24:MI:SS.MS'), TO_TIMESTAMP('5 Jan 26 1:02 PM', 'DD Mon YY HH:MI AM'), TO_TIMESTAMP('20260105', 'YYYYMMDD'), TO_DATE('January 5, 2026', 'Month DD, YYYY') FROM orders
SELECT TO_TIMESTAMP('2026-01-05', 'YYYY-MM-DD HH24:MI:SS'), TO_TIMESTAMP('2026/01/05 7', 'YYYY-MM-DD HH24'), TO_DATE('05.01.99', 'DD.MM.YY'), TO_DATE('2026-045', 'YYYY-DDD'), TO_TIMESTAMP('1999', 'YYYY') FROM orders
SELECT TO_TIMESTAMP(TO_CHAR(ordered, 'YYYY-MM-DD HH24:MI:SS.MS'), 'YYYY-MM-DD HH24:MI:SS.MS') = ordered, TO_DATE(CAST(day AS TEXT), 'YYYY-MM-DD') = day, TO_TIMESTAMP(TO_CHAR(ordered, 'DD Mon YY HH12:MI PM'), 'DD Mon YY HH12:MI PM') FROM orders
SELECT TO_TIMESTAMP(customer, 'YYYY-MM-DD') FROM orders
SELECT TO_DATE('2026-02-30', 'YYYY-MM-DD') FROM orders
SELECT TO_DATE('2026-13-01', 'YYYY-MM-DD') FROM orders
SELECT TO_TIMESTAMP('2026-01-01 25:00', 'YYYY-MM-DD HH24:MI') FROM orders
SELECT ordered AT TIME ZONE 'America/New_York', timezone('Europe/Berlin', ordered), ordered AT TIME ZONE 'UTC', day::timestamp AT TIME ZONE 'Asia/Tokyo' FROM orders
SELECT ordered AT TIME ZONE 'UTC' AT TIME ZONE 'America/New_York', (ordered::timestamptz) AT TIME ZONE 'America/New_York', timezone('Asia/Kolkata', timezone('UTC', ordered)) FROM orders
SELECT TIMESTAMP '2026-11-01 01:30:00' AT TIME ZONE 'America/New_York', TIMESTAMP '2026-03-29 02:30:00' AT TIME ZONE 'Europe/Berlin', TIMESTAMPTZ '2026-11-01 06:30:00+00' AT TIME ZONE 'America/New_York' FROM orders
SELECT t AT TIME ZONE 'America/New_York', date_trunc('day', t) AT TIME ZONE 'America/New_York', (t + INTERVAL '1 day') AT TIME ZONE 'Europe/Berlin', COALESCE(t, t) AT TIME ZONE 'Europe/Berlin' FROM (SELECT ordered AT TIME ZONE 'UTC' AS t FROM orders) s
SELECT MAX(t) AT TIME ZONE 'America/New_York', MAX(o) AT TIME ZONE 'America/New_York' FROM (SELECT ordered AT TIME ZONE 'UTC' AS t, ordered AS o FROM orders) s
SELECT ordered AT TIME ZONE 'Nowhere/Town' FROM orders
SELECT ordered - TIMESTAMP '2026-01-06 12:00:00', TIMESTAMP '2026-01-06 12:00:00' - ordered, day - DATE '2026-01-01', CURRENT_DATE - CURRENT_DATE FROM orders
SELECT day - 7, day + 7, 7 + day, day + INTERVAL '1 day', day - INTERVAL '1 month', day + INTERVAL '2 hours' FROM orders
SELECT EXTRACT(EPOCH FROM ordered - TIMESTAMP '2026-01-06'), EXTRACT(DAY FROM ordered - TIMESTAMP '2026-01-06'), EXTRACT(HOUR FROM ordered - TIMESTAMP '2026-01-06'), DATE_PART('minute', ordered - TIMESTAMP '2026-01-06'), EXTRACT(SECOND FROM ordered - TIMESTAMP '2026-01-06') FROM orders
SELECT AGE(TIMESTAMP '2026-03-31 08:00:00', ordered), AGE(ordered, TIMESTAMP '2026-03-31 08:00:00'), AGE(day, DATE '2020-02-29'), AGE(DATE '2020-02-29', day) FROM orders
SELECT AGE(TIMESTAMP '2026-03-01', TIMESTAMP '2026-01-31 12:00:00'), AGE(TIMESTAMP '2026-01-31 12:00:00', TIMESTAMP '2026-03-01'), AGE(TIMESTAMP '2024-02-29', TIMESTAMP '2023-02-28 23:59:59.5') FROM orders
SELECT EXTRACT(YEAR FROM AGE(ordered, TIMESTAMP '2020-05-05')), EXTRACT(MONTH FROM AGE(ordered, TIMESTAMP '2020-05-05')), DATE_PART('day', AGE(ordered, TIMESTAMP '2020-05-05')), EXTRACT(EPOCH FROM AGE(ordered, TIMESTAMP '2020-05-05')) FROM orders
SELECT MAKE_DATE(2026, 2, 28), MAKE_TIMESTAMP(2026, 1, 2, 3, 4, 5.5), ordered + make_interval(days => 10), ordered - make_interval(hours => quantity), ordered + make_interval(0, 1), ordered + make_interval(secs => 1.5) FROM orders
SELECT MAKE_DATE(2026, 2, 30) FROM orders
SELECT ordered + INTERVAL '1 hour' * 1.5, ordered + quantity * INTERVAL '1 day', ordered - 0.5 * INTERVAL '1 hour' FROM orders
SELECT DATE_TRUNC('month', day), DATE_TRUNC('week', day) AS week, DATE_TRUNC('century', day), DATE_TRUNC('day', day) AT TIME ZONE 'UTC' FROM orders
SELECT DATE_TRUNC('day', ordered, 'America/New_York'), DATE_TRUNC('month', day, 'Asia/Tokyo'), DATE_TRUNC('hour', ordered AT TIME ZONE 'UTC', 'Asia/Kolkata'), DATE_TRUNC('week', ordered, 'UTC') FROM orders
SELECT DATE_TRUNC('month', day) AS month, COUNT(*) FROM orders GROUP BY DATE_TRUNC('month', day) ORDER BY month
SELECT date_bin(INTERVAL '15 minutes', ordered, TIMESTAMP '2001-01-01 00:05:00') FROM orders
SELECT EXTRACT(WEEK FROM AGE(ordered, ordered)) FROM orders
SELECT TIMESTAMP 'epoch' + id * INTERVAL '1 second', DATE_TRUNC('hour', (timestamp 'epoch' + (id * 1700000/1000) * interval '1 second')), DATE 'epoch', 'epoch'::timestamptz + id * INTERVAL '1 day', CAST('epoch' AS TIMESTAMP), CAST('Epoch ' AS DATE) FROM orders
SELECT id FROM orders WHERE ordered > 'epoch' AND ordered < TIMESTAMP '2026-01-17 00:00:00 UTC' AND 'now'::timestamp > ordered AND DATE 'tomorrow' - DATE 'yesterday' = 2 AND 'today'::date = CURRENT_DATE AND TIMESTAMP 'today' = 'today'::date
-- aggregates
SELECT ARRAY_AGG(DISTINCT customer ORDER BY customer), STRING_AGG(DISTINCT customer, '/' ORDER BY customer), CARDINALITY(ARRAY_AGG(DISTINCT quantity)), COUNT(DISTINCT customer) FROM orders
SELECT paid, ARRAY_AGG(DISTINCT customer ORDER BY customer DESC) FILTER (WHERE id < 3) FROM orders GROUP BY paid
SELECT ARRAY_AGG(DISTINCT customer) FROM orders WHERE id = 99
-- conditions
SELECT id FROM orders WHERE quantity > ALL (SELECT quantity FROM orders WHERE id IN (1, 2)) ORDER BY id
SELECT id, quantity > ALL (SELECT quantity FROM orders WHERE quantity IS NOT NULL), quantity >= ALL (SELECT quantity FROM orders), quantity < ANY (SELECT quantity FROM orders), quantity <= SOME (SELECT quantity FROM orders WHERE id = 99) FROM orders ORDER BY id
SELECT id, quantity = ANY (SELECT quantity FROM orders WHERE id < 3), quantity <> ALL (SELECT quantity FROM orders WHERE id < 3), quantity <> ANY (SELECT quantity FROM orders WHERE id < 3), quantity = ALL (SELECT quantity FROM orders WHERE id = 2), quantity > ALL (SELECT quantity FROM orders WHERE id = 99) FROM orders ORDER BY id
SELECT o.id FROM orders o WHERE o.amount >= ALL (SELECT p.amount FROM orders p WHERE p.customer = o.customer) ORDER BY 1
SELECT id FROM orders WHERE (customer, quantity) IN (('ann', 3), ('bob', 1), (NULL, 2)) ORDER BY id
SELECT id, (customer, quantity) = ('ann', 3), (customer, quantity) <> ('ann', 7), (quantity, id) < (2, 2), (quantity, id) >= (2, 5), (customer, quantity) NOT IN (('ann', 3), ('bob', 7)) FROM orders ORDER BY id
SELECT id FROM orders WHERE (customer, quantity) IN (SELECT customer, quantity FROM orders WHERE id < 3) ORDER BY id
SELECT id FROM orders WHERE (id, quantity) NOT IN (SELECT id, quantity FROM orders WHERE id < 3) ORDER BY id
SELECT id, paid IS TRUE, paid IS NOT TRUE, paid IS FALSE, paid IS NOT FALSE, paid IS UNKNOWN, paid IS NOT UNKNOWN FROM orders ORDER BY id
-- queries
SELECT id, sum(quantity) OVER w, count(*) OVER (w ROWS UNBOUNDED PRECEDING), rank() OVER v FROM orders WINDOW w AS (PARTITION BY customer ORDER BY id), v AS (ORDER BY amount DESC, id) ORDER BY id
SELECT id, first_value(id) OVER w FROM orders WINDOW w AS (ORDER BY amount) ORDER BY rank() OVER w, id
SELECT * FROM (SELECT id, customer FROM orders) a NATURAL JOIN (SELECT id, amount FROM orders WHERE id < 3) b ORDER BY id
SELECT a.x, b.y FROM (SELECT id, id AS x FROM orders) a NATURAL LEFT JOIN (SELECT id, quantity AS y FROM orders WHERE id < 3) b ORDER BY 1
SELECT id, unnest(tags) AS tag FROM orders
SELECT id, generate_series(1, 3) AS n FROM orders WHERE id < 3
SELECT id, generate_series(id, 1) AS n FROM orders WHERE id < 4
SELECT id, generate_series(5, 1, -2) AS n, unnest(ARRAY['a', 'b']) AS t FROM orders WHERE id = 1
SELECT id, generate_series(ordered, ordered + INTERVAL '2 days', INTERVAL '1 day') AS t FROM orders WHERE id < 3
SELECT id, generate_series(day, DATE '2026-03-06', INTERVAL '1 month') AS t FROM orders WHERE id = 1
SELECT generate_series(1, 3, 0) FROM orders
SELECT id FROM orders WHERE quantity NOT IN (SELECT quantity FROM orders WHERE id < 3) ORDER BY id
SELECT id, quantity IN (SELECT quantity FROM orders WHERE id < 3), quantity NOT IN (SELECT quantity FROM orders WHERE id < 3), quantity IN (SELECT quantity FROM orders), quantity IN (SELECT quantity FROM orders WHERE id > 9) FROM orders ORDER BY id
