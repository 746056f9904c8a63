"""With ``ksql.sql.nulls = 'ansi'`` generated conditions are those of DuckDB, over all sorts of NULLs."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace
from typing import Any

import duckdb
import pytest

from ksql_spark import analyzer, grammar
from ksql_spark.analyzer import Scope
from ksql_spark.expressions import Expression
from ksql_spark.functions.lowering import lower, lower_condition, lower_reporting
from ksql_spark.schema import Column, Schema
from ksql_spark.types import BOOLEAN, DOUBLE, INTEGER, STRING

pytestmark = pytest.mark.spark

#: how many are tried, and how many by make test-long
CONDITIONS, MORE = 100, 400
COLUMNS = {"A": INTEGER, "B": INTEGER, "X": DOUBLE, "S": STRING, "T": STRING, "P": BOOLEAN, "Q": BOOLEAN}
VALUES: dict[str, tuple[Any, ...]] = {
    "A": (None, 1, 2), "B": (None, 2), "X": (None, 1.0, 2.5), "S": (None, "a", "ab"), "T": (None, "a"),
    "P": (None, True, False), "Q": (None, True, False),
}  # fmt: skip
ROWS = list(itertools.product(*VALUES.values()))
COMPARISONS = ("=", "<>", "<", "<=", ">", ">=", "IS DISTINCT FROM", "IS NOT DISTINCT FROM")


class Generator:
    """Texts of expressions that KSQL and DuckDB both read."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def number(self, depth: int = 2) -> str:
        pick = self.random.randrange(8 if depth else 4)
        if pick < 4:
            return ("A", "B", "X", str(self.random.randrange(3)))[pick]
        if pick == 4:
            return f"({self.number(depth - 1)} {self.random.choice('+-*')} {self.number(depth - 1)})"
        if pick == 5:
            return f"-{self.random.choice('ABX')}"
        if pick == 6:
            return f"COALESCE(A, {self.random.randrange(3)})"
        return self.case(lambda: self.number(depth - 1), depth - 1)

    def text(self, depth: int = 1) -> str:
        if depth and self.random.random() < 0.2:
            return self.case(lambda: self.text(0), 0)
        return self.random.choice(("S", "T", "'a'", "'b'", "NULLIF(S, T)"))

    def case(self, result: Any, depth: int) -> str:
        if self.random.random() < 0.5:
            whens = [
                f"WHEN {self.condition(depth)} THEN {result()}" for _ in range(self.random.randrange(1, 3))
            ]
            operand = ""
        else:
            make = self.random.choice((self.number, self.text))
            whens = [f"WHEN {make(0)} THEN {result()}" for _ in range(self.random.randrange(1, 4))]
            operand = f" {make(0)}"
        default = f" ELSE {result()}" if self.random.random() < 0.6 else ""
        return f"(CASE{operand} {' '.join(whens)}{default} END)"

    def condition(self, depth: int = 3) -> str:
        pick = self.random.randrange(14 if depth > 0 else 9)
        make = self.random.choice((self.number, self.text))
        negated = self.random.choice(("", "NOT "))
        match pick:
            case 0:
                return self.random.choice("PQ")
            case 1 | 2:
                return f"({make()} {self.random.choice(COMPARISONS)} {make()})"
            case 3:
                null = f"({self.random.choice('ABXST')} {self.random.choice(COMPARISONS)} NULL)"
                return null if self.random.random() < 0.4 else f"({make()} IS {negated}NULL)"
            case 4:
                return f"({make()} {negated}BETWEEN {make()} AND {make()})"
            case 5:
                return (
                    f"({self.random.choice('AB')} {negated}IN (1, {self.random.choice(('NULL', '2', 'B'))}))"
                )
            case 6:
                member = self.random.choice(("NULL", "S", "T"))
                return f"({self.random.choice('ST')} {negated}IN ('a', {member}))"
            case 7:
                pattern = self.random.choice(("'a%'", "'_'", "T", "'%b'"))
                return f"({self.text()} {negated}LIKE {pattern})"
            case 8:
                left, symbol, right = (self.random.choice(c) for c in ("PQ", COMPARISONS[:2], "PQ"))
                return f"({left} {symbol} {right})"
            case 9:
                return f"(NOT {self.condition(depth - 1)})"
            case 10:
                return f"(({self.condition(depth - 1)}) IS {negated}NULL)"
        return (
            f"({self.condition(depth - 1)} {self.random.choice(('AND', 'OR'))} {self.condition(depth - 1)})"
        )


def bound(text: str, *, is_predicate: bool = False) -> Expression:
    schema = Schema(tuple(Column(name, type_) for name, type_ in COLUMNS.items()))
    scope = replace(Scope.of(schema, "R"), ansi=True)
    bind = analyzer.bind_predicate if is_predicate else analyzer.bind_expression
    return bind(grammar.parse_expression(text), scope)


@pytest.fixture(scope="module")
def frame(local_spark: Any) -> Any:
    types = "id INT, A INT, B INT, X DOUBLE, S STRING, T STRING, P BOOLEAN, Q BOOLEAN"
    return (
        local_spark.createDataFrame([(i, *row) for i, row in enumerate(ROWS)], types).repartition(1).cache()
    )


@pytest.fixture(scope="module")
def base() -> duckdb.DuckDBPyConnection:
    found = duckdb.connect()
    found.execute("CREATE TABLE r (id INT, A INT, B INT, X DOUBLE, S TEXT, T TEXT, P BOOLEAN, Q BOOLEAN)")
    found.executemany(
        "INSERT INTO r VALUES (?, ?, ?, ?, ?, ?, ?, ?)", [(i, *row) for i, row in enumerate(ROWS)]
    )
    return found


BATCH = 20


@pytest.mark.parametrize(
    "first",
    [
        *range(0, CONDITIONS, BATCH),
        *(pytest.param(first, marks=pytest.mark.long) for first in range(CONDITIONS, MORE, BATCH)),
    ],
)
def test_conditions_are_those_of_duckdb(frame: Any, base: duckdb.DuckDBPyConnection, first: int) -> None:
    texts = [Generator(seed).condition() for seed in range(first, first + BATCH)]
    columns = [lower(bound(text)) for text in texts]
    columns += [lower_reporting(bound(text), lambda part, why, _: "true") for text in texts]
    columns += [f"coalesce({lower_condition(bound(text, is_predicate=True))}, false)" for text in texts]
    got = sorted(frame.selectExpr("id", *(f"{c} AS c{i}" for i, c in enumerate(columns))).collect())
    wanted = base.execute(
        f"SELECT {', '.join(f'({t})::BOOLEAN' for t in texts)} FROM r ORDER BY id"
    ).fetchall()
    for i, text in enumerate(texts):
        right = [row[i] for row in wanted]
        assert [row[1 + i] for row in got] == right, f"{first + i}: {text}"
        assert [row[1 + BATCH + i] for row in got] == right, f"reporting, {first + i}: {text}"
        assert [row[1 + 2 * BATCH + i] for row in got] == [r is True for r in right], f"WHERE: {text}"


def test_a_text_that_is_no_number_is_null_beside_nan(local_spark: Any) -> None:
    condition = lower(bound("TRY_CAST('x' AS DOUBLE) = SQRT(-1E0)"))
    assert local_spark.sql(f"SELECT {condition}").first()[0] is None
