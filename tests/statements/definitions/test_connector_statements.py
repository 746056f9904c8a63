"""Connectors: what Kafka Connect is asked, and what its answers become (reference §2.10, §2.11, §2.13)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from ksql_spark.kafka_connect import ConfiguredConnect
from ksql_spark.statements.definitions import connectors
from tests.connect_server import PLUGINS, ConnectServer
from tests.statements.world import World

SOURCE = {"connector.class": "FileStreamSource", "name": "lines", "topic": "s"}
SINK = {"connector.class": "FileStreamSink", "name": "my sink", "topics": "s"}
TRACE = """FAILED org.apache.kafka.connect.errors.ConnectException: Unable to find /there/f with pw-4711
\tat org.apache.kafka.connect.file.FileStreamSourceTask.poll(FileStreamSourceTask.java:91)
Caused by: java.nio.file.NoSuchFileException: /there/f
\tat java.base/sun.nio.fs.UnixException.translateToIOException(UnixException.java:92)
\t... 8 more
"""


@pytest.fixture
def connect() -> Iterator[ConnectServer]:
    with ConnectServer() as server:
        server.connectors = {"my sink": dict(SINK), "lines": dict(SOURCE)}
        server.tasks = {"lines": ["RUNNING", "FAILED"]}
        server.topics = {"lines": ["s"], "my sink": ["s"]}
        yield server


@pytest.fixture
def world(make_world: Callable[..., World], connect: ConnectServer) -> World:
    return make_world(**{"ksql.connect.url": connect.url + "/"})


def row(name: str, config: dict[str, str], state: str) -> dict[str, str]:
    class_ = config["connector.class"]
    kind = "sink" if "Sink" in class_ else "source"
    return {"name": name, "type": kind, "className": class_, "state": state}


def test_show(world: World) -> None:
    source = row("lines", SOURCE, "WARNING (1/2 tasks RUNNING)")
    sink = row("my sink", SINK, "RUNNING (1/1 tasks RUNNING)")
    for text, rows in (
        ("SHOW CONNECTORS;", [source, sink]),
        ("LIST SOURCE CONNECTORS;", [source]),
        ("SHOW SINK CONNECTORS;", [sink]),
    ):
        answer = world.one(text)
        assert (answer["@type"], answer["connectors"]) == ("connector_list", rows)
        assert answer["warnings"] == []
    answer = world.one("SHOW CONNECTOR PLUGINS;")
    assert answer["@type"] == "connector_plugins_list"
    assert answer["connectorsPlugins"] == [
        {"className": p["class"], "type": p["type"], "version": p["version"]} for p in PLUGINS
    ]


def test_show_says_why_tasks_have_failed(world: World, connect: ConnectServer) -> None:
    connect.connectors["lines"]["database.password"] = "pw-4711"
    connect.tasks["lines"] = [TRACE, "RUNNING", TRACE]
    answer = world.one("SHOW CONNECTORS;")
    assert answer["connectors"][0]["state"] == "WARNING (1/3 tasks RUNNING)"
    (warning,) = answer["warnings"]
    assert warning["message"] == (
        "Connector lines, task 0, 2 is FAILED: ConnectException: Unable to find /there/f with [hidden], "
        "caused by NoSuchFileException: /there/f"
    )
    assert world.one("SHOW SINK CONNECTORS;")["warnings"] == []
    described = world.one("DESCRIBE CONNECTOR lines;")["status"]["tasks"][0]["trace"]
    assert "pw-4711" not in described and "FileStreamSourceTask.java:91" in described
    connect.tasks["lines"] = ["FAILED", "UNASSIGNED"]
    assert world.one("SHOW CONNECTORS;")["connectors"][0]["state"] == "FAILED (0/2 tasks RUNNING)"


def test_show_says_what_the_log_of_our_worker_does(
    world: World, connect: ConnectServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect.connectors["my sink"]["database.password"] = "pw-4711"
    connect.tasks["lines"] = [TRACE]
    said = {"my sink": "x.RetriableException: no pw-4711\n\tat x.y\nCaused by: y.z.IoException: refused"}
    monkeypatch.setattr(ConfiguredConnect, "complaints", lambda self: said | {"lines": "x"})
    failed, complaint = (warning["message"] for warning in world.one("SHOW CONNECTORS;")["warnings"])
    assert failed.startswith("Connector lines, task 0 is FAILED")
    assert complaint == (
        "Connector my sink is running, but its log says: "
        "RetriableException: no [hidden], caused by IoException: refused"
    )


def test_describe(world: World, connect: ConnectServer) -> None:
    answer = world.one("DESCRIBE CONNECTOR `LINES`;")
    assert answer["@type"] == "connector_description"
    assert answer["connectorClass"] == "FileStreamSource"
    assert (answer["status"], answer["topics"]) == (connect.status("lines"), ["s"])
    assert [s["name"] for s in answer["sources"]] == ["S"]
    error = world.refused("DESCRIBE CONNECTOR lined;")
    assert "Connector LINED does not exist. Did you mean lines?" in error.message
    connect.next_answers = [(200, ["lines"]), (200, connect.info("lines")), (403, None)]
    assert world.one("DESCRIBE CONNECTOR lines;")["topics"] == []


@pytest.mark.parametrize("text", ["SHOW TOPICS;", "SHOW TOPICS EXTENDED;"])
def test_topics_say_which_connectors_write_them(world: World, connect: ConnectServer, text: str) -> None:
    topics = {t["name"]: t for t in world.one(text)["topics"]}
    assert topics["s"]["connectors"] == ["lines"] and topics["t"]["connectors"] == []
    connect.stop()
    answer = world.one(text)
    assert "connectors" not in answer["topics"][0]
    assert "Kafka Connect " in answer["warnings"][0]["message"]


def test_a_list_of_topics_does_not_wait_for_connect(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    never = threading.Event()
    monkeypatch.setattr(connectors, "SOON_S", 0.0)
    monkeypatch.setattr(connectors, "writers", lambda cluster: never.wait())
    answer = world.one("SHOW TOPICS;")
    assert "connectors" not in answer["topics"][0]
    assert "Kafka Connect has not responded yet" in answer["warnings"][0]["message"]


def test_create(world: World, connect: ConnectServer) -> None:
    given = "\"connector.class\"='FileStreamSink', 'tasks.max'=2, \"is.it\"=true, `p.password`='4711'"
    answer = world.one(f"CREATE SINK CONNECTOR `new` WITH ({given});")
    config = {"name": "new", "connector.class": "FileStreamSink", "tasks.max": "2", "is.it": "true"}
    assert answer["@type"] == "connector_info"
    assert answer["info"]["config"] == {**config, "p.password": "[hidden]"}
    assert (answer["info"]["name"], answer["info"]["type"]) == ("new", "sink")
    assert connect.connectors["new"] == {**config, "p.password": "4711"}
    assert world.log.records == [r for r in world.log.records if "CONNECTOR" not in r]


def test_create_what_is_there(world: World, connect: ConnectServer) -> None:
    there = "CREATE SOURCE CONNECTOR {}LINES WITH (\"connector.class\"='x');"
    answer = world.one(there.format("IF NOT EXISTS "))
    assert (answer["@type"], answer["message"]) == ("warning_entity", "Connector lines already exists")
    error = world.refused(there.format(""))
    assert error.code == 40900 and "lines exists" in error.message
    assert not connect.asked("POST")


@pytest.mark.parametrize("condition", ["IF NOT EXISTS ", ""])
def test_another_client_creates_it_first(world: World, connect: ConnectServer, condition: str) -> None:
    text = f"CREATE SOURCE CONNECTOR {condition}lines WITH (\"connector.class\"='FileStreamSource');"
    connect.connectors["LINES"] = SOURCE
    connect.next_answers = [(200, []), (200, PLUGINS)]
    if condition:
        assert world.one(text)["message"] == "Connector LINES already exists"
    else:
        assert world.refused(text).code == 40900


def test_two_clients_at_once(world: World, connect: ConnectServer) -> None:
    answers: list[str] = []

    def create() -> None:
        text = "CREATE SINK CONNECTOR IF NOT EXISTS c WITH (\"connector.class\"='FileStreamSink');"
        answers.append(world.one(text)["@type"])

    def drop() -> None:
        answers.append(world.one("DROP CONNECTOR IF EXISTS c;")["@type"])

    for what, expected in ((create, "connector_info"), (drop, "drop_connector")):
        answers.clear()
        threads = [threading.Thread(target=what) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(answers) == 6 and expected in answers
        assert set(answers) <= {expected, "warning_entity"}
    assert "C" not in connect.connectors


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("CREATE SOURCE CONNECTOR c WITH ('a'='b');", "has no class. Add WITH"),
        ("CREATE SOURCE CONNECTOR c WITH (\"connector.class\"=' ');", "has no class. Add WITH"),
        (
            "CREATE SOURCE CONNECTOR c WITH (\"Connector.Class\"='x');",
            "property is connector.class, not Conn",
        ),
        (
            "CREATE SOURCE CONNECTOR c WITH (\"connector.class\"='FileStreamSink');",
            "FileStreamSink is a sink connector. Write CREATE SINK CONNECTOR.",
        ),
        (
            "CREATE SINK CONNECTOR c WITH "
            "(\"connector.class\"='org.apache.kafka.connect.file.FileStreamSourceConnector');",
            "Write CREATE SOURCE CONNECTOR.",
        ),
        ("CREATE SINK CONNECTOR `a/b` WITH (\"connector.class\"='x');", "contains '/'"),
        ("CREATE SINK CONNECTOR `{x}` WITH (\"connector.class\"='x');", "contains '{'"),
        ("CREATE SINK CONNECTOR `..` WITH (\"connector.class\"='x');", "cannot be used as a name"),
        (f"CREATE SINK CONNECTOR `{'n' * 3000}` WITH (\"connector.class\"='x');", "more than 200"),
        ("CREATE SINK CONNECTOR c WITH (\"connector.class\"='x', 'name'='d');", "Its property name is d"),
        ("CREATE SINK CONNECTOR c WITH ('connector.class'='x', 'tasks.max'=NULL);", "tasks.max"),
    ],
)
def test_what_is_refused(world: World, connect: ConnectServer, text: str, message: str) -> None:
    error = world.refused(text)
    assert error.code == 40001 and message in error.message
    assert len(error.message) < 300 and "\n" not in error.message
    assert not connect.asked("POST") and not connect.asked("DELETE")


@pytest.mark.parametrize("text", ["DROP CONNECTOR nothing;", "DESCRIBE CONNECTOR nothing;"])
def test_an_unknown_connector_is_not_found(world: World, connect: ConnectServer, text: str) -> None:
    error = world.refused(text)
    assert (error.code, error.statement) == (40400, text.rstrip(";"))
    assert error.message.startswith("Connector NOTHING does not exist. SHOW CONNECTORS lists")
    assert not connect.asked("DELETE")


@pytest.mark.parametrize("name", ["a b", "a'b", 'a"b', "größe", "a+b&c=d?e#f", "a.b-c_d", "[x]", "a:b,c;d"])
def test_any_other_name(world: World, connect: ConnectServer, name: str) -> None:
    world.run(f"CREATE SINK CONNECTOR `{name}` WITH (\"connector.class\"='FileStreamSink');")
    assert world.one(f"DESCRIBE CONNECTOR `{name}`;")["status"]["name"] == name
    assert world.one(f"DROP CONNECTOR `{name}`;")["connectorName"] == name
    assert name not in connect.connectors


def test_drop(world: World, connect: ConnectServer) -> None:
    answer = world.one("DROP CONNECTOR `My Sink`;")
    assert (answer["@type"], answer["connectorName"]) == ("drop_connector", "my sink")
    assert list(connect.connectors) == ["lines"]
    assert world.one("DROP CONNECTOR IF EXISTS nothing;")["@type"] == "warning_entity"


def test_connect_says_no(world: World, connect: ConnectServer) -> None:
    said = 'Connector configuration is invalid and contains the following 1 error(s):\nMissing "file"\n.'
    connect.refusal = 400, {"error_code": 400, "message": said}
    error = world.refused("CREATE SINK CONNECTOR c WITH (\"connector.class\"='FileStreamSink');")
    assert error.code == 40001 and said.rstrip(".\n") in error.message and "HTTP 400" in error.message
    error = world.refused("CREATE SINK CONNECTOR c WITH (\"connector.class\"='FileStreamSunk');")
    assert error.message.endswith("Did you mean FileStreamSink?")
    error = world.refused("CREATE SINK CONNECTOR c WITH (\"connector.class\"='org.x.Y');")
    assert error.message.endswith("SHOW CONNECTOR PLUGINS lists them.")
    connect.next_answers = [(500, None)]
    assert "HTTP 500" in world.refused("SHOW CONNECTOR PLUGINS;").message


STATEMENTS = [
    "SHOW CONNECTORS;",
    "SHOW CONNECTOR PLUGINS;",
    "DESCRIBE CONNECTOR c;",
    "CREATE SOURCE CONNECTOR c WITH (\"connector.class\"='x');",
    "DROP CONNECTOR c;",
]


@pytest.mark.parametrize("text", STATEMENTS)
def test_no_connect(make_world: Callable[..., World], text: str) -> None:
    world = make_world(**{"ksql.connect.url": "http://127.0.0.1:1"})
    error = world.refused(text)
    assert error.condition == "REMOTE_UNREACHABLE"
    assert "http://127.0.0.1:1" in error.message and "ksql.connect.url" in error.message
    assert "\n" not in error.message


def test_a_server_without_connect(make_world: Callable[..., Any]) -> None:
    world = make_world(**{"ksql.spark.connect.enabled": "false"})
    assert world.one("SHOW CONNECTORS;")["connectors"] == []
    assert "connectors" not in world.one("SHOW TOPICS EXTENDED;")["topics"][0]
    error = world.refused("CREATE SOURCE CONNECTOR c WITH (\"connector.class\"='x');")
    assert error.condition == "CONNECT_MISSING" and "ksql.connect.url" in error.message
