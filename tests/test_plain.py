"""Expressions that Python evaluates for look-ups and plain push queries."""

from __future__ import annotations

import pytest

from ksql_spark.expressions import Call, ColumnRef, Literal
from ksql_spark.runtime.plain_expressions import function_of, is_plain
from ksql_spark.types import BOOLEAN, DOUBLE

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
