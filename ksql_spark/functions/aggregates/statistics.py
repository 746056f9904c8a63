"""Statistical aggregates (reference §4.8)."""

from __future__ import annotations

from collections.abc import Sequence

from ksql_spark.functions.signatures import signature
from ksql_spark.functions.spec import Example, Spec, Typed, aggregate
from ksql_spark.types import DOUBLE, SqlType

Types = Sequence[SqlType]

_NUMBERS = tuple(signature(f"value {t} -> DOUBLE") for t in ("INTEGER", "BIGINT", "DOUBLE"))

SPECS: tuple[Spec, ...] = (
    aggregate(
        "STDDEV_SAMPLE",
        "The sample standard deviation; 0.0 for fewer than two values.",
        _NUMBERS,
        lambda args, _: f"coalesce(stddev_samp({args[0]}), 0D)",
        Example(([1, 3, None],), 1.4142135623730951),
        Example(([1],), 0.0),
        undo=True,
        merge=True,
    ),
    aggregate(
        "STDDEV_SAMP",
        "The sample variance (sic; see STDDEV_SAMPLE); 0.0 for fewer than two values.",
        _NUMBERS,
        lambda args, _: f"coalesce(var_samp({args[0]}), 0D)",
        Example(([1, 3],), 2.0),
        undo=True,
        merge=True,
    ),
    aggregate(
        "CORRELATION",
        "Pearson's correlation of two columns; NaN for fewer than two pairs or no variance.",
        tuple(signature(f"x {t}, y {t} -> DOUBLE") for t in ("INTEGER", "BIGINT", "DOUBLE")),
        lambda args, _: f"coalesce(corr({args[0]}, {args[1]}), double('NaN'))",
        Example(([1, 2, 3], [2, 4, 6]), 1.0),
        Example(([1], [2]), float("nan")),
        undo=True,
        merge=True,
    ),
    aggregate(
        "COUNT_DISTINCT",
        "About how many different values there are (HyperLogLog, error below 1 %).",
        (signature("value T -> BIGINT"),),
        lambda args, _: f"approx_count_distinct({args[0]}, 0.0082)",
        Example(([1, 2, 2, None],), 2),
        Example(([Typed(None, DOUBLE)],), 0),
        merge=True,
    ),
)
