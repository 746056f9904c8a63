SELECT strftime(make_timestamp(dateTime * 1000), '%Y-%m-%d') AS day,
  count(*) AS total_bids,
  count(*) FILTER (price < 10000) AS rank1_bids,
  count(*) FILTER (price >= 10000 AND price < 1000000) AS rank2_bids,
  count(*) FILTER (price >= 1000000) AS rank3_bids,
  count(DISTINCT bidder) AS total_bidders,
  count(DISTINCT bidder) FILTER (price < 10000) AS rank1_bidders,
  count(DISTINCT bidder) FILTER (price >= 10000 AND price < 1000000) AS rank2_bidders,
  count(DISTINCT bidder) FILTER (price >= 1000000) AS rank3_bidders,
  count(DISTINCT auction) AS total_auctions,
  count(DISTINCT auction) FILTER (price < 10000) AS rank1_auctions,
  count(DISTINCT auction) FILTER (price >= 10000 AND price < 1000000) AS rank2_auctions,
  count(DISTINCT auction) FILTER (price >= 1000000) AS rank3_auctions
FROM bid GROUP BY day;
