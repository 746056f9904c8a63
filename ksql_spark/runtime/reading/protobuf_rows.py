"""Rows of results as Protobuf messages (``application/vnd.ksql.v1+protobuf``, reference §7.5)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ksql_spark.analyzer.base.serialization import check_columns
from ksql_spark.entities.schemas import SchemaInfo
from ksql_spark.errors import KsqlError
from ksql_spark.formats import SerdeSpec
from ksql_spark.formats.protobuf.format import ProtobufNoSrSerde
from ksql_spark.runtime.inserts import SCALARS
from ksql_spark.runtime.reading.results import ResultColumn, Row
from ksql_spark.schema import Column
from ksql_spark.types import (
    BYTES,
    DATE,
    DOUBLE,
    PRIMITIVES,
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


class ProtobufRows:
    """Writes the rows of a result as messages with one field per column.

    Args:
        columns: of the result.

    Raises:
        KsqlError: FORMAT_SCHEMA, INVALID_STATEMENT: Protobuf does not support a name or type.
    """

    def __init__(self, columns: Sequence[ResultColumn]) -> None:
        own = tuple(Column(c.name, _type_of(c.schema)) for c in columns)
        hint = "Change their names or types, or request another media type."
        check_columns("PROTOBUF", own, is_key=False, node=None, hint=hint)
        self._serde = ProtobufNoSrSerde(SerdeSpec(ProtobufNoSrSerde.name, own))
        #: the messages' schema, a .proto file
        self.schema = self._serde.schema
        self._columns = [(c.name, _reader(c.type)) for c in own]

    def encode(self, row: Row) -> bytes:
        """The message of ``row``; fields that are NULL are left out.

        Raises:
            KsqlError: INVALID_STATEMENT: Protobuf does not support a value, for example a date after the year
            9999.
        """
        values = []
        for (name, read), value in zip(self._columns, row.values, strict=True):
            try:
                values.append(read(value))
            except ValueError:
                reason = f"Protobuf cannot hold the value {value} of the column {name}"
                raise KsqlError("INVALID_STATEMENT", reason=reason) from None
        return self._serde.encode(values) or b""


def _type_of(info: SchemaInfo) -> SqlType:
    if info.fields is not None:
        return Struct(tuple(Field(f.name, _type_of(f.schema)) for f in info.fields))
    if info.parameters is not None:
        return Decimal(info.parameters.precision, info.parameters.scale)
    if info.member_schema is None:
        return PRIMITIVES[info.type]
    member = _type_of(info.member_schema)
    return Map(STRING, member) if info.type == "MAP" else Array(member)


def _reader(type_: SqlType) -> Callable[[Any], Any]:
    """Converts values of the REST API (see api_value) to the formats' Python form; it raises ValueError."""
    read = _value_reader(type_)
    return lambda value: None if value is None else read(value)


def _value_reader(type_: SqlType) -> Callable[[Any], Any]:
    """The same for values that are not NULL."""
    match type_:
        case Array(element):
            of_element = _reader(element)
            return lambda value: [of_element(v) for v in value]
        case Map(_, item):
            of_item = _reader(item)
            return lambda value: {k: of_item(v) for k, v in value.items()}
        case Struct(fields):
            inner = {f.name: _reader(f.type) for f in fields}
            return lambda value: {n: inner[n](v) for n, v in value.items()}
    if type_ == DOUBLE:
        return float  # also reads NaN and infinities, which are written as text
    return SCALARS[type_] if type_ in (BYTES, DATE, TIME, TIMESTAMP) else lambda value: value
