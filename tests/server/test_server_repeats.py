"""Look-ups with a head that came before: they get the answer that they would get if they were parsed."""

from __future__ import annotations

import base64
import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import httpx
import pytest
from fake_engine import FakeEngine
from live_server import SOON_S, LiveServer, connected, trusting

from ksql_spark.authorization import ALL_RIGHTS, Rights
from ksql_spark.config import Config
from ksql_spark.engine import ResultColumn, Row
from ksql_spark.errors import KsqlError
from ksql_spark.runtime.results import PullResult
from server import http
from server.connections import Limits
from server.http import TlsSettings
from server.passwords import hash_password
from server.repeats import KnownHeads, piece_of

BODY = b'{"sql":"SELECT * FROM t WHERE k = 1;"}'
HEAD = b"POST /query-stream HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n" % len(BODY)
REQUEST = HEAD + b"\r\n" + BODY
COLUMNS = [ResultColumn("K", "INTEGER", True)]


class FakeLookUp:
    """A look-up of one row, which says what it is of."""

    def __init__(self, text: str, when_current: Callable[..., None] | None, stopped: tuple[str, ...]) -> None:
        self.columns, self.query_id, self.token = COLUMNS, "query_1", "token-1"
        self.when_current, self.stopped = when_current, stopped
        self._text = text

    def rows(self) -> list[list[str]]:
        if "broken" in self._text:
            raise KsqlError("INVALID_STATEMENT", reason="broken")
        return [[self._text]]

    def result(self) -> PullResult:
        return PullResult(self.columns, list(map(Row, self.rows())))


class LookUpEngine(FakeEngine):
    """Answers all statements at once."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.when_current: Callable[..., None] | None = None
        self.stopped: tuple[str, ...] = ()

    def look_up(  # type: ignore[override]
        self, text: str, properties: Any, parameters: Any, token: Any, rights: Rights = ALL_RIGHTS
    ) -> FakeLookUp | None:
        self.texts.append(text)
        if "many" in text:
            raise KsqlError("PULL_LIMIT", limit="1 runs", property="p")
        if "other" in text:
            return None
        return FakeLookUp(text, self.when_current, self.stopped)


class Answer(NamedTuple):
    status: int
    headers: dict[bytes, bytes]
    body: bytes

    @property
    def lasting(self) -> tuple[object, ...]:
        """It without what each answer has of its own."""
        left = {n: v for n, v in self.headers.items() if n not in (b"date", b"x-request-id")}
        return self.status, tuple(left.items()), self.body


def received(sock: socket.socket) -> Answer:
    """The next answer, which has a length."""
    data = b""
    while b"\r\n\r\n" not in data:
        part = sock.recv(1)
        assert part, data
        data += part
    line, *headers = data[:-4].split(b"\r\n")
    found = dict(header.split(b": ", 1) for header in headers)
    body = b""
    while len(body) < int(found[b"content-length"]):
        part = sock.recv(int(found[b"content-length"]) - len(body))
        assert part, body
        body += part
    return Answer(int(line.split()[1]), found, body)


def asked(sock: socket.socket, data: bytes = REQUEST) -> Answer:
    sock.sendall(data)
    return received(sock)


@pytest.fixture
def engine() -> LookUpEngine:
    return LookUpEngine()


@pytest.fixture
def unparsed(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The bodies of requests that were answered without being parsed."""
    bodies: list[bytes] = []
    real = KnownHeads.answer

    def noted(self: KnownHeads, known: Any, body: bytes, headers: Any) -> Any:
        answer = real(self, known, body, headers)
        if isinstance(answer, bytes):
            bodies.append(body)
        return answer

    monkeypatch.setattr(KnownHeads, "answer", noted)
    return bodies


@pytest.fixture
def live(engine: LookUpEngine, both: None) -> Iterator[LiveServer]:
    with LiveServer(engine) as live:
        yield live


def test_the_second_request_is_answered_as_the_first_without_being_parsed(
    live: LiveServer, unparsed: list[bytes]
) -> None:
    with connected(live) as sock:
        first, second = asked(sock), asked(sock)
    assert unparsed == [BODY]
    assert first.lasting == second.lasting
    assert first.body.endswith(b'\n["SELECT * FROM t WHERE k = 1;"]\n')
    assert first.headers[b"x-request-id"] != second.headers[b"x-request-id"]
    assert second.headers.keys() == first.headers.keys()


def test_over_tls(engine: LookUpEngine, tls: TlsSettings, unparsed: list[bytes]) -> None:
    with (
        LiveServer(engine, tls=tls) as live,
        connected(live) as plain,
        trusting().wrap_socket(plain) as sock,
    ):
        assert [asked(sock).lasting for _ in range(3)] == [asked(sock).lasting] * 3
    assert unparsed == [BODY] * 3


def test_over_http2_requests_are_parsed(live: LiveServer, unparsed: list[bytes]) -> None:
    if not http.has_http2():
        pytest.skip("there is no HTTP/2 without zttp")
    with httpx.Client(http1=False, http2=True) as client:
        answers = [client.post(f"{live.url}/query-stream", content=BODY) for _ in range(2)]
    assert {answer.http_version for answer in answers} == {"HTTP/2"}
    assert {answer.text for answer in answers} == {answers[0].text}
    assert not unparsed


def test_a_head_is_known_to_all_connections(live: LiveServer, unparsed: list[bytes]) -> None:
    with connected(live) as one, connected(live) as other:
        assert asked(one).lasting == asked(other).lasting
    assert unparsed == [BODY]


def test_the_body_may_be_another(live: LiveServer, unparsed: list[bytes]) -> None:
    other = BODY.replace(b"k = 1", b"k = 2")
    with connected(live) as sock:
        asked(sock)
        assert b"k = 2" in asked(sock, REQUEST.replace(BODY, other)).body
    assert unparsed == [other]


@pytest.mark.parametrize(
    "header",
    [
        b"Accept: application/vnd.ksql.v1+json",
        b"Accept: application/json",
        b"Content-Type: application/json",
        b"User-Agent: x",
        b"Connection: Keep-Alive",
    ],
)
def test_headers_that_last(live: LiveServer, unparsed: list[bytes], header: bytes) -> None:
    request = HEAD + header + b"\r\n\r\n" + BODY
    with connected(live) as sock:
        first, second = asked(sock, request), asked(sock, request)
    assert len(unparsed) == 1
    # the ids of queries are times
    assert first.lasting[:2] == second.lasting[:2]


def test_the_old_path(live: LiveServer, unparsed: list[bytes]) -> None:
    body = BODY.replace(b"sql", b"ksql")
    request = b"POST /query HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body) + body
    with connected(live) as sock:
        first, second = asked(sock, request), asked(sock, request)
    assert unparsed == [body]
    assert first.headers[b"content-type"] == second.headers[b"content-type"]


@pytest.mark.parametrize(
    "header",
    [
        b"X-Request-Id: mine",
        b"Origin: http://localhost",
        b"Expect: 100-nothing",
        b"Cookie: a=b",
        b"Accept: image/png",
        b"Forwarded: for=1.2.3.4",
    ],
)
def test_other_headers_are_parsed_each_time(live: LiveServer, unparsed: list[bytes], header: bytes) -> None:
    request = HEAD + header + b"\r\n\r\n" + BODY
    with connected(live) as sock:
        first, second = asked(sock, request), asked(sock, request)
    assert not unparsed
    assert first.lasting == second.lasting


@pytest.mark.parametrize("version, header", [(b"1.1", b"Connection: close\r\n"), (b"1.0", b"")])
def test_a_connection_that_ends_with_its_answer(
    live: LiveServer, unparsed: list[bytes], version: bytes, header: bytes
) -> None:
    request = HEAD.replace(b"HTTP/1.1", b"HTTP/" + version) + header + b"\r\n" + BODY
    for _ in range(2):
        with connected(live) as sock:
            assert asked(sock, request).status == 200
            assert sock.recv(1) == b""
    assert not unparsed


def test_pieces_of_a_request_are_joined(live: LiveServer, engine: LookUpEngine) -> None:
    with connected(live) as sock:
        expected = asked(sock)
    for at in range(1, len(REQUEST)):
        with connected(live) as sock:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.sendall(REQUEST[:at])
            assert asked(sock, REQUEST[at:]).lasting == expected.lasting
            assert asked(sock).lasting == expected.lasting
    assert len(engine.texts) == 2 * len(REQUEST) - 1


def test_the_head_may_come_before_the_body(
    live: LiveServer, unparsed: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    held_s = http.HELD_S
    monkeypatch.setattr(http, "HELD_S", SOON_S)
    with connected(live) as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        answers = []
        for _ in range(3):
            sock.sendall(HEAD + b"\r\n")
            time.sleep(0.01)  # so that they are two pieces; if not, they get the same answer
            answers.append(asked(sock, BODY).lasting)
        assert answers == answers[:1] * 3
        assert unparsed == [BODY] * 2
        monkeypatch.setattr(http, "HELD_S", held_s)
        sock.sendall(HEAD + b"\r\n")
        time.sleep(2 * held_s)  # so long that it is not waited for
        sock.sendall(BODY[:3])
        assert asked(sock, BODY[3:]).lasting == answers[0]
        assert unparsed == [BODY] * 2
        assert asked(sock).lasting == answers[0]
        assert unparsed == [BODY] * 3
        sock.sendall(HEAD + b"\r\n")  # whose body never comes


def test_requests_that_come_together(live: LiveServer) -> None:
    other = REQUEST.replace(b"k = 1", b"k = 2")
    with connected(live) as sock:
        expected = asked(sock)
        sock.sendall(REQUEST + other + REQUEST)
        assert received(sock).lasting == expected.lasting
        assert b"k = 2" in received(sock).body
        assert received(sock).lasting == expected.lasting
        sock.sendall(REQUEST + other[:70])
        assert received(sock).lasting == expected.lasting
        assert b"k = 2" in asked(sock, other[70:]).body
        assert asked(sock).lasting == expected.lasting


def test_a_request_is_not_hidden_in_another(live: LiveServer, engine: LookUpEngine) -> None:
    """What looks like a known request, but is the body of another one, is that body."""
    with connected(live) as sock:
        asked(sock)
        sock.sendall(b"POST /is_valid_property/a HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n"
                     % len(REQUEST))  # fmt: skip
        assert asked(sock).status == 405
        assert asked(sock).status == 200
    assert len(engine.texts) == 2


def test_requests_behind_a_look_up_that_waits_have_their_own_answers(
    live: LiveServer, engine: LookUpEngine
) -> None:
    """Also those that others sent, with other rights, over a connection that they share by a proxy."""
    released = threading.Event()

    def when_current(done: Callable[..., None]) -> None:
        threading.Thread(target=lambda: (released.wait(SOON_S), done(None))).start()

    with connected(live) as sock:
        asked(sock)
        engine.when_current = when_current
        sock.sendall(REQUEST)
        while len(engine.texts) < 2:
            time.sleep(0.01)
        sock.sendall(REQUEST.replace(b"k = 1", b"k = 2"))
        sock.sendall(b"POST /query HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nxxx")
        time.sleep(0.05)
        released.set()
        assert b"k = 1" in received(sock).body
        assert b"k = 2" in received(sock).body
        assert received(sock).status == 400


def test_a_body_that_is_still_to_come_is_no_request(live: LiveServer, engine: LookUpEngine) -> None:
    """A request was refused before its body came, and other bytes have the length of that body."""
    refused = b"POST /ksql HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\n"
    refused += b"Content-Length: %d\r\nX: %b\r\n\r\n"
    size = len(REQUEST)
    refused %= (size, b"x" * (size - len(refused % (size, b""))))
    assert len(refused) == size
    with connected(live) as sock:
        asked(sock)
        sock.sendall(b"GET /info HTTP/1.1\r\nHost: localhost\r\n\r\n" + refused)
        assert [received(sock).status for _ in range(2)] == [200, 415]
        sock.sendall(REQUEST)
        assert asked(sock, b"GET /info HTTP/1.1\r\nHost: localhost\r\n\r\n").status == 200
        assert len(engine.texts) == 1


def test_heads_with_other_ends_of_lines_are_parsed(live: LiveServer, unparsed: list[bytes]) -> None:
    two = b"GET /info HTTP/1.1\nHost: localhost\n\n" + REQUEST
    for _ in range(2):
        with connected(live) as sock:
            sock.sendall(two)
            data = sock.recv(65536)
            while b" 400 " not in data and data.count(b"HTTP/1.1 200 OK") < 2:  # parsers may refuse it
                part = sock.recv(65536)
                assert part, data
                data += part
    assert not unparsed


def test_a_body_that_is_late_has_the_time_of_any_body(engine: LookUpEngine) -> None:
    with LiveServer(engine, limits=Limits(header_s=0.3, idle_s=0.6)) as live:
        with connected(live) as sock:
            asked(sock)
        with connected(live) as sock:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.sendall(HEAD + b"\r\n")
            for at in range(len(BODY)):
                time.sleep(0.02)
                sock.sendall(BODY[at : at + 1])
            assert received(sock).status == 200


def test_a_connection_is_kept_while_a_body_is_waited_for(engine: LookUpEngine) -> None:
    with LiveServer(engine, keep_alive_s=1) as live:
        is_answered = False
        for _ in range(10):  # on a busy machine some come too late
            with connected(live) as sock, contextlib.suppress(ConnectionError, AssertionError):
                asked(sock)
                time.sleep(0.985)  # just before it would be closed
                sock.sendall(HEAD + b"\r\n")
                time.sleep(0.03)
                is_answered = asked(sock, BODY).status == 200
            if is_answered:
                break
        assert is_answered


def test_a_server_that_stops_answers_what_it_holds(
    engine: LookUpEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "HELD_S", SOON_S)
    with LiveServer(engine) as live, connected(live) as sock:
        asked(sock)
        sock.sendall(HEAD + b"\r\n")
        time.sleep(0.1)
        live.web.should_exit = True
        time.sleep(0.3)
        assert asked(sock, BODY).status in (200, 503)


def test_a_header_that_comes_twice_is_parsed(live: LiveServer, unparsed: list[bytes]) -> None:
    request = HEAD + b"Connection: keep-alive\r\nConnection: close\r\n\r\n" + BODY
    answers = []
    for _ in range(2):
        with connected(live) as sock:
            answers.append(asked(sock, request).lasting)
            assert sock.recv(1) == b""
    assert answers[0] == answers[1]
    assert not unparsed


def test_a_header_is_not_taken_for_a_request(live: LiveServer, engine: LookUpEngine) -> None:
    """A head that came in two pieces, the second of which looks like a head, is not kept."""
    hidden = HEAD.replace(b"localhost", b"evil.example")
    with connected(live) as sock:
        sock.sendall(b"POST /query-stream HTTP/1.1\r\nHost: localhost\r\nX: ")
        sock.sendall(hidden + b"\r\n" + BODY)
        assert sock.recv(65536)
    with connected(live) as sock:
        assert asked(sock, hidden + b"\r\n" + BODY).status == 403


@pytest.mark.parametrize("text", [b"many", b"broken"])
def test_errors(live: LiveServer, text: bytes) -> None:
    body = json.dumps({"sql": f"SELECT {text.decode()};"}).encode().ljust(len(BODY))
    request = HEAD + b"\r\n" + body
    with connected(live) as fresh:
        first = asked(fresh, request)
        asked(fresh)
    with connected(live) as sock:
        assert asked(sock).status == 200
        assert asked(sock, request).lasting == first.lasting
        assert asked(sock).status == 200
    assert first.status in (400, 429)
    assert f"SELECT {text.decode()};" in first.body.decode()


def test_what_is_no_look_up_is_parsed(live: LiveServer, engine: LookUpEngine) -> None:
    body = b'{"sql":"other"}'.ljust(len(BODY))
    with connected(live) as sock:
        expected = asked(sock)
        sock.sendall(HEAD + b"\r\n" + body)
        data = b""
        while not data.endswith(b"0\r\n\r\n"):
            part = sock.recv(65536)
            assert part, data
            data += part
        assert data.startswith(b"HTTP/1.1 200")
        assert asked(sock).lasting == expected.lasting


def test_a_look_up_that_has_to_wait_is_begun_once(live: LiveServer, engine: LookUpEngine) -> None:
    with connected(live) as sock:
        expected = asked(sock)
        engine.when_current = lambda done: done(None)
        assert asked(sock).lasting == expected.lasting
        engine.when_current = None
        assert asked(sock).lasting == expected.lasting
    assert len(engine.texts) == 3


def test_headers_of_an_answer(live: LiveServer, engine: LookUpEngine, unparsed: list[bytes]) -> None:
    body = json.dumps(
        {"sql": "S;", "properties": {"ksql.query.pull.consistency.token.enabled": True}}
    ).encode()
    request = b"POST /query-stream HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body)
    engine.stopped = ("CTAS_T_1",)
    with connected(live) as sock:
        first, second = asked(sock, request + body), asked(sock, request + body)
    assert unparsed == [body]
    assert first.lasting == second.lasting
    assert b"token-1" in first.headers.values()
    assert b"CTAS_T_1" in first.headers.values()


def test_a_server_that_stops_refuses_them(live: LiveServer) -> None:
    with connected(live) as sock:
        asked(sock)
        live.host.stopping = True
        assert asked(sock).status == 503
        live.host.stopping = False
        assert asked(sock).status == 200
        live.host.queries_file = "queries.sql"
        assert asked(sock).status == 403


def test_they_are_counted(live: LiveServer) -> None:
    with connected(live) as sock:
        for _ in range(3):
            asked(sock)
    text = httpx.get(f"{live.url}/metrics").text
    assert 'ksql_spark_requests_total{path="/query-stream",status="200"} 3.0' in text


def test_clients_are_told_apart(engine: LookUpEngine, unparsed: list[bytes], tmp_path: Any) -> None:
    users = tmp_path / "users"
    users.write_text(f"ann:{hash_password('a')}:reader\nbob:{hash_password('b')}:admin\n")
    config = Config({"ksql.server.auth.users.file": str(users)})

    def request(name: str, password: str) -> bytes:
        credentials = base64.b64encode(f"{name}:{password}".encode())
        return HEAD + b"Authorization: Basic " + credentials + b"\r\n\r\n" + BODY

    with LiveServer(engine, config=config) as live, connected(live) as sock:
        assert asked(sock).status == 401
        assert asked(sock, request("ann", "a")).status == 200
        assert asked(sock, request("ann", "b")).status == 401
        assert asked(sock, request("bob", "b")).status == 200
        assert not unparsed
        assert asked(sock, request("ann", "a")).status == 200
        assert asked(sock, request("bob", "b")).status == 200
        assert asked(sock).status == 401
    assert len(unparsed) == 2


def test_each_request_counts_where_there_is_a_limit(engine: LookUpEngine, unparsed: list[bytes]) -> None:
    with (
        LiveServer(engine, config=Config({"ksql.server.max.requests.per.second": 2})) as live,
        connected(live) as sock,
    ):
        assert [asked(sock).status for _ in range(5)].count(429) >= 2
    assert not unparsed


def test_idle_connections_are_closed_after_such_a_request(engine: LookUpEngine) -> None:
    with LiveServer(engine, limits=Limits(idle_s=0.3)) as live, connected(live) as sock:
        asked(sock)
        asked(sock)
        sock.settimeout(SOON_S)
        assert sock.recv(1) == b""


def test_connections_without_requests_are_closed(engine: LookUpEngine) -> None:
    with LiveServer(engine, keep_alive_s=1) as live:
        with connected(live) as sock:
            asked(sock)
        with connected(live) as sock:
            began = time.monotonic()
            while time.monotonic() < began + 1.5:  # longer than the timer that the first answer has set
                assert asked(sock).status == 200
            assert sock.recv(1) == b""


@pytest.mark.parametrize(
    "data", [b"", b"\r\n\r\n", b"POST / HTTP/1.1\r\nHost: a\r\n", b"\r\n\r\nPOST / HTTP/1.1\r\n\r\n"]
)
def test_what_does_not_begin_with_a_head(data: bytes) -> None:
    assert piece_of(data) is None
