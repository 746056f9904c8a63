"""What a format can carry, and which format a side gets (reference §5.1, §5.3, §5.4).

Formats that ksql_spark.formats has speak for themselves; those that need a schema registry and are not there
yet are known here by name and rules, so that their statements can be checked.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ksql_spark import formats
from ksql_spark.analyzer.failures import Placed, failure, invalid
from ksql_spark.errors import nearest
from ksql_spark.schema import Column
from ksql_spark.types import STRING, Array, Decimal, Map, Primitive, SqlType, Struct, contains_map


@dataclass(frozen=True)
class Capability:
    """What one format can do.

    Args:
        unwrapped, wrapped: how a single column may be stored (§5.3).
        registry: it keeps schemas in a registry, so columns can be inferred.
        properties: what it understands: delimiter, full_name, nullable.
        names: what its field names must look like.
    """

    unwrapped: bool
    wrapped: bool
    registry: bool = False
    properties: frozenset[str] = frozenset()
    names: re.Pattern[str] | None = None


_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
CAPABILITIES: dict[str, Capability] = {
    "AVRO": Capability(True, True, registry=True, properties=frozenset({"full_name"}), names=_NAME),
    "DELIMITED": Capability(True, False, properties=frozenset({"delimiter"})),
    "JSON": Capability(True, True),
    "JSON_SR": Capability(True, True, registry=True, properties=frozenset({"full_name"})),
    "KAFKA": Capability(True, False),
    "NONE": Capability(False, False),
    "PROTOBUF": Capability(
        False, True, registry=True, properties=frozenset({"full_name", "nullable"}), names=_NAME
    ),
    "PROTOBUF_NOSR": Capability(True, True, properties=frozenset({"nullable"}), names=_NAME),
}  # fmt: skip

#: how messages call what CAPABILITIES calls properties
PROPERTY_NAMES = {
    "delimiter": "delimiter",
    "full_name": "fullSchemaName",
    "nullable": "nullableRepresentation",
}


def known_format(name: str, node: Placed | None) -> str:
    """The name of a format in upper case.

    Raises:
        KsqlError: FORMAT_UNKNOWN with the nearest name.
    """
    upper = name.strip().upper()
    if upper in CAPABILITIES:
        return upper
    near = nearest(name, CAPABILITIES)
    hint = f"Did you mean {near}?" if near else f"There are: {', '.join(CAPABILITIES)}."
    raise failure("FORMAT_UNKNOWN", node, name=name, hint=hint)


def check_columns(
    name: str, columns: Sequence[Column], *, is_key: bool, node: Placed | None, hint: str | None = None
) -> None:
    """Refuse columns that the format called ``name`` cannot carry as a key or a value.

    ``hint``: what to do where there is another way.

    Raises:
        KsqlError: FORMAT_SCHEMA, MAP_KEY, INVALID_STATEMENT.
    """
    listed = ", ".join(map(str, columns))
    side = "Key" if is_key else "Value"
    if is_key:
        for column in columns:
            if contains_map(column.type):
                raise failure("MAP_KEY", node, column=column.name, type=column.type)
    reason = None
    if name == "NONE":
        if columns or not is_key:
            reason = f"The 'NONE' format can only be used when no columns are defined. Got: [{listed}]"
    elif name == "KAFKA" and len(columns) > 1:
        reason = f"The 'KAFKA' format only supports a single field. Got: [{listed}]"
    else:
        reason = next(filter(None, (_refusal(name, c) for c in columns)), None)
    if reason is not None:
        raise failure("FORMAT_SCHEMA", node, side=side, format=name, columns=listed, reason=reason, hint=hint)


def _refusal(name: str, column: Column) -> str | None:
    """Why the format cannot carry ``column``, None where it can."""
    names = CAPABILITIES[name].names
    if names is not None:
        bad = next((n for n in _field_names(column) if not names.fullmatch(n)), None)
        if bad is not None:
            label = "Avro" if name == "AVRO" else "Protobuf"
            return f"Schema is not compatible with {label}: Illegal initial character or name: {bad}"
    if name in ("DELIMITED", "KAFKA"):
        refused = formats.lookup(name).refusal(column.type)
        base = base_name(column.type)
        return (
            f"The '{name}' format does not support type '{base}', column: `{column.name}`"
            if refused
            else None
        )
    if _has_odd_map(column.type):
        shown = {"AVRO": "Avro only supports MAPs", "JSON_SR": "JSON only supports MAP types"}.get(
            name, f"{'JSON' if name == 'JSON' else 'PROTOBUF format'} only supports MAP types"
        )
        return f"{shown} with STRING keys"
    return None


def base_name(type_: SqlType) -> str:
    """The name of a type without its parameters: ARRAY, DECIMAL …"""
    match type_:
        case Primitive(name):
            return name
        case Decimal() | Array() | Map() | Struct():
            return type(type_).__name__.upper()
    return str(type_)


def _has_odd_map(type_: SqlType) -> bool:
    """Whether there is a MAP with a key that is no STRING in ``type_``."""
    match type_:
        case Map(key, value):
            return key != STRING or _has_odd_map(value)
        case Array(element):
            return _has_odd_map(element)
        case Struct(fields):
            return any(_has_odd_map(f.type) for f in fields)
    return False


def _field_names(column: Column) -> list[str]:
    def inside(type_: SqlType) -> list[str]:
        match type_:
            case Array(element) | Map(_, element):
                return inside(element)
            case Struct(fields):
                return [name for f in fields for name in (f.name, *inside(f.type))]
        return []

    return [column.name, *inside(column.type)]


def check_wrapping(name: str, columns: int, wrapped: bool | None, node: Placed | None) -> None:
    """Refuse a WRAP_SINGLE_VALUE that cannot be (reference §5.3)."""
    if wrapped is None:
        return
    capability = CAPABILITIES[name]
    if not (capability.wrapped if wrapped else capability.unwrapped):
        raise invalid(
            f"Format '{name}' does not support 'WRAP_SINGLE_VALUE' set to '{str(wrapped).lower()}'.", node
        )
    if columns != 1:
        raise invalid("'WRAP_SINGLE_VALUE' is only valid for single-field value schemas.", node)
