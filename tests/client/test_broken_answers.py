"""Answers that break off, and those of something that is not ksql-spark: all errors are the client's own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator

import httpx
import pytest

from ksql_spark.client import AsyncConnection, Connection, UnreachableError

URL = "http://there:1"
COLUMNS = b'{"queryId":"q","columnNames":["A"],"columnTypes":["INTEGER"]}\n'
PAGE = b"<html>\n<body>Welcome</body>\n</html>\n"


class Breaking(httpx.SyncByteStream, httpx.AsyncByteStream):
    """Has ``content``, and then the connection breaks off."""

    def __init__(self, content: bytes) -> None:
        self.content = content

    def __iter__(self) -> Iterator[bytes]:
        if self.content:
            yield self.content
        raise httpx.RemoteProtocolError("peer closed connection")

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self:
            yield piece


class Empty(Breaking):
    """Ends at once, as if it were whole."""

    def __init__(self) -> None:
        super().__init__(b"")

    def __iter__(self) -> Iterator[bytes]:
        return iter(())


CALLS: dict[str, Callable[[Connection], object]] = {
    "insert": lambda c: c.insert("T", [{"A": 1}]),
    "run": lambda c: c.run("SHOW STREAMS;"),
    "stream": lambda c: list(c.stream("SELECT * FROM T;")),
    "fetchall": lambda c: c.execute("SELECT * FROM T;").fetchall(),
}
ASYNC_CALLS: dict[str, Callable[[AsyncConnection], object]] = {
    "insert": lambda c: c.insert("T", [{"A": 1}]),
    "run": lambda c: c.run("SHOW STREAMS;"),
    "fetch": lambda c: c.fetch("SELECT * FROM T;"),
}
#: what a server sends before the connection breaks off, of which each call takes something
BEGINNINGS = {
    "insert": b'{"status":"ok","seq":0}\n',
    "run": b'[{"@type":',
    "stream": COLUMNS + b"[1]\n[",
    "fetchall": COLUMNS + b"[1]\n[",
    "fetch": COLUMNS + b"[1]\n[",
}


def transport(status: int, stream: Breaking | bytes) -> httpx.MockTransport:
    def answer(request: httpx.Request) -> httpx.Response:
        if isinstance(stream, bytes):
            return httpx.Response(status, content=stream)
        return httpx.Response(status, stream=stream)

    return httpx.MockTransport(answer)


def check(name: str, status: int, stream: Breaking | bytes, why: str) -> None:
    """The call ``name`` raises an error of the client, which says ``why``."""
    if name in CALLS:
        with (
            Connection(httpx.Client(transport=transport(status, stream)), {}, True, [URL]) as connection,
            pytest.raises(UnreachableError, match=why),
        ):
            CALLS[name](connection)
    if name in ASYNC_CALLS:

        async def call() -> None:
            http = httpx.AsyncClient(transport=transport(status, stream))
            async with AsyncConnection(http, {}, True, [URL]) as connection:
                await ASYNC_CALLS[name](connection)  # type: ignore[misc]

        with pytest.raises(UnreachableError, match=why):
            asyncio.run(call())


@pytest.mark.parametrize("name", BEGINNINGS)
@pytest.mark.parametrize("begins", [True, False])
def test_an_answer_that_breaks_off(name: str, begins: bool) -> None:
    check(name, 200, Breaking(BEGINNINGS[name] if begins else b""), URL)


@pytest.mark.parametrize("name", BEGINNINGS)
def test_an_error_that_breaks_off(name: str) -> None:
    check(name, 400, Breaking(b'{"message":'), URL)


@pytest.mark.parametrize("name", BEGINNINGS)
def test_a_page_of_something_else(name: str) -> None:
    check(name, 200, PAGE, f"The server at {URL} is not a ksql-spark server")


@pytest.mark.parametrize("name", ["stream", "fetchall", "fetch", "run"])
def test_an_answer_without_content(name: str) -> None:
    check(name, 200, Empty(), URL)


def test_rows_before_the_break_are_there() -> None:
    stream = Breaking(COLUMNS + b"[1]\n[2]\n")
    with Connection(httpx.Client(transport=transport(200, stream)), {}, True, [URL]) as connection:
        rows = connection.stream("SELECT * FROM T;")
        assert [next(rows), next(rows)] == [(1,), (2,)]
        with pytest.raises(UnreachableError, match="was interrupted"):
            next(rows)
