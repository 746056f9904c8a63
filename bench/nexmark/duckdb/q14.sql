SELECT auction, bidder, price * 0.908 AS price,
  CASE WHEN hour BETWEEN 8 AND 18 THEN 'dayTime' WHEN hour <= 6 OR hour >= 20 THEN 'nightTime' ELSE 'otherTime' END
    AS bidTimeType,
  dateTime, extra, length(extra) - length(replace(extra, 'c', '')) AS c_counts
FROM (SELECT *, hour(make_timestamp(dateTime * 1000)) AS hour FROM bid)
WHERE price * 0.908 > 1000000 AND price * 0.908 < 50000000;
