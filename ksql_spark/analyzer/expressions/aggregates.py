"""GROUP BY: aggregate calls become columns of an Aggregate node, to which the nodes above it refer.

Rules: reference §2.5, §2.6 and §6.8.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from ksql_spark.analyzer.base.failures import check_comparable, failure, invalid, placed_at
from ksql_spark.analyzer.base.scope import CallRule, Scope
from ksql_spark.analyzer.expressions.binding import (
    bind_arguments,
    bind_expression,
    bind_predicate,
    refuse_nested,
)
from ksql_spark.analyzer.expressions.calls import call
from ksql_spark.analyzer.expressions.coercion import coerce
from ksql_spark.expressions import ColumnRef, Expression, Literal, children, transform
from ksql_spark.functions import registry
from ksql_spark.functions.postgres.functions import aggregate as postgres_aggregate
from ksql_spark.grammar import nodes
from ksql_spark.plan.clauses import AggregateCall, NamedExpression, SortKey, call_texts, written_out
from ksql_spark.schema import WINDOW_BOUNDS
from ksql_spark.types import CAST_VARIANT, VARIANTS, Null, contains_variant, without_equality

#: prefixes of the columns with results of aggregates, and of calls with OVER
VARIABLE, WINDOW_VARIABLE = "KSQL_AGG_VARIABLE_", "KSQL_WINDOW_"

#: aggregates whose state ksqlDB keeps as an ARRAY, MAP or STRUCT, in the format of the source's values
NESTED_STATE = frozenset(
    {
        "ATTR", "AVG", "COLLECT_LIST", "COLLECT_SET", "CORRELATION", "COUNT_DISTINCT", "EARLIEST_BY_OFFSET",
        "HISTOGRAM", "LATEST_BY_OFFSET", "STDDEV_SAMP", "STDDEV_SAMPLE", "TOPK", "TOPKDISTINCT",
    }
)  # fmt: skip


def sort_key(item: nodes.OrderItem, expression: Expression, scope: Scope) -> SortKey:
    """An item of ORDER BY over complete inputs.

    Raises:
        KsqlError: INVALID_STATEMENT: its type has no order.
    """
    if what := without_equality(expression.type):
        hint = CAST_VARIANT if what == VARIANTS else None
        raise invalid(f"{what} have no sort order: {expression} ({expression.type}).", item, hint=hint)
    if isinstance(expression.type, Null):
        raise invalid("ORDER BY needs typed expressions, not NULL.", item)
    default = "FIRST" if scope.postgres and item.descending else "LAST"
    return SortKey(expression, bool(item.descending), (item.nulls or default) == "FIRST")


def bounds_error(name: str) -> str:
    """The error message for a window bound outside the SELECT list of a windowed aggregate."""
    return (
        f"Window bounds column {name} can only be used in the SELECT clause of windowed aggregations "
        "and can not be passed to aggregate functions."
    )


FORBIDDEN_BOUNDS = {name: bounds_error(name) for name in WINDOW_BOUNDS}


#: aggregates whose value may be in WITHIN GROUP
_OF_ORDER = frozenset({"PERCENTILE_CONT", "PERCENTILE_DISC"})


def _with_distinct() -> list[str]:
    """Names of the aggregates that accept DISTINCT (an extension of ksqlDB)."""
    return [name for name in registry.names() if (s := registry.aggregate(name)) and s.spark_distinct]


@dataclass
class Aggregates:
    """The aggregates of one query in order of appearance, without duplicates."""

    calls: list[AggregateCall] = field(default_factory=list)
    #: each of the calls, without its name -> its column
    _columns: dict[AggregateCall, ColumnRef] = field(default_factory=dict)

    @property
    def texts(self) -> list[str]:
        """The calls as KSQL text."""
        return [call.call for call in self.calls]

    def bind(self, node: nodes.FunctionCall, scope: Scope, inner: CallRule | None = None) -> Expression:
        """A reference to the column of an aggregate call; the ``aggregate`` rule of scopes.

        Args:
            node: the call.
            scope: the names of its arguments.
            inner: binds aggregates in its arguments, or None if there can be none.

        Raises:
            KsqlError: FUNCTION_ARGUMENTS; INVALID_STATEMENT for nested aggregates, and for DISTINCT where
                it is not allowed.
        """

        def nested(inner: nodes.FunctionCall, _: Scope) -> Expression:
            raise invalid(f"Aggregate functions can not be nested: {node.name}({inner.name}()).", inner)

        extra = {k: v for k, v in scope.extra.items() if k not in WINDOW_BOUNDS}
        forbidden = {**scope.forbidden, **(FORBIDDEN_BOUNDS if len(extra) != len(scope.extra) else {})}
        inside = replace(
            scope,
            aggregate=inner or nested,
            table_function=refuse_nested,
            window_function=None,
            extra=extra,
            forbidden=forbidden,
        )
        arguments = bind_arguments(node, inside)
        order: tuple[SortKey, ...] = ()
        if node.within_group and node.name in _OF_ORDER:
            arguments.insert(0, self._ordered(node, inside))
        elif node.order_by:
            order = self._order(node, replace(inside, sub_query=None))
        function = registry.require(node.name).name
        is_one = len(arguments) > 0 and all(isinstance(a, Literal) for a in arguments[1:])
        if node.distinct and (function not in _with_distinct() or not is_one):
            raise invalid(
                f"DISTINCT is only supported for one argument of {', '.join(_with_distinct())}; not for "
                f"{node.name}.",
                node,
            )
        if node.distinct and contains_variant(arguments[0].type):
            check_comparable(arguments[0].type, "DISTINCT", f"{scope.show(arguments[0])} (VARIANT)", node)
        condition = None
        if node.condition is not None:
            condition = bind_predicate(node.condition, replace(inside, clause="FILTER"))

        def column(name: str, arguments: Sequence[Expression]) -> Expression:
            return self._column(name, arguments, node, condition, order)

        if not scope.postgres:
            return column(node.name, arguments)
        return postgres_aggregate(
            node.name, arguments, column, lambda name, arguments: call(name, arguments, node)
        )

    def _column(
        self,
        name: str,
        arguments: Sequence[Expression],
        node: nodes.FunctionCall,
        condition: Expression | None,
        order: tuple[SortKey, ...],
    ) -> ColumnRef:
        """The column of a call with bound arguments, which is added unless it is there."""
        literals = [a.value if isinstance(a, Literal) else None for a in arguments]
        with placed_at(node):
            resolved = registry.resolve(name, [a.type for a in arguments], literals)
        made = AggregateCall(
            "",
            resolved.spec.name,
            tuple(coerce(a, t) for a, t in zip(arguments, resolved.parameter_types, strict=True)),
            resolved.result_type,
            bool(node.distinct and arguments),
            condition,
            by_arrival=resolved.spec.by_arrival,
            order=order if resolved.spec.by_arrival else (),
        )
        column = self._columns.get(made)
        if column is None:
            column = self._columns[made] = ColumnRef(f"{VARIABLE}{len(self.calls)}", made.type)
            self.calls.append(replace(made, name=column.name))
        return column

    def _ordered(self, node: nodes.FunctionCall, scope: Scope) -> Expression:
        """The value of WITHIN GROUP (ORDER BY value)."""
        item = node.order_by[0]
        if len(node.order_by) > 1 or item.nulls is not None:
            raise invalid(f"{node.name} has WITHIN GROUP (ORDER BY value).", item)
        if item.descending:
            hint = "The share p from above is 1 - p from below." if node.name == "PERCENTILE_CONT" else None
            raise invalid(f"{node.name} takes its values in ascending order.", item, hint=hint)
        return bind_expression(item.this, scope)

    def _order(self, node: nodes.FunctionCall, scope: Scope) -> tuple[SortKey, ...]:
        """ORDER BY in an aggregate, the order in which it takes the rows of its group."""
        if not scope.is_complete:
            raise invalid(
                f"ORDER BY in {node.name} is for pull queries: rows of a stream are taken as they come.",
                node.order_by[0],
            )
        if not registry.require(node.name).by_arrival:
            raise invalid(f"The result of {node.name} does not depend on an order.", node.order_by[0])
        return tuple(sort_key(item, bind_expression(item.this, scope), scope) for item in node.order_by)

    def show(self, node: Expression) -> str:
        """``node`` with aggregate calls instead of references to them, for messages."""
        return str(written_out(node, call_texts(self.calls)))

    def check_state(self, value_format: str, node: exp.Expr) -> None:
        """Refuse aggregates whose state ksqlDB cannot write in the leftmost source's value format."""
        if value_format == "DELIMITED" and any(c.function in NESTED_STATE for c in self.calls):
            raise invalid(
                "One of the functions used in the statement has an intermediate type that the value format "
                "can not handle. Please remove the function or change the format.",
                node,
            )

    def check_table_source(self, node: exp.Expr) -> None:
        """Refuse aggregates over a table that cannot retract a row (reference §4.8)."""
        lacking = []
        for each in self.calls:
            if each.function not in lacking and not _can_undo(each):
                lacking.append(each.function)
        if lacking:
            names = lacking[0] if len(lacking) == 1 else f"{', '.join(lacking[:-1])} and {lacking[-1]}"
            plural = "s" if len(lacking) > 1 else ""
            raise invalid(
                f"The aggregation function{plural} {names} cannot be applied to a table source, only to a "
                "stream source.",
                node,
            )


def _can_undo(call: AggregateCall) -> bool:
    spec = registry.require(call.function)
    literals = [a.value if isinstance(a, Literal) else None for a in call.arguments]
    signature = registry.resolve(call.function, [a.type for a in call.arguments], literals).signature
    return spec.undo and (signature is None or signature.can_undo)


def over_groups(
    node: Expression, groups: tuple[NamedExpression, ...], allowed: frozenset[str]
) -> tuple[Expression, list[ColumnRef]]:
    """``node`` rewritten over the Aggregate's columns, and the columns in it that are not grouped.

    Args:
        node: an expression over the Aggregate's child, in which aggregates are references already.
        groups: the grouping expressions.
        allowed: names of columns that need not be grouped: window bounds.
    """

    def rewrite(part: Expression) -> Expression | None:
        if isinstance(part, Literal) and part is not node:
            # some functions need constants as arguments
            return None
        for group in groups:
            if part == group.expression:
                return ColumnRef(group.name, part.type)
        return None

    stray = dict.fromkeys(_ungrouped(node, tuple(g.expression for g in groups), allowed))
    return transform(node, rewrite), list(stray)


def _ungrouped(
    node: Expression, grouped: tuple[Expression, ...], allowed: frozenset[str]
) -> Iterator[ColumnRef]:
    """The columns in ``node`` that are neither grouped, nor aggregates, nor allowed."""
    if node in grouped:
        return
    if isinstance(node, ColumnRef):
        if not node.name.startswith((VARIABLE, WINDOW_VARIABLE)) and node.name not in allowed:
            yield node
        return
    for child in children(node):
        yield from _ungrouped(child, grouped, allowed)


def not_grouped(clause: str, texts: list[str], node: exp.Expr | None) -> Exception:
    """NOT_GROUPED for expressions of SELECT or HAVING."""
    what = "expression(s)" if clause == "SELECT" else "expression"
    return failure("NOT_GROUPED", node, clause=clause, what=what, expressions=", ".join(texts))
