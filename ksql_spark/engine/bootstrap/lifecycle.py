"""Stops whatever an engine has started."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from ksql_spark.errors import KsqlError

Report = Callable[[str], None]
Entered = TypeVar("Entered")


class Lifecycle:
    """Stops what has been started, in reverse order. A stop may come during a start.

    Args:
        lock: held while a statement is executed; a stop waits for it.
        report: gets progress lines.
    """

    def __init__(self, lock: threading.RLock, report: Report = lambda text: None) -> None:
        self.report = report
        self._lock = lock
        self._stack = contextlib.ExitStack()
        self._stopping = threading.Event()

    def on_stop(self, call: Callable[..., Any], *arguments: Any) -> None:
        """Register a function that a stop calls before everything that was registered earlier."""
        self._stack.callback(call, *arguments)

    def enter(self, context: contextlib.AbstractContextManager[Entered]) -> Entered:
        """Enter a context; a stop leaves it."""
        return self._stack.enter_context(context)

    def is_stopping(self) -> bool:
        """Whether stop() was called."""
        return self._stopping.is_set()

    def check(self) -> None:
        """Raise if stop() was called.

        Raises:
            KsqlError: STOPPED.
        """
        if self._stopping.is_set():
            raise KsqlError("STOPPED")

    def stop(self) -> None:
        """Stop everything, including a start in progress; may be called more than once."""
        self._stopping.set()
        with self._lock:
            stack, self._stack = self._stack, contextlib.ExitStack()
        stack.close()
