"""Engines for cases."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from ksql_spark.config import Config
from ksql_spark.engine import Engine
from ksql_spark.services.broker import EmbeddedBroker
from ksql_spark.spark.session import SparkProcess


@pytest.fixture
def make_engine(
    broker: EmbeddedBroker, spark_process: SparkProcess, tmp_path: Path
) -> Callable[[Mapping[str, str]], Engine]:
    """A maker of engines on the shared broker and Spark, with the data folder of this test."""

    def make(properties: Mapping[str, str]) -> Engine:
        config = {
            "bootstrap.servers": broker.bootstrap_servers,
            "ksql.spark.data.dir": str(tmp_path),
            # a planned stop repeats nothing, however busy the machine
            "ksql.query.stop.timeout.ms": "60000",
            **properties,
        }
        return Engine(Config(config), spark_process)

    return make
