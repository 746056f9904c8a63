"""What a query of KSQL is: all of it that does not change while it runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ksql_spark.logical.nodes import PersistentQuery, PushQuery
from ksql_spark.physical.steps import PhysicalPlan

#: ids of push queries begin like this
TRANSIENT_PREFIX = "transient_"


@dataclass(frozen=True)
class QueryDefinition:
    """What a query is. How it runs is in ManagedQuery.

    Args:
        id: KSQL's query id.
        statement: the statement's text.
        plan: the physical plan.
        starts: topic -> {partition: offset} where reading begins without a checkpoint.
        properties: the statement's property overrides.
        sink_partitions: number of partitions of the sink's topic.
        creates_sink: the sink is dropped together with this query.
        is_transient: it is a push query.
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
