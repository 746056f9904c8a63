"""REPROCESS and REPLAY LATE ROWS: rows of a windowed table, computed again from its records (ADR 88)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from sqlglot import exp

from ksql_spark.analyzer.base.failures import invalid
from ksql_spark.analyzer.base.scope import BoundRelation, Scope
from ksql_spark.analyzer.base.settings import is_ansi
from ksql_spark.analyzer.expressions.binding import bind_predicate
from ksql_spark.analyzer.expressions.calls import call
from ksql_spark.analyzer.rows.traced_plans import Tracer, is_ordered_by
from ksql_spark.errors import KsqlError
from ksql_spark.expressions import ColumnRef, Expression, Literal, columns_in
from ksql_spark.functions import registry
from ksql_spark.metastore.store import MetaStore
from ksql_spark.plan.clauses import AggregateCall, NamedExpression, WindowSpec
from ksql_spark.plan.nodes import Aggregate, Filter, FlatMap, Node, Project, Sort, Source
from ksql_spark.plan.queries import PersistentQuery
from ksql_spark.plan.trees import walk
from ksql_spark.schema import PSEUDO_COLUMNS, ROWTIME, WINDOW_BOUNDS, WINDOWEND, WINDOWSTART
from ksql_spark.types import BIGINT

#: the column with the number of a row's window
_NUMBER = "__WINDOW"
#: the windows whose rows can be computed again
WINDOWS = ("TUMBLING", "HOPPING")


@dataclass(frozen=True)
class Recomputation:
    """A batch that computes the rows of a windowed table from the records that its query reads.

    Args:
        inputs: the streams and tables that it reads, as Trace.inputs.
        root: the batch: the table's columns, the window's bounds, and ROWTIME, that of the row's last record.
        windows: the windows of the table.
        closes_after_ms: how long after its end a window takes no record any more, in stream time.
        is_local: whether the records of a row have times in its window: of a join or DISTINCT ON, or of a
            table, others can decide, too.
    """

    inputs: tuple[Source, ...]
    root: Node
    windows: WindowSpec
    closes_after_ms: int
    is_local: bool


def bind_recomputation(query: PersistentQuery, statement: exp.Expr, what: str) -> Recomputation:
    """The batch for all rows of ``query``.

    Args:
        query: the query.
        statement: where errors are shown.
        what: the words of the statement, for errors.

    Raises:
        KsqlError: INVALID_STATEMENT if its rows cannot be computed again while it runs.
    """
    top = query.root
    if not isinstance(top, Project):
        _refuse(query, statement, what)
    below, having = top.child, None
    if isinstance(below, Filter) and isinstance(below.child, Aggregate):
        having, below = below.predicate, below.child
    if not isinstance(below, Aggregate) or below.window_spec is None:
        _refuse(query, statement, what)
    windows = below.window_spec
    if windows.kind not in WINDOWS or windows.calendar is not None:
        _refuse(query, statement, what)
    is_ordered = any(map(is_ordered_by, walk(below.child)))
    by_arrival = any(registry.require(each.function).by_arrival for each in below.aggregates)
    tracer = Tracer(is_ordered=is_ordered or by_arrival, statement=what)
    carried = tracer.carried(below.child)
    if tracer.frames:
        raise invalid(f"{what} does not support OVER below the groups yet.", statement)
    rows: Node = Filter(carried, tracer.passes)
    if by_arrival:
        rows = Sort(rows, tracer.arrivals)
    result = _grouped(rows, below, windows)
    if having is not None:
        result = Filter(result, having)
    bounds = [ColumnRef(name, BIGINT) for name in (*WINDOW_BOUNDS, ROWTIME)]
    columns = (*top.keys, *top.values, *(NamedExpression(column.name, column) for column in bounds))
    single = tracer.inputs[0] if len(tracer.inputs) == 1 else None
    return Recomputation(
        inputs=tuple(tracer.inputs),
        root=Project(result, (), columns),
        windows=windows,
        closes_after_ms=windows.grace_ms + (below.every_ms or 0),
        is_local=single is not None and not single.source.is_table and not is_ordered,
    )


def _grouped(rows: Node, aggregate: Aggregate, windows: WindowSpec) -> Node:
    """The groups of each window over ``rows``, whose times are in ROWTIME."""
    order, below = (rows.by, rows.child) if isinstance(rows, Sort) else ((), rows)
    for group in aggregate.group_by:  # a row without a key belongs to no group
        below = Filter(below, call("IS NOT NULL", [group.expression], None))
    advance = Literal(windows.advance_ms or windows.size_ms, BIGINT)
    below = FlatMap(below, (NamedExpression(_NUMBER, _numbers(windows.size_ms, advance)),))
    if order:
        below = Sort(below, order)
    start = call("*", [ColumnRef(_NUMBER, BIGINT), advance], None)
    end = call("+", [start, Literal(windows.size_ms, BIGINT)], None)
    latest = AggregateCall(ROWTIME, "MAX", (ColumnRef(ROWTIME, BIGINT),), BIGINT)
    bounds = (NamedExpression(WINDOWSTART, start), NamedExpression(WINDOWEND, end))
    return Aggregate(below, (*aggregate.group_by, *bounds), (*aggregate.aggregates, latest))


def _numbers(size_ms: int, advance: Literal) -> Expression:
    """The numbers of the windows of a row with the time ROWTIME: 0 begins in 1970. (As in Kafka Streams.)"""
    time = ColumnRef(ROWTIME, BIGINT)
    earliest = call("-", [time, Literal(size_ms - advance.value, BIGINT)], None)
    earliest = call("GREATEST", [earliest, Literal(0, BIGINT)], None)
    return call("GENERATE_SERIES", [call("/", [at, advance], None) for at in (earliest, time)], None)


def _refuse(query: PersistentQuery, statement: exp.Expr, what: str) -> NoReturn:
    name = query.sink.name
    if not query.sink.is_table:
        raise invalid(
            f"{what} is for tables: rows that the stream {name} has written cannot be taken back.", statement
        )
    raise invalid(
        f"{what} computes rows of closed windows again: of a table with one GROUP BY in TUMBLING or HOPPING "
        f"windows of a fixed size.",
        statement,
        hint=f"CREATE OR REPLACE TABLE {name} WITH (EVOLVE = 'backfill') AS the same SELECT computes all "
        "rows again, and writes those that differ.",
    )


def bind_selection(
    query: PersistentQuery, where: exp.Expr, metastore: MetaStore, config: Mapping[str, Any]
) -> Expression:
    """The condition of REPROCESS, over the key and the window of the table's rows.

    Raises:
        KsqlError: INVALID_STATEMENT; it names other columns.
    """
    schema, hidden = query.root.schema, dict(WINDOW_BOUNDS)
    relation = BoundRelation(query.sink.name, schema, query.root.kind, hidden=PSEUDO_COLUMNS | hidden)
    scope = Scope((relation,), types=metastore.types(), ansi=is_ansi(config)).at("WHERE")
    condition = bind_predicate(where, scope)
    keys = [column.name for column in schema.key]
    if columns_in(condition) - {*keys, *hidden}:
        shown = ", ".join([*keys, *hidden])
        raise KsqlError("INVALID_STATEMENT", reason=f"WHERE of REPROCESS may name {shown} only.")
    return condition


__all__ = ["Recomputation", "bind_recomputation", "bind_selection"]
