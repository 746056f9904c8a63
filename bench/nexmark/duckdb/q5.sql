SELECT starts, auction, count(*) AS bids, starts + 10000 AS until
FROM (SELECT auction, dateTime // 2000 * 2000 - unnest(range(0, 10000, 2000)) AS starts FROM bid)
GROUP BY starts, auction
QUALIFY rank() OVER (PARTITION BY starts ORDER BY count(*) DESC) = 1;
