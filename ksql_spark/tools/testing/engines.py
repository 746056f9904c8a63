"""The Kafka broker and the Spark that the engines of one run of the command share."""

from __future__ import annotations

import argparse
import contextlib
import logging
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from ksql_spark.config import Config
from ksql_spark.engine import Engine
from ksql_spark.errors import KsqlError
from ksql_spark.listeners import KAFKA
from ksql_spark.shell.client import ClientError
from ksql_spark.shell.options import OptionProblem
from ksql_spark.shell.output.console import Console
from ksql_spark.tools.testing.running import Runner

#: defaults of all engines: offsets are committed soon after they are read, a planned stop repeats nothing,
#: nobody looks at the console, and the first test warms Spark up
_PROPERTIES = {
    "ksql.checkpoint.interval.ms": "5000",
    "ksql.query.stop.timeout.ms": "60000",
    "ksql.console.enabled": "false",
    "ksql.spark.warm.up.enabled": "false",
}


class Engines:
    """A context with a broker and a Spark in a temporary folder, in this process, on which engines are made.

    Args:
        options: ``properties``, a file for all engines, and the address of the broker.
        console: for the progress of the start.

    Raises:
        OptionProblem: the properties are wrong.
        ClientError: something did not start.
    """

    def __init__(self, options: argparse.Namespace, console: Console) -> None:
        self._console = console
        listening = {KAFKA.setting: options.kafka_listen} if options.kafka_listen is not None else {}
        try:
            config = Config.load(options.properties, os.environ, listening)
        except KsqlError as error:
            raise OptionProblem(error.message) from None
        # the engine's log is not the user's
        logging.getLogger("ksql_spark").addHandler(logging.NullHandler())
        self._kept = contextlib.ExitStack()
        folder = tempfile.TemporaryDirectory(prefix="ksql-spark-test-", ignore_cleanup_errors=True)
        self._folder = Path(self._kept.enter_context(folder))
        defaults = {name: value for name, value in _PROPERTIES.items() if not config.is_set(name)}
        own = {"ksql.spark.data.dir": str(self._folder / "shared"), "ksql.service.id": "ksql_test_"}
        self._config = config.with_values({**defaults, **own})

    def __enter__(self) -> Engines:
        try:
            # it starts the broker and Spark, and runs nothing
            self._first = Engine(self._config)
            self._kept.callback(self._first.stop)
            self._first.start(self._console.status)
        except KsqlError as error:
            self._kept.close()
            raise ClientError(error.message) from None
        except BaseException:
            self._kept.close()
            raise
        finally:
            self._console.clear_status()
        return self

    def __exit__(self, *error: object) -> None:
        self._kept.close()

    def make(self, properties: Mapping[str, str]) -> Engine:
        """An engine that is not started. Raises KsqlError."""
        services = self._first.services
        own = {"bootstrap.servers": services.admin.servers, **properties}
        return Engine(self._config.with_values(own), services.spark.process)

    def runner(self, timeout_s: float) -> Runner:
        """A runner of tests on these engines."""
        return Runner(self.make, self._first.services.admin, self._folder, timeout_s, owns_broker=True)
