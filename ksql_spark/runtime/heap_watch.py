"""Lets Spark's JVM give memory back when queries have started or stopped.

To plan queries takes a larger heap than they need later. The JVM gives that back when it has looked through
the whole heap, which it does by itself when the heap fills up, or when it has collected nothing for a minute:
with many idle queries, late.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable

#: so long after the last change the heap is looked through, seconds: the first time finds what is not needed,
#: collections after that free it, and the second time gives it back
QUIET_S = (15.0, 45.0)
#: the longest that changes put the first time off, seconds
LONGEST_S = 120.0
LOOK_EVERY_S = 5.0


class HeapWatch:
    """Looks through the heap when the runs of queries have changed and then have not for QUIET_S.

    If they never stop changing, it does so every LONGEST_S.

    Args:
        runs: the runs of now.
        collect: looks through the heap while queries go on.
        clock: one that nobody sets, seconds.
    """

    def __init__(
        self,
        runs: Callable[[], frozenset[Hashable]],
        collect: Callable[[], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._runs = runs
        self._collect = collect
        self._clock = clock
        self._known = runs()
        self._changed_at = self._waits_since = clock()
        self._collected = 0

    def look(self) -> None:
        """Look at the runs once."""
        runs, now = self._runs(), self._clock()
        if runs != self._known:
            if self._collected:  # the wait begins with the first change since
                self._waits_since = now
            self._known, self._changed_at, self._collected = runs, now, 0
        is_late = not self._collected and now - self._waits_since >= LONGEST_S
        is_due = self._collected < len(QUIET_S) and now - self._changed_at >= QUIET_S[self._collected]
        if is_due or is_late:
            self._collected += 1
            self._collect()


__all__ = ["LOOK_EVERY_S", "HeapWatch"]
