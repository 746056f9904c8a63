"""The limits on running push queries: of all clients, and of one."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator

from ksql_spark.config import share_of
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
        #: query -> its client
        self._clients: dict[str, str] = {}

    @contextlib.contextmanager
    def starting(
        self, query_id: str, most: int, client: str | None = None, share: float = 1.0
    ) -> Iterator[None]:
        """A block that starts one push query; at most ``most`` may run, and of a client its share of them.

        Raises:
            KsqlError: PUSH_LIMIT, PUSH_SHARE.
        """
        with self._lock:
            running = self._starting.union(self._running())
            if len(running) >= most:
                raise KsqlError("PUSH_LIMIT", limit=most)
            self._clients = {one: of for one, of in self._clients.items() if one in running}
            if client is not None:
                limit = share_of(most, share)
                if list(self._clients.values()).count(client) >= limit:
                    raise KsqlError("PUSH_SHARE", limit=limit)
                self._clients[query_id] = client
            self._starting.add(query_id)
        try:
            yield
        finally:
            with self._lock:
                self._starting.discard(query_id)
