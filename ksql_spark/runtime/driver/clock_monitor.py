"""Detects that the wall clock was set back.

Kafka's clients measure pauses with the wall clock: those in Spark's JVM, and librdkafka in this process. If
it is set back, a client that waits 50 ms before reconnecting waits until the clock shows the old time again,
however long that takes, and a thread that waits for that client cannot be interrupted. So a new process takes
the server's place.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

#: smaller steps back do no harm, seconds
HARMLESS_S = 10.0
LOOK_EVERY_S = 1.0


class ClockMonitor:
    """Compares the wall clock with a monotonic clock, in its own thread.

    Args:
        set_back: called with how far the wall clock was set back, seconds.
        wall: the wall clock, seconds.
        steady: a monotonic clock, seconds.
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
        """Start watching."""
        self._thread.start()

    def close(self) -> None:
        """Stop watching."""
        self._closing.set()

    def look(self) -> None:
        """Compare the clocks once."""
        before, self._ahead_s = self._ahead_s, self._wall() - self._steady()
        if before - self._ahead_s > HARMLESS_S:
            self._set_back(before - self._ahead_s)

    def _run(self) -> None:
        while not self._closing.wait(LOOK_EVERY_S):
            self.look()


__all__ = ["ClockMonitor"]
