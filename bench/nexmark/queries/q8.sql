-- Who opened an auction in the same ten seconds in which they came.
CREATE STREAM q8 WITH (VALUE_FORMAT = 'JSON') AS
  SELECT DISTINCT ON (p.id) p.id AS id, p.name, p.ROWTIME / 10000 * 10000 AS starts
  FROM person p JOIN auction a WITHIN 10 SECONDS GRACE PERIOD 1 SECOND ON p.id = a.seller WITHIN 30 SECONDS
  WHERE p.ROWTIME / 10000 = a.ROWTIME / 10000;
