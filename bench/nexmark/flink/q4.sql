CREATE TABLE q4 (category BIGINT, average DOUBLE,
  PRIMARY KEY (category) NOT ENFORCED)
WITH (${table});
INSERT INTO q4
SELECT category, AVG(CAST(final AS DOUBLE))
FROM (
  SELECT a.id, a.category, MAX(b.price) AS final
  FROM auction a JOIN bid b ON a.id = b.auction AND b.`dateTime` BETWEEN a.`dateTime` AND a.expires
  GROUP BY a.id, a.category
)
GROUP BY category;
