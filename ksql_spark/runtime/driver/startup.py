"""Starts Spark's JVM, and starts it again until it runs: the first one, and those after one has ended.

The first start takes longer than the rest of the server and runs beside it. supervisor.py asks for the
others.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from ksql_spark import deadline
from ksql_spark.errors import KsqlError

log = logging.getLogger(__name__)

#: how often a waiting caller checks whether it should still wait, seconds
LOOK_S = 0.1
#: pauses between attempts to start the JVM, seconds; each is twice as long as the one before
FIRST_PAUSE_S, LONGEST_PAUSE_S = 1.0, 60.0


class SparkStart:
    """Starts Spark; callers that need it for the first time wait for it. Thread-safe.

    Args:
        start: starts a JVM in place of any other, and returns once it is running.
        limit_s: returns for how long a statement may wait, seconds; 0: as long as it takes.
        is_stopping: whether the server is stopping.
        report: gets a line for each attempt that fails.
    """

    def __init__(
        self,
        start: Callable[[], object],
        limit_s: Callable[[], float],
        is_stopping: Callable[[], bool],
        report: Callable[[str], None] = lambda text: None,
    ) -> None:
        self._start = start
        self._limit_s = limit_s
        self._is_stopping = is_stopping
        self._report = report
        #: the reason why Spark should be running but is not; None if it runs, or starts for the first time
        self.problem: str | None = None
        self._is_given_up = threading.Event()
        self._failure: BaseException | None = None
        self._is_open = threading.Event()
        self._thread = threading.Thread(target=self._run, name="spark-start", daemon=True)

    def begin(self) -> None:
        """Start Spark without waiting for it."""
        self._thread.start()

    def _run(self) -> None:
        try:
            self.until_running(is_over=self._is_given_up.is_set, is_first=True)
        except BaseException as error:  # join() raises it, in the thread that starts the server
            self._failure = error

    def until_running(
        self,
        ready: Callable[[], None] = lambda: None,
        is_over: Callable[[], bool] = lambda: False,
        *,
        is_first: bool = False,
    ) -> bool:
        """Start Spark, again and again with growing pauses if it does not start.

        Args:
            ready: called with each new JVM; if it fails, the JVM counts as not started.
            is_over: whether nobody needs Spark any more.
            is_first: whether an error that no other attempt can mend ends the server.

        Returns:
            False: the server stops, or ``is_over``.

        Raises:
            KsqlError: with ``is_first``, any error but SPARK_FAILED, such as JAVA_MISSING.
        """
        pause_s = FIRST_PAUSE_S
        while not self._is_stopping() and not is_over():
            try:
                self._start()
                ready()
                self.problem = None
                return True
            except Exception as error:
                if is_first and isinstance(error, KsqlError) and error.condition != "SPARK_FAILED":
                    raise
                why = error.message if isinstance(error, KsqlError) else f"Spark did not start: {error}"
                self.problem = f"{why} The next attempt is in {pause_s:.0f} s."
                if not self._is_stopping():
                    log.error(self.problem, exc_info=not isinstance(error, KsqlError))
                    self._report(self.problem)
            until = time.monotonic() + pause_s
            while time.monotonic() < until and not self._is_stopping() and not is_over():
                time.sleep(min(LOOK_S, pause_s))
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
        return False

    def settle(self) -> None:
        """Make no more first attempts, and wait for the one that is being made."""
        self._is_given_up.set()
        self._wait_for_thread()

    def _wait_for_thread(self) -> None:
        if self._thread.ident is not None:
            self._thread.join()

    def join(self) -> None:
        """Wait until Spark is running, or the server stops.

        Raises:
            KsqlError: it cannot be started.
        """
        self._wait_for_thread()
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
