"""The supervisor of Spark's JVM: restarts it, with all queries, when it exits.

All queries share the JVM, so one of them can end it for all, for instance with a record that takes all memory
and is read again after each restart. The supervisor finds such a query and halts it. A query is *proven* if
it has committed something, or has run for a while, since its last start. If the JVM exits while exactly one
query is unproven, that query has ended it. If several are, they are started one by one, each once the one
before it is proven.
"""

from __future__ import annotations

import logging
import signal
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

from ksql_spark.runtime.driver.startup import FIRST_PAUSE_S, SparkStart
from ksql_spark.runtime.queries.managed import ManagedQuery
from ksql_spark.runtime.queries.manager import QueryManager

log = logging.getLogger(__name__)

#: a query that has run this long is proven, seconds
PROVEN_AFTER_S = 10.0
#: a query is halted after ending the JVM this many times
ENDS = 2
#: the same if a signal from outside, such as kill -9, ended it
ENDS_FROM_OUTSIDE = 3


class Process(Protocol):
    """The part of SparkProcess that the supervisor uses."""

    @property
    def is_alive(self) -> bool:
        """Whether the JVM is running."""
        ...

    def wait(self) -> int:
        """Wait for it to exit; returns the exit code, negative for a signal."""
        ...

    def kill(self) -> None:
        """End it at once."""
        ...


class SparkSupervisor:
    """Restarts Spark's JVM, with all queries, when it exits unexpectedly.

    Args:
        spark: the JVM.
        starting: starts it.
        queries: on it.
        restarted: called with the new JVM, before queries start on it.
        proven_after_s: after how long a query is proven, seconds.
    """

    def __init__(
        self,
        spark: Process,
        starting: SparkStart,
        queries: QueryManager,
        restarted: Callable[[], None],
        proven_after_s: float = PROVEN_AFTER_S,
    ) -> None:
        self._spark = spark
        self._starting = starting
        self._queries = queries
        self._restarted = restarted
        self._proven_after_s = proven_after_s
        self._closing = threading.Event()
        self._recovering = False
        #: the reason why we ended the JVM ourselves, a clause that follows "Spark's process"
        self._why: str | None = None
        #: query id -> how often the JVM has exited while it was unproven, after a first exit
        self._ends: dict[str, int] = {}
        #: query id -> what it had committed when it was started after an exit
        self._committed: dict[str, Any] = {}
        #: queries that are waiting to be restarted
        self._waiting: list[ManagedQuery] = []
        self._thread = threading.Thread(target=self._run, name="spark-supervisor", daemon=True)

    def start(self) -> None:
        """Start watching."""
        self._thread.start()

    def close(self) -> None:
        """Stop watching: the JVM may be stopped once this returns. A running restart finishes first."""
        self._closing.set()
        if not self._thread.is_alive():
            return
        if self._spark.is_alive and not self._recovering:
            return  # the thread waits for the JVM's exit, and then leaves
        self._thread.join(60)

    def clock_set_back(self, seconds: float) -> None:
        """Replace a JVM whose Kafka clients would wait until the wall clock shows the old time again."""
        if not self._recovering:
            self._why = f"was ended because the clock was set back by {seconds:.0f} s"
            self._spark.kill()

    def _run(self) -> None:
        while not self._closing.is_set():
            code = self._spark.wait()
            if self._closing.is_set():
                return
            self._recovering = True
            try:
                self._recover(code)
            except Exception:  # nothing else would restart Spark
                log.exception("Spark was not restarted properly")
                self._closing.wait(FIRST_PAUSE_S)
            self._recovering = False

    def _recover(self, code: int) -> None:
        """Restart the JVM and the queries that were running."""
        why, self._why = self._why, None
        how = why or _how_it_ended(code)
        log.error("Spark's process %s; restarting it with all queries", how)
        self._starting.problem = f"Spark's process {how}. It is restarting."
        lost = self._queries.spark_loss.begin(f"Spark's process {how}")
        unproven = [query for query in lost if query.id in self._ends and not self._is_proven(query)]
        self._waiting += [query for query in lost if query not in self._waiting]
        if why is None:
            self._blame(lost, unproven, code)
        if self._starting.until_running(self._restarted, self._closing.is_set):
            self._queries.spark_loss.end()
            self._start_queries(one_by_one=bool(unproven))

    def _blame(self, lost: Sequence[ManagedQuery], unproven: Sequence[ManagedQuery], code: int) -> None:
        """Count an exit of the JVM against the queries that were running, and halt the one that caused it."""
        for query in lost:
            self._ends[query.id] = self._ends.get(query.id, 0) + 1 if query in unproven else 1
        needed = ENDS_FROM_OUTSIDE if -code in (signal.SIGKILL, signal.SIGTERM) else ENDS
        if len(unproven) == 1 and self._ends[unproven[0].id] >= needed:
            (culprit,) = unproven
            self._waiting.remove(culprit)
            log.error(
                "query %s is halted because it ended Spark's process", culprit.id, extra={"query": culprit.id}
            )
            times = self._ends.pop(culprit.id)
            self._queries.halt(
                culprit,
                f"Spark's process {_how_it_ended(code)}, {times} times in a row soon after this query had "
                f"started. The query stays stopped; RESUME {culprit.id} retries it.",
            )

    def _start_queries(self, *, one_by_one: bool) -> None:
        """Start the waiting queries."""
        if not one_by_one:
            waiting, self._waiting = self._waiting, []
            with ThreadPoolExecutor(max_workers=4, thread_name_prefix="query-restart") as pool:
                list(pool.map(self._start_query, waiting))
            return
        while self._waiting and not self._closing.is_set():
            query = self._waiting.pop(0)
            self._start_query(query)
            while not self._is_proven(query):
                if not self._spark.is_alive or self._closing.wait(0.1):
                    return
                if self._queries.find(query.id) is not query or not query.spark:
                    break  # it was dropped, paused, or failed in another way

    def _start_query(self, query: ManagedQuery) -> None:
        self._committed[query.id] = self._queries.checkpoints.committed_or_none(query)
        self._queries.spark_loss.restart(query)

    def _is_proven(self, query: ManagedQuery) -> bool:
        """Whether it has committed something, or has run for a while, since its start."""
        if time.monotonic() - query.retries.started_at >= self._proven_after_s:
            return True
        return self._queries.checkpoints.committed_or_none(query) != self._committed.get(query.id)


def _how_it_ended(code: int) -> str:
    """Describe how a process with this exit code ended.

    >>> _how_it_ended(1), _how_it_ended(-9)
    ('ended with code 1', 'was ended by signal SIGKILL')
    """
    if code >= 0:
        return f"ended with code {code}"
    try:
        return f"was ended by signal {signal.Signals(-code).name}"
    except ValueError:
        return f"was ended by signal {-code}"


__all__ = ["SparkSupervisor"]
