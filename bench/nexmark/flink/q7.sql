CREATE TABLE q7 (starts TIMESTAMP(3), auction BIGINT, bidder BIGINT, price BIGINT, `dateTime` BIGINT, extra STRING)
WITH (${stream}, 'key.fields' = 'auction');
INSERT INTO q7
SELECT m.window_start, b.auction, b.bidder, b.price, b.`dateTime`, b.extra
FROM bid b JOIN (
  SELECT MAX(price) AS highest, window_start, window_time
  FROM TABLE(TUMBLE(TABLE bid, DESCRIPTOR(ts), INTERVAL '10' SECOND))
  GROUP BY window_start, window_end, window_time
) m
ON b.price = m.highest AND b.ts BETWEEN m.window_time - INTERVAL '9.999' SECOND AND m.window_time;
