-- How often somebody bids without a pause of ten seconds.
CREATE TABLE q11 WITH (VALUE_FORMAT = 'JSON') AS
  SELECT bidder, COUNT(*) AS bids, WINDOWSTART AS starts, WINDOWEND AS ends
  FROM bid WINDOW SESSION (10 SECONDS) GROUP BY bidder EMIT FINAL;
