"""Removes keys from a table: from its topic, and from the state of the query that maintains it (ADR 85)."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Collection, Mapping

from ksql_spark.errors import KsqlError
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.kafka.consumer import Record
from ksql_spark.plan.stages import REALTIME
from ksql_spark.runtime.queries import differences, exactly_once
from ksql_spark.runtime.queries.changes.catching_up import CatchingUp
from ksql_spark.runtime.queries.differences import Place, TopicRows
from ksql_spark.runtime.queries.managed import ManagedQuery
from ksql_spark.runtime.queries.manager import QueryManager

#: how long to wait until the batch that removes keys from the state is committed, seconds
_TIMEOUT_S = 30.0
#: the same for micro-batches: one begins at once if there is a record to read, and else not at all
_MICROBATCH_TIMEOUT_S = 5.0
_ASK_EVERY_S = 0.2


class TopicErasure:
    """The rows of some keys in a table's topic. Not thread-safe.

    Args:
        admin: of the cluster.
        topic: its name.
        without_window: a record's key without the bounds of its window.
    """

    def __init__(self, admin: KafkaAdmin, topic: str, without_window: Callable[[bytes], bytes]) -> None:
        self._admin, self._topic, self._without_window = admin, TopicRows(topic), without_window

    def rows(self, keys: Collection[bytes]) -> dict[Place, Record]:
        """The rows of ``keys``, which are without the bounds of windows.

        Raises:
            KsqlError: as TopicRows.read.
        """
        rows = self._topic.read(self._admin).items()
        return {
            place: row for place, row in rows if row.key is not None and self._without_window(row.key) in keys
        }

    def delete(self, rows: Mapping[Place, Record], transactional_id: str) -> None:
        """Write a tombstone for each of the rows; if there are none, nothing is done.

        Args:
            rows: the result of ``rows``.
            transactional_id: of the writer; an earlier one with this id can write nothing any more.

        Raises:
            KsqlError: as TransactionalWriter; some transactions may have been written.
        """
        if not rows:
            return
        with contextlib.closing(differences.writer(self._admin, transactional_id)) as writer:
            differences.write(writer, self._topic.topic, differences.changes(rows, {}))


class StateErasure:
    """Keys in the state of a query's last sub-topology.

    Args:
        queries: the server's queries.
        query: which.
        keys: packed.
    """

    def __init__(self, queries: QueryManager, query: ManagedQuery, keys: Collection[bytes]) -> None:
        self._queries, self._query, self._keys = queries, query, frozenset(keys)
        self._checkpoint = queries.checkpoints.of(query, len(query.plan.stages) - 1)

    def settle(self, done: CatchingUp) -> None:
        """Make the checkpoint and the topic agree; the query must be stopped.

        Args:
            done: the records that it has committed: none of them brings a key back.

        Raises:
            KsqlError: QUERY_ELSEWHERE if another server has it now; as CatchingUp.check, exactly_once.settle.
        """
        if not self._queries.is_here(self._query):
            host = self._queries.state_of(self._query)[1]
            raise KsqlError("QUERY_ELSEWHERE", id=self._query.id, host=host)
        done.check()
        # a batch whose transaction is committed may be missing in the checkpoint, if the query has failed
        exactly_once.settle(self._queries.environment.admin, self._query.plan.last, self._checkpoint)

    def note(self) -> None:
        """Make the query's next batch remove them; the query must be settled.

        Raises:
            KsqlError: CHECKPOINT_DAMAGED.
        """
        self._checkpoint.forget(self._keys)

    def is_done(self) -> bool:
        """Wait for that batch, for a while; whether it is committed.

        Raises:
            KsqlError: CHECKPOINT_DAMAGED.
        """
        query = self._query
        is_realtime = query.plan.last.mode == REALTIME
        ends_s = time.monotonic() + (_TIMEOUT_S if is_realtime else _MICROBATCH_TIMEOUT_S)
        while True:
            with query.control:  # another FORGET may be about to note other keys
                waiting = self._checkpoint.forgotten()
                if waiting is None or self._keys.isdisjoint(waiting.keys):
                    return True
                if time.monotonic() > ends_s or not query.spark:
                    return False
                if is_realtime:
                    query.spark[-1].end_batch()
            time.sleep(_ASK_EVERY_S)


__all__ = ["StateErasure", "TopicErasure"]
