"""Decodes and evaluates rows in Python, for lookups, scans and push queries that need no Spark.

Plain expressions are columns, constants, comparisons of them, BETWEEN, IN, AND and OR. Spark evaluates
everything else (spark/evaluate.py), so that a function means the same everywhere.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any

from ksql_spark.expressions import Call, Cast, ColumnRef, Expression, Literal, Members
from ksql_spark.formats import BadRecord
from ksql_spark.grammar.literals import Value
from ksql_spark.kafka.consumer import Record
from ksql_spark.metastore.serdes import serdes
from ksql_spark.metastore.sources import DataSource
from ksql_spark.runtime.reading.results import Row, api_form
from ksql_spark.runtime.reading.view import StoredRow
from ksql_spark.schema import LATEST_TIME_MS, ROWOFFSET, ROWPARTITION, ROWTIME, WINDOWEND, WINDOWSTART
from ksql_spark.schema_registry import SchemaRegistry
from ksql_spark.types import BIGINT, BOOLEAN, DOUBLE, INTEGER, STRING, SqlType


class Reader:
    """Reads stored rows of a table, or records of a stream, as lists of values.

    Args:
        source: the table or stream.
        registry: has the schemas of formats that need them; or None.
    """

    def __init__(self, source: DataSource, registry: SchemaRegistry | None) -> None:
        self.source = source
        self.registry = registry
        self.key, self.value = serdes(source, registry=registry)
        before = (ROWTIME, WINDOWSTART, WINDOWEND) if source.is_table else (ROWTIME, ROWPARTITION, ROWOFFSET)
        #: column -> the index of its value in a row
        self.places: Mapping[str, int] = {
            name: place
            for place, name in enumerate(
                (*before, *(c.name for c in (*self.key.columns, *self.value.columns)))
            )
        }
        self._no_key = [None] * len(self.key.columns)

    def decode(self, row: StoredRow) -> list[Any] | None:
        """The values of a table's row, or None if a format cannot read it."""
        key, value, time_ms, start, end = row
        try:
            keys = self.key.decode(key) if self.key.columns else ()
            values = self.value.decode(value) if self.value.columns else ()
        except BadRecord:
            return None
        return None if keys is None or values is None else [time_ms, start, end, *keys, *values]

    def stream_row(self, record: Record) -> list[Any] | None:
        """The values of a stream's record; None for a NULL value.

        Raises:
            BadRecord: a format cannot read it, or it has no event time (reference §5.7).
        """
        if not 0 <= record.timestamp_ms <= LATEST_TIME_MS:
            raise BadRecord("Its timestamp is missing, negative or too large.")
        if record.value is None:
            return None
        values = self.value.decode(record.value) if self.value.columns else ()
        keys = None if record.key is None or not self.key.columns else self.key.decode(record.key)
        if values is None:
            return None
        return [record.timestamp_ms, record.partition, record.offset, *(keys or self._no_key), *values]


class Readers:
    """The most recently used readers: creating one takes longer than a lookup."""

    def __init__(self, size: int = 500) -> None:
        self._size = size
        #: by the source's identity: comparing sources takes as long as creating a reader
        self._known: dict[tuple[int, int], Reader] = {}

    def of(self, source: DataSource, registry: SchemaRegistry | None) -> Reader:
        """The reader of ``source``."""
        name = (id(source), id(registry))
        known = self._known.get(name)
        if known is None or known.source is not source or known.registry is not registry:
            if len(self._known) >= self._size:
                self._known = {}
            known = self._known[name] = Reader(source, registry)
        return known


READERS = Readers()


# ---- the few expressions that need no Spark ---------------------------------------------------------------

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


def rows_of(
    items: Sequence[tuple[Expression, SqlType]],
    predicate: Expression | None,
    columns: Mapping[str, int],
    places: Mapping[Value, int] = NO_PLACES,
) -> Callable[[PlainRow, Values], Row | None]:
    """A function from a source's row, and placeholder values, to a row of the result.

    It returns None if ``predicate`` fails. The arguments are those of values_of.
    """
    select = values_of(items, predicate, columns, places)

    def row(source: PlainRow, values: Values) -> Row | None:
        found = select(source, values)
        return None if found is None else Row(found)

    return row


def values_of(
    items: Sequence[tuple[Expression, SqlType]],
    predicate: Expression | None,
    columns: Mapping[str, int],
    places: Mapping[Value, int] = NO_PLACES,
) -> Callable[[PlainRow, Values], list[Any] | None]:
    """A function from a source's row, and placeholder values, to the values of a result row.

    It returns None if ``predicate`` fails.

    Args:
        items: the result's items and their types.
        predicate: a condition over the source's columns; None: all rows.
        columns: column -> its index in a row (Reader.places).
        places: constant -> the index of its placeholder value.
    """
    forms = [api_form(type_) for _, type_ in items]
    named = [item.name for item, _ in items if isinstance(item, ColumnRef)]
    if len(named) == len(items) > 1 and all(form is None for form in forms):
        get = itemgetter(*(columns[name] for name in named))
        select: Callable[[PlainRow, Values], list[Any]] = lambda row, values: list(get(row))  # noqa: E731
    else:
        gets = [
            (function_of(item, columns, places), form) for (item, _), form in zip(items, forms, strict=True)
        ]
        select = lambda row, values: [  # noqa: E731
            get(row, values) if form is None else form(get(row, values)) for get, form in gets
        ]
    if predicate is None:
        return select
    condition = function_of(predicate, columns, places)
    return lambda row, values: select(row, values) if condition(row, values) is True else None


def function_of(
    expression: Expression, columns: Mapping[str, int], places: Mapping[Value, int] = NO_PLACES
) -> PlainValue:
    """A function from a row, and placeholder values, to the value of a plain expression.

    Logic is two-valued: a comparison with NULL is FALSE (§3.2). ``is_plain`` of the expression is true; the
    other arguments are those of values_of.
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
