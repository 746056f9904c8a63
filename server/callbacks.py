"""Await callbacks that other threads invoke."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable

from ksql_spark.errors import KsqlError

#: calls a function once the rows are available, or with the reason why they will not be
WhenCurrent = Callable[[Callable[[KsqlError | None], None]], None]


async def until_called(when: Callable[[Callable[[], None]], None], timeout_s: float) -> None:
    """Return once the function given to ``when`` has been called in any thread, or after ``timeout_s``."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(timeout_s):
            await until_current(lambda call: when(lambda: call(None)))


async def until_current(when_current: WhenCurrent) -> None:
    """Return once ``when_current`` has called back in any thread; raise the error with which it did."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[None] = loop.create_future()

    def settle(error: KsqlError | None) -> None:
        if future.done():
            return
        if error is None:
            future.set_result(None)
        else:
            future.set_exception(error)

    def call(error: KsqlError | None) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has been closed
            loop.call_soon_threadsafe(settle, error)

    when_current(call)
    await future
