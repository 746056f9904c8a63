"""What each format can carry, and how: the table that analyzer, serdes and reference go by (§5.1, §5.3).

Formats whose records cannot be read and written yet are here too, so that their statements can be checked.
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
    """What one format can do.

    Args:
        unwrapped, wrapped: how a single column may be stored: as a bare value, as a record (§5.3).
        types: what it carries, by names without parameters; keys of MAPs are STRINGs everywhere.
        values: it may be a value's format, not only a key's.
        max_columns: how many columns it holds; None: any number.
        registry: it keeps schemas in a registry, so columns can be inferred.
        properties: what it understands: delimiter, full_name, nullable.
        names: what its field names must look like.
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
            count: how many columns there are on that side.
            is_key: for a key; a single key is bare where the format can do that.
            requested: WRAP_SINGLE_VALUE, where given.
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
