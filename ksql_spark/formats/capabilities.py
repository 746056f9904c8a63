"""The capabilities of formats: the table that analyzer, serdes and reference pages use (§5.1, §5.3).

It includes formats whose records cannot be read and written yet, so that their statements can be checked.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ksql_spark.types import STRING, Array, Decimal, Map, Primitive, SqlType, Struct

_PLAIN = frozenset(
    ("BIGINT", "BOOLEAN", "BYTES", "DATE", "DECIMAL", "DOUBLE", "INTEGER", "STRING", "TIME", "TIMESTAMP")
)
_ALL = _PLAIN | {"ARRAY", "MAP", "STRUCT"}


@dataclass(frozen=True)
class Capability:
    """The capabilities of one format.

    Args:
        unwrapped: a single column may be stored as a bare value (§5.3).
        wrapped: a single column may be stored as a record (§5.3).
        types: the types it supports, by name without parameters; keys of MAPs must be STRINGs.
        values: it may be used for values, not only for keys.
        max_columns: its maximal number of columns; None: any number.
        registry: it keeps schemas in a registry, so columns can be inferred.
        properties: its properties: delimiter, full_name, nullable.
        names: a pattern for its field names.
    """

    unwrapped: bool
    wrapped: bool
    types: frozenset[str] = _ALL
    values: bool = True
    max_columns: int | None = None
    registry: bool = False
    properties: frozenset[str] = frozenset()
    names: re.Pattern[str] | None = None

    def carries(self, type_: SqlType) -> bool:
        """Whether a column may have this type."""
        if base_name(type_) not in self.types:
            return False
        match type_:
            case Map(key, value):
                return key == STRING and self.carries(value)
            case Array(element):
                return self.carries(element)
            case Struct(fields):
                return all(self.carries(f.type) for f in fields)
        return True

    def wraps(self, count: int, is_key: bool, requested: bool | None = None) -> bool:
        """Whether ``count`` columns are stored as a record, not as a bare value.

        Args:
            count: number of columns of the key or value.
            is_key: whether it is a key; a single key column is bare if the format supports that.
            requested: WRAP_SINGLE_VALUE; None: not given.
        """
        if count != 1 or not self.unwrapped:
            return True
        if is_key or not self.wrapped:
            return False
        return requested is not False


_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
CAPABILITIES: dict[str, Capability] = {
    "AVRO": Capability(True, True, registry=True, properties=frozenset({"full_name"}), names=_NAME),
    "DELIMITED": Capability(True, False, types=_PLAIN, properties=frozenset({"delimiter"})),
    "JSON": Capability(True, True),
    "JSON_SR": Capability(True, True, registry=True, properties=frozenset({"full_name"})),
    "KAFKA": Capability(
        True, False, types=frozenset({"BIGINT", "BYTES", "DOUBLE", "INTEGER", "STRING"}), max_columns=1
    ),
    "NONE": Capability(False, False, types=frozenset(), values=False, max_columns=0),
    "PROTOBUF": Capability(
        False, True, registry=True, properties=frozenset({"full_name", "nullable"}), names=_NAME
    ),
    "PROTOBUF_NOSR": Capability(True, True, properties=frozenset({"nullable"}), names=_NAME),
}


def base_name(type_: SqlType) -> str:
    """The name of a type without its parameters: ARRAY, DECIMAL …"""
    match type_:
        case Primitive(name):
            return name
        case Decimal() | Array() | Map() | Struct():
            return type(type_).__name__.upper()
    return str(type_)
