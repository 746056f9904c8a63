"""The client for asyncio."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any

import httpx

from ksql_spark.client import protocol
from ksql_spark.client.connection import http_settings
from ksql_spark.client.errors import NotConnectedError
from ksql_spark.client.lines import aiter_lines
from ksql_spark.client.protocol import Parameters
from ksql_spark.client.servers import addresses


def connect_async(
    url: str = "http://localhost:8088",
    *,
    auth: tuple[str, str] | None = None,
    token: str | None = None,
    verify: Any = True,
    cert: Any = None,
    properties: Mapping[str, Any] | None = None,
    reads_own_writes: bool = True,
    trust_env: bool = True,
) -> AsyncConnection:
    """A connection for asyncio; the arguments are those of connect()."""
    urls = addresses(url)
    http = httpx.AsyncClient(**http_settings(urls, auth, token, verify, cert, trust_env))
    return AsyncConnection(http, properties or {}, reads_own_writes, urls)


class AsyncConnection:
    """See connect_async()."""

    def __init__(
        self,
        http: httpx.AsyncClient,
        properties: Mapping[str, Any],
        reads_own_writes: bool,
        urls: Sequence[str],
    ) -> None:
        self._http = http
        self._session = protocol.Session(urls, properties, reads_own_writes)

    async def __aenter__(self) -> AsyncConnection:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connection."""
        await self._http.aclose()

    async def fetch(self, text: str, parameters: Parameters = None) -> list[tuple[Any, ...]]:
        """All rows of a finite SELECT."""
        return [row async for row in self.stream(text, parameters)]

    async def stream(self, text: str, parameters: Parameters = None) -> AsyncIterator[tuple[Any, ...]]:
        """The rows of a SELECT as they arrive; leaving the loop ends the query."""
        async with self.opened(text, parameters) as (_, rows):
            async for row in rows:
                yield row

    @contextlib.asynccontextmanager
    async def opened(
        self, text: str, parameters: Parameters = None
    ) -> AsyncIterator[tuple[protocol.Columns, AsyncIterator[tuple[Any, ...]]]]:
        """The columns of a SELECT and its rows as they arrive; the end of the block ends the query."""
        body = self._session.query(text, parameters)
        answer, url = await self._send("/query-stream", json=body, headers={"Accept": protocol.DELIMITED})
        async with contextlib.aclosing(answer):
            await _check(answer, url)
            lines = aiter_lines(answer)
            with protocol.reading(url):
                columns = protocol.columns_of(await anext(lines, ""))
            yield columns, _rows(columns, lines, url)

    async def run(self, text: str, parameters: Parameters = None) -> list[dict[str, Any]]:
        """Run statements that are not queries; returns their results in the form of the REST API."""
        answer, url = await self._send("/ksql", json=self._session.statements(text, parameters))
        async with contextlib.aclosing(answer):
            await _check(answer, url)
            with protocol.reading(url):
                await answer.aread()
        entities = self._session.ran(answer, url)
        self._session.settings.note(text)
        return entities

    async def insert(self, target: str, rows: Iterable[Mapping[str, Any]]) -> int:
        """Write rows, given by column names; returns their number once the brokers have acknowledged them."""
        count = 0
        content = _again(protocol.insert_lines(target, rows))
        answer, url = await self._send("/inserts-stream", content=content)
        async with contextlib.aclosing(answer):
            await _check(answer, url)
            with protocol.reading(url):
                async for line in aiter_lines(answer):
                    count = protocol.acknowledged(line) + 1
        return count

    async def _send(self, path: str, **arguments: Any) -> tuple[httpx.Response, str]:
        """The response of the first reachable server, and its address.

        Raises:
            UnreachableError: no server is reachable.
            InterfaceError: the connection is closed.
        """
        for url in self._session.servers.attempts():
            try:
                with protocol.sending(url):
                    request = self._http.build_request("POST", url + path, **arguments)
                    return await self._http.send(request, stream=True), url
            except NotConnectedError as error:
                failure = error
        raise failure


async def _check(answer: httpx.Response, url: str) -> None:
    """Check that ``answer``, from the server at ``url``, is a result. Raises DatabaseError."""
    if answer.status_code != httpx.codes.OK:
        with protocol.reading(url):
            content = await answer.aread()
        raise protocol.failure(answer.status_code, content, url)


async def _rows(
    columns: protocol.Columns, lines: AsyncIterator[str], url: str
) -> AsyncIterator[tuple[Any, ...]]:
    """The rows of a result of the server at ``url``. Raises DatabaseError."""
    while True:
        with protocol.reading(url):
            line = await anext(lines, None)
            row = columns.row(line) if line and protocol.token_of(line) is None else None
        if line is None:
            break
        if row is not None:
            yield row


async def _again(lines: Iterable[bytes]) -> AsyncIterator[bytes]:
    for line in lines:
        yield line
