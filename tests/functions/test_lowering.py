"""Lowering of whole expressions: NULL logic (reference §3.2), casts and texts (§3.1, §3.4), on Spark."""

from __future__ import annotations

from decimal import Decimal as PythonDecimal
from typing import Any

import pytest

from ksql_spark.errors import KsqlError
from ksql_spark.expressions import Call, Case, Cast, ColumnRef, Expression, FieldRef, Literal, MakeStruct
from ksql_spark.functions.lowering import lower, lower_condition
from ksql_spark.functions.nullness import Nullness, nullness
from ksql_spark.functions.spark_text import let
from ksql_spark.functions.spec import Typed, expression, struct
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

from .binding import bind, call, canonical, same

A, B = ColumnRef("A", INTEGER), ColumnRef("b c", INTEGER)
FLAG = ColumnRef("FLAG", BOOLEAN)
NO_INT, NO_FLAG = Typed(None, INTEGER), Typed(None, BOOLEAN)
ERROR = call("+", NO_INT, 1)


def test_columns_are_quoted() -> None:
    assert lower(bind("+", [A, B])) == "(`A` + `b c`)"


def test_comparisons_are_false_on_null() -> None:
    assert lower(bind("=", [A, B])) == "coalesce((`A` = `b c`), false)"
    assert lower(call("=", 1, 2)) == "(1 = 2)"
    assert lower_condition(bind("=", [A, B])) == "(`A` = `b c`)"


def test_conditions_stay_bare_below_and_only() -> None:
    both = bind("AND", [bind("=", [A, B]), bind("<", [A, B])])
    assert lower_condition(both) == "((`A` = `b c`) and (`A` < `b c`))"
    negated = bind("NOT", [bind("=", [A, B])])
    assert lower_condition(negated) == "(not coalesce((`A` = `b c`), false))"


@pytest.mark.parametrize(
    ("node", "meaning"),
    [
        (A, Nullness.VALUE),
        (Literal(1, INTEGER), Nullness.NEVER),
        (bind("+", [A, B]), Nullness.ERROR),
        (bind("=", [A, B]), Nullness.NEVER),
        (bind("=", [ERROR, B]), Nullness.ERROR),
        (bind("IS NULL", [A]), Nullness.NEVER),
        (bind("NOT", [bind("=", [A, B])]), Nullness.NEVER),
        (bind("NOT", [FLAG]), Nullness.ERROR),
        (bind("UCASE", [ColumnRef("S", STRING)]), Nullness.VALUE),
    ],
)
def test_what_null_means(node: Expression, meaning: Nullness) -> None:
    assert nullness(node) is meaning


def test_long_values_are_bound_once() -> None:
    assert let("`x`", lambda v: f"{v}+{v}") == "`x`+`x`"
    long = f"concat({', '.join(['`x`'] * 40)})"
    assert let(long, lambda v: f"{v}+{v}").count(long) == 1
    assert let("rand()", lambda v: f"{v}+{v}").count("rand") == 1


def test_nested_calls_do_not_explode() -> None:
    node: Expression = ColumnRef("S", STRING)
    for _ in range(12):
        node = bind("MASK_KEEP_LEFT", [node, Literal(2, INTEGER)])
    assert len(lower(node)) < 20_000


def test_unknown_functions_are_refused() -> None:
    with pytest.raises(KsqlError):
        lower(Call("NOPE", (), INTEGER))


# ---- on Spark --------------------------------------------------------------------------------------------

S = Struct((Field("F", INTEGER), Field("g", STRING)))
LOGIC: list[tuple[Expression, Any]] = [
    (call("NOT", call("=", NO_INT, 1)), True),
    (call("NOT", call("=", ERROR, 1)), None),
    (call("=", ERROR, NO_INT), None),
    (call("IS NULL", ERROR), None),
    (call("IS NULL", NO_INT), True),
    (call("IN", ERROR, 1), None),
    (call("NOT", call("IN", NO_INT, 1)), True),
    (call("NOT", call("IN", 2, 1, None)), True),
    (call("BETWEEN", 2, NO_INT, 3), False),
    (call("AND", False, NO_FLAG), False),
    (call("AND", NO_FLAG, False), None),
    (call("OR", NO_FLAG, True), None),
    (call("OR", True, NO_FLAG), True),
    (call("OR", False, True), True),
    (Case(((call("=", ERROR, 1), Literal(1, INTEGER)),), Literal(2, INTEGER), INTEGER), None),
    (Case(((call("=", NO_INT, 1), Literal(1, INTEGER)),), Literal(2, INTEGER), INTEGER), 2),
    (Case(((expression(False), Literal(1, INTEGER)),), None, INTEGER), None),
    (FieldRef(struct(F=1, g="x"), "g", STRING), "x"),
    (FieldRef(Cast(expression(None), S), "g", STRING), None),
    (MakeStruct((("A b", Literal(1, INTEGER)),), Struct((Field("A b", INTEGER),))), {"A b": 1}),
    (call("LIKE", "a\nb", "a%"), False),
    (call("LIKE", "a(b)*", "a(b)_"), True),
    (call("LIKE", "a_b", "a\\_b"), False),
]


def _cast(value: Any, target: SqlType) -> Cast:
    return Cast(expression(value), target)


#: a DATE for which Spark has no TIMESTAMP
_FAR = Call("FROM_DAYS", (Literal(2**31 - 1, INTEGER),), DATE)

CASTS: list[tuple[Expression, Any]] = [
    (_cast(1e10, STRING), "1.0E10"),
    (_cast(0.5, STRING), "0.5"),
    (_cast(True, STRING), "true"),
    (_cast(PythonDecimal("0.00000010"), STRING), "0.00000010"),
    (_cast(PythonDecimal("-12.00000010"), STRING), "-12.00000010"),
    (_cast(Typed("2021", DATE), STRING), "2021-01-01"),
    (_cast(Typed("10:05:06.789", TIME), STRING), "10:05:06"),
    (_cast(Typed("10:05", TIME), STRING), "10:05"),
    (_cast(Typed("2021-03-04T10", TIMESTAMP), STRING), "2021-03-04T10:00:00.000"),
    (_cast([1, None], STRING), "[1, null]"),
    (_cast({"k": 1.0}, STRING), "{k=1.0}"),
    (_cast(struct(F=1, g=Typed(None, STRING), h="x"), STRING), "Struct{F=1,h=x}"),
    (_cast(Typed(None, Array(INTEGER)), STRING), None),
    (_cast(3_000_000_000, INTEGER), 3_000_000_000 - 2**32),
    (_cast(1e20, BIGINT), 2**63 - 1),
    (_cast(-1.9, INTEGER), -1),
    (_cast(2.345, Decimal(4, 2)), PythonDecimal("2.35")),
    (_cast(123.4, Decimal(4, 2)), None),
    (_cast("12", INTEGER), 12),
    (_cast(" 12 ", BIGINT), 12),
    (_cast("12.5", INTEGER), None),
    (_cast("x", INTEGER), None),
    (_cast("99999999999", INTEGER), None),
    (_cast("1.5e3", DOUBLE), 1500.0),
    (_cast("NaN", DOUBLE), None),
    (_cast("Infinity", DOUBLE), None),
    (_cast(" 1.239", Decimal(3, 2)), PythonDecimal("1.24")),
    (_cast("YE", BOOLEAN), True),
    (_cast("no", BOOLEAN), False),
    (_cast("whatever", BOOLEAN), False),
    (_cast("YWJj", BYTES), b"abc"),
    (_cast("2021-3", DATE), "2021-03-01"),
    (_cast("2021-03-04T10", DATE), None),
    (_cast("10:05:06.5", TIME), "10:05:06.500"),
    (_cast("25:00", TIME), None),
    (_cast("2021-03-04T10:05+02:00", TIMESTAMP), "2021-03-04T08:05:00.000"),
    (_cast("2021-03-04T10Z", TIMESTAMP), "2021-03-04T10:00:00.000"),
    (_cast("2021-03-04T10:05:06.789Z", TIMESTAMP), "2021-03-04T10:05:06.789"),
    (_cast("2021-03-04 10:05", TIMESTAMP), None),
    (_cast(Typed("2021-03-04T10:05", TIMESTAMP), DATE), "2021-03-04"),
    (_cast(Typed("2021-03-04T10:05", TIMESTAMP), TIME), "10:05:00.000"),
    (_cast(Typed("1969-12-31T23:59", TIMESTAMP), TIME), "23:59:00.000"),
    (_cast(Typed("2021-03-04", DATE), TIMESTAMP), "2021-03-04T00:00:00.000"),
    (_cast(_FAR, TIMESTAMP), None),
    (_cast([_FAR, Typed("2021-03-04", DATE)], Array(TIMESTAMP)), [None, "2021-03-04T00:00:00.000"]),
    (Call("<", (_cast(_FAR, TIMESTAMP), expression(Typed("2021-03-04", TIMESTAMP))), BOOLEAN), False),
    (_cast([1, 2**40], Array(INTEGER)), [1, 0]),
    (_cast({"1": "2"}, Map(INTEGER, DOUBLE)), {1: 2.0}),
    (
        _cast(struct(F=1, g="2"), Struct((Field("g", INTEGER), Field("H", DATE)))),
        {"g": 2, "H": None},
    ),
]


@pytest.mark.spark
@pytest.mark.parametrize("cases", [LOGIC, CASTS], ids=["logic", "casts"])
def test_values(local_spark: Any, cases: list[tuple[Expression, Any]]) -> None:
    columns = [f"{lower(node)} as c{i}" for i, (node, _) in enumerate(cases)]
    row = local_spark.range(1).selectExpr(*columns).collect()[0]
    wrong = []
    for (node, wanted), raw in zip(cases, row, strict=True):
        got = canonical(raw, node.type)
        if not same(got, wanted):
            wrong.append(f"{node} gave {got!r}, not {wanted!r}, by {lower(node)}")
    assert not wrong, "\n".join(wrong)


#: calls that must not stop a query: every one is NULL on every row
FAILING = [
    ("REGEXP_EXTRACT", ("(", "S")),
    ("REGEXP_EXTRACT", ("S", "(")),
    ("REGEXP_EXTRACT", ("(a)", "S", "I")),
    ("REGEXP_EXTRACT_ALL", ("[", "S")),
    ("REGEXP_REPLACE", ("S", "(", "x")),
    ("REGEXP_REPLACE", ("S", "7", "$9")),
    ("REGEXP_SPLIT_TO_ARRAY", ("S", "*")),
    ("FORMAT_TIMESTAMP", ("T", "MMMMMMMM")),
    ("FORMAT_TIMESTAMP", ("T", "BAD")),
    ("FORMAT_TIMESTAMP", ("T", "yyyy", "Mars/Olympus")),
    ("FORMAT_TIMESTAMP", ("T", "yyyy", "S")),
    ("PARSE_TIMESTAMP", ("S", "{")),
    ("PARSE_TIMESTAMP", ("S", "BAD")),
    ("PARSE_TIMESTAMP", ("S", "S", "S")),
    ("CONVERT_TZ", ("T", "UTC", "S")),
    ("GENERATE_SERIES", ("I", 9, 0)),
    ("CHR", ("BAD",)),
    ("EXTRACTJSONFIELD", ("S", "BAD")),
    ("JSON_CONCAT", ("BAD", "S")),
    ("URL_DECODE_PARAM", ("BAD",)),
    ("FROM_BYTES", ("X", "S")),
]
COLUMNS = {
    "S": ("7", STRING), "BAD": ("%{", STRING), "I": (7, INTEGER), "T": (Typed("2020", TIMESTAMP), TIMESTAMP),
    "X": (b"a", BYTES),
}  # fmt: skip


@pytest.mark.spark
def test_bad_rows_do_not_stop_a_query(local_spark: Any) -> None:
    def argument(given: Any) -> Expression:
        return ColumnRef(given, COLUMNS[given][1]) if given in COLUMNS else expression(given)

    nodes = [bind(name, [argument(a) for a in args]) for name, args in FAILING]
    # depends on the row, so that nothing is folded
    values = [f"if(id >= 0, {lower(expression(v))}, NULL) as {n}" for n, (v, _) in COLUMNS.items()]
    row = (
        local_spark.range(1)
        .selectExpr(*values)
        .selectExpr(*(f"{lower(n)} as c{i}" for i, n in enumerate(nodes)))
    )
    found = row.collect()[0]
    assert [str(n) for n, value in zip(nodes, found, strict=True) if value is not None] == []
