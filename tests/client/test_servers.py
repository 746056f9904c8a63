"""Which of several servers is asked, where requests meet servers that are gone at the same time."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from ksql_spark.client import (
    AsyncConnection,
    Connection,
    InterfaceError,
    UnreachableError,
    connect,
    connect_async,
)

GONE, ALSO_GONE, THERE, ANOTHER = "http://gone:1", "http://also-gone:2", "http://there:3", "http://another:4"
AT_ONCE = 4
PATIENCE_S = 60


def address_of(request: httpx.Request) -> str:
    return f"{request.url.scheme}://{request.url.netloc.decode()}"


def refused(request: httpx.Request) -> httpx.Response:
    raise httpx.ConnectError("Connection refused", request=request)


class Network:
    """Answers THERE and ANOTHER only, and notes the order of the addresses that are asked.

    ``meanwhile`` is done while an address is asked, once for each.
    """

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.answers: dict[str, Callable[[httpx.Request], httpx.Response]] = {
            THERE: lambda _: httpx.Response(200, json=[]),
            ANOTHER: lambda _: httpx.Response(200, json=[]),
        }
        self.meanwhile: dict[str, Callable[[], Any]] = {}

    def __call__(self, request: httpx.Request) -> httpx.Response:
        url = address_of(request)
        self.asked.append(url)
        answer = self.answers.get(url, refused)
        if url in self.meanwhile:
            self.meanwhile.pop(url)()
        return answer(request)

    def connection(self, *urls: str) -> Connection:
        return Connection(httpx.Client(transport=httpx.MockTransport(self)), {}, True, urls)


@pytest.fixture
def network() -> Network:
    return Network()


def test_threads_that_meet_the_same_dead_server_all_go_on_to_the_next(network: Network) -> None:
    together = threading.Semaphore(AT_ONCE)
    all_there = threading.Barrier(AT_ONCE)

    def refused_together(request: httpx.Request) -> httpx.Response:
        if together.acquire(blocking=False):
            all_there.wait(PATIENCE_S)
        return refused(request)

    network.answers[GONE] = refused_together
    with network.connection(GONE, THERE) as connection, ThreadPoolExecutor(AT_ONCE) as threads:
        requests = [threads.submit(connection.run, "SHOW STREAMS;") for _ in range(AT_ONCE)]
        assert [request.result() for request in requests] == [[]] * AT_ONCE
        assert connection.url == THERE
    assert sorted(network.asked) == [GONE] * AT_ONCE + [THERE] * AT_ONCE


def test_tasks_that_meet_the_same_dead_server_all_go_on_to_the_next(network: Network) -> None:
    async def ask() -> list[Any]:
        all_there = asyncio.Event()

        async def answer(request: httpx.Request) -> httpx.Response:
            if network.asked.count(GONE) == AT_ONCE - 1:
                all_there.set()
            try:
                return network(request)
            finally:
                await all_there.wait()

        http = httpx.AsyncClient(transport=httpx.MockTransport(answer))
        async with AsyncConnection(http, {}, True, [GONE, THERE]) as connection:
            return await asyncio.gather(*(connection.run("SHOW STREAMS;") for _ in range(AT_ONCE)))

    assert asyncio.run(ask()) == [[]] * AT_ONCE
    assert network.asked == [GONE] * AT_ONCE + [THERE] * AT_ONCE


def test_a_request_asks_no_server_that_others_have_passed_over_meanwhile(network: Network) -> None:
    with network.connection(GONE, ALSO_GONE, THERE) as connection:
        network.meanwhile[GONE] = lambda: connection.run("SHOW STREAMS;")
        assert connection.run("SHOW STREAMS;") == []
    assert network.asked == [GONE, GONE, ALSO_GONE, THERE, THERE]


def test_a_request_asks_each_server_once(network: Network) -> None:
    def fail() -> None:
        with pytest.raises(UnreachableError, match=f"No server answers at {GONE} "):
            connection.run("SHOW TABLES;")

    with network.connection(GONE, ALSO_GONE) as connection:
        network.meanwhile[ALSO_GONE] = fail
        with pytest.raises(UnreachableError, match=f"No server answers at {ALSO_GONE} "):
            connection.run("SHOW STREAMS;")
    assert network.asked == [GONE, ALSO_GONE, ALSO_GONE, GONE]


def test_an_error_names_the_server_that_was_asked(network: Network) -> None:
    def leave() -> None:
        del network.answers[THERE]
        assert connection.run("SHOW STREAMS;") == []

    network.answers[THERE] = lambda _: httpx.Response(404, text="another service")
    with network.connection(THERE, ANOTHER) as connection:
        network.meanwhile[THERE] = leave
        with pytest.raises(UnreachableError, match=f"The server at {THERE} is not a ksql-spark server"):
            connection.run("SHOW STREAMS;")
        assert connection.url == ANOTHER


def test_a_query_is_ended_where_it_runs(network: Network) -> None:
    closed: list[str] = []
    is_closed = threading.Event()

    def rows() -> Iterator[bytes]:
        yield b'[{"header":{"queryId":"q","schema":"`K` STRING"}},\n'
        is_closed.wait(PATIENCE_S)

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/close-query":
            closed.append(address_of(request))
            is_closed.set()
        return httpx.Response(200, content=rows() if request.url.path == "/query-stream" else b"[]")

    network.answers |= {THERE: answer, ANOTHER: answer}
    with network.connection(THERE, ANOTHER) as connection:
        frames = connection.frames("SELECT k FROM s EMIT CHANGES;")
        assert frames.read(PATIENCE_S)
        network.answers[THERE] = lambda request: (
            answer(request) if request.url.path == "/close-query" else refused(request)
        )
        assert connection.run("SHOW STREAMS;") == [] and connection.url == ANOTHER
        frames.close()
    assert closed == [THERE]


def test_addresses_that_are_none() -> None:
    async def ask() -> Any:
        async with connect_async("localhost:port") as connection:
            await connection.run("SHOW STREAMS;")

    with pytest.raises(UnreachableError, match="http://localhost:port is not a server address"):
        connect("localhost:port").run("SHOW STREAMS;")
    with pytest.raises(UnreachableError, match="http://localhost:port is not a server address"):
        asyncio.run(ask())
    with pytest.raises(InterfaceError, match="missing"):
        connect(" , ")
