CREATE TABLE q20 (auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING, `dateTime` BIGINT, extra STRING, itemName STRING,
  description STRING, initialBid BIGINT, reserve BIGINT, auction_dateTime BIGINT, expires BIGINT, seller BIGINT,
  category BIGINT, auction_extra STRING)
WITH (${stream}, 'key.fields' = 'auction');
INSERT INTO q20
SELECT b.auction, b.bidder, b.price, b.channel, b.url, b.`dateTime`, b.extra, a.itemName, a.description, a.initialBid,
  a.reserve, a.`dateTime`, a.expires, a.seller, a.category, a.extra
FROM bid b JOIN auction a ON b.auction = a.id
WHERE a.category = 10;
