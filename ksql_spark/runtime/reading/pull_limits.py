"""The limits on pull queries."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from ksql_spark.errors import KsqlError

QPS = "ksql.query.pull.max.qps"
AT_ONCE = "ksql.query.pull.max.concurrent.requests"


class PullLimits:
    """Rejects pull queries above the limits. Thread-safe.

    Args:
        setting: the value of a property of the server.
    """

    def __init__(self, setting: Callable[[str], Any]) -> None:
        self._setting = setting
        self._lock = threading.Lock()
        self._running = 0
        #: how many pull queries may start, and when that was computed
        self._remaining, self._at = 0.0, 0.0

    def take(self, maximum: int) -> None:
        """Count one pull query against the limit of ``maximum`` per second.

        Raises:
            KsqlError: PULL_LIMIT.
        """
        with self._lock:
            now = time.monotonic()
            self._remaining = min(float(maximum), self._remaining + (now - self._at) * maximum)
            self._at = now
            if self._remaining < 1:
                raise KsqlError("PULL_LIMIT", limit=f"{maximum} pull queries a second", property=QPS)
            self._remaining -= 1

    def give_back(self) -> None:
        """Take back one ``take``: somebody else counts this pull query."""
        with self._lock:
            self._remaining += 1

    @contextlib.contextmanager
    def one(self) -> Iterator[None]:
        """A block that runs one pull query.

        Raises:
            KsqlError: PULL_LIMIT.
        """
        maximum = int(self._setting(AT_ONCE))
        with self._lock:
            if self._running >= maximum:
                raise KsqlError("PULL_LIMIT", limit=f"{maximum} pull queries run", property=AT_ONCE)
            self._running += 1
        try:
            yield
        finally:
            with self._lock:
                self._running -= 1
