"""Evaluates plain expressions in Python, for rows that are read or written without Spark.

Plain expressions are columns, constants, comparisons of them, BETWEEN, IN, AND and OR. Spark evaluates
everything else (spark/evaluate.py), so that a function means the same everywhere.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ksql_spark.expressions import Call, Cast, ColumnRef, Expression, Literal, Members
from ksql_spark.grammar.literals import Value
from ksql_spark.types import BIGINT, BOOLEAN, DOUBLE, INTEGER, STRING, SqlType

PlainRow = Sequence[Any]
Values = Sequence[Any]
PlainValue = Callable[[PlainRow, Values], Any]
NO_PLACES: Mapping[Value, int] = {}

_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
#: types whose Python values compare as KSQL's do; Java compares the UTF-16 units of strings
_COMPARED = (INTEGER, BIGINT, DOUBLE, BOOLEAN, STRING)

#: casts that change only the type
_WIDENED = ((INTEGER, BIGINT), (INTEGER, DOUBLE), (BIGINT, DOUBLE))


def is_plain(expression: Expression) -> bool:
    """Whether function_of can evaluate ``expression``."""
    match expression:
        case ColumnRef() | Literal():
            return True
        case Cast(operand, type_) if (operand.type, type_) in _WIDENED:
            return is_plain(operand)
        case Call("AND" | "OR", arguments):
            return all(is_plain(a) and isinstance(a, Call) for a in arguments)
        case Call(name, (left, right)) if name in _COMPARISONS:
            fits = left.type in _COMPARED and left.type == right.type
            return fits and is_plain(left) and is_plain(right)
        case Call("IN", (value, Members(_, type_))):
            return value.type == type_ and type_ in _COMPARED and is_plain(value)
        case Call("BETWEEN", (value, *_) as arguments):
            fits = all(a.type == value.type for a in arguments) and value.type in _COMPARED
            return fits and all(map(is_plain, arguments))
    return False


def function_of(
    expression: Expression, columns: Mapping[str, int], places: Mapping[Value, int] = NO_PLACES
) -> PlainValue:
    """A function from a row, and placeholder values, to the value of a plain expression.

    Logic is two-valued: a comparison with NULL is FALSE (§3.2). ``is_plain`` of the expression is true.

    Args:
        columns: column -> its index in a row.
        places: constant -> the index of its placeholder value.
    """
    match expression:
        case ColumnRef(name):
            at = columns[name]
            return lambda row, values: row[at]
        case Literal(value):
            if type(value) in (int, str) and value in places:
                place = places[value]
                return lambda row, values: values[place]
            return lambda row, values: value
        case Cast(operand, type_):
            inner = function_of(operand, columns, places)
            return _widened(inner) if type_ == DOUBLE else inner
        case Call("AND", arguments):
            return _all([function_of(a, columns, places) for a in arguments])
        case Call("OR", arguments):
            return _any([function_of(a, columns, places) for a in arguments])
        case Call("IN", (tested, Members() as members)):
            value = function_of(tested, columns, places)
            if not any(type(m) in (int, str) and m in places for m in members.values):
                return _known_member(value, frozenset(members.values))
            return _member(value, [function_of(m, columns, places) for m in members.literals])
        case Call("BETWEEN", (tested, low, high)):
            value = function_of(tested, columns, places)
            above = _compared(">=", value, function_of(low, columns, places), tested.type)
            below = _compared("<=", value, function_of(high, columns, places), tested.type)
            return _all([above, below])
        case Call(name, (left, right)):
            return _compared(
                name, function_of(left, columns, places), function_of(right, columns, places), left.type
            )
    raise TypeError(f"{expression} needs Spark")


def _widened(inner: PlainValue) -> PlainValue:
    def value(row: PlainRow, values: Values) -> Any:
        number = inner(row, values)
        return None if number is None else float(number)

    return value


def _all(conditions: Sequence[PlainValue]) -> PlainValue:
    return lambda row, values: all(condition(row, values) is True for condition in conditions)


def _any(conditions: Sequence[PlainValue]) -> PlainValue:
    return lambda row, values: any(condition(row, values) is True for condition in conditions)


def _known_member(value: PlainValue, members: frozenset[Any]) -> PlainValue:
    return lambda row, values: value(row, values) in members


def _member(value: PlainValue, members: Sequence[PlainValue]) -> PlainValue:
    def found(row: PlainRow, values: Values) -> bool:
        wanted = value(row, values)
        return wanted is not None and any(member(row, values) == wanted for member in members)

    return found


def _compared(name: str, left: PlainValue, right: PlainValue, type_: SqlType) -> PlainValue:
    compare = _COMPARISONS[name]
    if type_ == STRING and name not in ("=", "<>"):
        compare = _by_units(compare)
    elif type_ == DOUBLE and name == "<>":
        compare = _differ

    def value(row: PlainRow, values: Values) -> bool:
        a, b = left(row, values), right(row, values)
        return a is not None and b is not None and compare(a, b)

    return value


def _differ(a: Any, b: Any) -> bool:
    """Whether one value is less than or greater than another; NaN is neither, as in Java."""
    return bool(a < b or a > b)


def _by_units(compare: Callable[[Any, Any], bool]) -> Callable[[str, str], bool]:
    """``compare`` for texts by their UTF-16 code units."""

    def compared(a: str, b: str) -> bool:
        if a.isascii() and b.isascii():
            return compare(a, b)
        return compare(a.encode("utf-16-be", "surrogatepass"), b.encode("utf-16-be", "surrogatepass"))

    return compared
