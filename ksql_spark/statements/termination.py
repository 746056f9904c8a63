"""Termination: TERMINATE and DROP end queries for good, so that a crash leaves nothing half done.

Queries are killed when the statement is applied, and dropped with their state once it is in the command log.
If the server is killed in between, it still knows them at its next start and resumes them.
"""

from __future__ import annotations

from collections.abc import Callable

from ksql_spark.runtime.pending import Orphans
from ksql_spark.runtime.queries import ManagedQuery, QueryManager, internal_topics


class Termination:
    """The termination of queries.

    Args:
        queries: the manager that runs them.
        which: returns the queries to end, at the time of the call.
    """

    def __init__(self, queries: QueryManager, which: Callable[[], list[ManagedQuery]]) -> None:
        self._queries = queries
        self._which = which
        self._killed: list[ManagedQuery] = []

    def apply(self) -> None:
        """Kill the queries; also on replay."""
        for query in self._which():
            self._queries.kill(query.id)
            self._killed.append(query)

    def after(self) -> None:
        """Drop the killed queries, with their state and internal topics."""
        for query in self._killed:
            self._queries.drop(query)

    def undo(self) -> None:
        """Continue the killed queries."""
        for query in self._killed:
            self._queries.restore(query)

    def orphans(self) -> Orphans:
        """The state, internal topics and transactions of the queries."""
        queries = self._which()
        topics = [topic for query in queries for topic in internal_topics(query.plan)]
        transactions = (name for query in queries for name in query.plan.transactional_ids)
        return Orphans(tuple(topics), tuple(query.id for query in queries), tuple(transactions))
