"""An engine with functions of users, for the modules that test them."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ksql_spark.config import Config
from ksql_spark.engine import Engine, Request
from ksql_spark.services.broker import EmbeddedBroker
from ksql_spark.spark.session import SparkProcess
from tests.waiting import TIMEOUT_S, until


class Server:
    """An engine and what to do with it."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def run(self, text: str, **properties: Any) -> list[Any]:
        return self.engine.execute(Request(text, {"auto.offset.reset": "earliest"} | properties))

    def rows(self, query: str, count: int = 1_000_000) -> list[list[Any]]:
        """The rows of a query; of a push query, the first ``count``."""
        stream = self.engine.query(Request(query, {"auto.offset.reset": "earliest"}))
        found: list[list[Any]] = []
        deadline = time.monotonic() + TIMEOUT_S
        try:
            while len(found) < count and time.monotonic() < deadline:
                rows = stream.read(0.5)
                if rows is None:
                    break
                found += [row.values for row in rows if row.values is not None]
            return found
        finally:
            stream.close()

    def until(self, query: str, wanted: list[list[Any]]) -> None:
        """Wait until a pull query gives ``wanted``, in any order."""
        right = sorted(wanted, key=repr)
        until(lambda: sorted(self.rows(query), key=repr) == right, lambda: self.rows(query))


@contextmanager
def started(
    broker: EmbeddedBroker,
    spark_process: SparkProcess,
    folder: Path,
    data: Path,
    reports: list[str],
    properties: Mapping[str, str],
) -> Iterator[Server]:
    """Start an engine with the functions of ``folder`` and a processing log; at the end its queries end.

    Args:
        broker: of its topics.
        spark_process: runs its queries.
        folder: has the functions.
        data: the data folder.
        reports: gets what the start reports.
        properties: more of them, with its service id.
    """
    config = {
        "bootstrap.servers": broker.bootstrap_servers,
        "ksql.spark.data.dir": str(data),
        "ksql.extension.dir": str(folder),
        "ksql.logging.processing.topic.auto.create": "true",
        "ksql.logging.processing.stream.auto.create": "true",
        **properties,
    }
    engine = Engine(Config(config), spark_process)
    engine.start(reports.append)
    yield Server(engine)
    for query in engine.services.queries.all():
        engine.execute(Request(f"TERMINATE `{query.id}`;"))
    engine.stop()
