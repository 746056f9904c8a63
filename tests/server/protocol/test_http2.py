"""HTTP/1.1 and HTTP/2 on one port (ADR 18)."""

from __future__ import annotations

import importlib.util
import json
import socket
import threading

import httpx
import pytest

from ksql_spark.engine import ResultColumn, Row, Rows
from ksql_spark.server.protocol import http
from ksql_spark.server.protocol.http import MAX_WAITING_BYTES, has_http2
from tests.server.fake_engine import FakeEngine, FakeStream
from tests.server.live_server import LiveServer

needs_http2 = pytest.mark.skipif(not has_http2(), reason="zttp is not installed")
SOON_S = 20.0


def over_http2() -> httpx.Client:
    pytest.importorskip("h2")
    return httpx.Client(http1=False, http2=True, timeout=SOON_S)


@needs_http2
def test_both_versions_on_one_port(live: LiveServer) -> None:
    with over_http2() as client:
        new = client.post(f"{live.url}/ksql", json={"ksql": "SHOW TOPICS;"})
    old = httpx.post(f"{live.url}/ksql", json={"ksql": "SHOW TOPICS;"}, timeout=SOON_S)
    assert (new.http_version, old.http_version) == ("HTTP/2", "HTTP/1.1")
    assert new.json() == old.json()


@needs_http2
def test_rows_come_one_by_one_and_requests_share_a_connection(live: LiveServer, engine: FakeEngine) -> None:
    stream = engine.next_stream = FakeStream("PUSH", [ResultColumn("K", "STRING")], ends=False)
    with over_http2() as client:
        with client.stream("POST", f"{live.url}/query-stream", json={"sql": "S EMIT CHANGES;"}) as response:
            lines = response.iter_lines()
            assert "queryId" in next(lines)
            stream.rows.put(Row(["a"]))
            assert json.loads(next(lines)) == ["a"]
            closed = client.post(f"{live.url}/close-query", json={"queryId": stream.query_id})
            assert closed.status_code == 200
        assert stream.closed.wait(SOON_S)


@needs_http2
def test_each_row_of_a_push_query_is_a_frame(live: LiveServer, engine: FakeEngine) -> None:
    rows = [Row([str(number)]) for number in range(50)]
    engine.next_stream = FakeStream("PUSH", [ResultColumn("K", "STRING")], rows)
    with (
        over_http2() as client,
        client.stream("POST", f"{live.url}/query-stream", json={"sql": "S EMIT CHANGES;"}) as response,
    ):
        frames = list(response.iter_raw())
    assert frames[1:] == [f'["{number}"]\n'.encode() for number in range(50)]


@needs_http2
def test_a_client_that_leaves_ends_its_query(live: LiveServer, engine: FakeEngine) -> None:
    stream = engine.next_stream = FakeStream("PUSH", [ResultColumn("K", "STRING")], ends=False)
    with (
        over_http2() as client,
        client.stream("POST", f"{live.url}/query-stream", json={"sql": "S EMIT CHANGES;"}) as response,
    ):
        next(response.iter_lines())
    assert stream.closed.wait(SOON_S)


@needs_http2
def test_rows_are_inserted(live: LiveServer) -> None:
    content = b'{"target":"RIDES"}\n' + b'{"a":1}\n' * 3
    with over_http2() as client:
        response = client.post(f"{live.url}/inserts-stream", content=content)
    assert len(response.text.splitlines()) == 3


@needs_http2
def test_each_acknowledgement_is_a_frame(live: LiveServer) -> None:
    content = b'{"target":"RIDES"}\n' + b'{"a":1}\n' * 50
    with (
        over_http2() as client,
        client.stream("POST", f"{live.url}/inserts-stream", content=content) as response,
    ):
        frames = list(response.iter_raw())
    assert [json.loads(frame)["seq"] for frame in frames] == list(range(50))


class Endless(FakeStream):
    """As many rows as are read."""

    def __init__(self) -> None:
        super().__init__("PUSH", [ResultColumn("K", "STRING")], ends=False)
        self.read_bytes = 0
        self.paused = threading.Event()

    def read(self, timeout_s: float) -> Rows | None:
        if self.closed.is_set():
            return None
        self.read_bytes += 10_000
        return Rows([Row(["x" * 10_000])])


@needs_http2
def test_what_waits_for_a_client_that_does_not_read_is_limited(live: LiveServer, engine: FakeEngine) -> None:
    pytest.importorskip("h2")
    import h2.config
    import h2.connection

    stream = Endless()
    engine.next_stream = stream
    h2_client = h2.connection.H2Connection(h2.config.H2Configuration())
    h2_client.initiate_connection()
    body = json.dumps({"sql": "S EMIT CHANGES;"}).encode()
    with socket.create_connection(("127.0.0.1", live.port), timeout=SOON_S) as sock:
        headers = [(":method", "POST"), (":path", "/query-stream"), (":scheme", "http")]
        h2_client.send_headers(1, [*headers, (":authority", "localhost")])
        h2_client.send_data(1, body, end_stream=True)
        sock.sendall(h2_client.data_to_send())
        read, before = 0, -1
        while read < 65_535:  # the window that nothing enlarges
            for event in h2_client.receive_data(sock.recv(65_536)):
                read += len(getattr(event, "data", b"") or b"")
        # no more is read of the query than the window, what may wait, and one row or two
        while stream.read_bytes != before:
            before = stream.read_bytes
            stream.closed.wait(0.5)
        assert 65_535 < before < 65_535 + MAX_WAITING_BYTES + 50_000
        # room for more
        h2_client.increment_flow_control_window(1_000_000)
        h2_client.increment_flow_control_window(1_000_000, 1)
        sock.sendall(h2_client.data_to_send())
        while read < 900_000:
            for event in h2_client.receive_data(sock.recv(65_536)):
                read += len(getattr(event, "data", b"") or b"")
    assert stream.closed.wait(SOON_S)


def test_without_zttp_there_is_the_old_version_only(
    monkeypatch: pytest.MonkeyPatch, engine: FakeEngine
) -> None:
    monkeypatch.setattr(http, "has_http2", lambda: False)
    with LiveServer(engine) as live:
        assert httpx.get(f"{live.url}/info", timeout=SOON_S).http_version == "HTTP/1.1"
        if importlib.util.find_spec("h2"):
            with over_http2() as client, pytest.raises(httpx.HTTPError):
                client.get(f"{live.url}/info")
