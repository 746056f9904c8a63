"""POST /query-stream, /query and /close-query: SELECT and PRINT."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fastapi import APIRouter, Request
from starlette.responses import Response

from server.errors import NOT_ACCEPTABLE, RequestError
from server.host import Host
from server.models import CloseQueryBody, QueryStreamBody, StatementsBody, openapi, read_body
from server.streaming import (
    DELIMITED,
    FRAMES,
    JSON,
    TEXT,
    Delimited,
    Format,
    Frames,
    JsonArray,
    Lines,
    QueryResponse,
)

if TYPE_CHECKING:
    from ksql_spark import engine

router = APIRouter()


@router.post("/query-stream", openapi_extra=openapi(QueryStreamBody))
async def query_stream(http: Request) -> Response:
    """Stream a query's rows: delimited, or frames or one JSON array if Accept requests that."""
    media_type = accepted(http.headers.get("accept"), (DELIMITED, FRAMES, JSON))
    stream = await _start(http, (await read_body(QueryStreamBody, http)).request())
    if stream.kind == "PRINT" and media_type != DELIMITED:
        host: Host = http.app.state.host
        await host.close(stream)
        raise RequestError(f"PRINT can only be streamed as {DELIMITED}.", NOT_ACCEPTABLE)
    return _response(http, stream, media_type, DELIMITED)


@router.post("/query", openapi_extra=openapi(StatementsBody))
async def query(http: Request) -> Response:
    """Stream a query's rows as frames, or the lines of a PRINT."""
    media_type = accepted(http.headers.get("accept"), (FRAMES, JSON, DELIMITED))
    stream = await _start(http, (await read_body(StatementsBody, http)).request())
    # the old endpoint sends frames for both JSON media types
    return _response(http, stream, FRAMES if media_type == JSON else media_type, TEXT)


@router.post("/close-query", openapi_extra=openapi(CloseQueryBody))
async def close_query(http: Request) -> Response:
    """End a push query."""
    host: Host = http.app.state.host
    query_id = (await read_body(CloseQueryBody, http)).queryId
    if not await host.call(lambda engine: engine.close_query(query_id)):
        raise RequestError(f"No query with id {query_id} is running.")
    return Response()


async def _start(http: Request, request: engine.Request) -> engine.QueryStream:
    host: Host = http.app.state.host
    return await host.call_while_connected(http, request, lambda engine: engine.query(request))


def _response(http: Request, stream: engine.QueryStream, media_type: str, print_type: str) -> Response:
    format: Format
    if stream.kind == "PRINT":
        format = Lines(print_type)
    elif media_type == FRAMES:
        format = Frames(stream)
    elif media_type == JSON:
        format = JsonArray(stream)
    else:
        format = Delimited(stream)
    return QueryResponse(http.app.state.host, stream, format)


def accepted(header: str | None, offered: Sequence[str]) -> str:
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
