"""GROUPING SETS, ROLLUP and CUBE in GROUP BY (beyond ksqlDB, reference §6.8).

Each record is exploded into one for each grouping set, and the columns that the set does not have are NULL.
No operator knows of that: the groups are the columns as STRUCTs, which are not NULL, and the set's number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import combinations, product
from math import prod

from sqlglot import exp

from ksql_spark.analyzer.base.failures import invalid
from ksql_spark.analyzer.base.naming import Names
from ksql_spark.analyzer.base.scope import Scope
from ksql_spark.analyzer.select.select_items import bind_group, bind_groups
from ksql_spark.expressions import (
    Call,
    Case,
    ColumnRef,
    Expression,
    FieldRef,
    Literal,
    MakeStruct,
    Members,
    transform,
)
from ksql_spark.grammar import nodes
from ksql_spark.metastore.sources import TABLE
from ksql_spark.plan.clauses import NamedExpression
from ksql_spark.plan.nodes import SET_NUMBER, Aggregate, Filter, FlatMap, Node, Project, Sort
from ksql_spark.types import BOOLEAN, INTEGER, Array, Field, Struct

#: the most grouping sets of one query: each record is as many
MAX_SETS = 256
#: the most columns: their bits are an INTEGER
MAX_COLUMNS = 31
_FIELD = "VALUE"

Set = frozenset[int]


@dataclass(frozen=True)
class GroupingSets:
    """The grouping sets of a query.

    Args:
        name: the column with the number of a record's set.
        columns: the grouping expressions.
        numbers: the bits of the columns that a set does not have; the last column's bit is 1.
        null_is_group: rows whose expression is NULL are a group.
    """

    name: str
    columns: tuple[Expression, ...]
    numbers: tuple[int, ...]
    null_is_group: bool = False

    @property
    def number(self) -> ColumnRef:
        """The number of a record's set."""
        return ColumnRef(self.name, INTEGER)

    def call(self, node: nodes.FunctionCall, scope: Scope) -> Expression:
        """Bind ``GROUPING(column, …)``: the bits of the columns that a row's set does not have.

        With ``GROUPING SETS ((a, b), (a), ())``, ``GROUPING(a, b)`` is 0, 1 and 3.

        Raises:
            KsqlError: INVALID_STATEMENT: an argument is not grouped.
        """
        bits = [self._bit(argument, scope) for argument in node.arguments]
        if not bits:
            raise invalid("GROUPING needs columns of GROUP BY.", node)
        numbers_by_value: dict[int, list[int]] = {}
        for number in self.numbers:
            value = sum(1 << place for place, bit in enumerate(reversed(bits)) if number & bit)
            numbers_by_value.setdefault(value, []).append(number)
        if numbers_by_value == {number: [number] for number in self.numbers}:
            return self.number
        whens = tuple(
            (self._is_one_of(numbers), Literal(value, INTEGER)) for value, numbers in numbers_by_value.items()
        )
        return Case(whens, None, INTEGER)

    def _bit(self, argument: exp.Expr, scope: Scope) -> int:
        bound = bind_group(argument, scope)
        if bound not in self.columns:
            raise invalid(f"GROUPING takes expressions of GROUP BY, not {bound}.", argument)
        return 1 << (len(self.columns) - 1 - self.columns.index(bound))

    def _is_one_of(self, numbers: Iterable[int]) -> Expression:
        return Call("IN", (self.number, Members(tuple(numbers), INTEGER)), BOOLEAN)

    def build(self, aggregate: Aggregate, having: Expression | None) -> Node:
        """The plan: ``aggregate`` and HAVING, as if GROUP BY had its groups: the columns, and the number."""
        child, groups = aggregate.child, aggregate.group_by
        numbers = tuple(Literal(number, INTEGER) for number in self.numbers)
        every = Call("EXPLODE", (Call("ARRAY", numbers, Array(INTEGER)),), INTEGER)
        wrapped = {g.name: self._wrapped(place, g.expression) for place, g in enumerate(groups)}
        plain: dict[str, Expression] = {
            g.name: ColumnRef(g.name, g.expression.type)
            if wrapped[g.name] is g.expression
            else FieldRef(ColumnRef(g.name, wrapped[g.name].type), _FIELD, g.expression.type)
            for g in groups
        }
        keys = tuple(NamedExpression(name, expression) for name, expression in wrapped.items())
        arrival = child.by if isinstance(child, Sort) else ()
        node: Node = FlatMap(
            child.child if isinstance(child, Sort) else child, (NamedExpression(self.name, every),)
        )
        node = Sort(node, arrival) if arrival else node
        node = replace(aggregate, child=node, group_by=keys)
        if having is not None:
            node = Filter(
                node, transform(having, lambda e: plain.get(e.name) if isinstance(e, ColumnRef) else None)
            )
        return Project(
            node,
            tuple(NamedExpression(name, expression) for name, expression in plain.items()),
            tuple(NamedExpression(a.name, ColumnRef(a.name, a.type)) for a in aggregate.aggregates),
        )

    def _wrapped(self, place: int, expression: Expression) -> Expression:
        """A group's expression, as a STRUCT if some sets do not have it: of NULL in these, and NULL where the
        expression is NULL, whose rows belong to no group.
        """
        bit = 1 << len(self.columns) - 1 - place if place < len(self.columns) else 0
        without = [number for number in self.numbers if number & bit]
        if not without:
            return expression
        type_ = Struct((Field(_FIELD, expression.type),))
        null, present = (
            MakeStruct(((_FIELD, e),), type_) for e in (Literal(None, expression.type), expression)
        )
        if self.null_is_group:
            return Case(((self._is_one_of(without), null),), present, type_)
        is_there = Call("IS NOT NULL", (expression,), BOOLEAN)
        return Case(((self._is_one_of(without), null), (is_there, present)), None, type_)


def bind_grouping_sets(
    select: nodes.Select, scope: Scope, names: Names
) -> tuple[list[Expression], GroupingSets | None]:
    """The expressions of GROUP BY, each once, and its grouping sets, if it has such.

    Raises:
        KsqlError: as bind_groups; INVALID_STATEMENT: there are too many sets or columns, or the source is a
            table.
    """
    written = next((node for node in select.group_by if isinstance(node, nodes.GroupingSets)), None)
    if written is None:
        return bind_groups(select, scope), None
    if not scope.is_complete and any(relation.kind == TABLE for relation in scope.relations[:1]):
        raise invalid(f"{written.kind} is for streams, not for tables.", written)
    columns: list[Expression] = []

    def column(node: exp.Expr) -> int:
        bound = bind_group(node, scope, select)
        if bound not in columns:
            columns.append(bound)
        return columns.index(bound)

    elements = [_sets(node, column) for node in select.group_by]
    if prod(map(len, elements)) > MAX_SETS:
        raise invalid(f"GROUP BY has more than {MAX_SETS} grouping sets.", written)
    if not columns:
        raise invalid(f"{written.kind} needs a column.", written)
    if len(columns) > MAX_COLUMNS:
        raise invalid(f"GROUP BY with {written.kind} has more than {MAX_COLUMNS} expressions.", written)
    sets = dict.fromkeys(frozenset[int]().union(*parts) for parts in product(*elements))
    last = len(columns) - 1
    numbers = tuple(sum(1 << last - at for at in range(last + 1) if at not in one) for one in sets)
    name = names.field(SET_NUMBER)
    return columns, GroupingSets(name, tuple(columns), numbers, null_is_group=scope.is_complete)


def _sets(node: exp.Expr, column: Callable[[exp.Expr], int]) -> list[Set]:
    """The grouping sets of one element of GROUP BY."""
    if not isinstance(node, nodes.GroupingSets):
        return [frozenset({column(node)})]
    parts = [frozenset(map(column, one.expressions)) for one in node.sets]
    count = len(parts)
    match node.kind:
        case "ROLLUP":
            return [frozenset[int]().union(*parts[:length]) for length in range(count, -1, -1)]
        case "CUBE":
            if 1 << count > MAX_SETS:
                raise invalid(f"GROUP BY has more than {MAX_SETS} grouping sets.", node)
            chosen = (some for length in range(count, -1, -1) for some in combinations(parts, length))
            return [frozenset[int]().union(*some) for some in chosen]
    return parts
