"""The queries of a server, by id and by what they write."""

from __future__ import annotations

import threading

from ksql_spark.runtime.queries.evolution import Backfill
from ksql_spark.runtime.queries.managed import ManagedQuery
from ksql_spark.runtime.queries.states import Event, State


class QueryRegistry:
    """All queries of a server. Thread-safe."""

    def __init__(self) -> None:
        self._queries: dict[str, ManagedQuery] = {}
        #: stream or table -> the queries that write it; lookups read it without the lock
        self._writers: dict[str, tuple[ManagedQuery, ...]] = {}
        self._lock = threading.RLock()

    def find(self, query_id: str) -> ManagedQuery | None:
        """The query with this id, or None."""
        with self._lock:
            query = self._queries.get(query_id)
            return query if query is not None and query.is_listed else None

    def all(self) -> list[ManagedQuery]:
        """All queries, sorted by id."""
        return [query for query in self.managed() if query.is_listed]

    def managed(self) -> list[ManagedQuery]:
        """All queries, including queries that only run for push queries that share them."""
        with self._lock:
            return [self._queries[i] for i in sorted(self._queries)]

    def runs(self) -> frozenset[tuple[str, float, State]]:
        """The runs of queries: id, last start and state, which change with each run."""
        return frozenset((q.id, q.retries.started_at, q.state) for q in self.managed())

    def has(self, query: ManagedQuery) -> bool:
        """Whether the manager still has a query."""
        with self._lock:
            return self._queries.get(query.id) is query

    def knows(self, query_id: str) -> bool:
        """Whether a query with this id exists, here or on another server."""
        return query_id in self._queries

    def stopped_writers(self, source: str) -> tuple[str, ...]:
        """The ids of the queries that write a stream or table and are not running."""
        # without the lock, because each lookup asks
        return tuple([q.id for q in self._writers.get(source, ()) if q.state is not State.RUNNING])

    def _beside(self, query: ManagedQuery) -> str | None:
        """The id of the query beside which a new version runs until it takes over; None if there is none."""
        evolution = query.evolution
        if not isinstance(evolution, Backfill):
            return None
        with self._lock:
            writers = self._writers.get(evolution.table, ())
        return next((writer.id for writer in writers if writer.creates_sink), None)

    def add(self, query: ManagedQuery) -> None:
        """Add a push query that runs without Spark, so that it is listed and TERMINATE ends it."""
        query.lifecycle.apply(Event.START)
        with self._lock:
            self._queries[query.id] = query

    def share(self, query: ManagedQuery, runner: ManagedQuery) -> bool:
        """Let a push query share the Spark query of ``runner``; False if that one fails or ends."""
        with self._lock:
            if not self.has(runner) or not runner.clients or runner.errors:
                return False
            query.shares, query.errors = runner, runner.errors
            query.lifecycle.apply(Event.START)
            runner.clients.add(query.id)
            self._queries[query.id] = query
            return True

    def _let_go(self, query: ManagedQuery) -> ManagedQuery | None:
        """Remove a client from its shared query; returns the query to end, None if others still need it."""
        runner = query.runner
        with self._lock:
            if not query.is_transient or (query is runner and not query.clients):
                return query
            query.is_listed = False
            runner.clients.discard(query.id)
            if query is not runner and self.has(query):
                del self._queries[query.id]
                query.lifecycle.apply(Event.END)
            return None if runner.clients else runner

    def _list(self, query: ManagedQuery) -> None:
        """Add a query to the manager, perhaps in place of another one with its id."""
        with self._lock:
            before = self._queries.get(query.id)
            if before is not None:
                self._unlist_writer(before)
            self._queries[query.id] = query
            self._writers[query.plan.sink.name] = (*self._other_writers(query), query)

    def _unlist_writer(self, query: ManagedQuery) -> None:
        if others := self._other_writers(query):
            self._writers[query.plan.sink.name] = others
        else:
            self._writers.pop(query.plan.sink.name, None)

    def _other_writers(self, query: ManagedQuery) -> tuple[ManagedQuery, ...]:
        """The other queries that write what ``query`` writes."""
        return tuple(q for q in self._writers.get(query.plan.sink.name, ()) if q.id != query.id)

    def _take_out(self, query: ManagedQuery) -> bool:
        """Remove a query, which has ended; returns whether it was there."""
        with self._lock:
            if self._queries.get(query.id) is not query:
                return False
            del self._queries[query.id]
            self._unlist_writer(query)
            query.lifecycle.apply(Event.END)
            return True

    def _take_out_all(self) -> list[ManagedQuery]:
        """Remove all queries, whose states stay, and return them."""
        with self._lock:
            queries = list(self._queries.values())
            self._queries.clear()
            self._writers.clear()
            return queries


__all__ = ["QueryRegistry"]
