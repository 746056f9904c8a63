SELECT dateTime // 10000 * 10000 AS starts, auction, price, bidder, dateTime, extra
FROM bid QUALIFY rank() OVER (PARTITION BY starts ORDER BY price DESC) = 1;
