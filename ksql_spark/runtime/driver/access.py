"""Spark as statements use it: once it has started, in the session of now."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ksql_spark.config import CurrentConfig
from ksql_spark.expressions import Expression
from ksql_spark.runtime.errors import jobs_reported
from ksql_spark.spark import sinks
from ksql_spark.spark.evaluate import evaluate
from ksql_spark.spark.session import Session, SparkProcess


class SparkAccess:
    """A server's Spark process, which may be starting or restarting.

    Args:
        process: the process.
        await_start: returns once Spark has started for the first time; raises as SparkStart.wait.
        config: the server's configuration.
        problem: why it is not running although it should be; returns None if it is.
    """

    def __init__(
        self,
        process: SparkProcess,
        await_start: Callable[[], None],
        config: CurrentConfig,
        problem: Callable[[], str | None] = lambda: None,
    ) -> None:
        self.process = process
        self.await_start = await_start
        self.problem = problem
        self._config = config

    def session(self) -> Session:
        """The session of now; waits for the first one.

        Raises:
            KsqlError: SPARK_RESTARTING, and as ``await_start``.
        """
        self.await_start()
        return self.process.running_session

    def evaluate(self, expressions: Sequence[Expression]) -> list[Any]:
        """The values of constant expressions, in the formats' Python form (see formats.base).

        Raises:
            KsqlError: as session(), and as jobs_reported if a value cannot be computed.
        """
        session = self.session()
        with jobs_reported():
            return evaluate(session, expressions)

    def write(self, topic: str, key: bytes | None, value: bytes | None, time_ms: int) -> None:
        """Write a record. Slower than RecordProducer.send, but it can write any timestamp.

        Raises:
            KsqlError: as session(); the record cannot be written.
        """
        sinks.write(self.session(), self._config().client_settings("producer"), topic, key, value, time_ms)
