"""How long a statement may be planned, and whether anybody still wants it: asked between steps of planning.

Parsing, binding and lowering are pure and single-threaded, so that nothing but themselves can end them. They
call check() for each expression; it costs next to nothing where no deadline is set.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from contextvars import ContextVar

from ksql_spark.errors import KsqlError


class Deadline:
    """An end of planning.

    Args:
        limit_s: how long it may take from now on, seconds; 0 for no limit.
        interruption: the condition that ends it at once, STATEMENT_CANCELLED or STOPPED; None for none.
    """

    def __init__(self, limit_s: float, interruption: Callable[[], str | None] = lambda: None) -> None:
        self._limit_s = limit_s
        self._ends = time.monotonic() + limit_s
        self._interruption = interruption

    def check(self) -> None:
        """Return where planning may go on.

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
    """Let check() keep to ``deadline`` within the block, in this thread."""
    token = _CURRENT.set(deadline)
    try:
        yield
    finally:
        _CURRENT.reset(token)


def check() -> None:
    """Return where there is no deadline, or it is still to come.

    Raises:
        KsqlError: STATEMENT_TIMEOUT, STATEMENT_CANCELLED, STOPPED.
    """
    deadline = _CURRENT.get()
    if deadline is not None:
        deadline.check()


__all__ = ["Deadline", "check", "limited"]
