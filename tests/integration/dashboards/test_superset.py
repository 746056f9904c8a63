"""Apache Superset, installed in build/superset: SQL Lab, datasets, charts, and a dashboard in Chromium."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.integration.clients.browser import run
from tests.integration.dashboards.sales import Sales, sales
from tests.integration.dashboards.superset import BIN, DAYS, RANGE, Superset, superset

pytestmark = [
    pytest.mark.long,
    pytest.mark.kafka,
    pytest.mark.skipif(not (BIN / "superset").is_file(), reason="Superset is not installed: make test-tools"),
]

IN_RANGE = "sold_at >= '2026-03-02' AND sold_at < '2026-03-30'"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Sales, Superset, int]]:
    """The server, Superset, and the number of the database in it."""
    with (
        sales(tmp_path_factory.mktemp("server")) as server,
        superset(tmp_path_factory.mktemp("superset")) as tool,
    ):
        body = {"database_name": "ksql", "sqlalchemy_uri": server.uri("postgresql+psycopg2")}
        assert tool.send("POST", "/database/test_connection", body) == {"message": "OK"}
        made = tool.send("POST", "/database/", {**body, "expose_in_sqllab": True, "allow_dml": True})
        yield server, tool, made["id"]


def dataset(tool: Superset, database: int, table: str) -> int:
    body = {"database": database, "schema": "public", "table_name": table}
    return int(tool.send("POST", "/dataset/", body)["id"])


def metric(aggregate: str, column: str) -> dict[str, Any]:
    label = f"{aggregate}({column})"
    return {
        "expressionType": "SIMPLE", "aggregate": aggregate, "column": {"column_name": column}, "label": label,
    }  # fmt: skip


def test_schemas_tables_and_sql_lab(world: tuple[Sales, Superset, int]) -> None:
    server, tool, database = world
    assert "public" in tool.send("GET", f"/database/{database}/schemas/")["result"]
    listed = tool.send("GET", f"/database/{database}/tables/?q=(schema_name:public)")["result"]
    assert {(one["value"], one["type"]) for one in listed} == {
        ("entered", "table"), ("sales", "table"), ("per_day", "table"), ("sold", "view"),
    }  # fmt: skip
    found = tool.send("GET", f"/database/{database}/table_metadata/?name=sales&schema=public")["columns"]
    assert {one["name"]: one["longType"] for one in found} == {
        "id": "INTEGER", "zone": "TEXT", "item": "TEXT", "amount": "INTEGER", "price": "NUMERIC(9, 2)",
        "paid": "BOOLEAN", "sold_at": "TIMESTAMP",
    }  # fmt: skip
    asked = "SELECT zone, COUNT(*) AS n, SUM(amount) AS amount FROM sales GROUP BY zone ORDER BY zone"
    assert [tuple(one.values()) for one in tool.sql(database, asked)] == server.expected(asked)
    assert [
        tuple(one.values()) for one in tool.sql(database, asked.replace("sales", "sold"))
    ] == server.expected(asked)
    assert tool.sql(database, "SHOW TABLES")[0]["type"] == "TABLE"
    estimate = {"database_id": database, "sql": asked, "schema": "public"}
    assert tool.send("POST", "/sqllab/estimate/", estimate)["result"]


def test_every_grain_and_a_table_with_windows(world: tuple[Sales, Superset, int]) -> None:
    server, tool, database = world
    number = dataset(tool, database, "per_day")
    columns = tool.send("GET", f"/dataset/{number}")["result"]["columns"]
    body = [{"id": one["id"], "column_name": one["column_name"], "type": one["type"]} for one in columns]
    next(one for one in body if one["column_name"] == "windowstart").update(
        is_dttm=True, python_date_format="epoch_ms"
    )
    tool.send("PUT", f"/dataset/{number}", {"columns": body})
    axis = {**DAYS, "label": "windowstart", "sqlExpression": "windowstart", "timeGrain": "P1W"}
    in_range = {**RANGE, "col": "windowstart"}
    rows = tool.rows(number, columns=[axis], metrics=[metric("SUM", "n")], filters=[in_range])
    weeks = f"SELECT date_trunc('week', sold_at), COUNT(*) FROM sales WHERE {IN_RANGE} GROUP BY 1 ORDER BY 1"
    assert sorted((at(one["windowstart"]), one["SUM(n)"]) for one in rows) == server.expected(weeks)

    virtual = {
        "database": database,
        "schema": "public",
        "table_name": "paid sales",
        "sql": "SELECT * FROM sales WHERE paid",
    }
    number = tool.send("POST", "/dataset/", virtual)["id"]
    grains = {"PT1H": "hour", "P1D": "day", "P1W": "week", "P1M": "month", "P3M": "quarter", "P1Y": "year"}
    buckets = {"PT1S": 1, "PT5S": 5, "PT30S": 30, "PT1M": 60, "PT5M": 300, "PT10M": 600, "PT15M": 900}
    for grain in (*grains, *buckets, "PT30M"):
        rows = tool.rows(
            number,
            columns=[{**DAYS, "timeGrain": grain}],
            metrics=[metric("SUM", "amount")],
            filters=[RANGE],
        )
        bucket = (
            f"date_trunc('{grains[grain]}', sold_at)"
            if grain in grains
            else f"time_bucket(INTERVAL {buckets.get(grain, 1800)} SECONDS, sold_at)"
        )
        expected = f"SELECT {bucket}, SUM(amount) FROM sales WHERE {IN_RANGE} AND paid GROUP BY 1 ORDER BY 1"
        assert sorted((at(one["sold_at"]), one["SUM(amount)"]) for one in rows) == server.expected(expected)


def at(milliseconds: float) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, UTC).replace(tzinfo=None)


def test_a_dashboard_in_a_browser(world: tuple[Sales, Superset, int]) -> None:
    server, tool, database = world
    number = dataset(tool, database, "sales")
    time = {"clause": "WHERE", "expressionType": "SIMPLE", "subject": "sold_at"}
    common = {
        "adhoc_filters": [{**time, "operator": "TEMPORAL_RANGE", "comparator": RANGE["val"]}],
        "row_limit": 1000,
    }
    amount = metric("SUM", "amount")
    charts = {
        "Items sold each day": {
            **common, "viz_type": "echarts_timeseries_line", "x_axis": "sold_at", "time_grain_sqla": "P1D",
            "metrics": [amount], "groupby": ["zone"], "place": (8, 40), "show_legend": True,
            "limit": 3, "timeseries_limit_metric": amount, "order_desc": True,
        },
        "Items sold": {**common, "viz_type": "big_number_total", "metric": amount,
            "y_axis_format": ",d", "place": (4, 40)},
        "Revenue": {
            **common, "viz_type": "echarts_timeseries_bar", "x_axis": "item", "xAxisForceCategorical": True,
            "metrics": [
                {"expressionType": "SQL", "sqlExpression": "SUM(amount * price)", "label": "revenue"}
            ],
            "groupby": [], "place": (4, 50), "x_axis_sort": "revenue",
        },
        "Sales": {
            **common, "viz_type": "table", "row_limit": 10_000, "query_mode": "raw",
            "server_pagination": True,
            "server_page_length": 10, "all_columns": ["id", "zone", "item", "price"],
            "order_by_cols": ['["id", true]'], "place": (4, 50),
        },
        "Means": {
            **common, "viz_type": "pivot_table_v2", "groupbyRows": ["zone"], "groupbyColumns": ["paid"],
            "metrics": [metric("AVG", "price")], "aggregateFunction": "Average", "valueFormat": ".3f",
            "place": (4, 50),
        },
    }  # fmt: skip
    board = tool.dashboard("Sales of a month", number, charts)
    total = f"SELECT SUM(amount) FROM sales WHERE {IN_RANGE}"
    expected = {
        "total": server.number(total),
        "queens": server.number(f"{total} AND zone = 'Queens'"),
        "count": server.number(f"SELECT COUNT(*) FROM sales WHERE {IN_RANGE}"),
        "days": [
            [zone, int(day.replace(tzinfo=UTC).timestamp() * 1000), much]
            for zone, day, much in server.expected(f"""
                SELECT zone, date_trunc('day', sold_at)::TIMESTAMP, SUM(amount) FROM sales WHERE {IN_RANGE}
                  AND zone IN (SELECT zone FROM sales WHERE {IN_RANGE} GROUP BY zone ORDER BY SUM(amount) DESC
                               LIMIT 3)
                GROUP BY 1, 2""")
        ],
        "ids": [
            number
            for (number,) in server.expected(f"SELECT id FROM sales WHERE {IN_RANGE} ORDER BY id LIMIT 20")
        ],
        "target": "entered",
        "revenue": [
            [item, float(much)]
            for item, much in server.expected(
                f"SELECT item, SUM(amount * price) FROM sales WHERE {IN_RANGE} GROUP BY 1 ORDER BY 1"
            )
        ],
        "means": [
            f"{mean:.3f}"
            for (mean,) in server.expected(
                f"SELECT AVG(price) FROM sales WHERE {IN_RANGE} GROUP BY zone, paid ORDER BY zone, paid"
            )
        ],
    }
    url = f"{tool.url}/superset/dashboard/{board}/"
    run("superset", server.url, SUPERSET_URL=url, EXPECTED=json.dumps(expected))
