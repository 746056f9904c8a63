"""Calls a function periodically, in a thread of its own."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from ksql_spark.runtime.errors import reason

log = logging.getLogger(__name__)


class PeriodicTask:
    """Calls a function until close(). A call that fails is logged, and the next one is made all the same.

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
        #: why the latest call failed; None: it did not
        self.problem: str | None = None

    def start(self) -> None:
        """Call it from now on."""
        self._thread.start()

    def close(self) -> None:
        """Call it no more; a call in progress goes on."""
        self._closing.set()

    def join(self, timeout_s: float) -> bool:
        """Wait for the end of a call in progress; whether it has ended."""
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def _run(self) -> None:
        while not self._closing.wait(self._every_s):
            try:
                self._call()
            except Exception as error:
                if self._closing.is_set():
                    return  # what it works on is closed as well
                problem = reason(error)
                if problem != self.problem:  # the same again and again would fill the log
                    log.exception("%s failed; it will be retried", self._name)
                self.problem = problem
            else:
                if self.problem is not None:
                    log.info("%s works again", self._name)
                self.problem = None


__all__ = ["PeriodicTask"]
