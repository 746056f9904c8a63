"""Connectors: what Kafka Connect is asked, and what its answers become (reference §2.10, §2.11, §2.13)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.statements.json_server import JsonServer
from tests.statements.world import World

CONFIG = {"connector.class": "FileStreamSource", "name": "lines", "topic": "s"}
STATUS = {
    "name": "lines",
    "connector": {"state": "RUNNING", "worker_id": "w:1"},
    "tasks": [
        {"id": 0, "state": "RUNNING", "worker_id": "w:1"},
        {"id": 1, "state": "FAILED", "worker_id": "w:1"},
    ],
    "type": "source",
}
INFO = {"name": "lines", "config": CONFIG, "tasks": [{"connector": "lines", "task": 0}], "type": "source"}
SINK = {"info": {"type": "sink", "config": {"connector.class": "FileStreamSink"}}, "status": {}}
ANSWERS: dict[str, tuple[int, Any]] = {
    "GET /connectors": (200, ["lines", "my sink"]),
    "GET /connectors?expand=info&expand=status": (
        200,
        {"my sink": SINK, "lines": {"info": INFO, "status": STATUS}},
    ),
    "GET /connectors/lines": (200, INFO),
    "GET /connectors/lines/status": (200, STATUS),
    "GET /connectors/lines/topics": (200, {"lines": {"topics": ["s"]}}),
    "POST /connectors": (201, {"name": "new", "config": {"a": "1"}, "tasks": [], "type": "sink"}),
    "DELETE /connectors/my%20sink": (204, None),
    "GET /connector-plugins": (200, [{"class": "FileStreamSink", "type": "sink", "version": "4.3.1"}]),
}


@pytest.fixture
def connect() -> Iterator[JsonServer]:
    with JsonServer(ANSWERS) as server:
        yield server


@pytest.fixture
def world(make_world: Callable[..., World], connect: JsonServer) -> World:
    return make_world(**{"ksql.connect.url": connect.url + "/"})


def test_show(world: World) -> None:
    source = {
        "name": "lines",
        "type": "source",
        "className": "FileStreamSource",
        "state": "WARNING (1/2 tasks RUNNING)",
    }
    sink = {
        "name": "my sink",
        "type": "sink",
        "className": "FileStreamSink",
        "state": "UNKNOWN (0/0 tasks RUNNING)",
    }
    for text, rows in (
        ("SHOW CONNECTORS;", [source, sink]),
        ("LIST SOURCE CONNECTORS;", [source]),
        ("SHOW SINK CONNECTORS;", [sink]),
    ):
        answer = world.one(text)
        assert (answer["@type"], answer["connectors"]) == ("connector_list", rows)
    answer = world.one("SHOW CONNECTOR PLUGINS;")
    assert answer["@type"] == "connector_plugins_list"
    assert answer["connectorsPlugins"] == [
        {"className": "FileStreamSink", "type": "sink", "version": "4.3.1"}
    ]


def test_describe(world: World) -> None:
    answer = world.one("DESCRIBE CONNECTOR `LINES`;")
    assert answer["@type"] == "connector_description"
    assert (answer["connectorClass"], answer["status"], answer["topics"]) == (
        "FileStreamSource",
        STATUS,
        ["s"],
    )
    assert [s["name"] for s in answer["sources"]] == ["S"]
    error = world.refused("DESCRIBE CONNECTOR lined;")
    assert "Connector LINED does not exist. Did you mean lines?" in error.message


def test_create(world: World, connect: JsonServer) -> None:
    given = "\"connector.class\"='FileStreamSink', 'tasks.max'=2, \"is.it\"=true"
    text = f"CREATE SINK CONNECTOR `new` WITH ({given});"
    answer = world.one(text)
    assert answer["@type"] == "connector_info"
    assert answer["info"] == {"name": "new", "config": {"a": "1"}, "tasks": [], "type": "sink"}
    config = {"name": "new", "connector.class": "FileStreamSink", "tasks.max": "2", "is.it": "true"}
    assert connect.requests[-1] == ("POST /connectors", {"name": "new", "config": config})
    there = "CREATE SOURCE CONNECTOR {}LINES WITH (\"connector.class\"='x');"
    answer = world.one(there.format("IF NOT EXISTS "))
    assert (answer["@type"], answer["message"]) == ("warning_entity", "Connector lines already exists")
    assert world.refused(there.format("")).code == 40900
    assert "has no class" in world.refused("CREATE SOURCE CONNECTOR c WITH ('a'='b');").message


def test_drop(world: World, connect: JsonServer) -> None:
    answer = world.one("DROP CONNECTOR `My Sink`;")
    assert (answer["@type"], answer["connectorName"]) == ("drop_connector", "my sink")
    assert connect.requests[-1][0] == "DELETE /connectors/my%20sink"
    assert world.one("DROP CONNECTOR IF EXISTS nothing;")["@type"] == "warning_entity"
    assert "NOTHING does not exist" in world.refused("DROP CONNECTOR nothing;").message


def test_connect_says_no(make_world: Callable[..., World]) -> None:
    refusals = {
        "GET /connectors": (200, []),
        "POST /connectors": (400, {"error_code": 400, "message": "Failed to find any class"}),
        "GET /connector-plugins": (500, None),
    }
    with JsonServer(refusals) as server:
        world = make_world(**{"ksql.connect.url": server.url})
        error = world.refused("CREATE SINK CONNECTOR c WITH (\"connector.class\"='x');")
        assert error.code == 40001 and "Failed to find any class (HTTP 400)" in error.message
        assert "HTTP 500" in world.refused("SHOW CONNECTOR PLUGINS;").message


@pytest.mark.parametrize(
    "text",
    [
        "SHOW CONNECTORS;",
        "SHOW CONNECTOR PLUGINS;",
        "DESCRIBE CONNECTOR c;",
        "CREATE SOURCE CONNECTOR c WITH (\"connector.class\"='x');",
        "DROP CONNECTOR IF EXISTS c;",
    ],
)
def test_no_connect(make_world: Callable[..., World], text: str) -> None:
    world = make_world(**{"ksql.connect.url": "http://127.0.0.1:1"})
    error = world.refused(text)
    assert error.condition == "REMOTE_UNREACHABLE"
    assert "http://127.0.0.1:1" in error.message and "ksql.connect.url" in error.message
    assert "\n" not in error.message
