-- The winning bid of each auction: the highest while it was open, of equal ones the first.
CREATE TABLE q9 WITH (VALUE_FORMAT = 'JSON') AS
  SELECT a.id AS id, a.itemName, a.description, a.initialBid, a.reserve, a.dateTime AS dateTime, a.expires, a.seller,
    a.category, b.bidder, b.price, b.dateTime AS bid_dateTime
  FROM auction a JOIN bid b ON a.id = b.auction AND b.dateTime BETWEEN a.dateTime AND a.expires
  QUALIFY ROW_NUMBER() OVER (PARTITION BY a.id ORDER BY b.price DESC, b.dateTime) = 1;
