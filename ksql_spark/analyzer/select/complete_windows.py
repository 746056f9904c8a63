"""Calls with OVER, QUALIFY and DISTINCT ON over complete inputs: all that the SQL standard has (ADR 71)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from ksql_spark.analyzer.base.failures import check_comparable, invalid
from ksql_spark.analyzer.base.scope import Scope
from ksql_spark.analyzer.expressions.aggregates import WINDOW_VARIABLE, Aggregates, sort_key
from ksql_spark.analyzer.expressions.binding import bind_expression
from ksql_spark.analyzer.expressions.calls import call
from ksql_spark.analyzer.expressions.coercion import coerce, unify
from ksql_spark.expressions import ColumnRef, Expression, Literal, columns_in, transform
from ksql_spark.grammar import nodes
from ksql_spark.plan.clauses import AggregateCall, FramedCall, SortKey
from ksql_spark.plan.nodes import DENSE_RANK, FRAMED, RANK, ROW_NUMBER, WINDOW_FUNCTIONS, BatchOver, Node
from ksql_spark.types import BIGINT, DOUBLE, INTEGER, TIMESTAMP, SqlType, is_numeric

#: the functions without arguments -> the types of their results
_PLACES: dict[str, SqlType] = {
    ROW_NUMBER: BIGINT, RANK: BIGINT, DENSE_RANK: BIGINT, "PERCENT_RANK": DOUBLE, "CUME_DIST": DOUBLE,
}  # fmt: skip
#: those that need an order
_ORDERED = frozenset((*_PLACES, "NTILE", "LAG", "LEAD")) - {ROW_NUMBER}


@dataclass(frozen=True)
class _Group:
    """PARTITION BY and ORDER BY; ``is_range``: frames are of values, not of rows."""

    keys: tuple[Expression, ...]
    order: tuple[SortKey, ...]
    is_range: bool


@dataclass
class CompleteWindows:
    """The calls with OVER of one SELECT, without duplicates."""

    calls: dict[_Group, list[FramedCall]] = field(default_factory=dict)
    place: exp.Expr | None = None
    _count: int = 0

    def bind(self, node: nodes.WindowFunction, scope: Scope) -> Expression:
        """Bind a call with OVER: return a reference to its result (``window_function`` of scopes).

        Raises:
            KsqlError: INVALID_STATEMENT, or as Aggregates.bind.
        """
        inside = replace(scope, window_function=None, table_function=None)
        keys = tuple(bind_expression(key, inside) for key in node.partition_by)
        for key, written in zip(keys, node.partition_by, strict=True):
            check_comparable(key.type, "PARTITION BY", f"{scope.show(key)} ({key.type})", written)
        order = tuple(sort_key(item, bind_expression(item.this, inside), inside) for item in node.order_by)
        self.place = self.place or node
        name = node.this.name
        if name not in WINDOW_FUNCTIONS:
            own = Aggregates()
            value = own.bind(node.this, inside, inside.aggregate)
            if any(one.order for one in own.calls):
                raise invalid("An aggregate with OVER takes its rows in the order of OVER.", node.this)
            columns = {one.name: self._framed(one, node, keys, order) for one in own.calls}
            return transform(value, lambda e: columns.get(e.name) if isinstance(e, ColumnRef) else None)
        else:
            if name in _ORDERED and not order:
                raise invalid(
                    f"{name} needs an order.", node, hint=f"Write {name}(…) OVER (ORDER BY column)."
                )
            if name not in FRAMED and node.frame is not None:
                raise invalid(f"{name} has no ROWS and no RANGE.", node.frame)
            bound = _function(node.this, inside)
        return self._framed(bound, node, keys, order)

    def _framed(
        self,
        bound: AggregateCall,
        node: nodes.WindowFunction,
        keys: tuple[Expression, ...],
        order: tuple[SortKey, ...],
    ) -> ColumnRef:
        # without a frame, rows with equal values of the order belong together
        frame = node.frame or nodes.Frame(None, 0, is_range=True)
        is_range = frame.is_range or frame.time is not None
        if node.frame is not None:
            order = _checked(node.frame, order, node)
        first = frame.first if frame.time is None else frame.time.milliseconds
        framed = FramedCall(bound, first, frame.last)
        return self.reference(_Group(keys, order, is_range), framed)

    def reference(self, group: _Group, framed: FramedCall) -> ColumnRef:
        """The column with the results of a call."""
        calls = self.calls.setdefault(group, [])
        for existing in calls:
            if replace(framed, call=replace(framed.call, name=existing.call.name)) == existing:
                return ColumnRef(existing.call.name, existing.call.type)
        name = f"{WINDOW_VARIABLE}{self._count}"
        self._count += 1
        calls.append(replace(framed, call=replace(framed.call, name=name)))
        return ColumnRef(name, framed.call.type)

    def first_of(self, keys: Sequence[Expression], order: Sequence[SortKey], node: exp.Expr) -> Expression:
        """The condition of DISTINCT ON: a row is the first of those with its ``keys``."""
        self.place = self.place or node
        number = AggregateCall("", ROW_NUMBER, (), BIGINT)
        column = self.reference(_Group(tuple(keys), tuple(order), False), FramedCall(number, None, 0))
        return call("=", (column, Literal(1, BIGINT)), node)

    def over(self, rewritten: Callable[[Expression], Expression]) -> CompleteWindows:
        """These calls over other rows; ``rewritten``: an expression over those."""
        new: dict[_Group, list[FramedCall]] = {}
        for group, calls in self.calls.items():
            order = tuple(replace(key, expression=rewritten(key.expression)) for key in group.order)
            keys = tuple(map(rewritten, group.keys))
            new[replace(group, keys=keys, order=order)] = [
                replace(
                    framed,
                    call=replace(
                        framed.call,
                        arguments=tuple(map(rewritten, framed.call.arguments)),
                        condition=framed.call.condition and rewritten(framed.call.condition),
                    ),
                )
                for framed in calls
            ]
        return CompleteWindows(new, self.place, self._count)

    def build(self, child: Node) -> Node:
        """The plan over ``child``."""
        for group, calls in self.calls.items():
            child = BatchOver(child, group.keys, group.order, tuple(calls), group.is_range)
        return child


def _function(node: nodes.FunctionCall, scope: Scope) -> AggregateCall:
    """A call of a function that only OVER has."""
    name, written = node.name, node.arguments
    if node.distinct or node.condition is not None or node.order_by:
        raise invalid(f"{name} has no DISTINCT, FILTER or ORDER BY of its own.", node)
    if any(isinstance(argument, exp.Star) for argument in written):
        raise invalid(f"{name} does not take *.", node)
    if name in _PLACES:
        _check_count(node, 0, 0, "no arguments")
        return AggregateCall("", name, (), _PLACES[name])
    if name == "NTILE":
        _check_count(node, 1, 1, "the number of groups: NTILE(4)")
        return AggregateCall("", name, (_number(written[0], name),), INTEGER)
    if name == "NTH_VALUE":
        _check_count(node, 2, 2, "a value and the number of a row: NTH_VALUE(x, 2)")
        value = bind_expression(written[0], scope)
        return AggregateCall("", name, (value, _number(written[1], name)), value.type)
    if name in FRAMED:
        _check_count(node, 1, 1, "one value")
        value = bind_expression(written[0], scope)
        return AggregateCall("", name, (value,), value.type)
    where = "back" if name == "LAG" else "ahead"
    _check_count(node, 1, 3, f"a value, how many rows {where}, and a default: {name}(x, 1, 0)")
    value = bind_expression(written[0], scope)
    if len(written) < 3:
        offsets = [_number(argument, name) for argument in written[1:]]
        return AggregateCall("", name, (value, *offsets), value.type)
    type_, (value, default) = unify(
        [value, bind_expression(written[2], scope)], [written[0], written[2]], scope.problem
    )
    arguments = (coerce(value, type_), _number(written[1], name), coerce(default, type_))
    return AggregateCall("", name, arguments, type_)


def _check_count(node: nodes.FunctionCall, least: int, most: int, what: str) -> None:
    if not least <= len(node.arguments) <= most:
        raise invalid(f"{node.name} takes {what}.", node)


def _number(node: exp.Expr, name: str) -> Literal:
    least = 0 if name in ("LAG", "LEAD") else 1
    if not isinstance(node, nodes.IntegerLiteral) or not least <= node.value < 2**31:
        raise invalid(f"{name} needs a number of rows here, as in {name}(…, 1).", node)
    return Literal(node.value, INTEGER)


def _checked(
    frame: nodes.Frame, order: tuple[SortKey, ...], node: nodes.WindowFunction
) -> tuple[SortKey, ...]:
    """The order of a call with a frame, whose distances must be those of one number."""
    if frame.first is not None and frame.last is not None and frame.first < frame.last:
        raise invalid("The frame ends before it begins.", frame)
    if not order:
        raise invalid("A frame needs an order.", frame, hint="Write OVER (ORDER BY column ROWS …).")
    if frame.time is None and (not frame.is_range or not (frame.first or frame.last)):
        return order
    if len(order) > 1:
        raise invalid("RANGE with a distance needs one value in ORDER BY.", node.order_by[1])
    key = order[0]
    if frame.time is not None and key.expression.type == TIMESTAMP:
        return (replace(key, expression=call("UNIX_TIMESTAMP", (key.expression,), node)),)
    if not is_numeric(key.expression.type):
        raise invalid(
            f"RANGE with a distance needs a number in ORDER BY, not {key.expression.type}.", node.order_by[0]
        )
    return order


def has_calls(expression: Expression) -> bool:
    """Whether an expression has the result of a call with OVER."""
    return any(name.startswith(WINDOW_VARIABLE) for name in columns_in(expression))
