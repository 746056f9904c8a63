"""The engine as the routes see it: from before it exists until after it has stopped.

Here: the state that decides between an answer and a 503, the threads that engine calls run in, and the
open query streams. Not here: HTTP. Made by server.main; tests make one around a fake engine.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from starlette.requests import Request as HttpRequest

if TYPE_CHECKING:
    # Not at run time: this import brings Spark, and the port should be open before that.
    from ksql_spark.engine import QueryStream, Request

LOG = logging.getLogger(__name__)

#: statements and metadata calls at the same time; more of them wait
STATEMENT_THREADS = 16
#: pull queries and PRINTs at the same time, on top of the push queries
PULL_THREADS = 64
#: questions for the server's health at the same time
CHECK_THREADS = 2

#: how often a call that takes long looks whether its client is still there
CLIENT_CHECK_S = 0.5

T = TypeVar("T")


class Engine(Protocol):
    """What the server needs of ksql_spark.engine.Engine (docs/architecture.md)."""

    @property
    def state(self) -> str:
        """STARTING, RUNNING or STOPPING."""
        ...

    def execute(self, request: Request) -> list[dict[str, Any]]:
        """Run statements; the entities of reference §7.3."""
        ...

    def query(self, request: Request) -> QueryStream:
        """Start a SELECT or PRINT."""
        ...

    def close_query(self, query_id: str) -> bool:
        """End a push query; False where no such query runs."""
        ...

    def info(self) -> dict[str, Any]:
        """``version``, ``kafkaClusterId``, ``ksqlServiceId``, ``serverStatus``."""
        ...

    def health(self) -> dict[str, Any]:
        """The body of GET /healthcheck: ``isHealthy``, ``details``, ``serverState``."""
        ...

    def statuses(self) -> dict[str, str]:
        """Command id -> status."""
        ...

    def status(self, type: str, entity: str, action: str) -> dict[str, Any] | None:
        """``status``, ``message``, ``queryId`` of one command; None where unknown."""
        ...

    def is_valid_property(self, name: str) -> bool:
        """Whether SET takes this property; may raise a KsqlError that says why not."""
        ...


class Host:
    """Holds the engine, its threads and its open streams.

    Args:
        max_push_queries: as many query streams may wait for rows at once (ksql.max.push.queries).
    """

    def __init__(self, max_push_queries: int = 100) -> None:
        self.engine: Engine | None = None
        self.stopping = False
        #: the file whose statements are the only ones that this server runs (headless), if any
        self.queries_file: str | None = None
        self._statements = ThreadPoolExecutor(STATEMENT_THREADS, thread_name_prefix="statement")
        # A stream that waits for rows holds its thread, so there must be one for each.
        self._reads = ThreadPoolExecutor(max_push_queries + PULL_THREADS, thread_name_prefix="query-read")
        # statements that wait for Kafka or Spark must not keep it waiting
        self._checks = ThreadPoolExecutor(CHECK_THREADS, thread_name_prefix="health-check")
        self._streams: set[QueryStream] = set()
        #: streams that ended because the server stops, and not because their query did
        self.cut_off: set[QueryStream] = set()

    @property
    def state(self) -> str:
        """STARTING, RUNNING or STOPPING."""
        if self.stopping:
            return "STOPPING"
        return self.engine.state if self.engine is not None else "STARTING"

    async def call(self, method: Callable[[Engine], T]) -> T:
        """Run ``method(engine)`` in a thread of its own and return what it returns."""
        assert self.engine is not None, "routes are only reached while RUNNING"
        return await asyncio.get_running_loop().run_in_executor(self._statements, method, self.engine)

    async def health(self) -> dict[str, Any]:
        """The engine's health; answered while all threads for statements are taken."""
        assert self.engine is not None, "routes are only reached while RUNNING"
        return await asyncio.get_running_loop().run_in_executor(self._checks, self.engine.health)

    async def call_while_connected(
        self, http: HttpRequest, request: Request, method: Callable[[Engine], T]
    ) -> T:
        """``call``, with ``request`` cancelled when the client of ``http`` goes."""
        call = asyncio.ensure_future(self.call(method))
        while not call.done():
            await asyncio.wait({call}, timeout=CLIENT_CHECK_S)
            if not call.done() and await http.is_disconnected():
                request.cancelled.set()
        return call.result()

    async def read(self, step: Callable[[], T]) -> T:
        """Run one blocking read of a query stream in a thread kept for those."""
        return await asyncio.get_running_loop().run_in_executor(self._reads, step)

    def opened(self, stream: QueryStream) -> None:
        """Remember an open stream, so that shutting down can end it."""
        self._streams.add(stream)

    async def close(self, stream: QueryStream) -> None:
        """Close a stream; errors are only logged, because nobody waits for them."""
        self._streams.discard(stream)
        try:
            await asyncio.to_thread(stream.close)
        except Exception:
            LOG.exception("closing query %s failed", stream.query_id)

    async def close_streams(self) -> None:
        """End every open query stream; their responses then say that the server stops."""
        self.cut_off |= self._streams
        await asyncio.gather(*(self.close(stream) for stream in list(self._streams)))

    def release_threads(self) -> None:
        """Let the threads go; calls that still run finish first."""
        self._statements.shutdown(wait=False, cancel_futures=True)
        self._reads.shutdown(wait=False, cancel_futures=True)
        self._checks.shutdown(wait=False, cancel_futures=True)
