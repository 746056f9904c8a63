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

    A comparison with NULL is FALSE, or NULL where the call is ``ansi`` (§3.2). ``is_plain`` of the expression
    is true.

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
        case Call("AND", arguments, ansi=ansi):
            return _logic([function_of(a, columns, places) for a in arguments], False, ansi)
        case Call("OR", arguments, ansi=ansi):
            return _logic([function_of(a, columns, places) for a in arguments], True, ansi)
        case Call("IN", (tested, Members() as members), ansi=ansi):
            value = function_of(tested, columns, places)
            if not any(type(m) in (int, str) and m in places for m in members.values):
                return _constant_member(value, frozenset(members.values), _of_null(ansi))
            return _member(value, [function_of(m, columns, places) for m in members.literals], _of_null(ansi))
        case Call("BETWEEN", (tested, low, high), ansi=ansi):
            value = function_of(tested, columns, places)
            above = _compared(">=", value, function_of(low, columns, places), tested.type, _of_null(ansi))
            below = _compared("<=", value, function_of(high, columns, places), tested.type, _of_null(ansi))
            return _logic([above, below], False, ansi)
        case Call(name, (left, right), ansi=ansi):
            sides = function_of(left, columns, places), function_of(right, columns, places)
            return _compared(name, *sides, left.type, _of_null(ansi))
    raise TypeError(f"{expression} needs Spark")


def _widened(inner: PlainValue) -> PlainValue:
    def value(row: PlainRow, values: Values) -> Any:
        number = inner(row, values)
        return None if number is None else float(number)

    return value


def _of_null(ansi: bool) -> bool | None:
    """Return the result of a comparison with NULL: NULL in ANSI mode, otherwise false."""
    return None if ansi else False


def _logic(conditions: Sequence[PlainValue], decides: bool, ansi: bool) -> PlainValue:
    """Return AND (``decides`` is False) or OR (``decides`` is True) of the conditions.

    It is ``decides`` if a condition has this value; else NULL if ``ansi`` and one is NULL; else the opposite.
    """
    if ansi:

        def value(row: PlainRow, values: Values) -> bool | None:
            results = [condition(row, values) for condition in conditions]
            return decides if decides in results else None if None in results else not decides

        return value
    if decides:
        return lambda row, values: any(condition(row, values) is True for condition in conditions)
    return lambda row, values: all(condition(row, values) is True for condition in conditions)


def _constant_member(value: PlainValue, members: frozenset[Any], of_null: bool | None) -> PlainValue:
    def is_member(row: PlainRow, values: Values) -> bool | None:
        tested = value(row, values)
        return of_null if tested is None else tested in members

    return is_member


def _member(value: PlainValue, members: Sequence[PlainValue], of_null: bool | None) -> PlainValue:
    def is_member(row: PlainRow, values: Values) -> bool | None:
        tested = value(row, values)
        if tested is None:
            return of_null
        return any(member(row, values) == tested for member in members)

    return is_member


def _compared(
    name: str, left: PlainValue, right: PlainValue, type_: SqlType, of_null: bool | None
) -> PlainValue:
    compare = _COMPARISONS[name]
    if type_ == STRING and name not in ("=", "<>"):
        compare = _by_units(compare)
    elif type_ == DOUBLE and name == "<>":
        compare = _differ

    def value(row: PlainRow, values: Values) -> bool | None:
        a, b = left(row, values), right(row, values)
        return of_null if a is None or b is None else compare(a, b)

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
