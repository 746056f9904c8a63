"""Query results over HTTP (reference §7.5): formats, and the response that streams them.

A format turns rows into text. QueryResponse reads the engine's stream in a thread, sends rows as they arrive,
and closes the stream as soon as the client disconnects.
"""

from __future__ import annotations

import asyncio
import base64
import functools
import importlib.util
import json
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Protocol

import orjson
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from ksql_spark.client import values
from ksql_spark.engine import RawJson
from ksql_spark.row_files import csv_line
from ksql_spark.server import errors
from ksql_spark.server.accept import qualities
from ksql_spark.server.errors import NOT_ACCEPTABLE, RequestError
from ksql_spark.server.host import Host

if TYPE_CHECKING:
    from ksql_spark.engine import LookUp, QueryStream, ResultColumn, Row, Rows

FRAMES = "application/vnd.ksql.v1+json"
DELIMITED = "application/vnd.ksqlapi.delimited.v1"
JSON = "application/json"
PROTOBUF = "application/vnd.ksql.v1+protobuf"
TEXT = "text/plain; charset=utf-8"
CSV, NDJSON = "text/csv", "application/x-ndjson"
ARROW = values.ARROW_STREAM

#: how long one read waits, and so how long a stream may outlive its client
READ_TIMEOUT_S = 1.0
#: rows that are encoded and sent together
CHUNK_ROWS = 2000
#: bytes that are sent at once; a connection whose client does not read holds about twice as many
MAX_SEND_BYTES = 64 * 1024


def _fragment(value: Any) -> orjson.Fragment | str:
    """DECIMALs as numbers with all their digits, VARIANTs as their JSON."""
    match value:
        case Decimal():
            return orjson.Fragment(f"{value:f}")
        case RawJson():
            return orjson.Fragment(str(value))
        case str():
            return str(value)
    raise TypeError(f"a result value of type {type(value).__name__} has no JSON form")


def _encodable(value: Any) -> Any:
    """``value`` without lone surrogates, which UTF-8 cannot encode, and without huge integers."""
    match value:
        case RawJson():
            return value
        case str():
            return value.encode(errors="replace").decode()
        case int() if not isinstance(value, bool):
            return Decimal(value)
        case dict():
            return {_encodable(str(name)): _encodable(inner) for name, inner in value.items()}
        case list() | tuple():
            return [_encodable(inner) for inner in value]
    return value


def encode(value: Any) -> bytes:
    """``value`` as compact JSON.

    >>> encode(["a", None, Decimal("1.10")])
    b'["a",null,1.10]'
    """
    try:
        return orjson.dumps(value, _fragment, orjson.OPT_PASSTHROUGH_SUBCLASS)
    except TypeError:  # see _encodable
        return orjson.dumps(_encodable(value), _fragment, orjson.OPT_PASSTHROUGH_SUBCLASS)


def row_text(row: Row) -> bytes:
    """The values of ``row`` as JSON, made once for all its clients."""
    if row.json is None:
        row.json = encode(row.values)
    return row.json


def rows_text(rows: Rows, format: Format) -> bytes:
    """``rows`` in a format, made once for all clients that get the same rows in the same format."""
    kind = type(format)
    texts = []
    for part in rows.parts:
        text = part.encoded.get(kind)
        if text is None:
            text = part.encoded[kind] = format.rows(part)
        texts.append(text)
    return texts[0] if len(texts) == 1 else b"".join(texts)


class Described(Protocol):
    """A query as described in the first line of a response."""

    @property
    def query_id(self) -> str:
        """The id of the query."""
        ...

    @property
    def columns(self) -> list[ResultColumn]:
        """The columns of the result."""
        ...


class Format(Protocol):
    """The format of a response, JSON or lines, in UTF-8."""

    media_type: str
    #: whether clients can distinguish errors from rows; if not, the connection is aborted after an error
    shows_errors: bool = True

    def start(self) -> bytes:
        """The text before the first row."""
        ...

    def rows(self, rows: Sequence[Row]) -> bytes:
        """The rows."""
        ...

    def token(self, token: str) -> bytes:
        """A token of the preceding rows; empty if the format does not support tokens."""
        return b""

    def error(self, error: dict[str, Any]) -> bytes:
        """An error after the response has started."""
        ...

    def end(self) -> bytes:
        """The text at the end, also after an error."""
        ...


class Frames(Format):
    """One JSON array of frame objects, one per line.

    Each row's line ends with a comma and is sent completely, because another frame always follows a push row.
    A pull query on a table has no final message, so its comma is sent with the next row.
    """

    media_type = FRAMES

    def __init__(self, stream: QueryStream) -> None:
        self._stream = stream
        self._failed = False
        self._pull = stream.kind == "PULL"
        self._before, self._after = (b",\n", b"") if self._pull else (b"", b",\n")

    def start(self) -> bytes:
        """The header frame."""
        return b"[" + encode({"header": self.header()}) + self._after

    def header(self) -> dict[str, str]:
        """The contents of the header frame."""
        columns = ", ".join(schema_text(column, self._pull) for column in self._stream.columns)
        return {"queryId": self._stream.query_id, "schema": columns}

    def rows(self, rows: Sequence[Row]) -> bytes:
        """A row frame for each row."""
        frames = []
        for row in rows:
            tombstone = b',"tombstone":true' if row.tombstone else b""
            frames.append(b'%b{"row":{%b%b}}%b' % (self._before, self.values(row), tombstone, self._after))
        return b"".join(frames)

    def values(self, row: Row) -> bytes:
        """The member of a row frame that holds the row's values."""
        return b'"columns":' + row_text(row)

    def token(self, token: str) -> bytes:
        """A continuationToken frame."""
        return self._before + encode({"continuationToken": token}) + self._after

    def error(self, error: dict[str, Any]) -> bytes:
        """An errorMessage frame; the array ends with it."""
        self._failed = True
        return self._before + encode({"errorMessage": error})

    def end(self) -> bytes:
        """The final message and the end of the array."""
        if self._failed or self._pull:
            return b"]\n"
        return encode({"finalMessage": self._stream.final_message or "Query Completed"}) + b"]\n"


class ProtobufFrames(Frames):
    """Frames whose rows are Protobuf messages, in base64; the header contains their schema.

    Raises:
        KsqlError: Protobuf does not support a column.
    """

    media_type = PROTOBUF

    def __init__(self, stream: QueryStream) -> None:
        # not before the port is open: importing the engine is slow
        from ksql_spark.engine import ProtobufRows

        super().__init__(stream)
        self._messages = ProtobufRows(stream.columns)

    def header(self) -> dict[str, str]:
        """The same, with the schema."""
        return {**super().header(), "protoSchema": self._messages.schema}

    def values(self, row: Row) -> bytes:
        """The message of the row."""
        return b'"protobufBytes":"%b"' % base64.b64encode(self._messages.encode(row))


class Delimited(Format):
    """A metadata object, then one array per row, each on a line; tombstones are omitted."""

    media_type = DELIMITED

    def __init__(self, stream: QueryStream) -> None:
        self._stream = stream

    def start(self) -> bytes:
        """The metadata line."""
        return metadata(self._stream) + b"\n"

    def rows(self, rows: Sequence[Row]) -> bytes:
        """A line for each row."""
        return b"".join(row_text(row) + b"\n" for row in rows if not row.tombstone)

    def token(self, token: str) -> bytes:
        """A line with a token object."""
        return encode({"continuationToken": token}) + b"\n"

    def error(self, error: dict[str, Any]) -> bytes:
        """An error line."""
        return encode(error) + b"\n"

    def end(self) -> bytes:
        """Return nothing."""
        return b""


class JsonArray(Format):
    """The lines of the delimited format as one array."""

    media_type = JSON

    def __init__(self, stream: QueryStream) -> None:
        self._stream = stream

    def start(self) -> bytes:
        """The metadata object."""
        return b"[" + metadata(self._stream)

    def rows(self, rows: Sequence[Row]) -> bytes:
        """An array for each row."""
        return b"".join(b",\n" + row_text(row) for row in rows if not row.tombstone)

    def error(self, error: dict[str, Any]) -> bytes:
        """An error object."""
        return b",\n" + encode(error)

    def end(self) -> bytes:
        """The end of the array."""
        return b"]\n"


class Csv(Format):
    """A line of column names, then a line for each row (RFC 4180); tombstones are omitted."""

    media_type = CSV
    shows_errors = False

    def __init__(self, stream: QueryStream) -> None:
        self._columns = stream.columns

    def start(self) -> bytes:
        """The names."""
        return self._line([column.name for column in self._columns])

    def rows(self, rows: Sequence[Row]) -> bytes:
        """A line for each row."""
        return b"".join(self._line(row.values) for row in rows if not row.tombstone)

    def error(self, error: dict[str, Any]) -> bytes:
        """Return nothing: what follows rows would be a row."""
        return b""

    def end(self) -> bytes:
        """Return nothing."""
        return b""

    @staticmethod
    def _line(values: Sequence[Any]) -> bytes:
        return csv_line(values, lambda value: encode(value).decode()).encode(errors="replace")


class Ndjson(Format):
    """An object for each row, each on a line; tombstones are omitted."""

    media_type = NDJSON
    shows_errors = False

    def __init__(self, stream: QueryStream) -> None:
        self._names = [column.name for column in stream.columns]

    def start(self) -> bytes:
        """Return nothing."""
        return b""

    def rows(self, rows: Sequence[Row]) -> bytes:
        """A line for each row."""
        objects = (dict(zip(self._names, row.values, strict=True)) for row in rows if not row.tombstone)
        return b"".join(encode(each) + b"\n" for each in objects)

    def error(self, error: dict[str, Any]) -> bytes:
        """Return nothing: what follows rows would be a row."""
        return b""

    def end(self) -> bytes:
        """Return nothing."""
        return b""


class Lines(Format):
    """Writes the lines of a PRINT unchanged."""

    shows_errors = False

    def __init__(self, media_type: str) -> None:
        self.media_type = media_type

    def start(self) -> bytes:
        """Return nothing."""
        return b""

    def rows(self, rows: Sequence[Row]) -> bytes:
        """The first value of each row."""
        return "".join(f"{row.values[0]}\n" for row in rows).encode(errors="replace")

    def error(self, error: dict[str, Any]) -> bytes:
        """Return only the message of an error."""
        return f"{error['message']}\n".encode(errors="replace")

    def end(self) -> bytes:
        """Return nothing."""
        return b""


class ArrowStream(Format):
    """A stream of Arrow's IPC format, a record batch for the rows of each read; tombstones are omitted."""

    media_type = ARROW
    shows_errors = False

    def __init__(self, stream: QueryStream) -> None:
        # not before a client wants it: the package is large, and optional
        import pyarrow

        self._arrow = pyarrow
        self._types = [values.type_of(column.type) for column in stream.columns]
        self._converters = values.converters([column.type for column in stream.columns])
        names = [column.name for column in stream.columns]
        self._schema = pyarrow.schema(list(zip(names, map(values.arrow_type, self._types), strict=True)))

    def start(self) -> bytes:
        """The schema."""
        return bytes(self._schema.serialize())

    def rows(self, rows: Sequence[Row]) -> bytes:
        """A record batch."""
        kept = [row.values for row in rows if not row.tombstone]
        arrays = [self._array([row[at] for row in kept], at) for at in range(len(self._types))]
        return bytes(self._arrow.record_batch(arrays, schema=self._schema).serialize())

    def _array(self, column: list[Any], at: int) -> Any:
        type_, convert = self._types[at], self._converters[at]
        plain = map(_plain, column) if type_.has_variants else column
        try:
            return values.arrow_array(plain if convert is None else map(convert, plain), type_)
        except UnicodeEncodeError:  # of a lone surrogate
            return self._array(list(map(_plain, column)), at)

    def error(self, error: dict[str, Any]) -> bytes:
        """Return nothing: a reader expects a batch."""
        return b""

    def end(self) -> bytes:
        """The mark of the end."""
        return b"\xff\xff\xff\xff\x00\x00\x00\x00"


def _plain(value: Any) -> Any:
    """``value`` with VARIANTs as what their JSON is, and without lone surrogates."""
    match value:
        case RawJson():
            return json.loads(value, parse_float=Decimal)
        case str():
            return value.encode(errors="replace").decode()
        case dict():
            return {name: _plain(inner) for name, inner in value.items()}
        case list():
            return list(map(_plain, value))
    return value


#: media type -> the format of a query's rows
_FORMATS: dict[str, Callable[[QueryStream], Format]] = {
    DELIMITED: Delimited,
    FRAMES: Frames,
    JSON: JsonArray,
    PROTOBUF: ProtobufFrames,
    CSV: Csv,
    NDJSON: Ndjson,
    ARROW: ArrowStream,
}


def format_of(stream: QueryStream, media_type: str) -> Format:
    """The format for a query's rows.

    Raises:
        KsqlError: the format does not support its columns.
    """
    return _FORMATS[media_type](stream)


@functools.lru_cache(1000)
def accepted(header: str | None, offered: tuple[str, ...]) -> str:
    """The response's media type: the client's preferred one of ``offered``, whose first is the default.

    Raises:
        RequestError: 406 if the client accepts none of them.
    """
    for name, quality in sorted(qualities(header or "*/*"), key=lambda pair: -pair[1]):
        if quality > 0 and name in ("*/*", "application/*"):
            return offered[0]
        if quality > 0 and name in offered:
            return name
    raise RequestError(f"Unsupported media types {header}; supported: {', '.join(offered)}.", NOT_ACCEPTABLE)


_IF_INSTALLED = (ARROW,) if importlib.util.find_spec("pyarrow") is not None else ()
#: path -> the media types of its responses, the first of which is the default
_OFFERED = {
    "/query-stream": (DELIMITED, FRAMES, JSON, PROTOBUF, CSV, NDJSON, *_IF_INSTALLED),
    "/query": (FRAMES, JSON, DELIMITED, PROTOBUF),
}


def answer_type(path: str, accept: str | None) -> str:
    """The media type of the response to a query sent to ``path``.

    Raises:
        RequestError: 406 if the client accepts none of those available there.
    """
    media_type = accepted(accept, _OFFERED[path])
    # the old endpoint sends frames for both JSON media types
    return FRAMES if path == "/query" and media_type == JSON else media_type


def schema_text(column: ResultColumn, flag_key: bool) -> str:
    """A column as in the header frame: ```ID` STRING KEY``."""
    name = column.name.replace("`", "``")
    return f"`{name}` {column.type}" + (" KEY" if flag_key and column.is_key else "")


def metadata(query: Described) -> bytes:
    """The first line of the delimited format."""
    return b'{"queryId":%b,%b' % (encode(query.query_id), _COLUMNS.of(query.columns))


class _Columns:
    """The part of the metadata about columns, cached for recurring lists of columns."""

    def __init__(self, size: int = 1000) -> None:
        self._size = size
        #: by the identity of the list, which is kept alive in the entry
        self._cache: dict[int, tuple[list[ResultColumn], bytes]] = {}

    def of(self, columns: list[ResultColumn]) -> bytes:
        """Return the end of a header: ``"columnNames":[…],"columnTypes":[…]}``."""
        cached = self._cache.get(id(columns))
        if cached is None:
            names, types = [c.name for c in columns], [c.type for c in columns]
            cached = columns, b'"columnNames":%b,"columnTypes":%b}' % (encode(names), encode(types))
            if len(self._cache) >= self._size:
                self._cache = {}
            self._cache[id(columns)] = cached
        return cached[1]


_COLUMNS = _Columns()


def delimited_body(look_up: LookUp) -> bytes:
    """The body with a lookup's rows in the delimited format, built with minimal work."""
    lines = [metadata(look_up)]
    lines += map(encode, look_up.rows())
    lines.append(b"")
    return b"\n".join(lines)


def complete_body(stream: QueryStream, format: Format) -> bytes:
    """The response body of a query whose rows are complete."""
    parts = [format.start()]
    while (rows := stream.read(0.0)) is not None:
        parts.append(format.rows(rows))
    parts.append(format.end())
    return b"".join(parts)


def complete_response(stream: QueryStream, format: Format) -> Response:
    """The response to a query whose rows are complete, with the length of its body."""
    return Response(complete_body(stream, format), media_type=format.media_type)


class QueryResponse(Response):
    """Streams the rows of ``stream`` in ``format`` until it ends or the client disconnects."""

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
        self._timeout_s = READ_TIMEOUT_S
        #: whether the next step reads rows, which may not have arrived yet
        self._reads_next = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request (ASGI)."""
        self._host.opened(self._stream)
        watcher = asyncio.create_task(self._watch(receive))
        try:
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            self._rows_at_once = 1 if _sends_single_rows(scope, self._stream) else CHUNK_ROWS
            while (pieces := await self._next()) is not None:
                for part in _sendable(pieces):
                    if self._client_left:
                        return
                    await send({"type": "http.response.body", "body": part, "more_body": True})
            if self._client_left or (self._failed and not self._format.shows_errors):
                return  # without the end of the body, which signals a broken connection
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            watcher.cancel()
            await self._host.close(self._stream)

    async def _next(self) -> list[bytes] | None:
        """The next pieces."""

        def step(timeout_s: float) -> list[bytes] | None:
            self._timeout_s = timeout_s
            return next(self._pieces, None)

        if self._reads_next or not self._stream.is_live:
            return await self._host.read_rows(self._stream, step, READ_TIMEOUT_S)
        await asyncio.sleep(0)  # let others run between the pieces of a large read
        return step(0.0)

    async def _watch(self, receive: Receive) -> None:
        """Wait until the client disconnects, then close the stream, which ends a waiting read."""
        while (await receive())["type"] != "http.disconnect":
            pass
        self._client_left = True
        await self._host.close(self._stream)

    def _encoded(self) -> Iterator[list[bytes]]:
        """The response in chunks; each step may block for READ_TIMEOUT_S and yield none."""
        self._reads_next = True
        token = self._stream.continuation
        yield [self._format.start(), *([] if token is None else [self._format.token(token)])]
        try:
            while (rows := self._stream.read(self._timeout_s)) is not None:
                token = self._stream.continuation if rows else None
                if 0 < len(rows) <= self._rows_at_once:
                    self._reads_next = token is None
                    pieces = [rows_text(rows, self._format)]
                    del rows  # while a client does not read, only the text waits
                    yield pieces
                else:
                    yield from self._chunks(rows, is_all=token is None)
                if token is not None:
                    self._reads_next = True
                    yield [self._format.token(token)]
            self._reads_next = False
            if self._stream in self._host.cut_off:
                raise errors.stopping()
        except Exception as error:
            self._failed, self._reads_next = True, False
            if not self._client_left:
                yield [self._format.error(errors.body(error))]
        yield [self._format.end()]

    def _chunks(self, rows: Rows, *, is_all: bool) -> Iterator[list[bytes]]:
        """The rows of one read, after which the next one follows if that ``is_all``."""
        size = self._rows_at_once
        for begin in range(0, max(len(rows), 1), CHUNK_ROWS):
            self._reads_next = is_all and begin + CHUNK_ROWS >= len(rows)
            part = rows[begin : begin + CHUNK_ROWS]
            yield [self._format.rows(part[i : i + size]) for i in range(0, len(part), size)]


def _sendable(pieces: list[bytes]) -> Iterator[bytes]:
    """``pieces``, with large ones split."""
    for piece in pieces:
        for begin in range(0, len(piece), MAX_SEND_BYTES):
            yield piece[begin : begin + MAX_SEND_BYTES]


def _sends_single_rows(scope: Scope, stream: QueryStream) -> bool:
    """Whether each row is its own DATA frame, because ksqlDB's JavaScript client treats a frame as a row."""
    return scope.get("http_version") == "2" and stream.kind == "PUSH"
