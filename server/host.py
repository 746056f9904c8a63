"""The engine as the routes see it, from before it exists until after it has stopped.

It holds the state that decides between a response and a 503, the threads for engine calls, and the open query
streams, but no HTTP. server.running owns it; tests create one with a fake engine.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import TYPE_CHECKING, TypeVar

from starlette.requests import Request as HttpRequest

from ksql_spark.entities.servers import HealthCheckResponse
from ksql_spark.server.callbacks import until_called
from ksql_spark.server.errors import TOO_MANY, RequestError
from ksql_spark.server.memory import give_back
from ksql_spark.server.threads import SharedThreads

if TYPE_CHECKING:
    # not at run time: this import loads Spark, and the port should open before that
    from ksql_spark.engine import Engine, QueryStream, Request

LOG = logging.getLogger(__name__)

#: the number of concurrent statements and metadata calls; more of them wait
STATEMENT_THREADS = 16
#: the number of concurrent pull queries and PRINTs, in addition to push queries
PULL_THREADS = 64
#: the number of concurrent checks: health, metrics, version
CHECK_THREADS = 4
#: the number of push queries that read the past at once: more computing threads would delay everything else
CATCH_UP_THREADS = 2
#: how long such a read waits for records, and the pause before the next one if none came, seconds
CATCH_UP_WAIT_S, CATCH_UP_PAUSE_S = 0.02, 0.05
#: the number of query streams that are closed at once
CLOSE_THREADS = 16

#: the bytes of a request up to which it may be a lookup in the event loop's thread
LOOK_UP_BYTES = 20_000

#: how often a slow call checks whether its client is still connected
CLIENT_CHECK_S = 0.5

T = TypeVar("T")


class Host:
    """Holds the engine, its threads and its open streams.

    Args:
        max_push_queries: the maximum number of push queries (ksql.max.push.queries).
        most_statements: the maximum number of statement requests that run or wait at once.
        share: the part of the threads that one client may have (ksql.client.max.share).
    """

    def __init__(self, max_push_queries: int = 100, most_statements: int = 256, share: float = 0.8) -> None:
        self.engine: Engine | None = None
        self.stopping = False
        #: the file of a headless server, which runs no other statements; otherwise None
        self.queries_file: str | None = None
        #: the maximum size in bytes of a request's body, or of a line in a streamed body
        self.most_request_bytes = 10_000_000
        #: how long a request may take to arrive, and a statement to be planned (0: any time), seconds
        self.request_timeout_s = self.statement_timeout_s = 60.0
        #: stops the server; set by its owner
        self.request_stop: Callable[[], None] = lambda: None
        self._most_statements = most_statements
        self._open_statements = 0
        self._statements = SharedThreads(STATEMENT_THREADS, "statement", share)
        self._catch_ups = ThreadPoolExecutor(CATCH_UP_THREADS, thread_name_prefix="catch-up")
        # other streams block their threads while they wait for rows, so each needs one
        self._reads = SharedThreads(max_push_queries + PULL_THREADS, "query-read", share)
        # nothing that clients ask for may delay health checks
        self._checks = ThreadPoolExecutor(CHECK_THREADS, thread_name_prefix="health-check")
        # a close may wait long for Spark: nothing else may have to wait for that
        self._closes = ThreadPoolExecutor(CLOSE_THREADS, thread_name_prefix="query-close")
        self._streams: set[QueryStream] = set()
        #: streams that ended because the server is stopping, not because their query ended
        self.cut_off: set[QueryStream] = set()

    @property
    def state(self) -> str:
        """STARTING, RUNNING or STOPPING."""
        if self.stopping:
            return "STOPPING"
        return self.engine.state if self.engine is not None else "STARTING"

    async def call(self, method: Callable[[Engine], T]) -> T:
        """Run ``method(engine)`` in a thread, and return its result."""
        assert self.engine is not None, "routes are only reached while RUNNING"
        return await self._statements.run(method, self.engine)

    async def work(self, task: Callable[[], T]) -> T:
        """Run ``task`` in a thread for statements."""
        return await self._statements.run(task)

    async def health(self) -> HealthCheckResponse:
        """The engine's health; works even if all other threads are busy."""
        assert self.engine is not None, "routes are only reached while RUNNING"
        return await asyncio.get_running_loop().run_in_executor(
            self._checks, copy_context().run, self.engine.health
        )

    async def check(self, method: Callable[[], T]) -> T:
        """Run what monitors ask (metrics, version) in a thread that nothing else occupies."""
        return await asyncio.get_running_loop().run_in_executor(self._checks, copy_context().run, method)

    @contextlib.contextmanager
    def handling_statements(self) -> Iterator[None]:
        """A block in which a statement request waits or runs.

        Raises:
            RequestError: 429 if there are too many.
        """
        if self._open_statements >= self._most_statements:
            raise RequestError(
                f"The server is already handling {self._most_statements} statement requests, which is the "
                f"limit (ksql.server.max.concurrent.statements). Try again soon.",
                TOO_MANY,
            )
        self._open_statements += 1
        try:
            yield
        finally:
            self._open_statements -= 1

    async def call_while_connected(
        self, http: HttpRequest, request: Request, method: Callable[[Engine], T], *, is_query: bool = False
    ) -> T:
        """Call the engine as ``call`` does, but cancel ``request`` when the client of ``http`` disconnects.

        A query does not wait for statements: it uses a thread for reads.
        """
        assert self.engine is not None, "routes are only reached while RUNNING"
        pool = self._reads if is_query else self._statements
        call = asyncio.ensure_future(pool.run(method, self.engine))
        watcher: asyncio.Task[None] | None = None

        def watch() -> None:
            # most calls have finished by then
            nonlocal watcher
            watcher = asyncio.create_task(_cancel_when_gone(http, request))

        timer = asyncio.get_running_loop().call_later(CLIENT_CHECK_S, watch)
        try:
            return await call
        finally:
            timer.cancel()
            if watcher is not None:
                watcher.cancel()

    async def query(self, request: Request) -> QueryStream:
        """Start a query in a thread for reads, so that it does not wait for statements."""
        assert self.engine is not None, "routes are only reached while RUNNING"
        return await self._reads.run(self.engine.query, request)

    async def read(self, step: Callable[[], T]) -> T:
        """Run one blocking read of a query stream in a thread for reads."""
        return await self._reads.run(step)

    async def read_rows(self, stream: QueryStream, read: Callable[[float], T], timeout_s: float) -> T:
        """Read rows of a query stream, without a thread if that does not block.

        Args:
            stream: the stream.
            read: reads it within a number of seconds.
            timeout_s: how long it may wait.
        """
        if stream.is_live:
            await until_called(stream.when_arrived, timeout_s)
            return read(0.0)
        if stream.kind != "PUSH":
            return await self.read(lambda: read(timeout_s))
        loop, context = asyncio.get_running_loop(), copy_context()
        rows = await loop.run_in_executor(self._catch_ups, context.run, read, CATCH_UP_WAIT_S)
        if not rows and rows is not None:
            await asyncio.sleep(CATCH_UP_PAUSE_S)
        return rows

    def opened(self, stream: QueryStream) -> None:
        """Register an open stream, so that close_streams() can end it."""
        self._streams.add(stream)

    async def close(self, stream: QueryStream) -> None:
        """Close a stream; errors are only logged."""
        self._streams.discard(stream)
        loop = asyncio.get_running_loop()
        try:
            await loop.run_in_executor(self._closes, copy_context().run, stream.close)
        except Exception:
            LOG.exception("closing query %s failed", stream.query_id, extra={"query": stream.query_id})
        if not self._streams:
            await loop.run_in_executor(self._closes, give_back)

    async def close_streams(self) -> None:
        """End every open query stream; their responses end with the error that the server is stopping."""
        self.cut_off |= self._streams
        await asyncio.gather(*(self.close(stream) for stream in list(self._streams)))

    def release_threads(self) -> None:
        """Shut down the thread pools without waiting for running calls."""
        self._statements.shutdown()
        self._reads.shutdown()
        self._checks.shutdown(wait=False, cancel_futures=True)
        self._closes.shutdown(wait=False, cancel_futures=True)
        self._catch_ups.shutdown(wait=False, cancel_futures=True)


async def _cancel_when_gone(http: HttpRequest, request: Request) -> None:
    """Cancel ``request`` when the client of ``http`` disconnects."""
    while not await http.is_disconnected():
        await asyncio.sleep(CLIENT_CHECK_S)
    request.cancelled.set()
