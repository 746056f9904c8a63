"""Statistical aggregates (reference §4.8)."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal as PythonDecimal

from ksql_spark.errors import KsqlError
from ksql_spark.functions.aggregates.collected import over_distinct
from ksql_spark.functions.signatures import signature
from ksql_spark.functions.spark_text import spark_type, variable, without_maps
from ksql_spark.functions.spec import Example, Lowering, Resolved, Spec, Typed, aggregate, struct
from ksql_spark.types import BIGINT, DOUBLE, INTEGER, SqlType

Types = Sequence[SqlType]


def _retractable(columns: int) -> Lowering:
    """The variance of one column or the correlation of two, by our function that can retract rows."""

    def lower(args: Sequence[str], _: Types) -> str:
        numbers = "".join(f"cast({text} as double), " for text in args[:columns])
        return f"ksql.{'variance' if columns == 1 else 'correlation'}({numbers}{args[-1]})"

    return lower


def _by(function: str) -> Lowering:
    return lambda args, _: f"{function}({args[0]})"


def _variance(values: str, _: SqlType) -> str:
    """The sample variance of an ARRAY's elements; 0.0 for fewer than two."""
    s, x = variable(values, "s"), variable(values, "x")
    mean = f"(aggregate({values}, 0D, ({s}, {x}) -> {s} + {x}) / size({values}))"
    squares = f"aggregate({values}, 0D, ({s}, {x}) -> {s} + power({x} - {mean}, 2D))"
    return f"if(size({values}) < 2, 0D, {squares} / (size({values}) - 1))"


def _deviation(values: str, type_: SqlType) -> str:
    return f"sqrt({_variance(values, type_)})"


def _middle(values: str, _: SqlType) -> str:
    """The median of an ARRAY's elements; NULL without any."""
    ordered, size = f"sort_array({values})", f"size({values})"
    pair = (
        f"element_at({ordered}, cast({place} as int))"
        for place in (f"({size} + 1) div 2", f"{size} div 2 + 1")
    )
    return f"if({size} = 0, NULL, ({' + '.join(f'cast({one} as double)' for one in pair)}) / 2D)"


def _count_distinct(args: Sequence[str], types: Types) -> str:
    # unlike approx_count_distinct a sketch is small while there are few values
    value = without_maps(args[0], types[0])
    sketch = f"hll_sketch_agg(if({args[0]} is null, NULL, xxhash64({value})), 14)"
    return f"coalesce(hll_sketch_estimate({sketch}), 0L)"


def _percentile_types(types: Types, literals: Sequence[object]) -> Resolved | None:
    if len(types) != 2 or types[0] not in (INTEGER, BIGINT, DOUBLE):
        return None
    share = literals[1]
    if not isinstance(share, (int, float, PythonDecimal)) or isinstance(share, bool) or not 0 <= share <= 1:
        raise KsqlError("INVALID_STATEMENT", reason="A percentile needs a constant from 0 to 1.")
    return Resolved((types[0], types[1]), types[0])


def _continuous_types(types: Types, literals: Sequence[object]) -> Resolved | None:
    resolved = _percentile_types(types, literals)
    return None if resolved is None else Resolved(resolved.parameter_types, DOUBLE)


_NUMBERS = tuple(signature(f"value {t} -> DOUBLE") for t in ("INTEGER", "BIGINT", "DOUBLE"))

SPECS: tuple[Spec, ...] = (
    aggregate(
        "STDDEV_SAMPLE",
        "The sample standard deviation; 0.0 for fewer than two values.",
        _NUMBERS,
        lambda args, _: f"coalesce(stddev_samp({args[0]}), 0D)",
        Example(([1, 3, None],), 1.4142135623730951),
        Example(([1],), 0.0),
        spark_table=lambda args, types: f"sqrt({_retractable(1)(args, types)})",
        spark_distinct=over_distinct(_deviation),
        merge=True,
        aliases=("STDDEV",),
    ),
    aggregate(
        "STDDEV_SAMP",
        "The sample variance (sic; see STDDEV_SAMPLE); 0.0 for fewer than two values.",
        _NUMBERS,
        lambda args, _: f"coalesce(var_samp({args[0]}), 0D)",
        Example(([1, 3],), 2.0),
        spark_table=_retractable(1),
        spark_distinct=over_distinct(_variance),
        merge=True,
    ),
    *(
        aggregate(
            name,
            f"{description}; NULL for fewer than {least}.",
            _NUMBERS,
            _by(function),
            Example(([1, 3, None],), result),
            Example(([1],), 0.0 if least == "one value" else None),
            merge=True,
            is_ours=True,
            parameters={"value": "a number"},
            aliases=("VARIANCE",) if name == "VAR_SAMP" else (),
        )
        for name, description, function, least, result in (
            ("STDDEV_POP", "The standard deviation of a population", "stddev_pop", "one value", 1.0),
            ("VAR_POP", "The variance of a population", "var_pop", "one value", 1.0),
            ("VAR_SAMP", "The sample variance", "var_samp", "two values", 2.0),
        )
    ),
    aggregate(
        "CORRELATION",
        "Pearson's correlation of two columns; NaN for fewer than two pairs or no variance.",
        tuple(signature(f"x {t}, y {t} -> DOUBLE") for t in ("INTEGER", "BIGINT", "DOUBLE")),
        lambda args, _: f"coalesce(corr({args[0]}, {args[1]}), double('NaN'))",
        Example(([1, 2, 3], [2, 4, 6]), 1.0),
        Example(([1], [2]), float("nan")),
        spark_table=_retractable(2),
        merge=True,
        aliases=("CORR",),
    ),
    aggregate(
        "MEDIAN",
        "The median, exactly: the mean of the two values in the middle if their number is even; NULL without "
        "values. Its state holds each different value with its count.",
        _NUMBERS,
        lambda args, _: f"median({args[0]})",
        Example(([3, 1, 2, None],), 2.0),
        Example(([4, 1, 2, 3],), 2.5),
        Example(([Typed(None, DOUBLE)],), None),
        spark_distinct=over_distinct(_middle),
        merge=True,
        is_ours=True,
    ),
    aggregate(
        "APPROX_PERCENTILE",
        "The smallest value that a share of the values does not exceed, approximately (error of the rank: "
        "0.01 %); NULL without values.",
        tuple(signature(f"value {t}, share DOUBLE! -> {t}") for t in ("INTEGER", "BIGINT", "DOUBLE")),
        lambda args, _: f"percentile_approx({args[0]}, {args[1]}, 10000)",
        Example(([1, 2, 3, 4, None], 0.5), 2),
        Example(([1, 2, 3, 4], 1.0), 4),
        Example(([Typed(None, DOUBLE)], 0.5), None),
        typing=_percentile_types,
        merge=True,
        is_ours=True,
        parameters={"value": "a number", "share": "a constant from 0 to 1"},
    ),
    aggregate(
        "PERCENTILE_CONT",
        "The value below which a share of the values lies, exactly; between two, if it falls there; NULL "
        "without values. Also written PERCENTILE_CONT(share) WITHIN GROUP (ORDER BY value). Its state "
        "holds each different value with its count.",
        tuple(signature(f"value {t}, share DOUBLE! -> DOUBLE") for t in ("INTEGER", "BIGINT", "DOUBLE")),
        lambda args, _: f"percentile({args[0]}, {args[1]})",
        Example(([1, 2, 3, 4, None], 0.5), 2.5),
        Example(([1, 2, 3], 1.0), 3.0),
        Example(([Typed(None, DOUBLE)], 0.5), None),
        typing=_continuous_types,
        merge=True,
        is_ours=True,
        parameters={"value": "a number", "share": "a constant from 0 to 1"},
    ),
    aggregate(
        "PERCENTILE_DISC",
        "The smallest value that a share of the values does not exceed, exactly; NULL without values. Also "
        "written PERCENTILE_DISC(share) WITHIN GROUP (ORDER BY value). Its state holds each different value "
        "with its count.",
        tuple(signature(f"value {t}, share DOUBLE! -> {t}") for t in ("INTEGER", "BIGINT", "DOUBLE")),
        lambda args, types: (
            f"cast(percentile_disc({args[1]}) WITHIN GROUP (ORDER BY {args[0]}) AS {spark_type(types[0])})"
        ),
        Example(([1, 2, 3, 4, None], 0.5), 2),
        Example(([1, 2, 3], 1.0), 3),
        Example(([Typed(None, DOUBLE)], 0.5), None),
        typing=_percentile_types,
        merge=True,
        is_ours=True,
        parameters={"value": "a number", "share": "a constant from 0 to 1"},
    ),
    aggregate(
        "COUNT_DISTINCT",
        "The approximate number of distinct values (HyperLogLog, error below 1 %).",
        (signature("value T -> BIGINT"),),
        _count_distinct,
        Example(([1, 2, 2, None],), 2),
        Example(([Typed(None, DOUBLE)],), 0),
        Example(([{"a": 1, "b": 2}, {"b": 2, "a": 1}],), 1),
        Example(([struct(m={"a": 1}), struct(m={"a": 2})],), 2),
        merge=True,
        aliases=("APPROX_COUNT_DISTINCT",),
    ),
)
