"""Aggregates that keep one total: COUNT, SUM, AVG, MIN, MAX and their relatives (reference §4.8)."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal as PythonDecimal

from ksql_spark.functions.signatures import signature
from ksql_spark.functions.spark_text import spark_type, variable
from ksql_spark.functions.spec import Example, Spec, Typed, aggregate
from ksql_spark.types import INTEGER, STRING, Array, SqlType

Types = Sequence[SqlType]


def _same(types: Types) -> SqlType:
    return types[0]


def _zero(text: str, type_: SqlType) -> str:
    """``text``, an aggregate, back in ``type_`` (INT wraps) and 0 where it saw no value."""
    wanted = spark_type(type_)
    return f"cast(coalesce({text}, 0) as {wanted})"


def _sum(args: Sequence[str], types: Types) -> str:
    return _zero(f"sum({args[0]})", types[0])


def _average(args: Sequence[str], types: Types) -> str:
    total = f"sum({args[0]})"
    if types[0] == INTEGER:
        # the running sum is an INT, and wraps
        total = f"cast({total} as int)"
    return f"coalesce(cast({total} as double) / count({args[0]}), 0D)"


def _sum_list(args: Sequence[str], types: Types) -> str:
    assert isinstance(types[0], Array)
    wanted = spark_type(types[0].element)
    s, x = variable(args[0], "s"), variable(args[0], "x")
    inner = (
        f"aggregate({args[0]}, cast(0 as {wanted}), ({s}, {x}) -> {s} + coalesce({x}, cast(0 as {wanted})))"
    )
    return _zero(f"sum({inner})", types[0].element)


_COMPARABLE = (
    "INTEGER", "BIGINT", "DOUBLE", "STRING", "BYTES", "DATE", "TIME", "TIMESTAMP",
)  # fmt: skip
_COMPARED = (
    *(signature(f"value {t} -> {t}") for t in _COMPARABLE),
    signature("value DECIMAL", _same, "DECIMAL"),
)

SPECS: tuple[Spec, ...] = (
    aggregate(
        "COUNT",
        "Counts the rows of a group, or those where an expression is not NULL.",
        (signature("-> BIGINT"), signature("value T -> BIGINT")),
        lambda args, _: f"count({args[0] if args else '1'})",
        Example(([1, 2, None],), 2),
        undo=True,
        merge=True,
    ),
    aggregate(
        "SUM",
        "Adds up the values; 0 where there are none. Integers wrap.",
        (
            *(signature(f"value {t} -> {t}") for t in ("INTEGER", "BIGINT", "DOUBLE")),
            signature("value DECIMAL", _same, "DECIMAL"),
        ),
        _sum,
        Example(([1, 2, None],), 3),
        Example(([2147483647, 1],), -2147483648),
        Example(([Typed(None, INTEGER)],), 0),
        Example(([PythonDecimal("1.50"), PythonDecimal("2.25")],), PythonDecimal("3.75")),
        undo=True,
        merge=True,
    ),
    aggregate(
        "AVG",
        "The mean of the values; 0.0 where there are none.",
        tuple(signature(f"value {t} -> DOUBLE") for t in ("INTEGER", "BIGINT", "DOUBLE")),
        _average,
        Example(([1, 2, None],), 1.5),
        Example(([Typed(None, INTEGER)],), 0.0),
        undo=True,
        merge=True,
    ),
    aggregate(
        "MIN",
        "The smallest value; NULL where there are none.",
        _COMPARED,
        lambda args, _: f"min({args[0]})",
        Example(([2, 1, None],), 1),
        Example((["b", "a"],), "a"),
        merge=True,
    ),
    aggregate(
        "MAX",
        "The greatest value; NULL where there are none.",
        _COMPARED,
        lambda args, _: f"max({args[0]})",
        Example(([2, 1, None],), 2),
        Example(([Typed(None, STRING)],), None),
        merge=True,
    ),
    aggregate(
        "SUM_LIST",
        "Adds up the elements of all arrays; NULLs are skipped.",
        tuple(signature(f"list ARRAY<{t}> -> {t}") for t in ("INTEGER", "BIGINT", "DOUBLE")),
        _sum_list,
        Example(([[1, 2], [3, None]],), 6),
        undo=True,
        merge=True,
    ),
)
