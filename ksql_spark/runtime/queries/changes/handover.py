"""Hands over queries between the servers that share them (runtime.cluster.placement decides which)."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from ksql_spark.runtime.queries.managed import ManagedQuery
from ksql_spark.runtime.queries.manager import QueryManager
from ksql_spark.runtime.queries.states import State

log = logging.getLogger(__name__)


class Handover:
    """Starts and stops queries as they come to this server and go.

    Args:
        manager: of the queries.
    """

    def __init__(self, manager: QueryManager) -> None:
        self._manager = manager

    def take(self, owns: Callable[[str], bool]) -> None:
        """Start the waiting queries that, according to ``owns``, belong to this server."""

        def start(query: ManagedQuery) -> None:
            with query.control:
                waits = query.state in (State.ELSEWHERE, State.REGISTERED) and not query.spark
                if waits and owns(query.id) and self._manager.find(query.id) is query:
                    log.info("query %s now runs here", query.id)
                    self._manager.start_or_fail(query)

        if not self._manager.is_replaying:
            with ThreadPoolExecutor(max_workers=4, thread_name_prefix="query-take") as pool:
                list(pool.map(start, [query for query in self._manager.all() if not query.is_transient]))

    def stop_unowned(self, owns: Callable[[str], bool], *, at_once: bool) -> None:
        """Stop the queries that this server does not own.

        Args:
            owns: whether this server owns the query with an id.
            at_once: end them in the middle of a batch, because another server may already run them.
        """

        gone = [query for query in self._manager.all() if not query.is_transient and not owns(query.id)]
        with ThreadPoolExecutor(max_workers=8, thread_name_prefix="query-give") as pool:
            list(pool.map(partial(self._manager.leave, at_once=at_once), gone))

    def not_running(self, owns: Callable[[str], bool]) -> dict[str, str]:
        """Id -> state of the queries in ``owns`` that are not simply running."""
        mine = [query for query in self._manager.all() if not query.is_transient and owns(query.id)]
        return {query.id: query.state for query in mine if query.state is not State.RUNNING}

    def records(self) -> dict[str, int]:
        """Id -> the number of records that a running persistent query has read and written since Spark
        started.
        """
        traffic = self._manager.figures.traffic()
        return {
            query.id: sum(volume.records for side in traffic[query.id][:2] for volume in side.values())
            if query.id in traffic
            else 0
            for query in self._manager.all()
            if not query.is_transient and query.state is State.RUNNING
        }


__all__ = ["Handover"]
