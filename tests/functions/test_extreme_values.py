"""No value of a type stops a query: where a result does not fit its type it is NULL (reference §3.2)."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from pyspark.errors import PySparkException

from ksql_spark.errors import KsqlError
from ksql_spark.expressions import Cast, ColumnRef, Expression, Literal
from ksql_spark.functions import registry
from ksql_spark.functions.casts import can_cast
from ksql_spark.functions.lowering import lower
from ksql_spark.functions.spark_text import spark_type
from ksql_spark.functions.spec import Kind, expression
from ksql_spark.types import (
    BIGINT,
    DATE,
    DOUBLE,
    INTEGER,
    STRING,
    TIME,
    TIMESTAMP,
    Decimal,
    SqlType,
    quote_identifier,
)

from .binding import bind

pytestmark = [pytest.mark.spark, pytest.mark.long]

#: how many expressions go into one projection
BATCH = 40
#: their results grow with a number: limits of their own (test_limits.py) hold
GROWING = {"LPAD", "RPAD", "GENERATE_SERIES", "REPEAT"}
EXTREMES: dict[SqlType, Sequence[str]] = {
    INTEGER: ["-2147483648", "2147483647", "0", "-1"],
    BIGINT: ["-9223372036854775808L", "9223372036854775807L", "0L", "-1L"],
    DOUBLE: ["double('NaN')", "double('Infinity')", "-1.7976931348623157E308D", "-0.0D"],
    Decimal(3, 2): ["-9.99BD", "9.99BD", "0.00BD"],
    Decimal(38, 0): [f"-{'9' * 38}BD", f"{'9' * 38}BD", "0BD", "5BD"],
    Decimal(38, 10): [f"-{'9' * 28}.{'9' * 10}BD", f"{'9' * 28}.{'9' * 10}BD", "0.0000000001BD"],
    Decimal(38, 38): [f"-0.{'9' * 38}BD", f"0.{'9' * 38}BD", "0BD"],
    DATE: ["date_from_unix_date(-2147483648)", "date_from_unix_date(2147483647)", "date_from_unix_date(0)"],
    TIME: ["0", "86399999", "86400000"],
    TIMESTAMP: [
        "timestamp_micros(-9223372036854775808L)", "timestamp_micros(9223372036854775807L)",
        "timestamp_millis(0)",
    ],
    STRING: ["''", "'9223372036854775807'", "'-1e999'", "'9999-12-31T23:59:59.999+14:00'", "'\\u0000'"],
}  # fmt: skip
SIDES = ("a", "b")


def column(type_: SqlType, side: int) -> ColumnRef:
    return ColumnRef(f"{SIDES[side]} {type_}", type_)


@pytest.fixture(scope="module")
def frame(local_spark: Any) -> Any:
    """A row for each pair of extremes, one of each side, of all types at once."""
    sides = []
    count = max(map(len, EXTREMES.values()))
    for side in range(2):
        rows = []
        for i in range(count):
            values = (
                f"cast({texts[i % len(texts)]} as {spark_type(type_)}) as "
                + quote_identifier(column(type_, side).name)
                for type_, texts in EXTREMES.items()
            )
            rows.append(f"struct({', '.join(values)})")
        sides.append(local_spark.sql(f"SELECT inline(array({', '.join(rows)}))"))
    return sides[0].crossJoin(sides[1]).localCheckpoint()


def failures(frame: Any, expressions: Sequence[Expression]) -> Iterator[str]:
    """What stops Spark, each with its reason."""
    if not expressions:
        return
    texts = [f"{lower(e)} as c{i}" for i, e in enumerate(expressions)]
    try:
        frame.selectExpr(*texts).write.format("noop").mode("overwrite").save()
    except PySparkException as error:
        if len(expressions) == 1:
            reason = next((line for line in str(error).splitlines() if "Exception" in line), str(error))
            yield f"{expressions[0]}: {reason[:300]}"
            return
        half = len(expressions) // 2
        yield from failures(frame, expressions[:half])
        yield from failures(frame, expressions[half:])


def calls() -> Iterator[Expression]:
    """The examples of all functions, with columns in place of constants."""
    for spec in registry.all_specs():
        if spec.spark is None or spec.kind is not Kind.SCALAR or spec.name in GROWING:
            continue
        for example in spec.examples:
            given = [expression(a) for a in example.args]
            yield from bound(
                spec.name,
                *([a, *(column(t, i % 2) for t in EXTREMES if is_alike(a, t))] for i, a in enumerate(given)),
            )


def is_alike(argument: Expression, type_: SqlType) -> bool:
    """Whether a column of a type can stand for a constant."""
    both_decimal = isinstance(argument.type, Decimal) and isinstance(type_, Decimal)
    return isinstance(argument, Literal) and (both_decimal or argument.type == type_)


def bound(name: str, *arguments: Sequence[Expression]) -> Iterator[Expression]:
    """The calls of a function with one of each argument, where there is a signature for them."""
    for given in itertools.product(*arguments):
        if any(isinstance(a, ColumnRef) for a in given):
            with contextlib.suppress(KsqlError):
                yield bind(name, given)


def casts() -> Iterator[Expression]:
    for source, target in itertools.permutations(EXTREMES, 2):
        if can_cast(source, target):
            yield Cast(column(source, 0), target)


def operations() -> Iterator[Expression]:
    for name in ("+", "-", "*", "/", "%"):
        yield from bound(name, *([column(t, side) for t in EXTREMES] for side in range(2)))


@pytest.mark.parametrize("made", [calls, casts, operations])
def test_nothing_stops_a_query(frame: Any, made: Callable[[], Iterator[Expression]]) -> None:
    every = list(dict.fromkeys(made()))
    assert len(every) > 50
    wrong = [w for i in range(0, len(every), BATCH) for w in failures(frame, every[i : i + BATCH])]
    assert not wrong, "\n".join(wrong)
