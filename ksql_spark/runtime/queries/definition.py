"""The definition of a KSQL query: everything that does not change while it runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ksql_spark.logical.nodes import PersistentQuery, PushQuery
from ksql_spark.physical.steps import PhysicalPlan

#: the prefix of push queries' ids
TRANSIENT_PREFIX = "transient_"


@dataclass(frozen=True)
class QueryDefinition:
    """A query's definition. ManagedQuery is how it runs.

    Args:
        id: KSQL's query id.
        statement: the statement's text.
        plan: the physical plan.
        starts: topic -> {partition: offset} where reading begins without a checkpoint.
        properties: the statement's property overrides.
        sink_partitions: number of partitions of the sink's topic.
        creates_sink: whether the sink is dropped together with this query.
        is_transient: whether it is a push query.
        logical: the logical plan, for EXPLAIN and CREATE OR REPLACE.
    """

    id: str
    statement: str
    plan: PhysicalPlan
    starts: Mapping[str, Mapping[str, int]]
    properties: Mapping[str, Any]
    sink_partitions: int
    creates_sink: bool = False
    is_transient: bool = False
    logical: PersistentQuery | PushQuery | None = None


__all__ = ["TRANSIENT_PREFIX", "QueryDefinition"]
