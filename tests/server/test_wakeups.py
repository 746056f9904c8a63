"""Coroutines that wait for calls in other threads, with one timer for all."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections.abc import Callable

import pytest

from server.wakeups import Wakeups

SOON_S = 20.0
LOOPS: list[Callable[[], asyncio.AbstractEventLoop]] = [asyncio.new_event_loop]
with contextlib.suppress(ImportError):  # it is not there for all platforms
    import uvloop

    LOOPS.append(uvloop.new_event_loop)


def test_who_is_called_goes_on_and_the_others_after_their_time() -> None:
    wakeups = Wakeups()
    calls: dict[str, Callable[[], None]] = {}
    order: list[str] = []

    async def wait(name: str, timeout_s: float) -> None:
        await wakeups.until_called(lambda call: calls.update({name: call}), timeout_s)
        order.append(name)

    async def main() -> None:
        names = {"called": SOON_S, "late": 0.2, "early": 0.1}
        tasks = [asyncio.create_task(wait(name, timeout_s)) for name, timeout_s in names.items()]
        await asyncio.sleep(0)
        thread = threading.Thread(target=calls["called"])
        thread.start()
        await asyncio.gather(*tasks)
        thread.join()
        calls["early"]()  # too late: nobody waits
        await asyncio.sleep(0)

    asyncio.run(main())
    assert order == ["called", "early", "late"]
    assert not wakeups._waiting and wakeups._timer is None


@pytest.mark.parametrize("make_loop", LOOPS)
def test_waits_whose_time_has_come_at_once_end(make_loop: Callable[[], asyncio.AbstractEventLoop]) -> None:
    # uvloop's timers for now have no time
    wakeups = Wakeups()

    async def main() -> None:
        await asyncio.gather(*(wakeups.until_called(lambda call: None, s) for s in (0.0, 0.0, -1.0, 0.01)))

    with asyncio.Runner(loop_factory=make_loop) as runner:
        runner.run(main())
    assert not wakeups._waiting and wakeups._timer is None


def test_many_that_go_on_leave_the_loop_time_for_others() -> None:
    wakeups = Wakeups()
    calls: list[Callable[[], None]] = []
    woken = 0
    #: how many had gone on when something came to the socket
    came: list[int] = []

    async def wait() -> None:
        nonlocal woken
        await wakeups.until_called(calls.append, SOON_S)
        woken += 1
        if woken == 1:
            theirs.send(b"x")

    async def main() -> None:
        tasks = [asyncio.create_task(wait()) for _ in range(500)]
        await asyncio.sleep(0)
        with contextlib.closing(ours), contextlib.closing(theirs):
            loop = asyncio.get_running_loop()
            loop.add_reader(ours, lambda: came.append(woken))
            for call in calls:
                call()
            await asyncio.gather(*tasks)
            loop.remove_reader(ours)

    ours, theirs = socket.socketpair()
    asyncio.run(main())
    assert woken == 500 and came[0] <= 100


def test_who_is_cancelled_is_forgotten() -> None:
    wakeups = Wakeups()

    async def main() -> None:
        task = asyncio.create_task(wakeups.until_called(lambda call: None, SOON_S))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(main())
    assert not wakeups._waiting


def test_a_call_may_come_at_once() -> None:
    wakeups = Wakeups()
    asyncio.run(wakeups.until_called(lambda call: call(), SOON_S))
    assert not wakeups._waiting
