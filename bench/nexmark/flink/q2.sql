CREATE TABLE q2 (auction BIGINT, price BIGINT)
WITH (${stream}, 'key.fields' = 'auction');
INSERT INTO q2
SELECT auction, price FROM bid WHERE MOD(auction, 123) = 0;
