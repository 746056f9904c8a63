CREATE TABLE q5 (starts TIMESTAMP(3), auction BIGINT, bids BIGINT)
WITH (${stream}, 'key.fields' = 'auction');
INSERT INTO q5
SELECT c.window_start, c.auction, c.bids
FROM (
  SELECT auction, COUNT(*) AS bids, window_start, window_end
  FROM TABLE(HOP(TABLE bid, DESCRIPTOR(ts), INTERVAL '2' SECOND, INTERVAL '10' SECOND))
  GROUP BY auction, window_start, window_end
) c
JOIN (
  SELECT MAX(bids) AS most, window_start, window_end
  FROM (
    SELECT COUNT(*) AS bids, window_start, window_end
    FROM TABLE(HOP(TABLE bid, DESCRIPTOR(ts), INTERVAL '2' SECOND, INTERVAL '10' SECOND))
    GROUP BY auction, window_start, window_end
  )
  GROUP BY window_start, window_end
) m
ON c.window_start = m.window_start AND c.window_end = m.window_end AND c.bids >= m.most;
