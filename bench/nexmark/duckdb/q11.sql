SELECT bidder, count(*) AS bids, min(dateTime) AS starts, max(dateTime) AS ends, max(dateTime) + 10000 AS until
FROM (
  SELECT bidder, dateTime, sum(is_new) OVER (PARTITION BY bidder ORDER BY dateTime, number) AS session
  FROM (
    SELECT bidder, dateTime, number,
      CASE WHEN dateTime - lag(dateTime) OVER (PARTITION BY bidder ORDER BY dateTime, number) <= 10000 THEN 0 ELSE 1 END
        AS is_new
    FROM bid
  )
)
GROUP BY bidder, session;
