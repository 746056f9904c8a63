"""Functions on strings and byte strings (reference §4.2)."""

from __future__ import annotations

from collections.abc import Sequence

from ksql_spark.functions.signatures import signature
from ksql_spark.functions.spec import Category, Example, Spec, scalar
from ksql_spark.types import SqlType

Types = Sequence[SqlType]

SPECS: tuple[Spec, ...] = (
    scalar(
        "UCASE",
        Category.STRING,
        "The text in upper case.",
        (signature("text STRING -> STRING"),),
        lambda args, _: f"upper({args[0]})",
        Example(("Abc",), "ABC"),
        parameters={"text": "any text"},
    ),
    scalar(
        "LCASE",
        Category.STRING,
        "The text in lower case.",
        (signature("text STRING -> STRING"),),
        lambda args, _: f"lower({args[0]})",
        Example(("Abc",), "abc"),
        parameters={"text": "any text"},
    ),
)
