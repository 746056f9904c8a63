CREATE TABLE q19 (auction BIGINT, place BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING, `dateTime` BIGINT,
  extra STRING,
  PRIMARY KEY (auction, place) NOT ENFORCED)
WITH (${table});
INSERT INTO q19
SELECT auction, place, bidder, price, channel, url, `dateTime`, extra
FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY auction ORDER BY price DESC) AS place FROM bid)
WHERE place <= 10;
