"""``ksql-spark test``: runs files of tests, which are statements and assertions (reference §8.5)."""
