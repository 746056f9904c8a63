-- The average price of a category: of the best bids of its auctions while they were open.
CREATE TABLE q4 WITH (VALUE_FORMAT = 'JSON') AS
  SELECT category, AVG(final) AS average
  FROM (
    SELECT a.id AS id, a.category AS category, MAX(b.price) AS final
    FROM auction a JOIN bid b ON a.id = b.auction AND b.dateTime BETWEEN a.dateTime AND a.expires
    GROUP BY a.id, a.category
  ) w
  GROUP BY category;
