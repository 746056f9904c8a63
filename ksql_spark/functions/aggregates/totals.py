"""Aggregates that keep one total: COUNT, SUM, AVG, MIN, MAX and their relatives (reference §4.8)."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal as PythonDecimal

from ksql_spark.functions.aggregates.collected import over_distinct
from ksql_spark.functions.signatures import signature
from ksql_spark.functions.spark_text import MAX_PRECISION, has_own_order, spark_type, string, variable
from ksql_spark.functions.spec import (
    ALL_DIGITS,
    BY_ARGUMENTS,
    Example,
    Lowering,
    Noted,
    Spec,
    Typed,
    aggregate,
)
from ksql_spark.types import BOOLEAN, DOUBLE, INTEGER, STRING, Array, Decimal, SqlType

Types = Sequence[SqlType]


def _same(types: Types) -> SqlType:
    return types[0]


def _zero(text: str, type_: SqlType) -> str:
    """``text``, an aggregate, cast to ``type_``: INT wraps, what does not fit a DECIMAL is NULL. 0 without
    values.
    """
    return f"cast(coalesce({text}, 0) as {spark_type(type_)})"


#: Spark's SUM of a DECIMAL has so many digits more than its argument, so 10^10 rows cannot exceed it; it ends
#: at 38, beyond which it is NULL for good
_MORE_DIGITS = 10


def _is_summed_exactly(type_: SqlType) -> bool:
    return isinstance(type_, Decimal) and type_.precision + _MORE_DIGITS > MAX_PRECISION


def _of_release(total: Lowering) -> Lowering:
    """The text by which release 0.1.0 noted the state of a SUM of which ``total`` is Spark's."""

    def text(args: Sequence[str], types: Types) -> str:
        if not isinstance(types[0], Decimal):
            return total(args, types)
        message = string(
            f"Numeric field overflow: a SUM does not fit into {types[0]}. CAST its argument to a larger type."
        )
        return f"coalesce({total(args, types)}, cast(raise_error({message}) as {spark_type(types[0])}))"

    return text


def _signed(text: str, type_: SqlType, sign: str) -> str:
    """``text``, or its negative if ``sign`` is -1; the smallest INT has no negative INT."""
    text = f"cast({text} as bigint)" if type_ == INTEGER else text
    return f"if({sign} < 0, -{text}, {text})"


def _count_table(args: Sequence[str], _: Types) -> str:
    sign = args[-1]
    return f"coalesce(sum({sign if len(args) == 1 else f'if({args[0]} is null, 0, {sign})'}), 0L)"


def _sum_by_spark(args: Sequence[str], types: Types) -> str:
    return _zero(f"sum({args[0]})", types[0])


def _sum(args: Sequence[str], types: Types) -> str:
    return f"ksql.`exact_sum`({args[0]})" if _is_summed_exactly(types[0]) else _sum_by_spark(args, types)


def _total_of_table(args: Sequence[str], types: Types) -> str:
    if types[0] == DOUBLE:  # exact: a value that was added and retracted leaves no rounding error
        return f"ksql.total({args[0]}, {args[-1]})"
    return f"sum({_signed(args[0], types[0], args[-1])})"


def _sum_table_by_spark(args: Sequence[str], types: Types) -> str:
    return _zero(_total_of_table(args, types), types[0])


def _sum_table(args: Sequence[str], types: Types) -> str:
    if _is_summed_exactly(types[0]):
        return f"ksql.`exact_sum`({args[0]}, {args[-1]})"
    return _sum_table_by_spark(args, types)


def _mean(total: str, count: str, type_: SqlType) -> str:
    if type_ == INTEGER:
        # the running sum is an INT, and wraps
        total = f"cast({total} as int)"
    return f"coalesce(cast({total} as double) / {count}, 0D)"


def _average(args: Sequence[str], types: Types) -> str:
    return _mean(f"sum({args[0]})", f"count({args[0]})", types[0])


def _average_table(args: Sequence[str], types: Types) -> str:
    return _mean(_total_of_table(args, types), _count_table(args, types), types[0])


def _elements(text: str, element: SqlType) -> str:
    """The sum of an ARRAY's elements."""
    sql_type = spark_type(element)
    s, x = variable(text, "s"), variable(text, "x")
    zero = f"cast(0 as {sql_type})"
    return f"aggregate({text}, {zero}, ({s}, {x}) -> {s} + coalesce({x}, {zero}))"


def _added(values: str, type_: SqlType) -> str:
    """The sum of an ARRAY without NULLs."""
    return f"ksql.added({values})" if isinstance(type_, Decimal) else _added_by_spark(values, type_)


def _added_by_spark(values: str, type_: SqlType) -> str:
    sql_type = spark_type(type_)
    s, x = variable(values, "s"), variable(values, "x")
    return f"aggregate({values}, cast(0 as {sql_type}), ({s}, {x}) -> cast({s} + {x} as {sql_type}))"


def _size(values: str, _: SqlType) -> str:
    return f"size({values})"


def _added_mean(values: str, type_: SqlType) -> str:
    return _mean(_added(values, type_), f"size({values})", type_)


def _sum_list(args: Sequence[str], types: Types) -> str:
    assert isinstance(types[0], Array)
    element = types[0].element
    return _sum([_elements(args[0], element)], [element])


def _sum_list_table(args: Sequence[str], types: Types) -> str:
    assert isinstance(types[0], Array)
    element = types[0].element
    return _sum_table([_elements(args[0], element), args[-1]], [element])


def _extreme(function: str) -> Lowering:
    def lower(args: Sequence[str], types: Types) -> str:
        if types[0] == STRING:
            return f"ksql.ranked_text({function}(ksql.rank({args[0]})))"
        if has_own_order(types[0]):
            return f"{function}_by({args[0]}, ksql.rank({args[0]}))"
        return f"{function}({args[0]})"

    return lower


def _extreme_by(function: str) -> Lowering:
    def lower(args: Sequence[str], types: Types) -> str:
        order = f"ksql.rank({args[1]})" if has_own_order(types[1]) else args[1]
        return f"{function}_by(struct({args[0]} AS v), {order}).v"

    return lower


def _any_is(value: str, result: str) -> Lowering:
    """Over a table: ``result`` where a row has ``value``, else the other one; NULL if there are no values."""

    def lower(args: Sequence[str], _: Types) -> str:
        matches, non_nulls = (
            f"sum(if({c}, {args[-1]}, 0))" for c in (f"{args[0]} <=> {value}", f"{args[0]} is not null")
        )
        return f"if({non_nulls} > 0, ({matches} > 0) = {result}, NULL)"

    return lower


_COMPARABLE = (
    "INTEGER", "BIGINT", "DOUBLE", "STRING", "BYTES", "DATE", "TIME", "TIMESTAMP",
)  # fmt: skip
_COMPARED = (
    *(signature(f"value {t} -> {t}") for t in _COMPARABLE),
    signature("value DECIMAL", _same, "DECIMAL"),
)

_BY = tuple(signature(f"value T, key {t} -> T") for t in (*_COMPARABLE, "DECIMAL"))

SPECS: tuple[Spec, ...] = (
    aggregate(
        "COUNT",
        "Counts the rows of a group, or the rows in which an expression is not NULL.",
        (signature("-> BIGINT"), signature("value T -> BIGINT")),
        lambda args, _: f"count({args[0] if args else '1'})",
        Example(([1, 2, None],), 2),
        spark_table=_count_table,
        spark_distinct=over_distinct(_size),
        merge=True,
    ),
    aggregate(
        "SUM",
        "The sum of the values; 0 if there are none. Integers wrap; NULL while a DECIMAL cannot hold it.",
        (
            *(signature(f"value {t} -> {t}") for t in ("INTEGER", "BIGINT", "DOUBLE")),
            signature("value DECIMAL", _same, "DECIMAL"),
        ),
        Noted(_sum, _of_release(_sum_by_spark)),
        Example(([1, 2, None],), 3),
        Example(([2147483647, 1],), -2147483648),
        Example(([Typed(None, INTEGER)],), 0),
        Example(([PythonDecimal("1.50"), PythonDecimal("2.25")],), PythonDecimal("3.75")),
        Example(([PythonDecimal("9.99"), PythonDecimal("1.01")],), None),
        Example(([ALL_DIGITS, ALL_DIGITS, ALL_DIGITS.copy_negate()],), ALL_DIGITS),
        can_fail=True,
        spark_table=Noted(_sum_table, _of_release(_sum_table_by_spark)),
        spark_distinct=Noted(over_distinct(_added), over_distinct(_added_by_spark)),
        merge=True,
    ),
    aggregate(
        "AVG",
        "The mean of the values; 0.0 if there are none.",
        tuple(signature(f"value {t} -> DOUBLE") for t in ("INTEGER", "BIGINT", "DOUBLE")),
        _average,
        Example(([1, 2, None],), 1.5),
        Example(([Typed(None, INTEGER)],), 0.0),
        spark_table=_average_table,
        spark_distinct=over_distinct(_added_mean),
        merge=True,
    ),
    aggregate(
        "MIN",
        "The smallest value; NULL if there is none.",
        _COMPARED,
        _extreme("min"),
        Example(([2, 1, None],), 1),
        Example((["b", "a"],), "a"),
        Example((["\uff5e", "😀"],), "😀"),
        Example(([b"\x01", b"\x80"],), b"\x80"),
        spark_distinct=_extreme("min"),
        merge=True,
        limits=BY_ARGUMENTS,
    ),
    aggregate(
        "MAX",
        "The greatest value; NULL if there is none.",
        _COMPARED,
        _extreme("max"),
        Example(([2, 1, None],), 2),
        Example(([Typed(None, STRING)],), None),
        spark_distinct=_extreme("max"),
        merge=True,
        limits=BY_ARGUMENTS,
    ),
    aggregate(
        "MIN_BY",
        "The value of the row with the smallest key, of equal ones the last to arrive; a NULL key is "
        "skipped.",
        _BY,
        _extreme_by("min"),
        Example((["a", "b", "c"], [2, 1, None]), "b"),
        Example((["a", "b", "c"], [1, 1, 2]), "b"),
        Example(([Typed(None, INTEGER), 5], ["x", "y"]), None),
        merge=True,
        by_arrival=True,
        is_ours=True,
        aliases=("ARG_MIN",),
        limits=BY_ARGUMENTS,
    ),
    aggregate(
        "MAX_BY",
        "The value of the row with the greatest key, of equal ones the last to arrive; a NULL key is "
        "skipped.",
        _BY,
        _extreme_by("max"),
        Example((["a", "b", "c"], [2, 3, None]), "b"),
        Example((["a", "b", "c"], [3, 3, 2]), "b"),
        Example(([1, 2], ["\uff5e", "😀"]), 1),
        merge=True,
        by_arrival=True,
        is_ours=True,
        aliases=("ARG_MAX",),
        limits=BY_ARGUMENTS,
    ),
    aggregate(
        "BOOL_AND",
        "Whether all values are true; NULLs are skipped, and without values it is NULL.",
        (signature("value BOOLEAN -> BOOLEAN"),),
        lambda args, _: f"bool_and({args[0]})",
        Example(([True, True, None],), True),
        Example(([True, False],), False),
        Example(([Typed(None, BOOLEAN)],), None),
        spark_table=_any_is("false", "false"),
        spark_distinct=lambda args, _: f"bool_and({args[0]})",
        merge=True,
        is_ours=True,
        aliases=("EVERY",),
    ),
    aggregate(
        "BOOL_OR",
        "Whether a value is true; NULLs are skipped, and without values it is NULL.",
        (signature("value BOOLEAN -> BOOLEAN"),),
        lambda args, _: f"bool_or({args[0]})",
        Example(([False, True, None],), True),
        Example(([False, False],), False),
        Example(([Typed(None, BOOLEAN)],), None),
        spark_table=_any_is("true", "true"),
        spark_distinct=lambda args, _: f"bool_or({args[0]})",
        merge=True,
        is_ours=True,
        aliases=("BOOL_ANY",),
    ),
    aggregate(
        "SUM_LIST",
        "The sum of the elements of all arrays; NULLs are skipped.",
        tuple(signature(f"list ARRAY<{t}> -> {t}") for t in ("INTEGER", "BIGINT", "DOUBLE")),
        _sum_list,
        Example(([[1, 2], [3, None]],), 6),
        spark_table=_sum_list_table,
        merge=True,
    ),
)
