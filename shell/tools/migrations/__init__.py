"""``ksql-spark migrations``: versioned files of statements, applied in order (reference §8.6).

The folder of a project, its file of properties, the names of its files, and the stream and the table of what
was applied are those of ksqlDB's ``ksql-migrations``.
"""
