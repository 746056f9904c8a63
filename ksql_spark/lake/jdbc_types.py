"""SQL types as columns of databases, and Arrow's values as what their drivers take.

Nested values become JSON: TIMESTAMP, DATE and TIME as ISO 8601, BYTES as Base64, DECIMAL as text, since
readers of JSON would round it.
"""

from __future__ import annotations

import base64
import datetime
import decimal
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

from ksql_spark.lake.arrow import arrow_type
from ksql_spark.lake.databases import SQLITE
from ksql_spark.schema import Column
from ksql_spark.types import Array, Decimal, Map, Primitive, SqlType, Struct


class _ExactInSqlite(sa.types.TypeDecorator[decimal.Decimal]):
    """NUMERIC; in SQLite, which would round it, text."""

    impl = sa.Numeric
    cache_ok = True

    def load_dialect_impl(self, dialect: sa.Dialect) -> sa.types.TypeEngine[Any]:
        return sa.Text() if dialect.name == SQLITE else self.impl_instance

    def process_bind_param(self, value: Any, dialect: sa.Dialect) -> Any:
        return str(value) if dialect.name == SQLITE and value is not None else value


_JSON = sa.JSON(none_as_null=True).with_variant(postgresql.JSONB(none_as_null=True), "postgresql")

#: SQL type -> the type of new columns, and the classes of existing columns that fit
_PRIMITIVES: dict[str, tuple[sa.types.TypeEngine[Any], tuple[type[sa.types.TypeEngine[Any]], ...]]] = {
    "BOOLEAN": (sa.Boolean(), (sa.Boolean,)),
    "INTEGER": (sa.Integer(), (sa.Integer, sa.Numeric)),
    "BIGINT": (sa.BigInteger(), (sa.BigInteger, sa.Numeric)),
    "DOUBLE": (sa.Double(), (sa.Float, sa.Numeric)),
    "STRING": (sa.Text(), (sa.String,)),
    "BYTES": (sa.LargeBinary(), (sa.LargeBinary,)),
    "DATE": (sa.Date(), (sa.Date,)),
    "TIME": (sa.Time(), (sa.Time,)),
    "TIMESTAMP": (sa.DateTime(timezone=True), (sa.DateTime,)),
    # its JSON: drivers take JSON as values, in which numbers have no digits of their own
    "VARIANT": (sa.Text(), (sa.String,)),
}
#: subclasses of these that have too few digits
_NARROW = (sa.SmallInteger, sa.REAL)


def column_type(type_: SqlType) -> sa.types.TypeEngine[Any]:
    """The type of a new column of ``type_``."""
    match arrow_type(type_), type_:
        case pa.Decimal128Type() as reduced, _:
            return _ExactInSqlite(reduced.precision, reduced.scale)
        case _, Primitive(name):
            return _PRIMITIVES[name][0]
    return _JSON


def takes(there: sa.types.TypeEngine[Any], type_: SqlType, dialect: str) -> bool:
    """Whether a column that is ``there`` takes the values of ``type_``, unless one is too long for it."""
    if isinstance(there, _NARROW):
        return False
    if isinstance(type_, Primitive):
        if type_.name == "BIGINT" and dialect == SQLITE and isinstance(there, sa.Integer):
            return True  # all have 64 bits
        if type_.name in ("INTEGER", "BIGINT") and isinstance(there, sa.Float):
            return False  # it would round them
        return isinstance(there, _PRIMITIVES[type_.name][1])
    if not isinstance(type_, Decimal):
        return isinstance(there, sa.JSON)
    if dialect == SQLITE:
        return isinstance(there, sa.Text)
    if not isinstance(there, sa.Numeric) or isinstance(there, sa.Float):
        return False
    decimal = arrow_type(type_)
    before = (there.precision or 0) - (there.scale or 0)
    return there.precision is None or (
        (there.scale or 0) >= decimal.scale and before >= decimal.precision - decimal.scale
    )


@dataclass(frozen=True)
class Refused:
    """A value that no driver takes; ``reason``: why."""

    reason: str


def values(rows: pa.RecordBatch, columns: Sequence[Column]) -> Iterator[tuple[Any, ...]]:
    """The rows as tuples of values that drivers take; a value that none takes is a Refused."""
    return zip(*(_column(rows[column.name], column.type) for column in columns), strict=True)


def _column(column: pa.Array, type_: SqlType) -> list[Any]:
    values: list[Any]
    try:
        values = column.to_pylist()
    except (ValueError, OverflowError):  # years that Python does not have
        values = [_one(value) for value in column]
    if isinstance(type_, (Primitive, Decimal)):
        return values
    convert = _json(type_)
    return [value if value is None or isinstance(value, Refused) else convert(value) for value in values]


def _one(value: pa.Scalar) -> Any:
    try:
        return value.as_py()
    except (ValueError, OverflowError) as error:
        return Refused(str(error))


def _json(type_: SqlType) -> Callable[[Any], Any]:
    """A function from a value to what json.dumps() takes."""
    convert: Callable[[Any], Any]
    match type_:
        case Array(element):
            inner = _json(element)
            return _or_null(lambda value: [inner(part) for part in value])
        case Map(key, value_type):
            name, inner = _json(key), _json(value_type)
            return _or_null(lambda value: {_name(name(k)): inner(v) for k, v in value})
        case Struct(fields):
            parts = [(field.name, _json(field.type)) for field in fields]
            return _or_null(lambda value: {name: inner(value[name]) for name, inner in parts})
        case Primitive("BYTES"):
            convert = _base64
        case Primitive("DOUBLE"):
            convert = _finite
        case Primitive("DATE" | "TIME" | "TIMESTAMP"):
            convert = _iso
        case Decimal():
            convert = str
        case _:
            return lambda value: value
    return _or_null(convert)


def _or_null(convert: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: None if value is None else convert(value)


def _name(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _base64(value: bytes) -> str:
    return base64.b64encode(value).decode()


def _finite(value: float) -> float | str:
    return value if math.isfinite(value) else {math.inf: "Infinity", -math.inf: "-Infinity"}.get(value, "NaN")


def _iso(value: datetime.date | datetime.time | datetime.datetime) -> str:
    if isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
        return value.isoformat()
    text = value.isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")
