"""What PostgreSQL's users write without thinking: times, types and the names of columns and functions."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from fake_engine import FakeStream
from postgres_port import Port

from ksql_spark.engine import ResultColumn, Row
from ksql_spark.server.postgres import labels, statements
from ksql_spark.server.postgres.catalog import Answer, Catalog, Session
from ksql_spark.server.postgres.failures import CatalogError
from ksql_spark.server.postgres.statements import statement_of
from ksql_spark.types import STRING

SESSION = Session("ada", {}, 1)


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return Catalog([])


def ask(catalog: Catalog, text: str) -> Answer:
    tree = statement_of(text).tree
    assert tree is not None
    return catalog.ask(tree, SESSION)


def test_times_without_a_table(port: Port) -> None:
    before = datetime.datetime.now(datetime.UTC).replace(tzinfo=None) - datetime.timedelta(seconds=1)
    with port.connect() as connection:
        (now, hour, ago) = (
            connection.execute(
                "SELECT now(), date_trunc('hour', now()), now() - interval '1 hour'"
            ).fetchone()
            or (None,) * 3
        )
    assert before <= now <= before + datetime.timedelta(minutes=1)
    assert hour == now.replace(minute=0, second=0, microsecond=0)
    assert ago == now - datetime.timedelta(hours=1)


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("date_trunc('week', timestamp '2026-03-05 10:20:30')", "2026-03-02T00:00:00.000"),
        ("date_trunc('quarter', '2026-06-05'::timestamp)", "2026-04-01T00:00:00.000"),
        ("date_trunc('month', date '2026-03-05')", "2026-03-01T00:00:00.000"),
        ("timestamp '2026-03-31' - interval '1 month'", "2026-02-28T00:00:00.000"),
        ("timestamp '2026-03-31' + interval '1 day 02:30:00'", "2026-04-01T02:30:00.000"),
        ("interval '90 min' + timestamp '2026-03-31'", "2026-03-31T01:30:00.000"),
        ("'2026-03-31 12:00+02'::timestamptz - '-1 hour'::interval", "2026-03-31T11:00:00.000"),
        ("date '2026-03-31' + 1", "2026-04-01"),
        ("timestamp '2026-03-31 12:00'::date", "2026-03-31"),
        ("extract(hour from timestamp '2026-03-31 12:00')", 12),
        ("date_part('dow', timestamp '2026-03-29')", 0),
        ("extract(epoch from timestamp '1970-01-01 00:01')", 60.0),
        ("NULL::timestamp + interval '1 hour'", None),
    ],
)
def test_arithmetic_of_times(catalog: Catalog, expression: str, value: Any) -> None:
    assert ask(catalog, f"SELECT {expression}").rows == ((value,),)


@pytest.mark.parametrize(
    ("query", "state", "message"),
    [
        ("SELECT x", "42703", 'column "x" does not exist'),
        ("SELECT no_such(1)", "42883", "no function no_such here"),
        ("SELECT interval '1 hour' * 3", "0A000", "An INTERVAL can only be added to a time"),
        ("SELECT now() - now()", "22007", "is no interval such as '1 hour'"),
        ("SELECT date_trunc('eon', now())", "22023", "no unit of time"),
        (f"SELECT now() + interval '{'9' * 400} months'", "22008", "outside the years 1 to 9999"),
        ("SELECT 'soon'::timestamp", "22007", "'soon' is no timestamp"),
        ("SELECT now() AT TIME ZONE 'UTC'", "0A000", "cannot compute"),
    ],
)
def test_a_select_without_a_table_fails_aloud(catalog: Catalog, query: str, state: str, message: str) -> None:
    with pytest.raises(CatalogError, match=message) as caught:
        ask(catalog, query)
    assert caught.value.state == state


def test_what_tools_ask_without_a_table_has_a_row(catalog: Catalog) -> None:
    query = "SELECT pg_no_such(1), has_no_such('x'), concat('a', NULL, 1), greatest(1, 2), left('abc', 2)"
    assert ask(catalog, query).rows == ((None, None, "a1", 2, "ab"),)


NAMES = {
    "COUNT(*)": "count",
    "sum(a) FILTER (WHERE b > 1)": "sum",
    "MAX(a)::int": "max",
    "date_trunc('hour', t)": "date_trunc",
    "a + 1": "?column?",
    "a + b::int": "?column?",
    "1": "?column?",
    "'x'::text": "text",
    "1::int": "int4",
    "CAST(a AS BIGINT)": "a",
    "CAST(1 AS DOUBLE PRECISION)": "double",
    "(a)": "a",
    "((count(*)))": "count",
    "CASE WHEN a THEN f(b, c) END": "case",
    "a[1]": "a",
    "f(a) + g(b)": "?column?",
    '"Odd"(1)': "Odd",
    "-1": "?column?",
    "COUNT(*) AS ksql_col_0": "",
}


def test_names_of_expressions() -> None:
    tokens = next(statements.split(f"SELECT {', '.join(NAMES)} FROM t")).tokens
    expected = ["float8" if name == "double" else name for name in NAMES.values()]
    assert labels.labels(tokens) == expected


@pytest.mark.parametrize(
    ("query", "columns", "names"),
    [
        ("SELECT zone, COUNT(*), SUM(n) + 1 FROM r", ["ZONE", "KSQL_COL_0", "KSQL_COL_1"],
         ["zone", "count", "?column?"]),
        ("WITH a AS (SELECT MAX(x) FROM r) SELECT *, COUNT(*) FROM a", ["X", "Y", "KSQL_COL_0"],
         ["x", "y", "count"]),
        ("SELECT KSQL_COL_0, MIN(x) AS m FROM r", ["KSQL_COL_0", "M"], ["ksql_col_0", "m"]),
        ("SELECT DISTINCT UCASE(zone) FROM r EMIT CHANGES", ["KSQL_COL_0"], ["ucase"]),
    ],
)  # fmt: skip
def test_columns_without_an_alias(port: Port, query: str, columns: list[str], names: list[str]) -> None:
    made = [ResultColumn.of(name, STRING) for name in columns]
    port.engine.stream = lambda: FakeStream("PULL", made, [Row(["x"] * len(made))])
    with port.connect() as connection:
        cursor = connection.execute(query)
        assert [column.name for column in cursor.description or ()] == names


def test_columns_of_a_select_without_a_table(catalog: Catalog) -> None:
    answer = ask(catalog, "SELECT now(), date_part('hour', now()), 1, 1::int, ucase('a'), now() AS n")
    assert answer.names == ("now", "date_part", "?column?", "int4", "ucase", "n")
