"""EXPLAIN ROW and EXPLAIN MISSING ROW: the records that made a row, or that were dropped (beyond ksqlDB).

Nothing is kept for it while queries run: it reads the topics again, through the plan of the query. Records
that are rows of other queries are followed to what these were made of, one batch for each query.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ksql_spark import analyzer
from ksql_spark.analyzer.base.failures import Placed, invalid, place
from ksql_spark.analyzer.rows.tracing import Effect, RowOfSink, Trace
from ksql_spark.authorization import Role as UserRole
from ksql_spark.authorization import check_source
from ksql_spark.entities import Entity
from ksql_spark.entities.tracing import DroppedRecords, RowExplanation, SourceRecord, TracedRows
from ksql_spark.errors import KsqlError
from ksql_spark.formats.base import BadRecord, Serde
from ksql_spark.formats.detection import FormatDetector
from ksql_spark.formats.self_described import SelfDescribed
from ksql_spark.grammar.statements.describe import ExplainRow
from ksql_spark.kafka.consumer import Record, read_at
from ksql_spark.metastore.serdes import serdes
from ksql_spark.metastore.sources import DataSource
from ksql_spark.plan.queries import PersistentQuery
from ksql_spark.plan.text import span_text
from ksql_spark.runtime.queries.managed import ManagedQuery
from ksql_spark.runtime.reading.results import api_value
from ksql_spark.runtime.reading.stored_row import split_key
from ksql_spark.runtime.reading.view import framed
from ksql_spark.runtime.versions import IN_PLACE, UNDROPPED
from ksql_spark.schema import WINDOW_BOUNDS, Column
from ksql_spark.schema_registry import SchemaRegistry
from ksql_spark.spark import tracing
from ksql_spark.spark.tracing import Place, Position, TracedRecords
from ksql_spark.statements.base.context import Action, Immediate, StatementContext, uses_of
from ksql_spark.statements.base.handlers import handles

#: how many of the first, and of the last records of a query are listed, and how many are followed
MOST, MOST_FOLLOWED = 100, 50
#: through how many queries rows are followed, and how long until no more queries are asked, seconds
MOST_QUERIES, MOST_SECONDS = 20, 120


@handles
def explain_row(statement: ExplainRow, context: StatementContext) -> Action:
    """Find the records of a query's topics that made a row, or where they were dropped."""
    sink = context.metastore.find_sink(statement.name)  # outside Kafka: its rows are those of its source
    query, bound = writer_of(
        statement.name if sink is None else sink.source, context, "EXPLAIN ROW", statement.this
    )
    check_source(context.rights, UserRole.READER, query.plan.sink.name)
    for source in sorted(query.plan.sources, key=lambda source: source.name):
        check_source(context.rights, UserRole.READER, source.name)
    check_topics(query)
    traces = analyzer.bind_traces(bound, statement.where, context.metastore, context.config)
    return Immediate(lambda: _explained(statement, query, traces, context), waits=True)


def check_topics(query: ManagedQuery) -> None:
    """Refuse a query that reads a pattern of topics.

    Raises:
        KsqlError: INVALID_STATEMENT.
    """
    for source in query.plan.sources:
        if source.topic_pattern is not None:
            reason = f"EXPLAIN ROW needs records of one topic: {source.name} reads all of a pattern."
            hint = "CREATE STREAM … over one of the topics and the query over that, and ask for its rows."
            raise KsqlError("INVALID_STATEMENT", reason=reason, hint=hint)


def writer_of(
    name: str, context: StatementContext, statement: str, node: Placed | None = None
) -> tuple[ManagedQuery, PersistentQuery]:
    """The query that writes a stream or table, and what it was bound to.

    Args:
        name: of the stream or table.
        context: of the statement.
        statement: its words, for errors.
        node: what names it; None: nothing in the statement does.

    Raises:
        KsqlError: SOURCE_UNKNOWN; INVALID_STATEMENT if none does, or several do.
    """
    context.metastore.require(name, place(node))
    writers = [q for q in context.services.queries.all() if not q.is_transient and q.plan.sink.name == name]
    if not writers:
        reason = f"No query writes {name}: its rows are the records of its topic."
        raise invalid(reason, node, hint="PRINT shows them.")
    if len(writers) > 1:
        ids = ", ".join(query.id for query in writers)
        reason = f"{statement} does not support results of several queries yet: {ids} write {name}."
        hint = "CREATE STREAM … AS the SELECT of one of them, and ask for the rows of that."
        raise invalid(reason, node, hint=hint)
    bound = writers[0].logical
    assert bound is not None  # writers are no push queries
    return writers[0], bound


def _explained(
    statement: ExplainRow, query: ManagedQuery, traces: Sequence[Trace], context: StatementContext
) -> Entity:
    walk = _Walk(context)
    found = walk.found(query, traces, used=not statement.missing)
    dropped: dict[str, int] = {}
    for trace, each in zip(traces, found.results, strict=True):
        for number in sorted(n for n in each.counts if n is not None):
            reason = trace.steps[number]
            dropped[reason] = dropped.get(reason, 0) + each.counts[number]
    is_traced = bool(found.used or dropped)
    return RowExplanation(
        statement_text=statement.source_text,
        name=statement.name,
        query_id=query.id,
        topic=", ".join(found.ends),
        is_missing=bool(statement.missing),
        used=found.used,
        dropped=tuple(DroppedRecords(reason=reason, count=count) for reason, count in dropped.items()),
        records=found.shown,
        notes=tuple(_notes(statement, query, traces, found.ends, found.used, is_traced, context)),
        upstream=() if statement.missing else walk.upstream(found, (query.id,)),
    )


@dataclass(frozen=True)
class Decoded:
    """A record: its columns in the formats' Python form, its window, the origin of a captured change."""

    columns: Mapping[str, Any]
    window: tuple[int, int] | None = None
    origin: Mapping[str, str] | None = None


@dataclass(frozen=True)
class _Found:
    """The records behind the rows of a query, and those of them that are listed, by their sources.

    Args:
        ends: topic -> partition -> the offset after its last record.
        results: for each trace.
        used: how many records were used.
        shown: the listed ones.
        rows: stream or table -> those that can be read.
    """

    ends: Mapping[str, Mapping[int, int]]
    results: Sequence[TracedRecords]
    used: int
    shown: tuple[SourceRecord, ...]
    rows: Mapping[DataSource, list[RowOfSink]]


class _Walk:
    """Follows rows through queries, from each to those that write what it reads."""

    def __init__(self, context: StatementContext) -> None:
        self._context = context
        self._ends_s = time.monotonic() + MOST_SECONDS

    def found(self, query: ManagedQuery, traces: Sequence[Trace], *, used: bool) -> _Found:
        """Find the records behind rows of a query."""
        context = self._context
        ends = ends_of((source for trace in traces for source in sources_of(trace)), context)
        results = [
            tracing.find(
                context.services.spark.session(),
                context.services.client_settings("consumer", context.properties),
                trace,
                starts_per_source(query, sources_of(trace), context),
                [ends[source.topic] for source in sources_of(trace)],
                context.config.__getitem__,
                used=used,
                most=MOST,
            )
            for trace in traces
        ]
        shown: list[SourceRecord] = []
        rows: dict[DataSource, list[RowOfSink]] = {}
        for trace, each in zip(traces, results, strict=True):
            places = list(dict.fromkeys([*each.first, *each.last]))
            columns = _columns_of(places, trace, context)
            shown += (_record(place, trace, columns.get(place)) for place in places)
            for at, decoded in columns.items():
                row = RowOfSink(decoded.columns, at.time_ms, decoded.window)
                rows.setdefault(trace.inputs[at.input].source, []).append(row)
        return _Found(ends, results, sum(each.counts.get(None, 0) for each in results), tuple(shown), rows)

    def upstream(self, found: _Found, path: tuple[str, ...]) -> tuple[TracedRows, ...]:
        """What records are made of that are rows of other queries than those of ``path``."""
        queries = [q for q in self._context.services.queries.all() if not q.is_transient]
        return tuple(
            self._followed(query, rows, path)
            for source, rows in found.rows.items()
            for query in queries
            if query.plan.sink.topic == source.topic and query.id not in path
        )

    def _followed(self, query: ManagedQuery, rows: Sequence[RowOfSink], path: tuple[str, ...]) -> TracedRows:
        followed, notes, found = rows[:MOST_FOLLOWED], list[str](), None
        if not uses_of(query).is_visible(self._context.rights):
            notes.append("You may not read all that this query reads.")
        elif len(path) >= MOST_QUERIES or time.monotonic() > self._ends_s:
            notes.append(
                f"Not followed, because it is behind {MOST_QUERIES} queries, or {MOST_SECONDS} seconds are "
                f"over. EXPLAIN ROW FROM {query.plan.sink.name} WHERE … continues here."
            )
        else:
            bound = query.logical
            assert bound is not None  # writers are no push queries
            try:
                check_topics(query)
                traces = analyzer.traces_of_rows(bound, followed)
            except KsqlError as error:
                notes.append(error.message)
            else:
                found = self.found(query, traces, used=True)
                if len(followed) < len(rows):
                    notes.append(f"{len(rows) - len(followed):,} more records above are not followed.")
        return TracedRows(
            name=query.plan.sink.name,
            query_id=query.id,
            topic=", ".join(dict.fromkeys(source.topic for source in query.plan.sources)),
            rows=0 if found is None else len(followed),
            used=0 if found is None else found.used,
            records=() if found is None else found.shown,
            notes=tuple(notes),
            upstream=() if found is None else self.upstream(found, (*path, query.id)),
        )


def sources_of(trace: Trace | Effect) -> list[DataSource]:
    """The streams and tables that a batch reads."""
    return [relation.source for relation in trace.inputs]


def ends_of(sources: Iterable[DataSource], context: StatementContext) -> dict[str, dict[int, int]]:
    """The offsets after the last records of topics, by topic and partition."""
    ends: dict[str, dict[int, int]] = {source.topic: {} for source in sources}
    for (topic, partition), end in context.services.admin.end_offsets(*ends).items():
        ends[topic][partition] = end
    return ends


def starts_per_source(
    query: ManagedQuery, sources: Sequence[DataSource], context: StatementContext
) -> list[dict[int, int]]:
    """For each source the offsets at which a query began to read."""
    starts = starts_of(query.plan.sink.name, query, context)
    return [{int(p): start for p, start in starts.get(source.topic, {}).items()} for source in sources]


def starts_of(name: str, query: ManagedQuery, context: StatementContext) -> Mapping[str, Mapping[str, int]]:
    """Return where the query began to read; after UNDROP, before the DROP, as its rows remain."""
    versions = context.services.versions.of(name)
    if not versions or versions[-1].way != UNDROPPED:
        return query.starts
    return next((v.starts for v in reversed(versions) if v.way not in (UNDROPPED, IN_PLACE)), query.starts)


def _record(place: Place, trace: Trace, decoded: Decoded | None) -> SourceRecord:
    source = trace.inputs[place.input].source
    reason = None if place.step is None else trace.steps[place.step]
    return record_of(source, place.partition, place.offset, place.time_ms, decoded, reason)


def record_of(
    source: DataSource,
    partition: int,
    offset: int,
    time_ms: int | None,
    decoded: Decoded | None,
    reason: str | None = None,
) -> SourceRecord:
    """A record as users see it."""
    return SourceRecord(
        topic=source.topic,
        partition=partition,
        offset=offset,
        timestamp=time_ms,
        reason=reason,
        columns=None
        if decoded is None
        else shown_row(decoded.columns, source.schema.columns, decoded.window),
        origin=None if decoded is None else decoded.origin,
    )


def shown_row(
    values: Mapping[str, Any], columns: Iterable[Column], window: tuple[int, int] | None = None
) -> dict[str, Any]:
    """A row as the REST API shows it, with the bounds of its window."""
    shown = {c.name: api_value(values[c.name], c.type) for c in columns if c.name in values}
    return shown | dict(zip(WINDOW_BOUNDS, window or (), strict=False))


def _columns_of(places: Sequence[Place], trace: Trace, context: StatementContext) -> dict[Place, Decoded]:
    decoded: dict[Place, Decoded] = {}
    for number, source in enumerate(sources_of(trace)):
        there = [place for place in places if place.input == number]
        decoded |= _columns(there, source, context) if there else {}
    return decoded


def _columns(places: Sequence[Place], source: DataSource, context: StatementContext) -> dict[Place, Decoded]:
    found = _decoded([(place.partition, place.offset) for place in places], source, context)
    there = ((place, found.get((place.partition, place.offset))) for place in places)
    return {place: each[1] for place, each in there if each is not None and each[1] is not None}


def columns_at(
    source: DataSource, position: Position, context: StatementContext
) -> tuple[int, Decoded | None] | None:
    """The event time (epoch ms) of a record and its columns, if it can be read; None if it is gone."""
    return _decoded([position], source, context).get(position)


def _decoded(
    positions: Iterable[Position], source: DataSource, context: StatementContext
) -> dict[Position, tuple[int, Decoded | None]]:
    """The event times and columns of the records that are there; of a deletion, the columns of its key."""
    admin, registry = context.services.admin, context.services.registry
    offsets: dict[int, list[int]] = {}
    for partition, offset in sorted(positions):
        offsets.setdefault(partition, []).append(offset)
    key_serde, value_serde = serdes(source, registry=registry)
    time = source.time_column
    decoded: dict[Position, tuple[int, Decoded | None]] = {}
    for found in read_at(admin.servers, source.topic, offsets, admin.settings):
        record, time_ms = framed(source, found), found.timestamp_ms
        key, *window = split_key(record.key or b"", source.window)
        try:
            values = {} if record.key is None else _values(key_serde, key)
            values |= {} if record.value is None else _values(value_serde, record.value)
        except BadRecord:
            decoded[record.partition, record.offset] = time_ms, None
            continue
        if time is not None and isinstance(values.get(time.name), int):
            time_ms = values[time.name]
        decoded[record.partition, record.offset] = (
            time_ms,
            Decoded(
                values,
                None if source.window is None else (window[0], window[1]),
                None if source.envelope is None else _origin(record, registry),
            ),
        )
    return decoded


def _values(serde: Serde, data: bytes) -> dict[str, Any]:
    values = serde.decode(data) if serde.columns else None
    return dict(zip((c.name for c in serde.columns), values or (), strict=False))


def _origin(record: Record, registry: SchemaRegistry | None) -> dict[str, str] | None:
    """Where Debezium has found a change: the table, the transaction, and the position in the log."""
    shown = None if registry is None else SelfDescribed(registry)
    try:
        envelope = json.loads(FormatDetector(is_key=False, shown=shown).show(record.value))
    except ValueError:
        return None
    members = _members(_members(envelope).get("payload", envelope))
    found = _members(members.get("source"))
    table = ".".join(str(found[name]) for name in ("db", "schema", "table") if found.get(name))
    transaction = found.get("txid") or found.get("gtid") or _members(members.get("transaction")).get("id")
    names = ("lsn", "change_lsn", "commit_lsn", "scn", "pos")
    position = next((found[name] for name in names if found.get(name)), None)
    if position is not None and found.get("file"):
        position = f"{found['file']}:{position}"
    origin = {"table": table or None, "transaction": transaction, "position": position}
    return {name: str(value) for name, value in origin.items() if value is not None} or None


def _members(value: Any) -> dict[str, Any]:
    """The members of an object by their names in lower case; of anything else none."""
    return {name.lower(): member for name, member in value.items()} if isinstance(value, dict) else {}


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
    if starts_of(query.plan.sink.name, query, context) != query.starts:
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
