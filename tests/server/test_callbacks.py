"""Coroutines wait for callbacks from other threads."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

import pytest

from ksql_spark.errors import KsqlError
from ksql_spark.server.callbacks import until_called, until_current

SOON_S = 20.0


def test_a_callback_wakes_its_waiter_and_a_timeout_the_others() -> None:
    calls: dict[str, Callable[[], None]] = {}
    order: list[str] = []

    async def wait(name: str, timeout_s: float) -> None:
        await until_called(lambda call: calls.update({name: call}), timeout_s)
        order.append(name)

    async def main() -> None:
        timeouts = {"called": SOON_S, "late": 0.2, "early": 0.1}
        tasks = [asyncio.create_task(wait(name, timeout_s)) for name, timeout_s in timeouts.items()]
        await asyncio.sleep(0)
        thread = threading.Thread(target=calls["called"])
        thread.start()
        await asyncio.gather(*tasks)
        thread.join()
        calls["early"]()  # too late: nobody waits

    asyncio.run(main())
    assert order == ["called", "early", "late"]


def test_a_callback_may_come_at_once() -> None:
    asyncio.run(until_called(lambda call: call(), SOON_S))


def test_an_error_is_raised_where_it_is_awaited() -> None:
    with pytest.raises(KsqlError):
        asyncio.run(until_current(lambda call: call(KsqlError("STOPPED"))))


def test_a_callback_after_the_loop_has_closed_is_ignored() -> None:
    calls: list[Callable[[], None]] = []
    asyncio.run(until_called(calls.append, 0.01))
    calls[0]()
