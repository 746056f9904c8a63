"""The lines of a response as they arrive.

httpx splits lines where str.splitlines() does, at ten characters. The server ends its lines with a line feed
only, and leaves some of the other characters unescaped in values, such as U+2028.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import httpx


def iter_lines(answer: httpx.Response) -> Iterator[str]:
    """The lines of ``answer``, without their line feeds, or carriage returns and line feeds.

    Raises:
        httpx.TransportError, httpx.StreamError: as Response.iter_bytes().
    """
    splitter = _Splitter()
    for chunk in answer.iter_bytes():
        yield from splitter.ended(chunk)
    yield from splitter.rest()


async def aiter_lines(answer: httpx.Response) -> AsyncIterator[str]:
    """The same for asyncio."""
    splitter = _Splitter()
    async for chunk in answer.aiter_bytes():
        for line in splitter.ended(chunk):
            yield line
    for line in splitter.rest():
        yield line


class _Splitter:
    """Lines from chunks of UTF-8, in linear time, however long lines and chunks are."""

    def __init__(self) -> None:
        #: the beginning of an incomplete line
        self._parts: list[bytes] = []

    def ended(self, chunk: bytes) -> list[str]:
        """The lines that ``chunk``, the next one, completes."""
        end = chunk.rfind(b"\n") + 1
        if not end:
            self._parts.append(chunk)
            return []
        whole = b"".join([*self._parts, chunk[:end]])
        self._parts = [chunk[end:]]
        return _text(whole).replace("\r\n", "\n").split("\n")[:-1]

    def rest(self) -> list[str]:
        """The last line, if no line feed ended it."""
        last = _text(b"".join(self._parts))
        return [last] if last else []


def _text(content: bytes) -> str:
    return content.decode(errors="replace")
