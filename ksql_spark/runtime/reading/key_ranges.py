"""Ranges of keys that a pull query's rows can have, so that a scan need not read the whole view.

Ranges only narrow what is read: the whole WHERE is still evaluated.
"""

from __future__ import annotations

from collections.abc import Iterator

from ksql_spark.expressions import Call, ColumnRef, Expression, Literal
from ksql_spark.formats import Serde
from ksql_spark.metastore.serdes import key_serde
from ksql_spark.metastore.sources import DataSource
from ksql_spark.runtime.reading.stored_row import KeyRange
from ksql_spark.types import BIGINT, BYTES, INTEGER, STRING, SqlType

#: comparisons with their sides swapped
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}
#: below it, the order of UTF-16 code units, which KSQL uses, is that of code points and so of UTF-8 bytes
_FIRST_SURROGATE = "\ud800"


def key_ranges(source: DataSource, predicate: Expression | None) -> list[KeyRange] | None:
    """The ranges of key bytes that rows matching ``predicate`` can have; None: all.

    Only the KAFKA format encodes keys so that their bytes sort like the keys.
    """
    if predicate is None or len(source.schema.key) != 1 or source.key_format.name != "KAFKA":
        return None
    (column,) = source.schema.key
    if column.type in (STRING, BYTES):
        low, high = _of_text(predicate, column.name, column.type)
        return None if (low, high) == (b"", None) else [KeyRange(low, high)]
    if column.type in (INTEGER, BIGINT):
        return _of_numbers(predicate, column.name, key_serde(source), column.type)
    return None


def _conditions(node: Expression, name: str) -> Iterator[tuple[str, object]]:
    """Yield (operator, constant) for each comparison of the column among the ANDed conditions in ``node``."""
    match node:
        case Call("AND", arguments):
            for argument in arguments:
                yield from _conditions(argument, name)
        case Call("BETWEEN", (ColumnRef(column), Literal(low), Literal(high))) if column == name:
            yield from ((">=", low), ("<=", high))
        case Call("LIKE", (ColumnRef(column), Literal(str() as pattern))) if column == name:
            yield "LIKE", pattern
        case Call(comparison, (ColumnRef(column), Literal(value))) if column == name:
            yield comparison, value
        case Call(comparison, (Literal(value), ColumnRef(column))) if column == name:
            yield _TURNED.get(comparison, ""), value


def _of_text(predicate: Expression, name: str, type_: SqlType) -> tuple[bytes, bytes | None]:
    low, high = b"", None
    for comparison, value in _conditions(predicate, name):
        first, after = b"", None
        if comparison == "LIKE" and isinstance(value, str):
            prefix = prefix_of(value).encode(errors="replace")
            first, after = prefix, after_all(prefix)
        elif isinstance(value, str) and type_ == STRING:
            if any(c >= _FIRST_SURROGATE for c in value):
                continue
            first, after = _bounds(comparison, value.encode())
        elif isinstance(value, bytes):
            first, after = _bounds(comparison, value)
        low = max(low, first)
        high = after if high is None else high if after is None else min(high, after)
    return low, high


def _bounds(comparison: str, value: bytes) -> tuple[bytes, bytes | None]:
    match comparison:
        case "=":
            return value, value + b"\0"
        case ">" | ">=":
            return value, None
        case "<":
            return b"", value
        case "<=":
            return b"", value + b"\0"
    return b"", None


def prefix_of(pattern: str) -> str:
    """What all texts that match a pattern of LIKE begin with."""
    return pattern.split("%")[0].split("_")[0].split("\\")[0]


def after_all(prefix: bytes) -> bytes | None:
    """The smallest bytes greater than all that start with ``prefix``."""
    stem = prefix.rstrip(b"\xff")
    return stem[:-1] + bytes([stem[-1] + 1]) if stem else None


def _of_numbers(predicate: Expression, name: str, serde: Serde, type_: SqlType) -> list[KeyRange] | None:
    """Negative numbers sort after the others, because their first bit is set."""
    bits = 31 if type_ == INTEGER else 63
    low, high = least, most = -(2**bits), 2**bits - 1
    for comparison, value in _conditions(predicate, name):
        if type(value) is not int:
            continue
        match comparison:
            case "=":
                low, high = max(low, value), min(high, value)
            case ">":
                low = max(low, value + 1)
            case ">=":
                low = max(low, value)
            case "<":
                high = min(high, value - 1)
            case "<=":
                high = min(high, value)
    if (low, high) == (least, most):
        return None
    parts = [(max(low, 0), high), (low, min(high, -1))]
    return [_numbers(serde, first, last) for first, last in parts if first <= last]


def _numbers(serde: Serde, first: int, last: int) -> KeyRange:
    low, high = serde.encode([first]), serde.encode([last])
    assert low is not None and high is not None
    return KeyRange(low, high + b"\0")
