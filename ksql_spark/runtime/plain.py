"""Rows that Python decodes and evaluates, for look-ups, scans and push queries that need no Spark.

Plain are columns, constants, comparisons of them, AND and OR. Everything else is Spark's (spark/evaluate.py),
so that a function means the same everywhere.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from itertools import repeat
from typing import Any

from ksql_spark.expressions import Call, Cast, ColumnRef, Expression, Literal
from ksql_spark.formats import BadRecord
from ksql_spark.metastore.serdes import serdes
from ksql_spark.metastore.sources import DataSource
from ksql_spark.runtime.views import StoredRow
from ksql_spark.schema import ROWTIME, WINDOWEND, WINDOWSTART
from ksql_spark.schema_registry import SchemaRegistry
from ksql_spark.types import BIGINT, BOOLEAN, DOUBLE, INTEGER, STRING


class Reader:
    """Reads stored rows of ``source``."""

    def __init__(self, source: DataSource, registry: SchemaRegistry | None) -> None:
        self.source = source
        self.registry = registry
        self.key, self.value = serdes(source, registry=registry)

    def decode(self, row: StoredRow) -> dict[str, Any] | None:
        """The columns of a row by name, or None if a format cannot read the row."""
        named: dict[str, Any] = {
            ROWTIME: row.time_ms,
            WINDOWSTART: row.window_start,
            WINDOWEND: row.window_end,
        }
        try:
            for serde, data in ((self.key, row.key), (self.value, row.value)):
                if serde.columns:
                    values = serde.decode(data)
                    if values is None:
                        return None
                    named.update(zip((c.name for c in serde.columns), values, strict=True))
        except BadRecord:
            return None
        return named

    def stream_row(self, key: bytes | None, value: bytes | None, time_ms: int) -> dict[str, Any] | None:
        """The columns of a stream's record by name; None for a NULL value, or if a format cannot read it."""
        if value is None:
            return None
        named: dict[str, Any] = {ROWTIME: time_ms}
        try:
            keys = None if key is None or not self.key.columns else self.key.decode(key)
            values = self.value.decode(value) if self.value.columns else []
        except BadRecord:
            return None
        if values is None:
            return None
        named.update(zip((c.name for c in self.key.columns), keys or repeat(None), strict=False))
        named.update(zip((c.name for c in self.value.columns), values, strict=True))
        return named


class Readers:
    """The readers used last: making one takes longer than a look-up."""

    def __init__(self, size: int = 500) -> None:
        self._size = size
        #: by the identity of the source: comparing sources takes as long as making a reader
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

_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
#: types whose Python values compare as KSQL's do (strings aside from < and >: Java compares UTF-16 units)
_COMPARED = (INTEGER, BIGINT, DOUBLE, BOOLEAN)

#: casts that change nothing but the type
_WIDENED = ((INTEGER, BIGINT), (INTEGER, DOUBLE), (BIGINT, DOUBLE))


def is_plain(expression: Expression) -> bool:
    """Whether value_of can evaluate ``expression``."""
    match expression:
        case ColumnRef() | Literal():
            return True
        case Cast(operand, type_) if (operand.type, type_) in _WIDENED:
            return is_plain(operand)
        case Call("AND" | "OR", arguments):
            return all(is_plain(a) and isinstance(a, Call) for a in arguments)
        case Call(name, (left, right)) if name in _COMPARISONS:
            same = left.type == right.type
            fits = left.type in _COMPARED or (left.type == STRING and name in ("=", "<>"))
            return same and fits and is_plain(left) and is_plain(right)
    return False


def value_of(expression: Expression, row: dict[str, Any]) -> Any:
    """The value of a plain expression, in two-valued logic: a comparison with NULL is FALSE (§3.2)."""
    match expression:
        case ColumnRef(name):
            return row[name]
        case Literal(value):
            return value
        case Cast(operand, type_):
            number = value_of(operand, row)
            return float(number) if type_ == DOUBLE and number is not None else number
        case Call("AND", arguments):
            return all(value_of(a, row) is True for a in arguments)
        case Call("OR", arguments):
            return any(value_of(a, row) is True for a in arguments)
        case Call(name, (left, right)):
            a, b = value_of(left, row), value_of(right, row)
            return a is not None and b is not None and _COMPARISONS[name](a, b)
    raise TypeError(f"{expression} needs Spark")
