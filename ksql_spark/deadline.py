"""Deadlines for planning a statement, checked between planning steps.

Parsing, binding and lowering are pure and single-threaded, so only they themselves can stop. They call
check() for each expression, which costs next to nothing without a deadline.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from contextvars import ContextVar

from ksql_spark.errors import KsqlError


class Deadline:
    """A deadline for planning.

    Args:
        limit_s: the time limit from now on, seconds; 0 for no limit.
        interruption: the condition that ends it at once, STATEMENT_CANCELLED or STOPPED; None for none.
    """

    def __init__(self, limit_s: float, interruption: Callable[[], str | None] = lambda: None) -> None:
        self._limit_s = limit_s
        self._ends = time.monotonic() + limit_s
        self._interruption = interruption

    def check(self) -> None:
        """Return if planning may continue.

        Raises:
            KsqlError: STATEMENT_TIMEOUT, STATEMENT_CANCELLED, STOPPED.
        """
        condition = self._interruption()
        if condition is not None:
            raise KsqlError(condition)
        if self._limit_s and time.monotonic() > self._ends:
            raise KsqlError("STATEMENT_TIMEOUT", limit=f"{self._limit_s:g}")


_CURRENT: ContextVar[Deadline | None] = ContextVar("deadline", default=None)


@contextlib.contextmanager
def limited(deadline: Deadline) -> Iterator[None]:
    """Apply ``deadline`` to check() within the block, in this thread."""
    token = _CURRENT.set(deadline)
    try:
        yield
    finally:
        _CURRENT.reset(token)


def check() -> None:
    """Return if there is no deadline, or it has not passed.

    Raises:
        KsqlError: STATEMENT_TIMEOUT, STATEMENT_CANCELLED, STOPPED.
    """
    deadline = _CURRENT.get()
    if deadline is not None:
        deadline.check()


__all__ = ["Deadline", "check", "limited"]
