"""POST /copy/{target}: the rows of a file into a stream or table (beyond ksqlDB, reference §7.6)."""

from __future__ import annotations

import asyncio
import contextlib
import io
import queue
import threading
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from fastapi import Request
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse, Response

from ksql_spark import row_files
from ksql_spark.authorization import Role
from ksql_spark.client.packages import install
from ksql_spark.entities.commands import RowsCopied
from ksql_spark.entities.wire import to_json
from ksql_spark.errors import KsqlError
from ksql_spark.server.endpoints import Router, Rules
from ksql_spark.server.errors import UNSUPPORTED_MEDIA_TYPE, RequestError
from ksql_spark.server.host import Host
from ksql_spark.server.models import described
from ksql_spark.server.security.access import AUDIT, principal_of
from ksql_spark.server.security.middleware import media_type
from ksql_spark.server.streaming.row_copy import RowCopy

if TYPE_CHECKING:
    from ksql_spark.engine import RowInserter

router = Router()

#: media type of a file -> its form
FORMS = {
    "text/csv": row_files.CSV,
    "text/tab-separated-values": row_files.TSV,
    "application/x-ndjson": row_files.JSON,
    "application/json": row_files.JSON,
    "application/vnd.apache.parquet": row_files.PARQUET,
}
#: how many pieces of the body wait in memory
PIECES = 8
_FILE = {"schema": {"type": "string", "format": "binary"}}


@router.endpoint(
    "POST",
    "/copy/{target}",
    Rules(Role.DEVELOPER, takes_patterns=True, runs_sql=True, is_streamed=True, media_types=tuple(FORMS)),
    openapi_extra=described(answers={"application/json": RowsCopied})
    | {"requestBody": {"required": True, "content": dict.fromkeys(FORMS, _FILE)}},
)
async def copy(target: str, http: Request) -> Response:
    """Write the rows of a file, whose form Content-Type names, into a stream or table."""
    host: Host = http.app.state.host
    form = FORMS.get(media_type(http.headers.get("content-type", "")))
    if form is None:
        reason = f"Content-Type must be the form of the file: {', '.join(FORMS)}."
        raise RequestError(reason, UNSUPPORTED_MEDIA_TYPE)
    principal = principal_of(http)
    AUDIT.info("%s: copies into %s", principal.name, target)
    news = threading.Event()
    inserter = await host.call(lambda engine: engine.inserter(target, {}, news.set, principal.rights))
    body = _Body(asyncio.get_running_loop())
    filling = asyncio.create_task(body.fill(http.stream()))
    try:
        file = cast(BinaryIO, io.BufferedReader(body))
        rows = await host.read(lambda: _copied(inserter, news, file, form))
    except ClientDisconnect:
        return Response()  # nobody reads it
    finally:
        inserter.close()
        filling.cancel()
        with contextlib.suppress(asyncio.CancelledError, ClientDisconnect):
            await filling
    return JSONResponse(to_json(RowsCopied(target, rows)))


def _copied(inserter: RowInserter, news: threading.Event, file: BinaryIO, form: str) -> int:
    """Write the rows of a file; returns their number.

    Raises:
        KsqlError: as `RowCopy.finish`.
    """
    copy = RowCopy(inserter, news)
    misfit = None
    try:
        for place, row in row_files.rows_of(file, form, inserter.fields):
            if not copy.add(place, row):
                break
    except row_files.Misfit as error:
        misfit = str(error)
    except ModuleNotFoundError:
        reason = f"The server lacks pyarrow, which Parquet needs: {install('ksql-spark[frames]')}"
        raise KsqlError("BAD_REQUEST", reason=reason) from None
    return copy.finish(misfit)


class _Body(io.RawIOBase):
    """The body of a request as a file, which another thread reads; few pieces of it are in memory."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self._loop = loop
        self._room = asyncio.Semaphore(PIECES)
        #: None: the end
        self._pieces: queue.SimpleQueue[bytes | Exception | None] = queue.SimpleQueue()
        self._rest = memoryview(b"")
        self._is_over = False

    async def fill(self, pieces: AsyncIterator[bytes]) -> None:
        """Take the body as it comes, while there is room."""
        end: Exception | None = ClientDisconnect()
        try:
            async for piece in pieces:
                if piece:
                    await self._room.acquire()
                    self._pieces.put(piece)
            end = None
        finally:
            self._pieces.put(end)

    def readable(self) -> bool:
        """Return True: rows can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """The next bytes; 0 at the end. Raises ClientDisconnect."""
        if not self._rest and not self._is_over:
            match self._pieces.get():
                case bytes() as piece:
                    self._rest = memoryview(piece)
                    with contextlib.suppress(RuntimeError):  # the loop has been closed
                        self._loop.call_soon_threadsafe(self._room.release)
                case None:
                    self._is_over = True
                case Exception() as error:
                    self._is_over = True
                    raise error
        count = min(len(buffer), len(self._rest))
        buffer[:count], self._rest = self._rest[:count], self._rest[count:]
        return count


__all__ = ["router"]
