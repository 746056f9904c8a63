"""Tells the JVM until when queries may write, where several servers share them (Ownership.java)."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession

from ksql_spark.spark.java_classes import java_class


def stamp(session: SparkSession) -> int:
    """Now, on the JVM's clock."""
    return int(_ownership(session).now())


def confirm(session: SparkSession, stamp: int, seconds: float) -> None:
    """Nobody else runs this server's queries until ``seconds`` after ``stamp``."""
    _ownership(session).confirm(stamp, seconds)


def _ownership(session: SparkSession) -> Any:
    jvm: Any = session._jvm
    return java_class(jvm, "org.ksqlspark.ownership.Ownership")
