"""One client does not have all threads of the server."""

from __future__ import annotations

import asyncio
import threading

import httpx
import pytest

from ksql_spark.entities import Entity
from ksql_spark.server.app import create_app
from ksql_spark.server.host import STATEMENT_THREADS, Host
from ksql_spark.server.threads import CLIENT, SharedThreads
from tests.server.fake_engine import FakeEngine

SOON_S = 20.0


def test_others_have_threads_while_one_client_has_its_share() -> None:
    threads, goes_on = SharedThreads(4, "test", 0.5), threading.Event()
    began: list[str] = []

    def task(client: str) -> str:
        began.append(client)
        assert goes_on.wait(SOON_S)
        return client

    async def run(client: str) -> str:
        CLIENT.set(client)
        return await threads.run(task, client)

    async def runs() -> None:
        first = [asyncio.create_task(run("a")) for _ in range(10)]
        for _ in range(5):  # one that gives up does not count any more
            first.pop().cancel()
        others = [asyncio.create_task(run("b")), asyncio.create_task(run("c"))]
        while len(began) < 4:
            await asyncio.sleep(0.01)
        assert sorted(began) == ["a", "a", "b", "c"]
        goes_on.set()
        assert await asyncio.gather(*first, *others) == [*"aaaaa", "b", "c"]
        while threads._tasks:
            await asyncio.sleep(0.01)
        assert not threads._turns

    asyncio.run(asyncio.wait_for(runs(), SOON_S))
    threads.shutdown()


@pytest.mark.parametrize("number", [STATEMENT_THREADS, 3 * STATEMENT_THREADS])
def test_statements_of_one_client_hold_up_no_others(engine: FakeEngine, number: int) -> None:
    goes_on = threading.Event()

    def execute(request: object) -> list[Entity]:
        assert goes_on.wait(SOON_S)
        return []

    host = Host()
    host.engine = engine
    engine.execute = execute  # type: ignore[method-assign, assignment]

    async def run() -> None:
        app = create_app(host)
        first = httpx.AsyncClient(transport=httpx.ASGITransport(app, client=("10.0.0.1", 1)))
        second = httpx.AsyncClient(transport=httpx.ASGITransport(app, client=("10.0.0.2", 1)))
        url = "http://localhost"
        async with first, second:
            slow = [
                asyncio.create_task(first.post(f"{url}/ksql", json={"ksql": "SHOW STREAMS;"}))
                for _ in range(number)
            ]
            answer = await second.get(f"{url}/is_valid_property/auto.offset.reset", timeout=SOON_S)
            goes_on.set()
            assert answer.status_code == 200
            assert {one.status_code for one in await asyncio.gather(*slow)} == {200}

    asyncio.run(asyncio.wait_for(run(), SOON_S))
    host.release_threads()
