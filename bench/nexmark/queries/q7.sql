-- The highest bid of each ten seconds.
CREATE TABLE q7 WITH (FORMAT = 'JSON') AS
  SELECT starts, ROW_NUMBER() OVER (PARTITION BY starts ORDER BY price DESC) AS place,
    RANK() OVER (PARTITION BY starts ORDER BY price DESC) AS rank, auction, price, bidder, dateTime, extra
  FROM (SELECT *, ROWTIME / 10000 * 10000 AS starts FROM bid) b QUALIFY rank <= 1;
