"""Evaluates plain expressions in Python, for rows that are read or written without Spark.

Plain expressions are columns and their fields, constants, comparisons of them, BETWEEN, IN, IS NULL, LIKE
with a prefix, AND and OR, and of most of these NOT and CASE. Spark evaluates everything else
(spark/evaluate.py), so that a function means the same everywhere.
"""

from __future__ import annotations

import datetime
import decimal
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ksql_spark.expressions import Call, Case, Cast, ColumnRef, Expression, FieldRef, Literal, Members, walk
from ksql_spark.grammar.literals import Value
from ksql_spark.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INTEGER,
    NULL,
    STRING,
    TIME,
    TIMESTAMP,
    Decimal,
    SqlType,
    keeps_numbers,
)

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
#: operators whose results are NULL only in ANSI mode
_TOTAL = frozenset((*_COMPARISONS, "BETWEEN", "IN", "IS NULL", "IS NOT NULL"))
#: types whose Python values compare as KSQL's do; Java compares the UTF-16 units of strings. So do DECIMALs
_COMPARED = (INTEGER, BIGINT, DOUBLE, BOOLEAN, STRING, DATE, TIME, TIMESTAMP)
#: enough digits for all that DECIMALs have
_DIGITS = decimal.Context(prec=100)
#: the texts that a cast reads in Python
_MOMENTS: Mapping[SqlType, re.Pattern[str]] = {
    DATE: re.compile(r"\d{4}-\d\d-\d\d", re.ASCII),
    TIME: re.compile(r"\d\d:\d\d(:\d\d(\.\d{3})?)?", re.ASCII),
    TIMESTAMP: re.compile(r"\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{3})?)?)?", re.ASCII),
}
_EPOCH = datetime.datetime(1970, 1, 1)
_MILLISECOND, _DAY = datetime.timedelta(milliseconds=1), datetime.timedelta(days=1)
#: what neither % nor _ matches
_LINE_ENDS = re.compile("[\n\r\x85\u2028\u2029]")


def is_plain(expression: Expression) -> bool:
    """Whether function_of can evaluate ``expression``."""
    match expression:
        case ColumnRef() | Literal():
            return True
        case Cast(Literal(str() as text), type_) if type_ in _MOMENTS:
            return _moment(text, type_) is not None
        case Cast(operand, type_) if _is_widened(operand.type, type_):
            return is_plain(operand)
        case FieldRef(operand):
            return is_plain(operand)
        case Call("IS NULL" | "IS NOT NULL", (operand,)):
            return is_plain(operand)
        case Call("LIKE", (value, Literal(str() as pattern))):
            return is_plain(value) and is_prefix(pattern)
        case Call("NOT", (operand,)):
            return _is_total(operand) and is_plain(operand)
        case Case(whens, default):
            parts = [part for when in whens for part in when]
            are_total = all(_is_total(condition) for condition, _ in whens)
            return are_total and all(map(is_plain, parts if default is None else [*parts, default]))
        case Call("AND" | "OR", arguments):
            return all(is_plain(a) and isinstance(a, Call) for a in arguments)
        case Call(name, (left, right)) if name in _COMPARISONS:
            fits = _is_compared(left.type) and left.type == right.type
            return fits and is_plain(left) and is_plain(right)
        case Call("IN", (value, Members(_, type_))):
            return value.type == type_ and _is_compared(type_) and is_plain(value)
        case Call("IN", (value, *members)):
            fits = _is_compared(value.type) and all(member.type == value.type for member in members)
            return fits and is_plain(value) and all(map(_is_value, members))
        case Call("BETWEEN", (value, *_) as arguments):
            fits = all(a.type == value.type for a in arguments) and _is_compared(value.type)
            return fits and all(map(is_plain, arguments))
    return False


def _is_total(condition: Expression) -> bool:
    """Whether a plain condition is NULL only in ANSI mode."""
    match condition:
        case Call("AND" | "OR", arguments):
            return all(map(_is_total, arguments))
    return isinstance(condition, Call) and condition.function in _TOTAL


def _is_value(expression: Expression) -> bool:
    """Whether it is a plain constant that is not NULL."""
    parts = walk(expression)
    are_values = all(isinstance(p, Cast) or (isinstance(p, Literal) and p.value is not None) for p in parts)
    return are_values and is_plain(expression)


def is_prefix(pattern: str) -> bool:
    """Whether a pattern of LIKE has a wildcard only at its end: %."""
    return not re.search("[%_]", pattern.removesuffix("%"))


def _is_compared(type_: SqlType) -> bool:
    return type_ in _COMPARED or isinstance(type_, Decimal)


def _is_widened(source: SqlType, target: SqlType) -> bool:
    """Whether a cast changes only the type, or makes a DOUBLE of a number."""
    of_number = source in (INTEGER, BIGINT) or isinstance(source, Decimal)
    return (
        (of_number and target == DOUBLE)
        or (source, target) == (INTEGER, BIGINT)
        or keeps_numbers(source, target)
    )


def _moment(text: str, type_: SqlType) -> int | None:
    """A DATE, TIME or TIMESTAMP in the formats' Python form; None for texts in other forms than the usual."""
    if not _MOMENTS[type_].fullmatch(text):
        return None
    try:
        moment = datetime.datetime.fromisoformat(f"1970-01-01T{text}" if type_ == TIME else text)
    except ValueError:
        return None
    return (moment - _EPOCH) // (_DAY if type_ == DATE else _MILLISECOND)


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
            if _is_placed(expression, places):
                place = places[value]
                return lambda row, values: values[place]
            return lambda row, values: value
        case Cast(Literal(str() as text), type_) if type_ in _MOMENTS:
            moment = _moment(text, type_)
            return lambda row, values: moment
        case Cast(operand, type_):
            inner = function_of(operand, columns, places)
            match type_:
                case Decimal(_, scale):
                    return _converted(inner, lambda number: _with_scale(number, scale))
            return _converted(inner, float) if type_ == DOUBLE else inner
        case FieldRef(operand, field):
            struct = function_of(operand, columns, places)
            return _converted(struct, lambda fields: fields.get(field))
        case Call("IS NULL", (operand,)):
            tested = function_of(operand, columns, places)
            return lambda row, values: tested(row, values) is None
        case Call("IS NOT NULL", (operand,)):
            tested = function_of(operand, columns, places)
            return lambda row, values: tested(row, values) is not None
        case Call("LIKE", (tested, pattern)):
            return _like(function_of(tested, columns, places), function_of(pattern, columns, places))
        case Call("NOT", (operand,)):
            return _negated(function_of(operand, columns, places))
        case Case(whens, default):
            choices = [(function_of(c, columns, places), function_of(r, columns, places)) for c, r in whens]
            return _chosen(choices, function_of(default or Literal(None, NULL), columns, places))
        case Call("AND", arguments, ansi=ansi):
            return _logic([function_of(a, columns, places) for a in arguments], False, ansi)
        case Call("OR", arguments, ansi=ansi):
            return _logic([function_of(a, columns, places) for a in arguments], True, ansi)
        case Call("IN", (tested, Members() as members), ansi=ansi):
            value = function_of(tested, columns, places)
            if not any(_is_placed(m, places) for m in members.literals):
                return _constant_member(value, frozenset(members.values), _of_null(ansi))
            return _member(value, [function_of(m, columns, places) for m in members.literals], _of_null(ansi))
        case Call("IN", (tested, *members), ansi=ansi):
            value = function_of(tested, columns, places)
            listed = [function_of(m, columns, places) for m in members]
            if not any(_is_placed(part, places) for m in members for part in walk(m)):
                return _constant_member(value, frozenset(m((), ()) for m in listed), _of_null(ansi))
            return _member(value, listed, _of_null(ansi))
        case Call("BETWEEN", (tested, low, high), ansi=ansi):
            value = function_of(tested, columns, places)
            above = _compared(">=", value, function_of(low, columns, places), tested.type, _of_null(ansi))
            below = _compared("<=", value, function_of(high, columns, places), tested.type, _of_null(ansi))
            return _logic([above, below], False, ansi)
        case Call(name, (left, right), ansi=ansi):
            sides = function_of(left, columns, places), function_of(right, columns, places)
            return _compared(name, *sides, left.type, _of_null(ansi))
    raise TypeError(f"{expression} needs Spark")


def _is_placed(part: Expression, places: Mapping[Value, int]) -> bool:
    """Whether it is a constant that stands for a placeholder's value."""
    return isinstance(part, Literal) and type(part.value) in (int, str) and part.value in places


def _converted(inner: PlainValue, convert: Callable[[Any], Any]) -> PlainValue:
    """``inner``, then ``convert``; NULL stays NULL."""

    def value(row: PlainRow, values: Values) -> Any:
        given = inner(row, values)
        return None if given is None else convert(given)

    return value


def _with_scale(number: int | decimal.Decimal, scale: int) -> decimal.Decimal:
    return decimal.Decimal(number).quantize(decimal.Decimal((0, (1,), -scale)), context=_DIGITS)


def _like(tested: PlainValue, pattern: PlainValue) -> PlainValue:
    """LIKE with a pattern that is_prefix."""

    def matches(row: PlainRow, values: Values) -> bool | None:
        text, wanted = tested(row, values), pattern(row, values)
        if text is None or wanted is None:
            return None
        prefix = wanted.removesuffix("%")
        if prefix == wanted:
            return bool(text == prefix)
        return text.startswith(prefix) and not _LINE_ENDS.search(text, len(prefix))

    return matches


def _of_null(ansi: bool) -> bool | None:
    """Return the result of a comparison with NULL: NULL in ANSI mode, otherwise false."""
    return None if ansi else False


def _negated(condition: PlainValue) -> PlainValue:
    def value(row: PlainRow, values: Values) -> bool | None:
        result = condition(row, values)
        return None if result is None else not result

    return value


def _chosen(choices: Sequence[tuple[PlainValue, PlainValue]], default: PlainValue) -> PlainValue:
    """The value that belongs to the first condition that is true."""

    def value(row: PlainRow, values: Values) -> Any:
        for condition, result in choices:
            if condition(row, values) is True:
                return result(row, values)
        return default(row, values)

    return value


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
