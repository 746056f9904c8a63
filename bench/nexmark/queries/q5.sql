-- The auctions with the most bids of the last ten seconds, every two seconds.
CREATE TABLE q5 WITH (FORMAT = 'JSON') AS
  SELECT WINDOWSTART AS starts, ROW_NUMBER() OVER (PARTITION BY WINDOWSTART ORDER BY bids DESC) AS place,
    RANK() OVER (PARTITION BY WINDOWSTART ORDER BY bids DESC) AS rank, auction, bids
  FROM (
    SELECT auction, COUNT(*) AS bids
    FROM bid WINDOW HOPPING (SIZE 10 SECONDS, ADVANCE BY 2 SECONDS) GROUP BY auction EMIT FINAL
  ) w
  QUALIFY rank <= 1;
