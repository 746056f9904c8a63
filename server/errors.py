"""Errors as JSON (reference §7.4). The only place that turns an exception into a response."""

from __future__ import annotations

import logging
from typing import Any

from fastapi import FastAPI, Request
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import Receive, Scope, Send

from ksql_spark.entities.wire import to_json
from ksql_spark.errors import KsqlError
from ksql_spark.masking import masked
from ksql_spark.server.console import prefers_page

LOG = logging.getLogger(__name__)

BAD_REQUEST = 40000
NOT_ACCEPTABLE = 40600
FORBIDDEN = 40300
NOT_FOUND = 40400
TIMEOUT = 40800
TOO_LARGE = 41300
UNSUPPORTED_MEDIA_TYPE = 41500
TOO_MANY = 42900
SERVER_ERROR = 50000
NOT_READY = 50302
SHUTTING_DOWN = 50303

#: codes whose body includes the statement's text, even if that is unknown (empty)
STATEMENT_CODES = frozenset({40001, 40002})
RETRY_AFTER_S = 10


TOO_MANY_REQUESTS = 429


class RequestError(Exception):
    """A request that is rejected before its statements are read."""

    def __init__(self, message: str, code: int = BAD_REQUEST) -> None:
        self.code = code
        self.message = message
        super().__init__(message)


def body(error: Exception) -> dict[str, Any]:
    """``error`` as a generic_error or statement_error object.

    Any exception other than our own errors becomes a 50000 with a short text; its stack trace is logged.
    """
    if isinstance(error, KsqlError):
        if error.statement is None and error.code not in STATEMENT_CODES:
            return _generic(error.code, error.message)
        return {
            "@type": "statement_error",
            "error_code": error.code,
            "message": error.message,
            "statementText": masked(_statement_of(error)),
            "entities": [to_json(entity) for entity in error.entities],
        }
    if isinstance(error, RequestError):
        return _generic(error.code, error.message)
    LOG.error("unexpected error", exc_info=error)
    reason = f"{type(error).__name__}: {error}".splitlines()[0]
    return _generic(SERVER_ERROR, KsqlError("INTERNAL", reason=reason).message)


def _statement_of(error: KsqlError) -> str:
    """The statement that failed, with its ``;``, unless the text is not a whole one."""
    text = error.statement or ""
    is_whole = text and error.condition not in ("SYNTAX", "STATEMENT_TOO_LONG")
    return f"{text.removesuffix(';')};" if is_whole else text


def _generic(code: int, message: str) -> dict[str, Any]:
    return {"@type": "generic_error", "error_code": code, "message": masked(message)}


def response(error: Exception) -> Response:
    """``error`` as an HTTP response; the status is code / 100."""
    content = body(error)
    status = content["error_code"] // 100
    headers = {"Retry-After": "1"} if status == TOO_MANY_REQUESTS else None
    return JSONResponse(content, status_code=status, headers=headers)


async def refuse(answer: Response, scope: Scope, receive: Receive, send: Send) -> None:
    """Send ``answer`` instead of handling a request; a WebSocket is closed before it opens."""
    if scope["type"] == "websocket" and "websocket.http.response" not in scope.get("extensions", {}):
        await send({"type": "websocket.close", "code": 1008, "reason": ""})
        return
    await answer(scope, receive, send)


def headless(file: str) -> RequestError:
    """The error for statements sent to a headless server; ``file``: its statements."""
    return RequestError(f"This server runs the statements in {file} and rejects all others.", FORBIDDEN)


def stopping() -> RequestError:
    """The error of a stopping server."""
    return RequestError("The server is shutting down.", SHUTTING_DOWN)


def unavailable(state: str) -> Response:
    """The 503 of a server that is STARTING or STOPPING."""
    if state == "STOPPING":
        return response(stopping())
    return JSONResponse(
        _generic(NOT_READY, "The server is still starting. Try again in a few seconds."),
        status_code=503,
        headers={"Retry-After": str(RETRY_AFTER_S)},
    )


def _routing(request: Request, error: HTTPException) -> Response:
    """The response to a request whose path or method has no route."""
    path, headers = request.url.path, error.headers
    match error.status_code:
        case 404 if request.method == "GET" and request.app.state.console and prefers_page(request.scope):
            return RedirectResponse(f"/#{path}", 302)  # the console says that there is no such page
        case 404:
            message = f"Resource {path} does not exist."
        case 405 if headers and "Allow" in headers:
            message = f"{path} does not support {request.method}, only {headers['Allow']}."
        case _:
            message = str(error.detail)
    return JSONResponse(_generic(error.status_code * 100, message), error.status_code, headers)


def install(app: FastAPI) -> None:
    """Make ``app`` answer every exception with the functions above."""

    async def on_error(_: Request, error: Exception) -> Response:
        return response(error)

    async def on_http_error(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        return _routing(request, error)

    async def on_disconnect(_: Request, error: Exception) -> Response:
        return Response(status_code=400)  # nobody receives this: the client disconnected during its request

    app.add_exception_handler(ClientDisconnect, on_disconnect)
    app.add_exception_handler(KsqlError, on_error)
    app.add_exception_handler(RequestError, on_error)
    app.add_exception_handler(HTTPException, on_http_error)
    app.add_exception_handler(Exception, on_error)
