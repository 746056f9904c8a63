"""DESCRIBE EVOLUTION: the progress of a new version, and what it changes (beyond ksqlDB, ADR 54)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ksql_spark.entities import Entity
from ksql_spark.entities.versions import EvolutionDescription, EvolutionSample
from ksql_spark.errors import KsqlError
from ksql_spark.grammar.statements.versions import DescribeEvolution
from ksql_spark.metastore.sources import DataSource
from ksql_spark.plan.queries import PersistentQuery
from ksql_spark.runtime.queries import differences
from ksql_spark.runtime.queries.changes import verification
from ksql_spark.runtime.queries.checkpoints import Offsets
from ksql_spark.runtime.queries.differences import Differences
from ksql_spark.runtime.queries.evolution import Backfill, Swap
from ksql_spark.runtime.queries.managed import ManagedQuery
from ksql_spark.runtime.queries.states import State
from ksql_spark.runtime.reading.results import api_value
from ksql_spark.statements.base.context import Action, Immediate, Services, StatementContext, evolves
from ksql_spark.statements.base.handlers import handles
from ksql_spark.statements.definitions.new_versions import check_evolution
from ksql_spark.statements.definitions.swaps import compared, progress
from ksql_spark.types import BIGINT

#: states of an evolution
BACKFILLING, CAUGHT_UP, VERIFIED, SWAPPING, WARMING_UP, SWAPPED, FAILED, ABORTED = (
    "backfilling", "caught up", "verified", "swapping", "warming up", "swapped", "failed", "aborted",
)  # fmt: skip


@handles
def describe_evolution(statement: DescribeEvolution, context: StatementContext) -> Action:
    """Describe the progress of a table's new version, and what it changes."""
    name, services = statement.name, context.services
    table = context.metastore.require(name)

    def run() -> Entity:
        there = services.queries.all()
        query = next((q for q in there if evolves(q) == name), None)
        aborted = services.versions.aborted(name)
        if query is None and aborted is not None:
            return EvolutionDescription(
                statement_text=statement.source_text,
                name=name,
                state=ABORTED,
                reason=None,
                query_id=aborted.query_id or "",
                topic=table.topic,
                is_manual=False,
                records_left=None,
                keys_changed=None,
                keys_removed=None,
                timestamp=aborted.written_ms,
                user=aborted.user,
            )
        if query is None:
            swapped = (q for q in there if q.evolution is not None and q.plan.sink.name == name)
            query = next(swapped, None)
        if query is None:
            raise KsqlError("INVALID_STATEMENT", reason=f"{name} has not evolved.", name=name)
        described = _described(statement.source_text, query, table, services)
        if described.reason is None and isinstance(query.evolution, Backfill):
            return replace(described, reason=_refusal(query, context))
        return described

    return Immediate(run, waits=True)


def _refusal(query: ManagedQuery, context: StatementContext) -> str | None:
    """Return why SWAP would be refused on any server, because of queries that read the table; else None."""
    assert isinstance(query.logical, PersistentQuery)
    try:
        check_evolution(query.logical, context)
    except KsqlError as error:
        return error.message
    return None


def _described(text: str, query: ManagedQuery, table: DataSource, services: Services) -> EvolutionDescription:
    evolution, takeovers = query.evolution, services.queries.takeovers
    records_left: int | None = None
    reason: str | None = None
    changes: Differences | None = None
    rows: verification.Comparison | None = None
    now, host = services.queries.state_of(query)
    until = takeovers.until(query)
    if until is not None:
        state, records_left = (
            WARMING_UP,
            _count_unread(services.queries.checkpoints.committed_offsets(query), until),
        )
    elif isinstance(evolution, Backfill):
        done = progress(query, services)
        records_left, reason = done.unread, query.swap_refusal
        state = CAUGHT_UP if done.has_caught_up else BACKFILLING
        if state == CAUGHT_UP and now == State.RUNNING:
            both = [differences.rows(services.admin, topic) for topic in (table.topic, evolution.topic)]
            rows = compared(query, evolution, table, both, services)
            changes = rows.differences
            failures = rows.failures(evolution.verify)
            state = VERIFIED if evolution.verify and not failures else CAUGHT_UP
            reason = "; ".join(failures) or reason
    else:
        state = SWAPPED if takeovers.is_done(query) else SWAPPING
        changes = takeovers.changes(query)
    if now == State.ERROR and state != SWAPPED:
        state = FAILED
        reason = query.why_failed if host is None else f"{query.id} has failed on {host}, which knows why."
    beside = evolution if isinstance(evolution, Backfill | Swap) else None
    return EvolutionDescription(
        statement_text=text,
        name=table.name,
        state=state,
        reason=reason,
        query_id=query.id,
        topic=beside.topic if beside is not None else table.topic,
        is_manual=beside is not None and beside.is_manual,
        records_left=records_left,
        keys_changed=None if changes is None else changes.changed,
        keys_removed=None if changes is None else changes.removed,
        rows=None if rows is None else rows.rows,
        columns_changed={} if rows is None else rows.columns,
        samples=() if rows is None else samples_of(rows, table, query.plan.sink),
    )


def samples_of(
    comparison: verification.Comparison, old: DataSource, new: DataSource
) -> tuple[EvolutionSample, ...]:
    """The first rows that differ as answers show them; ``old``, ``new``: the table's versions."""
    return tuple(
        EvolutionSample(key=_shown(sample.key, old), old=_shown(sample.old, old), new=_shown(sample.new, new))
        for sample in comparison.samples
    )


def _count_unread(committed: Mapping[str, Mapping[int, int]], until: Offsets) -> int:
    """Count the records between two positions."""
    ends = [(topic, int(p), end) for topic, offsets in until.items() for p, end in offsets.items()]
    return sum(max(0, end - committed.get(topic, {}).get(p, 0)) for topic, p, end in ends)


def _shown(row: Mapping[str, Any] | None, table: DataSource) -> dict[str, Any] | None:
    """A row's columns as the REST API shows them."""
    if row is None:
        return None
    types = {column.name: column.type for column in table.schema.columns}
    return {name: api_value(value, types.get(name, BIGINT)) for name, value in row.items()}


__all__ = ["describe_evolution", "samples_of"]
