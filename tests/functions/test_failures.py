"""Which parts of an expression report that they failed, and that the rest of the text stays as it is."""

from __future__ import annotations

import re

import pytest

from ksql_spark.expressions import Call, Case, Cast, ColumnRef, Expression, Literal, TryCast
from ksql_spark.functions import registry
from ksql_spark.functions.lowering import lower, lower_reporting
from ksql_spark.functions.spark_text import string
from ksql_spark.types import BIGINT, BOOLEAN, DATE, INTEGER, STRING, Decimal

A, B = ColumnRef("A", INTEGER), ColumnRef("B", INTEGER)
S = ColumnRef("S", STRING)
NUMBER = Cast(S, INTEGER)
SUM = Call("+", (A, B), INTEGER)


def reported(node: Expression, *, at_root: bool = True) -> list[str]:
    """The expressions that report, in the order of their places in the text."""
    found: dict[str, str] = {}

    def report(part: Expression, why: str, _: str) -> str:
        assert why.endswith(".")
        name = f"reported_{len(found)}()"
        found[name] = str(part)
        return name

    text = lower_reporting(node, report, at_root=at_root)
    reports = re.findall(r"reported_\d+\(\)", text)
    assert len(reports) == len(set(reports))  # each is evaluated once
    return [found[report] for report in reports]


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        (A, []),
        (NUMBER, ["CAST(S AS INTEGER)"]),
        (Cast(A, BIGINT), []),
        (Cast(A, STRING), []),
        (Cast(A, Decimal(4, 2)), ["CAST(A AS DECIMAL(4, 2))"]),
        (TryCast(A, Decimal(4, 2)), []),
        (TryCast(Call("+", (A, A), INTEGER), STRING), ["(A + A)"]),
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


def test_only_a_failure_is_reported() -> None:
    text = lower_reporting(NUMBER, lambda part, why, _: "report()")
    assert text == f"coalesce({lower(NUMBER)}, if((`S`) is not null and report(), NULL, NULL))"


def test_what_cannot_fail_is_lowered_as_ever() -> None:
    node = Call("UCASE", (Call("TRIM", (S,), STRING),), STRING)
    assert lower_reporting(node, lambda part, why, _: "report()") == lower(node)


def test_too_large_is_no_other_null() -> None:
    joined = Call("CONCAT", (S, Literal("-", STRING)), STRING)
    text = lower_reporting(joined, lambda part, why, _: f"report({why})")
    why = "CONCAT gives more than ksql.functions.max.bytes allows."
    assert text == f"coalesce({lower(joined)}, if(report({why}), NULL, NULL))"
    padded = Call("LPAD", (S, A, S), STRING)
    assert "if(coalesce(`S` is not null and `A` >= 0 and" in lower_reporting(
        padded, lambda part, why, _: "report()"
    )


def test_a_part_that_stands_twice_reports_in_both_places() -> None:
    node = Case(((Call(">", (A, B), BOOLEAN), Call("ABS", (NUMBER,), INTEGER)),), NUMBER, INTEGER)
    assert reported(node) == ["CAST(S AS INTEGER)"] * 2


def test_an_operand_that_a_text_repeats_reports_once() -> None:
    spec = next(s for s in registry.all_specs() if s.name == "NULLIF")
    assert spec.spark is not None and spec.spark(["`x`", "1"], [INTEGER, INTEGER]).count("`x`") > 1
    assert reported(Call("NULLIF", (NUMBER, A), INTEGER)) == ["CAST(S AS INTEGER)"]
    assert reported(Call(">", (Call("+", (Call("ABS", (NUMBER,), INTEGER), A), INTEGER), B), BOOLEAN)) == [
        "CAST(S AS INTEGER)",
        "((ABS(CAST(S AS INTEGER)) + A) > B)",
    ]


def test_what_looks_like_a_failing_text_stays() -> None:
    text = lower(NUMBER)
    node = Call("CONCAT", (Literal(text, STRING), Cast(NUMBER, STRING)), STRING)
    assert string(text) in lower_reporting(node, lambda part, why, _: "report()")


def test_given_expressions_stand_for_their_values() -> None:
    node = Call("+", (A, Call("ABS", (A,), INTEGER)), INTEGER)
    assert lower(node, {A: "first(`k`)"}) == "(first(`k`) + abs(first(`k`)))"
    assert lower(node, {Call("ABS", (A,), INTEGER): "`c`"}) == "(`A` + `c`)"


def test_a_match_that_is_not_there_is_told_from_a_search_that_was_given_up() -> None:
    node = Call("REGEXP_EXTRACT", (Literal("(a|b)*c", STRING), S), STRING)
    text = lower_reporting(node, lambda part, why, _: "report()")
    gave_up = "ksql.regexp_gives_up('(a|b)*c', `S`)"
    assert text == f"coalesce({lower(node)}, if({gave_up} and report(), NULL, NULL))"


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        (SUM, "(`A`) is null or (`B`) is null"),
        (Call("/", (Call("*", (A, B), INTEGER), A), INTEGER), "(`A`) is null or (`B`) is null"),
        # a cast that fails is a failure; the NULL that it casts is not
        (Call("+", (NUMBER, Literal(1, INTEGER)), INTEGER), "(`S`) is null"),
        (Call(">", (SUM, Literal(1, INTEGER)), BOOLEAN), "(`A`) is null or (`B`) is null"),
        (Call("+", (Literal(1, INTEGER), Literal(2, INTEGER)), INTEGER), "false"),
    ],
)
def test_a_null_operand_is_told_from_other_failures(node: Expression, expected: str) -> None:
    assert f"report({expected})" in lower_reporting(node, lambda part, why, has_null: f"report({has_null})")
