"""Waits until a query has committed all records that were above it when a statement came (ADR 85)."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping

from ksql_spark import deadline
from ksql_spark.errors import KsqlError
from ksql_spark.plan.stages import REALTIME, Stage
from ksql_spark.runtime.queries.managed import ManagedQuery
from ksql_spark.runtime.queries.manager import QueryManager
from ksql_spark.runtime.queries.states import State

#: topic and partition -> offset
Ends = Mapping[tuple[str, int], int]

_ASK_EVERY_S = 0.2
#: how often a batch in real time is ended, so that a checkpoint is written
_END_EVERY_S = 1.0


class CatchingUp:
    """The records that a query, and those that write its topics, must have committed. Not thread-safe.

    Once they are, no restart processes one of them again, and none of them is still to come.

    Args:
        queries: the server's queries.
        query: the query.
        is_visible: whether a user may know of another query.
    """

    def __init__(
        self, queries: QueryManager, query: ManagedQuery, is_visible: Callable[[ManagedQuery], bool]
    ) -> None:
        self._queries, self._query, self._is_visible = queries, query, is_visible
        self._admin = queries.environment.admin
        #: a query, the number of a stage, and the ends of the partitions of its topics that have records
        self._ends: list[tuple[ManagedQuery, int, Ends]] = []

    def wait(self) -> None:
        """Wait until they are committed, at most until the statement's deadline.

        Raises:
            KsqlError: QUERY_REPEATS if that cannot be, or not in time; QUERY_UNKNOWN if one was dropped or
                replaced meanwhile; STATEMENT_CANCELLED, STOPPED; CHECKPOINT_DAMAGED; as KafkaAdmin.
        """
        for query in self._upstream_first():
            for number, stage in enumerate(query.plan.stages):
                # what the stages before it have made of older records is there now
                ends = self._ends_of(stage)
                self._ends.append((query, number, ends))
                self._wait_for(query, number, ends)

    def check(self) -> None:
        """Make sure that they still are.

        Raises:
            KsqlError: QUERY_REPEATS if a checkpoint was removed meanwhile; QUERY_UNKNOWN, CHECKPOINT_DAMAGED.
        """
        for query, number, ends in self._ends:
            if left := self._left(query, number, ends):
                raise self._refused(query, left)

    def _upstream_first(self) -> Iterator[ManagedQuery]:
        writers = [query for query in self._queries.all() if not query.is_transient]
        seen: set[str] = set()

        def visit(query: ManagedQuery) -> Iterator[ManagedQuery]:
            if query.id in seen:
                return
            seen.add(query.id)
            topics = self._admin.expanded(source.topic for source in query.plan.sources)
            for writer in writers:
                if writer.plan.sink.topic in topics:
                    yield from visit(writer)
            yield query

        return visit(self._query)

    def _ends_of(self, stage: Stage) -> Ends:
        there = self._admin.topics()
        topics = [topic for topic in self._admin.expanded(stage.topics) if topic in there]
        begins = self._admin.beginning_offsets(*topics)
        ends = self._admin.committed_ends(*topics)
        return {place: end for place, end in ends.items() if begins.get(place, 0) < end}

    def _wait_for(self, query: ManagedQuery, number: int, ends: Ends) -> None:
        end_at_s = time.monotonic()
        while True:
            with query.control:  # while it stops, it is about to write a checkpoint
                left = self._left(query, number, ends)
                is_stopped = query.state is State.PAUSED or query.is_halted
            if not left:
                return
            if is_stopped:
                raise self._refused(query, left)
            try:
                deadline.check()
            except KsqlError as error:
                if error.condition == "STATEMENT_TIMEOUT":
                    raise self._refused(query, left) from None
                raise
            if query.plan.stages[number].mode == REALTIME and time.monotonic() >= end_at_s:
                with contextlib.suppress(Exception):  # it may be ending, or Spark with it
                    for run in query.spark[number : number + 1]:
                        run.end_batch()
                end_at_s = time.monotonic() + _END_EVERY_S
            time.sleep(_ASK_EVERY_S)

    def _left(self, query: ManagedQuery, number: int, ends: Ends) -> int:
        """How many records a stage has not committed."""
        if not self._queries.has(query):
            raise KsqlError("QUERY_UNKNOWN", id=query.id, hint="It was dropped or replaced meanwhile.")
        reached = self._queries.checkpoints.position(query, number)
        return sum(max(0, end - reached.get(topic, {}).get(str(p), 0)) for (topic, p), end in ends.items())

    def _refused(self, query: ManagedQuery, left: int) -> KsqlError:
        is_named = query.id == self._query.id or self._is_visible(query)
        id_ = query.id
        match query.state:
            case State.PAUSED:
                reason, hint = "it is paused", f"RESUME {id_}; first."
            case State.ERROR:
                reason, hint = "it has failed", f"EXPLAIN {id_}; says why."
            case _:
                reason = f"{left:,} {'is' if left == 1 else 'are'} left (ksql.statement.timeout.ms)"
                hint = "Send the statement again later: SHOW QUERIES EXTENDED; says how far the query is."
        return KsqlError(
            "QUERY_REPEATS",
            query=f"Query {id_}" if is_named else f"A query before {self._query.id}",
            reason=reason,
            hint=hint if is_named else None,
        )


__all__ = ["CatchingUp"]
