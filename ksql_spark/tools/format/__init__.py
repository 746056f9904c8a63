"""``ksql-spark fmt``: a pretty printer of files of statements (reference §8.7)."""
