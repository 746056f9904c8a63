"""How many push queries may run."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator

from ksql_spark.errors import KsqlError


class PushLimit:
    """Refuses push queries that are too many, those counted that are just being started. Thread-safe.

    Args:
        running: the ids of the push queries that run.
    """

    def __init__(self, running: Callable[[], Iterable[str]]) -> None:
        self._running = running
        self._lock = threading.Lock()
        #: a query is among these until its start has ended, and among those that run before that
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
