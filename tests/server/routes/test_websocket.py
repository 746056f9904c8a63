"""GET /ws/query (reference §7.7)."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote

import pytest
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from ksql_spark.config import Config
from ksql_spark.engine import ResultColumn, Row
from ksql_spark.errors import KsqlError
from ksql_spark.server.app import create_app
from ksql_spark.server.host import Host
from ksql_spark.server.routes import websocket
from ksql_spark.types import BIGINT, STRING
from tests.server.fake_engine import FakeEngine, FakeStream
from tests.server.live_server import LiveServer


@pytest.fixture
def client(host: Host) -> TestClient:
    return TestClient(create_app(host, Config({})), base_url="http://localhost")


def ask(client: TestClient, text: str, **headers: str) -> tuple[list[Any], int]:
    """All messages, and the close code."""
    messages: list[Any] = []
    url = f"/ws/query?request={json.dumps({'ksql': text})}"
    with client.websocket_connect(url, headers=headers) as socket, pytest.raises(WebSocketDisconnect) as end:
        while True:
            messages.append(socket.receive_text())
    return messages, end.value.code


def test_rows_after_the_schema(client: TestClient, engine: FakeEngine) -> None:
    columns = [ResultColumn.of("K", STRING, True), ResultColumn.of("V", BIGINT)]
    engine.next_stream = FakeStream("PULL", columns, [Row(["a", 1]), Row(["b", None], tombstone=True)])
    messages, code = ask(client, "SELECT * FROM T;")
    plain = {"fields": None, "memberSchema": None}
    assert [json.loads(m) for m in messages] == [
        [
            {"name": "K", "schema": {"type": "STRING", **plain}, "type": "KEY"},
            {"name": "V", "schema": {"type": "BIGINT", **plain}},
        ],
        {"row": {"columns": ["a", 1]}},
        {"row": {"columns": ["b", None], "tombstone": True}},
        {"error": "done"},
    ]
    assert code == 1000
    assert engine.streams[0].closed.is_set()


def test_a_plain_push_query_needs_no_thread(
    host: Host, client: TestClient, engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Live(FakeStream):
        """As SharedResult: it calls back when rows have arrived."""

        @property
        def is_live(self) -> bool:
            return True

        def when_arrived(self, on_arrival: Callable[[], None]) -> None:
            on_arrival()

    async def read(step: Any) -> Any:
        raise AssertionError("a thread was asked")

    monkeypatch.setattr(host, "read", read)
    engine.next_stream = Live("PUSH", [ResultColumn("K", "STRING")], [Row(["a"]), Row(["b"])])
    messages, code = ask(client, "SELECT * FROM s EMIT CHANGES;")
    assert [json.loads(m) for m in messages[1:]] == [
        {"row": {"columns": ["a"]}}, {"row": {"columns": ["b"]}}, {"error": "done"},
    ]  # fmt: skip
    assert code == 1000


def test_lines_of_a_print(client: TestClient) -> None:
    messages, code = ask(client, "PRINT rides;")
    assert messages[0] == "Key format: KAFKA_INT" and code == 1000


def test_a_wrong_statement(client: TestClient) -> None:
    messages, code = ask(client, "SELECT * FROM NOWHERE;")
    assert "NOWHERE" in json.loads(messages[0])["error"]
    assert code == 1003


def test_a_wrong_request(client: TestClient) -> None:
    with client.websocket_connect("/ws/query") as socket:
        assert json.loads(socket.receive_text()) == {"error": "The URL has no parameter request."}
        with pytest.raises(WebSocketDisconnect) as end:
            socket.receive_text()
    assert end.value.code == 1003


def test_an_error_of_the_server(client: TestClient, engine: FakeEngine) -> None:
    _, code = ask(client, "SELECT BOOM;")
    assert code == 1011
    engine.next_stream = FakeStream("PUSH", [], error=KsqlError("COMMAND_NOT_REACHED", sequence=3, last=1))
    assert ask(client, "S")[1] == 1013


def test_a_client_that_leaves_ends_its_query(client: TestClient, engine: FakeEngine) -> None:
    with client.websocket_connect(f"/ws/query?request={json.dumps({'ksql': 'S EMIT CHANGES;'})}") as socket:
        socket.receive_text()
    assert engine.streams[0].closed.wait(20)


def test_a_client_that_leaves_ends_a_query_that_has_no_rows_yet(
    client: TestClient, engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, cancelled = threading.Event(), threading.Event()

    def query(request: Any) -> Any:
        begun.set()
        if request.cancelled.wait(20):
            cancelled.set()
        raise KsqlError("STATEMENT_CANCELLED")

    monkeypatch.setattr(engine, "query", query)
    with client.websocket_connect(f"/ws/query?request={json.dumps({'ksql': 'SELECT 1;'})}"):
        assert begun.wait(20)
    assert cancelled.wait(20)


def test_what_a_client_sends_means_nothing(live: LiveServer, engine: FakeEngine) -> None:
    sync = pytest.importorskip("websockets.sync.client")
    request = quote(json.dumps({"ksql": "SELECT * FROM S EMIT CHANGES;"}))
    with sync.connect(f"ws://127.0.0.1:{live.port}/ws/query?request={request}") as client:
        client.recv()
        client.send("x")
        client.send(b"x")
        client.socket.close()
        assert engine.streams[0].closed.wait(20)


def test_everything_else_goes_on_while_many_rows_are_sent(host: Host) -> None:
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async def sent(text: str) -> None:
        pass

    async def send() -> None:
        task = asyncio.create_task(others())
        stream = FakeStream("PULL", [ResultColumn("K", "BIGINT")], [Row([n]) for n in range(1_000)])
        await websocket._send_rows(SimpleNamespace(send_text=sent), host, stream)  # type: ignore[arg-type]
        task.cancel()

    asyncio.run(send())
    assert turns >= 1_000 / websocket.TURN_ROWS


def test_pages_of_other_sites_are_refused(client: TestClient, engine: FakeEngine) -> None:
    for headers in ({"Origin": "http://evil.example"}, {"Host": "evil.example"}):
        with pytest.raises(WebSocketDisconnect), client.websocket_connect("/ws/query", headers=headers):
            pass
    assert engine.streams == []
    assert ask(client, "PRINT x;", Origin="http://testserver")[1] == 1000


def test_a_starting_server_refuses(client: TestClient, engine: FakeEngine) -> None:
    engine.state = "STARTING"
    with pytest.raises(WebSocketDisconnect), client.websocket_connect("/ws/query"):
        pass


def test_a_real_client(live: LiveServer) -> None:
    sync = pytest.importorskip("websockets.sync.client")
    request = quote(json.dumps({"ksql": "SELECT * FROM ZONES;"}))
    with sync.connect(f"ws://127.0.0.1:{live.port}/ws/query?request={request}") as client:
        messages = [json.loads(message) for message in client]
    assert messages[1:] == [
        {"row": {"columns": [1, "Astoria"]}},
        {"row": {"columns": [2, "Jamaica Bay"]}},
        {"error": "done"},
    ]
