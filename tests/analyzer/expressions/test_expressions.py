"""Expressions: what they are bound to, their types, and their errors."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ksql_spark import grammar
from ksql_spark.analyzer import Scope, bind_expression, bind_predicate
from ksql_spark.errors import KsqlError, Position
from ksql_spark.expressions import Call, Expression
from ksql_spark.functions.nullness import Nullness, nullness
from ksql_spark.schema import Column, Schema
from ksql_spark.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INTEGER,
    STRING,
    TIME,
    TIMESTAMP,
    Array,
    Decimal,
    Field,
    Map,
    SqlType,
    Struct,
)

COLUMNS: dict[str, SqlType] = {
    "I": INTEGER,
    "L": BIGINT,
    "D": DOUBLE,
    "N": Decimal(10, 2),
    "S": STRING,
    "B": BOOLEAN,
    "Y": BYTES,
    "DAY_": DATE,
    "CLOCK": TIME,
    "T": TIMESTAMP,
    "AI": Array(INTEGER),
    "M": Map(STRING, BIGINT),
    "ST": Struct((Field("A", INTEGER), Field("b", STRING))),
    "Mixed": INTEGER,
}
SCOPE = Scope.of(Schema(tuple(Column(name, type_) for name, type_ in COLUMNS.items())), "X")


def bind(text: str) -> tuple[str, str]:
    bound = bind_expression(grammar.parse_expression(text), SCOPE)
    return str(bound), str(bound.type)


@pytest.mark.parametrize(
    ("text", "bound", "type_"),
    [
        # paths in JSON
        ("S:user.Name", "S:['user']['Name']", "STRING"),
        ("S:items[0]['it''s']::INT", "CAST(S:['items'][0]['it''s'] AS INTEGER)", "INTEGER"),
        # CASE with an operand
        (
            "CASE I WHEN 1 THEN 'a' WHEN L THEN S END",
            "(CASE WHEN (I = 1) THEN 'a' WHEN (CAST(I AS BIGINT) = L) THEN S END)",
            "STRING",
        ),
        (
            "CASE T WHEN '2026' THEN 1 ELSE 2 END",
            "(CASE WHEN (T = CAST('2026' AS TIMESTAMP)) THEN 1 ELSE 2 END)",
            "INTEGER",
        ),
        # times and INTERVALs
        ("T + INTERVAL '90 minutes'", "(T + INTERVAL '5400000 MILLISECONDS')", "TIMESTAMP"),
        ("INTERVAL 1 WEEK + T", "(T + INTERVAL '7 DAYS')", "TIMESTAMP"),
        ("T - INTERVAL '1 year -2 months'", "(T - INTERVAL '10 MONTHS')", "TIMESTAMP"),
        ("DAY_ + INTERVAL 1 DAY", "(DAY_ + INTERVAL '1 DAYS')", "DATE"),
        (
            "DAY_ - INTERVAL 1 HOUR",
            "(CAST(DAY_ AS TIMESTAMP) - INTERVAL '3600000 MILLISECONDS')",
            "TIMESTAMP",
        ),
        ("DAY_ + INTERVAL 1 MONTH", "(DAY_ + INTERVAL '1 MONTHS')", "DATE"),
        ("CLOCK - INTERVAL 1 SECOND", "(CLOCK - INTERVAL '1000 MILLISECONDS')", "TIME"),
        ("ROWTIME - INTERVAL 1 SECOND", "(ROWTIME - 1000)", "BIGINT"),
        ("T - DAY_", "(T - CAST(DAY_ AS TIMESTAMP))", "INTERVAL"),
        ("CLOCK - CLOCK", "(CLOCK - CLOCK)", "INTERVAL"),
        ("2 * (T - T)", "((T - T) * CAST(2 AS BIGINT))", "INTERVAL"),
        ("-INTERVAL 1 DAY", "INTERVAL '-1 DAYS'", "INTERVAL"),
        ("T + INTERVAL 1 MONTH * I", "(T + (INTERVAL '1 MONTHS' * CAST(I AS BIGINT)))", "TIMESTAMP"),
        ("DAY_ - I * INTERVAL 1 YEAR", "(DAY_ - (INTERVAL '12 MONTHS' * CAST(I AS BIGINT)))", "DATE"),
        (
            "T + (INTERVAL 1 MONTH + INTERVAL 1 YEAR)",
            "(T + (INTERVAL '1 MONTHS' + INTERVAL '12 MONTHS'))",
            "TIMESTAMP",
        ),
        (
            "T - -(INTERVAL 1 MONTH - INTERVAL 1 YEAR)",
            "(T - -(INTERVAL '1 MONTHS' - INTERVAL '12 MONTHS'))",
            "TIMESTAMP",
        ),
        (
            "INTERVAL 1 YEAR * I > INTERVAL 6 MONTHS",
            "((INTERVAL '12 MONTHS' * CAST(I AS BIGINT)) > INTERVAL '6 MONTHS')",
            "BOOLEAN",
        ),
        ("T - T > INTERVAL 0 DAYS", "((T - T) > INTERVAL '0 DAYS')", "BOOLEAN"),
        ("L > INTERVAL 1 DAY", "(L > CAST(INTERVAL '1 DAYS' AS BIGINT))", "BOOLEAN"),
        ("(T - T)::BIGINT", "CAST((T - T) AS BIGINT)", "BIGINT"),
        # literals
        ("2147483647", "2147483647", "INTEGER"),
        ("2147483648", "2147483648", "BIGINT"),
        ("-2147483648", "-2147483648", "INTEGER"),
        ("-9223372036854775808", "-9223372036854775808", "BIGINT"),
        ("0.05", "0.05", "DECIMAL(3, 2)"),
        ("1.5E0", "1.5E0", "DOUBLE"),
        ("'it''s'", "'it''s'", "STRING"),
        # names
        ("i", "I", "INTEGER"),
        ("x.i", "I", "INTEGER"),
        ("`Mixed`", "`Mixed`", "INTEGER"),
        ("rowtime", "ROWTIME", "BIGINT"),
        # arithmetic
        ("i + l", "(CAST(I AS BIGINT) + L)", "BIGINT"),
        ("n * i", "(N * CAST(I AS DECIMAL(10, 0)))", "DECIMAL(21, 2)"),
        ("n / 3", "(N / CAST(3 AS DECIMAL(10, 0)))", "DECIMAL(21, 13)"),
        ("d + n", "(D + CAST(N AS DOUBLE))", "DOUBLE"),
        ("s + 'x'", "(S + 'x')", "STRING"),
        ("-i", "-I", "INTEGER"),
        ("+(i)", "I", "INTEGER"),
        ("s || s", "(S || S)", "STRING"),
        # comparisons
        ("i > 1.5", "(CAST(I AS DECIMAL(11, 1)) > CAST(1.5 AS DECIMAL(11, 1)))", "BOOLEAN"),
        ("t > '2024'", "(T > CAST('2024' AS TIMESTAMP))", "BOOLEAN"),
        ("t = day_", "(T = CAST(DAY_ AS TIMESTAMP))", "BOOLEAN"),
        ("rowtime >= '1970-01-02'", "(ROWTIME >= 86400000)", "BOOLEAN"),
        ("rowtime < TIMESTAMP '1970-01-01 00:00:01'", "(ROWTIME < 1000)", "BOOLEAN"),
        ("'1970-01-01T00:00:01' < rowtime", "(1000 < ROWTIME)", "BOOLEAN"),
        ("rowtime BETWEEN '1970' AND 5", "(ROWTIME BETWEEN 0 AND CAST(5 AS BIGINT))", "BOOLEAN"),
        ("i IS DISTINCT FROM NULL", "(I IS DISTINCT FROM CAST(NULL AS INTEGER))", "BOOLEAN"),
        ("i IS NOT NULL", "(I IS NOT NULL)", "BOOLEAN"),
        ("NOT s LIKE 'a!%' ESCAPE '!'", "(NOT (S LIKE 'a!%' ESCAPE '!'))", "BOOLEAN"),
        # lists: the first member leads, literals give way
        ("i IN (1, '2')", "(I IN (1, CAST('2' AS INTEGER)))", "BOOLEAN"),
        (
            "i IN (1, '2147483648')",
            "(CAST(I AS BIGINT) IN (CAST(1 AS BIGINT), CAST('2147483648' AS BIGINT)))",
            "BOOLEAN",
        ),
        ("s IN ('a', 1, NULL)", "(S IN ('a', CAST(1 AS STRING), CAST(NULL AS STRING)))", "BOOLEAN"),
        ("b IN ('t', 'no')", "(B IN (TRUE, FALSE))", "BOOLEAN"),
        ("m IN (MAP('a' := 1))", "(M = MAP('a':=CAST(1 AS BIGINT)))", "BOOLEAN"),
        (
            "ARRAY[1, 2.5]",
            "ARRAY[CAST(1 AS DECIMAL(11, 1)), CAST(2.5 AS DECIMAL(11, 1))]",
            "ARRAY<DECIMAL(11, 1)>",
        ),
        ("MAP('a' := NULL, 'b' := i)", "MAP('a':=CAST(NULL AS INTEGER), 'b':=I)", "MAP<STRING, INTEGER>"),
        ("STRUCT(f := i, `g` := s)->`g`", "STRUCT(F:=I, `g`:=S)->`g`", "STRING"),
        ("CASE WHEN b THEN 1 ELSE l END", "(CASE WHEN B THEN CAST(1 AS BIGINT) ELSE L END)", "BIGINT"),
        ("CASE WHEN b THEN NULL WHEN i = 1 THEN s END", None, "STRING"),
        # access
        ("ai[1] + m['a']", "(CAST(AI[1] AS BIGINT) + M['a'])", "BIGINT"),
        ("st->a", "ST->A", "INTEGER"),
        ("st->`b`", "ST->`b`", "STRING"),
        # casts
        ("CAST(i AS BIGINT)", "CAST(I AS BIGINT)", "BIGINT"),
        ("CAST(i AS INT)", "I", "INTEGER"),
        ("CAST(NULL AS STRUCT<x INT>)", "CAST(NULL AS STRUCT<`X` INTEGER>)", "STRUCT<`X` INTEGER>"),
        # functions
        ("lcase(s)", "LCASE(S)", "STRING"),
        ("CAST(NOW() AS DATE)", None, "DATE"),
        ("CAST(NOW() AS TIME)", None, "TIME"),
        ("COALESCE(i, l)", "COALESCE(CAST(I AS BIGINT), L)", "BIGINT"),
        ("TRANSFORM(ai, e => e + l)", "TRANSFORM(AI, (E) => (CAST(E AS BIGINT) + L))", "ARRAY<BIGINT>"),
        ("REDUCE(ai, 0, (z, e) => z + e)", "REDUCE(AI, 0, (Z, E) => (Z + E))", "INTEGER"),
        ("TIMESTAMPADD(DAYS, 1, t)", "TIMESTAMPADD('DAYS', 1, T)", "TIMESTAMP"),
    ],
)
def test_bound(text: str, bound: str | None, type_: str) -> None:
    got = bind(text)
    assert got[1] == type_
    if bound is not None:
        assert got[0] == bound


@pytest.mark.parametrize(
    ("text", "condition", "column", "message"),
    [
        ("ii + 1", "COLUMN_UNKNOWN", 1, "Did you mean I?"),
        ("1 + y.i", "ALIAS_UNKNOWN", 5, "'Y' is not a valid stream/table name or alias."),
        ("NOFUNC(i)", "FUNCTION_UNKNOWN", 1, "Can't find any functions with the name 'NOFUNC'."),
        ("UPER(s)", "FUNCTION_UNKNOWN", 1, "Did you mean UPPER?"),
        ("SGIN(i)", "FUNCTION_UNKNOWN", 1, "Did you mean SIGN?"),
        (
            "TUMBLE(t, INTERVAL 1 HOUR)",
            "FUNCTION_UNKNOWN",
            1,
            "Write FROM name WINDOW TUMBLING (SIZE 1 HOUR).",
        ),
        ("TUMBLE_START(t)", "FUNCTION_UNKNOWN", 1, "Write WINDOWSTART."),
        ("LEN(i)", "FUNCTION_ARGUMENTS", 1, "Function 'LEN' does not accept parameters (INTEGER)."),
        ("1 + LEN(*)", "FUNCTION_ARGUMENTS", 5, "does not accept parameters ()"),
        ("i + s", "ARITHMETIC_TYPES", 1, "Unsupported arithmetic types. INTEGER STRING"),
        ("i + NULL", "ARITHMETIC_NULL", 1, "Arithmetic on types INTEGER and null are not supported."),
        ("i = s", "COMPARISON_TYPES", 1, "Cannot compare I (INTEGER) to S (STRING) with EQUAL."),
        ("m < m", "COMPARISON_TYPES", 1, "with LESS_THAN."),
        ("i = NULL", "COMPARISON_NULL", 1, "Comparison with NULL not supported: INTEGER = NULL"),
        ("rowtime > 'soon'", "TIMESTAMP_TEXT", 11, "Failed to parse timestamp 'soon'"),
        ("i IN (1, 'x')", "LITERAL_SYNTAX", 10, 'invalid input syntax for type INTEGER: "x".'),
        ("i IN (s)", "LIST_TYPES", 7, "operator does not exist: INTEGER = STRING (S)"),
        ("ARRAY[]", "INVALID_STATEMENT", 1, "Array constructor cannot be empty."),
        ("ARRAY[NULL]", "INVALID_STATEMENT", 1, "Cannot construct an array with all NULL elements."),
        ("MAP(NULL := 1)", "INVALID_STATEMENT", 1, "Cannot construct a map with all NULL keys."),
        ("STRUCT(a := 1, a := 2)", "INVALID_STATEMENT", 16, "Duplicate field name in STRUCT: 'A'."),
        ("CASE WHEN i THEN 2 END", "INVALID_STATEMENT", None, "WHEN operand type should be boolean."),
        ("CASE WHEN b THEN NULL END", "INVALID_STATEMENT", 1, "All case branches have NULL type."),
        (
            "CAST(s AS ARRAY<INT>)",
            "CAST_UNSUPPORTED",
            1,
            "Cast of STRING to ARRAY<INTEGER> is not supported.",
        ),
        ("CAST(y AS STRING)", "CAST_UNSUPPORTED", 1, "Cast of BYTES to STRING is not supported."),
        ("CAST(b AS INT)", "CAST_UNSUPPORTED", 1, "Cast of BOOLEAN to INTEGER is not supported."),
        ("CAST(i AS STRIN)", "TYPE_UNKNOWN", None, "Did you mean STRING?"),
        ("st->c", "FIELD_UNKNOWN", 1, "There are: A, b."),
        ("i->a", "INVALID_STATEMENT", 1, "-> needs a STRUCT, got I (INTEGER)."),
        ("i[1]", "INVALID_STATEMENT", 1, "[] needs an ARRAY or a MAP, got I (INTEGER)."),
        ("i AND b", "PREDICATE_TYPE", 1, "Should evaluate to boolean but is I (INTEGER) instead."),
        ("NOT i", "PREDICATE_TYPE", None, "Should evaluate to boolean"),
        ("s LIKE i", "INVALID_STATEMENT", 1, "Like condition must be between strings"),
        ("COUNT(i)", "AGGREGATE_NOT_ALLOWED", 1, "COUNT is an aggregate function"),
        ("EXPLODE(ai)", "TABLE_FUNCTION_NOT_ALLOWED", 1, "EXPLODE is a table function"),
        (
            "LEN(DISTINCT s)",
            "INVALID_STATEMENT",
            1,
            "DISTINCT is only for aggregate functions; LEN is not one.",
        ),
        (
            "TRANSFORM(ai, i => i)",
            "INVALID_STATEMENT",
            15,
            "Lambda function argument can't be a column name: I.",
        ),
        ("TRANSFORM(ai, e => TRANSFORM(ai, e => 1))", "INVALID_STATEMENT", None, "Reusing lambda arguments"),
        ("CASE I WHEN 'a' THEN 1 END", "COMPARISON_TYPES", 13, "Cannot compare I (INTEGER) to 'a' (STRING)"),
        ("CASE I WHEN NULL THEN 1 END", "COMPARISON_NULL", 13, "NULL"),
        ("T + INTERVAL '1 day 1 month'", "INVALID_STATEMENT", 5, "not both"),
        ("INTERVAL 10001 YEARS", "INVALID_STATEMENT", 1, "cannot be longer than 10000 years"),
        ("INTERVAL 1000000001 DAYS", "INVALID_STATEMENT", 1, "cannot be longer than 1000000000 days"),
        ("L + INTERVAL 1 MONTH", "ARITHMETIC_TYPES", 1, "BIGINT INTERVAL YEAR TO MONTH"),
        ("I + INTERVAL 1 DAY", "ARITHMETIC_TYPES", 1, "INTEGER INTERVAL"),
        ("T + (INTERVAL 1 MONTH + INTERVAL 1 DAY)", "ARITHMETIC_TYPES", 6, "INTERVAL YEAR TO MONTH INTERVAL"),
        ("T + T", "ARITHMETIC_TYPES", 1, "TIMESTAMP TIMESTAMP"),
        ("T - T = 1", "COMPARISON_TYPES", 1, "Cannot compare"),
        ("CAST('1' AS INTERVAL)", "TYPE_UNKNOWN", 13, "Did you mean BIGINT?"),
        ("I:a", "INVALID_STATEMENT", 1, ": needs a VARIANT, or a STRING with JSON, got I (INTEGER)."),
        ("ST:a", "INVALID_STATEMENT", 1, "Write -> for the field of a STRUCT."),
        ("STRUCT(f := i, `g` := s)->g", "FIELD_UNKNOWN", 1, "Did you mean g?"),
    ],
)
def test_refused(text: str, condition: str, column: int | None, message: str) -> None:
    with pytest.raises(KsqlError) as raised:
        bind(text)
    assert raised.value.condition == condition
    assert message in raised.value.message
    assert raised.value.position is not None
    if column is not None:
        assert raised.value.position.column == column


def test_an_unknown_function_is_marked_without_its_arguments() -> None:
    with pytest.raises(KsqlError) as raised:
        bind("1 + NOFUNC(i, LEN(s))")
    assert raised.value.position == Position(1, 5, len("NOFUNC"))


def test_operators_of_ansi_conditions_pass_null_on() -> None:
    scope = replace(SCOPE, ansi=True)

    def bound(text: str) -> Expression:
        return bind_expression(grammar.parse_expression(text), scope)

    for text in (
        "I = 1",
        "I + 1",
        "NOT B",
        "B OR B",
        "I IN (1, NULL)",
        "S LIKE 'a'",
        "I BETWEEN 1 AND 2",
        "1 / I",
    ):
        node = bound(text)
        assert isinstance(node, Call)
        assert node.ansi, text
        assert nullness(node) is Nullness.VALUE
    for text in ("I IS NULL", "I IS DISTINCT FROM 1", "COALESCE(I, 1)", "S || 'a'"):
        assert bound(text) == bind_expression(grammar.parse_expression(text), SCOPE)
    assert str(bound("I = NULL")) == "(I = CAST(NULL AS INTEGER))"
    assert str(bound("NULL = NULL")) == "(CAST(NULL AS STRING) = CAST(NULL AS STRING))"


@pytest.mark.parametrize(
    "text", ["I = 1 AND S > 'a'", "I IN (1, 2) OR I BETWEEN 4 AND 5", "S = 'a'", "(I + 1) > 5"]
)
def test_only_true_counts_in_a_condition(text: str) -> None:
    node = grammar.parse_expression(text)
    ansi = bind_predicate(node, replace(SCOPE, ansi=True))
    plain = bind_predicate(node, SCOPE)
    assert str(ansi) == str(plain)
    assert isinstance(ansi, Call)
    assert not ansi.ansi


@pytest.mark.parametrize("text", ["B AND I = 1", "NOT (I = 1)", "B OR TRUE"])
def test_conditions_that_differ_keep_three_values(text: str) -> None:
    ansi = bind_predicate(grammar.parse_expression(text), replace(SCOPE, ansi=True))
    assert isinstance(ansi, Call)
    assert ansi.ansi
