from __future__ import annotations

from collections.abc import Iterator

import pytest

from ksql_spark.functions.spark_text import SESSION_SETTINGS


@pytest.fixture(scope="session")
def local_spark() -> Iterator[object]:
    """A one-core Spark session with the settings that lowering counts on; an open one is shared."""
    from pyspark.sql import SparkSession

    running = SparkSession.getActiveSession()
    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.shuffle.partitions", "1")
    for name, value in SESSION_SETTINGS.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    if running is None:
        session.stop()
