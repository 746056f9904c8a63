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


#: how many go on in one step of the loop, after which it looks for what came meanwhile: requests, and rows to
#: insert, should not wait until hundreds of clients have their rows
_AT_ONCE = 50


class Wakeups:
    """Lets coroutines of an event loop wait for calls in other threads, many of them in one step."""

    def __init__(self) -> None:
        self._asking: list[tuple[WhenCurrent, asyncio.Future[None]]] = []
        #: what waits in until_called -> until when, on the loop's clock
        self._waiting: dict[asyncio.Future[None], float] = {}
        self._timer: asyncio.Handle | None = None
        #: when it rings, on the loop's clock; uvloop's handle of a timer for now does not know
        self._timer_at = 0.0
        self._due: deque[tuple[asyncio.Future[None], KsqlError | None]] = deque()
        self._is_scheduled = False

    async def until_called(self, when: Callable[[Callable[[], None]], None], timeout_s: float) -> None:
        """Return when what is given to ``when`` has been called, or after ``timeout_s``."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()
        until = self._waiting[future] = loop.time() + timeout_s
        # one timer for all: most are called long before
        if self._timer is None or self._timer_at > until:
            self._set_timer(loop, until)
        try:
            when(partial(self._wake, loop, future, None))
            await future
        finally:
            del self._waiting[future]

    def _set_timer(self, loop: asyncio.AbstractEventLoop, at: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._timer_at = loop.call_at(at, self._time_out, loop), at

    def _time_out(self, loop: asyncio.AbstractEventLoop) -> None:
        """Let go those that have waited long enough."""
        self._timer = None
        now = loop.time()
        for future, until in self._waiting.items():
            if until <= now and not future.done():
                future.set_result(None)
        if left := [until for until in self._waiting.values() if until > now]:
            self._set_timer(loop, min(left))

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
        left = _AT_ONCE
        while self._due and left:
            future, error = self._due.popleft()
            if future.done():
                continue
            left -= 1
            if error is None:
                future.set_result(None)
            else:
                future.set_exception(error)
        if self._due and not self._is_scheduled:
            self._is_scheduled = True
            asyncio.get_running_loop().call_soon(self._run)
