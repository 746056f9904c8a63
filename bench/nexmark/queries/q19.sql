-- The ten highest bids on each auction.
CREATE TABLE q19 WITH (FORMAT = 'JSON') AS
  SELECT auction, ROW_NUMBER() OVER (PARTITION BY auction ORDER BY price DESC) AS place,
    bidder, price, channel, url, dateTime, extra
  FROM bid QUALIFY place <= 10;
