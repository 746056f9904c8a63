"""REPROCESS, REPLAY LATE ROWS and REPLAY ERRORS: computes rows again, and corrects them (ADR 85)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial

from ksql_spark import analyzer
from ksql_spark.analyzer import Pairs, Recomputation
from ksql_spark.analyzer.base.failures import invalid
from ksql_spark.authorization import Role as UserRole
from ksql_spark.authorization import check_source
from ksql_spark.entities import Entity
from ksql_spark.entities.commands import RowsReprocessed
from ksql_spark.errors import KsqlError
from ksql_spark.expressions import ColumnRef, Expression
from ksql_spark.grammar.statements.lifecycle import ReplayErrors, ReplayLateRows, Reprocess
from ksql_spark.kafka.consumer import Record
from ksql_spark.kafka.transactions import Written
from ksql_spark.metastore.serdes import serdes
from ksql_spark.metastore.sources import DataSource
from ksql_spark.plan.queries import PersistentQuery
from ksql_spark.runtime.queries.changes import verification
from ksql_spark.runtime.queries.changes.replay import Trial
from ksql_spark.runtime.queries.changes.reprocessing import Additions, Corrections
from ksql_spark.runtime.queries.differences import Place
from ksql_spark.runtime.queries.managed import ManagedQuery
from ksql_spark.runtime.reading.stored_row import split_key
from ksql_spark.runtime.reading.view import stored_rows
from ksql_spark.schema import ROWTIME
from ksql_spark.spark.batch import evaluate_rows
from ksql_spark.spark.replay import Counted
from ksql_spark.spark.tracing import Position
from ksql_spark.statements.base.context import Action, Immediate, StatementContext
from ksql_spark.statements.base.handlers import handles
from ksql_spark.statements.definitions.describe_evolution import samples_of
from ksql_spark.statements.rows import failed_records
from ksql_spark.statements.rows.failed_records import (
    FAILED,
    Records,
    bind_entries,
    check_known_queries,
    check_local,
    check_marks,
    counted,
    named_records,
    writer_id,
)
from ksql_spark.statements.rows.recomputing import (
    END_MS,
    NOTHING,
    Computed,
    compute,
    compute_pairs,
    whole_from_ms,
)
from ksql_spark.statements.rows.tracing import writer_of
from ksql_spark.types import BIGINT

_LATE = """
SELECT `TOPIC`, `PARTITION`, `OFFSET`, 0 AS `ATTEMPT`, UNIX_TIMESTAMP(`EVENT_TIME`) AS T, 1 AS N
FROM (SELECT * FROM LATE ROWS OF `X`) WHERE `OMITTED` = 0;
"""
#: how many rows a condition is evaluated for at once
_AT_ONCE = 1_000


@handles
def reprocess(statement: Reprocess, context: StatementContext) -> Action:
    """Compute the rows of a table's closed windows again, and write those that differ."""
    first_ms = 0 if statement.first is None else analyzer.moment_ms(statement.first)
    last_ms = END_MS if statement.last is None else analyzer.moment_ms(statement.last)
    if last_ms <= first_ms:
        raise invalid("REPROCESS ends before it begins.", statement.last)
    query, bound = writer_of(statement.name, context, "REPROCESS", statement.this)
    recomputation = analyzer.bind_recomputation(bound, statement, "REPROCESS")
    condition = None
    if statement.where is not None:
        condition = analyzer.bind_selection(bound, statement.where, context.metastore, context.config)
    task = _Task(query, recomputation, condition, context)
    span = (first_ms, last_ms)
    return _action(
        query, lambda: task.run(statement.source_text, span, None, is_preview=statement.preview), context
    )


@handles
def replay_late_rows(statement: ReplayLateRows, context: StatementContext) -> Action:
    """Compute the rows again that rows came too late for."""
    check_known_queries(statement, context)
    query = context.services.queries.find(statement.query_id)
    if query is None or query.logical is None:
        raise invalid(f"{statement.query_id} is no persistent query that runs.", statement.this)
    return _replay(statement, query, query.logical, _LATE, context)


@handles
def replay_errors(statement: ReplayErrors, context: StatementContext) -> Action:
    """Compute the rows of failed records again; without state, send the records through their query."""
    query = context.services.queries.find(statement.query_id)
    if query is None or query.logical is None:
        return failed_records.replay_errors(statement, context)
    if not analyzer.is_recomputable(query.logical) and not analyzer.is_join_of_streams(query.logical):
        return failed_records.replay_errors(statement, context)
    check_marks(statement, context)
    return _replay(statement, query, query.logical, FAILED, context)


def _replay(
    statement: ReplayErrors | ReplayLateRows,
    query: ManagedQuery,
    logical: PersistentQuery,
    selection: str,
    context: StatementContext,
) -> Action:
    """Compute the rows of records again that ``selection`` finds in the processing log."""
    is_preview = isinstance(statement, ReplayLateRows) and statement.preview
    what = "REPLAY LATE ROWS" if isinstance(statement, ReplayLateRows) else "REPLAY ERRORS"
    bound: Pairs | Recomputation
    if analyzer.is_join_of_streams(logical):
        writer_of(query.plan.sink.name, context, what)
        bound = analyzer.bind_pairs(logical, statement, what)
        inputs, alone = bound.inputs, bound.alone
    else:
        bound = analyzer.bind_recomputation(logical, statement, what)
        inputs, alone = (bound.input,), (bound.alone,)
    entries = bind_entries(statement, selection, context)

    def run() -> Entity:
        records = named_records(entries, [relation.source.topic for relation in inputs], context)
        trial = None
        if isinstance(statement, ReplayErrors):
            check_local(context)
            trial = Trial(query, alone, context.services.queries.environment, records.places)
        asked = _Asked(records, trial)
        if isinstance(bound, Pairs):
            return _add_pairs(statement.source_text, query, bound, asked, context, is_preview=is_preview)
        task = _Task(query, bound, None, context)
        span = records.span if trial is None else (0, END_MS)
        return task.run(statement.source_text, span, asked, is_preview=is_preview)

    return _action(query, run, context)


class _Asked:
    """The records of a REPLAY.

    Args:
        records: those that the processing log names.
        trial: of failed ones, or None if they were late, and nothing says which of these were put back.
    """

    def __init__(self, records: Records, trial: Trial | None) -> None:
        self.records, self._trial = records, trial
        self._waiting = 0

    def marks(self, is_done: Callable[[str, Position, int | None], bool]) -> list[Written]:
        """The entries that say which records were replayed.

        Args:
            is_done: whether nothing can change any more what a record adds: its topic, place, and time (epoch
                ms), None if it is of no use.
        """
        if self._trial is None:
            return []
        passed = [(topic, *each) for topic, places in self._trial.passed.items() for each in places.items()]
        done = [(topic, place) for topic, place, time_ms in passed if is_done(topic, place, time_ms)]
        self._waiting = len(passed) - len(done)
        return self._trial.marks(done)

    def remarks(self) -> list[str]:
        """What an answer says of the records."""
        parts = [self.records.left_alone()] if self.records.unknown else []
        if self._trial is None:
            return parts
        counts = {
            "failed again": self._trial.again,
            "gone": self._trial.gone,
            "left for later": self._waiting,
        }
        parts += (f"{counted(n, 'record')} {what}." for what, n in counts.items() if n)
        return parts


def _add_pairs(
    text: str,
    query: ManagedQuery,
    join: Pairs,
    asked: _Asked,
    context: StatementContext,
    *,
    is_preview: bool,
) -> Entity:
    """Add the pairs of a join that some records missed."""
    queries, sink = context.services.queries, query.plan.sink
    found: list[Counted] = []
    reached_ms = 0
    if any(asked.records.places.values()):
        processed = Corrections(queries, query).processed()
        found, reached_ms = compute_pairs(query, join, asked.records, processed, context)
    marks = asked.marks(lambda _, __, ms: ms is None or ms + join.closes_after_ms < reached_ms)
    additions = Additions(queries, sink.topic, [(row.record, row.pairs, row.asked) for row in found])
    added = additions.missing() if is_preview else additions.write(writer_id(query, context), marks)
    rows = [Record(r.topic, n, -1, r.timestamp_ms or 0, r.key, r.value) for n, r in enumerate(added)]
    by_place = {(row.partition, row.key): row for row in rows}
    compared = verification.compare({}, by_place, _readers(query, context))
    would = "would be added" if is_preview else "added"
    return RowsReprocessed(
        statement_text=text,
        name=sink.name,
        query_id=query.id,
        is_preview=is_preview,
        windows=0,
        open_windows=0,
        gone_windows=0,
        changed=len(added),
        removed=0,
        samples=samples_of(compared, sink, sink),
        message=" ".join(
            [f"{counted(len(added), 'row')} of {sink.name} {would}: pairs that it lacked.", *asked.remarks()]
        ),
    )


def _readers(
    query: ManagedQuery, context: StatementContext
) -> tuple[verification.RowReader, verification.RowReader]:
    """What reads the rows of a query's sink."""
    split = partial(split_key, window=query.plan.sink.window)
    pair = serdes(query.plan.sink, query.plan.records, context.services.registry)
    reader = verification.RowReader(split, *pair)
    return reader, reader


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


class _Selection:
    """Decides which rows of a table are computed again, and counts the windows that are left alone.

    Args:
        sink: the table.
        recomputation: the batch.
        computed: what it has computed.
        is_wanted: whether the row at a place is asked for.
        meeting: those of some rows that meet the statement's condition.
        kept_from_ms: by partition of the table, the time before which rows are gone.
        whole_from_ms: the time before which records of its stream are gone; 0: none are.
    """

    def __init__(
        self,
        sink: DataSource,
        recomputation: Recomputation,
        computed: Computed,
        is_wanted: Callable[[Place], bool],
        meeting: Callable[[Mapping[Place, Record]], Collection[Place]],
        kept_from_ms: Mapping[int, int],
        whole_from_ms: int,
    ) -> None:
        self._sink, self._recomputation, self.computed = sink, recomputation, computed
        self._is_wanted, self._meeting = is_wanted, meeting
        self._kept_from_ms, self._whole_from_ms = kept_from_ms, whole_from_ms
        self._first_ms = min(computed.times.values(), default=0)
        self.open: set[tuple[int, int]] = set()
        self.gone: set[tuple[int, int]] = set()
        #: where records are that were asked for, and whose rows are left alone
        self.left: set[Position] = set()

    def window(self, place: Place) -> tuple[int, int]:
        """The bounds of a row's window."""
        _, start, end = split_key(place[1] or b"", self._sink.window)
        return start, end

    def places(self, rows: Mapping[Place, Record]) -> set[Place]:
        """The places of the rows that are computed again, if the table has ``rows``."""
        there = {**{p: row for p, row in self.computed.rows.items() if row.value is not None}, **rows}
        asked, found = self.computed.asked, set[Place]()
        wanted = {*self._meeting({p: row for p, row in there.items() if self._is_wanted(p)}), *asked}
        for each in self._together({*there, *self.computed.rows}):
            if each.isdisjoint(wanted):
                continue
            if self._is_done(each):
                found |= each
            else:
                self.left.update(position for place in each for position in asked.get(place, ()))
        return found

    def _is_done(self, places: Collection[Place]) -> bool:
        """Whether rows of a wanted window, or of overlapping sessions, can be computed again."""
        recomputation, computed = self._recomputation, self.computed
        windows = {self.window(place) for place in places}
        start, end = min(s for s, _ in windows), max(e for _, e in windows)
        part = next((computed.parts[place] for place in places if place in computed.parts), -1)
        if end <= max(self._kept_from_ms.get(partition, 0) for partition, _ in places):
            return False
        if end + recomputation.closes_after_ms > computed.times.get(part, self._first_ms):
            self.open |= windows
            return False
        grace_ms = recomputation.windows.grace_ms
        if self._whole_from_ms and start - recomputation.gap_ms < self._whole_from_ms + grace_ms:
            self.gone |= windows
            return False
        return True

    def _together(self, places: Collection[Place]) -> Iterable[set[Place]]:
        """The places, those of one key together whose sessions overlap: each is wrong without the others."""
        if not self._recomputation.has_sessions:
            return [{place} for place in places]
        found: list[set[Place]] = []
        latest: tuple[object, int] | None = None
        for key, start, end, place in sorted((self._session(place) for place in places), key=lambda s: s[:3]):
            if latest is not None and latest[0] == key and start <= latest[1]:
                found[-1].add(place)
                end = max(end, latest[1])
            else:
                found.append({place})
            latest = key, end
        return found

    def _session(self, place: Place) -> tuple[tuple[int, bytes], int, int, Place]:
        key, start, end = split_key(place[1] or b"", self._sink.window)
        return (place[0], key), start, end, place


class _Task:
    """Computes the rows of one table again.

    Args:
        query: what maintains it.
        recomputation: the batch.
        condition: which keys and windows are asked for, or None for all.
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

    def run(self, text: str, span: tuple[int, int], asked: _Asked | None, *, is_preview: bool) -> Entity:
        """Answer a statement.

        Args:
            text: the statement.
            span: a time that the wanted windows overlap, epoch ms.
            asked: the records whose rows are wanted; None: all rows are.
            is_preview: whether nothing is written.
        """
        if is_preview:
            return self._run(text, span, asked, is_preview=True)
        # from the start: a key that is forgotten meanwhile would be among the rows
        with self._services.row_changes[self._sink.topic]:
            return self._run(text, span, asked, is_preview=False)

    def _run(self, text: str, span: tuple[int, int], asked: _Asked | None, *, is_preview: bool) -> Entity:
        selection = self._selection(span, None if asked is None else asked.records)
        rows = self._corrections.rows()
        done, computed = selection.places(rows), selection.computed.rows
        # in the order of their times: a set has none
        new = {place: row for place, row in computed.items() if place in done and row.value is not None}
        old = {place: row for place, row in rows.items() if place in done}
        compared = verification.compare(old, new, _readers(self._query, self._context))
        marks = asked.marks(lambda _, place, __: place not in selection.left) if asked is not None else []
        if not is_preview and (any(compared.differences) or marks):

            def replaced(rows: Mapping[Place, Record]) -> Mapping[Place, Record]:
                wanted = selection.places(rows)
                return {place: row for place, row in rows.items() if place in wanted}

            transactional_id = writer_id(self._query, self._context)
            written = self._corrections.write(replaced, new, transactional_id, marks)
            compared = compared._replace(differences=written)
        windows = {selection.window(place) for place in (*old, *new)}
        left = {
            "the query still adds to them": len(selection.open),
            "records of them are gone": len(selection.gone),
        }
        return self._answer(text, compared, len(windows), left, asked, is_preview)

    def _selection(self, span: tuple[int, int], records: Records | None) -> _Selection:
        """What is computed again; computes it."""
        query, recomputation, context = self._query, self._recomputation, self._context
        source = recomputation.input.source
        asked = None if records is None else records.places[source.topic]
        if asked is not None and not asked:
            computed = NOTHING
        else:
            processed = self._corrections.processed().get(source.topic, {})
            computed = compute(query, recomputation, span, asked, processed, context)
        first_ms, last_ms = span
        inclusive = 1 if recomputation.has_sessions else 0

        def overlaps(place: Place) -> bool:
            _, start, end = split_key(place[1] or b"", self._sink.window)
            return end + inclusive > first_ms and start < last_ms

        return _Selection(
            self._sink,
            recomputation,
            computed,
            overlaps if records is None else computed.asked.__contains__,
            self._meeting,
            self._corrections.kept_from_ms(),
            whole_from_ms(query, recomputation.input, context),
        )

    def _meeting(self, rows: Mapping[Place, Record]) -> Collection[Place]:
        """The places of the rows for which the condition is true."""
        if self._condition is None:
            return rows.keys()
        session, places = self._services.spark.session(), list(rows)
        met: set[Place] = set()
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
                met.add(some[index])
        return met

    def _answer(
        self,
        text: str,
        compared: verification.Comparison,
        windows: int,
        left: Mapping[str, int],
        asked: _Asked | None,
        is_preview: bool,
    ) -> Entity:
        changed, removed = compared.differences
        name = self._sink.name
        would = "would be " if is_preview else ""
        again = f"{counted(windows, 'window')} of {name} computed again"
        parts = [f"{again}: {counted(changed, 'row')} {would}changed, {removed:,} {would}removed."]
        parts += (f"{counted(n, 'window')} left alone: {why}." for why, n in left.items() if n)
        still_open, gone = left.values()
        parts += asked.remarks() if asked is not None else ()
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


__all__ = ["replay_errors", "replay_late_rows", "reprocess"]
