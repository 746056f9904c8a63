"""Limits of connections: how many there are, how long a header may take, and how long they may be idle."""

from __future__ import annotations

import asyncio
import contextlib
import json
import select
import socket
import ssl
import threading
import time
from collections.abc import Iterable, Iterator
from itertools import accumulate
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from ksql_spark.config import Config
from ksql_spark.engine import Request, ResultColumn, Row
from ksql_spark.server.protocol.connections import Http2Position, JoiningTransport, Limits
from ksql_spark.server.protocol.http import TURN_FRAMES, TlsSettings, has_http2, tls_settings
from tests.certificates import make
from tests.server.fake_engine import FakeEngine, FakeStream
from tests.server.live_server import SOON_S, LiveServer, connected, trusting

needs_http2 = pytest.mark.skipif(not has_http2(), reason="zttp is not installed")
SHORT = Limits(header_s=0.4)
IDLE = Limits(idle_s=0.5)
#: so long that a client that does something now and then is never idle, on a busy machine either
PATIENT = Limits(idle_s=2.0)
HTTP2_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
NO_SETTINGS = b"\0\0\0\4\0\0\0\0\0"
WINDOW_UPDATE = b"\0\0\4\x08\0\0\0\0\0\0\0\0\1"


@pytest.fixture
def tls(tmp_path: Path) -> TlsSettings:
    make(tmp_path, "server")
    return tls_settings(
        Config(
            {
                "listeners": "https://127.0.0.1:0",
                "ksql.server.tls.certificate": str(tmp_path / "server.pem"),
                "ksql.server.tls.key": str(tmp_path / "server.key"),
            }
        )
    )


def push_query(engine: FakeEngine) -> FakeStream:
    """What the next query gives: rows that the test puts into it."""
    stream = engine.next_stream = FakeStream("PUSH", [ResultColumn("K", "STRING")], ends=False)
    return stream


def web_socket(live: LiveServer) -> ClientConnection:
    query = httpx.QueryParams({"request": json.dumps({"ksql": "S EMIT CHANGES;"})})
    return connect(f"ws://127.0.0.1:{live.port}/ws/query?{query}", open_timeout=SOON_S)


def is_closed(sock: socket.socket) -> bool:
    """Whether the server closes the connection; what it sends before that is read."""
    with contextlib.suppress(ConnectionError, ssl.SSLEOFError):
        while sock.recv(65_536):
            pass
    return True


def has_answer(sock: socket.socket) -> bool:
    """Whether a request is answered, all of which is read."""
    sock.sendall(b"GET /info HTTP/1.1\r\nHost: localhost\r\n\r\n")
    answer = b""
    while not answer.endswith(b"}"):
        piece = sock.recv(65_536)
        assert piece, answer
        answer += piece
    return answer.startswith(b"HTTP/1.1 200")


INFO = [(":method", "GET"), (":path", "/info"), (":scheme", "http"), (":authority", "localhost")]


def h2_client() -> Any:
    """A client of HTTP/2 that has begun."""
    config = pytest.importorskip("h2.config")
    connection = pytest.importorskip("h2.connection")
    client = connection.H2Connection(config.H2Configuration())
    client.initiate_connection()
    return client


def pings(client: Any) -> Iterator[bytes]:
    """What ``client`` has to send, and PINGs, for a while."""
    until = time.monotonic() + SOON_S
    while time.monotonic() < until:
        client.ping(b"8 octets")
        yield client.data_to_send()


def drip(sock: socket.socket, pieces: Iterable[bytes]) -> bool:
    """Send pieces, slowly, until the server closes the connection; False: it took them all."""
    with contextlib.suppress(ConnectionError, ssl.SSLError):
        for piece in pieces:
            sock.sendall(piece)
            if select.select([sock], [], [], 0.02)[0] and not sock.recv(65_536):
                return True
        return False
    return True


def slow_header() -> Iterator[bytes]:
    yield b"GET /info HTTP/1.1\r\nHost: localhost\r\n"
    for number in range(500):
        yield b"X-%d: 1\r\n" % number


@pytest.mark.usefixtures("both")
def test_a_connection_that_sends_nothing_is_closed(engine: FakeEngine) -> None:
    with LiveServer(engine, limits=SHORT) as live, connected(live) as sock:
        assert is_closed(sock)


@pytest.mark.usefixtures("both")
def test_a_header_that_comes_slowly_closes_its_connection(engine: FakeEngine) -> None:
    with LiveServer(engine, limits=SHORT) as live, connected(live) as sock:
        assert drip(sock, slow_header())


@pytest.mark.usefixtures("both")
def test_so_does_the_header_of_a_second_request(engine: FakeEngine) -> None:
    with LiveServer(engine, limits=SHORT) as live, connected(live) as sock:
        assert has_answer(sock)
        assert drip(sock, slow_header())


@pytest.mark.usefixtures("both")
def test_a_client_may_take_its_time_between_requests(engine: FakeEngine) -> None:
    with LiveServer(engine, limits=SHORT) as live, connected(live) as sock:
        for _ in range(2):
            assert has_answer(sock)
            with connected(live) as other:
                assert is_closed(other)  # longer than a header may take


@pytest.mark.parametrize("pieces", [[b"\r\n"], [b"\r\n\r\n"], [b"\r", b"\n"], [b"\r\n\r", b"\n"]])
def test_empty_lines_before_the_first_request_are_ignored(engine: FakeEngine, pieces: list[bytes]) -> None:
    with LiveServer(engine) as live, connected(live) as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for piece in pieces:
            sock.sendall(piece)
            time.sleep(0.05)  # so that they come one by one
        assert has_answer(sock)
        assert has_answer(sock)


@needs_http2
@pytest.mark.parametrize("before", [b"\r\n" * 100, b"\n", b"\r\r\n", b" \r\n", b"\r\n GET /a HTTP/1.1\r\n"])
def test_other_bytes_before_a_request_are_refused(engine: FakeEngine, before: bytes) -> None:
    with LiveServer(engine) as live, connected(live) as sock:
        sock.sendall(before + b"GET /info HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert sock.recv(65_536).startswith(b"HTTP/1.1 400")


@pytest.mark.usefixtures("both")
def test_empty_lines_that_come_slowly(engine: FakeEngine) -> None:
    with LiveServer(engine, limits=SHORT) as live, connected(live) as sock:
        assert drip(sock, [b"\r", b"\n"] * 200)


@needs_http2
def test_a_preface_that_comes_slowly(engine: FakeEngine) -> None:
    with LiveServer(engine, limits=SHORT) as live, connected(live) as sock:
        assert drip(sock, (HTTP2_PREFACE[i : i + 1] for i in range(20)))


@needs_http2
@pytest.mark.parametrize("is_second", [False, True])
def test_a_header_of_http2_that_comes_slowly(engine: FakeEngine, is_second: bool) -> None:
    client = h2_client()
    with LiveServer(engine, limits=SHORT) as live, connected(live) as sock:
        if is_second:
            client.send_headers(1, INFO, end_stream=True)
            sock.sendall(client.data_to_send())
            ended = False
            while not ended:
                ended = any(type(e).__name__ == "StreamEnded" for e in client.receive_data(sock.recv(65_536)))
        client.send_headers(3, [*INFO, *((f"x-{number}", "1") for number in range(100))])
        slow = client.data_to_send()
        assert drip(sock, (slow[i : i + 1] for i in range(len(slow) - 1)))


@needs_http2
def test_a_connection_of_http2_may_be_idle(engine: FakeEngine) -> None:
    pytest.importorskip("h2")
    with (
        LiveServer(engine, limits=SHORT) as live,
        httpx.Client(http1=False, http2=True, timeout=SOON_S) as client,
    ):
        streams = []
        for _ in range(2):
            response = client.get(f"{live.url}/info")
            streams.append(response.extensions["stream_id"])
            with connected(live) as other:
                assert is_closed(other)
        assert streams == [1, 3]  # of one connection


@needs_http2
@pytest.mark.parametrize(
    "last",
    [
        b"\0\0\4\x08\0\0\0\0\0\0\0\x10\0",  # WINDOW_UPDATE
        b"\0\0\4\3\0\0\0\0\1\0\0\0\x08",  # RST_STREAM
        b"\0\0\5\2\0\0\0\0\x09\0\0\0\0\1",  # PRIORITY
    ],
)
def test_so_may_one_whose_last_frame_was_none_of_a_request(engine: FakeEngine, last: bytes) -> None:
    client = h2_client()
    with LiveServer(engine, limits=SHORT) as live, connected(live) as sock:
        for stream in (1, 3):
            client.send_headers(stream, INFO, end_stream=True)
            sock.sendall(client.data_to_send())
            while not any(type(e).__name__ == "StreamEnded" for e in client.receive_data(sock.recv(65_536))):
                pass
            sock.sendall(client.data_to_send() + last)
            with connected(live) as other:
                assert is_closed(other)


@needs_http2
def test_a_header_of_http2_without_its_end(engine: FakeEngine) -> None:
    with LiveServer(engine, limits=SHORT) as live, connected(live) as sock:
        sock.sendall(HTTP2_PREFACE + NO_SETTINGS + b"\0\0\1\1\1\0\0\0\1\x82")  # no END_HEADERS
        assert is_closed(sock)


@pytest.mark.parametrize("size", [1, 2, 5, 1000])
def test_where_a_connection_of_http2_is(size: int) -> None:
    frames = [NO_SETTINGS, b"\0\0\1\1\1\0\0\0\1\x82", b"\0\0\2\x09\4\0\0\0\1ab", b"\0\0\3\0\1\0\0\0\1abc"]
    ends = list(accumulate(map(len, [HTTP2_PREFACE, *frames])))
    data = HTTP2_PREFACE + b"".join(frames)
    position = Http2Position()
    for start in range(0, len(data), size):
        position.move_over(data[start : start + size])
        # after the header's first frame, its second one has to come
        assert position.is_between == (min(start + size, len(data)) in (*ends[:2], *ends[3:]))


@needs_http2
@pytest.mark.parametrize(
    "frame",
    [
        b"\0\0\x08\6\0\0\0\0\0pingping",
        NO_SETTINGS,
        b"\0\0\5\2\0\0\0\0\1\0\0\0\0\x10",
        b"\0\0\4\3\0\0\0\0\1\0\0\0\x08",
        b"\0\0\0\0\0\0\0\0\1",
        b"\0\0\0\x77\0\0\0\0\0",
    ],
    ids=["PING", "SETTINGS", "PRIORITY", "RST_STREAM", "DATA", "UNKNOWN"],
)
def test_a_flood_of_frames_that_carry_nothing_ends_the_connection(engine: FakeEngine, frame: bytes) -> None:
    client = h2_client()
    client.send_headers(1, [(":method", "POST"), (":path", "/ksql"), *INFO[2:]])
    with LiveServer(engine) as live, connected(live) as sock:
        sock.sendall(client.data_to_send() + frame * 100)
        assert sock.recv(65_536)  # a few are answered
        with contextlib.suppress(ConnectionError):
            sock.sendall(frame * 10_000)
        assert is_closed(sock)


@needs_http2
def test_others_have_their_turn_during_a_flood_of_frames(engine: FakeEngine) -> None:
    position = Http2Position()
    data = HTTP2_PREFACE + WINDOW_UPDATE * 1_000
    assert position.move_over(data, TURN_FRAMES) == len(HTTP2_PREFACE) + len(WINDOW_UPDATE) * TURN_FRAMES - 4
    client = h2_client()
    with LiveServer(engine) as live, connected(live) as sock:
        sock.sendall(client.data_to_send() + WINDOW_UPDATE * 50_000)
        assert httpx.get(f"{live.url}/info", timeout=SOON_S).status_code == 200
        client.send_headers(1, INFO, end_stream=True)  # nothing of what waited is lost
        sock.sendall(client.data_to_send())
        while not any(type(e).__name__ == "StreamEnded" for e in client.receive_data(sock.recv(65_536))):
            pass


@needs_http2
def test_a_request_of_http2_without_a_body(engine: FakeEngine) -> None:
    client = h2_client()
    with LiveServer(engine) as live, connected(live) as sock:
        header = [(":method", "POST"), (":path", "/ksql"), *INFO[2:], ("content-type", "application/json")]
        client.send_headers(1, header, end_stream=True)
        sock.sendall(client.data_to_send())
        events: list[Any] = []
        while not any(type(e).__name__ == "StreamEnded" for e in events):
            events += client.receive_data(sock.recv(65_536))
        answer = b"".join(e.data for e in events if type(e).__name__ == "DataReceived")
        assert json.loads(answer)["error_code"] == 40000


@pytest.mark.usefixtures("both")
def test_an_answer_comes_with_its_header(engine: FakeEngine) -> None:
    with LiveServer(engine) as live, connected(live) as sock:
        for _ in range(2):
            sock.sendall(b"GET /info HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert sock.recv(65_536).endswith(b"}")


@pytest.mark.usefixtures("both")
def test_answers_without_a_body(engine: FakeEngine) -> None:
    with LiveServer(engine) as live, connected(live) as sock:
        sock.sendall(b"HEAD /info HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert sock.recv(65_536).startswith(b"HTTP/1.1 405 ")
        assert has_answer(sock)


class Written(asyncio.Transport):
    """Notes what is written."""

    def __init__(self) -> None:
        super().__init__()
        self.pieces: list[bytes] = []
        self.is_closed = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.pieces.append(bytes(data))

    def get_protocol(self) -> asyncio.BaseProtocol:
        raise NotImplementedError

    def is_closing(self) -> bool:
        return self.is_closed

    def close(self) -> None:
        self.is_closed = True


def test_pieces_are_joined_only_where_they_are_to() -> None:
    written = Written()
    transport = JoiningTransport(written)
    transport.write(b"100 ")
    transport.holds_next = True
    for piece in (b"header ", b"body ", b"", b"next "):
        transport.write(piece)
    assert written.pieces == [b"100 ", b"header body ", b"next "]
    transport.holds_next = True
    transport.write(b"header")
    transport.close()
    assert (written.pieces[3:], transport.is_closing()) == ([b"header"], True)


def test_long_pieces_are_not_copied() -> None:
    written = Written()
    transport = JoiningTransport(written)
    transport.holds_next = True
    for piece in (b"header", body := b"x" * 100_000, b""):
        transport.write(piece)
    assert written.pieces == [b"header", body]


@pytest.mark.usefixtures("both")
def test_a_client_that_asks_first_is_not_told_to_send_too_much(engine: FakeEngine) -> None:
    with LiveServer(engine) as live, connected(live) as sock:
        header = "Content-Length: 100000000\r\nContent-Type: application/json\r\nExpect: 100-continue"
        sock.sendall(f"POST /ksql HTTP/1.1\r\nHost: localhost\r\n{header}\r\n\r\n".encode())
        assert sock.recv(65_536).startswith(b"HTTP/1.1 413 ")


def test_a_handshake_that_does_not_come(engine: FakeEngine, tls: TlsSettings) -> None:
    with LiveServer(engine, limits=SHORT, tls=tls) as live, connected(live) as sock:
        assert is_closed(sock)


@pytest.mark.parametrize("protocol", ["http/1.1", pytest.param("h2", marks=needs_http2)])
def test_a_header_that_does_not_come_over_tls(engine: FakeEngine, tls: TlsSettings, protocol: str) -> None:
    with (
        LiveServer(engine, limits=SHORT, tls=tls) as live,
        connected(live) as clear,
        trusting(protocol).wrap_socket(clear) as sock,
    ):
        assert is_closed(sock)


@pytest.mark.usefixtures("both")
def test_a_header_that_comes_slowly_over_tls(engine: FakeEngine, tls: TlsSettings) -> None:
    with (
        LiveServer(engine, limits=SHORT, tls=tls) as live,
        connected(live) as clear,
        trusting().wrap_socket(clear) as sock,
    ):
        assert drip(sock, slow_header())


@pytest.mark.usefixtures("both")
def test_answers_may_take_longer_than_headers(engine: FakeEngine) -> None:
    stream = push_query(engine)
    with (
        LiveServer(engine, limits=SHORT) as live,
        httpx.stream("POST", f"{live.url}/query-stream", json={"sql": "S"}, timeout=SOON_S) as response,
    ):
        lines = response.iter_lines()
        next(lines)
        with connected(live) as other:
            assert is_closed(other)
        stream.rows.put(Row(["a"]))
        assert json.loads(next(lines)) == ["a"]


@pytest.mark.usefixtures("both")
def test_so_may_those_of_websockets(engine: FakeEngine) -> None:
    stream = push_query(engine)
    with LiveServer(engine, limits=SHORT) as live, web_socket(live) as websocket:
        websocket.recv(SOON_S)
        with connected(live) as other:
            assert is_closed(other)
        stream.rows.put(Row(["a"]))
        assert "a" in str(websocket.recv(SOON_S))


@pytest.mark.usefixtures("both")
def test_a_connection_between_requests_is_closed_when_idle(engine: FakeEngine) -> None:
    with LiveServer(engine, limits=IDLE) as live, connected(live) as sock:
        assert has_answer(sock)
        assert is_closed(sock)


@pytest.mark.usefixtures("both")
def test_so_is_a_push_query_without_rows(engine: FakeEngine) -> None:
    stream = push_query(engine)
    with (
        LiveServer(engine, limits=IDLE) as live,
        httpx.stream("POST", f"{live.url}/query-stream", json={"sql": "S"}, timeout=SOON_S) as response,
        pytest.raises(httpx.RemoteProtocolError),
    ):
        list(response.iter_lines())
    assert stream.closed.wait(SOON_S)


@pytest.mark.usefixtures("both")
def test_and_a_websocket_without_rows(engine: FakeEngine) -> None:
    stream = push_query(engine)
    with (
        LiveServer(engine, limits=IDLE) as live,
        web_socket(live) as websocket,
        pytest.raises(ConnectionClosed) as closed,
    ):
        while True:
            websocket.recv(SOON_S)
    assert closed.value.rcvd is not None and closed.value.rcvd.code == 1001
    assert stream.closed.wait(SOON_S)


@pytest.mark.usefixtures("both")
def test_rows_keep_a_push_query(engine: FakeEngine) -> None:
    stream = push_query(engine)
    until = time.monotonic() + 2 * PATIENT.idle_s
    with (
        LiveServer(engine, limits=PATIENT) as live,
        httpx.stream("POST", f"{live.url}/query-stream", json={"sql": "S"}, timeout=SOON_S) as response,
    ):
        lines = response.iter_lines()
        next(lines)
        while time.monotonic() < until and not stream.closed.wait(0.05):
            stream.rows.put(Row(["a"]))
            assert json.loads(next(lines)) == ["a"]


@pytest.mark.usefixtures("both")
def test_rows_keep_a_websocket(engine: FakeEngine) -> None:
    stream = push_query(engine)
    until = time.monotonic() + 2 * PATIENT.idle_s
    with LiveServer(engine, limits=PATIENT) as live, web_socket(live) as websocket:
        websocket.recv(SOON_S)
        while time.monotonic() < until and not stream.closed.wait(0.05):
            stream.rows.put(Row(["a"]))
            assert "a" in str(websocket.recv(SOON_S))


@pytest.mark.usefixtures("both")
def test_pings_do_not_keep_a_websocket(engine: FakeEngine) -> None:
    push_query(engine)
    with LiveServer(engine, limits=IDLE) as live, web_socket(live) as websocket:
        websocket.recv(SOON_S)
        with pytest.raises(ConnectionClosed):
            while True:
                websocket.ping().wait(SOON_S)


class BusyEngine(FakeEngine):
    """Answers statements when the test says so."""

    def __init__(self) -> None:
        super().__init__()
        self.may_answer = threading.Event()

    def execute(self, request: Request) -> list[dict[str, Any]]:
        """As FakeEngine.execute, later."""
        assert self.may_answer.wait(SOON_S)
        return super().execute(request)


@pytest.mark.usefixtures("both")
def test_answers_are_waited_for() -> None:
    engine = BusyEngine()
    body = b'{"ksql":"SHOW STREAMS;"}'
    with LiveServer(engine, limits=IDLE) as live, connected(live) as sock:
        sock.sendall(b"POST /ksql HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body))
        sock.sendall(body)
        with connected(live) as other:
            assert has_answer(other) and is_closed(other)
        engine.may_answer.set()
        assert sock.recv(65_536).startswith(b"HTTP/1.1 200")


@needs_http2
def test_a_client_of_http2_that_only_sends_pings(engine: FakeEngine) -> None:
    client = h2_client()
    with LiveServer(engine, limits=IDLE) as live, connected(live) as sock:
        client.send_headers(1, INFO, end_stream=True)
        assert drip(sock, pings(client))


@needs_http2
def test_a_push_query_without_rows_over_http2(engine: FakeEngine) -> None:
    stream = push_query(engine)
    client = h2_client()
    with LiveServer(engine, limits=IDLE) as live, connected(live) as sock:
        client.send_headers(1, [(":method", "POST"), (":path", "/query-stream"), *INFO[2:]])
        client.send_data(1, b'{"sql":"S"}', end_stream=True)
        sock.sendall(client.data_to_send())
        assert is_closed(sock)
    assert stream.closed.wait(SOON_S)


@needs_http2
def test_pings_keep_a_push_query_over_http2(engine: FakeEngine) -> None:
    stream = push_query(engine)
    client = h2_client()
    until = time.monotonic() + 2 * PATIENT.idle_s
    with LiveServer(engine, limits=PATIENT) as live, connected(live) as sock:
        client.send_headers(1, [(":method", "POST"), (":path", "/query-stream"), *INFO[2:]])
        client.send_data(1, b'{"sql":"S"}', end_stream=True)
        while time.monotonic() < until:
            time.sleep(0.01)  # a flood would end the connection
            client.ping(b"12345678")
            sock.sendall(client.data_to_send())
            data = sock.recv(65_536)
            assert data
            client.receive_data(data)
        assert not stream.closed.is_set()


def test_no_limit_of_idleness(engine: FakeEngine) -> None:
    with (
        LiveServer(engine, limits=Limits(header_s=0.2, idle_s=0.0)) as live,
        connected(live) as sock,
        connected(live) as other,
    ):
        assert has_answer(sock)
        assert is_closed(other)
        assert has_answer(sock)


@pytest.mark.usefixtures("both")
def test_one_connection_too_many(engine: FakeEngine) -> None:
    with LiveServer(engine, limits=Limits(most=2)) as live:
        with connected(live) as first, connected(live) as second:
            assert has_answer(first)
            assert has_answer(second)
            refused = httpx.get(f"{live.url}/info", timeout=SOON_S)
            assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
            with connected(live) as silent:
                assert is_closed(silent)
            assert has_answer(first)
        status = 429
        while status == 429:  # until the server has seen that they are gone
            status = httpx.get(f"{live.url}/info", timeout=SOON_S).status_code
        assert status == 200


@pytest.mark.usefixtures("both")
def test_silent_connections_keep_nobody_out(engine: FakeEngine) -> None:
    with LiveServer(engine, limits=Limits(header_s=3600.0, most=3)) as live, connected(live) as first:
        assert has_answer(first)
        with contextlib.ExitStack() as stack:
            silent = [stack.enter_context(connected(live)) for _ in range(2)]
            for sock in silent:
                sock.sendall(b"GET /info HTTP/1.1\r\n")
            assert httpx.get(f"{live.url}/info", timeout=SOON_S).status_code == 200
            closed, _, _ = select.select(silent, [], [], SOON_S)  # either: both came at once
            assert len(closed) == 1 and is_closed(closed[0])
        assert has_answer(first)
