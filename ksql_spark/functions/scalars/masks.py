"""Functions that mask texts (reference §4.2)."""

from __future__ import annotations

from collections.abc import Sequence

from ksql_spark.functions.scalars.strings import COUNT, MAX_LENGTH, NULL_STRING, TEXT, Types
from ksql_spark.functions.signatures import signature
from ksql_spark.functions.spark_text import unless_null
from ksql_spark.functions.spec import (
    BY_ARGUMENTS,
    Category,
    Example,
    Lowering,
    Spec,
    scalar,
)

_DEFAULT_MASKS = ("'X'", "'x'", "'n'", "'-'")


def _mask(args: Sequence[str], _: Types) -> str:
    """(text[, upper, lower, digit, other])"""
    return f"ksql.mask({', '.join((args[0], MAX_LENGTH, *(args[1:] or _DEFAULT_MASKS)))})"


def _mask_part(function: str) -> Lowering:
    """(text, count[, upper, lower, digit, other])"""

    def lower(args: Sequence[str], _: Types) -> str:
        masks = ", ".join(args[2:] or _DEFAULT_MASKS)
        return unless_null(args[1:2], f"ksql.{function}({args[0]}, {args[1]}, {masks})")

    return lower


_MASKS = {
    "upper": "the mask for upper-case letters; NULL keeps them",
    "lower": "the mask for lower-case letters; NULL keeps them",
    "digit": "the mask for digits; NULL keeps them",
    "other": "the mask for all other characters; NULL keeps them",
}


def _mask_spec(name: str, description: str, *examples: Example) -> Spec:
    return scalar(
        name,
        Category.STRING,
        description,
        (
            signature("text STRING, count INTEGER -> STRING"),
            signature(
                "text STRING, count INTEGER, upper STRING, lower STRING, digit STRING, other STRING -> STRING"
            ),
        ),
        _mask_part(name.lower()),
        *examples,
        parameters=TEXT | COUNT | _MASKS,
        can_fail=True,
        limits=BY_ARGUMENTS,
    )


SPECS: tuple[Spec, ...] = (
    scalar(
        "MASK",
        Category.STRING,
        "The text with each character replaced by a mask for its kind.",
        (
            signature("text STRING -> STRING"),
            signature("text STRING, upper STRING, lower STRING, digit STRING, other STRING -> STRING"),
        ),
        _mask,
        Example(("My Test $123",), "Xx-Xxxx--nnn"),
        Example(("aB1-", "Q", NULL_STRING, "9", "*"), "aQ9*"),
        Example(("", "Q", "q", "9", "*"), ""),
        Example(("aB1-", "QQ", "q", "9", "*"), None),
        parameters=TEXT | _MASKS,
        limits=BY_ARGUMENTS,
    ),
    _mask_spec(
        "MASK_LEFT",
        "The text with its first characters masked.",
        Example(("aB1-cd", 4), "xXn-cd"),
        Example(("ab", 5), "xx"),
        Example(("ab", -1), None),
    ),
    _mask_spec(
        "MASK_RIGHT",
        "The text with its last characters masked.",
        Example(("aB1-cd", 3), "aB1-xx"),
        Example(("ab", 5), "xx"),
    ),
    _mask_spec(
        "MASK_KEEP_LEFT",
        "The text masked except for its first characters.",
        Example(("aB1-cd", 2), "aBn-xx"),
    ),
    _mask_spec(
        "MASK_KEEP_RIGHT",
        "The text masked except for its last characters.",
        Example(("aB1-cd", 2), "xXn-cd"),
        Example(("aB1-cd", 2, "A", "b", "c", "d"), "bAcdcd"),
    ),
)
