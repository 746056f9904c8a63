CREATE TABLE q9 (id BIGINT, itemName STRING, description STRING, initialBid BIGINT, reserve BIGINT, `dateTime` BIGINT,
  expires BIGINT, seller BIGINT, category BIGINT, bidder BIGINT, price BIGINT, bid_dateTime BIGINT,
  PRIMARY KEY (id) NOT ENFORCED)
WITH (${table});
INSERT INTO q9
SELECT id, itemName, description, initialBid, reserve, `dateTime`, expires, seller, category, bidder, price, bid_dateTime
FROM (
  SELECT a.id, a.itemName, a.description, a.initialBid, a.reserve, a.`dateTime`, a.expires, a.seller, a.category,
    b.bidder, b.price, b.`dateTime` AS bid_dateTime,
    ROW_NUMBER() OVER (PARTITION BY a.id ORDER BY b.price DESC, b.`dateTime`) AS place
  FROM auction a JOIN bid b ON a.id = b.auction AND b.`dateTime` BETWEEN a.`dateTime` AND a.expires
)
WHERE place <= 1;
