-- Bids on some auctions.
CREATE STREAM q2 WITH (VALUE_FORMAT = 'JSON') AS
  SELECT auction, price FROM bid WHERE auction % 123 = 0;
