-- Who sells in category 10 in three states: a join without a window, in whatever order seller and auction come.
CREATE STREAM q3 WITH (VALUE_FORMAT = 'JSON') AS
  SELECT a.seller, p.name, p.city, p.state, a.id AS id
  FROM auction a JOIN person p ON a.seller = p.id
  WHERE a.category = 10 AND p.state IN ('OR', 'ID', 'CA');
