"""The server's log: a file with a line for each event, as text or as JSON."""

from __future__ import annotations

import contextvars
import itertools
import json
import logging
import logging.handlers
import re
import secrets as random
import traceback
from collections.abc import Awaitable, Collection
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ksql_spark.security.masking import masked
from ksql_spark.server.security.middleware import header_of

#: the request that is answered; empty: none is
REQUEST: contextvars.ContextVar[str] = contextvars.ContextVar("request", default="")
HEADER = b"x-request-id"
TEXT = "%(asctime)s %(levelname)s %(name)s%(request_part)s: %(message)s"
#: ids of clients that are taken over
_FITTING = re.compile(rb"[\w.:/+=-]{1,100}")

#: where a terminal, or a program that reads the log, begins a new line
_BREAK = re.compile(r"\r\n?|[\n\v\f\x1c-\x1e\x85\u2028\u2029]")

Format = Literal["TEXT", "JSON"]


class RequestIds:
    """Gives each request an id, which is in each line of the log about it and in the answer's headers.

    It is the client's, in the header X-Request-Id, if it has one.

    Args:
        app: handles requests.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._start = random.token_hex(4).encode()
        self._numbers = itertools.count(1)

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Pass one request on (ASGI)."""
        if scope["type"] not in ("http", "websocket"):
            return self._app(scope, receive, send)
        given = header_of(scope, HEADER)
        if given is not None and _FITTING.fullmatch(given):
            id_ = given
        else:
            id_ = b"%s-%d" % (self._start, next(self._numbers))
        REQUEST.set(id_.decode())

        def named(message: Message) -> Awaitable[None]:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), (HEADER, id_)]
            return send(message)

        return self._app(scope, receive, named)


def _note_request(record: logging.LogRecord) -> bool:
    """Add the id of the request that is answered to a record of the log."""
    request = REQUEST.get()
    record.__dict__.update(request=request, request_part=f" [{request}]" if request else "")
    return True


class MaskingFormatter(logging.Formatter):
    """Masks secrets in the log: those that are known, and text that looks like one.

    Further lines of a message begin with blanks, so that no text of a client is taken for a line of the log.
    """

    def __init__(self, text: str, secrets: Collection[str]) -> None:
        super().__init__(text)
        self._secrets = secrets

    def format(self, record: logging.LogRecord) -> str:
        """The line, with its stack trace."""
        return _BREAK.sub("\n    ", masked(super().format(record), self._secrets))


class JsonFormatter(logging.Formatter):
    """A JSON object for each event, with the ids of its request and query, and its error, if it has any."""

    def __init__(self, secrets: Collection[str]) -> None:
        super().__init__()
        self._secrets = secrets

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        event: dict[str, Any] = {
            "time": time,
            "level": record.levelname,
            "logger": record.name,
            "message": masked(record.getMessage(), self._secrets),
        }
        if request := getattr(record, "request", ""):
            event["request"] = request
        if query := getattr(record, "query", ""):
            event["query"] = query
        if record.exc_info and record.exc_info[0] is not None:
            event["error"] = masked("".join(traceback.format_exception(*record.exc_info)), self._secrets)
        return json.dumps(event, ensure_ascii=False)


def log_to(file: Path, secrets: Collection[str], format_: Format) -> Path:
    """Log to ``file``, with rotation; the terminal gets only our own lines."""
    file.parent.mkdir(parents=True, exist_ok=True)
    handler = logging.handlers.RotatingFileHandler(file, maxBytes=10_000_000, backupCount=3, encoding="utf-8")
    handler.addFilter(_note_request)
    handler.setFormatter(JsonFormatter(secrets) if format_ == "JSON" else MaskingFormatter(TEXT, secrets))
    # if the log cannot be written (full disk), no stack trace must appear on the terminal
    logging.raiseExceptions = False
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    return file
