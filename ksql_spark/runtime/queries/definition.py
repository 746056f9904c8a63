"""The definition of a KSQL query: everything that does not change while it runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ksql_spark.analyzer.definitions.properties import Check
from ksql_spark.plan.queries import PersistentQuery
from ksql_spark.plan.stages import Plan

#: the prefix of push queries' ids
TRANSIENT_PREFIX = "transient_"


@dataclass(frozen=True)
class Evolution:
    """A query that is the new version of a stream or table.

    Args:
        table: its name.
        topic: where the new version writes until the swap; empty if it took over at once.
        is_manual: whether it waits for SWAP.
        is_swapped: whether SWAP has happened: before its next start, what differs is written to the table's
            topic.
        predecessors: transactional ids of the old version, which must not write any more; the last one is
            that of its sink.
        anew: how many versions of the query, this one included, have begun without state where the one before
            ended.
        is_warmed: whether such a version first reads what the versions before it have read, without writing.
        verify: what must hold of both versions' rows before the swap.
        moved_from: the topic that the query wrote before it moved to the table's present one: before its next
            start, what differs is written there. The old topic stays. Empty if it did not move.
        began: where a version that begins without state begins if the one before it has committed nothing:
            where that one did. A topic that only the new version reads begins as the command says.
    """

    table: str
    topic: str
    is_manual: bool
    is_swapped: bool = False
    predecessors: tuple[str, ...] = ()
    anew: int = 0
    verify: tuple[Check, ...] = ()
    is_warmed: bool = False
    moved_from: str = ""
    began: Mapping[str, Mapping[str, int]] = field(default_factory=dict)

    @property
    def source(self) -> str:
        """The topic with the rows that the table's topic gets before the next start; empty: there is none."""
        return self.topic or self.moved_from


@dataclass(frozen=True)
class QueryDefinition:
    """A query's definition. ManagedQuery is how it runs.

    Args:
        id: KSQL's query id.
        statement: the statement's text.
        plan: how it runs.
        starts: topic -> {partition: offset} where reading begins without a checkpoint; a version that is
            warmed up writes nothing of what comes before ``begins``.
        properties: the statement's property overrides.
        sink_partitions: number of partitions of the sink's topic.
        creates_sink: whether the sink is dropped together with this query.
        is_transient: whether it is a push query.
        logical: what was bound, for CREATE OR REPLACE; None: it is a push query.
        evolution: if it is, or was, a table's new version.
    """

    id: str
    statement: str
    plan: Plan
    starts: Mapping[str, Mapping[str, int]]
    properties: Mapping[str, Any]
    sink_partitions: int
    creates_sink: bool = False
    is_transient: bool = False
    logical: PersistentQuery | None = None
    evolution: Evolution | None = None

    @property
    def begins(self) -> Mapping[str, Mapping[str, int]]:
        """The offsets at which the query stands as long as no version of it has committed anything."""
        is_warmed = self.evolution is not None and self.evolution.is_warmed
        return self.evolution.began if self.evolution is not None and is_warmed else self.starts


__all__ = ["TRANSIENT_PREFIX", "Evolution", "QueryDefinition"]
