-- The id of the channel: of four known ones, or from the address.
CREATE STREAM q21 WITH (VALUE_FORMAT = 'JSON') AS
  SELECT auction, bidder, price, channel,
    CASE LCASE(channel) WHEN 'apple' THEN '0' WHEN 'google' THEN '1' WHEN 'facebook' THEN '2' WHEN 'baidu' THEN '3'
      ELSE REGEXP_EXTRACT('(&|^)channel_id=([^&]*)', url, 2) END AS channel_id
  FROM bid
  WHERE REGEXP_EXTRACT('(&|^)channel_id=([^&]*)', url, 2) IS NOT NULL
    OR LCASE(channel) IN ('apple', 'google', 'facebook', 'baidu');
