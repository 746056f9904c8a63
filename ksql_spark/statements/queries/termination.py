"""Termination: TERMINATE and DROP end queries for good, with their state.

This happens once the command is in the log. If the server is killed meanwhile, its next start cleans up.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from ksql_spark.errors import KsqlError
from ksql_spark.runtime.cleanup import Orphans
from ksql_spark.runtime.queries.managed import ManagedQuery
from ksql_spark.runtime.queries.manager import QueryManager

log = logging.getLogger(__name__)


class Termination:
    """The termination of queries.

    Args:
        queries: the manager that runs them.
        which: returns the queries to end, at the time of the call.
    """

    def __init__(self, queries: QueryManager, which: Callable[[], list[ManagedQuery]]) -> None:
        self._queries = queries
        self._which = which

    def apply(self) -> None:
        """Drop the queries, with their state and internal topics; on replay, they no longer exist."""
        for query in self._which():
            if self._queries.is_replaying:
                self._queries.kill(query.id)
                continue
            try:
                self._queries.drop(query)
            except KsqlError as error:  # it has ended anyway
                log.warning("could not clean up query %s: %s", query.id, error.message)

    def orphans(self) -> Orphans:
        """The state, internal topics and transactions of the queries."""
        queries = self._which()
        topics = (topic for query in queries for topic in query.own_topics)
        transactions = (name for query in queries for name in query.plan.transactional_ids)
        return Orphans(tuple(topics), tuple(query.id for query in queries), tuple(transactions))
