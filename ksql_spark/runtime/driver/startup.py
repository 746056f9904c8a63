"""The first start of Spark's JVM, which takes longer than the rest of the server and runs in parallel."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from ksql_spark import deadline
from ksql_spark.errors import KsqlError

#: how often a waiting caller checks whether it should still wait, seconds
LOOK_S = 0.1


class SparkStart:
    """Starts Spark in its own thread; callers that need Spark wait for it. Thread-safe.

    Args:
        start: starts Spark, and returns once it is running.
        limit_s: returns for how long a statement may wait, seconds; 0: as long as it takes.
        is_stopping: whether the server is stopping.
    """

    def __init__(
        self, start: Callable[[], None], limit_s: Callable[[], float], is_stopping: Callable[[], bool]
    ) -> None:
        self._start = start
        self._limit_s = limit_s
        self._is_stopping = is_stopping
        self._failure: BaseException | None = None
        self._is_open = threading.Event()
        self._thread = threading.Thread(target=self._run, name="spark-start", daemon=True)

    def begin(self) -> None:
        """Start Spark without waiting for it."""
        self._thread.start()

    def _run(self) -> None:
        try:
            self._start()
        except BaseException as error:  # join() raises it, in the thread that starts the server
            self._failure = error

    def settle(self) -> None:
        """Wait until Spark is running or has failed to start."""
        if self._thread.ident is not None:
            self._thread.join()

    def join(self) -> None:
        """Wait until Spark is running.

        Raises:
            KsqlError: it could not be started.
        """
        self.settle()
        if self._failure is not None:
            raise self._failure

    def open(self) -> None:
        """Let statements use Spark from now on."""
        self._is_open.set()

    def wait(self) -> None:
        """Return once a statement may use Spark.

        Raises:
            KsqlError: NOT_READY, that takes too long or failed; STATEMENT_CANCELLED, STOPPED.
        """
        limit_s = self._limit_s()
        end = time.monotonic() + limit_s
        while not self._is_open.wait(LOOK_S):
            if self._is_stopping():
                raise KsqlError("STOPPED")
            if self._failure is not None or (limit_s and time.monotonic() > end):
                raise KsqlError("NOT_READY")
            try:
                deadline.check()
            except KsqlError as error:
                # nothing is wrong with the statement
                raise KsqlError("NOT_READY") if error.condition == "STATEMENT_TIMEOUT" else error from None


__all__ = ["SparkStart"]
