-- Bids to files, by day and minute.
CREATE SINK q10 WITH (TYPE = 'parquet', PATH = '${files}', PARTITION_BY = 'dt, hm', COMMIT_INTERVAL = '2 seconds') AS
  SELECT auction, bidder, price, dateTime, extra,
    FORMAT_TIMESTAMP(dateTime, 'yyyy-MM-dd') AS dt, FORMAT_TIMESTAMP(dateTime, 'HH-mm') AS hm
  FROM bid;
