"""Runs cases on the shared broker and Spark, each on an engine of its own."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from ksql_spark.config import Config
from ksql_spark.engine import Engine
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.services.broker import EmbeddedBroker
from ksql_spark.spark.session import SparkProcess
from ksql_spark.tools.testing.running import Runner

#: how long an output may take; it only matters where a case fails
TIMEOUT_S = 60.0


@pytest.fixture(scope="session")
def runner(
    broker: EmbeddedBroker,
    kafka_admin: KafkaAdmin,
    spark_process: SparkProcess,
    tmp_path_factory: pytest.TempPathFactory,
) -> Runner:
    """The runner of ksql-spark test."""

    def make(properties: Mapping[str, str]) -> Engine:
        config = {
            "bootstrap.servers": broker.bootstrap_servers,
            # a planned stop repeats nothing, however busy the machine
            "ksql.query.stop.timeout.ms": "60000",
            **properties,
        }
        return Engine(Config(config), spark_process)

    return Runner(make, kafka_admin, tmp_path_factory.mktemp("cases"), TIMEOUT_S)
