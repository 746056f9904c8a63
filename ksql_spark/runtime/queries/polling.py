"""Looks at something again and again in a thread of its own, which nothing ends but close()."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from ksql_spark.runtime.errors import reason

log = logging.getLogger(__name__)


class Watch:
    """One look after the other. A look that fails is logged, and is no reason not to look again.

    Args:
        name: of the thread.
        every_s: pause before each look, seconds.
        look: looks once.
    """

    def __init__(self, name: str, every_s: float, look: Callable[[], None]) -> None:
        self._name = name
        self._every_s = every_s
        self._look = look
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        #: why the latest look has failed; None: it has not
        self.problem: str | None = None

    def start(self) -> None:
        """Look from now on."""
        self._thread.start()

    def close(self) -> None:
        """Look no more; a look under way goes on."""
        self._closing.set()

    def join(self, timeout_s: float) -> bool:
        """Wait for the end of a look under way; whether it has ended."""
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def _run(self) -> None:
        while not self._closing.wait(self._every_s):
            try:
                self._look()
            except Exception as error:
                if self._closing.is_set():
                    return  # what it looks at is closed as well
                problem = reason(error)
                if problem != self.problem:  # the same again and again would fill the log
                    log.exception("%s: a look has failed; it goes on", self._name)
                self.problem = problem
            else:
                if self.problem is not None:
                    log.info("%s: looks succeed again", self._name)
                self.problem = None


__all__ = ["Watch"]
