"""Removals of topics and state that are retried until they succeed."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from ksql_spark.errors import KsqlError

log = logging.getLogger(__name__)

#: how long after something ended, or after a removal failed, it is removed, seconds
REMOVE_AFTER_S = 15.0
#: what is due for longer was held up by the machine, and the command log as well
_FROZEN_S = 5.0


class PendingRemovals:
    """What ended queries may have left. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        #: id of a query, or name of a topic -> when it is removed, on the monotonic clock, and how
        self._due: dict[str, tuple[float, Callable[[], None]]] = {}

    def add(self, name: str, remove: Callable[[], None]) -> None:
        """Call ``remove`` REMOVE_AFTER_S from now, and again as long as broker or disk are away.

        Args:
            name: what it belongs to: the id of a query, or a topic.
            remove: may raise KsqlError and OSError; nothing is wrong if there is nothing left.
        """
        with self._lock:
            self._due[name] = time.monotonic() + REMOVE_AFTER_S, remove

    def remove_due(self, is_there: Callable[[str], bool], is_closing: Callable[[], bool]) -> None:
        """Remove what is due, except what has come again.

        Args:
            is_there: whether there is such a query again.
            is_closing: whether the server stops, and does not know its queries any more.
        """
        now = time.monotonic()
        with self._lock:
            due = {name: entry for name, entry in self._due.items() if entry[0] <= now}
            for name in due:
                del self._due[name]
        for name, (at, remove) in due.items():
            if time.monotonic() - at > _FROZEN_S:
                self.add(name, remove)  # what has come again may not be known yet
            elif not (is_there(name) or is_closing()):
                self._remove(name, remove)

    def _remove(self, name: str, remove: Callable[[], None]) -> None:
        try:
            remove()
        except (KsqlError, OSError) as error:
            log.warning("could not clean up %s: %s", name, error)
            if not isinstance(error, KsqlError) or error.condition == "BROKER_UNREACHABLE":
                self.add(name, remove)  # anything else is refused again
