"""Waiting in an event loop for calls that come in other threads."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable
from functools import partial

from ksql_spark.errors import KsqlError

#: calls a function once the rows are there, or with why they will not be
WhenCurrent = Callable[[Callable[[KsqlError | None], None]], None]


class Wakeups:
    """Lets coroutines of an event loop wait for calls in other threads, many of them in one step."""

    def __init__(self) -> None:
        self._asking: list[tuple[WhenCurrent, asyncio.Future[None]]] = []
        self._due: deque[tuple[asyncio.Future[None], KsqlError | None]] = deque()
        self._is_scheduled = False

    async def until_called(self, when: Callable[[Callable[[], None]], None], timeout_s: float) -> None:
        """Return when what is given to ``when`` has been called, or after ``timeout_s``."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()
        timer = loop.call_later(timeout_s, self._wake, loop, future, None)
        try:
            when(partial(self._wake, loop, future, None))
            await future
        finally:
            timer.cancel()

    async def until(self, when_current: WhenCurrent) -> None:
        """Return when ``when_current`` has called back; raise the error with which it did."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()
        if not self._asking:
            # with the others of this step: the first one wakes a thread, which should find them all
            loop.call_soon(self._ask, loop)
        self._asking.append((when_current, future))
        await future

    def _ask(self, loop: asyncio.AbstractEventLoop) -> None:
        asking, self._asking = self._asking, []
        for when_current, future in asking:
            when_current(partial(self._wake, loop, future))

    def _wake(
        self, loop: asyncio.AbstractEventLoop, future: asyncio.Future[None], error: KsqlError | None
    ) -> None:
        """Set ``future`` soon; called in any thread."""
        self._due.append((future, error))
        if not self._is_scheduled:
            self._is_scheduled = True
            with contextlib.suppress(RuntimeError):  # the loop has been closed
                loop.call_soon_threadsafe(self._run)

    def _run(self) -> None:
        self._is_scheduled = False  # before the deque is read: what comes meanwhile schedules again
        while self._due:
            future, error = self._due.popleft()
            if future.done():
                continue
            if error is None:
                future.set_result(None)
            else:
                future.set_exception(error)
