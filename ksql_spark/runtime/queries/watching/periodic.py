"""Calls a function periodically in its own thread."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from ksql_spark.runtime.errors import reason

log = logging.getLogger(__name__)


class PeriodicTask:
    """Calls a function until close(). A failed call is logged, and the next one follows anyway.

    Args:
        name: of the thread.
        every_s: pause before each call, seconds.
        call: the function.
    """

    def __init__(self, name: str, every_s: float, call: Callable[[], None]) -> None:
        self._name = name
        self._every_s = every_s
        self._call = call
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        #: the reason why the latest call failed; None if it succeeded
        self.problem: str | None = None

    def start(self) -> None:
        """Start calling it."""
        self._thread.start()

    def close(self) -> None:
        """Stop calling it; a running call finishes."""
        self._closing.set()

    def join(self, timeout_s: float) -> bool:
        """Wait for a running call to finish; returns whether it has."""
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def _run(self) -> None:
        while not self._closing.wait(self._every_s):
            try:
                self._call()
            except Exception as error:
                if self._closing.is_set():
                    return  # the function's resources are closed as well
                problem = reason(error)
                if problem != self.problem:  # repeating it would fill the log
                    log.exception("%s failed; it will be retried", self._name)
                self.problem = problem
            else:
                if self.problem is not None:
                    log.info("%s works again", self._name)
                self.problem = None


__all__ = ["PeriodicTask"]
