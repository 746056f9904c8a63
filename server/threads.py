"""Threads of which one client has only a part at once, so that nobody keeps others waiting."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import ContextVar, copy_context
from functools import partial
from typing import Any, ParamSpec, TypeVar

from ksql_spark.config import share_of

#: whom limits count as the sender of the current request; empty: no client
CLIENT: ContextVar[str] = ContextVar("client", default="")

P = ParamSpec("P")
T = TypeVar("T")


class SharedThreads:
    """A pool of threads for the tasks of clients.

    Args:
        count: the number of threads.
        name: the beginning of the threads' names.
        share: the part of the threads that one client may have at once.
    """

    def __init__(self, count: int, name: str, share: float) -> None:
        #: has the threads
        self.pool = ThreadPoolExecutor(count, thread_name_prefix=name)
        self._most = share_of(count, share)
        self._turns: dict[str, asyncio.Semaphore] = {}
        #: how many tasks of a client wait or run
        self._tasks: Counter[str] = Counter()

    async def run(self, task: Callable[P, T], *arguments: P.args, **more: P.kwargs) -> T:
        """Run a task of the current client in a thread, once the client has less than its part."""
        loop, client = asyncio.get_running_loop(), CLIENT.get()
        turns = self._turns.setdefault(client, asyncio.Semaphore(self._most)) if client else None
        self._tasks[client] += 1

        def leave() -> None:
            if turns is not None:
                turns.release()
            self._forget(client)

        def ended(_: Future[Any]) -> None:
            with contextlib.suppress(RuntimeError):  # the loop has been closed
                loop.call_soon_threadsafe(leave)

        try:
            if turns is not None:
                await turns.acquire()
        except BaseException:
            self._forget(client)
            raise
        job = self.pool.submit(copy_context().run, partial(task, *arguments, **more))
        job.add_done_callback(ended)  # a client that has left has its thread until then
        return await asyncio.wrap_future(job)

    def shutdown(self) -> None:
        """Start no more tasks, without waiting for running tasks."""
        self.pool.shutdown(wait=False, cancel_futures=True)

    def _forget(self, client: str) -> None:
        self._tasks[client] -= 1
        if not self._tasks[client]:
            del self._tasks[client]
            self._turns.pop(client, None)
