CREATE TABLE q18 (auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING, `dateTime` BIGINT, extra STRING,
  PRIMARY KEY (bidder, auction) NOT ENFORCED)
WITH (${table});
INSERT INTO q18
SELECT auction, bidder, price, channel, url, `dateTime`, extra
FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY bidder, auction ORDER BY ts DESC) AS place FROM bid)
WHERE place <= 1;
