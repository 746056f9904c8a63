"""Removes topics and state, with retries until it succeeds."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from ksql_spark.errors import KsqlError

log = logging.getLogger(__name__)

#: how long to wait after a query's end, or after a failed removal, seconds
REMOVE_AFTER_S = 15.0
#: removals overdue by more than this were held up by the machine, as was the command log
_FROZEN_S = 5.0


class PendingRemovals:
    """Things that ended queries may have left behind. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        #: id of a query, or name of a topic -> when to remove it, on the monotonic clock, and how
        self._due: dict[str, tuple[float, Callable[[], None]]] = {}

    def add(self, name: str, remove: Callable[[], None]) -> None:
        """Call ``remove`` after REMOVE_AFTER_S, and again while the broker or the disk is unavailable.

        Args:
            name: its owner: the id of a query, or a topic.
            remove: may raise KsqlError and OSError; succeeds if nothing is left.
        """
        with self._lock:
            self._due[name] = time.monotonic() + REMOVE_AFTER_S, remove

    def remove_due(self, is_there: Callable[[str], bool], is_closing: Callable[[], bool]) -> None:
        """Remove what is due, except what exists again.

        Args:
            is_there: whether such a query exists again.
            is_closing: whether the server is stopping, and no longer knows its queries.
        """
        now = time.monotonic()
        with self._lock:
            due = {name: entry for name, entry in self._due.items() if entry[0] <= now}
            for name in due:
                del self._due[name]
        for name, (at, remove) in due.items():
            if time.monotonic() - at > _FROZEN_S:
                self.add(name, remove)  # recreated queries may not be known yet
            elif not (is_there(name) or is_closing()):
                self._remove(name, remove)

    def _remove(self, name: str, remove: Callable[[], None]) -> None:
        try:
            remove()
        except (KsqlError, OSError) as error:
            log.warning("could not clean up %s: %s", name, error)
            if not isinstance(error, KsqlError) or error.condition == "BROKER_UNREACHABLE":
                self.add(name, remove)  # anything else is refused again
