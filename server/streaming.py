"""Query results over HTTP (reference §7.5): formats, and the response that streams them.

A format turns rows into text. QueryResponse reads the engine's stream in a thread, sends rows as they arrive,
and closes the stream as soon as the client has gone.
"""

from __future__ import annotations

import asyncio
import functools
import json
import secrets
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Protocol

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from server import errors
from server.errors import NOT_ACCEPTABLE, RequestError
from server.host import Host

if TYPE_CHECKING:
    from ksql_spark.engine import QueryStream, ResultColumn, Row

FRAMES = "application/vnd.ksql.v1+json"
DELIMITED = "application/vnd.ksqlapi.delimited.v1"
JSON = "application/json"
TEXT = "text/plain; charset=utf-8"

#: how long one read waits, and so how long a stream may outlive a client that has gone
READ_TIMEOUT_S = 1.0
#: rows that are encoded and sent together
CHUNK_ROWS = 2000

# DECIMALs are sent as JSON numbers with all their digits, which json does not support: it gets a marked text
# instead, and the mark and the quotes around it are removed afterwards. Nobody outside can guess the mark.
_MARK = f"decimal-{secrets.token_hex(8)}:"


def _mark_decimal(value: Any) -> str:
    if isinstance(value, Decimal):
        return f"{_MARK}{value:f}{_MARK}"
    raise TypeError(f"a result value of type {type(value).__name__} has no JSON form")


_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=_mark_decimal)


def encode(value: Any) -> str:
    """``value`` as compact JSON.

    >>> encode(["a", None, Decimal("1.10")])
    '["a",null,1.10]'
    """
    text = _ENCODER.encode(value)
    if _MARK in text:
        text = text.replace(f'"{_MARK}', "").replace(f'{_MARK}"', "")
    return text


class Format(Protocol):
    """The format of a response."""

    media_type: str
    #: whether clients can tell errors from rows; if not, the connection is aborted after an error
    shows_errors: bool = True

    def start(self) -> str:
        """Text before the first row."""
        ...

    def rows(self, rows: Sequence[Row]) -> str:
        """The text of rows."""
        ...

    def error(self, error: dict[str, Any]) -> str:
        """The text of an error after the response has begun."""
        ...

    def end(self) -> str:
        """Text at the end, also after an error."""
        ...


class Frames(Format):
    """One JSON array of frame objects, one per line.

    A line is sent completely with its row, including the comma, because another frame always follows a push
    row. A pull query on a table has no final message, so its comma is sent with the next row.
    """

    media_type = FRAMES

    def __init__(self, stream: QueryStream) -> None:
        self._stream = stream
        self._failed = False
        self._pull = stream.kind == "PULL"
        self._before, self._after = (",\n", "") if self._pull else ("", ",\n")

    def start(self) -> str:
        """The header frame."""
        columns = ", ".join(schema_text(column, self._pull) for column in self._stream.columns)
        header = {"header": {"queryId": self._stream.query_id, "schema": columns}}
        return "[" + encode(header) + self._after

    def rows(self, rows: Sequence[Row]) -> str:
        """A row frame each."""
        frames = []
        for row in rows:
            columns = encode(row.values)
            tombstone = ',"tombstone":true' if row.tombstone else ""
            frames.append(f'{self._before}{{"row":{{"columns":{columns}{tombstone}}}}}{self._after}')
        return "".join(frames)

    def error(self, error: dict[str, Any]) -> str:
        """An errorMessage frame; the array ends with it."""
        self._failed = True
        return self._before + encode({"errorMessage": error})

    def end(self) -> str:
        """The final message, and the end of the array."""
        if self._failed or self._pull:
            return "]\n"
        return encode({"finalMessage": self._stream.final_message or "Query Completed"}) + "]\n"


class Delimited(Format):
    """A metadata object, then one array per row, each on a line; tombstones are omitted."""

    media_type = DELIMITED

    def __init__(self, stream: QueryStream) -> None:
        self._stream = stream

    def start(self) -> str:
        """The metadata line."""
        return encode(metadata(self._stream)) + "\n"

    def rows(self, rows: Sequence[Row]) -> str:
        """A line each."""
        return "".join(encode(row.values) + "\n" for row in rows if not row.tombstone)

    def error(self, error: dict[str, Any]) -> str:
        """An error line."""
        return encode(error) + "\n"

    def end(self) -> str:
        """Nothing."""
        return ""


class JsonArray(Format):
    """The lines of the delimited format as one array."""

    media_type = JSON

    def __init__(self, stream: QueryStream) -> None:
        self._stream = stream

    def start(self) -> str:
        """The metadata object."""
        return "[" + encode(metadata(self._stream))

    def rows(self, rows: Sequence[Row]) -> str:
        """An array each."""
        return "".join(",\n" + encode(row.values) for row in rows if not row.tombstone)

    def error(self, error: dict[str, Any]) -> str:
        """An error object."""
        return ",\n" + encode(error)

    def end(self) -> str:
        """The end of the array."""
        return "]\n"


class Lines(Format):
    """PRINT: its lines, unchanged."""

    shows_errors = False

    def __init__(self, media_type: str) -> None:
        self.media_type = media_type

    def start(self) -> str:
        """Nothing."""
        return ""

    def rows(self, rows: Sequence[Row]) -> str:
        """The first value of each row."""
        return "".join(f"{row.values[0]}\n" for row in rows)

    def error(self, error: dict[str, Any]) -> str:
        """The message only."""
        return f"{error['message']}\n"

    def end(self) -> str:
        """Nothing."""
        return ""


@functools.lru_cache(1000)
def accepted(header: str | None, offered: tuple[str, ...]) -> str:
    """The media type of the answer: the client's preferred one of ``offered``, whose first is the default.

    Raises:
        RequestError: 406 if the client accepts none of them.
    """
    wanted: list[tuple[float, str]] = []
    for part in (header or "*/*").split(","):
        name, *parameters = (piece.strip() for piece in part.split(";"))
        given = next((p[2:] for p in parameters if p.startswith("q=")), "1")
        try:
            wanted.append((float(given), name.lower()))
        except ValueError:
            wanted.append((0.0, name.lower()))
    for quality, name in sorted(wanted, key=lambda pair: -pair[0]):
        if quality > 0 and name in ("*/*", "application/*"):
            return offered[0]
        if quality > 0 and name in offered:
            return name
    raise RequestError(
        f"None of the media types {header} is offered here; there is: {', '.join(offered)}.", NOT_ACCEPTABLE
    )


def schema_text(column: ResultColumn, flag_key: bool) -> str:
    """A column as in the header frame: ```ID` STRING KEY``."""
    name = column.name.replace("`", "``")
    return f"`{name}` {column.type}" + (" KEY" if flag_key and column.is_key else "")


def metadata(stream: QueryStream) -> dict[str, Any]:
    """The first line of the delimited format."""
    return {
        "queryId": stream.query_id,
        "columnNames": [column.name for column in stream.columns],
        "columnTypes": [column.type for column in stream.columns],
    }


def complete_response(stream: QueryStream, format: Format) -> Response:
    """The response to a query whose rows are all there: its body has a length, and nothing is left to do."""
    parts = [format.start()]
    while (rows := stream.read(0.0)) is not None:
        parts.append(format.rows(rows))
    parts.append(format.end())
    # a value may contain half of a surrogate pair, which UTF-8 cannot encode
    return Response("".join(parts).encode(errors="replace"), media_type=format.media_type)


class QueryResponse(Response):
    """Streams the rows of ``stream`` in ``format`` until it ends or the client leaves."""

    def __init__(self, host: Host, stream: QueryStream, format: Format) -> None:
        super().__init__(media_type=format.media_type)
        del self.headers["content-length"]
        self._host = host
        self._stream = stream
        self._format = format
        self._client_left = False
        self._failed = False
        self._pieces = self._encoded()
        self._rows_at_once = CHUNK_ROWS

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request (ASGI)."""
        self._host.opened(self._stream)
        watcher = asyncio.create_task(self._watch(receive))
        try:
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            self._rows_at_once = 1 if _sends_single_rows(scope, self._stream) else CHUNK_ROWS
            while (pieces := await self._host.read(lambda: next(self._pieces, None))) is not None:
                for piece in filter(None, pieces):
                    if self._client_left:
                        return
                    await send({"type": "http.response.body", "body": piece, "more_body": True})
            if self._failed and not self._format.shows_errors:
                return  # without the end of the body, which breaks the connection
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            watcher.cancel()
            await self._host.close(self._stream)

    async def _watch(self, receive: Receive) -> None:
        """Wait until the client has gone, then close the stream, which ends a waiting read."""
        while (await receive())["type"] != "http.disconnect":
            pass
        self._client_left = True
        await self._host.close(self._stream)

    def _encoded(self) -> Iterator[list[bytes]]:
        """The response in chunks; each step may block for READ_TIMEOUT_S and yield none."""
        yield [self._format.start().encode()]
        try:
            while (rows := self._stream.read(READ_TIMEOUT_S)) is not None:
                size = self._rows_at_once
                for begin in range(0, len(rows), CHUNK_ROWS):
                    part = rows[begin : begin + CHUNK_ROWS]
                    texts = (self._format.rows(part[i : i + size]) for i in range(0, len(part), size))
                    # a value may contain half of a surrogate pair, which UTF-8 cannot encode
                    yield [text.encode(errors="replace") for text in texts]
                if not rows:
                    yield []
            if self._stream in self._host.cut_off:
                raise errors.stopping()
        except Exception as error:
            self._failed = True
            if not self._client_left:
                yield [self._format.error(errors.body(error)).encode(errors="replace")]
        yield [self._format.end().encode()]


def _sends_single_rows(scope: Scope, stream: QueryStream) -> bool:
    """Whether each row is a DATA frame of its own: ksqlDB's JavaScript client takes a frame for a row."""
    return scope.get("http_version") == "2" and stream.kind == "PUSH"
