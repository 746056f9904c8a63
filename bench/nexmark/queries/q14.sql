-- Computed columns, with a function in Python.
CREATE FUNCTION count_char (text STRING, letter STRING) RETURNS BIGINT LANGUAGE PYTHON AS $$
  return (text or "").count(letter)
$$;
CREATE STREAM q14 WITH (VALUE_FORMAT = 'JSON') AS
  SELECT auction, bidder, price * 0.908 AS price,
    CASE WHEN hour >= 8 AND hour <= 18 THEN 'dayTime' WHEN hour <= 6 OR hour >= 20 THEN 'nightTime' ELSE 'otherTime' END
      AS bidTimeType,
    dateTime, extra, count_char(extra, 'c') AS c_counts
  FROM (SELECT *, CAST(FORMAT_TIMESTAMP(dateTime, 'HH') AS INT) AS hour FROM bid) b
  WHERE price * 0.908 > 1000000 AND price * 0.908 < 50000000;
