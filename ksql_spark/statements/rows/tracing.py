"""EXPLAIN ROW and EXPLAIN MISSING ROW: the records that made a row, or that were dropped (beyond ksqlDB).

Nothing is kept for it while queries run: it reads the topics again, through the plan of the query.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ksql_spark import analyzer
from ksql_spark.analyzer.rows.tracing import Trace
from ksql_spark.authorization import Role as UserRole
from ksql_spark.authorization import check_source
from ksql_spark.entities import Entity
from ksql_spark.entities.tracing import DroppedRecords, RowExplanation, SourceRecord
from ksql_spark.errors import KsqlError
from ksql_spark.expressions import ColumnRef
from ksql_spark.grammar.statements.describe import ExplainRow
from ksql_spark.kafka.consumer import read_at
from ksql_spark.metastore.sources import DataSource
from ksql_spark.plan.queries import PersistentQuery
from ksql_spark.plan.text import span_text
from ksql_spark.runtime.queries.managed import ManagedQuery
from ksql_spark.runtime.reading.results import api_value
from ksql_spark.runtime.versions import IN_PLACE, UNDROPPED
from ksql_spark.schema import ROWTIME
from ksql_spark.spark import tracing
from ksql_spark.spark.batch import evaluate_rows
from ksql_spark.spark.tracing import Place, TracedRecords
from ksql_spark.statements.base.context import Action, Immediate, StatementContext
from ksql_spark.types import BIGINT

#: how many of the first, and of the last records are listed
MOST = 100


def explain_row(statement: ExplainRow, context: StatementContext) -> Action:
    """Find the records of a query's topics that made a row, or where they were dropped."""
    query, bound = writer_of(statement.name, context, "EXPLAIN ROW")
    for source in sorted(query.plan.sources, key=lambda source: source.name):
        check_source(context.rights, UserRole.READER, source.name)
        if source.topic_pattern is not None:
            reason = f"EXPLAIN ROW needs records of one topic: {source.name} reads all of a pattern."
            hint = "CREATE STREAM … over one of the topics and the query over that, and ask for its rows."
            raise KsqlError("INVALID_STATEMENT", reason=reason, hint=hint)
    traces = analyzer.bind_traces(bound, statement.where, context.metastore, context.config)
    return Immediate(lambda: _explained(statement, query, traces, context), waits=True)


def writer_of(name: str, context: StatementContext, statement: str) -> tuple[ManagedQuery, PersistentQuery]:
    """The query that writes a stream or table, and what it was bound to.

    Args:
        name: of the stream or table.
        context: of the statement.
        statement: its words, for errors.

    Raises:
        KsqlError: SOURCE_UNKNOWN; INVALID_STATEMENT if none does, or several do.
    """
    context.metastore.require(name)
    writers = [q for q in context.services.queries.all() if not q.is_transient and q.plan.sink.name == name]
    if not writers:
        reason = f"No query writes {name}: its rows are the records of its topic."
        raise KsqlError("INVALID_STATEMENT", reason=reason, hint="PRINT shows them.")
    if len(writers) > 1:
        ids = ", ".join(query.id for query in writers)
        reason = f"{statement} does not support results of several queries yet: {ids} write {name}."
        hint = "CREATE STREAM … AS the SELECT of one of them, and ask for the rows of that."
        raise KsqlError("INVALID_STATEMENT", reason=reason, hint=hint)
    bound = writers[0].logical
    assert bound is not None  # writers are no push queries
    return writers[0], bound


def _explained(
    statement: ExplainRow, query: ManagedQuery, traces: Sequence[Trace], context: StatementContext
) -> Entity:
    inputs = [relation.source for trace in traces for relation in trace.inputs]
    topics = list(dict.fromkeys(source.topic for source in inputs))
    ends: dict[str, dict[int, int]] = {topic: {} for topic in topics}
    for (topic, partition), end in context.services.admin.end_offsets(*topics).items():
        ends[topic][partition] = end
    results = [_traced(trace, ends, statement, query, context) for trace in traces]
    dropped: dict[str, int] = {}
    for trace, each in zip(traces, results, strict=True):
        for number in sorted(n for n in each.counts if n is not None):
            reason = trace.steps[number]
            dropped[reason] = dropped.get(reason, 0) + each.counts[number]
    used = sum(each.counts.get(None, 0) for each in results)
    return RowExplanation(
        statement_text=statement.source_text,
        name=statement.name,
        query_id=query.id,
        topic=", ".join(topics),
        is_missing=bool(statement.missing),
        used=used,
        dropped=tuple(DroppedRecords(reason=reason, count=count) for reason, count in dropped.items()),
        records=tuple(
            record
            for trace, each in zip(traces, results, strict=True)
            for record in _records(list(dict.fromkeys([*each.first, *each.last])), trace, context)
        ),
        notes=tuple(_notes(statement, query, traces, ends, used, bool(used or dropped), context)),
    )


def _traced(
    trace: Trace,
    ends: Mapping[str, Mapping[int, int]],
    statement: ExplainRow,
    query: ManagedQuery,
    context: StatementContext,
) -> TracedRecords:
    topics = [relation.source.topic for relation in trace.inputs]
    starts = starts_of(statement.name, query, context)
    return tracing.find(
        context.services.spark.session(),
        context.services.client_settings("consumer", context.properties),
        trace,
        [{int(p): start for p, start in starts.get(topic, {}).items()} for topic in topics],
        [ends[topic] for topic in topics],
        context.config.__getitem__,
        used=not statement.missing,
        most=MOST,
    )


def starts_of(name: str, query: ManagedQuery, context: StatementContext) -> Mapping[str, Mapping[str, int]]:
    """Return where the query began to read; after UNDROP, before the DROP, as its rows remain."""
    versions = context.services.versions.of(name)
    if not versions or versions[-1].way != UNDROPPED:
        return query.starts
    return next((v.starts for v in reversed(versions) if v.way not in (UNDROPPED, IN_PLACE)), query.starts)


def _records(places: Sequence[Place], trace: Trace, context: StatementContext) -> list[SourceRecord]:
    columns: dict[Place, dict[str, Any]] = {}
    for number, relation in enumerate(trace.inputs):
        there = [place for place in places if place.input == number]
        columns |= _columns(there, relation.source, context) if there else {}
    return [
        SourceRecord(
            topic=trace.inputs[place.input].source.topic,
            partition=place.partition,
            offset=place.offset,
            timestamp=place.time_ms,
            reason=None if place.step is None else trace.steps[place.step],
            columns=columns.get(place),
        )
        for place in places
    ]


def _columns(
    places: Sequence[Place], source: DataSource, context: StatementContext
) -> dict[Place, dict[str, Any]]:
    """The columns of the records that are still there; of a deletion, those of its key."""
    admin = context.services.admin
    offsets: dict[int, list[int]] = {}
    for place in places:
        offsets.setdefault(place.partition, []).append(place.offset)
    numbers = {(place.partition, place.offset): i for i, place in enumerate(places)}
    records = read_at(admin.servers, source.topic, {p: sorted(o) for p, o in offsets.items()}, admin.settings)
    # the number travels in place of the event time
    rows = [(r.key or b"", r.value or b"", numbers[r.partition, r.offset], None, None) for r in records]
    columns = [c for c in source.schema.columns if c not in source.schema.headers]
    expressions = [ColumnRef(ROWTIME, BIGINT), *(ColumnRef(c.name, c.type) for c in columns)]
    return {
        places[row[0]]: {c.name: api_value(v, c.type) for c, v in zip(columns, row[1:], strict=True)}
        for row in evaluate_rows(context.services.spark.session(), source, rows, expressions, None)
    }


def _notes(
    statement: ExplainRow,
    query: ManagedQuery,
    traces: Sequence[Trace],
    ends: Mapping[str, Mapping[int, int]],
    used: int,
    is_traced: bool,
    context: StatementContext,
) -> list[str]:
    notes = []
    topics = list(ends)
    for topic in topics:
        removed = sum(context.services.admin.beginning_offsets(topic).values())
        if removed:
            notes.append(f"{removed:,} older records of topic {topic} are gone, and are not counted.")
    if any(trace.is_windowed for trace in traces):
        notes.append("Records that came too late for their window are counted like the others.")
    bound = query.logical
    for call in analyzer.appended(None, bound) if bound is not None else ():
        notes.append(f"{call.call} began empty when it was appended in place: older records are not in it.")
    ttl_ms = next((trace.ttl_ms for trace in traces if trace.ttl_ms is not None), None)
    if ttl_ms is not None:
        notes.append(
            f"TTL deletes the row {span_text(ttl_ms)} after its last change, by the times of later records: "
            "what came before such a deletion is told, too."
        )
    if any(trace.is_ordered for trace in traces) and sum(map(len, ends.values())) > 1:
        notes.append(
            "Records of several partitions are taken in the order of their times; "
            "the query may have taken them in another one."
        )
    if any(trace.joins_versions for trace in traces):
        notes.append(
            "Of a table that a stream is joined with, the row of the record's time is told; "
            "the query has met the row that was there when the record came."
        )
    if starts_of(statement.name, query, context) != query.starts:
        notes.append(
            "UNDROP has brought the query back: what it had read before the DROP counts as read, "
            "though it has forgotten that."
        )
    if not statement.missing:
        return notes
    belong = "1 record belongs to it" if used == 1 else f"{used:,} records belong to it"
    having = next((trace.having for trace in traces if trace.having is not None), None)
    if used and having is not None:
        notes.append(f"{belong}: HAVING {having} is not true of the result.")
    elif used:
        ended = "" if ttl_ms is None else ", unless its TTL has ended"
        notes.append(f"{belong}: the query has written it, or will once it has read all{ended}.")
    if not is_traced:
        what = f"topic {topics[0]}" if len(topics) == 1 else f"the topics {', '.join(topics)}"
        notes.append(f"No record of {what} belongs to the row.")
    unreadable = context.services.queries.figures.counts(query.id).unreadable
    if unreadable:
        errors = f"SELECT * FROM ERRORS OF {query.id};"
        notes.append(f"{unreadable:,} records could not be decoded since the server started: {errors}")
    return notes
