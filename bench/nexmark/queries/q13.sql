-- Bids with a value from a lake, as the lake is now.
CREATE STREAM q13 WITH (VALUE_FORMAT = 'JSON') AS
  SELECT b.auction, b.bidder, b.price, b.dateTime, s.value
  FROM bid b JOIN side_input s FOR SYSTEM_TIME AS OF CURRENT_TIMESTAMP ON b.auction % 10000 = s.id;
