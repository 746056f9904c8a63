"""A coroutine that was begun goes on as one that is awaited."""

from __future__ import annotations

import asyncio

import pytest

from server.begun import Begun


async def twice(event: asyncio.Event) -> str:
    """Wait, clear, wait again; an error and a cancellation come to the one that waits."""
    try:
        await event.wait()
        event.clear()
        await event.wait()
    except asyncio.CancelledError:
        event.set()
        raise
    return "there"


def test_what_need_not_wait_is_done_at_once() -> None:
    async def at_once() -> int:
        return 5

    begun = Begun(at_once())
    assert begun.is_done and begun.result == 5


def test_what_fails_at_once_raises_where_it_is_begun() -> None:
    async def failing() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        Begun(failing())


def test_what_waits_can_be_awaited() -> None:
    async def run() -> None:
        event = asyncio.Event()
        begun = Begun(twice(event))
        assert not begun.is_done
        task = asyncio.ensure_future(_result(begun))
        while not task.done():
            event.set()
            await asyncio.sleep(0)
        assert await task == "there"

    asyncio.run(run())


def test_a_timeout_ends_what_was_begun() -> None:
    async def run() -> None:
        event = asyncio.Event()
        begun = Begun(twice(event))
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0):
                await begun
        assert event.is_set()

    asyncio.run(run())


def test_an_error_of_what_it_waits_for_comes_out() -> None:
    async def run() -> None:
        future: asyncio.Future[str] = asyncio.get_running_loop().create_future()

        async def waiting() -> str:
            return await future

        begun = Begun(waiting())
        future.set_exception(ValueError("no"))
        with pytest.raises(ValueError, match="no"):
            await begun

    asyncio.run(run())


async def _result(begun: Begun[str]) -> str:
    return await begun
