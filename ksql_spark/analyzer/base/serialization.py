"""Refuses columns that a format does not support, by the table of capabilities (reference §5.1, §5.3)."""

from __future__ import annotations

from collections.abc import Sequence

from ksql_spark.analyzer.base.failures import Placed, failure, invalid
from ksql_spark.errors import nearest
from ksql_spark.formats.capabilities import CAPABILITIES, base_name
from ksql_spark.schema import Column
from ksql_spark.types import (
    CAST_VARIANT,
    VARIANT,
    Array,
    Map,
    SqlType,
    Struct,
    contains_map,
    contains_variant,
)

#: names, in messages, of properties in CAPABILITIES
PROPERTY_NAMES = {
    "delimiter": "delimiter",
    "full_name": "fullSchemaName",
    "nullable": "nullableRepresentation",
}


def require_format(name: str, node: Placed | None) -> str:
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
    """Refuse columns that the format ``name`` does not support in a key or a value.

    ``hint``: what to do instead, if there is a way.

    Raises:
        KsqlError: FORMAT_SCHEMA, MAP_KEY, INVALID_STATEMENT.
    """
    listed = ", ".join(map(str, columns))
    side = "Key" if is_key else "Value"
    if is_key:
        for column in columns:
            if contains_map(column.type):
                raise failure("MAP_KEY", node, column=column.name, type=column.type)
            if contains_variant(column.type):
                refused = f"A VARIANT cannot be a key: {column}."
                raise invalid(refused, node, hint=CAST_VARIANT)
    reason = None
    capability = CAPABILITIES[name]
    if (columns or not is_key) and capability.max_columns == 0:
        reason = f"The '{name}' format can only be used when no columns are defined. Got: [{listed}]"
    elif capability.max_columns is not None and len(columns) > capability.max_columns:
        reason = f"The '{name}' format only supports a single field. Got: [{listed}]"
    else:
        reason = next(filter(None, (_refusal(name, c) for c in columns)), None)
    if reason is not None:
        if hint is None and any(contains_variant(c.type) for c in columns):
            hint = "A VARIANT needs JSON or JSON_SR. TO_JSON_STRING(v) is its text, v::STRING a text in it."
        raise failure("FORMAT_SCHEMA", node, side=side, format=name, columns=listed, reason=reason, hint=hint)


def check_results(columns: Sequence[Column], node: Placed) -> None:
    """Refuse columns that results of push and pull queries cannot have, because they are sent as JSON.

    Raises:
        KsqlError: FORMAT_SCHEMA.
    """
    hint = "Make a MAP's keys text: TRANSFORM(m, (k, v) => CAST(k AS STRING), (k, v) => v)."
    check_columns("JSON", columns, is_key=False, node=node, hint=hint)


def _refusal(name: str, column: Column) -> str | None:
    """Return why the format does not support ``column``; None if it does."""
    capability = CAPABILITIES[name]
    names = capability.names
    if names is not None:
        bad = next((n for n in _field_names(column) if not names.fullmatch(n)), None)
        if bad is not None:
            return (
                f"Schema is not compatible with {capability.label}: Illegal initial character or name: {bad}"
            )
    if capability.carries(column.type):
        return None
    is_variant = contains_variant(column.type) and str(VARIANT) not in capability.types
    base = str(VARIANT) if is_variant else base_name(column.type)
    if base not in capability.types:
        return f"The '{name}' format does not support type '{base}', column: `{column.name}`"
    return f"{capability.maps} with STRING keys"


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
    """Refuse a WRAP_SINGLE_VALUE that the format does not support (reference §5.3)."""
    if wrapped is None:
        return
    capability = CAPABILITIES[name]
    if not (capability.wrapped if wrapped else capability.unwrapped):
        raise invalid(
            f"Format '{name}' does not support 'WRAP_SINGLE_VALUE' set to '{str(wrapped).lower()}'.", node
        )
    if columns != 1:
        raise invalid("'WRAP_SINGLE_VALUE' is only valid for single-field value schemas.", node)
