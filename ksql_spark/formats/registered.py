"""Converts registered schemas to SQL columns (reference §5.6); one module for each kind of schema.

All three follow Kafka Connect, whose converters other programs on the same topics use: a schema is a tree of
types, and the name and parameters of a number may make it a date, a time or a decimal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial

from ksql_spark.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    INTEGER,
    STRING,
    TIME,
    TIMESTAMP,
    Array,
    Decimal,
    Field,
    Map,
    SqlType,
    Struct,
)

#: the default precision of decimals
DEFAULT_PRECISION = 64

#: the maximum number of fields of a STRUCT, including nested ones: a type may be used in several places, and
#: these nested
_MAX_FIELDS = 10_000

#: prefix of Connect's logical types
CONNECT = "org.apache.kafka.connect.data."
#: the type that a schema's name determines
_LOGICAL: dict[tuple[str, SqlType], SqlType] = {
    (CONNECT + "Date", INTEGER): DATE,
    (CONNECT + "Time", INTEGER): TIME,
    (CONNECT + "Timestamp", BIGINT): TIMESTAMP,
}


class NotConvertible(ValueError):
    """A schema that cannot be converted to columns; the text says why, in one line."""


class FieldLeftOut(ValueError):
    """A type that SQL lacks: fields of this type are omitted."""


@dataclass(frozen=True)
class ReadSchema:
    """A schema as a SQL type.

    Args:
        type: a Struct for records and messages; names keep their case.
        name: the full name of the record or message, if it has one.
        names: full names of all records or messages in the schema.
    """

    type: SqlType
    name: str | None = None
    names: tuple[str, ...] = ()


def struct_of(fields: Iterable[tuple[str, Callable[[], SqlType]]]) -> Struct:
    """A STRUCT of named fields, without those whose type SQL lacks.

    Raises:
        NotConvertible: two fields have the same name, a field has none, or there are too many.
    """
    readable: list[Field] = []
    count = 0
    for name, read in fields:
        if not isinstance(name, str):
            raise NotConvertible(f"{name} is not a name of a field")
        if any(f.name == name for f in readable):
            raise NotConvertible(f"the field {name} is there twice")
        try:
            readable.append(Field(name, read()))
        except FieldLeftOut:
            continue
        count += 1 + _fields_in(readable[-1].type)
        if count > _MAX_FIELDS:
            raise NotConvertible(f"it has more than {_MAX_FIELDS:,} fields")
    return Struct(tuple(readable))


def _fields_in(type_: SqlType) -> int:
    match type_:
        case Array(inner) | Map(_, inner):
            return _fields_in(inner)
        case Struct(fields):
            return sum(1 + _fields_in(f.type) for f in fields)
    return 0


def map_of(key: SqlType, value: SqlType) -> Map:
    """A MAP; in SQL its keys are STRINGs, whatever simple type they have.

    Raises:
        FieldLeftOut: its keys do not have a simple type.
    """
    if key not in (INTEGER, BIGINT, BOOLEAN, STRING, DATE, TIME, TIMESTAMP):
        raise FieldLeftOut(f"a map with keys of type {key}")
    return Map(STRING, value)


def named(type_: SqlType, name: str | None, parameters: Mapping[str, object] | None = None) -> SqlType:
    """``type_``, or the type that a schema's ``name`` determines: a date, a time, a decimal."""
    if name == CONNECT + "Decimal" and type_ == BYTES:
        values = parameters or {}
        return decimal(values.get("connect.decimal.precision"), values.get("scale"))
    return _LOGICAL.get((name or "", type_), type_)


def decimal(precision: object, scale: object) -> Decimal:
    """A DECIMAL with a schema's precision and scale (numbers, texts, or None: the default).

    Raises:
        NotConvertible: they are not valid in SQL.
    """
    try:
        digits = DEFAULT_PRECISION if precision is None else int(str(precision))
        places = 0 if scale is None else int(str(scale))
    except ValueError:
        raise NotConvertible(f"a decimal of precision {precision} and scale {scale}") from None
    if not (digits >= 1 and 0 <= places <= digits):
        raise NotConvertible(f"a decimal of precision {digits} and scale {places}")
    return Decimal(digits, places)


def columns(type_: SqlType, single: str | None, *, keep_case: bool) -> tuple[Field, ...]:
    """The columns of a schema.

    Args:
        type_: the schema's type.
        single: name of the single column of a bare value; None for a record.
        keep_case: whether names keep their case; otherwise they become upper case, also in STRUCTs.

    Raises:
        NotConvertible: it is not a record although ``single`` is None, or has no columns.
    """
    if single is not None:
        type_ = Struct((Field(single, type_),))
    if not isinstance(type_, Struct):
        raise NotConvertible(
            "Schema returned from schema registry is anonymous type. To use this schema with ksqlDB, set "
            "'WRAP_SINGLE_VALUE=false' in the WITH clause properties."
        )
    if not keep_case:
        type_ = _upper(type_)
        assert isinstance(type_, Struct)
    if not type_.fields:
        raise NotConvertible("Schema does not include any columns with types that ksqlDB supports")
    return type_.fields


def _upper(type_: SqlType) -> SqlType:
    match type_:
        case Struct(fields):
            return struct_of((f.name.upper(), partial(_upper, f.type)) for f in fields)
        case Array(element):
            return Array(_upper(element))
        case Map(key, value):
            return Map(key, _upper(value))
    return type_
