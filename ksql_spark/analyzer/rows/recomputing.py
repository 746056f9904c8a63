"""REPROCESS and REPLAY LATE ROWS: rows of a windowed table, computed again from its records (ADR 85)."""

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
from ksql_spark.analyzer.rows.traced_plans import Tracer, place
from ksql_spark.expressions import ColumnRef, Expression, Literal, columns_in
from ksql_spark.functions import registry
from ksql_spark.metastore.store import MetaStore
from ksql_spark.plan.clauses import AggregateCall, NamedExpression, SortKey, WindowSpec
from ksql_spark.plan.nodes import Aggregate, Filter, FlatMap, Node, Project, SelectKey, Sort, Source
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
        input: the stream that it reads, as one of Trace.inputs.
        root: the batch: the table's columns, the window's bounds, ROWTIME, that of the row's last record, and
            what tells the row's part (plan.distribution.Tasks): ``groups`` and PARTITION.
        rows: the rows that are grouped: ``groups``, ROWTIME, PARTITION and OFFSET.
        groups: the names of the columns with the values that rows are grouped by.
        windows: the windows of the table.
        closes_after_ms: how long after its end a window takes no record any more, in stream time.
    """

    input: Source
    root: Node
    rows: Node
    groups: tuple[str, ...]
    windows: WindowSpec
    closes_after_ms: int


#: the columns with a record's place
PARTITION, OFFSET = "__PARTITION", "__OFFSET"


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
    read = [node for node in walk(below.child) if not isinstance(node, (Filter, FlatMap, Project, SelectKey))]
    if not all(isinstance(node, Source) and not node.source.is_table for node in read) or len(read) > 1:
        _refuse(query, statement, what)
    by_arrival = any(registry.require(each.function).by_arrival for each in below.aggregates)
    tracer = Tracer(is_ordered=by_arrival, statement=what)
    carried = tracer.carried(below.child)
    rows: Node = Filter(carried, tracer.passes)
    for group in below.group_by:  # a row without a key belongs to no group
        rows = Filter(rows, call("IS NOT NULL", [group.expression], None))
    _, partition, offset = (ColumnRef(name, BIGINT) for name in place(0))
    time = ColumnRef(ROWTIME, BIGINT)
    groups = {f"__GROUP_{i}": group for i, group in enumerate(below.group_by)}
    ungrouped = [NamedExpression(name, group.expression) for name, group in groups.items()]
    ungrouped += map(NamedExpression, (ROWTIME, PARTITION, OFFSET), (time, partition, offset))
    result = _grouped(rows, tracer.arrivals if by_arrival else (), below, windows)
    if having is not None:
        result = Filter(result, having)
    bounds = [ColumnRef(name, BIGINT) for name in (*WINDOW_BOUNDS, ROWTIME, PARTITION)]
    columns = [*top.keys, *top.values, *(NamedExpression(column.name, column) for column in bounds)]
    for name, group in groups.items():
        columns.append(NamedExpression(name, ColumnRef(group.name, group.expression.type)))
    return Recomputation(
        input=tracer.inputs[0],
        root=Project(result, (), tuple(columns)),
        rows=Project(rows, (), tuple(ungrouped)),
        groups=tuple(groups),
        windows=windows,
        closes_after_ms=windows.grace_ms + (below.every_ms or 0),
    )


def _grouped(rows: Node, order: tuple[SortKey, ...], aggregate: Aggregate, windows: WindowSpec) -> Node:
    """The groups of each window over ``rows``, whose times are in ROWTIME; ``order``: in which they came."""
    advance = Literal(windows.advance_ms or windows.size_ms, BIGINT)
    below: Node = FlatMap(rows, (NamedExpression(_NUMBER, _numbers(windows.size_ms, advance)),))
    if order:
        below = Sort(below, order)
    start = call("*", [ColumnRef(_NUMBER, BIGINT), advance], None)
    end = call("+", [start, Literal(windows.size_ms, BIGINT)], None)
    bounds = (NamedExpression(WINDOWSTART, start), NamedExpression(WINDOWEND, end))
    latest = [
        AggregateCall(name, "MAX", (ColumnRef(column, BIGINT),), BIGINT)
        for name, column in ((ROWTIME, ROWTIME), (PARTITION, place(0)[1]))
    ]
    return Aggregate(below, (*aggregate.group_by, *bounds), (*aggregate.aggregates, *latest))


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
        f"{what} computes rows of closed windows again: those of a GROUP BY of one stream in TUMBLING or "
        "HOPPING windows of a fixed size.",
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
        raise invalid(f"WHERE of REPROCESS may name {shown} only.", where)
    return condition


__all__ = ["OFFSET", "PARTITION", "Recomputation", "bind_recomputation", "bind_selection"]
