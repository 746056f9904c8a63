"""An engine with the functions of a module's fixture ``folder``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ksql_spark.config import Config
from ksql_spark.engine import Engine, Request
from ksql_spark.services.broker import EmbeddedBroker
from ksql_spark.spark.session import SparkProcess
from tests.integration.functions.function_server import Server


@pytest.fixture(scope="module")
def reports() -> list[str]:
    """What the server's start reports."""
    return []


@pytest.fixture(scope="module")
def server(
    request: pytest.FixtureRequest,
    broker: EmbeddedBroker,
    spark_process: SparkProcess,
    folder: Path,
    reports: list[str],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Server]:
    """A started engine with a processing log; at the end its queries end.

    The module's ``PROPERTIES`` have its service id.
    """
    config = {
        "bootstrap.servers": broker.bootstrap_servers,
        "ksql.spark.data.dir": str(tmp_path_factory.mktemp("data")),
        "ksql.extension.dir": str(folder),
        "ksql.logging.processing.topic.auto.create": "true",
        "ksql.logging.processing.stream.auto.create": "true",
        **request.module.PROPERTIES,
    }
    engine = Engine(Config(config), spark_process)
    engine.start(reports.append)
    yield Server(engine)
    for query in engine.services.queries.all():
        engine.execute(Request(f"TERMINATE `{query.id}`;"))
    engine.stop()
