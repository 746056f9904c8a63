SELECT auction, row_number() OVER (PARTITION BY auction ORDER BY price DESC, number) AS place,
  bidder, price, channel, url, dateTime, extra
FROM bid QUALIFY place <= 10;
