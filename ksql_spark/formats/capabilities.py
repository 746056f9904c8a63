"""The capabilities of formats: the table that analyzer, serdes and reference pages use (§5.1, §5.3).

A new format is a row here; ``formats.FORMATS`` has the classes that read and write.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ksql_spark.schema_registry import AVRO, JSON, PROTOBUF
from ksql_spark.types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    INTEGER,
    STRING,
    Array,
    Decimal,
    Map,
    Primitive,
    SqlType,
    Struct,
)

_PLAIN = frozenset(
    ("BIGINT", "BOOLEAN", "BYTES", "DATE", "DECIMAL", "DOUBLE", "INTEGER", "STRING", "TIME", "TIMESTAMP")
)
_ALL = _PLAIN | {"ARRAY", "MAP", "STRUCT"}
_JSON = _ALL | {"VARIANT"}
#: how a record tells its columns apart: by their names, their numbers, or only by their places
NAME, NUMBER, PLACE = "name", "number", "place"
#: type -> those as which all its values can be read, where a format allows that, besides wider DECIMALs
_WIDER: dict[SqlType, tuple[SqlType, ...]] = {
    INTEGER: (BIGINT, DOUBLE, STRING),
    BIGINT: (STRING,),
    BOOLEAN: (STRING,),
}


@dataclass(frozen=True)
class Capability:
    """The capabilities of one format.

    Args:
        unwrapped: a single column may be stored as a bare value (§5.3).
        wrapped: a single column may be stored as a record (§5.3).
        types: the types it supports, by name without parameters; keys of MAPs must be STRINGs.
        values: it may be used for values, not only for keys.
        max_columns: its maximal number of columns, or None without a limit.
        registry: the kind of its schemas in a registry, from which columns can be inferred, or None.
        properties: its properties: delimiter, full_name, nullable.
        names: a pattern for its field names.
        label: its name in messages about field names.
        maps: the start of the message that rejects MAP keys other than STRINGs.
        columns_by: NAME, NUMBER or PLACE.
        widens: it reads numbers as wider types too.
    """

    unwrapped: bool
    wrapped: bool
    types: frozenset[str] = _ALL
    values: bool = True
    max_columns: int | None = None
    registry: str | None = None
    properties: frozenset[str] = frozenset()
    names: re.Pattern[str] | None = None
    label: str = ""
    maps: str = ""
    columns_by: str = PLACE
    widens: bool = False

    def carries(self, type_: SqlType) -> bool:
        """Whether it supports a column of this type."""
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

    def reads(self, written: SqlType, type_: SqlType) -> bool:
        """Whether all values of type ``written`` that are in a topic can be read as ``type_``."""
        match written, type_:
            case Decimal(), Decimal():
                whole, target_whole = written.precision - written.scale, type_.precision - type_.scale
                is_wider = self.widens and whole <= target_whole and written.scale <= type_.scale
                return written == type_ or is_wider
            case Array(), Array():
                return self.reads(written.element, type_.element)
            case Map(), Map():
                return written.key == type_.key and self.reads(written.value, type_.value)
            case Struct(), Struct() if self.columns_by == NAME:
                types = {field.name: field.type for field in written.fields}
                return all(self.reads(types.get(f.name, f.type), f.type) for f in type_.fields)
        return written == type_ or (self.widens and type_ in _WIDER.get(written, ()))

    def wraps(self, count: int, is_key: bool, requested: bool | None = None) -> bool:
        """Whether ``count`` columns are stored as a record, not as a bare value.

        Args:
            count: number of columns of the key or value.
            is_key: whether it is a key; a single key column is bare if the format supports that.
            requested: WRAP_SINGLE_VALUE, or None if not given.
        """
        if count != 1 or not self.unwrapped:
            return True
        if is_key or not self.wrapped:
            return False
        return requested is not False


_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_JSON_MAPS = "JSON only supports MAP types"
_PROTOBUF_MAPS = "PROTOBUF format only supports MAP types"
CAPABILITIES: dict[str, Capability] = {
    "AVRO": Capability(
        True,
        True,
        registry=AVRO,
        properties=frozenset({"full_name"}),
        names=_NAME,
        label="Avro",
        maps="Avro only supports MAPs",
        columns_by=NAME,
        widens=True,
    ),
    "DELIMITED": Capability(True, False, types=_PLAIN, properties=frozenset({"delimiter"}), widens=True),
    "JSON": Capability(True, True, types=_JSON, maps=_JSON_MAPS, columns_by=NAME, widens=True),
    "JSON_SR": Capability(
        True,
        True,
        types=_JSON,
        registry=JSON,
        properties=frozenset({"full_name"}),
        maps=_JSON_MAPS,
        columns_by=NAME,
        widens=True,
    ),
    "KAFKA": Capability(
        True, False, types=frozenset({"BIGINT", "BYTES", "DOUBLE", "INTEGER", "STRING"}), max_columns=1
    ),
    "NONE": Capability(False, False, types=frozenset(), values=False, max_columns=0),
    "PROTOBUF": Capability(
        False,
        True,
        registry=PROTOBUF,
        properties=frozenset({"full_name", "nullable"}),
        names=_NAME,
        label="Protobuf",
        maps=_PROTOBUF_MAPS,
        columns_by=NUMBER,
    ),
    "PROTOBUF_NOSR": Capability(
        True,
        True,
        properties=frozenset({"nullable"}),
        names=_NAME,
        label="Protobuf",
        maps=_PROTOBUF_MAPS,
        columns_by=NUMBER,
    ),
}

#: format -> the kind of its schemas in a registry
KINDS = {name: c.registry for name, c in CAPABILITIES.items() if c.registry is not None}


def base_name(type_: SqlType) -> str:
    """The name of a type without its parameters: ARRAY, DECIMAL …"""
    match type_:
        case Primitive(name):
            return name
        case Decimal() | Array() | Map() | Struct():
            return type(type_).__name__.upper()
    return str(type_)
