"""Ctrl-C where Spark runs."""

from __future__ import annotations

import signal

import pytest
from pyspark.sql import SparkSession


@pytest.mark.spark
def test_an_interrupt_cancels_no_jobs(local_spark: SparkSession) -> None:
    """PySpark's handler would cancel those of all queries, of this process and of others."""
    assert local_spark.sparkContext._jsc is not None
    assert "pyspark" not in str(getattr(signal.getsignal(signal.SIGINT), "__module__", ""))
