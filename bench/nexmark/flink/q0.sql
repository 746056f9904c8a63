CREATE TABLE q0 (auction BIGINT, bidder BIGINT, price BIGINT, `dateTime` BIGINT, extra STRING)
WITH (${stream}, 'key.fields' = 'auction');
INSERT INTO q0
SELECT auction, bidder, price, `dateTime`, extra FROM bid;
