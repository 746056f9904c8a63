SELECT seller, avg(price) AS average
FROM (
  SELECT a.seller, max(b.price) AS price
  FROM auction a JOIN bid b ON a.id = b.auction AND b.dateTime BETWEEN a.dateTime AND a.expires
  GROUP BY a.id, a.seller, a.expires
  QUALIFY row_number() OVER (PARTITION BY a.seller ORDER BY a.expires DESC, a.id DESC) <= 10
)
GROUP BY seller;
