"""Streams over a real connection."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import sys
import threading
import time
import weakref
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from ksql_spark.engine import ResultColumn, Row, Rows
from ksql_spark.kafka.consumer import Record
from ksql_spark.runtime.reading.push import PushResult
from ksql_spark.runtime.reading.topic_feeds import Batch, PushMemory, Subscription
from ksql_spark.server.host import Host
from ksql_spark.server.protocol.connections import Limits
from ksql_spark.server.streaming import responses as streaming
from ksql_spark.server.streaming.responses import Delimited, Frames, JsonArray, QueryResponse, rows_text
from tests.server.fake_engine import FakeEngine, FakeStream, LiveStream
from tests.server.live_server import LiveServer
from tests.waiting import TIMEOUT_S

COLUMNS = [ResultColumn("K", "STRING")]
#: for what happens at once, unless the machine is very busy
SOON_S = 20


def push_stream(query_id: str = "transient_X_1") -> FakeStream:
    return FakeStream("PUSH", COLUMNS, ends=False, query_id=query_id)


def test_push_rows_are_sent_at_once(live: LiveServer, engine: FakeEngine) -> None:
    stream = engine.next_stream = push_stream()
    with httpx.stream("POST", f"{live.url}/query-stream", json={"sql": "S"}, timeout=SOON_S) as response:
        lines = response.iter_lines()
        assert json.loads(next(lines))["queryId"] == "transient_X_1"
        for number in range(3):
            stream.rows.put(Row([str(number)]))
            assert next(lines) == f'["{number}"]'
        stream.end("Limit Reached")
        assert list(lines) == []


class SubscribedEngine(FakeEngine):
    """Has push queries that read the batches which a test gives them."""

    def __init__(self, limit: int | None = None) -> None:
        super().__init__()
        self.limit = limit
        self.subscriptions: list[Subscription] = []

    def query(self, request: Any) -> Any:
        """As Engine.query."""
        feeds = SimpleNamespace(
            leave=lambda subscription: None,
            memory=PushMemory(1_000_000),
            readers=SimpleNamespace(give_back=lambda subscription: None),
        )
        subscription = Subscription(feeds, "s", {0: 0}, read_committed=False)  # type: ignore[arg-type]
        subscription.is_live = True
        self.subscriptions.append(subscription)
        query = SimpleNamespace(id="transient_S_1", statement="S", errors=[])
        queries = SimpleNamespace(find=lambda query_id: query, drop=lambda query: None)

        def rows(records: Any) -> Rows:
            return Rows(Row([record.offset]) for record in records)

        return PushResult(query, queries, [], subscription, rows, "S", self.limit, lambda: None)  # type: ignore[arg-type]


def batch(*offsets: int) -> Batch:
    return Batch([Record("s", 0, offset, 0, None, b"") for offset in offsets])


@pytest.mark.parametrize("limit", [None, 7_000])
def test_nothing_that_is_there_waits_for_what_is_not(
    monkeypatch: pytest.MonkeyPatch, limit: int | None
) -> None:
    monkeypatch.setattr(streaming, "READ_TIMEOUT_S", 1_000.0)  # a test that waits for it fails
    engine = SubscribedEngine(limit)
    with (
        LiveServer(engine) as live,
        httpx.stream("POST", f"{live.url}/query-stream", json={"sql": "S"}, timeout=SOON_S) as response,
    ):
        lines = response.iter_lines()
        assert "queryId" in next(lines)
        (subscription,) = engine.subscriptions
        subscription.take(batch(*range(6_999)))
        assert [next(lines) for _ in range(6_999)] == [f"[{n}]" for n in range(6_999)]
        subscription.take(batch(6_999, 7_000))
        if limit is None:
            assert [next(lines), next(lines)] == ["[6999]", "[7000]"]
        else:
            assert list(lines) == ["[6999]"]


def test_client_that_leaves_ends_its_query(live: LiveServer, engine: FakeEngine) -> None:
    stream = engine.next_stream = push_stream()
    with httpx.stream("POST", f"{live.url}/query-stream", json={"sql": "S"}, timeout=SOON_S) as response:
        lines = response.iter_lines()
        next(lines)
        assert not stream.closed.is_set()
    assert stream.closed.wait(SOON_S)


def test_client_that_left_before_the_first_row_ends_its_query(live: LiveServer, engine: FakeEngine) -> None:
    started, may_go_on = threading.Event(), threading.Event()
    stream = push_stream()

    def slow_query(request: object) -> FakeStream:
        started.set()
        assert may_go_on.wait(SOON_S)
        return stream

    engine.query = slow_query  # type: ignore[method-assign, assignment]
    body = b'{"sql": "S"}'
    with socket.create_connection(("127.0.0.1", live.port)) as connection:
        head = f"POST /query-stream HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n"
        connection.sendall(head.encode() + body)
        assert started.wait(SOON_S)
    may_go_on.set()
    assert stream.closed.wait(SOON_S)


def test_client_that_leaves_while_its_query_computes_cancels_it(live: LiveServer, engine: FakeEngine) -> None:
    started, cancelled = threading.Event(), threading.Event()

    def slow_query(request: Any) -> FakeStream:
        started.set()
        if request.cancelled.wait(SOON_S):
            cancelled.set()
        return push_stream()

    engine.query = slow_query  # type: ignore[method-assign]
    body = b'{"sql": "S"}'
    with socket.create_connection(("127.0.0.1", live.port)) as connection:
        head = f"POST /query-stream HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n"
        connection.sendall(head.encode() + body)
        assert started.wait(SOON_S)
    assert cancelled.wait(SOON_S)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has such a limit")
def test_a_client_that_reads_nothing_is_closed(engine: FakeEngine) -> None:
    stream = engine.next_stream = push_stream()
    body = b'{"sql": "S"}'
    with (
        LiveServer(engine, send_timeout_ms=100) as live,
        socket.create_connection(("127.0.0.1", live.port)) as connection,
    ):
        head = f"POST /query-stream HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n"
        connection.sendall(head.encode() + body)
        row = Row(["x" * 1_000_000])
        deadline = time.monotonic() + SOON_S
        while not stream.closed.wait(0.01):
            assert time.monotonic() < deadline
            if stream.rows.qsize() < 10:  # until the system's buffers are full
                stream.rows.put(row)


@pytest.mark.usefixtures("both")
@pytest.mark.parametrize("path", ["/query-stream", "/ws/query"])
def test_a_client_that_reads_too_slowly_is_closed(
    engine: FakeEngine, path: str, caplog: pytest.LogCaptureFixture
) -> None:
    """It takes a few bytes now and then, so that its system never says that it takes none."""
    stream = engine.next_stream = push_stream()
    body = b'{"sql": "S"}'
    heads = {
        "/query-stream": f"POST /query-stream HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n",
        "/ws/query": "GET /ws/query?request=%7B%22ksql%22%3A%22S%22%7D HTTP/1.1\r\nHost: x\r\n"
        "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
    }
    with (
        LiveServer(engine, limits=Limits(send_s=0.3)) as live,
        socket.create_connection(("127.0.0.1", live.port)) as connection,
    ):
        connection.sendall(heads[path].encode() + (body if path == "/query-stream" else b""))
        row = Row(["x" * 1_000_000])
        deadline = time.monotonic() + SOON_S
        while not stream.closed.wait(0.01):
            assert time.monotonic() < deadline
            with contextlib.suppress(ConnectionError):
                connection.recv(10)
            if stream.rows.qsize() < 10:  # until the system's buffers are full
                stream.rows.put(row)
    assert "ksql.server.send.timeout.ms" in caplog.text


def test_of_what_waits_for_a_client_only_the_text_is_kept() -> None:
    class OneRow(FakeStream):
        def __init__(self) -> None:
            super().__init__("PUSH", COLUMNS)
            self.row: weakref.ref[Row] | None = None

        def read(self, timeout_s: float) -> Rows | None:
            if self.row is not None:
                return None
            row = Row(["x" * 1_000_000])
            self.row = weakref.ref(row)
            return Rows([row])

    stream = OneRow()
    sizes = []

    async def send(message: Any) -> None:
        if b"x" in message.get("body", b""):
            assert stream.row is not None and stream.row() is None
            sizes.append(len(message["body"]))

    async def answer() -> None:
        host = Host()
        host.engine = FakeEngine()
        await QueryResponse(host, stream, Delimited(stream))({"type": "http"}, asyncio.Event().wait, send)
        host.release_threads()

    asyncio.run(answer())
    assert sum(sizes) > 1_000_000 and max(sizes) <= streaming.MAX_SEND_BYTES


def test_close_query_ends_the_response(live: LiveServer, engine: FakeEngine) -> None:
    engine.next_stream = push_stream("transient_X_7")
    with httpx.stream("POST", f"{live.url}/query-stream", json={"sql": "S"}, timeout=SOON_S) as response:
        lines = response.iter_lines()
        next(lines)
        closed = httpx.post(f"{live.url}/close-query", json={"queryId": "transient_X_7"}, timeout=TIMEOUT_S)
        assert (closed.status_code, closed.content) == (200, b"")
        assert list(lines) == []


def test_a_hundred_idle_push_queries_leave_room_for_everything_else(
    live: LiveServer, engine: FakeEngine
) -> None:
    limits = httpx.Limits(max_connections=None)
    open_lines = []
    with contextlib.ExitStack() as stack:
        client = stack.enter_context(httpx.Client(base_url=live.url, timeout=SOON_S, limits=limits))
        for number in range(100):
            engine.next_stream = LiveStream(COLUMNS, f"transient_X_{number}")
            response = stack.enter_context(client.stream("POST", "/query-stream", json={"sql": "S"}))
            # Kept, since a response closes with the iterator over its lines.
            open_lines.append(response.iter_lines())
            next(open_lines[-1])
        assert client.get("/info").status_code == 200
        assert client.post("/ksql", json={"ksql": "SHOW STREAMS;"}).status_code == 200
        engine.next_stream = FakeStream("PULL", COLUMNS, [Row(["a"])])
        assert client.post("/query-stream", json={"sql": "S"}).text.endswith('["a"]\n')
        assert not any(stream.closed.is_set() for stream in engine.streams[:100])
    assert all(stream.closed.wait(SOON_S) for stream in engine.streams)


def test_stopping_the_server_ends_its_streams(engine: FakeEngine) -> None:
    stream = engine.next_stream = push_stream()
    with LiveServer(engine) as live:
        client = httpx.Client(timeout=SOON_S)
        with client.stream(
            "POST",
            f"{live.url}/query-stream",
            json={"sql": "S"},
            headers={"Accept": "application/vnd.ksql.v1+json"},
        ) as response:
            lines = response.iter_lines()
            next(lines)
            live.web.should_exit = True
            error = '{"@type":"generic_error","error_code":50303,"message":"The server is shutting down."}'
            assert list(lines) == [f'{{"errorMessage":{error}}}]']
        client.close()
    assert stream.closed.is_set()


def test_print_that_the_server_cuts_off_breaks_the_connection(engine: FakeEngine) -> None:
    # Its lines are text, so a last line could not say it.
    engine.next_stream = FakeStream("PRINT", COLUMNS, [Row(["one"])], ends=False)
    with LiveServer(engine) as live, httpx.Client(timeout=SOON_S) as client:
        body = {"ksql": "PRINT x;"}
        with client.stream("POST", f"{live.url}/query", json=body) as response:
            lines = response.iter_lines()
            assert next(lines) == "one"
            live.web.should_exit = True
            with pytest.raises(httpx.RemoteProtocolError):
                list(lines)


def test_a_query_that_has_ended_is_not_cut_off(engine: FakeEngine) -> None:
    stream = engine.next_stream = push_stream()
    with LiveServer(engine) as live, httpx.Client(timeout=SOON_S) as client:
        body = {"sql": "S"}
        with client.stream("POST", f"{live.url}/query-stream", json=body) as response:
            stream.end("Limit Reached")
            assert len(list(response.iter_lines())) == 1
        assert live.host.cut_off == set()


@pytest.mark.parametrize("kind", [Frames, Delimited, JsonArray])
def test_what_clients_share_is_encoded_once(kind: Any) -> None:
    parts = [Rows([Row(["a"]), Row(["b"], tombstone=True)]), Rows([Row(["c"])])]
    shared = [Rows.of(parts), parts[1]]
    expected = [kind(push_stream()).rows(list(rows)) for rows in shared]
    assert [rows_text(rows, kind(push_stream())) for rows in shared] == expected
    kept = [part.encoded[kind] for part in parts]
    assert rows_text(Rows.of(parts), kind(push_stream())) == b"".join(kept) == expected[0]
    assert rows_text(parts[1], kind(push_stream())) is kept[1]
