SELECT auction, bidder, price, dateTime, extra, strftime(make_timestamp(dateTime * 1000), '%Y-%m-%d') AS dt,
  strftime(make_timestamp(dateTime * 1000), '%H-%M') AS hm
FROM bid;
