"""The parts of a SELECT that are bound alike in streaming and pull queries: its items, ``*`` and GROUP BY.

selects.py then determines keys, for streaming queries; batch.py needs none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from ksql_spark.analyzer.base.failures import check_comparable, invalid, placed_at
from ksql_spark.analyzer.base.naming import Names, item_name
from ksql_spark.analyzer.base.scope import BoundRelation, Scope
from ksql_spark.analyzer.expressions.aggregates import Aggregates
from ksql_spark.analyzer.expressions.binding import (
    bind_arguments,
    bind_expression,
    refuse_nested,
    struct_fields,
)
from ksql_spark.analyzer.expressions.calls import call, typed_null
from ksql_spark.analyzer.relations.joins import show
from ksql_spark.expressions import ColumnRef, Expression
from ksql_spark.functions.postgres.times import as_interval
from ksql_spark.grammar import nodes
from ksql_spark.plan.clauses import NamedExpression
from ksql_spark.schema import WINDOW_BOUNDS
from ksql_spark.types import STRING, Null, contains_interval, contains_variant

#: prefix of the columns with results of table functions
_SYNTHETIC = "KSQL_SYNTH_"


@dataclass(frozen=True)
class Item:
    """One output column: its name, its expression over the nodes below, its syntax node."""

    name: str
    expression: Expression
    node: exp.Expr | None


def bind_items(
    select: nodes.Select,
    scope: Scope,
    names: Names,
    is_ambiguous: Callable[[str], bool] = lambda name: False,
) -> list[Item | nodes.AllColumns]:
    """The items of ``select`` in order: ``s->*`` is expanded, ``*`` is left to the caller.

    Args:
        select: the query.
        scope: the names that its items may use.
        names: generates names.
        is_ambiguous: whether several relations have a column of a name.

    Raises:
        KsqlError: an unknown name, a reserved alias, or as bind_expression.
    """
    items: list[Item | nodes.AllColumns] = []
    for node in select.items:
        match node:
            case nodes.AllColumns():
                if node.source_name is not None:
                    scope.relation(node.source_name, node)
                items.append(node)
            case nodes.AllFields():
                items += (Item(names.field(name), value, node) for name, value in struct_fields(node, scope))
            case nodes.SelectItem():
                bound = bind_expression(node.this, scope)
                if scope.untyped:
                    bound = typed_null(bound, STRING)
                if scope.postgres and contains_interval(bound.type):
                    bound = _interval(bound, node)
                name = _merged_name(node, scope) or item_name(
                    node, bound, names, is_ambiguous, is_free=scope.postgres
                )
                items.append(Item(name, bound, node))
    return items


def _interval(bound: Expression, node: exp.Expr) -> Expression:
    """A difference of times as PostgreSQL's interval."""
    with placed_at(node):
        return as_interval(bound, lambda name, arguments: call(name, arguments, node))


def _merged_name(node: nodes.SelectItem, scope: Scope) -> str | None:
    """The name of an item that is just a column of USING."""
    written = node.this
    is_merged = isinstance(written, exp.Column) and not written.table and written.name in scope.merged
    return written.name if is_merged and node.alias_name is None else None


def expand_stars(
    items: Iterable[Item | nodes.AllColumns],
    relations: Sequence[BoundRelation],
    star: Callable[[BoundRelation, nodes.AllColumns], Iterable[Item]],
) -> Iterator[Item]:
    """``items`` with each ``*`` replaced by the items that ``star`` returns for its relations."""
    for item in items:
        if isinstance(item, Item):
            yield item
            continue
        for relation in relations:
            if item.source_name in (None, relation.alias):
                yield from star(relation, item)


def star_items(relation: BoundRelation, node: exp.Expr, *, with_bounds: bool) -> list[Item]:
    """The items of ``*`` for one relation: keys, window bounds if ``with_bounds``, values."""
    columns = [(c.name, c.type) for c in relation.schema.columns]
    if with_bounds and relation.window is not None:
        keys = len(relation.schema.key)
        columns[keys:keys] = WINDOW_BOUNDS.items()
    return [
        Item(relation.internal(name), ColumnRef(relation.internal(name), type_), node)
        for name, type_ in columns
    ]


def check_typed(items: Iterable[Item]) -> None:
    """Refuse an output column that is a bare NULL, or an INTERVAL.

    Raises:
        KsqlError: INVALID_STATEMENT.
    """
    for item in items:
        if isinstance(item.expression.type, Null):
            raise invalid(
                "Can't infer a type of null. Please explicitly cast it to a required type, "
                "e.g. CAST(null AS VARCHAR).",
                item.node,
            )
        if contains_interval(item.expression.type):
            raise invalid(
                "An INTERVAL cannot be a column.", item.node,
                hint="CAST(… AS BIGINT) gives its milliseconds.",
            )  # fmt: skip


def with_aggregates(scope: Scope, aggregates: Aggregates) -> Scope:
    """``scope`` with aggregate calls allowed, which are collected in ``aggregates``."""
    return replace(scope, aggregate=aggregates.bind, show=aggregates.show)


def bind_groups(select: nodes.Select, scope: Scope) -> list[Expression]:
    """The expressions of a GROUP BY without grouping sets.

    Raises:
        KsqlError: as bind_group; a duplicate expression.
    """
    expressions: dict[Expression, None] = {}
    for node in select.group_by:
        expression = bind_group(node, scope, select)
        if expression in expressions:
            raise invalid(f"Duplicate GROUP BY expression: {show(expression, scope)}.", node)
        expressions[expression] = None
    return list(expressions)


def bind_group(node: exp.Expr, scope: Scope, select: nodes.Select | None = None) -> Expression:
    """An expression of GROUP BY; ``select``: the query whose items it may name.

    Raises:
        KsqlError: an aggregate, a bare NULL, a VARIANT.
    """

    def refuse(call: nodes.FunctionCall, _: Scope) -> Expression:
        raise invalid(
            f"GROUP BY does not support aggregate functions: {call.name} is an aggregate function.", call
        )

    written = node if select is None else selected(node, select, scope)
    expression = bind_expression(written, replace(scope, aggregate=refuse))
    if isinstance(expression.type, Null):
        raise invalid("GROUP BY needs typed expressions, not NULL.", node)
    refuse_variant(expression, scope, node)
    return expression


def selected(node: exp.Expr, select: nodes.Select, scope: Scope) -> exp.Expr:
    """The expression of the SELECT item that ``node`` names, by its number or its alias; else ``node``.

    A column of FROM comes before an alias.

    Raises:
        KsqlError: INVALID_STATEMENT: there is no such number.
    """
    written = node
    while isinstance(written, exp.Paren):
        written = written.this
    if isinstance(written, nodes.IntegerLiteral):
        count = len(select.items)
        if not 1 <= written.value <= count:
            raise invalid(f"{scope.clause} {written.value} is not a column: the SELECT has {count}.", node)
        if any(not isinstance(item, nodes.SelectItem) for item in select.items[: written.value]):
            raise invalid(f"{scope.clause} {written.value} counts columns of *: name the column.", node)
        item = select.items[written.value - 1]
        assert isinstance(item, nodes.SelectItem)
        return item.this
    if isinstance(written, exp.Column) and not written.table and not scope.is_column(written.name):
        items = (item for item in select.items if isinstance(item, nodes.SelectItem))
        return next((item.this for item in items if item.alias_name == written.name), node)
    return node


def column_at(item: nodes.OrderItem, names: Sequence[str]) -> str | None:
    """The output column of ``ORDER BY n``; None for other expressions.

    Raises:
        KsqlError: INVALID_STATEMENT: there is none.
    """
    if not isinstance(item.this, nodes.IntegerLiteral):
        return None
    number = item.this.value
    if not 1 <= number <= len(names):
        raise invalid(f"ORDER BY {number} is not a column: the SELECT has {len(names)}.", item)
    return names[number - 1]


def refuse_variant(key: Expression, scope: Scope, node: exp.Expr) -> None:
    """Refuse a VARIANT as a key; MAPs are refused as columns. Raises KsqlError INVALID_STATEMENT."""
    if contains_variant(key.type):
        check_comparable(key.type, scope.clause, f"{show(key, scope)} ({key.type})", node)


def bind_table_function(
    node: nodes.FunctionCall, scope: Scope, calls: list[NamedExpression], *, of_table: bool = False
) -> ColumnRef:
    """Bind a call of a table function in SELECT and add it to ``calls``; return a reference to its column.

    Raises:
        KsqlError: it is nested, reads a table (``of_table``), or contains an aggregate.
    """
    parent = node.parent
    while parent is not None and not isinstance(parent, nodes.SelectItem | nodes.QueryNode):
        if isinstance(parent, nodes.FunctionCall | exp.Case):
            refuse_nested(node, scope)
        parent = parent.parent
    if of_table:
        raise invalid("Table source is not supported with table functions.", node)

    def refuse(inner: nodes.FunctionCall, _: Scope) -> Expression:
        raise invalid("Table functions cannot be used with aggregations.", inner)

    inside = replace(scope, aggregate=refuse, table_function=refuse_nested)
    bound = call(node.name, bind_arguments(node, inside), node)
    calls.append(NamedExpression(f"{_SYNTHETIC}{len(calls)}", bound))
    return ColumnRef(calls[-1].name, bound.type)
