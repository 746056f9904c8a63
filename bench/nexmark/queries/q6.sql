-- The average price of the last ten auctions of each seller that somebody has bought.
CREATE TABLE q6 WITH (FORMAT = 'JSON') AS
  SELECT seller, AVG(price) AS average
  FROM (
    SELECT seller, ROW_NUMBER() OVER (PARTITION BY seller ORDER BY expires DESC, id DESC) AS place, price
    FROM (
      SELECT a.id AS id, a.seller AS seller, a.expires AS expires, MAX(b.price) AS price
      FROM auction a JOIN bid b ON a.id = b.auction AND b.dateTime BETWEEN a.dateTime AND a.expires
      GROUP BY a.id, a.seller, a.expires
    ) w
    QUALIFY place <= 10
  ) last
  GROUP BY seller;
