"""Stops whatever an engine has started."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

from ksql_spark.errors import KsqlError

log = logging.getLogger(__name__)

Report = Callable[[str], None]
Entered = TypeVar("Entered")

#: how long a stop may take beyond what its queries may, and then, once all processes are killed, seconds
STOP_S, KILLED_S = 8.0, 2.0
_LOOK_S = 0.1


class Lifecycle:
    """Stops what has been started, in reverse order. A stop may come during a start.

    Any part may hang, most likely because a process that it waits for does. So the whole stop has a time
    limit, after which all our processes are killed: that is a crash, which each of them survives. The limit
    excludes the time in which a process writes what makes later starts faster, which has a limit of its own.

    Args:
        lock: held while a statement is executed; a stop waits for it.
        report: gets progress lines.
        limit_s: how long a stop may take before processes are killed, seconds.
    """

    def __init__(
        self, lock: threading.RLock, report: Report = lambda text: None, limit_s: float = STOP_S
    ) -> None:
        self.report = report
        self._lock = lock
        self._limit_s = limit_s
        self._stack = contextlib.ExitStack()
        self._kills: list[Callable[[], None]] = []
        self._busy: list[Callable[[], bool]] = []
        self._stopping = threading.Event()
        self._one_stop = threading.Lock()
        #: the step that a stop is waiting for
        self._step = "a statement that is being executed"

    def on_stop(self, call: Callable[..., Any], *arguments: Any) -> None:
        """Register a function that a stop calls before everything that was registered earlier."""

        def step() -> None:
            self._step = getattr(call, "__qualname__", repr(call))
            call(*arguments)

        self._stack.callback(step)

    def kills(self, kill: Callable[[], None], is_busy: Callable[[], bool] = lambda: False) -> None:
        """Register a function that kills a process of ours, for good; a stop calls it at its end.

        Args:
            kill: the function.
            is_busy: whether the process does something now that takes a limited time and is to finish.
        """
        self._kills.append(kill)
        self._busy.append(is_busy)

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

    def stop(self) -> bool:
        """Stop everything, including a start in progress; may be called more than once.

        No process is left. It returns within ``limit_s`` and KILLED_S, apart from what is_busy() excludes.

        Returns:
            whether nothing is left to do; otherwise threads still wait for something.
        """
        self._stopping.set()
        with self._one_stop:  # another one would find nothing to do, and kill what this one waits for
            return self._stop()

    def _stop(self) -> bool:
        failures: list[BaseException] = []

        def close() -> None:
            with self._lock:
                stack, self._stack = self._stack, contextlib.ExitStack()
            try:
                stack.close()
            except BaseException as error:
                failures.append(error)

        closing = threading.Thread(target=close, name="stop", daemon=True)
        closing.start()
        left_s = self._limit_s
        while closing.is_alive() and left_s > 0:
            began = time.monotonic()
            closing.join(min(left_s, _LOOK_S))
            if not any(is_busy() for is_busy in self._busy):
                left_s -= time.monotonic() - began
        if closing.is_alive():
            log.error("stopping takes longer than %g s (%s): killing processes", self._limit_s, self._step)
        for kill in reversed(self._kills):
            try:
                kill()
            except Exception:
                log.exception("a process could not be killed")
        closing.join(KILLED_S)
        if failures:
            raise failures[0]
        return not closing.is_alive()
