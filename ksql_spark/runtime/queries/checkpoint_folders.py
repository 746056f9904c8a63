"""The locations of queries' checkpoints, how far they have got, and their removal."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping

from ksql_spark import topic_patterns
from ksql_spark.errors import KsqlError
from ksql_spark.runtime.queries.checkpoints import Checkpoint, Offsets
from ksql_spark.runtime.queries.definition import TRANSIENT_PREFIX
from ksql_spark.runtime.queries.managed import ManagedQuery
from ksql_spark.storage import Folder

log = logging.getLogger(__name__)

#: within this time after a query's end, Spark has finished its uploads, in seconds
REMOVE_AGAIN_S = 15.0


class QueryCheckpoints:
    """The checkpoints of all queries of a server. Thread-safe.

    Args:
        persistent: folder with one folder for each query's checkpoints.
        scratch: the same for push queries.
    """

    def __init__(self, persistent: Folder, scratch: Folder) -> None:
        self._persistent = persistent
        self._scratch = scratch
        self._lock = threading.Lock()
        #: ids of queries whose checkpoints were removed -> when to repeat the removal, on the monotonic clock
        self._removed: dict[str, float] = {}

    def folder(self, query_id: str) -> Folder:
        """The folder of a query's checkpoints."""
        is_scratch = query_id.startswith(TRANSIENT_PREFIX)
        return (self._scratch if is_scratch else self._persistent).sub(query_id)

    def of(self, query: ManagedQuery, stage: int) -> Checkpoint:
        """The checkpoint of a sub-topology."""
        return Checkpoint(self.folder(query.id), stage)

    def remove(self, *query_ids: str) -> None:
        """Remove the checkpoints of queries that no longer exist.

        Spark uploads snapshots of state in the background, perhaps while a folder is being removed. Later
        uploads are removed after REMOVE_AGAIN_S, or by the next start.
        """
        for query_id in query_ids:
            self.folder(query_id).remove()
            with self._lock:
                self._removed[query_id] = time.monotonic() + REMOVE_AGAIN_S

    def keep(self, query_id: str) -> None:
        """A query with that id is about to start: keep what is written from now on."""
        with self._lock:
            self._removed.pop(query_id, None)

    def remove_late(self, is_there: Callable[[str], bool]) -> None:
        """Remove what was uploaded after remove().

        Args:
            is_there: whether a query with an id exists, here or on another server.
        """
        with self._lock:
            due = [query_id for query_id, at in self._removed.items() if time.monotonic() >= at]
            for query_id in due:
                del self._removed[query_id]
                if not is_there(query_id):
                    self.folder(query_id).remove()

    def set_loaded(self, query: ManagedQuery) -> None:
        """Record that the history of all sub-topologies before the last has been read."""
        self.folder(query.id).write(_loaded(query), "")

    def is_loaded(self, query: ManagedQuery) -> bool:
        """Whether set_loaded() has been called for it since it started."""
        return _loaded(query) in self.folder(query.id).names()

    def position(self, query: ManagedQuery, stage: int) -> Offsets:
        """Return the offsets at which a sub-topology continues to read; see Checkpoint.position().

        Raises:
            KsqlError: CHECKPOINT_DAMAGED.
        """
        return self.of(query, stage).position(query.starts)

    def committed_offsets(self, query: ManagedQuery) -> dict[str, dict[int, int]]:
        """Topic -> partition -> the offset after the last record whose processing is committed.

        Before the first checkpoint these are the query's start offsets. In real time a checkpoint is written
        every ``ksql.checkpoint.interval.ms``, so results may be ahead of it.

        Raises:
            KsqlError: CHECKPOINT_DAMAGED.
        """
        committed: dict[str, dict[int, int]] = {}
        for number, stage in enumerate(query.plan.stages):
            reached = self.position(query, number)
            for topic in (name for each in stage.topics for name in topic_patterns.names(each, reached)):
                for partition, offset in reached.get(topic, {}).items():
                    ends = committed.setdefault(topic, {})
                    ends[int(partition)] = min(ends.get(int(partition), offset), offset)
        return committed

    def committed_or_none(self, query: ManagedQuery) -> Mapping[str, Mapping[int, int]] | None:
        """Return committed_offsets(), or None if the checkpoints cannot be read."""
        try:
            return self.committed_offsets(query)
        except (KsqlError, OSError, ValueError):  # the disk may be the cause of the failure
            log.exception("could not read the checkpoints of query %s", query.id, extra={"query": query.id})
            return None

    def has_reached(self, query: ManagedQuery, number: int, ends: Mapping[tuple[str, int], int]) -> bool:
        """Whether a stage has committed all records before ``ends``."""
        reached = self.position(query, number)
        return all(reached.get(topic, {}).get(str(p), 0) >= end for (topic, p), end in ends.items())


def _loaded(query: ManagedQuery) -> str:
    """Return the name of the file that marks a query's tables as loaded."""
    return f"{len(query.plan.inner)}.loaded"
