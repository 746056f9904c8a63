"""Static checks of files of statements: ``ksql-spark lint`` (reference §8.8)."""
