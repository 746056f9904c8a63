CREATE TABLE q11 (bidder BIGINT, bids BIGINT, starts TIMESTAMP(3), ends TIMESTAMP(3))
WITH (${stream}, 'key.fields' = 'bidder');
INSERT INTO q11
SELECT bidder, COUNT(*), window_start, TIMESTAMPADD(SECOND, -10, window_end)
FROM TABLE(SESSION(TABLE bid PARTITION BY bidder, DESCRIPTOR(ts), INTERVAL '10' SECOND))
GROUP BY bidder, window_start, window_end;
