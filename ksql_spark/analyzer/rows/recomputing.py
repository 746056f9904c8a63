"""REPROCESS and REPLAY LATE ROWS: rows of a windowed table, computed again from its records (ADR 85)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from sqlglot import exp

from ksql_spark.analyzer.base.failures import invalid
from ksql_spark.analyzer.base.scope import BoundRelation, Scope
from ksql_spark.analyzer.base.settings import is_ansi
from ksql_spark.analyzer.expressions.binding import bind_predicate
from ksql_spark.analyzer.expressions.calls import call
from ksql_spark.analyzer.rows.traced_groups import Parts, grouped, of_groups, windowed
from ksql_spark.analyzer.rows.traced_plans import Tracer, added, place
from ksql_spark.expressions import Case, ColumnRef, Expression, Literal, columns_in
from ksql_spark.grammar.statements.lifecycle import ReplayLateRows
from ksql_spark.metastore.sources import DataSource
from ksql_spark.metastore.store import MetaStore
from ksql_spark.plan.clauses import AggregateCall, NamedExpression, WindowSpec
from ksql_spark.plan.nodes import Filter, FlatMap, Node, Project, SelectKey, Source
from ksql_spark.plan.queries import PersistentQuery
from ksql_spark.plan.trees import walk
from ksql_spark.schema import NULL_VALUE, PSEUDO_COLUMNS, ROWTIME, WINDOW_BOUNDS
from ksql_spark.types import BIGINT, BOOLEAN, Array

#: the windows whose rows can be computed again
_WINDOWS = ("TUMBLING", "HOPPING", "SESSION")
#: the columns with a record's place, and with the places of a row's records that are asked for
PARTITION, OFFSET, ASKED = "__PARTITION", "__OFFSET", "__ASKED"
_PLACES = Array(Array(BIGINT))


@dataclass(frozen=True)
class Recomputation:
    """A batch that computes the rows of a windowed table from the records that its query reads.

    Args:
        input: the stream that it reads, as one of Trace.inputs.
        root: the batch: the table's columns, the window's bounds, ROWTIME, that of the row's last record,
            NULL_VALUE, whether HAVING is not true, ASKED, and what tells the row's part
            (plan.distribution.Tasks): ``groups`` and PARTITION.
        rows: the rows that are grouped: ``groups``, ROWTIME, PARTITION and OFFSET.
        alone: what the query computes of each record before the aggregate.
        groups: the names of the columns with the values that rows are grouped by.
        windows: the windows of the table.
        every_ms: how long after a window's end its last result may be written, in stream time.
    """

    input: Source
    root: Node
    rows: Node
    alone: Node
    groups: tuple[str, ...]
    windows: WindowSpec
    every_ms: int

    @property
    def has_sessions(self) -> bool:
        """Whether windows are sessions, which have no fixed size, and which records join."""
        return self.windows.kind == "SESSION"

    @property
    def gap_ms(self) -> int:
        """How far from the window a record may be that changes its bounds."""
        return self.windows.size_ms if self.has_sessions else 0

    @property
    def closes_after_ms(self) -> int:
        """How long after its end a window takes no record any more, in stream time."""
        is_after = 1 if self.has_sessions else 0
        return self.gap_ms + self.windows.grace_ms + self.every_ms + is_after


def is_recomputable(query: PersistentQuery) -> bool:
    """Whether bind_recomputation knows how to compute the rows of a query again."""
    parts = Parts.of(query.root, (column.name for column in query.root.schema.columns))
    windows = parts.window
    if windows is None or windows.kind not in _WINDOWS or windows.calendar is not None:
        return False
    read = [node for node in walk(parts.below) if not isinstance(node, (Filter, FlatMap, Project, SelectKey))]
    return len(read) == 1 and isinstance(read[0], Source) and not read[0].source.is_table


def bind_recomputation(query: PersistentQuery, statement: exp.Expr, what: str) -> Recomputation:
    """The batch for all rows of ``query``.

    Args:
        query: the query.
        statement: where errors are shown.
        what: the words of the statement, for errors.

    Raises:
        KsqlError: INVALID_STATEMENT if its rows cannot be computed again while it runs.
    """
    if not is_recomputable(query):
        _refuse(query, statement, what)
    parts = Parts.of(query.root, (column.name for column in query.root.schema.columns))
    aggregate, windows = parts.aggregate, parts.window
    assert aggregate is not None and windows is not None
    tracer = Tracer(is_ordered=parts.is_ordered, statement=what, asks=True)
    carried = tracer.carried(parts.below)
    rows = of_groups(Filter(carried, tracer.passes), aggregate)
    groups = {f"__GROUP_{i}": group for i, group in enumerate(aggregate.group_by)}
    of_row = dict(zip((ROWTIME, PARTITION, OFFSET), (ROWTIME, *place(0)[1:]), strict=True))
    ungrouped = [NamedExpression(name, group.expression) for name, group in groups.items()]
    ungrouped += (NamedExpression(name, ColumnRef(column, BIGINT)) for name, column in of_row.items())
    more = [
        AggregateCall(name, "MAX", (ColumnRef(of_row[name], BIGINT),), BIGINT)
        for name in (ROWTIME, PARTITION)
    ]
    at = call("ARRAY", [ColumnRef(column, BIGINT) for column in place(0)[1:]], None)
    is_asked = ColumnRef(added(0).is_asked, BOOLEAN)
    more.append(AggregateCall(ASKED, "COLLECT_LIST", (at,), _PLACES, condition=is_asked))
    result = grouped(windowed(rows, aggregate), parts, tracer, more)
    columns = [*parts.outputs, NamedExpression(NULL_VALUE, _is_not(parts.having))]
    for name in (*WINDOW_BOUNDS, ROWTIME, PARTITION):
        columns.append(NamedExpression(name, ColumnRef(name, BIGINT)))
    columns.append(NamedExpression(ASKED, ColumnRef(ASKED, _PLACES)))
    for name, group in groups.items():
        columns.append(NamedExpression(name, ColumnRef(group.name, group.expression.type)))
    before = [group.expression for group in aggregate.group_by]
    before += (argument for each in aggregate.aggregates for argument in each.inputs)
    return Recomputation(
        input=tracer.inputs[0],
        root=Project(result, (), tuple(columns)),
        rows=Project(rows, (), tuple(ungrouped)),
        alone=alone(parts.below, before),
        groups=tuple(groups),
        windows=windows,
        every_ms=aggregate.every_ms or 0,
    )


def alone(node: Node, expressions: Iterable[Expression]) -> Node:
    """What a query computes of each record alone: ``node``, which keeps no state, and ``expressions``."""
    return Project(node, (), tuple(NamedExpression(f"__{i}", each) for i, each in enumerate(expressions)))


def _is_not(having: Expression | None) -> Expression:
    """Whether a condition is not true."""
    no, yes = Literal(False, BOOLEAN), Literal(True, BOOLEAN)
    return no if having is None else Case(((having, no),), yes, BOOLEAN)


def _refuse(query: PersistentQuery, statement: exp.Expr, what: str) -> NoReturn:
    name = query.sink.name
    if not query.sink.is_table:
        raise invalid(
            f"{what} is for tables: rows that the stream {name} has written cannot be taken back.", statement
        )
    raise invalid(
        f"{what} computes rows of closed windows again: those of a GROUP BY of one stream in SESSION "
        "windows, or TUMBLING or HOPPING windows of a fixed size.",
        statement,
        hint=other_way(query.sink, are_late=isinstance(statement, ReplayLateRows)),
    )


def other_way(sink: DataSource, *, are_late: bool = False) -> str:
    """How all rows of a query are computed again.

    Args:
        sink: what it writes.
        are_late: whether the rows are wanted that came too late: they would do so again.
    """
    longer = " with a longer GRACE PERIOD" if are_late and sink.window is not None else ""
    if not sink.is_table:
        again = f"CREATE STREAM … WITH (START = 'earliest') AS the same SELECT{longer}"
        return f"{again} computes all rows of the records that are there, as another stream."
    again = f"CREATE OR REPLACE TABLE {sink.name} WITH (EVOLVE = 'backfill') AS the same SELECT{longer}"
    return f"{again} computes all rows of the records that are there, and writes those that differ."


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


__all__ = [
    "ASKED", "OFFSET", "PARTITION", "Recomputation", "alone", "bind_recomputation", "bind_selection",
    "is_recomputable", "other_way",
]  # fmt: skip
