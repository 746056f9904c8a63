-- How often somebody bids in ten seconds of the clock. Time is that of rows, so the first query gives them that of the clock.
CREATE STREAM q12_bid WITH (VALUE_FORMAT = 'JSON', TIMESTAMP = 'seen') AS
  SELECT auction, bidder, UNIX_TIMESTAMP() AS seen FROM bid;
CREATE TABLE q12 WITH (VALUE_FORMAT = 'JSON') AS
  SELECT bidder, COUNT(*) AS bids, WINDOWSTART AS starts
  FROM q12_bid WINDOW TUMBLING (SIZE 10 SECONDS) GROUP BY bidder;
