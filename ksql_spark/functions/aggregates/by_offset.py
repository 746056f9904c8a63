"""Aggregates that depend on the order of arrival (reference §4.8).

Rows are aggregated one by one in order of arrival, so first and last are exact.
"""

from __future__ import annotations

from collections.abc import Sequence

from ksql_spark.errors import KsqlError
from ksql_spark.functions.aggregates.collected import collecting
from ksql_spark.functions.signatures import Signature, signature
from ksql_spark.functions.spec import (
    BY_ARGUMENTS,
    Example,
    Lowering,
    Resolved,
    Spec,
    TypingRule,
    aggregate,
)
from ksql_spark.types import BOOLEAN, INTEGER, Array, Function, SqlType

Types = Sequence[SqlType]
Literals = Sequence[object]

#: the types of the constants after the value
_CONSTANTS = ((), (BOOLEAN,), (INTEGER,), (INTEGER, BOOLEAN))


def _signatures(several: bool) -> tuple[Signature, ...]:
    if several:
        return (
            signature("value T, count INTEGER! -> ARRAY<T>"),
            signature("value T, count INTEGER!, ignoreNulls BOOLEAN! -> ARRAY<T>"),
        )
    return (signature("value T -> T"), signature("value T, ignoreNulls BOOLEAN! -> T"))


def _typing(several: str) -> TypingRule:
    """The signatures' types, and a count that is at least 1."""

    def types_of(types: Types, literals: Literals) -> Resolved | None:
        if not types or isinstance(types[0], Function) or tuple(types[1:]) not in _CONSTANTS:
            return None
        if any(constant is None for constant in literals[1:]):
            raise KsqlError("INVALID_STATEMENT", reason=f"{several}N and ignoreNulls must be literals.")
        if INTEGER not in types[1:]:
            return Resolved(tuple(types), types[0])
        if not isinstance(literals[1], int) or literals[1] < 1:
            raise KsqlError("INVALID_STATEMENT", reason=f"{several}N must be 1 or greater.")
        return Resolved(tuple(types), Array(types[0]))

    return types_of


def _constants(args: Sequence[str], types: Types) -> tuple[str | None, str]:
    """The number of values (None: a single one), and whether NULLs are ignored."""
    constants = dict(zip(types[1:], args[1:], strict=True))
    return constants.get(INTEGER), constants.get(BOOLEAN, "true")


def _single(function: str, several: str) -> Lowering:
    def lower(args: Sequence[str], types: Types) -> str:
        count, ignores_nulls = _constants(args, types)
        if count is None:
            return f"{function}({args[0]}, {ignores_nulls})"
        # of two groups that are merged the oldest stay, also of LATEST_BY_OFFSET (reference §4.8)
        return collecting(several, f"struct({args[0]})", count, ignores_nulls, "true")

    return lower


def _merged(function: str, several: str) -> Lowering:
    single = _single(function, several)

    def lower(args: Sequence[str], types: Types) -> str:
        count, ignores_nulls = _constants(args, types)
        if count is not None:
            return single(args, types)
        oldest = "true" if several == "earliest" else "false"
        return f"{collecting(several, f'struct({args[0]})', '1', ignores_nulls, oldest)}[0]"

    return lower


_PARAMETERS = {
    "value": "any expression",
    "count": "how many values to keep",
    "ignoreNulls": "whether to skip NULLs; true by default",
}

SPECS: tuple[Spec, ...] = (
    aggregate(
        "EARLIEST_BY_OFFSET",
        "The first value to arrive, or the first N. Records of several partitions arrive in the order of "
        "their times.",
        (*_signatures(False), *_signatures(True)),
        _single("first", "earliest"),
        Example(([None, 1, 2],), 1),
        Example(([None, 1, 2], False), None),
        Example(([None, 1, 2, 3], 2), [1, 2]),
        Example(([None, 1, 2, 3], 2, False), [None, 1]),
        merge=True,
        by_arrival=True,
        spark_merged=_merged("first", "earliest"),
        typing=_typing("earliest"),
        parameters=_PARAMETERS,
        aliases=("FIRST_VALUE",),
        limits=BY_ARGUMENTS,
    ),
    aggregate(
        "LATEST_BY_OFFSET",
        "The last value to arrive, or the last N, oldest first. Records of several partitions arrive in the "
        "order of their times.",
        (*_signatures(False), *_signatures(True)),
        _single("last", "latest"),
        Example(([1, 2, None],), 2),
        Example(([1, 2, None], False), None),
        Example(([1, 2, 3, None], 2), [2, 3]),
        Example(([1], 2), [1]),
        merge=True,
        by_arrival=True,
        spark_merged=_merged("last", "latest"),
        typing=_typing("latest"),
        parameters=_PARAMETERS,
        aliases=("LAST_VALUE",),
        limits=BY_ARGUMENTS,
    ),
)
