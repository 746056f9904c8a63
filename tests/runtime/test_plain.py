"""Conditions that Python evaluates for look-ups and plain push queries, in one table for Python and Spark."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from ksql_spark.expressions import Call, Cast, ColumnRef, Expression, Literal, Members
from ksql_spark.functions.lowering import lower
from ksql_spark.functions.spark_text import spark_type
from ksql_spark.runtime.plain_expressions import function_of, is_plain
from ksql_spark.types import BIGINT, BOOLEAN, DOUBLE, INTEGER, STRING, SqlType

_NAN, _INFINITY = float("nan"), float("inf")
_COMPARISONS = ("=", "<>", "<", "<=", ">", ">=")
#: values of each type that can be compared; in UTF-16 units, the emoji is less than U+FFFF
_VALUES: dict[SqlType, tuple[Any, ...]] = {
    INTEGER: (None, 1, 2, -(2**31)),
    BIGINT: (None, 0, 2**53 + 1, -(2**63)),
    DOUBLE: (None, 0.0, -0.0, 1.5, _NAN, _INFINITY),
    BOOLEAN: (None, True, False),
    STRING: (None, "", "a", "B", "é", "\uffff", "😀"),
}


def _conditions(type_: SqlType, ansi: bool) -> list[Expression]:
    """Each plain operator, over the columns A and B."""
    a, b = ColumnRef("A", type_), ColumnRef("B", type_)
    first, second = (Literal(value, type_) for value in _VALUES[type_][1:3])

    def condition(name: str, *arguments: Expression | Members) -> Expression:
        return Call(name, arguments, BOOLEAN, ansi)

    compared = [condition(name, *sides) for name in _COMPARISONS for sides in ((a, b), (a, first))]
    one, two = condition("=", a, first), condition("<", b, second)
    tested = [
        condition("BETWEEN", a, first, b),
        condition("IN", a, Members((first.value, second.value), type_)),
    ]
    wider = {INTEGER: (BIGINT, DOUBLE), BIGINT: (DOUBLE,)}.get(type_, ())
    cast = [condition("<", Cast(a, w), Literal(1 if w == BIGINT else 1.5, w)) for w in wider]
    return [*compared, *tested, *cast, condition("AND", one, two), condition("OR", one, two)]


def _of_python(type_: SqlType, ansi: bool) -> list[list[Any]]:
    conditions = _conditions(type_, ansi)
    assert all(map(is_plain, conditions))
    rows = product(_VALUES[type_], repeat=2)
    return [[function_of(c, {"A": 0, "B": 1})(row, ()) for c in conditions] for row in rows]


def test_comparisons_with_null() -> None:
    names = map(str, _conditions(BOOLEAN, ansi=True))
    found = dict(zip(names, zip(*_of_python(BOOLEAN, ansi=True), strict=True), strict=True))
    #                            NULL, -           | TRUE, -            | FALSE, -
    assert found["(A < B)"] == (None, None, None, None, False, False, None, True, False)
    assert found["((A = TRUE) AND (B < FALSE))"] == (
        None,
        False,
        False,
        None,
        False,
        False,
        False,
        False,
        False,
    )
    assert found["((A = TRUE) OR (B < FALSE))"] == (None, None, None, True, True, True, None, False, False)
    assert {value for row in _of_python(BOOLEAN, ansi=False) for value in row} == {True, False}


@pytest.mark.spark
@pytest.mark.parametrize("ansi", [True, False])
@pytest.mark.parametrize("type_", _VALUES, ids=str)
def test_python_evaluates_as_spark_does(local_spark: Any, type_: SqlType, ansi: bool) -> None:
    spark = spark_type(type_)
    rows = list(product(_VALUES[type_], repeat=2))
    frame = local_spark.createDataFrame(rows, f"A {spark}, B {spark}").coalesce(1)
    names = list(map(str, _conditions(type_, ansi)))
    found = frame.selectExpr(*map(lower, _conditions(type_, ansi))).collect()
    differences = [
        (row, name, jvm, python)
        for row, of_jvm, of_python in zip(rows, found, _of_python(type_, ansi), strict=True)
        for name, jvm, python in zip(names, of_jvm, of_python, strict=True)
        if jvm is not python
    ]
    assert differences == []
