"""The end of queries for good, as TERMINATE and DROP mean it, so that a crash leaves nothing half done.

They stop when the statement is carried out, but lose their state once it is in the command log: killed in
between, the server knows them still and they go on where they were.
"""

from __future__ import annotations

from collections.abc import Callable

from ksql_spark.runtime.pending import Remains
from ksql_spark.runtime.queries import QueryManager, RunningQuery, internal_topics


class Ending:
    """The end of queries.

    Args:
        queries: that know them.
        which: gives them, when it is asked.
    """

    def __init__(self, queries: QueryManager, which: Callable[[], list[RunningQuery]]) -> None:
        self._queries = queries
        self._which = which
        self._taken: list[RunningQuery] = []

    def apply(self) -> None:
        """Stop them; also on replay."""
        for query in self._which():
            self._queries.take(query.id)
            self._taken.append(query)

    def after(self) -> None:
        """Remove what they keep."""
        for query in self._taken:
            self._queries.forget(query)

    def undo(self) -> None:
        """Let them go on."""
        for query in self._taken:
            self._queries.put_back(query)

    def remains(self) -> Remains:
        """What they keep."""
        queries = self._which()
        topics = [topic for query in queries for topic in internal_topics(query.plan)]
        return Remains(tuple(topics), tuple(query.id for query in queries))
