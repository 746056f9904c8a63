"""Which parts of an expression report that they failed, and that the rest of the text stays as it is."""

from __future__ import annotations

import pytest

from ksql_spark.expressions import Call, Case, Cast, ColumnRef, Expression, Literal
from ksql_spark.functions import registry
from ksql_spark.functions.failures import FAILING, lower_telling
from ksql_spark.functions.lowering import lower
from ksql_spark.types import BIGINT, BOOLEAN, DATE, INTEGER, STRING, Decimal

A, B = ColumnRef("A", INTEGER), ColumnRef("B", INTEGER)
S = ColumnRef("S", STRING)
NUMBER = Cast(S, INTEGER)
SUM = Call("+", (A, B), INTEGER)


def reported(node: Expression, *, at_root: bool = True) -> list[str]:
    """The expressions that report, in the order of their places in the text."""
    found = []

    def report(part: Expression, why: str) -> str:
        found.append(str(part))
        assert why.endswith(".")
        return f"told_{len(found)}()"

    text = lower_telling(node, report, at_root=at_root)
    assert all(f"told_{i + 1}()" in text for i in range(len(found)))
    return found


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        (A, []),
        (NUMBER, ["CAST(S AS INTEGER)"]),
        (Cast(A, BIGINT), []),
        (Cast(A, STRING), []),
        (Cast(A, Decimal(4, 2)), ["CAST(A AS DECIMAL(4, 2))"]),
        (SUM, ["(A + B)"]),
        # an operator passes the failure of its operand on
        (Call("+", (NUMBER, A), INTEGER), ["(CAST(S AS INTEGER) + A)"]),
        (Call(">", (SUM, A), BOOLEAN), ["((A + B) > A)"]),
        (Call(">", (A, B), BOOLEAN), []),
        # a comparison takes the NULL of a cast for a value
        (Call("=", (NUMBER, A), BOOLEAN), ["CAST(S AS INTEGER)"]),
        # arguments become NULL by themselves
        (Call("COALESCE", (NUMBER, SUM), INTEGER), ["CAST(S AS INTEGER)", "(A + B)"]),
        (Call("ABS", (SUM,), INTEGER), ["(A + B)"]),
        (Call("PARSE_DATE", (S, Literal("yyyy", STRING)), DATE), ["PARSE_DATE(S, 'yyyy')"]),
        (
            Case(((Call(">", (SUM, A), BOOLEAN), NUMBER),), None, INTEGER),
            ["((A + B) > A)", "CAST(S AS INTEGER)"],
        ),
        (Call("ABS", (Call("ABS", (NUMBER,), INTEGER),), INTEGER), ["CAST(S AS INTEGER)"]),
    ],
)
def test_failures_are_reported_where_they_are_caught(node: Expression, expected: list[str]) -> None:
    assert reported(node) == expected


def test_the_root_may_be_left_to_others() -> None:
    assert reported(SUM, at_root=False) == []
    assert reported(Call("COALESCE", (NUMBER, A), INTEGER), at_root=False) == ["CAST(S AS INTEGER)"]


def test_only_a_failure_is_told() -> None:
    text = lower_telling(NUMBER, lambda part, why: "told()")
    assert text == f"coalesce({lower(NUMBER)}, if((`S`) is not null and told(), NULL, NULL))"


def test_what_cannot_fail_is_lowered_as_ever() -> None:
    node = Call("UCASE", (Call("CONCAT", (S, S), STRING),), STRING)
    assert lower_telling(node, lambda part, why: "told()") == lower(node)


@pytest.mark.parametrize("name", sorted(FAILING))
def test_failing_functions_exist(name: str) -> None:
    assert registry.require(name).spark is not None
