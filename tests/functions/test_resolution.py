"""Overloads, coercion and result types (reference §3.3-3.5, §4), without Spark."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ksql_spark.errors import KsqlError
from ksql_spark.functions import registry
from ksql_spark.functions.casts import can_cast
from ksql_spark.functions.scalars.constructors import list_type
from ksql_spark.functions.signatures import common_type, implicit_cost, signature
from ksql_spark.functions.spark_text import spark_type
from ksql_spark.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INTEGER,
    NULL,
    STRING,
    TIME,
    TIMESTAMP,
    Array,
    Decimal,
    Field,
    Function,
    Map,
    SqlType,
    Struct,
)

TYPES = st.sampled_from(
    [
        BOOLEAN, INTEGER, BIGINT, DOUBLE, STRING, BYTES, DATE, TIME, TIMESTAMP, Decimal(4, 2), Decimal(20, 5),
        Array(INTEGER), Array(DOUBLE), Map(STRING, BIGINT), Struct((Field("A", INTEGER),)), NULL,
    ]
)  # fmt: skip


@pytest.mark.parametrize(
    ("symbol", "left", "right", "result"),
    [
        ("+", INTEGER, INTEGER, INTEGER),
        ("+", INTEGER, BIGINT, BIGINT),
        ("*", BIGINT, DOUBLE, DOUBLE),
        ("+", Decimal(4, 2), DOUBLE, DOUBLE),
        ("+", Decimal(4, 2), Decimal(5, 3), Decimal(6, 3)),
        ("+", Decimal(4, 2), INTEGER, Decimal(13, 2)),
        ("-", BIGINT, Decimal(4, 2), Decimal(22, 2)),
        ("*", Decimal(4, 2), Decimal(5, 3), Decimal(10, 5)),
        ("/", Decimal(4, 2), Decimal(5, 3), Decimal(13, 8)),
        ("%", Decimal(4, 2), Decimal(5, 3), Decimal(5, 3)),
        ("+", STRING, STRING, STRING),
        ("||", STRING, STRING, STRING),
        ("=", INTEGER, Decimal(4, 2), BOOLEAN),
        ("<", DATE, TIMESTAMP, BOOLEAN),
        ("=", Array(INTEGER), Array(INTEGER), BOOLEAN),
        ("IS DISTINCT FROM", INTEGER, NULL, BOOLEAN),
        ("[]", Array(STRING), INTEGER, STRING),
        ("[]", Map(STRING, DOUBLE), STRING, DOUBLE),
    ],
)
def test_operator_types(symbol: str, left: SqlType, right: SqlType, result: SqlType) -> None:
    assert registry.resolve(symbol, [left, right]).result_type == result


@pytest.mark.parametrize(
    ("symbol", "left", "right"),
    [
        ("+", STRING, INTEGER),
        ("+", INTEGER, NULL),
        ("-", STRING, STRING),
        ("=", INTEGER, STRING),
        ("=", BOOLEAN, INTEGER),
        ("<", Array(INTEGER), Array(INTEGER)),
        ("<", BOOLEAN, BOOLEAN),
        ("=", INTEGER, NULL),
        ("AND", BOOLEAN, INTEGER),
        ("LIKE", STRING, INTEGER),
        ("[]", Array(INTEGER), STRING),
        ("[]", Struct((Field("A", INTEGER),)), STRING),
    ],
)
def test_operators_refuse(symbol: str, left: SqlType, right: SqlType) -> None:
    with pytest.raises(KsqlError) as caught:
        registry.resolve(symbol, [left, right])
    assert caught.value.condition == "FUNCTION_ARGUMENTS"


@pytest.mark.parametrize(
    ("name", "given_types", "coerced", "result"),
    [
        ("ABS", [BIGINT], (BIGINT,), BIGINT),
        ("ABS", [Decimal(5, 2)], (Decimal(5, 2),), Decimal(5, 2)),
        ("ROUND", [Decimal(5, 2)], (Decimal(5, 2),), Decimal(3, 0)),
        ("ROUND", [INTEGER], (INTEGER,), BIGINT),
        ("SQRT", [INTEGER], (DOUBLE,), DOUBLE),
        ("COALESCE", [NULL, INTEGER, BIGINT], (BIGINT, BIGINT, BIGINT), BIGINT),
        ("CONCAT", [STRING, NULL, STRING], (STRING, STRING, STRING), STRING),
        ("GREATEST", [INTEGER, NULL], (INTEGER, INTEGER), INTEGER),
        ("GREATEST", [INTEGER, DOUBLE], (DOUBLE, DOUBLE), DOUBLE),
        ("GREATEST", [DATE, STRING], (DATE, DATE), DATE),
        ("FORMAT_DATE", [STRING, STRING], (DATE, STRING), STRING),
        ("ARRAY_CONTAINS", [Array(BIGINT), INTEGER], (Array(BIGINT), BIGINT), BOOLEAN),
        ("AS_MAP", [Array(STRING), Array(DATE)], (Array(STRING), Array(DATE)), Map(STRING, DATE)),
        ("COUNT", [], (), BIGINT),
        ("SUM", [Decimal(5, 2)], (Decimal(5, 2),), Decimal(5, 2)),
        ("AVG", [INTEGER], (INTEGER,), DOUBLE),
        ("EXPLODE", [Array(DATE)], (Array(DATE),), DATE),
    ],
)
def test_function_types(name: str, given_types: list[SqlType], coerced: Any, result: SqlType) -> None:
    found = registry.resolve(name, given_types)
    assert found.parameter_types == coerced
    assert found.result_type == result


def test_unknown_function_names_the_nearest() -> None:
    with pytest.raises(KsqlError) as caught:
        registry.resolve("substrin", [STRING])
    assert caught.value.condition == "FUNCTION_UNKNOWN"
    assert "'substrin'" in caught.value.message
    assert "SUBSTRING" in caught.value.message and "SHOW FUNCTIONS" in caught.value.message


def test_wrong_arguments_list_the_signatures() -> None:
    with pytest.raises(KsqlError) as caught:
        registry.resolve("explode", [Map(STRING, INTEGER)])
    assert caught.value.message == (
        "Function 'explode' does not accept parameters (MAP<STRING, INTEGER>).\n"
        "Valid alternatives are:\nexplode(ARRAY<T> array)"
    )


@pytest.mark.parametrize(
    ("name", "given_types"),
    [("ABS", [NULL]), ("greatest", [INTEGER, BIGINT]), ("least", [NULL, NULL])],
)
def test_ambiguous(name: str, given_types: list[SqlType]) -> None:
    with pytest.raises(KsqlError, match="ambiguous") as caught:
        registry.resolve(name, given_types)
    assert caught.value.condition == "FUNCTION_AMBIGUOUS"


def test_constants_must_be_literals() -> None:
    assert registry.resolve("LATEST_BY_OFFSET", [STRING, INTEGER], [None, 2]).result_type == Array(STRING)
    with pytest.raises(KsqlError, match="literal"):
        registry.resolve("LATEST_BY_OFFSET", [STRING, INTEGER])


def test_lambdas_in_two_phases() -> None:
    types = [Map(STRING, INTEGER), registry.unbound_lambda(2), registry.unbound_lambda(2)]
    assert registry.lambda_parameters("TRANSFORM", types) == (None, (STRING, INTEGER), (STRING, INTEGER))
    bound = [Function((STRING, INTEGER), DATE), Function((STRING, INTEGER), STRING)]
    assert registry.resolve("TRANSFORM", [types[0], *bound]).result_type == Map(DATE, STRING)
    assert registry.lambda_parameters("REDUCE", [Array(DATE), BIGINT, registry.unbound_lambda(2)]) == (
        None,
        None,
        (BIGINT, DATE),
    )
    with pytest.raises(KsqlError):
        registry.lambda_parameters("FILTER", [Array(DATE), registry.unbound_lambda(3)])
    with pytest.raises(KsqlError):
        registry.resolve("FILTER", [Array(DATE), Function((DATE,), INTEGER)])


@pytest.mark.parametrize(
    ("types", "literals", "result"),
    [
        ([INTEGER, BIGINT], [1, 2], BIGINT),
        ([NULL, STRING], [None, "a"], STRING),
        ([STRING, INTEGER], ["a", 1], STRING),
        ([INTEGER, STRING], [1, "10"], INTEGER),
        ([INTEGER, STRING], [1, "ten"], None),
        ([INTEGER, STRING], [1, "1.5"], None),
        ([INTEGER, INTEGER, STRING], [None, 1, "2147483648"], BIGINT),
        ([NULL, INTEGER, STRING, INTEGER, BIGINT], [None, 10, "2e1", None, None], Decimal(19, 0)),
        ([Decimal(3, 1), STRING], [None, "1.255"], Decimal(5, 3)),
        ([BOOLEAN, STRING], [True, "ye"], BOOLEAN),
        ([INTEGER, STRING], [1, None], None),
        ([INTEGER, Decimal(3, 2)], [1, 1.5], Decimal(12, 2)),
    ],
)
def test_lists_of_literals_are_lax(types: list[SqlType], literals: list[Any], result: Any) -> None:
    assert list_type(types, literals) == result


@pytest.mark.parametrize(
    ("source", "target", "is_allowed"),
    [
        (DOUBLE, INTEGER, True),
        (BYTES, STRING, False),
        (STRING, BYTES, True),
        (BOOLEAN, INTEGER, False),
        (INTEGER, BOOLEAN, False),
        (TIMESTAMP, DATE, True),
        (TIMESTAMP, TIME, True),
        (DATE, TIMESTAMP, True),
        (TIME, TIMESTAMP, False),
        (STRING, Array(INTEGER), False),
        (Array(INTEGER), Array(STRING), True),
        (Array(BYTES), Array(STRING), False),
        (Array(INTEGER), STRING, True),
        (Struct((Field("A", INTEGER),)), Struct((Field("B", INTEGER),)), True),
        (Struct((Field("A", BYTES),)), Struct((Field("A", INTEGER),)), False),
        (NULL, Map(STRING, STRING), True),
    ],
)
def test_casts(source: SqlType, target: SqlType, is_allowed: bool) -> None:
    assert can_cast(source, target) is is_allowed


@given(TYPES, TYPES)
def test_common_type_takes_both(left: SqlType, right: SqlType) -> None:
    merged = common_type(left, right)
    assert merged == common_type(right, left)
    if merged is not None:
        assert implicit_cost(left, merged) is not None and implicit_cost(right, merged) is not None


@given(TYPES, TYPES)
def test_implicit_coercion_is_a_cast(source: SqlType, target: SqlType) -> None:
    if implicit_cost(source, target) is not None:
        assert can_cast(source, target)


def test_precision_is_cut_at_spark_s_limit() -> None:
    assert spark_type(Decimal(38, 10)) == "decimal(38,10)"
    assert spark_type(Decimal(50, 30)) == "decimal(38,18)"
    assert spark_type(Decimal(60, 10)) == "decimal(38,6)"


@pytest.mark.parametrize("text", ["a FOO -> INTEGER", "a ARRAY<INTEGER -> INTEGER", "a INTEGER"])
def test_bad_notation(text: str) -> None:
    with pytest.raises(ValueError, match="bad signature"):
        signature(text)
