"""What PostgreSQL's users write without thinking: times, types and the names of columns and functions."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from postgres_port import Port

from ksql_spark.server.postgres.catalog import Answer, Catalog, Session
from ksql_spark.server.postgres.failures import CatalogError
from ksql_spark.server.postgres.statements import statement_of

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
