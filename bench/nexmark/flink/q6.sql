CREATE TABLE q6 (seller BIGINT, average DOUBLE,
  PRIMARY KEY (seller) NOT ENFORCED)
WITH (${table});
INSERT INTO q6
SELECT seller, AVG(CAST(price AS DOUBLE))
FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY seller ORDER BY expires DESC, id DESC) AS place
  FROM (
    SELECT a.id, a.seller, a.expires, MAX(b.price) AS price
    FROM auction a JOIN bid b ON a.id = b.auction AND b.`dateTime` BETWEEN a.`dateTime` AND a.expires
    GROUP BY a.id, a.seller, a.expires
  )
)
WHERE place <= 10
GROUP BY seller;
