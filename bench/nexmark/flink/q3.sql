CREATE TABLE q3 (seller BIGINT, name STRING, city STRING, state STRING, id BIGINT)
WITH (${stream}, 'key.fields' = 'seller');
INSERT INTO q3
SELECT a.seller, p.name, p.city, p.state, a.id
FROM auction a JOIN person p ON a.seller = p.id
WHERE a.category = 10 AND p.state IN ('OR', 'ID', 'CA');
