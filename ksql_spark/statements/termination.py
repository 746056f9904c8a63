"""The end of queries for good, as TERMINATE and DROP mean it, so that a crash leaves nothing half done.

They are killed when the statement is carried out, and dropped with their state once it is in the command log.
Where the server is killed in between, it still knows them at its next start, and they go on where they were.
"""

from __future__ import annotations

from collections.abc import Callable

from ksql_spark.runtime.pending import Orphans
from ksql_spark.runtime.queries import ManagedQuery, QueryManager, internal_topics


class Termination:
    """The end of queries.

    Args:
        queries: that know them.
        which: gives them, when it is asked.
    """

    def __init__(self, queries: QueryManager, which: Callable[[], list[ManagedQuery]]) -> None:
        self._queries = queries
        self._which = which
        self._killed: list[ManagedQuery] = []

    def apply(self) -> None:
        """Kill them; also on replay."""
        for query in self._which():
            self._queries.kill(query.id)
            self._killed.append(query)

    def after(self) -> None:
        """Drop them with what they keep."""
        for query in self._killed:
            self._queries.drop(query)

    def undo(self) -> None:
        """Let them go on."""
        for query in self._killed:
            self._queries.restore(query)

    def orphans(self) -> Orphans:
        """What they keep."""
        queries = self._which()
        topics = [topic for query in queries for topic in internal_topics(query.plan)]
        return Orphans(tuple(topics), tuple(query.id for query in queries))
