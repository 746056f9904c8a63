"""Lets Spark's JVM give memory back when queries have started or stopped.

To plan queries takes a heap of several times what they keep. The JVM gives that back when it has looked
through the whole heap, which it does by itself only while nothing is to be collected for a minute: with many
queries, never.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable

#: so long after the last change the heap is looked through, seconds: the first time finds what is not needed,
#: collections after that free it, and the second time gives it back
QUIET_S = (15.0, 45.0)
LOOK_EVERY_S = 5.0


class HeapWatch:
    """Looks through the heap when the runs of queries have changed and then have not for QUIET_S.

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
        self._changed_at = clock()
        self._collected = 0

    def look(self) -> None:
        """Look at the runs once."""
        runs = self._runs()
        if runs != self._known:
            self._known, self._changed_at, self._collected = runs, self._clock(), 0
        quiet_s = self._clock() - self._changed_at
        if self._collected < len(QUIET_S) and quiet_s >= QUIET_S[self._collected]:
            self._collected += 1
            self._collect()


__all__ = ["LOOK_EVERY_S", "HeapWatch"]
