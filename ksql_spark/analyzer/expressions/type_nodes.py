"""Converts types in statements to SQL types (reference §3.1); expands custom types."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from ksql_spark.analyzer.base.failures import failure, invalid
from ksql_spark.analyzer.base.plan_size import checked_type
from ksql_spark.errors import nearest
from ksql_spark.grammar.nodes import TypeNode
from ksql_spark.metastore.store import MetaStore
from ksql_spark.types import ALIASES, STRING, Array, Decimal, Field, Map, SqlType, Struct

#: types of other dialects and languages -> ours
_ELSEWHERE = {
    **dict.fromkeys(("TEXT", "CHAR", "CHARACTER", "NVARCHAR", "VARCHAR2", "UUID"), "STRING"),
    **dict.fromkeys(("JSON", "JSONB", "OBJECT"), "VARIANT"),
    **dict.fromkeys(("LONG", "INT8", "INT64", "SERIAL", "UNSIGNED", "INTERVAL"), "BIGINT"),
    **dict.fromkeys(("SHORT", "SMALLINT", "TINYINT", "BYTE", "INT32", "INT16"), "INTEGER"),
    **dict.fromkeys(("FLOAT", "REAL", "FLOAT64", "FLOAT32", "FLOAT8"), "DOUBLE"),
    **dict.fromkeys(("NUMERIC", "NUMBER", "MONEY"), "DECIMAL(precision, scale)"),
    **dict.fromkeys(("BOOL", "BIT"), "BOOLEAN"),
    **dict.fromkeys(("BLOB", "BINARY", "VARBINARY", "BYTEA"), "BYTES"),
    **dict.fromkeys(("DATETIME", "TIMESTAMP_LTZ"), "TIMESTAMP"),
    "ROW": "STRUCT",
}


def bind_type(node: TypeNode, metastore: MetaStore) -> SqlType:
    """The type that ``node`` names, custom types expanded.

    Raises:
        KsqlError: TYPE_UNKNOWN with the nearest name; INVALID_STATEMENT for a bad DECIMAL.
    """
    return resolve_type(node, metastore.types())


def resolve_type(node: TypeNode, custom: Mapping[str, SqlType]) -> SqlType:
    """Convert a type as ``bind_type`` does, with custom types from a mapping."""
    if not node.quoted:
        match node.name:
            case "ARRAY":
                return Array(resolve_type(node.element, custom))
            case "MAP":
                map_type = Map(resolve_type(node.key, custom), resolve_type(node.value, custom))
                return checked_type(map_type, node)
            case "STRUCT":
                return _struct(node, custom)
            case "DECIMAL":
                return _decimal(node)
        if node.name in ALIASES:
            if node.parameters and ALIASES[node.name] != STRING:
                raise invalid(f"The type {node.name} takes no parameters.", node)
            return ALIASES[node.name]
    if node.name in custom:
        return custom[node.name]
    names = (*ALIASES, "ARRAY", "MAP", "STRUCT", "DECIMAL", *custom)
    near = _ELSEWHERE.get(node.name) or nearest(node.name, names)
    hint = f"Did you mean {near}?" if near else "SHOW TYPES lists the custom types."
    raise failure("TYPE_UNKNOWN", node, name=node.name, hint=hint)


def _struct(node: TypeNode, custom: Mapping[str, SqlType]) -> SqlType:
    names = [f.name for f in node.fields]
    if twice := next((name for name, count in Counter(names).items() if count > 1), None):
        raise invalid(f"Duplicate field name in STRUCT: '{twice}'.", node)
    struct = Struct(tuple(Field(f.name, resolve_type(f.type, custom)) for f in node.fields))
    return checked_type(struct, node)


def _decimal(node: TypeNode) -> Decimal:
    numbers = [p for p in node.parameters if isinstance(p, int)]
    if len(numbers) != 2 or len(node.parameters) != 2:
        raise invalid("DECIMAL needs a precision and a scale, as in DECIMAL(10, 2).", node)
    precision, scale = numbers
    if precision < 1:
        raise invalid(f"DECIMAL precision must be at least 1, got {precision}.", node)
    if not 0 <= scale <= precision:
        raise invalid(
            f"DECIMAL scale must be between 0 and the precision: DECIMAL({precision}, {scale}).", node
        )
    return Decimal(precision, scale)
