CREATE TABLE q1 (auction BIGINT, bidder BIGINT, price DECIMAL(23, 3), `dateTime` BIGINT, extra STRING)
WITH (${stream}, 'key.fields' = 'auction');
INSERT INTO q1
SELECT auction, bidder, price * 0.908, `dateTime`, extra FROM bid;
