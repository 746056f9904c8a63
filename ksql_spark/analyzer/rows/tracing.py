"""EXPLAIN ROW and EXPLAIN MISSING ROW: trace the rows of a query to records (beyond ksqlDB)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from ksql_spark.analyzer.base.failures import invalid
from ksql_spark.analyzer.base.scope import BoundRelation, Scope
from ksql_spark.analyzer.base.settings import is_ansi
from ksql_spark.analyzer.expressions.binding import bind_predicate
from ksql_spark.analyzer.expressions.calls import call
from ksql_spark.analyzer.rows.traced_groups import Parts, grouped, of_groups, windowed
from ksql_spark.analyzer.rows.traced_plans import (
    Tracer,
    all_of,
    any_of,
    is_ordered_by,
    kept_column,
    place,
    replaced,
    step,
    with_columns,
)
from ksql_spark.expressions import Case, ColumnRef, Expression, Literal, columns_in
from ksql_spark.metastore.sources import STREAM, TABLE
from ksql_spark.metastore.store import MetaStore
from ksql_spark.plan.clauses import NamedExpression, call_texts, written_out
from ksql_spark.plan.nodes import Aggregate, Filter, Node, Project, Source, UnionAll
from ksql_spark.plan.queries import PersistentQuery
from ksql_spark.plan.trees import walk
from ksql_spark.schema import (
    LATEST_TIME_MS,
    PSEUDO_COLUMNS,
    ROWOFFSET,
    ROWPARTITION,
    ROWTIME,
    WINDOW_BOUNDS,
    WINDOWEND,
    Column,
)
from ksql_spark.types import BIGINT, BOOLEAN, Decimal, Primitive


@dataclass(frozen=True)
class Trace:
    """A batch query that finds the records behind the rows of a stream or table.

    Args:
        inputs: the streams and tables that the query reads, as the batch does. The frame of each has the
            columns ``added`` besides those of its schema.
        root: the batch: for each input ``place``, NULL where no record of it is part of the row, then
            ``step`` for each of ``steps``, of all rows that belong to the wanted ones.
        steps: for each step why it drops a row, in the order in which the query takes them.
        having: the condition of HAVING.
        is_aggregate: whether a row can be made of many records.
        is_windowed: whether these are spread over windows, for which a record can be too late.
        joins_versions: whether a stream is joined with a table, which had another row at other times.
        is_ordered: whether the rows depend on the order in which the query has taken the records.
        ttl_ms: how long after its last change a row is deleted.
    """

    inputs: tuple[Source, ...]
    root: Node
    steps: tuple[str, ...]
    having: str | None
    is_aggregate: bool
    is_windowed: bool
    joins_versions: bool
    is_ordered: bool
    ttl_ms: int | None


@dataclass(frozen=True)
class RowOfSink:
    """A row of a query's result as its topic has it.

    Args:
        columns: its columns by name, in the formats' Python form.
        time_ms: its event time.
        window: the bounds of its window; None without one.
    """

    columns: Mapping[str, Any]
    time_ms: int
    window: tuple[int, int] | None = None


@dataclass(frozen=True)
class Effect:
    """A batch query with the rows of one SELECT of a query's result, from complete inputs.

    Args:
        inputs: as of a Trace.
        root: it has ``columns``.
        columns: the result's columns, under the names that they have in the sink, and the window's bounds.
        identity: the names of the columns that identify a row: of a table its key, of a stream all.
    """

    inputs: tuple[Source, ...]
    root: Node
    columns: tuple[Column, ...]
    identity: tuple[str, ...]


def bind_traces(
    query: PersistentQuery, where: exp.Expr, metastore: MetaStore, config: Mapping[str, Any]
) -> tuple[Trace, ...]:
    """The traces of the rows of a query's result for which ``where`` is true: one for each SELECT.

    Raises:
        KsqlError: the condition is invalid, or the query has a step whose rows cannot be traced.
    """
    root = query.root
    relation = BoundRelation(query.sink.name, root.schema, root.kind, hidden=dict(PSEUDO_COLUMNS))
    scope = Scope((relation,), types=metastore.types(), ansi=is_ansi(config)).at("WHERE")
    return _traces(query, bind_predicate(where, scope), where)


def traces_of_rows(query: PersistentQuery, rows: Iterable[RowOfSink]) -> tuple[Trace, ...]:
    """The traces of rows that were read from the topic that a query writes.

    Raises:
        KsqlError: the query has a step whose rows cannot be traced.
    """
    conditions = [_condition(query, row) for row in rows]
    return _traces(query, any_of(conditions))


def traces_of_all(query: PersistentQuery) -> tuple[Trace, ...]:
    """The traces of all rows of a query's result.

    Raises:
        KsqlError: the query has a step whose rows cannot be traced.
    """
    return _traces(query, Literal(True, BOOLEAN))


def _condition(query: PersistentQuery, row: RowOfSink) -> Expression:
    """A condition on the columns of the query's result that its row with these values meets."""
    selects = [Parts.of(select, _names(query)) for select in _selects(query)]
    is_aggregate = any(parts.aggregate is not None for parts in selects)
    wanted = {column.name for column in query.root.schema.key}
    if query.root.kind == STREAM and not is_aggregate:
        # others may have another value now: they are computed
        wanted |= {
            item.name
            for item in selects[0].outputs
            if all(
                isinstance(o.expression, ColumnRef) for s in selects for o in s.outputs if o.name == item.name
            )
        }
    columns = zip(query.root.schema.columns, query.sink.schema.columns, strict=True)
    times: list[Expression] = []
    time = ColumnRef(ROWTIME, BIGINT)
    if row.window is not None and is_aggregate:
        start, end = row.window
        window = next(s.aggregate.window_spec for s in selects if s.aggregate and s.aggregate.window_spec)
        last = end if window.kind in ("SESSION", "SLIDING") else end - 1
        times = [call("BETWEEN", [time, Literal(start, BIGINT), Literal(last, BIGINT)], None)]
    elif query.root.kind == STREAM and query.sink.time_column is None:
        times = [call("=", [time, Literal(row.time_ms, BIGINT)], None)]
    conditions = [
        _equals(ColumnRef(column.name, column.type), row.columns.get(written.name))
        for column, written in columns
        if column.name in wanted and isinstance(column.type, (Primitive, Decimal))
    ]
    everything = [Literal(True, BOOLEAN), *conditions, *times]
    return all_of(everything)


def _equals(column: ColumnRef, value: Any) -> Expression:
    if value is None:
        return call("IS NULL", [column], None)
    return call("=", [column, Literal(value, column.type)], None)


def _names(query: PersistentQuery) -> list[str]:
    return [column.name for column in query.root.schema.columns]


def _selects(query: PersistentQuery) -> Sequence[Node]:
    return query.root.children if isinstance(query.root, UnionAll) else (query.root,)


def _traces(
    query: PersistentQuery, condition: Expression, where: exp.Expr | None = None
) -> tuple[Trace, ...]:
    return tuple(_trace(Parts.of(select, _names(query)), condition, where) for select in _selects(query))


def _trace(parts: Parts, condition: Expression, where: exp.Expr | None) -> Trace:
    aggregate = parts.aggregate
    condition = replaced(condition, {item.name: item.expression for item in parts.outputs})
    if aggregate is not None:
        groups = {group.name: group.expression for group in aggregate.group_by}
        others = columns_in(condition) - groups.keys() - set(PSEUDO_COLUMNS)
        if others:
            keys = ", ".join(i.name for i in parts.outputs if columns_in(i.expression) <= groups.keys())
            reason = f"WHERE may name the key ({keys}) and {ROWTIME}: other columns are made of many records."
            raise invalid(reason, where)
        condition = replaced(condition, groups)
    tracer = Tracer(is_ordered=any(map(is_ordered_by, walk(parts.below))))
    carried = tracer.carried(parts.below)
    there = {column.name: column for column in carried.schema.columns}
    lost = {ROWPARTITION, ROWOFFSET} & columns_in(condition) - there.keys()
    if lost:
        raise invalid(f"The rows come of several records, so they have no {min(lost)}.", where)
    tracer.check(condition)
    rows = tracer.with_frames(carried, condition) if tracer.frames else Filter(carried, condition)
    names_of_result = [name for i, _ in enumerate(tracer.inputs) for name in place(i)]
    names_of_result += map(step, range(len(tracer.steps)))
    return Trace(
        inputs=tuple(tracer.inputs),
        root=Project(rows, (), tuple(kept_column(there[name]) for name in names_of_result)),
        steps=tuple(tracer.steps),
        having=_text(parts.having, aggregate),
        is_aggregate=aggregate is not None,
        is_windowed=aggregate is not None and aggregate.window_spec is not None,
        joins_versions=tracer.joins_versions,
        is_ordered=tracer.is_ordered,
        ttl_ms=parts.ttl_ms,
    )


def windows_of(query: PersistentQuery, time_ms: int) -> list[tuple[int, int]] | None:
    """The bounds of the windows of a query's aggregate that take a record of this time; [] without windows.

    Sessions, which depend on other records, are one window of all times. None: they cannot be computed.
    """
    aggregates = [Parts.of(select, ()).aggregate for select in _selects(query)]
    window = next((a.window_spec for a in aggregates if a is not None and a.window_spec is not None), None)
    if window is None:
        return []
    if window.kind == "SESSION":
        return [(0, LATEST_TIME_MS)]
    if window.kind not in ("HOPPING", "TUMBLING"):
        return None
    if window.calendar is not None:
        return [window.calendar.bounds_ms(time_ms)]
    size, step_ms = window.size_ms, window.advance_ms or window.size_ms
    last = time_ms - time_ms % step_ms
    starts = range(last, max(time_ms - size, -1), -step_ms)
    return [(start, start + size) for start in reversed(starts)]


def bind_effects(query: PersistentQuery, windows: Sequence[tuple[int, int]]) -> tuple[Effect, ...]:
    """What computes the result of a query from its inputs; of windows only the given ones, but all sessions.

    Raises:
        KsqlError: the query has a step that cannot be traced.
    """
    return tuple(_effect(query, Parts.of(select, _names(query)), windows) for select in _selects(query))


def _effect(query: PersistentQuery, parts: Parts, windows: Sequence[tuple[int, int]]) -> Effect:
    aggregate = parts.aggregate
    tracer = Tracer(is_ordered=parts.is_ordered, computes=True)
    carried = tracer.carried(parts.below)
    rows: Node = Filter(carried, tracer.passes)
    columns = [
        Column(written.name, column.type)
        for column, written in zip(query.root.schema.columns, query.sink.schema.columns, strict=True)
    ]
    named = zip(columns, parts.outputs, strict=True)
    items = [NamedExpression(column.name, item.expression) for column, item in named]
    identity = [column.name for column in columns]
    if query.root.kind == TABLE:
        identity = [column.name for column in query.sink.schema.key]
    there = {column.name: column for column in rows.schema.columns}
    if aggregate is None:
        tracer.check(*(item.expression for item in items))
        bounds = [there[name] for name in WINDOW_BOUNDS if name in there and query.root.window is not None]
        items += map(kept_column, bounds)
        identity += (column.name for column in bounds)
        if query.root.kind == STREAM and query.sink.time_column is None:
            bounds.append(Column(ROWTIME, BIGINT))
            items.append(kept_column(there[ROWTIME]))
            identity.append(ROWTIME)
        root: Node = Project(rows, (), tuple(items))
        return Effect(tuple(tracer.inputs), root, (*columns, *bounds), tuple(identity))
    tracer.check(
        *(group.expression for group in aggregate.group_by),
        *(a for c in aggregate.aggregates for a in c.arguments),
    )
    if parts.window is not None:
        columns += (Column(name, BIGINT) for name in WINDOW_BOUNDS)
        items += map(kept_column, columns[-2:])
        identity += WINDOW_BOUNDS
    rows = of_groups(rows, aggregate)
    if parts.window is not None and parts.window.calendar is not None:
        rows = Filter(_in_calendar(rows, windows), call("IS NOT NULL", [ColumnRef(WINDOWEND, BIGINT)], None))
    elif parts.window is not None:
        rows = windowed(rows, aggregate)
        if parts.window.kind != "SESSION":
            rows = Filter(rows, any_of([_is_window(bounds) for bounds in windows]))
    result = grouped(rows, parts, tracer)
    if parts.having is not None:
        result = Filter(result, parts.having)
    return Effect(tuple(tracer.inputs), Project(result, (), tuple(items)), tuple(columns), tuple(identity))


def _in_calendar(rows: Node, windows: Sequence[tuple[int, int]]) -> Node:
    """The rows with the bounds of their window, which is one of ``windows``; of others NULL."""
    time = ColumnRef(ROWTIME, BIGINT)
    inside = [
        call("BETWEEN", [time, Literal(start, BIGINT), Literal(end - 1, BIGINT)], None)
        for start, end in windows
    ]
    bounds = []
    for name, times in zip(WINDOW_BOUNDS, zip(*windows, strict=True), strict=True):
        cases = zip(inside, (Literal(ms, BIGINT) for ms in times), strict=True)
        bounds.append(NamedExpression(name, Case(tuple(cases), Literal(None, BIGINT), BIGINT)))
    return with_columns(rows, bounds)


def _is_window(bounds: tuple[int, int]) -> Expression:
    sides = zip(WINDOW_BOUNDS, bounds, strict=True)
    return all_of([call("=", [ColumnRef(n, BIGINT), Literal(ms, BIGINT)], None) for n, ms in sides])


def _text(having: Expression | None, aggregate: Aggregate | None) -> str | None:
    """HAVING with the calls of aggregates in place of their columns."""
    if having is None or aggregate is None:
        return None
    return str(written_out(having, call_texts(aggregate.aggregates)))


__all__ = [
    "Effect", "RowOfSink", "Trace", "bind_effects", "bind_traces", "traces_of_all", "traces_of_rows",
    "windows_of",
]  # fmt: skip
