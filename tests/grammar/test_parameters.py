"""Values of parameters are one literal each, whatever is in them and around them."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ksql_spark import grammar
from ksql_spark.grammar import literals
from ksql_spark.grammar.literals import ParameterMismatch, take_out, with_parameters

VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(),
    st.sampled_from(
        ["'", "''", "' OR '1'='1", "'; DROP TABLE t; --", "\\", "\\'", "/*", "${x}", "?", ":a", "`", '"']
    ),
)


@given(VALUES, VALUES)
def test_a_value_never_changes_the_statement(first: Any, second: Any) -> None:
    for template, values in (
        ("SELECT * FROM t WHERE f(?, ?);", [first, second]),
        ("SELECT * FROM t WHERE f(:a,:b);", {"a": first, "b": second}),
    ):
        text = with_parameters(template, values)
        statement = grammar.parse_one(text, substitution=False)
        call = statement.query.where  # type: ignore[attr-defined]
        assert len(call.args["arguments"]) == 2, text


def test_comments_that_nobody_closes_take_no_time() -> None:
    # each of them would be read to the text's end, in hours, and nothing else would run meanwhile
    text = "SELECT 1 " + "/* ? 2 " * 100_000
    assert with_parameters(text, []) == text
    assert take_out(text).values == (1,)


def test_many_names_take_no_time() -> None:
    # each of them would be looked for among all others, in hours
    names = [f"n{number}" for number in range(200_000)]
    text = with_parameters("".join(f":{name}," for name in names), dict.fromkeys(names, 1))
    assert text == " 1 ," * len(names)


def test_long_texts_are_not_kept() -> None:
    literals._known_parts.cache_clear()
    with_parameters("SELECT * FROM t WHERE a IN (?" + ",?" * 5_000 + ");", [1] * 5_001)
    assert literals._known_parts.cache_info().currsize == 0
    with_parameters("SELECT * FROM t WHERE a = ?;", [1])
    assert literals._known_parts.cache_info().currsize == 1


@given(st.text())
def test_a_text_comes_out_as_it_went_in(value: str) -> None:
    statement = grammar.parse_one(
        with_parameters("SELECT * FROM t WHERE a = ?;", [value]), substitution=False
    )
    literal = statement.query.where.expression  # type: ignore[attr-defined]
    assert literal.is_string and literal.this == value


@pytest.mark.parametrize(
    ("text", "values", "expected"),
    [
        ("SELECT a -? FROM t;", [-5], "SELECT a - (-5)  FROM t;"),
        ("SELECT a? FROM t;", [5], "SELECT a 5  FROM t;"),
        (
            "SELECT '?' || ? -- ?\n, `?` /* ? */ FROM t;",
            ["x"],
            "SELECT '?' ||  'x'  -- ?\n, `?` /* ? */ FROM t;",
        ),
        ("SELECT ? FROM t;", [1.5], "SELECT  1.5E+0  FROM t;"),
        ("SELECT ? FROM t;", [Decimal("1.50")], "SELECT  1.50  FROM t;"),
        ("SELECT ? FROM t;", [Decimal(2**63)], "SELECT  9223372036854775808.0  FROM t;"),
        ("SELECT ? FROM t;", [[1, None, ["a'b"]]], "SELECT  ARRAY[1, NULL, ARRAY['a''b']]  FROM t;"),
        ("SELECT ?, ? FROM t;", [True, None], "SELECT  TRUE ,  NULL  FROM t;"),
        ("SELECT :a, :b, :a FROM t;", {"a": 1, "b": 2}, "SELECT  1 ,  2 ,  1  FROM t;"),
        ("SELECT * FROM t;", [], "SELECT * FROM t;"),
    ],
)
def test_parameters_are_found_where_they_are(text: str, values: Any, expected: str) -> None:
    assert with_parameters(text, values) == expected


@pytest.mark.parametrize(
    ("text", "values", "reason"),
    [
        ("SELECT ? FROM t;", [], "1 parameters, but got 0 values"),
        ("SELECT 1 FROM t;", [1], "0 parameters, but got 1 values"),
        ("SELECT ? FROM t;", {"a": 1}, "one or the other"),
        ("SELECT :a FROM t;", [1], "one or the other"),
        ("SELECT :a FROM t;", {}, ":a has no value"),
        ("SELECT :a FROM t;", {"a": 1, "b": 2}, "no parameter :b"),
        ("SELECT ? FROM t;", [{}], "must be null"),
        ("SELECT ? FROM t;", [[1, [b"x"]]], r"cannot be b'x': it must"),
        ("SELECT ? FROM t;", [b"x" * 1000], r"cannot be b'x+\.\.\.x+': it must"),
        ("SELECT ? FROM t;", [float("nan")], "must be null"),
        ("SELECT ? FROM t;", [2**63], "must be null"),
        ("SELECT ? FROM t;", [b"x"], "must be null"),
    ],
)
def test_values_that_do_not_fit_are_refused(text: str, values: Any, reason: str) -> None:
    with pytest.raises(ParameterMismatch, match=reason):
        with_parameters(text, values)


def test_quantifiers_of_a_pattern_are_not_parameters() -> None:
    text = "SELECT * FROM s MATCH_RECOGNIZE ({} (a?? (b | (c d)?)+?) WITHIN 1 HOUR DEFINE a AS x = ?);"
    for word in ("PATTERN", "pattern"):
        found = with_parameters(text.format(word), [5])
        assert found == text.format(word).replace("x = ?", "x =  5 ")
