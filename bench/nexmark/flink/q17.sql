CREATE TABLE q17 (auction BIGINT, `day` STRING, total_bids BIGINT, rank1_bids BIGINT, rank2_bids BIGINT, rank3_bids BIGINT,
  min_price BIGINT, max_price BIGINT, avg_price DOUBLE, sum_price BIGINT,
  PRIMARY KEY (auction, `day`) NOT ENFORCED)
WITH (${table});
INSERT INTO q17
SELECT auction, DATE_FORMAT(ts, 'yyyy-MM-dd'),
  COUNT(*) AS total_bids,
  COUNT(*) FILTER (WHERE price < 10000) AS rank1_bids,
  COUNT(*) FILTER (WHERE price >= 10000 AND price < 1000000) AS rank2_bids,
  COUNT(*) FILTER (WHERE price >= 1000000) AS rank3_bids,
  MIN(price), MAX(price), AVG(CAST(price AS DOUBLE)), SUM(price)
FROM bid GROUP BY auction, DATE_FORMAT(ts, 'yyyy-MM-dd');
