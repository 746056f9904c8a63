-- Pass through: all bids as they are.
CREATE STREAM q0 WITH (VALUE_FORMAT = 'JSON') AS
  SELECT auction, bidder, price, dateTime, extra FROM bid;
