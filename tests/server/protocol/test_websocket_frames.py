"""WebSockets at the level of bytes: frames that are wrong, too many or too large, and upgrades that fail."""

from __future__ import annotations

import contextlib
import json
import socket
import zlib
from collections.abc import Iterator
from urllib.parse import quote

import httpx
import pytest

from ksql_spark.engine import ResultColumn
from ksql_spark.server.protocol.connections import Limits
from ksql_spark.server.protocol.http import MAX_MESSAGE_BYTES, MAX_WEBSOCKET_FRAMES
from tests.server.fake_engine import FakeEngine, FakeStream
from tests.server.live_server import SOON_S, LiveServer, connected
from tests.waiting import until as wait_until

#: the first byte of a frame without its opcode: the end of a message, one of its other parts, or compressed
LAST, PART, COMPRESSED = 0x80, 0x00, 0xC0
CONTINUATION, TEXT, BINARY, PING, PONG = 0, 1, 2, 9, 10
MASK = b"\0\0\0\0"
PUSH = f"/ws/query?request={quote(json.dumps({'ksql': 'SELECT * FROM S EMIT CHANGES;'}))}"
HEADERS = (
    "Host: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
)


def frame(opcode: int, data: bytes = b"", first: int = LAST) -> bytes:
    """A client's frame."""
    size = len(data)
    length = bytes([0x80 | size]) if size < 126 else bytes([0x80 | 127]) + size.to_bytes(8)
    return bytes([first | opcode]) + length + MASK + data


def until(sock: socket.socket, wanted: bytes) -> bytes:
    """What the server sends, up to ``wanted``."""
    got = b""
    while wanted not in got:
        data = sock.recv(65_536)
        assert data, got
        got += data
    return got


def until_closed(sock: socket.socket) -> bytes:
    """What the server sends before it closes the connection."""
    got = b""
    with contextlib.suppress(ConnectionError):
        while data := sock.recv(65_536):
            got += data
    return got


@contextlib.contextmanager
def push_query(live: LiveServer, engine: FakeEngine, headers: str = "") -> Iterator[socket.socket]:
    """The connection of a query without rows, which has ended after the block."""
    stream = engine.next_stream = FakeStream("PUSH", [ResultColumn("K", "STRING")], ends=False)
    with connected(live) as sock:
        sock.sendall(f"GET {PUSH} HTTP/1.1\r\n{HEADERS}{headers}\r\n".encode())
        until(sock, b"\r\n\r\n")
        wait_until(lambda: stream in engine.streams)
        yield sock
    assert stream.closed.wait(SOON_S)


@pytest.mark.usefixtures("both")
@pytest.mark.parametrize(
    "request_",
    [
        f"POST {PUSH} HTTP/1.1\r\n{HEADERS}Content-Length: 5\r\n\r\nhello",
        f"GET {PUSH} HTTP/1.1\r\n{HEADERS}Content-Length: 5\r\n\r\nhello",
        f"GET {PUSH}{'x' * 9_000} HTTP/1.1\r\n{HEADERS}\r\n",
        f"GET {PUSH} HTTP/1.1\r\n{HEADERS}{'X: y' * 3_000}\r\n\r\n",
        f"GET {PUSH} HTTP/1.1\r\n{HEADERS}{'X: y' + chr(13) + chr(10)}{'A: b' * 150}\r\n\r\n",
    ],
    ids=["POST", "with a body", "a long path", "a long header", "odd headers"],
)
def test_a_request_that_opens_no_websocket_is_answered_or_refused(engine: FakeEngine, request_: str) -> None:
    """None leaves a connection behind that nothing ends."""
    with LiveServer(engine) as live, connected(live) as sock:
        sock.sendall(request_.encode())
        status = until(sock, b"\r\n").split()[1]
        if status != b"101":
            assert status in (b"400", b"414", b"431")
            until_closed(sock)


@pytest.mark.parametrize(
    "piece",
    [
        frame(PING),
        frame(PONG),
        frame(TEXT, b"x"),
        frame(TEXT, b"\xff"),
        frame(TEXT, b"", PART) + frame(CONTINUATION),
    ],
    ids=["PING", "PONG", "messages", "messages that are no text", "messages in parts"],
)
def test_a_flood_of_frames_ends_the_connection(live: LiveServer, engine: FakeEngine, piece: bytes) -> None:
    with push_query(live, engine) as sock:
        sock.sendall(piece * 10 + frame(PING, b"a few are fine"))
        until(sock, b"a few are fine")
        with contextlib.suppress(ConnectionError):
            sock.sendall(piece * MAX_WEBSOCKET_FRAMES * 20)
        until_closed(sock)


def test_parts_of_a_message_that_never_ends_are_not_kept(live: LiveServer, engine: FakeEngine) -> None:
    with push_query(live, engine) as sock:
        sock.sendall(frame(TEXT, b"", PART))
        with contextlib.suppress(ConnectionError):
            for _ in range(100):
                sock.sendall(frame(CONTINUATION, b"", PART) * MAX_WEBSOCKET_FRAMES)
        until_closed(sock)


@pytest.mark.parametrize("is_compressed", [False, True])
def test_a_large_message_ends_the_connection(
    live: LiveServer, engine: FakeEngine, is_compressed: bool
) -> None:
    data = bytes(16_000_000)
    extensions = ""
    if is_compressed:
        extensions = "Sec-WebSocket-Extensions: permessage-deflate\r\n"
        deflate = zlib.compressobj(9, zlib.DEFLATED, -12)
        data = (deflate.compress(data) + deflate.flush(zlib.Z_SYNC_FLUSH))[:-4]
        assert len(data) < MAX_MESSAGE_BYTES
    with push_query(live, engine, extensions) as sock:
        with contextlib.suppress(ConnectionError):
            sock.sendall(frame(BINARY, data, COMPRESSED if is_compressed else LAST))
        until_closed(sock)


def test_wrong_frames_end_the_connection(live: LiveServer, engine: FakeEngine) -> None:
    for wrong, reason in (
        (b"\x81\x01x", b"incorrect masking"),
        (frame(3), b"invalid opcode"),
        (frame(CONTINUATION), b"unexpected continuation"),
        (frame(PING, b"x" * 126), b"control frame too long"),
        (frame(TEXT, b"x", COMPRESSED), b"reserved bits"),
    ):
        with push_query(live, engine) as sock:
            sock.sendall(wrong)
            assert reason in until_closed(sock)


def test_those_that_do_not_confirm_the_end_give_way_to_others(engine: FakeEngine) -> None:
    with LiveServer(engine, limits=Limits(most=5)) as live, contextlib.ExitStack() as silent:
        for _ in range(20):
            sock = silent.enter_context(connected(live))
            sock.sendall(f"GET /ws/query HTTP/1.1\r\n{HEADERS}\r\n".encode())
            until(sock, b"no parameter request")
        assert httpx.get(f"{live.url}/info", timeout=SOON_S).status_code == 200


def test_a_refused_websocket_is_no_error(
    live: LiveServer, engine: FakeEngine, caplog: pytest.LogCaptureFixture
) -> None:
    with connected(live) as sock:
        sock.sendall(f"GET {PUSH} HTTP/1.1\r\n{HEADERS}Origin: http://evil.example\r\n\r\n".encode())
        assert until_closed(sock).startswith(b"HTTP/1.1 403")
    assert engine.requests == [] and not [one for one in caplog.records if one.levelname == "ERROR"]


def test_others_are_answered_during_a_flood(live: LiveServer, engine: FakeEngine) -> None:
    with push_query(live, engine) as sock:
        for _ in range(20):
            with contextlib.suppress(ConnectionError):
                sock.sendall(frame(PING) * 50_000)
            assert httpx.get(f"{live.url}/info", timeout=SOON_S).status_code == 200
