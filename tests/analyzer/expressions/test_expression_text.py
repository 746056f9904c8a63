"""The text of a bound expression is KSQL that binds to the same expression again."""

from __future__ import annotations

import pytest

from ksql_spark import grammar
from ksql_spark.expressions import Call, walk
from ksql_spark.functions import registry
from ksql_spark.functions.spec import Kind
from ksql_spark.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INTEGER,
    STRING,
    TIMESTAMP,
    Array,
    Decimal,
    Field,
    Map,
    SqlType,
    Struct,
)
from tests.analyzer.binding import expression
from tests.functions.binding import call

POINT = Struct((Field("X", DOUBLE), Field("lower", INTEGER), Field("SELECT", STRING)))
COLUMNS: dict[str, SqlType] = {
    "A": INTEGER,
    "B": BIGINT,
    "D": DOUBLE,
    "M": Decimal(5, 2),
    "S": STRING,
    "OK": BOOLEAN,
    "AT_": TIMESTAMP,
    "DAY_": DATE,
    "RAW": BYTES,
    "L": Array(INTEGER),
    "P": POINT,
    "KV": Map(STRING, Array(POINT)),
    "lower": INTEGER,
    "SELECT": INTEGER,
    "ARRAY": Array(INTEGER),
    "ROW": INTEGER,
    "a`b": STRING,
}

TEXTS = [
    "a + b * 2 - -1 % 3",
    "s:user.Name || s:items[0]['it''s']['']",
    "-(-a)",
    "- - a",
    "-d / 1.5E300",
    "m * .5 + DECIMAL '7' - 3.",
    "1.0E0 + 1E-7 + 123456789012E4",
    "99999999999 + a",
    "a BETWEEN 1 AND b OR NOT ok AND s LIKE '%it''s!_' ESCAPE '!'",
    "a NOT BETWEEN 1 AND 2",
    "s NOT IN ('x', 'y') AND s NOT LIKE 'a%'",
    "a IN (1, 2, NULL)",
    "s IS NULL OR s IS NOT NULL",
    "a IS DISTINCT FROM b AND s IS NOT DISTINCT FROM NULL",
    "a <> 1 AND a != 2 AND a >= 3 AND a < 5 AND a <= 6 AND a > 0",
    "s || 'x' + s",
    "l[1] + l[-1] + `ARRAY`[a + 1]",
    "kv['k'][1]->x",
    "p->`lower` + `lower` + `SELECT`",
    "p->`SELECT`",
    "ARRAY[a, NULL, 3]",
    "MAP('x' := ARRAY[a], 'y' := NULL)",
    "STRUCT(f := a, `lower` := s, `SELECT` := CAST(NULL AS STRUCT<z ARRAY<INT>>))->`lower`",
    "CASE WHEN ok THEN a WHEN a > 1 THEN b ELSE NULL END",
    "CASE WHEN ok THEN 'x' END",
    "CAST(m AS DECIMAL(10, 4))",
    "CAST(a AS STRING)",
    "TRANSFORM(l, x => x + a)",
    "REDUCE(l, 0, (`acc`, x) => `acc` + x)",
    "TRANSFORM(kv, (k, v) => UCASE(k), (k, v) => v[1]->x)",
    "TIMESTAMPADD(DAYS, 5, at_) > '2024-02-29T12:00:00'",
    "COALESCE(s, `a``b`, 'none')",
    "day_ = '2024-01-01' AND rowtime > 5000000000",
    "TRUE AND ok",
    "LEN(s) > 3",
]


@pytest.mark.parametrize("text", TEXTS)
def test_round_trip(text: str) -> None:
    bound = expression(text, **COLUMNS)
    assert expression(str(bound), **COLUMNS) == bound


def test_operators_are_all_covered() -> None:
    operators = {s.name for s in registry.all_specs() if s.kind is Kind.OPERATOR}
    used = {
        part.function
        for text in TEXTS
        for part in walk(expression(text, **COLUMNS))
        if isinstance(part, Call)
    }
    assert operators <= used


def test_examples_of_functions() -> None:
    lost = []
    for spec in registry.all_specs():
        # -(1) binds to the literal -1, ARRAY_CONTAINS to IN
        is_other = spec.name in ("NEG", "ARRAY_CONTAINS")
        if spec.kind not in (Kind.SCALAR, Kind.OPERATOR) or is_other:
            continue
        for example in spec.examples:
            text = str(call(spec.name, *example.args))
            if "ARRAY[NULL]" not in text and str(expression(text)) != text:
                lost.append(text)
    assert lost == []


def test_numbers_that_are_no_literals() -> None:
    for text in ("CAST('NaN' AS DOUBLE)", "CAST('-Infinity' AS DOUBLE)"):
        assert grammar.render(grammar.parse_expression(text)) == text
