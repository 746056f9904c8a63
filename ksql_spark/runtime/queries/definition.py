"""The definition of a KSQL query: everything that does not change while it runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ksql_spark.plan.queries import PersistentQuery
from ksql_spark.plan.stages import Plan
from ksql_spark.runtime.queries.evolution import Evolution, WarmUp

#: the prefix of push queries' ids
TRANSIENT_PREFIX = "transient_"


@dataclass(frozen=True)
class QueryDefinition:
    """A query's definition. ManagedQuery is how it runs.

    Args:
        id: KSQL's query id.
        statement: the statement's text.
        plan: how it runs.
        starts: topic -> {partition: offset} where reading begins without a checkpoint; a WarmUp writes
            nothing of what comes before ``begins``.
        properties: the statement's property overrides.
        sink_partitions: number of partitions of the sink's topic.
        creates_sink: whether the sink is dropped together with this query.
        is_transient: whether it is a push query.
        is_continued: whether it goes on where an earlier push query of its client has stopped.
        logical: what was bound, for CREATE OR REPLACE, or None if it is a push query.
        evolution: how it follows the version before, or None if there was none, or it goes on with its state.
    """

    id: str
    statement: str
    plan: Plan
    starts: Mapping[str, Mapping[str, int]]
    properties: Mapping[str, Any]
    sink_partitions: int
    creates_sink: bool = False
    is_transient: bool = False
    is_continued: bool = False
    logical: PersistentQuery | None = None
    evolution: Evolution | None = None

    @property
    def begins(self) -> Mapping[str, Mapping[str, int]]:
        """The offsets at which the query stands as long as no version of it has committed anything."""
        return self.evolution.began if isinstance(self.evolution, WarmUp) else self.starts


__all__ = ["TRANSIENT_PREFIX", "QueryDefinition"]
