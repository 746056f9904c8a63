"""POST /inserts-stream: rows in, acknowledgements out, at the same time (reference §7.6)."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any

from fastapi import Request
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from ksql_spark.authorization import Role
from ksql_spark.server import errors
from ksql_spark.server.endpoints import Router, Rules
from ksql_spark.server.errors import TOO_LARGE, RequestError
from ksql_spark.server.host import Host
from ksql_spark.server.models import InsertsBody, described, parsed_body
from ksql_spark.server.security.access import AUDIT, principal_of
from ksql_spark.server.streaming.responses import DELIMITED, JSON, accepted, encode

if TYPE_CHECKING:
    from ksql_spark.engine import Acknowledged, RowInserter

router = Router()

#: how often an idle stream checks whether it should end
LOOK_S = 1.0

ACKNOWLEDGEMENTS = "One acknowledgement for each row, in the order of the rows; an error is the last."


@router.endpoint(
    "POST",
    "/inserts-stream",
    Rules(Role.DEVELOPER, takes_patterns=True, runs_sql=True, is_streamed=True),
    openapi_extra=described(
        InsertsBody, body_type=DELIMITED, answers={DELIMITED: ACKNOWLEDGEMENTS, JSON: None}
    ),
)
async def inserts_stream(http: Request) -> Response:
    """Write rows: a line with the target, then one JSON object for each row, each on a line."""
    host: Host = http.app.state.host
    media_type = accepted(http.headers.get("accept"), (DELIMITED, JSON))
    lines = _lines(http, host.most_request_bytes)
    first = await anext(lines, None)
    target = parsed_body(InsertsBody, first[0] if first else b"")
    news = asyncio.Event()
    loop = asyncio.get_running_loop()

    def on_news() -> None:
        with contextlib.suppress(RuntimeError):  # the loop has been closed
            loop.call_soon_threadsafe(news.set)

    principal = principal_of(http)
    AUDIT.info("%s: inserts into %s", principal.name, target.target)
    properties: Mapping[str, Any] = target.properties or {}
    inserter = await host.call(
        lambda engine: engine.inserter(target.target, properties, on_news, principal.rights)
    )
    return InsertsResponse(host, inserter, news, first[1:] if first else [], lines, media_type)


async def _lines(http: Request, most: int) -> AsyncIterator[list[bytes]]:
    """The nonblank lines of the request's body; lines that arrive together form one list.

    Raises:
        RequestError: a line has more than ``most`` bytes.
    """
    rest = b""
    async for chunk in http.stream():
        *whole, rest = (rest + chunk).split(b"\n")
        if len(rest) > most or any(len(line) > most for line in whole):
            raise RequestError(
                f"A line of the request's body has more than {most} bytes (ksql.server.max.request.bytes).",
                TOO_LARGE,
            )
        if lines := [line for line in whole if line.strip()]:
            yield lines
    if rest.strip():
        yield [rest]


class InsertsResponse(Response):
    """Reads rows and acknowledges them until the rows end, one fails, or the client disconnects.

    Args:
        host: holds the threads.
        inserter: of the target.
        news: set when ``inserter`` has something to acknowledge.
        first: rows that came with the target.
        lines: the rows after them.
        media_type: DELIMITED or JSON.
    """

    def __init__(
        self,
        host: Host,
        inserter: RowInserter,
        news: asyncio.Event,
        first: list[bytes],
        lines: AsyncIterator[list[bytes]],
        media_type: str,
    ) -> None:
        super().__init__(media_type=media_type)
        del self.headers["content-length"]
        self._host = host
        self._inserter = inserter
        self._news = news
        self._first = first
        self._lines = lines
        self._is_array = media_type == JSON
        self._has_rows = False
        self._one_by_one = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request (ASGI)."""
        self._one_by_one = scope.get("http_version") == "2"
        reading = asyncio.create_task(self._read())
        reading.add_done_callback(lambda _: self._news.set())
        try:
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            await self._send(send, ["["] if self._is_array else [])
            while True:
                self._news.clear()
                has_ended = reading.done()
                acknowledged = self._inserter.acknowledged()
                await self._send(send, self._texts(acknowledged))
                if acknowledged.error is not None or (has_ended and self._inserter.is_idle):
                    break
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._news.wait(), LOOK_S)
            problem = reading.exception() if reading.done() else None
            if isinstance(problem, ClientDisconnect):
                return
            if problem is not None and acknowledged.error is None:
                await self._send(send, self._ended([self._failure(acknowledged.end, problem)]))
            end = b"]" if self._is_array else b""
            await send({"type": "http.response.body", "body": end, "more_body": False})
        finally:
            self._inserter.close()
            reading.cancel()

    async def _send(self, send: Send, texts: list[str]) -> None:
        """Send pieces; over HTTP/2 each in its own frame, which ksqlDB's JavaScript clients treat as one
        response.
        """
        for text in texts if self._one_by_one else filter(None, ["".join(texts)]):
            await send({"type": "http.response.body", "body": text.encode(), "more_body": True})

    async def _read(self) -> None:
        """Insert rows until they end or one fails."""
        if not await self._insert(self._first):
            return
        async for lines in self._lines:
            if not await self._insert(lines):
                return

    async def _insert(self, lines: list[bytes]) -> bool:
        return await self._host.read(lambda: self._inserter.insert(lines))

    def _texts(self, acknowledged: Acknowledged) -> list[str]:
        """The acknowledgements of ``acknowledged``."""
        texts = [
            f'{{"status":"ok","seq":{number}}}' for number in range(acknowledged.first, acknowledged.end)
        ]
        if acknowledged.error is not None:
            texts.append(self._failure(acknowledged.end, acknowledged.error))
        return self._ended(texts)

    def _failure(self, number: int, error: BaseException) -> str:
        body = errors.body(error if isinstance(error, Exception) else RuntimeError(str(error)))
        shown = {"error_code": body["error_code"], "message": body["message"]}
        return encode({"status": "error", "seq": number, **shown}).decode()

    def _ended(self, texts: list[str]) -> list[str]:
        """Each text with its separator."""
        if not self._is_array:
            return [f"{text}\n" for text in texts]
        separated = [f",{text}" for text in texts]
        if separated and not self._has_rows:
            separated[0], self._has_rows = texts[0], True
        return separated
