"""Conditions that Python evaluates for look-ups and plain push queries, in one table for Python and Spark."""

from __future__ import annotations

from decimal import Decimal as Number
from itertools import product
from typing import Any

import pytest

from ksql_spark.expressions import Call, Case, Cast, ColumnRef, Expression, FieldRef, Literal, Members
from ksql_spark.functions.lowering import lower
from ksql_spark.functions.spark_text import spark_type
from ksql_spark.runtime.plain_expressions import function_of, is_plain
from ksql_spark.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INTEGER,
    STRING,
    TIME,
    TIMESTAMP,
    Decimal,
    Field,
    SqlType,
    Struct,
)

_NAN, _INFINITY = float("nan"), float("inf")
_COMPARISONS = ("=", "<>", "<", "<=", ">", ">=")
#: values of each type that can be compared; in UTF-16 units, the emoji is less than U+FFFF
_VALUES: dict[SqlType, tuple[Any, ...]] = {
    INTEGER: (None, 1, 2, -(2**31)),
    BIGINT: (None, 0, 2**53 + 1, -(2**63)),
    DOUBLE: (None, 0.0, -0.0, 1.5, _NAN, _INFINITY),
    BOOLEAN: (None, True, False),
    STRING: (None, "", "a", "B", "é", "\uffff", "😀", "ab\nc", "a\x85", "a\u2028"),
    Decimal(4, 2): (None, Number("1.50"), Number("-99.99"), Number("0.00"), Number("99.99")),
    Decimal(38, 10): (
        None,
        Number("-0.0000000001"),
        Number("9" * 28 + ".0000000001"),
        Number("1.5000000000"),
    ),
    DATE: (None, 0, -719162, 19723),
    TIME: (None, 0, 86_399_999, 3_600_000),
    TIMESTAMP: (None, 1_704_067_200_000, -62_135_596_800_000, 1_704_067_200_001),
}
#: the texts of moments that Python reads, and such as it leaves to Spark
_TEXTS: dict[SqlType, tuple[tuple[str, ...], tuple[str, ...]]] = {
    DATE: (("2024-01-01", "0001-01-01", "1900-02-28"), ("2024-1-1", "2024-02-30", "2024", "٢024-01-01")),
    TIME: (("00:00", "23:59:59", "01:00:00.001"), ("1:00", "24:00", "01:00:00.1")),
    TIMESTAMP: (
        ("2024-01-01", "2024-01-01T00:00", "1883-11-18T23:59:59", "2024-01-01T00:00:00.001"),
        ("2024-01-01T", "2024-01-01T00:00:00Z", "2024-01-01 00:00:00", "2024-01-01T00:00:00.1"),
    ),
}
#: Spark SQL text of a value of a type that Spark has in another form
_FROM_NUMBER = {DATE: "date_from_unix_date({})", TIMESTAMP: "timestamp_millis({})"}


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
    tested += [
        Call("IS NULL", (a,), BOOLEAN),
        Call("IS NOT NULL", (a,), BOOLEAN),
        condition("IN", a, first, second),
    ]
    wider: tuple[tuple[SqlType, Any], ...] = {
        INTEGER: ((BIGINT, 1), (DOUBLE, 1.5), (Decimal(11, 1), Number("1.5"))),
        BIGINT: ((DOUBLE, 1.5), (Decimal(20, 1), Number("1.5"))),
        Decimal(4, 2): ((Decimal(6, 3), Number("1.500")), (DOUBLE, 1.5)),
        Decimal(38, 10): ((DOUBLE, 1.5),),
    }.get(type_, ())
    tested += [condition("<", Cast(a, w), Literal(value, w)) for w, value in wider]
    tested += [condition("=", Cast(a, w), Literal(value, w)) for w, value in wider]
    tested += [condition("<=", a, Cast(Literal(text, STRING), type_)) for text in _TEXTS.get(type_, ((),))[0]]
    if type_ == STRING:
        tested += [
            condition("LIKE", a, Literal(each, STRING)) for each in ("", "%", "a%", "a", "ab\n%", "é%")
        ]
    both, either = condition("AND", one, two), condition("OR", one, two)
    negated = [condition("NOT", each) for each in (both, either, *compared, *tested[:5])]
    cases = [condition("=", Case(((one, b), (two, first)), default, type_), second) for default in (None, a)]
    return [*compared, *tested, both, either, *negated, *cases]


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
    from_number = _FROM_NUMBER.get(type_)
    if from_number is None:
        frame = local_spark.createDataFrame(rows, f"A {spark}, B {spark}").coalesce(1)
    else:
        numbers = "int" if type_ == DATE else "long"
        frame = local_spark.createDataFrame(rows, f"A {numbers}, B {numbers}").coalesce(1)
        frame = frame.selectExpr(*(f"{from_number.format(name)} AS {name}" for name in "AB"))
    names = list(map(str, _conditions(type_, ansi)))
    found = frame.selectExpr(*map(lower, _conditions(type_, ansi))).collect()
    differences = [
        (row, name, jvm, python)
        for row, of_jvm, of_python in zip(rows, found, _of_python(type_, ansi), strict=True)
        for name, jvm, python in zip(names, of_jvm, of_python, strict=True)
        if jvm is not python
    ]
    assert differences == []


def test_what_python_leaves_to_spark() -> None:
    text = ColumnRef("S", STRING)
    patterns = ("a_%", "%a", "a%b", "a%%")
    assert not any(is_plain(Call("LIKE", (text, Literal(each, STRING)), BOOLEAN)) for each in patterns)
    assert not any(
        is_plain(Cast(Literal(each, STRING), type_))
        for type_, (_, others) in _TEXTS.items()
        for each in others
    )
    assert not is_plain(Cast(ColumnRef("D", Decimal(4, 2)), Decimal(4, 1)))
    nulls = Call("IN", (text, Literal("a", STRING), Literal(None, STRING)), BOOLEAN)
    assert not is_plain(nulls)


def test_fields_and_decimals_have_the_form_of_columns() -> None:
    inner = Struct((Field("CODE", INTEGER),))
    outer = Struct((Field("ZIP", inner),))
    code = FieldRef(FieldRef(ColumnRef("A", outer), "ZIP", inner), "CODE", INTEGER)
    value = function_of(code, {"A": 0})
    rows = ({"ZIP": {"CODE": 7}}, {"ZIP": {"CODE": None}}, {"ZIP": None}, {}, None)
    assert is_plain(code) and [value([row], ()) for row in rows] == [7, None, None, None, None]
    wider = function_of(Cast(ColumnRef("N", INTEGER), Decimal(12, 2)), {"N": 0})
    assert str(wider([5], ())) == "5.00" and wider([None], ()) is None
