"""Runs cases on the shared broker and Spark, each on an engine of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping

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
def make_runner(
    broker: EmbeddedBroker,
    kafka_admin: KafkaAdmin,
    spark_process: SparkProcess,
    tmp_path_factory: pytest.TempPathFactory,
) -> Callable[[Mapping[str, str]], Runner]:
    """A maker of runners, as that of ksql-spark test, whose engines have more properties."""

    def make(more: Mapping[str, str]) -> Runner:
        common = {
            "bootstrap.servers": broker.bootstrap_servers,
            # a planned stop repeats nothing, however busy the machine
            "ksql.query.stop.timeout.ms": "60000",
            **more,
        }

        def make_engine(properties: Mapping[str, str]) -> Engine:
            return Engine(Config({**common, **properties}), spark_process)

        return Runner(make_engine, kafka_admin, tmp_path_factory.mktemp("cases"), TIMEOUT_S)

    return make
