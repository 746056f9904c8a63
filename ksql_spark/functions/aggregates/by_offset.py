"""Aggregates that depend on the order of arrival (reference §4.8).

Rows are aggregated one after another in arrival order, so first and last mean what they say.
"""

from __future__ import annotations

from collections.abc import Sequence

from ksql_spark.functions.aggregates.collected import collected
from ksql_spark.functions.signatures import Signature, signature
from ksql_spark.functions.spec import Example, Lowering, Spec, aggregate
from ksql_spark.types import BOOLEAN, SqlType

Types = Sequence[SqlType]

_SEVERAL = "Keeping N values needs an operator of our own: Spark's would keep them all."


def _signatures(several: bool) -> tuple[Signature, ...]:
    if several:
        return (
            signature("value T, count INTEGER! -> ARRAY<T>"),
            signature("value T, count INTEGER!, ignoreNulls BOOLEAN! -> ARRAY<T>"),
        )
    return (signature("value T -> T"), signature("value T, ignoreNulls BOOLEAN! -> T"))


def _pick(function: str, ordered: str) -> Lowering:
    def lower(args: Sequence[str], types: Types) -> str:
        if len(args) == 1 or types[1] == BOOLEAN:
            return f"{function}({args[0]}, {args[1] if len(args) == 2 else 'true'})"
        count, ignore_nulls = args[1], args[2] if len(args) == 3 else "true"
        values = collected(args[0], keep_nulls=ignore_nulls == "false")
        return ordered.format(values=values, n=count)

    return lower


_PARAMETERS = {
    "value": "any expression",
    "count": "how many values to keep",
    "ignoreNulls": "whether to skip NULLs; true if absent",
}

SPECS: tuple[Spec, ...] = (
    aggregate(
        "EARLIEST_BY_OFFSET",
        "The first value that arrived, or the first N.",
        (*_signatures(False), *_signatures(True)),
        _pick("first", "slice({values}, 1, {n})"),
        Example(([None, 1, 2],), 1),
        Example(([None, 1, 2], False), None),
        Example(([None, 1, 2, 3], 2), [1, 2]),
        Example(([None, 1, 2, 3], 2, False), [None, 1]),
        merge=True,
        gap=_SEVERAL,
        parameters=_PARAMETERS,
    ),
    aggregate(
        "LATEST_BY_OFFSET",
        "The last value that arrived, or the last N, oldest first.",
        (*_signatures(False), *_signatures(True)),
        _pick("last", "reverse(slice(reverse({values}), 1, {n}))"),
        Example(([1, 2, None],), 2),
        Example(([1, 2, None], False), None),
        Example(([1, 2, 3, None], 2), [2, 3]),
        Example(([1], 2), [1]),
        merge=True,
        gap=_SEVERAL,
        parameters=_PARAMETERS,
    ),
)
