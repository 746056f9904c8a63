"""EXPLAIN RECORD: what a record has changed, query by query (beyond ksqlDB).

Each query's plan runs over complete inputs twice, as EXPLAIN ROW runs it: once as they are, once without the
record. The rows that differ are what it has changed; the queries that read these run without them in turn.
"""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ksql_spark import analyzer
from ksql_spark.analyzer.base.failures import invalid
from ksql_spark.analyzer.relations.query_log import STREAM_NAME
from ksql_spark.analyzer.rows.tracing import Effect
from ksql_spark.authorization import check_topic
from ksql_spark.entities import Entity
from ksql_spark.entities.tracing import ChangedRow, Outcome, QueryEffect, RecordExplanation
from ksql_spark.errors import KsqlError
from ksql_spark.expressions import Literal
from ksql_spark.grammar.statements.describe import ExplainRecord
from ksql_spark.kafka.consumer import read_at
from ksql_spark.metastore.sources import TABLE, DataSource
from ksql_spark.plan.queries import PersistentQuery
from ksql_spark.runtime.errors import jobs_reported
from ksql_spark.runtime.queries.changes.reprocessing import revision_of
from ksql_spark.runtime.queries.managed import ManagedQuery
from ksql_spark.spark import tracing
from ksql_spark.spark.tracing import Change, Edit, Place, Position, WrittenRow
from ksql_spark.statements.base.context import Action, Immediate, StatementContext, uses_of
from ksql_spark.statements.base.describe import period_text
from ksql_spark.statements.base.handlers import handles
from ksql_spark.statements.rows.failed_records import find_entries
from ksql_spark.statements.rows.tracing import (
    MOST_QUERIES,
    MOST_SECONDS,
    check_topics,
    columns_at,
    ends_of,
    record_of,
    shown_row,
    sources_of,
    starts_per_source,
)
from ksql_spark.types import STRING

#: how many rows of a query are listed, and how many of them are followed
MOST_ROWS = 20
#: what the processing log says about records: why they failed, and for which windows they came too late
_LOG = """
SELECT `TOPIC`, `PARTITION`, `OFFSET`, `MESSAGE`, `CAUSE`, `REPLAYED`, CAST(NULL AS STRING) AS `STEP`,
  CAST(NULL AS BIGINT) AS `LATE_MS`, CAST(NULL AS BIGINT) AS `GRACE_MS`
FROM ERRORS OF `{query}` WHERE {where}
UNION ALL SELECT `TOPIC`, `PARTITION`, `OFFSET`, CAST(NULL AS STRING) AS `MESSAGE`,
  CAST(NULL AS STRING) AS `CAUSE`, FALSE AS `REPLAYED`, `STEP`, `LATE_MS`, `GRACE_MS`
FROM LATE ROWS OF `{query}`
WHERE {where} OR (`OFFSET` IS NOT NULL AND `STEP` = 'Aggregate'
  AND UNIX_TIMESTAMP(`EVENT_TIME`) BETWEEN {first} AND {last});
"""


@handles
def explain_record(statement: ExplainRecord, context: StatementContext) -> Action:
    """Find what a record has changed downstream."""
    topic = statement.topic
    declared = [source for source in context.metastore.sources() if source.topic == topic]
    sources = [source for source in declared if context.rights.may_read(source.name)]
    if not sources:
        if declared:
            check_topic(context.rights, topic)
        reason = f"No stream or table that you may read is declared over topic '{topic}'."
        raise invalid(reason, statement.this, hint="SHOW TOPICS; lists the topics.")
    return Immediate(lambda: _explained(statement, sources, context), waits=True)


def _explained(statement: ExplainRecord, sources: Sequence[DataSource], context: StatementContext) -> Entity:
    topic, position = statement.topic, (statement.partition, statement.offset)
    read = {source.name for query in context.services.queries.all() for source in query.plan.sources}
    sources = sorted(sources, key=lambda source: source.name not in read)
    ends = ends_of(sources, context)[topic]
    if position[0] not in ends:
        raise invalid(f"Topic '{topic}' has no partition {position[0]}.", statement)
    if position[1] >= ends[position[0]]:
        raise invalid(
            f"Partition {position[0]} of topic '{topic}' ends at offset {ends[position[0]]}.", statement
        )
    found = {source: columns_at(source, position, context) for source in sources}
    there = [(source, *each) for source, each in found.items() if each is not None]
    there.sort(key=lambda each: each[2] is None)  # the first one that reads it shows it
    first, time_ms, columns = there[0] if there else (sources[0], None, None)
    notes = []
    if not there:
        notes.append("The record is gone.")
    elif columns is None:
        names = ", ".join(source.name for source in sources)
        notes.append(f"The record is none of {names}: its bytes cannot be read so. PRINT shows them.")
    if not context.services.queries.figures.log_topic or context.metastore.find(_log_name(context)) is None:
        notes.append(
            "There is no stream over the processing log, so it is not known what was late or failed."
        )
    walk = _Walk(context, {topic: {position: Edit(is_gone=True)}})
    return RecordExplanation(
        statement_text=statement.source_text,
        names=tuple(source.name for source in sources),
        record=record_of(first, *position, time_ms, columns),
        queries=walk.effects(topic),
        notes=tuple(notes),
    )


@dataclass
class _Result:
    """What the record has changed in the result of a query, before its readers are known."""

    outcome: Outcome = "unknown"
    reasons: list[str] = field(default_factory=list)
    count: int = 0
    rows: tuple[ChangedRow, ...] = ()
    notes: list[str] = field(default_factory=list)

    def note(self, text: str) -> None:
        """Add a note, once."""
        if text not in self.notes:
            self.notes.append(text)

    def reason(self, text: str) -> None:
        """Add a reason, once."""
        if text not in self.reasons:
            self.reasons.append(text)


class _Walk:
    """Goes through the queries, each after those that write what it reads.

    Args:
        context: of the statement.
        edits: topic -> what its records are replaced by.
    """

    def __init__(self, context: StatementContext, edits: dict[str, dict[Position, Edit]]) -> None:
        self._context = context
        self._edits = edits
        self._ends_s = time.monotonic() + MOST_SECONDS
        self._queries = [q for q in context.services.queries.all() if not q.is_transient]
        self._results: dict[str, _Result] = {}

    def effects(self, topic: str) -> tuple[QueryEffect, ...]:
        """The effects of the topic's records."""
        for number, query in enumerate(self._in_order(topic)):
            if any(source.topic in self._edits for source in query.plan.sources):
                self._results[query.id] = self._result(query, is_last=number >= MOST_QUERIES)
        return self._tree(topic)

    def _readers(self, topic: str) -> list[ManagedQuery]:
        return [q for q in self._queries if any(source.topic == topic for source in q.plan.sources)]

    def _in_order(self, topic: str) -> list[ManagedQuery]:
        """The queries that read the topic, and what these write …: writers before readers."""
        order: dict[str, ManagedQuery] = {}
        seen: set[str] = set()

        def visit(read: str) -> None:
            for query in self._readers(read):
                if query.id not in seen:
                    seen.add(query.id)
                    visit(query.plan.sink.topic)
                    order[query.id] = query

        visit(topic)
        return list(order.values())[::-1]

    def _tree(self, topic: str) -> tuple[QueryEffect, ...]:
        """The results of the topic's readers, each where it is reached first."""
        effects = []
        for query in self._readers(topic):
            result = self._results.pop(query.id, None)
            if result is None:
                continue
            sink = query.plan.sink
            sinks = self._context.metastore.sinks_of(sink.name)
            effects.append(
                QueryEffect(
                    query_id=query.id,
                    name=sink.name,
                    topic=sink.topic,
                    outcome=result.outcome,
                    reasons=tuple(result.reasons),
                    changed=result.count,
                    rows=result.rows,
                    sinks=tuple(each.name for each in sinks if result.rows),
                    notes=tuple(result.notes),
                    below=self._tree(sink.topic),
                )
            )
        return tuple(effects)

    def _result(self, query: ManagedQuery, *, is_last: bool) -> _Result:
        result = _Result()
        if not uses_of(query).is_visible(self._context.rights):
            result.notes.append("You may not read all that this query reads and writes.")
        elif is_last or time.monotonic() > self._ends_s:
            limits = f"after {MOST_QUERIES} queries or {MOST_SECONDS} seconds"
            result.notes.append(f"EXPLAIN RECORD ends {limits}: ask again with the record of a row above.")
        else:
            try:
                with jobs_reported():
                    self._find(query, result)
            except KsqlError as error:
                result.outcome = "unknown"
                result.notes.append(error.message)
        return result

    def _find(self, query: ManagedQuery, result: _Result) -> None:
        """Complete ``result``."""
        bound = query.logical
        assert bound is not None  # it is no push query
        check_topics(query)
        times = self._taken(query, bound, result)
        of_times = [analyzer.windows_of(bound, time_ms) for time_ms in times]
        windows = list(dict.fromkeys(each for those in of_times for each in those or ()))[:MOST_ROWS]
        is_late, is_failed = False, False
        late: dict[str, dict[Position, Edit]] = {}
        for topic, partition, offset, message, cause, is_replayed, step, late_ms, grace_ms in self._log(
            query, windows
        ):
            if (partition, offset) not in self._edits.get(topic, {}):
                late.setdefault(topic, {})[partition, offset] = Edit(is_gone=True)
            elif step is not None:
                is_late = True
                result.reason(f"It came {period_text(late_ms)} behind stream time, too late for {step}.")
                if grace_ms is not None:
                    result.reason(f"GRACE PERIOD {period_text(grace_ms)} would have kept it.")
            else:
                is_failed = is_failed or not is_replayed
                since = "Replayed since." if is_replayed else None
                result.reason(" ".join(str(text) for text in (message, cause, since) if text))
        if None in of_times:
            result.outcome = "unknown"
            result.notes.append("Rows of SLIDING and CUMULATIVE windows are not computed here.")
        elif times:
            self._change(query, bound, windows, result, late, is_late=is_late)
        if result.outcome != "changed" and (is_failed or is_late):
            result.outcome = "failed" if is_failed else "late"

    def _taken(self, query: ManagedQuery, bound: PersistentQuery, result: _Result) -> set[int]:
        """The times of the records that the query has used; if there are none, notes why."""
        context = self._context
        times: set[int] = set()
        result.outcome = "unchanged"
        for trace in analyzer.traces_of_all(bound):
            sources = sources_of(trace)
            ends = ends_of(sources, context)
            found = tracing.find(
                context.services.spark.session(),
                context.services.client_settings("consumer", context.properties),
                trace,
                starts_per_source(query, sources, context),
                [ends[source.topic] for source in sources],
                context.config.__getitem__,
                used=True,
                most=MOST_ROWS,
                at=[self._edits.get(source.topic, {}) for source in sources],
            )
            times |= {place.time_ms for place in (*found.first, *found.last)}
            for number in sorted(n for n in found.counts if n is not None):
                result.reason(trace.steps[number])
                result.outcome = "dropped"
        return times

    def _change(
        self,
        query: ManagedQuery,
        bound: PersistentQuery,
        windows: Sequence[tuple[int, int]],
        result: _Result,
        late: Mapping[str, Mapping[Position, Edit]],
        *,
        is_late: bool,
    ) -> None:
        """Compute the rows that differ, and what their records are replaced by.

        Args:
            query: the query.
            bound: what it was bound to.
            windows: those of the records.
            result: is completed.
            late: other records that came too late, by topic: they are in no row that was not corrected.
            is_late: whether the records came too late themselves.
        """
        context, sink = self._context, query.plan.sink
        session = context.services.spark.session()
        consumer = context.services.client_settings("consumer", context.properties)
        end = ends_of([sink], context)[sink.topic]
        has_log = context.metastore.find(_log_name(context)) is not None
        rows: list[ChangedRow] = []
        for effect in analyzer.bind_effects(bound, windows):
            sources = sources_of(effect)
            ends = ends_of(sources, context)
            found = [
                tracing.differences(
                    session,
                    consumer,
                    effect,
                    starts_per_source(query, sources, context),
                    [ends[source.topic] for source in sources],
                    [self._edits.get(source.topic, {}) for source in sources],
                    context.config.__getitem__,
                    is_table=bound.root.kind == TABLE,
                    most=MOST_ROWS,
                    without=[without.get(source.topic, {}) for source in sources],
                )
                for without in ([{}] if is_late or not late else [{}, late])
            ]
            corrected, of_query = (
                {each.key: each for each in changes} for _, changes in (found[0], found[-1])
            )
            keys = {**corrected, **of_query}
            written = tracing.written(session, consumer, sink, effect, keys, end) if keys else {}
            result.count += found[-1][0] - len(of_query)
            for key in keys:
                there = written.get(key, [])
                revision = self._revision(sink, there) if is_late or late else 1
                change = (corrected if revision > 1 else of_query).get(key)
                if change is None:
                    continue
                if has_log and not _is_made(query, effect, change, there, result, revision, is_late=is_late):
                    continue
                places = [each.place for each in there]
                self._replace(sink, change, places)
                rows.append(_changed(effect, change, places))
        result.count += len(rows)
        result.rows = tuple(rows)
        result.outcome = "changed" if rows else "unchanged"
        if result.count > len(rows):
            result.notes.append(f"{result.count - len(rows):,} more rows are not followed.")
        if any(row.offset is None for row in rows):
            result.notes.append("Rows without an offset are not followed: no record has them.")

    def _revision(self, sink: DataSource, written: Sequence[WrittenRow]) -> int:
        """That of the row that is there now."""
        if not written:
            return 1
        place, admin = written[-1].place, self._context.services.admin
        found = read_at(admin.servers, sink.topic, {place.partition: [place.offset]}, admin.settings)
        return max(map(revision_of, found), default=1)

    def _replace(self, sink: DataSource, change: Change, places: Collection[Place]) -> None:
        edit = Edit(row=change.before) if sink.is_table else Edit(is_gone=True)
        for place in places:
            self._edits.setdefault(sink.topic, {})[place.partition, place.offset] = edit

    def _log(self, query: ManagedQuery, windows: Sequence[tuple[int, int]]) -> list[list[Any]]:
        """The rows of the processing log about the records, and others that were late for the windows."""
        context = self._context
        topics = {source.topic for source in query.plan.sources}
        conditions = [
            f"(`TOPIC` = {Literal(topic, STRING)} AND `PARTITION` = {partition} AND `OFFSET` = {offset})"
            for topic, edits in self._edits.items()
            if topic in topics
            for partition, offset in list(edits)[:MOST_ROWS]
        ]
        if context.metastore.find(_log_name(context)) is None:
            return []
        first, last = min((s for s, _ in windows), default=1), max((e for _, e in windows), default=1) - 1
        text = _LOG.format(query=query.id, where=" OR ".join(conditions), first=first, last=last)
        return list(find_entries(text, context))


def _changed(effect: Effect, change: Change, places: Sequence[Place]) -> ChangedRow:
    def shown(data: bytes | None) -> dict[str, Any] | None:
        return None if data is None else shown_row(tracing.row_of(data, effect.columns), effect.columns)

    last = places[-1] if places else None
    return ChangedRow(
        partition=None if last is None else last.partition,
        offset=None if last is None else last.offset,
        before=shown(change.before),
        after=shown(change.after),
    )


def _is_made(
    query: ManagedQuery,
    effect: Effect,
    change: Change,
    written: Sequence[WrittenRow],
    result: _Result,
    revision: int,
    *,
    is_late: bool,
) -> bool:
    """Whether the change is in the sink, where a late record only is after a correction; adds notes."""
    sink = query.plan.sink
    if not (is_late or sink.is_table):
        return True
    now = written[-1].row if written else None
    is_in = _is_same(now, change.after, effect)
    if is_late and sink.is_table:
        of_row = f"revision {revision} of the row" if revision > 1 else "the row"
        if is_in:
            result.reason(f"It was put back since: {of_row} has it.")
        elif revision > 1 and not _is_same(now, change.before, effect):
            result.note(f"Late records came since {of_row}, so it is not told whether that has this one.")
        return is_in
    if not is_in and _is_same(now, change.before, effect):
        result.note("Not in all rows: it came too late for them, or the query has not read it yet.")
        return False
    if not is_in and sink.window is not None:
        result.note(
            f"In the table, rows have other values: late records count here. REPLAY LATE ROWS OF {query.id};"
        )
    return not is_late or is_in


def _is_same(one: bytes | None, other: bytes | None, effect: Effect) -> bool:
    """Whether rows are equal; sums of DOUBLEs may differ in the last digits, by the order of addition."""
    if one == other or one is None or other is None:
        return one == other
    rows = (tracing.row_of(data, effect.columns).values() for data in (one, other))
    return all(
        math.isclose(a, b, rel_tol=1e-9) if isinstance(a, float) and isinstance(b, float) else a == b
        for a, b in zip(*rows, strict=True)
    )


def _log_name(context: StatementContext) -> str:
    return str(context.config[STREAM_NAME])
