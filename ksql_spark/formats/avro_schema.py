"""Avro schemas as SQL types."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from typing import Any

import fastavro.schema

from ksql_spark.formats.registered import (
    NotConvertible,
    ReadSchema,
    decimal,
    map_of,
    named,
    struct_of,
)
from ksql_spark.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INTEGER,
    STRING,
    TIME,
    TIMESTAMP,
    Array,
    Map,
    SqlType,
)

_PRIMITIVES: dict[str, SqlType] = {
    "boolean": BOOLEAN,
    "int": INTEGER,
    "long": BIGINT,
    "float": DOUBLE,
    "double": DOUBLE,
    "bytes": BYTES,
    "string": STRING,
    # as in Connect: without symbols or lengths
    "enum": STRING,
    "fixed": BYTES,
}
_LOGICAL: dict[tuple[str, str], SqlType] = {
    ("int", "date"): DATE,
    ("int", "time-millis"): TIME,
    ("long", "timestamp-millis"): TIMESTAMP,
}
#: the record of Connect for entries of maps whose keys are not strings
_MAP_ENTRY = "io.confluent.connect.avro.MapEntry"


def read(text: str, references: Mapping[str, str]) -> ReadSchema:
    """The SQL types of the Avro schema ``text``.

    Args:
        text: JSON.
        references: schemas of the types that it refers to, by name.

    Raises:
        NotConvertible: it is not an Avro schema, or SQL has no type for it.
    """
    types: dict[str, Any] = {}
    try:
        # reversed: schemas come before those that refer to them
        for other in reversed(list(references.values())):
            fastavro.schema.parse_schema(json.loads(other), named_schemas=types, _write_hint=False)
        schema = fastavro.schema.parse_schema(json.loads(text), named_schemas=types, _write_hint=False)
    except (ValueError, TypeError, KeyError, fastavro.schema.SchemaParseException) as error:
        raise NotConvertible(f"it is no Avro schema: {error}") from None
    except fastavro.schema.UnknownType as error:
        raise NotConvertible(f"it refers to the type {error.name}, which is not there") from None
    name = schema.get("name") if isinstance(schema, dict) else None
    return ReadSchema(_Reader(types).type(schema), name, (name,) if name else ())


class _Reader:
    def __init__(self, types: Mapping[str, Any]) -> None:
        self._types = types
        #: names of the enclosing records
        self._open: list[str] = []

    def type(self, schema: Any) -> SqlType:
        match schema:
            case list():
                return self._union(schema)
            case str() if schema in self._types:
                return self.type(self._types[schema])
            case str():
                return self._simple({"type": schema})
            case {"type": "record"}:
                return self._record(schema)
            case {"type": "array"}:
                return self._array(schema)
            case {"type": "map"}:
                return Map(STRING, self.type(schema["values"]))
            case {"type": str()}:
                return self._simple(schema)
            case {"type": inner}:
                return self.type(inner)
        raise NotConvertible(f"{schema} is no type")

    def _simple(self, schema: Mapping[str, Any]) -> SqlType:
        kind, logical = schema["type"], str(schema.get("logicalType", "")).lower()
        if kind in self._types:
            return self.type(self._types[kind])
        if kind == "null":
            raise NotConvertible("a null that stands alone is no type")
        if logical == "decimal" and kind in ("bytes", "fixed"):
            return decimal(schema.get("precision"), schema.get("scale"))
        if (kind, logical) in _LOGICAL:
            return _LOGICAL[kind, logical]
        if kind not in _PRIMITIVES:
            raise NotConvertible(f"{kind} is no type")
        return named(_PRIMITIVES[kind], schema.get("connect.name"), schema.get("connect.parameters"))

    def _record(self, schema: Mapping[str, Any]) -> SqlType:
        name = str(schema["name"])
        if name in self._open:
            raise NotConvertible(f"the record {name} is part of itself")
        self._open.append(name)
        found = struct_of((f["name"], partial(self.type, f["type"])) for f in schema["fields"])
        self._open.pop()
        return found

    def _array(self, schema: Mapping[str, Any]) -> SqlType:
        items = schema["items"]
        entry = self._types.get(items, items) if isinstance(items, str) else items
        if isinstance(entry, dict) and entry.get("type") == "record":
            is_entry = entry.get("connect.internal.type") == "MapEntry" or entry["name"] == _MAP_ENTRY
            fields = {f["name"]: f["type"] for f in entry["fields"]}
            if is_entry and set(fields) == {"key", "value"}:
                return map_of(self.type(fields["key"]), self.type(fields["value"]))
        return Array(self.type(items))

    def _union(self, members: list[Any]) -> SqlType:
        """The type of a union: a nullable type, or a STRUCT with a field for each member."""
        others = [m for m in members if m not in ("null", {"type": "null"})]
        if len(members) == 2 and len(others) == 1:
            return self.type(others[0])
        return struct_of((self._member_name(m), partial(self.type, m)) for m in others)

    def _member_name(self, member: Any) -> str:
        """The last part of a named type's name, else the name of the type."""
        if isinstance(member, dict):
            member = member["name"] if "name" in member else member["type"]
        return str(member).rpartition(".")[2]
