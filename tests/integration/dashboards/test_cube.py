"""Cube, installed in build/cube: a model from the catalog, measures, filters, times, a pre-aggregation."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx
import jwt
import pytest

from ksql_spark.services.ports import free_port
from tests.integration.dashboards.sales import ROOT, Sales, program, sales
from tests.waiting import TIMEOUT_S

PACKAGES = Path(os.environ.get("CUBE", ROOT / "build" / "cube" / "node_modules"))

pytestmark = [
    pytest.mark.long,
    pytest.mark.kafka,
    pytest.mark.skipif(not PACKAGES.is_dir(), reason="Cube is not installed: make test-tools"),
]

#: what the model from the catalog does not have
MORE = """
cube(`More`, {
  extends: Sales,
  sql: `SELECT * FROM public.sales`,
  measures: {
    revenue: {sql: `amount * price`, type: `sum`},
    average: {sql: `price`, type: `avg`},
    zones: {sql: `zone`, type: `countDistinct`},
    threeDays: {sql: `amount`, type: `sum`, rollingWindow: {trailing: `3 day`}},
  },
  segments: {large: {sql: `${CUBE}.amount > 5`}},
});
"""
STORED = """
cube(`Stored`, {
  extends: Sales,
  sql: `SELECT * FROM public.sales`,
  preAggregations: {
    daily: {measures: [amount], timeDimension: soldAt, granularity: `day`, external: false},
  },
});
"""
FORTNIGHT = ["2026-03-02", "2026-03-15"]
IN_RANGE = "sold_at >= '2026-03-02' AND sold_at < '2026-03-16'"
DAYS = "SELECT date_trunc('day', sold_at)::TIMESTAMP, {} FROM sales WHERE {} GROUP BY 1 ORDER BY 1"


class Cube:
    """A client of a Cube that runs."""

    def __init__(self, url: str) -> None:
        token = jwt.encode({}, "secret of a test, long enough for it")
        self._client = httpx.Client(base_url=url, timeout=TIMEOUT_S, headers={"Authorization": token})

    def rows(self, **query: Any) -> list[tuple[Any, ...]]:
        """The rows of a query; a time once, by its granularity. Raises AssertionError for an error."""
        while True:
            answer = self._client.post("/cubejs-api/v1/load", json={"query": query}).json()
            if answer.get("error") != "Continue wait":
                break
        assert "error" not in answer, answer["error"]
        times = [one["dimension"] for one in query.get("timeDimensions", []) if "granularity" in one]
        return [tuple(read(v) for k, v in row.items() if k not in times) for row in answer["data"]]


def read(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    for type_ in (int, float, datetime.fromisoformat):
        with contextlib.suppress(ValueError):
            return type_(value)
    return value


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Sales, Cube]]:
    with sales(tmp_path_factory.mktemp("server")) as server:
        folder = tmp_path_factory.mktemp("cube")
        (folder / "schema").mkdir()
        tables = ["public.sales", "public.per_day", "public.sold"]
        scaffold = Path(__file__).with_name("scaffold.cjs")
        done = subprocess.run(
            ["node", str(scaffold), str(PACKAGES), str(server.port), *tables],
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
        )
        assert done.returncode == 0, done.stderr
        made = json.loads(done.stdout)
        assert sorted(made) == ["PerDay.js", "Sales.js", "Sold.js"]
        for name, text in {**made, "More.js": MORE, "Stored.js": STORED}.items():
            (folder / "schema" / name).write_text(text)
        (folder / "package.json").write_text("{}")
        (folder / "node_modules").symlink_to(PACKAGES)
        port = free_port()
        environment = {
            "PORT": str(port), "NODE_ENV": "production", "CUBEJS_DEV_MODE": "false",
            "CUBEJS_API_SECRET": "secret of a test, long enough for it", "CUBEJS_SCHEMA_PATH": "schema",
            "CUBEJS_CACHE_AND_QUEUE_DRIVER": "memory", "CUBEJS_TELEMETRY": "false",
            "CUBEJS_SCHEDULED_REFRESH_TIMER": "false", "CUBEJS_PRE_AGGREGATIONS_BUILDER": "true",
            "CUBEJS_DB_TYPE": "postgres", "CUBEJS_DB_HOST": "127.0.0.1", "CUBEJS_DB_PORT": str(server.port),
            "CUBEJS_DB_NAME": "ksql", "CUBEJS_DB_USER": "me",
        }  # fmt: skip
        url = f"http://127.0.0.1:{port}"
        command = ["node", str(PACKAGES / ".bin" / "cubejs-server"), "server"]
        with program(command, f"{url}/readyz", folder, environment):
            yield server, Cube(url)


def test_measures_and_dimensions(world: tuple[Sales, Cube]) -> None:
    server, cube = world
    rows = cube.rows(
        measures=["More.amount", "More.revenue", "More.average", "More.count"],
        dimensions=["More.zone"],
        order={"More.zone": "asc"},
    )
    expected = server.expected(
        "SELECT zone, SUM(amount), SUM(amount * price)::DOUBLE, AVG(price), COUNT(*) FROM sales"
        " GROUP BY zone ORDER BY zone"
    )
    assert rows == [same(one) for one in expected]
    (windows,) = cube.rows(measures=["PerDay.count"])
    assert windows == (server.number("SELECT COUNT(DISTINCT (zone, sold_at::DATE)) FROM sales"),)
    (streamed,) = cube.rows(measures=["Sold.count", "Sold.amount"])
    assert streamed == server.expected("SELECT COUNT(*), SUM(amount) FROM sales")[0]


def same(row: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(pytest.approx(value) if isinstance(value, float) else value for value in row)


@pytest.mark.parametrize(
    "granularity", ["second", "minute", "hour", "day", "week", "month", "quarter", "year"]
)
def test_a_granularity(world: tuple[Sales, Cube], granularity: str) -> None:
    server, cube = world
    time = {"dimension": "Sales.soldAt", "dateRange": FORTNIGHT, "granularity": granularity}
    rows = cube.rows(measures=["Sales.amount"], timeDimensions=[time], limit=50_000)
    days = DAYS.format("SUM(amount)", IN_RANGE).replace("'day'", f"'{granularity}'")
    assert rows == server.expected(days)


def test_times(world: tuple[Sales, Cube]) -> None:
    server, cube = world
    time = {"dimension": "More.soldAt", "dateRange": FORTNIGHT, "granularity": "day"}
    rows = cube.rows(measures=["More.threeDays"], timeDimensions=[time])
    days = DAYS.format("SUM(amount)", "sold_at < '2026-03-16'")
    rolling = f"SELECT d, SUM(n) OVER (ORDER BY d ROWS 2 PRECEDING) FROM ({days}) AS t(d, n) ORDER BY d"
    assert rows == [one for one in server.expected(rolling) if one[0] >= datetime(2026, 3, 2)]
    there = {"dimension": "More.soldAt", "dateRange": FORTNIGHT}
    (one,) = cube.rows(measures=["More.amount"], timeDimensions=[there], timezone="America/Los_Angeles")
    # summer time begins on March 8
    assert one == (
        server.number(
            "SELECT SUM(amount) FROM sales"
            " WHERE sold_at >= '2026-03-02 08:00' AND sold_at < '2026-03-16 07:00'"
        ),
    )


@pytest.mark.parametrize(
    ("member", "operator", "values", "condition"),
    [
        ("zone", "equals", ["Queens"], "zone = 'Queens'"),
        ("zone", "notEquals", ["Queens", "Bronx"], "zone NOT IN ('Queens', 'Bronx')"),
        ("zone", "contains", ["RO"], "zone ILIKE '%ro%'"),
        ("zone", "notContains", ["ro"], "zone NOT ILIKE '%ro%'"),
        ("zone", "startsWith", ["b"], "zone ILIKE 'b%'"),
        ("zone", "endsWith", ["x"], "zone LIKE '%x'"),
        ("zone", "set", None, "zone IS NOT NULL"),
        ("zone", "notSet", None, "zone IS NULL"),
        ("paid", "equals", ["true"], "paid"),
        ("id", "gte", ["7"], "id >= 7"),
        ("soldAt", "inDateRange", FORTNIGHT, IN_RANGE),
        ("soldAt", "notInDateRange", FORTNIGHT, f"NOT ({IN_RANGE})"),
        ("soldAt", "beforeDate", ["2026-03-02"], "sold_at < '2026-03-02'"),
        ("soldAt", "afterDate", ["2026-03-02"], "sold_at > '2026-03-02'"),
    ],
)
def test_a_filter(
    world: tuple[Sales, Cube], member: str, operator: str, values: list[str] | None, condition: str
) -> None:
    server, cube = world
    found = {"member": f"More.{member}", "operator": operator, **({"values": values} if values else {})}
    (one,) = cube.rows(measures=["More.zones", "More.count"], filters=[found], segments=["More.large"])
    assert (
        one
        == server.expected(
            f"SELECT COUNT(DISTINCT zone), COUNT(*) FROM sales WHERE {condition} AND amount > 5"
        )[0]
    )


def test_a_pre_aggregation_is_refused_with_a_reason(world: tuple[Sales, Cube]) -> None:
    _, cube = world
    time = {"dimension": "Stored.soldAt", "dateRange": FORTNIGHT, "granularity": "day"}
    with pytest.raises(AssertionError, match="There are no databases, schemas or catalogs"):
        cube.rows(measures=["Stored.amount"], timeDimensions=[time])
