CREATE TABLE q14 (auction BIGINT, bidder BIGINT, price DECIMAL(23, 3), bidTimeType STRING, `dateTime` BIGINT, extra STRING,
  c_counts BIGINT)
WITH (${stream}, 'key.fields' = 'auction');
INSERT INTO q14
SELECT auction, bidder, price * 0.908,
  CASE WHEN HOUR(ts) >= 8 AND HOUR(ts) <= 18 THEN 'dayTime' WHEN HOUR(ts) <= 6 OR HOUR(ts) >= 20 THEN 'nightTime'
    ELSE 'otherTime' END,
  `dateTime`, extra, count_char(extra, 'c')
FROM bid WHERE price * 0.908 > 1000000 AND price * 0.908 < 50000000;
