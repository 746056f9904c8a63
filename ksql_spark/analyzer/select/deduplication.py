"""De-duplication: DISTINCT ON, and QUALIFY ROW_NUMBER() OVER (…) = 1 (reference §6.13; beyond ksqlDB)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from ksql_spark.analyzer.base.clauses import RANKING
from ksql_spark.analyzer.base.failures import Placed, check_comparable, invalid
from ksql_spark.analyzer.base.scope import Scope
from ksql_spark.analyzer.expressions.binding import bind_expression
from ksql_spark.analyzer.relations.binding import From
from ksql_spark.analyzer.relations.joins import show
from ksql_spark.expressions import Expression, columns_in
from ksql_spark.grammar import nodes
from ksql_spark.metastore.sources import TABLE
from ksql_spark.schema import ROWTIME

_QUALIFY = (
    "QUALIFY takes ROW_NUMBER(), RANK() or DENSE_RANK()"
    " OVER (PARTITION BY expression, … ORDER BY expression, …) <= n"
)


@dataclass(frozen=True)
class Deduplication:
    """The first row of each key.

    Args:
        keys: expressions over the columns of FROM.
        within_ms: how long a key is remembered; None: forever.
        clause: the clause that asks for it, for messages.
        place: where that clause is.
    """

    keys: tuple[Expression, ...]
    within_ms: int | None
    clause: str
    place: exp.Expr


def bind_deduplication(select: nodes.Select, source: From) -> Deduplication | None:
    """Bind DISTINCT ON or QUALIFY of ``select``; return None without them.

    Raises:
        KsqlError: INVALID_STATEMENT, or as bind_expression.
    """
    if select.qualify is not None:
        if select.distinct_on:
            raise invalid("A query has DISTINCT ON or QUALIFY, not both.", select.qualify)
        clause, at, written = "QUALIFY", select.qualify, row_number(select)[0].partition_by
    elif select.distinct_on:
        clause, at, written = "DISTINCT ON", select.distinct_on[0], select.distinct_on
    else:
        return None
    if source.tree.kind == TABLE:
        raise invalid(
            f"{clause} is for streams: a table already has one row for each key.", at,
            hint="Use GROUP BY.",
        )  # fmt: skip
    keys = bind_keys(written, source.scope.at(clause))
    within_ms = select.within.milliseconds if select.within is not None else None
    return Deduplication(keys, within_ms, clause, at)


def bind_keys(written: Sequence[exp.Expr], scope: Scope) -> tuple[Expression, ...]:
    """The expressions whose values make the groups of rows.

    Raises:
        KsqlError: INVALID_STATEMENT, or as bind_expression.
    """
    keys = []
    for node in written:
        key = bind_expression(node, scope)
        shown = show(key, scope)
        if not columns_in(key):
            raise invalid(f"{scope.clause} needs expressions over columns, got {shown}.", node)
        check_comparable(key.type, scope.clause, f"{shown} ({key.type})", node)
        keys.append(key)
    return tuple(keys)


def refuse_within_alone(select: nodes.Select) -> None:
    """Refuse WITHIN after FROM in a query that has nothing to forget.

    Raises:
        KsqlError: INVALID_STATEMENT.
    """
    has_over = any(
        isinstance(item, exp.Expr) and item.find(nodes.WindowFunction) is not None for item in select.items
    )
    if select.join_within is not None:
        raise invalid(
            "WITHIN after FROM takes one duration.", select.join_within,
            hint="Two bounds and GRACE PERIOD are for joins, and for sub-queries of EXISTS and IN.",
        )  # fmt: skip
    if select.within is not None and select.qualify is None and not select.distinct_on and not has_over:
        is_join = isinstance(select.relation, nodes.Join)
        raise invalid(
            "WITHIN after FROM is for DISTINCT ON, QUALIFY and OVER.", select.within,
            hint="WITHIN of a join comes before its ON." if is_join else None,
        )  # fmt: skip


def row_number(select: nodes.Select) -> tuple[nodes.WindowFunction, int]:
    """The ROW_NUMBER(), RANK() or DENSE_RANK() of QUALIFY, and the greatest number that passes.

    Raises:
        KsqlError: INVALID_STATEMENT.
    """
    assert select.qualify is not None
    first_rows = _first_rows(select.qualify, select)
    function = first_rows[0] if first_rows is not None else None
    if first_rows is None or function is None or function.this.name not in RANKING:
        at: Placed = select.qualify if function is None else function.this.this
        raise invalid(
            f"{_QUALIFY}.", at, hint="Put other conditions into the WHERE of this query or of one around it."
        )
    check_plain(function)
    for what, clause in (("PARTITION BY", function.partition_by), ("ORDER BY", function.order_by)):
        if not clause:
            raise invalid(f"{_QUALIFY}: {what} is missing.", function)
    return first_rows


def check_plain(function: nodes.WindowFunction) -> None:
    """Refuse arguments and frames of ROW_NUMBER, RANK and DENSE_RANK.

    Raises:
        KsqlError: INVALID_STATEMENT.
    """
    call = function.this
    if call.arguments or call.distinct or call.condition is not None:
        raise invalid(f"{call.name} takes no arguments and no FILTER.", call)
    if function.frame is not None:
        raise invalid(f"{call.name} has no ROWS.", function.frame)


def _first_rows(condition: exp.Expr, select: nodes.Select) -> tuple[nodes.WindowFunction, int] | None:
    """``f`` and ``n`` of ``f <= n``, ``f < n + 1``, ``f = 1``, or these the other way round.

    ``f`` may be the name that it has in SELECT.
    """
    if isinstance(condition, exp.Paren):
        return _first_rows(condition.this, select)
    if not isinstance(condition, exp.EQ | exp.LTE | exp.LT | exp.GTE | exp.GT):
        return None
    left, right = condition.this, condition.expression
    upper = isinstance(condition, exp.GTE | exp.GT)
    if upper or (isinstance(condition, exp.EQ) and isinstance(left, nodes.IntegerLiteral)):
        left, right = right, left
    if isinstance(left, exp.Column) and not left.table:
        named = (i for i in select.items if isinstance(i, nodes.SelectItem) and i.alias_name == left.name)
        left = next((item.this for item in named), left)
    if not isinstance(left, nodes.WindowFunction) or not isinstance(right, nodes.IntegerLiteral):
        return None
    most = right.value - (1 if isinstance(condition, exp.LT | exp.GT) else 0)
    return None if most < 1 or (isinstance(condition, exp.EQ) and most != 1) else (left, most)


def is_rowtime(item: nodes.OrderItem, source: From) -> bool:
    """Whether rows are to be in the order of their times."""
    column = item.this
    if item.descending or not isinstance(column, exp.Column) or column.name != ROWTIME:
        return False
    return not column.table or (not source.is_join and column.table == source.relations[0].alias)
