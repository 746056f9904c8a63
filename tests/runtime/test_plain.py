"""Expressions that Python evaluates for look-ups and plain push queries."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from ksql_spark.expressions import Call, ColumnRef, Expression, Literal, Members
from ksql_spark.functions.lowering import lower
from ksql_spark.runtime.plain_expressions import function_of, is_plain
from ksql_spark.types import BOOLEAN, DOUBLE, INTEGER

_D = ColumnRef("D", DOUBLE)
_NAN = float("nan")


@pytest.mark.parametrize("name", ["=", "<>", "<", "<=", ">", ">="])
def test_comparisons_with_nan_are_false(name: str) -> None:
    for right in (_D, Literal(1.0, DOUBLE)):
        compared = Call(name, (_D, right), BOOLEAN)
        assert is_plain(compared)
        assert function_of(compared, {"D": 0})([_NAN], ()) is False


def test_doubles_that_differ() -> None:
    differ = function_of(Call("<>", (_D, Literal(1.0, DOUBLE)), BOOLEAN), {"D": 0})
    assert [differ([d], ()) for d in (2.0, 1.0, 0.0, None)] == [True, False, True, False]


_A, _B = ColumnRef("A", INTEGER), ColumnRef("B", INTEGER)


def _plain_calls(ansi: bool) -> list[Expression]:
    """A call of each plain operator, over the columns A and B."""

    def condition(name: str, *arguments: Expression | Members) -> Expression:
        return Call(name, arguments, BOOLEAN, ansi)

    compared = [condition(name, _A, _B) for name in ("=", "<>", "<", "<=", ">", ">=")]
    one, two = condition("=", _A, Literal(1, INTEGER)), condition("<", _B, Literal(2, INTEGER))
    tested = [
        condition("BETWEEN", _A, Literal(1, INTEGER), _B),
        condition("IN", _A, Members((1, 3), INTEGER)),
    ]
    return [*compared, *tested, condition("AND", one, two), condition("OR", one, two)]


_ROWS = list(product((None, 1, 2), repeat=2))


def _plain_results(ansi: bool) -> list[list[Any]]:
    calls = _plain_calls(ansi)
    assert all(map(is_plain, calls))
    return [[function_of(call, {"A": 0, "B": 1})(row, ()) for row in _ROWS] for call in calls]


def test_comparisons_with_null() -> None:
    by_text = dict(zip(map(str, _plain_calls(True)), _plain_results(True), strict=True))
    #                          NULL, -          | 1, -              | 2, -
    assert by_text["(A < B)"] == [None, None, None, None, False, True, None, False, False]
    assert by_text["((A = 1) AND (B < 2))"] == [None, None, False, None, True, False, False, False, False]
    assert by_text["((A = 1) OR (B < 2))"] == [None, True, None, True, True, True, None, True, False]
    assert by_text["(A IN (1, 3))"] == [None] * 3 + [True] * 3 + [False] * 3
    assert by_text["(A BETWEEN 1 AND B)"] == [None, None, None, None, True, True, None, False, True]
    assert {value for results in _plain_results(False) for value in results} == {True, False}


@pytest.mark.spark
@pytest.mark.parametrize("ansi", [True, False])
def test_python_evaluates_as_spark_does(local_spark: Any, ansi: bool) -> None:
    frame = local_spark.createDataFrame(_ROWS, "A int, B int").coalesce(1)
    rows = frame.selectExpr(*map(lower, _plain_calls(ansi))).collect()
    assert [list(column) for column in zip(*rows, strict=True)] == _plain_results(ansi)
