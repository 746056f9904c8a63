-- The price in another currency.
CREATE STREAM q1 WITH (VALUE_FORMAT = 'JSON') AS
  SELECT auction, bidder, price * 0.908 AS price, dateTime, extra FROM bid;
