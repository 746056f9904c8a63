"""ARRAY, MAP, and access to elements (reference §2.8, §3.4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ksql_spark.functions.signatures import common_type, signature, with_text
from ksql_spark.functions.spark_text import (
    variable,
)
from ksql_spark.functions.spec import (
    ALL_LIMITS,
    BY_ARGUMENTS,
    MAX_BYTES,
    Example,
    Resolved,
    Spec,
    Typed,
    operator,
    parsed,
)
from ksql_spark.types import (
    BIGINT,
    INTEGER,
    NULL,
    STRING,
    VARIANT,
    Array,
    Decimal,
    Function,
    Map,
    Null,
    Primitive,
    SqlType,
)

Types = Sequence[SqlType]
Literals = Sequence[Any]


def list_type(types: Types, literals: Literals = ()) -> SqlType | None:
    """The common type of the members of an ARRAY, MAP, IN or CASE list, or None (reference §3.4).

    The first non-NULL member leads; numbers widen; a literal may become STRING, and a STRING literal a number
    or a BOOLEAN where it parses exactly.
    """
    padded = [*literals, *[None] * (len(types) - len(literals))]
    merged: SqlType = NULL
    for type_, value in zip(types, padded, strict=True):
        wider = common_type(merged, type_)
        if wider is None or (merged == STRING and wider != STRING and value is not None):
            wider = _literal_type(merged, type_, value)
        if wider is None:
            return None
        merged = wider
    return merged


def _literal_type(common: SqlType, type_: SqlType, value: Any) -> SqlType | None:
    """``common``, or what it widens to, where the literal ``value`` can take that type."""
    if value is None:
        return None
    if common == STRING:
        return STRING if isinstance(type_, (Primitive, Decimal)) else None
    return with_text(common, value) if type_ == STRING and isinstance(value, str) else None


def _array(types: Types, literals: Literals) -> Resolved | None:
    element = list_type(types, literals)
    if element is None or isinstance(element, (Null, Function)):
        return None
    return Resolved((element,) * len(types), Array(element))


def _map(types: Types, literals: Literals) -> Resolved | None:
    if not types or len(types) % 2:
        return None
    key = list_type(types[::2], literals[::2])
    value = list_type(types[1::2], literals[1::2])
    for side in (key, value):
        if side is None or isinstance(side, (Null, Function)):
            return None
    assert key is not None and value is not None
    return Resolved((key, value) * (len(types) // 2), Map(key, value))


def too_large(args: Sequence[str], _: Types) -> str:
    """Spark SQL text: whether a JSON, with all digits of its numbers, is larger than results may be."""
    return f"ksql.json_is_too_large({args[0]})"


def _lower_map(args: Sequence[str], types: Types) -> str:
    keys, values = args[::2], args[1::2]
    if types[0] == STRING:
        keys = [key_text(k) for k in keys]
    if all(k.startswith("'") for k in keys):
        return f"map({', '.join(args)})"
    return from_entries(
        f"array({', '.join(f'struct({k} as key, {v} as value)' for k, v in zip(keys, values, strict=True))})"
    )


def from_entries(entries: str) -> str:
    """A MAP from an ARRAY of STRUCT<key, value>: the last of equal keys wins, NULL keys are left out.

    Spark refuses NULL keys; SESSION_SETTINGS make the last of equal keys win. See ``key_text``.
    """
    e = variable(entries, "e")
    return f"map_from_entries(filter({entries}, {e} -> {e}.key is not null))"


def key_text(key: str) -> str:
    """A STRING for a MAP's key: for NULL, which ksqlDB's maps can have for a key, what JSON shows for it."""
    return key if key.startswith("'") else f"coalesce({key}, 'null')"


def _subscript(types: Types, _: Literals) -> Resolved | None:
    if len(types) != 2:
        return None
    match types[0]:
        case Array(element) if types[1] in (INTEGER, BIGINT):
            return Resolved((types[0], types[1]), element)
        case Map(key, value) if common_type(key, types[1]) == key and types[1] != NULL:
            return Resolved((types[0], key), value)
    return None


def _lower_subscript(args: Sequence[str], types: Types) -> str:
    collection, index = args
    if isinstance(types[0], Map):
        return f"try_element_at({collection}, {index})"
    if types[1] == BIGINT:
        index = f"cast({index} as int)"
    if not index.isdigit() or index == "0":
        index = f"nullif({index}, 0)"
    return f"try_element_at({collection}, {index})"


SPECS: tuple[Spec, ...] = (
    operator(
        "[]",
        "The element of an array (from 1, or -1 from the end) or the value of a map's key; NULL if absent.",
        (
            signature("array ARRAY<T>, position INTEGER -> T"),
            signature("map MAP<K, V>, key K -> V"),
        ),
        _lower_subscript,
        Example(([10, 20], 1), 10),
        Example(([10, 20], -1), 20),
        Example(([10, 20], 0), None),
        Example(([10, 20], 3), None),
        Example(({"a": 1}, "a"), 1),
        Example(({"a": 1}, "b"), None),
        typing=_subscript,
        limits=BY_ARGUMENTS,
    ),
    operator(
        ":",
        "The value at a path in JSON, of a STRING with text unquoted; NULL for null and for nothing.",
        (
            signature("json STRING, path STRING! -> STRING"),
            signature("json VARIANT, path STRING! -> VARIANT"),
        ),
        lambda args, types: (
            f"ksql.{'variant_path' if types[0] == VARIANT else 'json_path'}({', '.join(args)})"
        ),
        Example(('{"a": {"b": [1, {"c": "x"}]}}', "$['a']['b'][1]['c']"), "x"),
        Example(('{"a": {"b": [1.50, null]}}', "$['a']"), '{"b":[1.50,null]}'),
        Example(('{"a": null}', "$['a']"), None),
        Example(('{"a": 1}', "$['b']"), None),
        Example(("no JSON", "$['b']"), None),
        Example((Typed(None, STRING), "$['b']"), None),
        Example((parsed('{"a": {"b": "x", "c": 1.50}}'), "$['a']"), '{"b":"x","c":1.50}'),
        Example((parsed('{"a": "x"}'), "$['a']"), '"x"'),
        limits=(MAX_BYTES,),
        failed=too_large,
    ),
    operator(
        "ARRAY",
        "An array of the arguments.",
        (signature("member T... -> ARRAY<T>"),),
        lambda args, _: f"array({', '.join(args)})",
        Example((1, 2), [1, 2]),
        typing=_array,
        limits=ALL_LIMITS,
        grows=True,
        failed=lambda args, _: "true",
    ),
    operator(
        "MAP",
        "A map of the arguments, which alternate between keys and values.",
        (signature("key K, value V... -> MAP<K, V>"),),
        _lower_map,
        Example(("a", 1, "b", 2), {"a": 1, "b": 2}),
        Example(("a", 1, Typed(None, STRING), 2), {"a": 1, "null": 2}),
        typing=_map,
        limits=ALL_LIMITS,
        grows=True,
        failed=lambda args, _: "true",
    ),
)
