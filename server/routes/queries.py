"""POST /query-stream, /query and /close-query: SELECT and PRINT."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi import Request
from starlette.responses import Response

from ksql_spark.authorization import Role
from ksql_spark.errors import KsqlError
from ksql_spark.server.endpoints import Router, Rules
from ksql_spark.server.errors import NOT_ACCEPTABLE, RequestError
from ksql_spark.server.host import Host
from ksql_spark.server.models import (
    BODY,
    CloseQueryBody,
    QueryStreamBody,
    StatementsBody,
    described,
    read_body,
)
from ksql_spark.server.security.access import AUDIT, client_of, note_query, principal_of
from ksql_spark.server.streaming.lookups import looked_up, result_headers
from ksql_spark.server.streaming.responses import (
    ARROW,
    CSV,
    DELIMITED,
    FRAMES,
    JSON,
    NDJSON,
    PROTOBUF,
    TEXT,
    Lines,
    QueryResponse,
    answer_type,
    complete_response,
    format_of,
)

if TYPE_CHECKING:
    from ksql_spark import engine
    from ksql_spark.engine import Engine, QueryStream

router = Router()


@router.endpoint(
    "POST",
    "/query-stream",
    Rules(Role.READER, takes_patterns=True, runs_sql=True, only_reads=True),
    openapi_extra=described(
        QueryStreamBody,
        answers={
            DELIMITED: "A line of metadata, then an array for each row, each on a line.",
            FRAMES: "An array of frames, one on each line.",
            JSON: "The metadata and the rows as one array.",
            PROTOBUF: "Frames whose rows are messages of Protobuf, in base64.",
            CSV: "A line of column names, then a line for each row.",
            NDJSON: "An object for each row, each on a line.",
            ARROW: "A stream of Arrow's IPC format, if the server has pyarrow.",
        },
    ),
)
async def query_stream(http: Request) -> Response:
    """Stream a query's rows: delimited, or frames or one JSON array if Accept requests that."""
    host: Host = http.app.state.host
    media_type = answer_type("/query-stream", http.headers.get("accept"))
    principal = principal_of(http)
    body = read_body(QueryStreamBody, http)
    request = body.request(principal.rights, principal.user, client_of(http))
    if (lookup_response := await looked_up(host, request, len(http.scope[BODY]), media_type)) is not None:
        return lookup_response
    stream, response = await _start(http, request, media_type, DELIMITED)
    if stream.kind == "PRINT" and media_type != DELIMITED:
        await host.close(stream)
        raise RequestError(f"PRINT is only available as {DELIMITED}.", NOT_ACCEPTABLE)
    return response


@router.endpoint(
    "POST",
    "/query",
    Rules(Role.READER, takes_patterns=True, runs_sql=True, only_reads=True),
    openapi_extra=described(
        StatementsBody,
        answers={
            FRAMES: "An array of frames, one on each line.",
            JSON: "The same.",
            DELIMITED: "A line of metadata, then an array for each row, each on a line.",
            PROTOBUF: "Frames whose rows are messages of Protobuf, in base64.",
            TEXT: "The lines of a PRINT.",
        },
    ),
)
async def query(http: Request) -> Response:
    """Stream a query's rows as frames, or the lines of a PRINT."""
    host: Host = http.app.state.host
    media_type = answer_type("/query", http.headers.get("accept"))
    principal = principal_of(http)
    body = read_body(StatementsBody, http)
    request = body.request(principal.rights, principal.user, client=client_of(http))
    if (lookup_response := await looked_up(host, request, len(http.scope[BODY]), media_type)) is not None:
        return lookup_response
    _, response = await _start(http, request, media_type, TEXT)
    return response


@router.endpoint(
    "POST",
    "/close-query",
    Rules(Role.READER, takes_patterns=True, runs_sql=True),
    openapi_extra=described(CloseQueryBody, answers={}),
)
async def close_query(http: Request) -> Response:
    """End a push query; only an admin may end one that somebody else has started."""
    host: Host = http.app.state.host
    principal = principal_of(http)
    query_id = read_body(CloseQueryBody, http).queryId
    AUDIT.info("%s: close %s", principal.name, query_id)
    if not await host.call(lambda engine: engine.close_query(query_id, principal.rights, principal.user)):
        raise RequestError(f"No query with id {query_id} is running.")
    return Response()


async def _start(
    http: Request, request: engine.Request, media_type: str, print_type: str
) -> tuple[engine.QueryStream, Response]:
    """The query, and the response that streams it or already has all of it."""
    host: Host = http.app.state.host

    def start(engine: Engine) -> tuple[QueryStream, Response]:
        stream = engine.query(request)
        try:
            format = Lines(print_type) if stream.kind == "PRINT" else format_of(stream, media_type)
        except KsqlError as error:
            stream.close()
            error.statement = request.text
            raise
        if stream.is_complete:
            # one thread from the request to the bytes of the response
            return stream, complete_response(stream, format)
        return stream, QueryResponse(host, stream, format)

    stream, response = await host.call_while_connected(http, request, start, is_query=True)
    note_query(principal_of(http), stream, request)
    response.headers.update(result_headers(request, request.positions))
    return stream, response
