"""On PostgreSQL's port, statements that tools generate and people write give what PostgreSQL gives.

The statements of tools are those of ``ksql-spark doctor --tools``; those of the language are in
``postgres_language.sql``. Both are asked about the same rows. ``STATEMENT=superset`` tries those whose title
contains a text. It needs PostgreSQL 15 or newer.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import psycopg
import pytest

from ksql_spark.tools.charts import charts
from tests.spark.postgres_answers import Ours, asked, is_same

pytestmark = [pytest.mark.spark, pytest.mark.long]

ROWS = """SELECT * FROM (VALUES
  (1, 'ann', 12.50::numeric(9, 2), 3, 1.5::float8, '2026-01-05 10:07:31.25'::timestamp, '2026-01-05'::date,
    true, ARRAY['a', 'b']),
  (2, 'bob', 7.25::numeric(9, 2), 1, -2.0::float8, '2026-01-05 23:59:59'::timestamp, '2026-01-06'::date,
    false, ARRAY['c']),
  (3, 'ann', 100.00::numeric(9, 2), 7, 0.25::float8, '2026-01-17 00:00:00'::timestamp, NULL::date, true,
    ARRAY['z']),
  (4, NULL, 3.00::numeric(9, 2), NULL::int, NULL::float8, '2026-03-08 02:30:00'::timestamp,
    '2024-02-29'::date, NULL::boolean, NULL::text[]),
  (5, 'Nina', NULL::numeric(9, 2), 2, 8.0::float8, NULL::timestamp, '2026-01-31'::date, true,
    ARRAY['a', NULL])
) AS v (id, customer, amount, quantity, price, ordered, day, paid, tags)"""
NAMES = {
    "table": "orders", "key": "id", "text": "customer", "number": "amount", "time": "ordered", "date": "day",
}  # fmt: skip
LANGUAGE = Path(__file__).with_name("postgres_language.sql")


def statements() -> list[tuple[str, str]]:
    of_tools = [(f"{one.tool}: {one.name}", one.of(NAMES)) for one in charts()]
    lines = LANGUAGE.read_text(encoding="utf-8").splitlines()
    of_language = [(line, line) for line in lines if line and not line.startswith("--")]
    only = os.environ.get("STATEMENT", "")
    return [one for one in (*of_tools, *of_language) if only in one[0]]


def with_rows(statement: str) -> str:
    """A statement over the rows, which needs no table."""
    if re.match("with ", statement, re.IGNORECASE):
        return f"WITH orders AS ({ROWS}), {statement[5:]}"
    return f"WITH orders AS ({ROWS}) {statement}"


@pytest.fixture(scope="module")
def table(theirs: psycopg.Connection[Any]) -> psycopg.Connection[Any]:
    theirs.execute(f"CREATE TABLE orders AS {ROWS}".encode())
    return theirs


@pytest.mark.parametrize(("title", "statement"), statements(), ids=lambda text: text[:60])
def test_a_statement(title: str, statement: str, ours: Ours, table: psycopg.Connection[Any]) -> None:
    expected = asked(table, statement)
    job = ours.job(with_rows(statement))
    mine = job if isinstance(job, str) else ours.rows(job)
    if isinstance(mine, str) or isinstance(expected, str):
        assert mine == expected
        return
    is_ordered = title == statement and "order by" in statement.lower().rpartition(")")[2]
    if not is_ordered:  # the ORDER BY of tools leaves ties open
        mine, expected = sorted(mine, key=str), sorted(expected, key=str)
    same = [len(a) == len(b) and all(map(is_same, a, b)) for a, b in zip(mine, expected, strict=False)]
    assert len(mine) == len(expected), (mine, expected)
    assert all(same), "\n".join(["", *map(str, zip(mine, expected, strict=True))])
