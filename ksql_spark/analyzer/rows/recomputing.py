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
from ksql_spark.analyzer.rows.traced_groups import Parts, grouped, of_groups, windowed
from ksql_spark.analyzer.rows.traced_plans import place
from ksql_spark.expressions import ColumnRef, Expression, columns_in
from ksql_spark.metastore.store import MetaStore
from ksql_spark.plan.clauses import AggregateCall, NamedExpression, WindowSpec
from ksql_spark.plan.nodes import Filter, FlatMap, Node, Project, SelectKey, Source
from ksql_spark.plan.queries import PersistentQuery
from ksql_spark.plan.trees import walk
from ksql_spark.schema import PSEUDO_COLUMNS, ROWTIME, WINDOW_BOUNDS
from ksql_spark.types import BIGINT

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
    parts = Parts.of(query.root, (column.name for column in query.root.schema.columns))
    aggregate, windows = parts.aggregate, parts.window
    if aggregate is None or windows is None or windows.kind not in WINDOWS or windows.calendar is not None:
        _refuse(query, statement, what)
    read = [node for node in walk(parts.below) if not isinstance(node, (Filter, FlatMap, Project, SelectKey))]
    if not all(isinstance(node, Source) and not node.source.is_table for node in read) or len(read) > 1:
        _refuse(query, statement, what)
    tracer = parts.tracer(what)
    carried = tracer.carried(parts.below)
    rows = of_groups(Filter(carried, tracer.passes), aggregate)
    groups = {f"__GROUP_{i}": group for i, group in enumerate(aggregate.group_by)}
    of_row = dict(zip((ROWTIME, PARTITION, OFFSET), (ROWTIME, *place(0)[1:]), strict=True))
    ungrouped = [NamedExpression(name, group.expression) for name, group in groups.items()]
    ungrouped += (NamedExpression(name, ColumnRef(column, BIGINT)) for name, column in of_row.items())
    latest = [_latest(name, of_row[name]) for name in (ROWTIME, PARTITION)]
    result = grouped(windowed(rows, windows), parts, tracer, latest)
    if parts.having is not None:
        result = Filter(result, parts.having)
    columns = [*parts.outputs]
    for name in (*WINDOW_BOUNDS, ROWTIME, PARTITION):
        columns.append(NamedExpression(name, ColumnRef(name, BIGINT)))
    for name, group in groups.items():
        columns.append(NamedExpression(name, ColumnRef(group.name, group.expression.type)))
    return Recomputation(
        input=tracer.inputs[0],
        root=Project(result, (), tuple(columns)),
        rows=Project(rows, (), tuple(ungrouped)),
        groups=tuple(groups),
        windows=windows,
        closes_after_ms=windows.grace_ms + (aggregate.every_ms or 0),
    )


def _latest(name: str, column: str) -> AggregateCall:
    return AggregateCall(name, "MAX", (ColumnRef(column, BIGINT),), BIGINT)


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
