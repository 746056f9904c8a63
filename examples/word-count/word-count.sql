-- Word count: how often each word has been said

SET 'auto.offset.reset' = 'earliest';

CREATE STREAM sentences (sentence STRING)
  WITH (KAFKA_TOPIC = 'sentences', VALUE_FORMAT = 'JSON', PARTITIONS = 1);

--@generate sentences --rate 5/s

-- One row for each word of a sentence.
CREATE STREAM words AS
  SELECT EXPLODE(REGEXP_SPLIT_TO_ARRAY(LCASE(sentence), '\W+')) AS word
  FROM sentences
  EMIT CHANGES;

--@show Words | | SELECT * FROM words EMIT CHANGES;

CREATE TABLE word_counts AS
  SELECT word, COUNT(*) AS times
  FROM words
  GROUP BY word
  EMIT CHANGES;

--@show How often | key WORD; bar TIMES | SELECT * FROM word_counts EMIT CHANGES;
