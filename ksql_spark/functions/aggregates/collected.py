"""Aggregates that keep values: lists, sets, histograms, the top k (reference §4.8)."""

from __future__ import annotations

from collections.abc import Sequence

from ksql_spark.functions.signatures import signature
from ksql_spark.functions.spark_text import spark_type, string, variable
from ksql_spark.functions.spec import Example, Resolved, Spec, Typed, aggregate
from ksql_spark.types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    INTEGER,
    STRING,
    Array,
    Decimal,
    Field,
    Function,
    Null,
    Primitive,
    SqlType,
    Struct,
)

Types = Sequence[SqlType]
Literals = Sequence[object]

_UNBOUNDED = "Spark keeps every value of the group, not only those that count."


def collected(value: str, *, keep_nulls: bool = True) -> str:
    """Spark SQL text: all values of the group in arrival order; Spark's own drops NULLs."""
    if not keep_nulls:
        return f"collect_list({value})"
    v = variable(value)
    return f"transform(collect_list(struct({value} as v)), {v} -> {v}.v)"


def _histogram(args: Sequence[str], _: Types) -> str:
    values = f"collect_list({args[0]})"
    k, v = variable(values, "k"), variable(values)
    counts = f"transform(slice(array_distinct({values}), 1, 1000), {k} -> " + (
        f"struct({k} as key, cast(array_size(filter({values}, {v} -> {v} = {k})) as bigint) as value))"
    )
    return f"map_from_entries({counts})"


def _top(args: Sequence[str], types: Types) -> str:
    value, k = args[0], args[-1]
    if len(args) == 2:
        kind = spark_type(Array(types[0]))
        return f"coalesce(max_by({value}, {value}, {k}), cast(array() as {kind}))"
    columns = ", ".join(f"{string(f'col{i}')}, {a}" for i, a in enumerate(args[1:-1]))
    row = f"named_struct('sort_col', {value}, {columns})"
    kind = spark_type(Array(_row(types)))
    return f"coalesce(max_by({row}, {value}, {k}), cast(array() as {kind}))"


def _row(types: Types) -> Struct:
    columns = (Field(f"col{i}", t) for i, t in enumerate(types[1:-1]))
    return Struct((Field("sort_col", types[0]), *columns))


def _top_types(types: Types, literals: Literals) -> Resolved | None:
    if len(types) < 2 or types[-1] != INTEGER or not isinstance(literals[-1], int) or literals[-1] < 1:
        return None
    if types[0] not in (INTEGER, BIGINT, DOUBLE, STRING):
        return None
    if any(isinstance(t, (Null, Function)) for t in types):
        return None
    element = types[0] if len(types) == 2 else _row(types)
    return Resolved(tuple(types), Array(element))


def _top_distinct_types(types: Types, literals: Literals) -> Resolved | None:
    if len(types) != 2 or types[1] != INTEGER or not isinstance(literals[1], int) or literals[1] < 1:
        return None
    if types[0] == BOOLEAN or not isinstance(types[0], (Primitive, Decimal)):
        return None
    return Resolved(tuple(types), Array(types[0]))


_TOP_PARAMETERS = {"value": "what to order by", "k": "how many to keep", "column": "what to keep with it"}

SPECS: tuple[Spec, ...] = (
    aggregate(
        "COLLECT_LIST",
        "All values in the order of their arrival, NULLs among them.",
        (signature("value T -> ARRAY<T>"),),
        lambda args, _: collected(args[0]),
        Example(([2, None, 1],), [2, None, 1]),
        undo=True,
        merge=True,
        parameters={"value": "any expression"},
    ),
    aggregate(
        "COLLECT_SET",
        "All different values in the order of their first arrival.",
        (signature("value T -> ARRAY<T>"),),
        lambda args, _: f"array_distinct({collected(args[0])})",
        Example(([2, None, 1, 2, None],), [2, None, 1]),
        merge=True,
        gap=_UNBOUNDED,
        parameters={"value": "any expression"},
    ),
    aggregate(
        "HISTOGRAM",
        "How often each value came; of at most 1000 values.",
        (signature("value STRING -> MAP<STRING, BIGINT>"),),
        _histogram,
        Example((["a", "b", None, "a"],), {"a": 2, "b": 1}),
        undo=True,
        merge=True,
        gap=_UNBOUNDED,
        parameters={"value": "any text"},
    ),
    aggregate(
        "TOPK",
        "The k greatest values, greatest first, or rows with further columns of the k greatest.",
        (
            *(
                signature(f"value {t}, k INTEGER! -> ARRAY<{t}>")
                for t in ("INTEGER", "BIGINT", "DOUBLE", "STRING")
            ),
            signature("value T, column C..., k INTEGER!", lambda t: Array(_row(t)), "ARRAY<STRUCT>"),
        ),
        _top,
        Example(([1, 3, None, 3, 2], 3), [3, 3, 2]),
        Example(([Typed(None, INTEGER)], 3), []),
        Example(([1, 3], ["x", "y"], 1), [{"sort_col": 3, "col0": "y"}]),
        typing=_top_types,
        merge=True,
        parameters=_TOP_PARAMETERS,
    ),
    aggregate(
        "TOPKDISTINCT",
        "The k greatest different values, greatest first.",
        tuple(
            signature(f"value {t}, k INTEGER! -> ARRAY<{t}>")
            for t in (
                "INTEGER",
                "BIGINT",
                "DOUBLE",
                "DECIMAL",
                "STRING",
                "BYTES",
                "DATE",
                "TIME",
                "TIMESTAMP",
            )
        ),
        lambda args, _: f"slice(sort_array(collect_set({args[0]}), false), 1, {args[1]})",
        Example(([1, 3, None, 3, 2], 2), [3, 2]),
        typing=_top_distinct_types,
        merge=True,
        gap=_UNBOUNDED,
        parameters=_TOP_PARAMETERS,
    ),
    aggregate(
        "ATTR",
        "The value that all rows have; NULL where they differ.",
        (signature("value T -> T"),),
        lambda args, _: (
            f"if(min({args[0]}) = max({args[0]}) and count({args[0]}) = count(1), min({args[0]}), NULL)"
        ),
        Example((["a", "a"],), "a"),
        Example((["a", "b"],), None),
        Example((["a", None],), None),
        undo=True,
        merge=True,
        parameters={"value": "any expression but a MAP"},
    ),
)
