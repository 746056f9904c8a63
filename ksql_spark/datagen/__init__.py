"""Generates realistic events, reproducible by seed: ``ksql-spark datagen``, ``python -m ksql_spark.datagen``.

A schema is a function that yields events, and a row in SCHEMAS (command.py).
"""

from ksql_spark.datagen.command import SCHEMAS, main

__all__ = ["SCHEMAS", "main"]
