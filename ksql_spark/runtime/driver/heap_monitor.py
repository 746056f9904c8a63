"""Makes Spark's JVM return memory after queries have started or stopped, and after a load.

Planning queries and reading a backlog need a larger heap than what follows. By itself, the JVM collects the
whole heap only when it fills up, or after a minute without collections: late, with many idle queries. Even
then it returns only memory above what it is configured to keep, so that a load has enough.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable

from ksql_spark.spark.jvm import HeapUse

#: how long after the last change of the runs to collect, seconds: the first collection finds what Spark can
#: remove, the second one frees it
QUIET_S = (15.0, 45.0)
#: the maximum time by which changes delay the first collection, seconds
LONGEST_S = 120.0
LOOK_EVERY_S = 5.0
#: a load is over once the JVM collects at most this often between two checks, for this many checks
MAX_COLLECTIONS = 1
QUIET_LOOKS = 3
#: how much larger than its live data the heap may be: as a share, and in bytes
SPARE_SHARE, SPARE_BYTES = 0.4, 32 * 2**20
#: how much the heap must have grown since it was last shrunk, to shrink it again
GROWTH = 1.15


class HeapMonitor:
    """Collects the heap once the runs of queries have changed and then stayed unchanged for QUIET_S.

    If they never stop changing, it collects every LONGEST_S. It also collects after a load that made the heap
    grow.

    Args:
        runs: returns the current runs.
        heap: returns the heap usage; nothing while there is no JVM.
        collect: collects the heap while queries continue.
        clock: a monotonic clock, seconds.
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
        self._last_runs = runs()
        self._changed_at = self._waits_since = clock()
        self._collected = 0
        self._growth = _Growth(heap)

    def look(self) -> None:
        """Check the runs and the heap once."""
        runs, now = self._runs(), self._clock()
        if runs != self._last_runs:
            if self._collected:  # the wait starts with the first change since then
                self._waits_since = now
            self._last_runs, self._changed_at, self._collected = runs, now, 0
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
        self._collections = self._quiet = self._committed_after = 0

    def is_over(self) -> bool:
        use = self._heap()
        if use is None:
            return False
        if use.collections < self._collections:  # another JVM
            self._quiet = self._committed_after = 0
        is_quiet = use.collections - self._collections <= MAX_COLLECTIONS
        self._quiet = self._quiet + 1 if is_quiet else 0
        self._collections = use.collections
        return (
            self._quiet >= QUIET_LOOKS
            and use.committed > use.needed * (1 + SPARE_SHARE) + SPARE_BYTES
            and use.committed > self._committed_after * GROWTH
        )

    def collected(self) -> None:
        """The heap was collected."""
        use = self._heap()
        if use is not None:
            self._collections, self._quiet, self._committed_after = use.collections, 0, use.committed


__all__ = ["LOOK_EVERY_S", "HeapMonitor"]
