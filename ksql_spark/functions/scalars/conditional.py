"""Functions that choose among values, and NULL handling (reference §4.5)."""

from __future__ import annotations

from collections.abc import Sequence

from ksql_spark.functions.scalars.comparisons import equal
from ksql_spark.functions.signatures import signature
from ksql_spark.functions.spark_text import let, spark_type
from ksql_spark.functions.spec import BY_ARGUMENTS, Category, Example, Spec, Typed, scalar
from ksql_spark.types import INTEGER, STRING, SqlType

Types = Sequence[SqlType]


def _null_if(args: Sequence[str], types: Types) -> str:
    a, b = args
    return let(a, lambda t: f"if({equal(t, b, types[0])}, cast(NULL as {spark_type(types[0])}), {t})")


SPECS: tuple[Spec, ...] = (
    scalar(
        "COALESCE",
        Category.CONDITIONAL,
        "The first argument that is not NULL.",
        (signature("value T... -> T"),),
        lambda args, _: f"coalesce({', '.join(args)})",
        Example((Typed(None, INTEGER), 2, 3), 2),
        parameters={"value": "the candidates, in order"},
        limits=BY_ARGUMENTS,
    ),
    scalar(
        "IFNULL",
        Category.CONDITIONAL,
        "The first argument, or the second if the first is NULL.",
        (signature("value T, alternative T -> T"),),
        lambda args, _: f"coalesce({args[0]}, {args[1]})",
        Example((Typed(None, STRING), "x"), "x"),
        Example(("a", "x"), "a"),
        parameters={"value": "the result if it is not NULL", "alternative": "the result if value is NULL"},
        aliases=("NVL",),
        limits=BY_ARGUMENTS,
    ),
    scalar(
        "NULLIF",
        Category.CONDITIONAL,
        "NULL if both arguments are equal, otherwise the first.",
        (signature("value T, unwanted T -> T"),),
        _null_if,
        Example((1, 1), None),
        Example((1, 2), 1),
        Example((1, Typed(None, INTEGER)), 1),
        parameters={"value": "the value", "unwanted": "what to turn into NULL"},
        limits=BY_ARGUMENTS,
    ),
    scalar(
        "AS_VALUE",
        Category.OTHER,
        "Copies a key column into the record's value.",
        (signature("key T -> T"),),
        lambda args, _: args[0],
        Example((1,), 1),
        parameters={"key": "a key column of the projection"},
        limits=BY_ARGUMENTS,
    ),
)
