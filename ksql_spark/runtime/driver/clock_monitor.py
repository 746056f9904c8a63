"""Notices that the wall clock was set back.

Kafka's clients in Spark's JVM measure pauses by the wall clock. If it is set back, one that waits for 50 ms
before it connects again waits until the clock shows the old time again, however long that takes.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

#: a clock that is set back by less does no harm, seconds
HARMLESS_S = 10.0
LOOK_EVERY_S = 1.0


class ClockMonitor:
    """Compares the wall clock with one that nobody sets, in a thread of its own.

    Args:
        set_back: called with how far the wall clock was set back, seconds.
        wall: the wall clock, seconds.
        steady: a clock that nobody sets, seconds.
    """

    def __init__(
        self,
        set_back: Callable[[float], None],
        wall: Callable[[], float] = time.time,
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        self._set_back = set_back
        self._wall, self._steady = wall, steady
        self._ahead_s = wall() - steady()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="clock-watch", daemon=True)

    def start(self) -> None:
        """Watch from now on."""
        self._thread.start()

    def close(self) -> None:
        """Watch no more."""
        self._closing.set()

    def look(self) -> None:
        """Look at the clocks once."""
        before, self._ahead_s = self._ahead_s, self._wall() - self._steady()
        if before - self._ahead_s > HARMLESS_S:
            self._set_back(before - self._ahead_s)

    def _run(self) -> None:
        while not self._closing.wait(LOOK_EVERY_S):
            self.look()


__all__ = ["ClockMonitor"]
