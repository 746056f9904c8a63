"""``ksql-spark test``: runs test files of statements and assertions (reference §8.5)."""
