"""Numeric functions (reference §4.1)."""

from __future__ import annotations

from collections.abc import Sequence

from ksql_spark.functions.signatures import signature
from ksql_spark.functions.spec import Category, Example, Spec, scalar
from ksql_spark.types import SqlType

Types = Sequence[SqlType]


def _same(types: Types) -> SqlType:
    return types[0]


SPECS: tuple[Spec, ...] = (
    scalar(
        "ABS",
        Category.MATHEMATICAL,
        "The absolute value.",
        (
            *(signature(f"value {t} -> {t}") for t in ("INTEGER", "BIGINT", "DOUBLE")),
            signature("value DECIMAL", _same, "DECIMAL"),
        ),
        lambda args, _: f"abs({args[0]})",
        Example((-5,), 5),
        Example((-1.5,), 1.5),
        parameters={"value": "a number"},
    ),
)
