"""Aggregates that keep values: lists, sets, histograms, the top k (reference §4.8)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ksql_spark.functions.signatures import signature
from ksql_spark.functions.spark_text import equal_form, string, variable
from ksql_spark.functions.spec import BY_ARGUMENTS, Example, Lowering, Resolved, Spec, Typed, aggregate
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
    Map,
    Null,
    Primitive,
    SqlType,
    Struct,
    contains_map,
)

Types = Sequence[SqlType]
Literals = Sequence[object]

#: the largest number of values in HISTOGRAM
_HISTOGRAM_KEYS = 1000
_NO_LIMIT = str(2**31 - 1)


def collecting(function: str, row: str, *constants: str, sign: str | None = None) -> str:
    """Spark SQL text: one of our aggregates that keep values (CollectingAggregates.java).

    Args:
        function: its name in the catalog.
        row: text of a STRUCT; its first field is the value.
        constants: texts of literals.
        sign: text of an INT, -1 to retract; None if rows are never retracted.
    """
    name = f"{function}:{','.join(constants)}" if constants else function
    return f"ksql.`{name}`({row}{f', {sign}' if sign else ''})"


def value_row(text: str, type_: SqlType) -> str:
    """Text of the STRUCT of a value, for ``collecting``; equal values give equal rows."""
    return f"struct({equal_form(ordered(text, type_), type_)})"


def ordered(text: str, type_: SqlType) -> str:
    """Text of a value; the entries of a MAP, which have an order in Spark, in that of their keys."""
    if isinstance(type_, Map) and not contains_map(type_.value):
        return f"map_from_entries(sort_array(map_entries({text})))"
    return text


def _collect_list(args: Sequence[str], types: Types) -> str:
    """(value[, limit])"""
    if list(args[1:]) in ([], [_NO_LIMIT]):
        # Spark's own stores a long list faster, but drops NULLs
        v = variable(args[0])
        return f"transform(collect_list(struct({args[0]} as v)), {v} -> {v}.v)"
    return collecting("collect_list", value_row(args[0], types[0]), args[1])


def _collect_list_table(args: Sequence[str], types: Types) -> str:
    """(value[, limit], sign)"""
    limit = args[1] if len(args) == 3 else _NO_LIMIT
    return collecting("collect_list", value_row(args[0], types[0]), limit, sign=args[-1])


def over_distinct(total: Callable[[str, SqlType], str]) -> Lowering:
    """(value): what ``total`` makes of the ARRAY of its distinct values, without NULLs, and of its type."""

    def lower(args: Sequence[str], types: Types) -> str:
        # Spark's own keeps every NaN
        is_own = types[0] == DOUBLE
        values = f"array_compact({_collect_set(args, types)})" if is_own else f"collect_set({args[0]})"
        return total(values, types[0])

    return lower


def _collect_set(args: Sequence[str], types: Types) -> str:
    """(value[, limit])"""
    return collecting("collect_set", value_row(args[0], types[0]), args[1] if len(args) == 2 else _NO_LIMIT)


def _joined(values: str, separator: str) -> str:
    return f"array_join(nullif({values}, array()), {separator})"


def _once_each(values: str, _: SqlType) -> str:
    """A map of each value to 1."""
    keys, x = f"slice({values}, 1, {_HISTOGRAM_KEYS})", variable(values, "x")
    return f"map_from_arrays({keys}, transform({keys}, {x} -> 1L))"


def _histogram(args: Sequence[str], _: Types) -> str:
    sign = args[1] if len(args) == 2 else None
    return collecting("histogram", f"struct({args[0]})", str(_HISTOGRAM_KEYS), sign=sign)


def _attr(args: Sequence[str], types: Types) -> str:
    if contains_map(types[0]):  # which have no order
        return collecting("attr", value_row(args[0], types[0]))
    least, greatest = (f"{f}(struct({args[0]} as v))" for f in ("min", "max"))
    return f"if({least} = {greatest}, {least}.v, NULL)"


def _attr_table(args: Sequence[str], types: Types) -> str:
    return collecting("attr", value_row(args[0], types[0]), sign=args[1])


def _top(args: Sequence[str], types: Types) -> str:
    if len(args) == 2:
        return collecting("topk", f"struct({args[0]})", args[1])
    columns = "".join(f", {string(f'col{i}')}, {a}" for i, a in enumerate(args[1:-1]))
    return collecting("topk", f"named_struct('sort_col', {args[0]}{columns})", args[-1])


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


_TOP_PARAMETERS = {"value": "what to order by", "k": "how many to keep", "column": "further columns to keep"}

SPECS: tuple[Spec, ...] = (
    aggregate(
        "COLLECT_LIST",
        "All values in arrival order, including NULLs.",
        (signature("value T -> ARRAY<T>"),),
        _collect_list,
        Example(([2, None, 1],), [2, None, 1]),
        spark_table=_collect_list_table,
        spark_distinct=_collect_set,
        settings=("ksql.functions.collect_list.limit",),
        merge=True,
        by_arrival=True,
        parameters={"value": "any expression"},
        aliases=("ARRAY_AGG",),
        limits=BY_ARGUMENTS,
    ),
    aggregate(
        "COLLECT_SET",
        "The distinct values in the order of their first arrival.",
        (signature("value T -> ARRAY<T>"),),
        _collect_set,
        Example(([2, None, 1, 2, None],), [2, None, 1]),
        spark_distinct=_collect_set,
        settings=("ksql.functions.collect_set.limit",),
        merge=True,
        by_arrival=True,
        parameters={"value": "any expression"},
        limits=BY_ARGUMENTS,
    ),
    aggregate(
        "STRING_AGG",
        "The values in arrival order, with a text between them; NULLs are skipped, and without values it is "
        "NULL.",
        (signature("value STRING, separator STRING! -> STRING"),),
        lambda args, _: _joined(f"collect_list({args[0]})", args[1]),
        Example((["b", None, "a"], ", "), "b, a"),
        Example(([Typed(None, STRING)], ", "), None),
        spark_distinct=lambda args, types: _joined(
            f"array_compact({_collect_set(args[:1], types[:1])})", args[1]
        ),
        merge=True,
        by_arrival=True,
        is_ours=True,
        parameters={"value": "any text", "separator": "a constant"},
        aliases=("LISTAGG",),
        limits=BY_ARGUMENTS,
    ),
    aggregate(
        "HISTOGRAM",
        "A map of each value to its count, for at most 1000 values.",
        (signature("value STRING -> MAP<STRING, BIGINT>"),),
        _histogram,
        Example((["a", "b", None, "a"],), {"a": 2, "b": 1}),
        spark_table=_histogram,
        spark_distinct=over_distinct(_once_each),
        merge=True,
        by_arrival=True,
        parameters={"value": "any text"},
        limits=BY_ARGUMENTS,
    ),
    aggregate(
        "TOPK",
        "The k greatest values in descending order, or structs with further columns of their rows.",
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
        by_arrival=True,
        parameters=_TOP_PARAMETERS,
        limits=BY_ARGUMENTS,
    ),
    aggregate(
        "TOPKDISTINCT",
        "The k greatest distinct values in descending order.",
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
        lambda args, _: collecting("topk_distinct", f"struct({args[0]})", args[1]),
        Example(([1, 3, None, 3, 2], 2), [3, 2]),
        typing=_top_distinct_types,
        merge=True,
        parameters=_TOP_PARAMETERS,
        limits=BY_ARGUMENTS,
    ),
    aggregate(
        "ATTR",
        "The value that all rows share; NULL if they differ.",
        (signature("value T -> T"),),
        _attr,
        Example((["a", "a"],), "a"),
        Example((["a", "b"],), None),
        Example((["a", None],), None),
        Example(([{"k": 1, "l": 2}, {"l": 2, "k": 1}],), {"k": 1, "l": 2}),
        spark_table=_attr_table,
        merge=True,
        parameters={"value": "any expression"},
        limits=BY_ARGUMENTS,
    ),
)
