"""``ksql-spark migrations``: versioned files of statements, applied in order (reference §8.6).

The project directory, its properties file, the names of its files, and the stream and table of applied
versions are those of ksqlDB's ``ksql-migrations``.
"""
