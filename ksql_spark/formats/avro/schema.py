"""Avro schemas as SQL types, and columns as Avro schemas."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from ksql_spark.formats.registered import (
    CONNECT,
    NotConvertible,
    ReadSchema,
    decimal,
    map_of,
    named,
    struct_of,
)
from ksql_spark.schema import Column
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
    Decimal,
    Field,
    Map,
    SqlType,
    Struct,
)

_PRIMITIVES: dict[str, SqlType] = {
    "boolean": BOOLEAN,
    "int": INTEGER,
    "long": BIGINT,
    "float": DOUBLE,
    "double": DOUBLE,
    "bytes": BYTES,
    "string": STRING,
    # as in Connect: without symbols or sizes
    "enum": STRING,
    "fixed": BYTES,
}
_LOGICAL: dict[tuple[str, str], SqlType] = {
    ("int", "date"): DATE,
    ("int", "time-millis"): TIME,
    ("long", "timestamp-millis"): TIMESTAMP,
}
#: types without names and parts
_PLAIN = frozenset(("null", "boolean", "int", "long", "float", "double", "bytes", "string"))
_NAMED = ("record", "error", "enum", "fixed")
#: units of longs as fractions of a millisecond; all other times count milliseconds
_TIMESTAMPS = {
    "timestamp-micros": 1_000,
    "timestamp-nanos": 1_000_000,
    "local-timestamp-micros": 1_000,
    "local-timestamp-nanos": 1_000_000,
    "io.debezium.time.MicroTimestamp": 1_000,
    "io.debezium.time.NanoTimestamp": 1_000_000,
}
_TIMES = {
    "time-micros": 1_000,
    "io.debezium.time.MicroTime": 1_000,
    "io.debezium.time.NanoTime": 1_000_000,
}
_WRITTEN: dict[SqlType, str] = {
    BOOLEAN: "boolean",
    INTEGER: "int",
    BIGINT: "long",
    DOUBLE: "double",
    STRING: "string",
    BYTES: "bytes",
}
#: type, Connect's name, Avro's logical type
_WRITTEN_LOGICAL: dict[SqlType, tuple[str, str, str]] = {
    DATE: ("int", "Date", "date"),
    TIME: ("int", "Time", "time-millis"),
    TIMESTAMP: ("long", "Timestamp", "timestamp-millis"),
}
#: the name of records without their own name
DEFAULT_NAME = "io.confluent.ksql.avro_schemas.KsqlDataSourceSchema"
#: Connect's form of maps whose keys are not strings
_MAP_ENTRY = "io.confluent.connect.avro.MapEntry"


def read(text: str, references: Mapping[str, str]) -> ReadSchema:
    """The SQL types of the Avro schema ``text``.

    Args:
        text: JSON.
        references: schemas of the types that it refers to, by name.

    Raises:
        NotConvertible: it is not an Avro schema, or SQL has no type for it.
    """
    schema, types = parse(text, list(references.values()))
    name = schema.get("name") if isinstance(schema, dict) else None
    return ReadSchema(_Reader(types).type(schema), name, (name,) if name else ())


def check_further(text: str, names: Sequence[str]) -> None:
    """Make sure that a record's fields besides ``names`` have a default or may be null.

    Raises:
        ValueError: one has neither.
    """
    schema = json.loads(text)
    fields = schema.get("fields", ()) if isinstance(schema, dict) else ()
    present = {n.upper() for n in names}
    for field in fields:
        kinds = field["type"] if isinstance(field["type"], list) else [field["type"]]
        if field["name"].upper() not in present and "default" not in field and "null" not in kinds:
            raise ValueError(f"{field['name']}: the schema gives it no default, and allows no NULL.")


def parse(text: str, references: Sequence[str]) -> tuple[Any, dict[str, Any]]:
    """The Avro schema ``text``, and the named types in it and in ``references``; for errors see ``read``.

    ``references`` is in dependency order.
    """
    types: dict[str, Any] = {}
    try:
        for other in references:
            _resolved(json.loads(other), "", types)
        return _resolved(json.loads(text), "", types), types
    except NotConvertible:
        raise
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise NotConvertible(f"it is not a valid Avro schema: {error}") from None


def _resolved(schema: Any, space: str, types: dict[str, Any]) -> Any:
    """A schema with full names; adds its named types to ``types``.

    Unlike in fastavro, defaults, symbols and decimals are not checked: registries have accepted invalid ones,
    and records do not depend on them.
    """
    if isinstance(schema, list):
        return [_resolved(branch, space, types) for branch in schema]
    if isinstance(schema, str):
        if schema in _PLAIN:
            return schema
        full = schema if "." in schema or not space else f"{space}.{schema}"
        if full not in types:
            raise NotConvertible(f"it refers to the type {full}, which is not there")
        return full
    kind = schema["type"]
    if not isinstance(kind, str):
        raise ValueError(f"{kind} is not a type")
    resolved = {k: v for k, v in schema.items() if k not in ("name", "namespace")}
    if kind in _NAMED:
        name = schema["name"]
        inner, _, _ = name.rpartition(".")
        if not inner:
            own_namespace = schema.get("namespace")
            inner = space if own_namespace is None else own_namespace
        resolved["name"] = name if "." in name or not inner else f"{inner}.{name}"
        if resolved["name"] in types:
            raise NotConvertible(f"it defines the type {resolved['name']} twice")
        types[resolved["name"]] = resolved
        if kind == "enum":
            resolved["symbols"] = [str(symbol) for symbol in schema["symbols"]]
        elif kind == "fixed":
            resolved["size"] = int(schema["size"])
        else:
            resolved["fields"] = [
                {**field, "name": field["name"], "type": _resolved(field["type"], inner, types)}
                for field in schema["fields"]
            ]
    elif kind == "array":
        resolved["items"] = _resolved(schema["items"], space, types)
    elif kind == "map":
        resolved["values"] = _resolved(schema["values"], space, types)
    elif kind not in _PLAIN:
        return _resolved(kind, space, types)
    return resolved


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
        raise NotConvertible(f"{schema} is not a type")

    def _simple(self, schema: Mapping[str, Any]) -> SqlType:
        kind, logical = schema["type"], str(schema.get("logicalType", "")).lower()
        if kind in self._types:
            return self.type(self._types[kind])
        if kind == "null":
            raise NotConvertible("a null that stands alone is not a type")
        if logical == "decimal" and kind in ("bytes", "fixed"):
            return decimal(schema.get("precision"), schema.get("scale"))
        if (kind, logical) in _LOGICAL:
            return _LOGICAL[kind, logical]
        if kind not in _PRIMITIVES:
            raise NotConvertible(f"{kind} is not a type")
        return named(_PRIMITIVES[kind], schema.get("connect.name"), schema.get("connect.parameters"))

    def _record(self, schema: Mapping[str, Any]) -> SqlType:
        name = str(schema["name"])
        if name in self._open:
            raise NotConvertible(f"the record {name} is part of itself")
        self._open.append(name)
        struct = struct_of((f["name"], partial(self.type, f["type"])) for f in schema["fields"])
        self._open.pop()
        return struct

    def _array(self, schema: Mapping[str, Any]) -> SqlType:
        items = schema["items"]
        entry = self._types.get(items, items) if isinstance(items, str) else items
        if is_entry(entry):
            fields = {f["name"]: f["type"] for f in entry["fields"]}
            return map_of(self.type(fields["key"]), self.type(fields["value"]))
        return Array(self.type(items))

    def _union(self, members: list[Any]) -> SqlType:
        """The type of a union: a nullable type, or a STRUCT with a field for each member."""
        others = [m for m in members if m not in ("null", {"type": "null"})]
        if len(members) == 2 and len(others) == 1:
            return self.type(others[0])
        return struct_of((branch_name(m), partial(self.type, m)) for m in others)


def branch_name(member: Any) -> str:
    """The name of a union's branch: the last part of a named type's name, or the name of the type."""
    if isinstance(member, dict):
        member = member["name"] if "name" in member else member["type"]
    return str(member).rpartition(".")[2]


def is_entry(schema: Any) -> bool:
    """Whether it is the record of a map's key and value: Connect's form of maps with other keys."""
    if not isinstance(schema, dict) or schema.get("type") != "record":
        return False
    is_named = schema.get("connect.internal.type") == "MapEntry" or schema["name"] == _MAP_ENTRY
    return is_named and {f["name"] for f in schema["fields"]} == {"key", "value"}


def per_millisecond(schema: Mapping[str, Any], type_: SqlType) -> int | None:
    """Return how many units of a long make a millisecond of a TIMESTAMP or TIME; None for other types."""
    units, other = (_TIMESTAMPS, 1) if type_ == TIMESTAMP else (_TIMES, None)
    names = (str(schema.get("logicalType")), str(schema.get("connect.name")))
    return next((units[name] for name in names if name in units), other)


def is_decimal(schema: Mapping[str, Any]) -> bool:
    """Whether it is a decimal's schema."""
    return schema.get("logicalType") == "decimal" or schema.get("connect.name") == CONNECT + "Decimal"


# ---- from columns ---------------------------------------------------------------------------------------


def write(columns: Sequence[Column], wrapped: bool, full_name: str | None) -> str:
    """The schema of ``columns`` (reference §5.5): all fields may be null.

    Args:
        columns: columns with types and names that Avro supports.
        wrapped: whether to write a record of the columns, or the type of the only one.
        full_name: the record's name, or None for ksqlDB's.
    """
    name = full_name or DEFAULT_NAME
    type_ = row_type(columns) if wrapped else columns[0].type
    return json.dumps(_written(type_, name), separators=(",", ":"))


def row_type(columns: Sequence[Column]) -> Struct:
    """A STRUCT of the columns."""
    return Struct(tuple(Field(c.name, c.type) for c in columns))


def _written(type_: SqlType, name: str) -> Any:
    """The schema of a type; a STRUCT in it is named ``name``, with or without a namespace."""
    match type_:
        case Struct(fields):
            space, _, simple = name.rpartition(".")
            record: dict[str, Any] = {"type": "record", "name": simple}
            if space:
                record["namespace"] = space
            record["fields"] = [
                {"name": f.name, "type": ["null", _written(f.type, f"{simple}_{f.name}")], "default": None}
                for f in fields
            ]
            return record
        case Array(element):
            return {"type": "array", "items": ["null", _written(element, name)]}
        case Map(_, value):
            return {"type": "map", "values": ["null", _written(value, name)]}
        case Decimal(precision, scale):
            parameters = {"scale": str(scale), "connect.decimal.precision": str(precision)}
            logical = {"scale": scale, "precision": precision, "connect.version": 1,
                       "connect.parameters": parameters}  # fmt: skip
            return _logical("bytes", "Decimal", "decimal", logical)
    if type_ in _WRITTEN_LOGICAL:
        return _logical(*_WRITTEN_LOGICAL[type_], {"connect.version": 1})
    return _WRITTEN[type_]


def _logical(kind: str, connect: str, logical: str, more: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": kind, **more, "connect.name": CONNECT + connect, "logicalType": logical}
