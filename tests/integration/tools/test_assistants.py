"""``ksql-spark mcp`` on a real engine: rows, plans, and a change that a person promotes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from mcp import Client as Assistant

from ksql_spark.engine import Engine, Request
from ksql_spark.shell.client import Client
from ksql_spark.shell.main import main
from ksql_spark.tools import assistants
from ksql_spark.tools.assistants import Limits, Tools
from tests.server.live_server import LiveServer
from tests.waiting import until

pytestmark = pytest.mark.kafka

PREFIX = "assistants_"
STATEMENTS = """
CREATE STREAM orders (id INT KEY, item STRING, price DOUBLE)
  WITH (KAFKA_TOPIC = 'assistants_orders', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE TABLE sales WITH (KAFKA_TOPIC = 'assistants_sales') AS
  SELECT item, COUNT(*) AS n FROM orders GROUP BY item;
INSERT INTO orders VALUES (1, 'tea', 2.5);
INSERT INTO orders VALUES (2, 'tea', 4.5);
INSERT INTO orders VALUES (3, 'milk', 0.5);
"""


@pytest.mark.long
def test_an_assistant_looks_around_and_proposes_a_change(make_engine: Callable[..., Engine]) -> None:
    engine = make_engine("assistants")
    engine.execute(Request(STATEMENTS, {"auto.offset.reset": "earliest"}))
    with LiveServer(engine) as server:
        tools = Tools(Client(server.url), server.url, {}, Limits(), True)

        def asked(tool: str, **arguments: Any) -> Any:
            async def call() -> Any:
                async with Assistant(assistants.create(tools)) as assistant:
                    return await assistant.call_tool(tool, arguments)

            result = asyncio.run(call())
            assert not result.is_error, result.content
            return result.structured_content

        until(lambda: len(asked("sample", name="sales")["rows"]) == 2)
        found = asked("query", sql="SELECT * FROM orders EMIT CHANGES", rows=3, from_beginning=True)
        assert [row[0] for row in found["rows"]] == [1, 2, 3] and found["cut"] == "after 3 rows"
        (running,) = asked("list_objects", kind="QUERIES")["answers"]
        query = running["queries"][0]["id"]
        assert [node["name"] for node in asked("lag")["queries"]] == [query]
        for kind, what in (
            ("PLAN", query),
            ("FRESHNESS", "sales"),
            ("ROW", "FROM sales WHERE item = 'tea'"),
            ("MISSING ROW", "FROM sales WHERE item = 'rum'"),
        ):
            assert asked("explain", what=what, kind=kind)["answers"], kind

        change = "CREATE TABLE sales AS SELECT item, COUNT(*) AS n FROM orders WHERE price > 3 GROUP BY item"
        proposed = asked("propose_change", branch="dev", statement=change)
        assert "TABLE DEV__SALES" in proposed["statement"] and proposed["preview"]
        until(
            lambda: asked("describe", name="dev__sales", kind="EVOLUTION")["answers"][0]["state"] == "swapped"
        )
        until(lambda: asked("sample", name="dev__sales")["rows"] == [["tea", 1]])
        compared = asked("compare_branch", branch="dev")["comparison"]
        assert any("differs" in line for line in compared)
        assert main(["branch", "promote", "dev", "--server", server.url]) == 0
        until(lambda: asked("sample", name="sales")["rows"] == [["tea", 1]])
        assert main(["branch", "drop", "dev", "--server", server.url]) == 0
