"""The limit on running push queries."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator

from ksql_spark.errors import KsqlError


class PushLimit:
    """Rejects push queries above the limit, counting those that are starting. Thread-safe.

    Args:
        running: the ids of the running push queries.
    """

    def __init__(self, running: Callable[[], Iterable[str]]) -> None:
        self._running = running
        self._lock = threading.Lock()
        #: a query stays here until its start has ended, and is in ``running`` before that
        self._starting: set[str] = set()

    @contextlib.contextmanager
    def starting(self, query_id: str, most: int) -> Iterator[None]:
        """A block that starts one push query; at most ``most`` may run.

        Raises:
            KsqlError: PUSH_LIMIT.
        """
        with self._lock:
            if len(self._starting.union(self._running())) >= most:
                raise KsqlError("PUSH_LIMIT", limit=most)
            self._starting.add(query_id)
        try:
            yield
        finally:
            with self._lock:
                self._starting.discard(query_id)
