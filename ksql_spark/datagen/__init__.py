"""Realistic events, deterministic by seed: ``ksql-spark datagen``, ``python -m ksql_spark.datagen``.

A schema is a module's function that yields events, and one row in SCHEMAS (command.py).
"""

from ksql_spark.datagen.command import SCHEMAS, main

__all__ = ["SCHEMAS", "main"]
