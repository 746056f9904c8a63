"""The server's log: a file with one line per event, as text or JSON."""

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

from ksql_spark.masking import masked
from ksql_spark.server.security.middleware import header_of

#: the current request's id; empty if there is none
REQUEST: contextvars.ContextVar[str] = contextvars.ContextVar("request", default="")
HEADER = b"x-request-id"
TEXT = "%(asctime)s %(levelname)s %(name)s%(request_part)s: %(message)s"
#: accepted ids from clients
_FITTING = re.compile(rb"[\w.:/+=-]{1,100}")

#: characters at which a terminal or log reader starts a new line
_BREAK = re.compile(r"\r\n?|[\n\v\f\x1c-\x1e\x85\u2028\u2029]")

#: what would act on a terminal that shows the log
_CONTROL = {code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in "\n\t"}

Format = Literal["TEXT", "JSON"]


class RequestIds:
    """Gives each request an id, which appears in all its log lines and in the response headers.

    It is the client's id from the header X-Request-Id, if there is one.

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
        header = header_of(scope, HEADER)
        if header is not None and _FITTING.fullmatch(header):
            id_ = header
        else:
            id_ = b"%s-%d" % (self._start, next(self._numbers))
        REQUEST.set(id_.decode())

        def named(message: Message) -> Awaitable[None]:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), (HEADER, id_)]
            return send(message)

        return self._app(scope, receive, named)


def _note_request(record: logging.LogRecord) -> bool:
    """Add the current request's id to a log record."""
    request = REQUEST.get()
    record.__dict__.update(request=request, request_part=f" [{request}]" if request else "")
    return True


class MaskingFormatter(logging.Formatter):
    """Masks secrets in the log: known ones, and text that looks like one.

    Further lines of a message are indented, so that no client text can be mistaken for a log line.
    """

    def __init__(self, text: str, secrets: Collection[str]) -> None:
        super().__init__(text)
        self._secrets = secrets

    def format(self, record: logging.LogRecord) -> str:
        """The line, with its stack trace."""
        text = _BREAK.sub("\n    ", masked(super().format(record), self._secrets))
        return text if text.isprintable() else text.translate(_CONTROL)


class JsonFormatter(logging.Formatter):
    """A JSON object for each event, with the ids of its request and query, and its error if it has one."""

    def __init__(self, secrets: Collection[str]) -> None:
        super().__init__()
        self._secrets = secrets

    def format(self, record: logging.LogRecord) -> str:
        """Return the log line of a record."""
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
    """Log to ``file`` with rotation; the terminal gets only our own lines."""
    file.parent.mkdir(parents=True, exist_ok=True)
    handler = logging.handlers.RotatingFileHandler(file, maxBytes=10_000_000, backupCount=3, encoding="utf-8")
    handler.addFilter(_note_request)
    handler.setFormatter(JsonFormatter(secrets) if format_ == "JSON" else MaskingFormatter(TEXT, secrets))
    # if the log is not writable (full disk), no stack trace must appear on the terminal
    logging.raiseExceptions = False
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    return file
