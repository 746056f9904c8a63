"""What the exit of Spark's JVM means for the queries on it (runtime.driver.supervisor restarts it)."""

from __future__ import annotations

import threading
from collections.abc import Callable

from ksql_spark.runtime.queries.managed import ManagedQuery
from ksql_spark.runtime.queries.registry import QueryRegistry
from ksql_spark.runtime.queries.runs.runs import QueryRuns
from ksql_spark.runtime.queries.states import State


class SparkLoss:
    """Halts queries when Spark's JVM exits, and starts them again once it is back.

    Args:
        queries: all queries.
        runs: of the queries.
        halt: puts a query into ERROR with a message.
        start: starts a query; if it does not start, it has failed.
    """

    def __init__(
        self,
        queries: QueryRegistry,
        runs: QueryRuns,
        halt: Callable[[ManagedQuery, str], None],
        start: Callable[[ManagedQuery], None],
    ) -> None:
        self._queries, self._runs = queries, runs
        self._halt, self._start = halt, start
        self._is_gone = threading.Event()
        #: how often the JVM has been restarted
        self.restarts = 0

    @property
    def is_gone(self) -> bool:
        """Whether Spark's JVM has exited and is not back yet."""
        return self._is_gone.is_set()

    def begin(self, what: str) -> list[ManagedQuery]:
        """Record that Spark's JVM has exited, for the queries that ran on it.

        Args:
            what: what happened to it, a sentence without its full stop.

        Returns:
            the persistent queries that ran, which restart() starts again.
        """
        self._is_gone.set()
        lost = []
        for query in self._queries.managed():
            with query.control:
                if not self._runs.forget(query):
                    continue
                then = "Send the query again." if query.is_transient else "Then this query continues."
                self._halt(query, f"{what} and is restarting. {then}")
                if not query.is_transient:
                    lost.append(query)
        return lost

    def end(self) -> None:
        """Record that Spark's JVM is back."""
        self.restarts += 1
        self._is_gone.clear()

    def restart(self, query: ManagedQuery) -> None:
        """Start a query that begin() returned, unless it has been dropped, paused or resumed since."""
        with query.control:
            if self._queries.find(query.id) is query and query.state is State.ERROR and not query.spark:
                self._start(query)  # the JVM may exit again


__all__ = ["SparkLoss"]
