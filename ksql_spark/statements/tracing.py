"""EXPLAIN ROW and EXPLAIN MISSING ROW: the records that made a row, or that were dropped (beyond ksqlDB).

Nothing is kept for it while queries run: it reads the topic again, through the plan of the query.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ksql_spark import analyzer
from ksql_spark.analyzer.tracing import Trace
from ksql_spark.entities import Entity
from ksql_spark.entities.tracing import DroppedRecords, RowExplanation, SourceRecord
from ksql_spark.errors import KsqlError
from ksql_spark.expressions import ColumnRef
from ksql_spark.grammar.statements.describe import ExplainRow
from ksql_spark.kafka.consumer import read_at
from ksql_spark.logical.nodes import PersistentQuery
from ksql_spark.runtime.queries.managed import ManagedQuery
from ksql_spark.runtime.reading.results import api_value
from ksql_spark.schema import ROWTIME, Role
from ksql_spark.security.authorization import Role as UserRole
from ksql_spark.security.authorization import check_source
from ksql_spark.spark import tracing
from ksql_spark.spark.evaluate import evaluate_rows
from ksql_spark.spark.tracing import BEFORE_START, USED, Found, Place
from ksql_spark.statements.context import Action, Immediate, StatementContext
from ksql_spark.types import BIGINT

#: how many of the first, and of the last records are told
MOST = 100


def explain_row(statement: ExplainRow, context: StatementContext) -> Action:
    """Which records of its query's topic made a row, or where they were dropped."""
    query, bound = _writer(statement.name, context)
    for source in sorted(query.plan.sources, key=lambda source: source.name):
        check_source(context.rights, UserRole.READER, source.name)
    trace = analyzer.bind_trace(bound, statement.where, context.metastore)
    return Immediate(lambda: _explained(statement, query, trace, context), waits=True)


def _writer(name: str, context: StatementContext) -> tuple[ManagedQuery, PersistentQuery]:
    """The query that writes a stream or table.

    Raises:
        KsqlError: SOURCE_UNKNOWN; INVALID_STATEMENT if none does, or several do.
    """
    context.metastore.require(name)
    writers = [q for q in context.services.queries.all() if not q.is_transient and q.plan.sink.name == name]
    if not writers:
        reason = f"No query writes {name}: its rows are the records of its topic."
        raise KsqlError("INVALID_STATEMENT", reason=reason)
    if len(writers) > 1:
        ids = ", ".join(query.id for query in writers)
        reason = f"EXPLAIN ROW does not support results of several queries yet: {ids} write {name}."
        raise KsqlError("INVALID_STATEMENT", reason=reason)
    bound = writers[0].logical
    if not isinstance(bound, PersistentQuery):
        reason = f"An earlier release has created {writers[0].id}, and not kept its logical plan."
        raise KsqlError("INVALID_STATEMENT", reason=reason)
    return writers[0], bound


def _explained(statement: ExplainRow, query: ManagedQuery, trace: Trace, context: StatementContext) -> Entity:
    services, topic = context.services, trace.relation.source.topic
    ends = {partition: end for (_, partition), end in services.admin.end_offsets(topic).items()}
    found = tracing.find(
        services.spark.session(),
        services.client_settings("consumer", context.properties),
        trace,
        {int(partition): start for partition, start in query.starts.get(topic, {}).items()},
        ends,
        context.config.__getitem__,
        used=not statement.missing,
        most=MOST,
    )
    dropped = {number: _reason(number, trace) for number in sorted(found.counts) if number != USED}
    return RowExplanation(
        statement_text=statement.source_text,
        name=statement.name,
        query_id=query.id,
        topic=topic,
        is_missing=bool(statement.missing),
        used=found.counts.get(USED, 0),
        dropped=tuple(
            DroppedRecords(reason=reason, count=found.counts[number]) for number, reason in dropped.items()
        ),
        records=tuple(_records(_places(found), trace, context)),
        notes=tuple(_notes(statement, query, trace, found, context)),
    )


def _places(found: Found) -> list[Place]:
    return list(dict.fromkeys([*found.first, *found.last]))


def _reason(number: int, trace: Trace) -> str:
    if number == BEFORE_START:
        return "it was there before the query began to read"
    return f"WHERE {trace.filters[number - 1]} is not true"


def _records(places: Sequence[Place], trace: Trace, context: StatementContext) -> list[SourceRecord]:
    columns = _columns(places, trace, context)
    return [
        SourceRecord(
            topic=trace.relation.source.topic,
            partition=place.partition,
            offset=place.offset,
            timestamp=place.time_ms,
            reason=None if place.step == USED else _reason(place.step, trace),
            columns=columns.get(i),
        )
        for i, place in enumerate(places)
    ]


def _columns(places: Sequence[Place], trace: Trace, context: StatementContext) -> dict[int, dict[str, Any]]:
    """Number of the place -> the columns of the record that is there now."""
    source, admin = trace.relation.source, context.services.admin
    offsets: dict[int, list[int]] = {}
    for place in places:
        offsets.setdefault(place.partition, []).append(place.offset)
    numbers = {(place.partition, place.offset): i for i, place in enumerate(places)}
    found = read_at(admin.servers, source.topic, {p: sorted(o) for p, o in offsets.items()}, admin.settings)
    # the number travels in place of the event time
    rows = [(r.key or b"", r.value or b"", numbers[r.partition, r.offset], None, None) for r in found]
    columns = [c for c in source.schema.columns if c.role is not Role.HEADERS]
    wanted = [ColumnRef(ROWTIME, BIGINT), *(ColumnRef(c.name, c.type) for c in columns)]
    return {
        row[0]: {c.name: api_value(v, c.type) for c, v in zip(columns, row[1:], strict=True)}
        for row in evaluate_rows(context.services.spark.session(), source, rows, wanted, None)
    }


def _notes(
    statement: ExplainRow, query: ManagedQuery, trace: Trace, found: Found, context: StatementContext
) -> list[str]:
    notes = []
    topic, used = trace.relation.source.topic, found.counts.get(USED, 0)
    removed = sum(context.services.admin.beginning_offsets(topic).values())
    if removed:
        notes.append(f"{removed:,} older records of topic {topic} are gone, and are not counted.")
    if trace.is_windowed:
        notes.append("Records that came too late for their window are counted like the others.")
    if not statement.missing:
        return notes
    belong = "1 record belongs to it" if used == 1 else f"{used:,} records belong to it"
    if used and trace.having is not None:
        notes.append(f"{belong}: HAVING {trace.having} is not true of the result.")
    elif used:
        notes.append(f"{belong}: the query has written it, or will once it has read all.")
    if not found.counts:
        notes.append(f"No record of topic {topic} belongs to the row.")
    unreadable = context.services.queries.counts(query.id).unreadable
    if unreadable:
        errors = f"SELECT * FROM ERRORS OF {query.id};"
        notes.append(f"{unreadable:,} records could not be decoded since the server started: {errors}")
    return notes
