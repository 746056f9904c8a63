"""Arithmetic of times and INTERVALs is that of DuckDB, for generated expressions over dates of all sorts."""

from __future__ import annotations

import datetime
import random
from typing import Any

import duckdb
import pytest

from ksql_spark import analyzer, grammar
from ksql_spark.analyzer import Scope
from ksql_spark.functions.lowering import lower
from ksql_spark.schema import Column, Schema
from ksql_spark.types import BOOLEAN, DATE, INTERVAL, TIME, TIMESTAMP

pytestmark = pytest.mark.spark

EXPRESSIONS = 200
BATCH = 40
COLUMNS = {"T": TIMESTAMP, "U": TIMESTAMP, "D": DATE, "E": DATE, "C": TIME}
UNITS = ("MILLISECONDS", "SECONDS", "MINUTE", "HOURS", "DAY", "WEEKS", "MONTH", "YEARS")
MOMENTS = (
    None, "1969-12-31T23:59:59.999", "1970-01-01T00:00:00.000", "2024-02-29T12:30:15.250",
    "2026-01-31T00:00:00.000", "2026-03-29T02:30:00.001", "2026-12-31T23:59:59.999",
    "1582-10-04T10:00:00.000", "0900-02-28T00:00:00.000",
)  # fmt: skip
EPOCH = datetime.datetime(1970, 1, 1)


def rows() -> list[tuple[int, datetime.datetime | None, datetime.datetime | None]]:
    found = [None if m is None else datetime.datetime.fromisoformat(m) for m in MOMENTS]
    return [(i, *pair) for i, pair in enumerate((a, b) for a in found for b in found)]


class Generator:
    """Texts of expressions that KSQL and DuckDB both read."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def literal(self, units: tuple[str, ...] = UNITS) -> str:
        amount, unit = self.random.choice((0, 1, 2, 13, 90, 1000)), self.random.choice(units)
        sign = self.random.choice(("", "", "-"))
        if unit.startswith("YEAR"):
            amount = min(amount, 90)
        return f"INTERVAL '{sign}{amount} {unit}'" if sign else f"INTERVAL '{amount}' {unit}"

    def interval(self, depth: int = 1) -> str:
        pick = self.random.randrange(5 if depth else 2)
        if pick == 0:
            return self.literal(UNITS[:6])
        if pick < 3:
            return f"({self.random.choice('TU')} - {self.random.choice('TU')})"
        if pick == 3:
            return f"({self.interval(0)} {self.random.choice('+-')} {self.interval(0)})"
        return f"({self.interval(0)} * {self.random.randrange(4)})"

    def months(self) -> str:
        one, two = (self.literal(("MONTHS", "YEAR")) for _ in "ab")
        return self.random.choice(
            (one, f"({one} {self.random.choice('+-')} {two})", f"({one} * 3)", f"(2 * {one})")
        )

    def time(self) -> str:
        column = self.random.choice("TUTUDEC")
        if column in "DE":
            span = self.random.choice((self.literal(("DAYS", "WEEK")), self.months()))
            return f"({column} {self.random.choice('+-')} {span})"
        if column == "C":
            return f"(C {self.random.choice('+-')} {self.literal(UNITS[:4])})"
        if self.random.random() < 0.3:
            return f"({column} {self.random.choice('+-')} {self.interval()})"
        if self.random.random() < 0.3:
            return f"({column} {self.random.choice('+-')} {self.months()})"
        return f"({column} {self.random.choice('+-')} {self.literal()})"

    def expression(self) -> str:
        pick = self.random.randrange(4)
        if pick == 0:
            return f"({self.interval()} {self.random.choice(('=', '<', '>=', '<>'))} {self.interval()})"
        if pick == 1:
            return self.interval()
        return self.time()


#: what makes numbers of the values of both sides; a year before 1 has no datetime in Python
SPARK = {TIMESTAMP: "unix_millis({})", DATE: "unix_date({})", TIME: "{}", INTERVAL: "{}", BOOLEAN: "{}"}
DUCKDB = {
    TIMESTAMP: "epoch_ms({})", DATE: "datediff('day', DATE '1970-01-01', ({})::DATE)",
    TIME: "{}", INTERVAL: "{}", BOOLEAN: "{}",
}  # fmt: skip


def number(value: Any) -> Any:
    """A span or a time of the day in milliseconds; anything else as it is."""
    match value:
        case datetime.timedelta():
            return round(value / datetime.timedelta(milliseconds=1))
        case datetime.time():
            return ((value.hour * 60 + value.minute) * 60 + value.second) * 1000 + value.microsecond // 1000
    return value


@pytest.mark.parametrize("first", range(0, EXPRESSIONS, BATCH))
def test_intervals_are_those_of_duckdb(local_spark: Any, first: int) -> None:
    scope = Scope.of(Schema(tuple(Column(name, type_) for name, type_ in COLUMNS.items())), "R")
    base = duckdb.connect()
    base.execute("CREATE TABLE given (id INT, t TIMESTAMP, u TIMESTAMP)")
    base.executemany("INSERT INTO given VALUES (?, ?, ?)", rows())
    base.execute("CREATE VIEW r AS SELECT *, t::DATE AS d, u::DATE AS e, t::TIME AS c FROM given")
    given = [
        (i, *(None if m is None else (m - EPOCH) // datetime.timedelta(milliseconds=1) for m in pair))
        for i, *pair in rows()
    ]
    frame = local_spark.createDataFrame(given, "id INT, tm BIGINT, um BIGINT").repartition(1).selectExpr(
        "id", "timestamp_millis(tm) AS T", "timestamp_millis(um) AS U",
        "cast(timestamp_millis(tm) as date) AS D", "cast(timestamp_millis(um) as date) AS E",
        "cast(pmod(tm, 86400000L) as int) AS C",
    )  # fmt: skip
    texts = [Generator(seed).expression() for seed in range(first, first + BATCH)]
    bound = [analyzer.bind_expression(grammar.parse_expression(text), scope) for text in texts]
    columns = [SPARK[b.type].format(lower(b)) for b in bound]
    got = sorted(frame.selectExpr("id", *(f"{c} AS c{i}" for i, c in enumerate(columns))).collect())
    for i, (text, node) in enumerate(zip(texts, bound, strict=True)):
        wanted = base.execute(f"SELECT {DUCKDB[node.type].format(text)} FROM r ORDER BY id").fetchall()
        assert [row[1 + i] for row in got] == [number(row[0]) for row in wanted], f"{first + i}: {text}"


def test_what_is_too_long_is_null(local_spark: Any) -> None:
    scope = Scope.of(Schema(()), "R")
    texts = (
        "INTERVAL 500 DAYS * CAST(1000000000000 AS BIGINT) > INTERVAL 1 DAY",
        "INTERVAL 1000000000 DAYS * 100 + INTERVAL 1000000000 DAYS * 100",
        "CAST('2026-01-31' AS DATE) + INTERVAL 10000 YEARS * 2",
        "CAST('2026-01-31' AS DATE) + INTERVAL 1 MONTH * CAST(9223372036854775807 AS BIGINT)",
        "CAST('2026-01-31T00:00' AS TIMESTAMP) - (INTERVAL 10000 YEARS + INTERVAL 1 MONTH)",
    )
    bound = [analyzer.bind_expression(grammar.parse_expression(text), scope) for text in texts]
    (row,) = local_spark.range(1).selectExpr(*(f"{lower(b)} AS c{i}" for i, b in enumerate(bound))).collect()
    assert list(row) == [None] * len(texts)
