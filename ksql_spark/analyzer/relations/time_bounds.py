"""Conditions on the times of rows as bounds: of one stream, and of a join as its WITHIN (reference §2.7).

Both are beyond ksqlDB.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from typing import NamedTuple

from ksql_spark.analyzer.expressions.calls import call
from ksql_spark.expressions import Call, Cast, ColumnRef, Expression, Literal
from ksql_spark.plan.clauses import WithinSpec
from ksql_spark.plan.nodes import BatchJoin, Filter, Node, Source
from ksql_spark.plan.trees import children, sub_queries
from ksql_spark.schema import ROWTIME
from ksql_spark.types import BIGINT

#: a comparison, and what it is with its operands exchanged
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}


class TimeBounds(NamedTuple):
    """The lowest and the highest time, ms of the epoch, or None."""

    first_ms: int | None = None
    last_ms: int | None = None

    def union(self, other: TimeBounds) -> TimeBounds:
        """The bounds of what one of both has."""
        if self.first_ms is None or other.first_ms is None:
            first_ms = None
        else:
            first_ms = min(self.first_ms, other.first_ms)
        if self.last_ms is None or other.last_ms is None:
            return TimeBounds(first_ms)
        return TimeBounds(first_ms, max(self.last_ms, other.last_ms))


def bounds_of(root: Node) -> list[TimeBounds]:
    """Return for each of ``relations(root)`` the range of ROWTIMEs outside of which its rows cannot count.

    ``SELECT * FROM s WHERE ROWTIME > 5 AND ROWTIME <= 9;`` gives ``TimeBounds(6, 9)``.

    Args:
        root: of a query that reads what is there.
    """
    return list(_bounds(root, ()))


#: joins that drop rows with which a condition is not true, of the left and of the right side
_DROPPING = {
    "INNER": (True, True),
    "LEFT": (True, False),
    "RIGHT": (False, True),
}


def _bounds(node: Node, conditions: tuple[Expression, ...]) -> Iterator[TimeBounds]:
    match node:
        case Source():
            yield _between(conditions, node.column_name(ROWTIME))
        case Filter(child, predicate):
            yield from _bounds(child, (*conditions, *_conjuncts(predicate)))
        case BatchJoin(left, right, join):
            of_left, of_right = _DROPPING.get(join, (False, False))
            yield from _bounds(left, conditions if of_left else ())
            yield from _bounds(right, conditions if of_right else ())
        case _:
            for child in children(node):
                yield from _bounds(child, ())
    for sub_query in sub_queries(node):
        yield from _bounds(sub_query.root, ())


def _between(conditions: tuple[Expression, ...], column: str) -> TimeBounds:
    lowest: list[int] = []
    highest: list[int] = []
    for symbol, *sides in (comparison for part in conditions for comparison in _comparisons(part)):
        first, second = (_time(side) for side in sides)
        if first is None or second is None:
            continue
        if (first.column, second.column) == ("", column):
            symbol, first, second = _MIRRORED[symbol], second, first
        if (first.column, second.column) == (column, ""):
            ms = second.ms - first.ms
            if symbol in (">", ">=", "="):
                lowest.append(ms + (symbol == ">"))
            if symbol in ("<", "<=", "="):
                highest.append(ms - (symbol == "<"))
    return TimeBounds(max(lowest, default=None), min(highest, default=None))


class _Time(NamedTuple):
    """A time: that of a column, "" for none, and milliseconds."""

    column: str
    ms: int


def within_of(
    condition: Expression | None, left: str, right: str
) -> tuple[WithinSpec | None, Expression | None]:
    """The bounds that a condition sets for the difference of two times, and the rest of the condition.

    Args:
        condition: the conditions of ON besides the equality.
        left: the unique name of the left rows' ROWTIME.
        right: that of the right rows.

    Returns:
        None and ``condition`` if it does not bound the difference on both sides.
    """
    parts = list(_conjuncts(condition)) if condition is not None else []
    lowest: list[int] = []
    highest: list[int] = []
    rest: list[Expression] = []
    for part in parts:
        differences = [_difference(one, left, right) for one in _comparisons(part)]
        if not differences or None in differences:
            rest.append(part)
            continue
        for bound in differences:
            assert bound is not None
            (lowest if bound[0] == ">=" else highest).append(bound[1])
    if not lowest or not highest:
        return None, condition
    low, high = max(lowest), min(highest)
    if low > 0 or high < 0:  # WITHIN always includes equal times
        rest = parts
    within = WithinSpec(max(0, -low), max(0, high), None)
    return within, reduce(lambda a, b: call("AND", (a, b), None), rest) if rest else None


def _conjuncts(condition: Expression) -> Iterator[Expression]:
    match condition:
        case Call("AND", parts):
            for part in parts:
                yield from _conjuncts(part)
        case _:
            yield condition


def _comparisons(part: Expression) -> list[tuple[str, Expression, Expression]]:
    match part:
        case Call("BETWEEN", (value, low, high)):
            return [(">=", value, low), ("<=", value, high)]
        case Call(symbol, (first, second)) if symbol in _MIRRORED:
            return [(symbol, first, second)]
    return []


def _difference(
    comparison: tuple[str, Expression, Expression], left: str, right: str
) -> tuple[str, int] | None:
    """``comparison`` as a bound of right - left, ">=" or "<=" and milliseconds; None if it is none."""
    symbol, first, second = comparison[0], _time(comparison[1]), _time(comparison[2])
    if first is None or second is None or symbol == "=":
        return None
    if (first.column, second.column) == (left, right):
        symbol, first, second = _MIRRORED[symbol], second, first
    if (first.column, second.column) != (right, left):
        return None
    ms = second.ms - first.ms
    match symbol:
        case ">":
            return ">=", ms + 1
        case "<":
            return "<=", ms - 1
    return symbol, ms


def _time(node: Expression) -> _Time | None:
    """``node`` as a column plus or minus constants; None if it is something else."""
    match node:
        case ColumnRef(name):
            return _Time(name, 0)
        case Literal(int(value)):
            return _Time("", value)
        case Cast(operand) if node.type == BIGINT:
            return _time(operand)
        case Call("+" | "-" as sign, (first, second)):
            one, other = _time(first), _time(second)
            if one is None or other is None or (other.column and (one.column or sign == "-")):
                return None
            return _Time(one.column or other.column, one.ms + (other.ms if sign == "+" else -other.ms))
    return None
