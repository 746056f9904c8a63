"""ksql-spark: a SQL-first streaming engine in the style of ksqlDB, on Spark."""

__version__ = "0.1.0"
