"""REPROCESS and REPLAY LATE ROWS: computes rows of closed windows again, and corrects them (ADR 85)."""

from __future__ import annotations

import bisect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from ksql_spark import analyzer
from ksql_spark.analyzer import Recomputation
from ksql_spark.analyzer.base.failures import invalid
from ksql_spark.authorization import Role as UserRole
from ksql_spark.authorization import check_source
from ksql_spark.entities import Entity
from ksql_spark.entities.commands import RowsReprocessed
from ksql_spark.errors import KsqlError
from ksql_spark.expressions import Call, ColumnRef, Expression, Literal
from ksql_spark.grammar.statements.lifecycle import ReplayLateRows, Reprocess
from ksql_spark.kafka.consumer import Record, read_at
from ksql_spark.metastore.serdes import serdes
from ksql_spark.plan import nodes
from ksql_spark.runtime.queries import verification
from ksql_spark.runtime.queries.differences import Place
from ksql_spark.runtime.queries.managed import ManagedQuery
from ksql_spark.runtime.queries.reprocessing import Corrections
from ksql_spark.runtime.reading.stored_row import split_key
from ksql_spark.runtime.reading.view import stored_rows
from ksql_spark.schema import ROWTIME
from ksql_spark.spark import batch, replay, tracing
from ksql_spark.spark.batch import evaluate_rows
from ksql_spark.statements.base.context import Action, Immediate, StatementContext
from ksql_spark.statements.definitions.describe_evolution import samples_of
from ksql_spark.statements.queries.batch_ranges import batch_ranges
from ksql_spark.statements.rows.failed_records import (
    bind_entries,
    check_known_queries,
    read_entries,
    writer_id,
)
from ksql_spark.statements.rows.tracing import ends_of, starts_of, starts_per_source, writer_of
from ksql_spark.types import BIGINT, BOOLEAN

_END_MS = 2**62
_LATE = "SELECT UNIX_TIMESTAMP(`EVENT_TIME`) AS T FROM (SELECT * FROM LATE ROWS OF `X`) WHERE `OMITTED` = 0;"
#: how many rows a condition is evaluated for at once
_AT_ONCE = 1_000
#: whether a window, by its start and end (epoch ms), is asked for
Wanted = Callable[[int, int], bool]


def reprocess(statement: Reprocess, context: StatementContext) -> Action:
    """Compute the rows of a table's closed windows again, and write those that differ."""
    first_ms = 0 if statement.first is None else analyzer.moment_ms(statement.first)
    last_ms = _END_MS if statement.last is None else analyzer.moment_ms(statement.last)
    if last_ms <= first_ms:
        raise invalid("REPROCESS ends before it begins.", statement.last)
    query, bound = writer_of(statement.name, context, "REPROCESS")
    recomputation = analyzer.bind_recomputation(bound, statement, "REPROCESS")
    condition = None
    if statement.where is not None:
        condition = analyzer.bind_selection(bound, statement.where, context.metastore, context.config)

    def run() -> Entity:
        task = _Task(query, recomputation, condition, context)
        return task.run(
            statement.source_text,
            (first_ms, last_ms),
            lambda start, end: end > first_ms and start < last_ms,
            is_preview=statement.preview,
        )

    return _action(query, run, context)


def replay_late_rows(statement: ReplayLateRows, context: StatementContext) -> Action:
    """Compute the windows again that rows came too late for."""
    check_known_queries(statement, context)
    query = context.services.queries.find(statement.query_id)
    if query is None or query.logical is None:
        raise invalid(f"{statement.query_id} is no persistent query that runs.", statement.this)
    recomputation = analyzer.bind_recomputation(query.logical, statement, "REPLAY LATE ROWS")
    entries = bind_entries(statement, _LATE, context)

    def run() -> Entity:
        times = sorted({int(row[0]) for row in read_entries(entries, context) if row[0] is not None})

        def is_wanted(start: int, end: int) -> bool:
            at = bisect.bisect_left(times, start)
            return at < len(times) and times[at] < end

        span = (times[0], times[-1] + 1) if times else (0, 0)
        task = _Task(query, recomputation, None, context)
        return task.run(statement.source_text, span, is_wanted, is_preview=statement.preview)

    return _action(query, run, context)


def _action(query: ManagedQuery, run: Callable[[], Entity], context: StatementContext) -> Action:
    for source in sorted(query.plan.sources, key=lambda source: source.name):
        check_source(context.rights, UserRole.READER, source.name)
    services = context.services
    if not services.queries.is_here(query):
        raise KsqlError("QUERY_ELSEWHERE", id=query.id, host=services.queries.state_of(query)[1])

    def on_spark() -> Entity:
        services.spark.await_start()
        return run()

    return Immediate(on_spark, waits=True)


class _Task:
    """Computes the rows of one table again.

    Args:
        query: what maintains it.
        recomputation: the batch.
        condition: which keys and windows are asked for; None: all.
        context: of the statement.
    """

    def __init__(
        self,
        query: ManagedQuery,
        recomputation: Recomputation,
        condition: Expression | None,
        context: StatementContext,
    ) -> None:
        self._query, self._recomputation, self._condition = query, recomputation, condition
        self._context, self._services = context, context.services
        self._sink = query.plan.sink
        self._corrections = Corrections(self._services.queries, query)

    def run(self, text: str, span: tuple[int, int], is_wanted: Wanted, *, is_preview: bool) -> Entity:
        """Answer a statement.

        Args:
            text: the statement.
            span: the first time in windows that are wanted, and the end of the last one, epoch ms.
            is_wanted: which windows in between.
            is_preview: whether nothing is written.
        """
        if span[0] == span[1]:
            return self._answer(text, verification.compare({}, {}, self._readers()), 0, 0, 0, is_preview)
        grace_ms = self._recomputation.windows.grace_ms
        whole_from_ms = self._whole_from_ms() + grace_ms
        kept_from_ms = self._corrections.kept_from_ms()
        times, computed, part_of = self._computed(span)
        first_ms = min(times.values(), default=0)
        left: dict[str, set[tuple[int, int]]] = {"open": set(), "gone": set()}

        def is_done(place: Place) -> bool:
            """Whether a row of a wanted window can be computed again; counts those that cannot."""
            window = start, end = self._window(place)
            if not is_wanted(start, end) or end <= kept_from_ms.get(place[0], 0):
                return False
            if end + self._recomputation.closes_after_ms > times.get(part_of.get(place, -1), first_ms):
                left["open"].add(window)
                return False
            if start < whole_from_ms and whole_from_ms > grace_ms:
                left["gone"].add(window)
                return False
            return True

        def selected(rows: Mapping[Place, Record]) -> Mapping[Place, Record]:
            return self._meeting({place: row for place, row in rows.items() if is_done(place)})

        new, old = selected(computed), selected(self._corrections.rows())
        compared = verification.compare(old, new, self._readers())
        if not is_preview and any(compared.differences):
            written = self._corrections.write(selected, new, writer_id(self._query, self._context))
            compared = compared._replace(differences=written)
        windows = {self._window(place) for place in (*old, *new)}
        return self._answer(text, compared, len(windows), len(left["open"]), len(left["gone"]), is_preview)

    def _window(self, place: Place) -> tuple[int, int]:
        _, start, end = split_key(place[1] or b"", self._sink.window)
        return start, end

    def _whole_from_ms(self) -> int:
        """From which time on all records of the query's topic are still there; 0: from the beginning."""
        relation, admin, latest = self._recomputation.input, self._services.admin, 0
        topic = relation.source.topic
        if relation.source.archive is not None:
            return 0
        began = starts_of(self._sink.name, self._query, self._context).get(topic, {})
        for (_, partition), offset in admin.beginning_offsets(topic).items():
            if offset > began.get(str(partition), 0):
                left = read_at(admin.servers, topic, {partition: [offset]}, admin.settings)
                first = next(iter(left), None)
                latest = max(latest, _END_MS if first is None else first.timestamp_ms)
        return latest

    def _computed(
        self, span: tuple[int, int]
    ) -> tuple[dict[int, int], dict[Place, Record], dict[Place, int]]:
        """The stream times of parts, the rows of windows that overlap ``span``, and the parts of their keys.

        Raises:
            KsqlError: INVALID_STATEMENT if a row cannot be written.
        """
        services, recomputation, query = self._services, self._recomputation, self._query
        size_ms = recomputation.windows.size_ms
        span = max(0, span[0] - size_ms), span[1] + size_ms
        processed = self._corrections.processed()
        parts = services.queries.checkpoints.of(query, 0).parts()
        if parts is None:  # it has not begun
            return {}, {}, {}
        source = recomputation.input.source
        ends = ends_of([source], self._context)[source.topic]
        own = batch.session_for(services.spark.session(), recomputation.root, sum(ends.values()))
        frames = tracing.inputs(
            own,
            services.client_settings("consumer", self._context.properties),
            [recomputation.input],
            starts_per_source(query, [source], self._context),
            [ends],
            batch_ranges(_bounded(recomputation, span[0]), services),
        )

        def setting(name: str) -> Any:
            return services.queries.environment.setting(query, name)

        of = replay.Parts(*parts)
        times = replay.stream_times(own, recomputation, of, frames, processed, setting)
        computed, part_of = {}, {}
        for record, part, unwritable in replay.recomputed(
            own, recomputation, query.plan, query.sink_partitions, of, frames, span, setting
        ):
            if unwritable is not None:
                raise KsqlError("INVALID_STATEMENT", reason=f"A row cannot be written: {unwritable}")
            place = (record.partition or 0, record.key)
            time_ms = record.timestamp_ms or 0
            computed[place] = Record(record.topic, place[0], -1, time_ms, record.key, record.value)
            part_of[place] = part
        return times, computed, part_of

    def _meeting(self, rows: dict[Place, Record]) -> dict[Place, Record]:
        """Those of the rows for which the condition is true."""
        if self._condition is None:
            return rows
        session, places = self._services.spark.session(), list(rows)
        met: dict[Place, Record] = {}
        for at in range(0, len(places), _AT_ONCE):
            some = places[at : at + _AT_ONCE]
            # the number travels in place of the event time
            numbered = [
                row._replace(time_ms=number)
                for number, place in enumerate(some)
                for row in stored_rows(self._sink, [rows[place]])
            ]
            number = [ColumnRef(ROWTIME, BIGINT)]
            for (index,) in evaluate_rows(session, self._sink, numbered, number, self._condition):
                met[some[index]] = rows[some[index]]
        return met

    def _readers(self) -> tuple[verification.RowReader, verification.RowReader]:
        split = partial(split_key, window=self._sink.window)
        pair = serdes(self._sink, self._query.plan.records, self._services.registry)
        reader = verification.RowReader(split, *pair)
        return reader, reader

    def _answer(
        self,
        text: str,
        compared: verification.Comparison,
        windows: int,
        still_open: int,
        gone: int,
        is_preview: bool,
    ) -> Entity:
        changed, removed = compared.differences
        name = self._sink.name
        would = "would be " if is_preview else ""
        again = f"{_counted(windows, 'window')} of {name} computed again"
        parts = [f"{again}: {_counted(changed, 'row')} {would}changed, {removed:,} {would}removed."]
        if still_open:
            parts.append(f"{_counted(still_open, 'window')} left alone: the query still adds to them.")
        if gone:
            parts.append(f"{_counted(gone, 'window')} left alone: records of them are gone.")
        return RowsReprocessed(
            statement_text=text,
            name=name,
            query_id=self._query.id,
            is_preview=is_preview,
            windows=windows,
            open_windows=still_open,
            gone_windows=gone,
            changed=changed,
            removed=removed,
            samples=samples_of(compared, self._sink, self._sink),
            message=" ".join(parts),
        )


def _bounded(recomputation: Recomputation, first_ms: int) -> nodes.Node:
    """A plan that reads the stream of the batch, in the times that rows of the windows can have.

    Later records are read, too: they tell how far the query is.
    """
    relation = recomputation.input
    time_ms = ColumnRef(relation.column_name(ROWTIME), BIGINT)
    return nodes.Filter(relation, Call(">=", (time_ms, Literal(first_ms, BIGINT)), BOOLEAN))


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


__all__ = ["replay_late_rows", "reprocess"]
