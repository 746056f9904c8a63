"""Lets Spark's JVM give memory back when queries have started or stopped, and after a load.

To plan queries, and to read a backlog, takes a larger heap than what follows. The JVM looks through the
whole heap by itself when that fills up, or when it has collected nothing for a minute: with many idle
queries, late. Even then it gives back only what is more than it is set to keep, so that a load has enough.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable

from ksql_spark.spark.heap import HeapUse

#: so long after the last change of the runs the heap is looked through, seconds: what Spark removes once the
#: first time has found that it is not needed, the second time frees
QUIET_S = (15.0, 45.0)
#: the longest that changes put the first time off, seconds
LONGEST_S = 120.0
LOOK_EVERY_S = 5.0
#: a load is over when the JVM has collected at most so often between each two of so many looks
MAX_COLLECTIONS = 1
QUIET_LOOKS = 3
#: so much larger than what is needed the heap may be: a share of that, and bytes
SPARE_SHARE, SPARE_BYTES = 0.4, 32 * 2**20
#: so much the heap has to have grown since memory was given back last, to do that again
GROWTH = 1.15


class HeapMonitor:
    """Looks through the heap when the runs of queries have changed and then have not for QUIET_S.

    If they never stop changing, it does so every LONGEST_S. It also does so when a load is over that made the
    heap grow.

    Args:
        runs: the runs of now.
        heap: how the heap is used now; nothing while there is no JVM.
        collect: looks through the heap while queries go on.
        clock: one that nobody sets, seconds.
    """

    def __init__(
        self,
        runs: Callable[[], frozenset[Hashable]],
        heap: Callable[[], HeapUse | None],
        collect: Callable[[], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._runs = runs
        self._collect = collect
        self._clock = clock
        self._known = runs()
        self._changed_at = self._waits_since = clock()
        self._collected = 0
        self._growth = _Growth(heap)

    def look(self) -> None:
        """Look at the runs and at the heap once."""
        runs, now = self._runs(), self._clock()
        if runs != self._known:
            if self._collected:  # the wait begins with the first change since
                self._waits_since = now
            self._known, self._changed_at, self._collected = runs, now, 0
        is_late = not self._collected and now - self._waits_since >= LONGEST_S
        is_due = self._collected < len(QUIET_S) and now - self._changed_at >= QUIET_S[self._collected]
        if is_due or is_late:
            self._collected += 1
        if self._growth.is_over() or is_due or is_late:
            self._collect()
            self._growth.collected()


class _Growth:
    """Whether a load made the heap grow and is over."""

    def __init__(self, heap: Callable[[], HeapUse | None]) -> None:
        self._heap = heap
        self._collections = self._quiet = self._left = 0

    def is_over(self) -> bool:
        use = self._heap()
        if use is None:
            return False
        if use.collections < self._collections:  # another JVM
            self._quiet = self._left = 0
        is_quiet = use.collections - self._collections <= MAX_COLLECTIONS
        self._quiet = self._quiet + 1 if is_quiet else 0
        self._collections = use.collections
        return (
            self._quiet >= QUIET_LOOKS
            and use.taken > use.needed * (1 + SPARE_SHARE) + SPARE_BYTES
            and use.taken > self._left * GROWTH
        )

    def collected(self) -> None:
        """The heap was looked through."""
        use = self._heap()
        if use is not None:
            self._collections, self._quiet, self._left = use.collections, 0, use.taken


__all__ = ["LOOK_EVERY_S", "HeapMonitor"]
