SELECT auction, bidder, price, channel, url, dateTime, extra
FROM bid QUALIFY row_number() OVER (PARTITION BY bidder, auction ORDER BY dateTime DESC, number) = 1;
