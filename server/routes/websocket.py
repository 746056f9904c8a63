"""GET /ws/query: the rows of a SELECT or PRINT as messages of a WebSocket (reference §7.7)."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

from fastapi import WebSocket, WebSocketDisconnect
from starlette.websockets import WebSocketState

from ksql_spark.authorization import Role
from ksql_spark.entities.schemas import FieldInfo
from ksql_spark.entities.wire import to_json
from ksql_spark.server import errors
from ksql_spark.server.endpoints import Router, Rules
from ksql_spark.server.errors import RequestError
from ksql_spark.server.host import Host
from ksql_spark.server.models import StatementsBody, parsed_body
from ksql_spark.server.security.access import client_of, note_query, principal_of
from ksql_spark.server.streaming.responses import READ_TIMEOUT_S, encode, row_text

if TYPE_CHECKING:
    from ksql_spark.engine import QueryStream, Request

router = Router()

NORMAL, BAD_REQUEST, SERVER_ERROR, TRY_AGAIN = 1000, 1003, 1011, 1013
#: after how many rows to let other tasks run
TURN_ROWS = 100
#: the code of a command that does not run in time
NOT_REACHED = 50301


@router.endpoint("WEBSOCKET", "/ws/query", Rules(Role.READER, takes_patterns=True, runs_sql=True))
async def ws_query(socket: WebSocket) -> None:
    """Send the schema, then each row; close with 1000 at the end, 1003, 1011 or 1013 after an error."""
    host: Host = socket.app.state.host
    await socket.accept()
    stream: QueryStream | None = None
    watcher: asyncio.Task[None] | None = None
    try:
        text = socket.query_params.get("request")
        if text is None:
            raise RequestError("The URL has no parameter request.")
        principal = principal_of(socket)
        parsed = parsed_body(StatementsBody, text)
        request = parsed.request(principal.rights, principal.user, client=client_of(socket))
        opened: list[QueryStream] = []
        watcher = asyncio.create_task(_watch(socket, host, request, opened))
        opened.append(stream := await host.query(request))
        if request.cancelled.is_set():
            return
        note_query(principal, stream, request)
        host.opened(stream)
        await _send_rows(socket, host, stream)
        if stream in host.cut_off:
            raise errors.stopping()
        await _close(socket, NORMAL, "done")
    except WebSocketDisconnect:
        pass
    except Exception as error:
        body = errors.body(error)
        await _close(socket, _code(body["error_code"]), body["message"])
    finally:
        if watcher is not None:
            watcher.cancel()
        if stream is not None:
            await host.close(stream)


async def _send_rows(socket: WebSocket, host: Host, stream: QueryStream) -> None:
    is_print = stream.kind == "PRINT"
    if not is_print:
        columns = (FieldInfo(c.name, c.schema, "KEY" if c.is_key else None) for c in stream.columns)
        fields = [to_json(column) for column in columns]
        await socket.send_text(encode(fields).decode())
    while (rows := await host.read_rows(stream, stream.read, READ_TIMEOUT_S)) is not None:
        for number, row in enumerate(rows, 1):
            if number % TURN_ROWS == 0:
                await asyncio.sleep(0)  # sending does not yield to other tasks unless the client is slow
            if is_print:
                await socket.send_text(str(row.values[0]))
                continue
            tombstone = b',"tombstone":true' if row.tombstone else b""
            await socket.send_text((b'{"row":{"columns":%b%b}}' % (row_text(row), tombstone)).decode())


async def _watch(socket: WebSocket, host: Host, request: Request, opened: list[QueryStream]) -> None:
    """Wait until the client disconnects, then end the query that starts, or close its stream."""
    while (await socket.receive())["type"] != "websocket.disconnect":
        pass  # the client's messages have no meaning
    request.cancelled.set()
    for stream in opened:
        await host.close(stream)


async def _close(socket: WebSocket, code: int, message: str) -> None:
    """Send the last message and close."""
    if socket.client_state is not WebSocketState.CONNECTED:
        return
    with contextlib.suppress(WebSocketDisconnect, RuntimeError):
        await socket.send_text(encode({"error": message}).decode())
        await socket.close(code)


def _code(error_code: int) -> int:
    if error_code == NOT_REACHED:
        return TRY_AGAIN
    return BAD_REQUEST if error_code < 50000 else SERVER_ERROR
