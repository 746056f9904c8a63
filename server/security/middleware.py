"""Checks before a route handles a request: its host, origin, media type and size.

A server without authentication trusts every client that can reach its port. A browser can reach it on behalf
of any page that its user opens, so three headers are checked that other clients set correctly: ``Host``
(against DNS rebinding: an attacker's name that resolves to this server), ``Origin`` (against cross-site
requests) and ``Content-Type`` (against requests that a page can send to another site without a preflight:
forms and plain text).

Each check is a plain function that returns the awaitable of the rest of the application, without a coroutine
around it: every request passes through all of them, and each coroutine costs as much as the check itself.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import ipaddress
import socket
from collections import Counter
from collections.abc import Awaitable, Iterable, Iterator
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from ksql_spark.server import errors
from ksql_spark.server.endpoints import Endpoints
from ksql_spark.server.errors import (
    FORBIDDEN,
    TIMEOUT,
    TOO_LARGE,
    TOO_MANY,
    UNSUPPORTED_MEDIA_TYPE,
    RequestError,
)
from ksql_spark.server.models import BODY
from ksql_spark.server.threads import CLIENT

ANY = "*"
#: the maximum digits of a length; Python refuses to parse some thousands
MAX_DIGITS = 20


def header_of(scope: Scope, name: bytes) -> bytes | None:
    """The first header named ``name`` (lower case) of a request."""
    value: bytes
    for key, value in scope["headers"]:
        if key == name:
            return value
    return None


class HostGuard:
    """Rejects requests whose Host is not a name of this server (403).

    Allowed are IP addresses, ``localhost`` and names below it, single-label names (which public DNS does not
    have; containers do), and ``names``.

    Args:
         app: handles requests that are allowed.
        names: more names, of listeners or from ``ksql.server.allowed.hosts``; ``*`` allows all.
    """

    def __init__(self, app: ASGIApp, names: Iterable[str]) -> None:
        self._app = app
        self._names = frozenset({socket.gethostname().lower(), *(name.lower() for name in names)})
        # clients use only a few names
        self._is_ours = functools.lru_cache(100)(self._is_name_of_ours)

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Pass one request on, or reject it (ASGI)."""
        if scope["type"] in ("http", "websocket"):
            host = (header_of(scope, b"host") or b"").decode("latin-1")
            if not self._is_ours(host):
                problem = RequestError(
                    f"This server does not accept requests for the host name {host}. If that is its name, "
                    f"add it to ksql.server.allowed.hosts in the server's configuration.",
                    FORBIDDEN,
                )
                return errors.refuse(errors.response(problem), scope, receive, send)
        return self._app(scope, receive, send)

    def _is_name_of_ours(self, host: str) -> bool:
        if not host or ANY in self._names:
            return True
        try:
            name = (urlsplit(f"//{host}").hostname or "").rstrip(".")
        except ValueError:
            return False
        return (
            _is_address(name) or ("." not in name and ":" not in name and name != "")
            or name.endswith(".localhost") or name in self._names
        )  # fmt: skip


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


class OriginGuard:
    """Rejects requests from pages of other sites (403): those with an ``Origin`` that is not ours.

    Browsers send it with every POST; curl, ksqlDB's clients and our shell do not.

    Args:
         app: handles requests that are allowed.
        origins: more origins, from ``ksql.server.allowed.origins``; ``*`` allows all.
    """

    def __init__(self, app: ASGIApp, origins: Iterable[str]) -> None:
        self._app = app
        self._origins = frozenset(origin.lower().rstrip("/") for origin in origins)

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Pass one request on, or reject it (ASGI)."""
        if scope["type"] in ("http", "websocket") and header_of(scope, b"origin") is not None:
            headers = Headers(scope=scope)
            origin = headers.get("origin")
            scheme = str(scope.get("scheme", "http")).replace("ws", "http", 1)
            ours = f"{scheme}://{headers.get('host', '')}".lower()
            allowed = {ours, *self._origins}
            if origin is not None and origin.lower() not in allowed and ANY not in allowed:
                problem = RequestError(
                    f"Pages from {origin} may not use this server. To allow them, add the origin to "
                    f"ksql.server.allowed.origins in the server's configuration.",
                    FORBIDDEN,
                )
                return errors.refuse(errors.response(problem), scope, receive, send)
        return self._app(scope, receive, send)


#: ksqlDB's media types for lines of JSON
_DELIMITED = "application/vnd.ksqlapi.delimited.v1"


class MediaTypeGuard:
    """Rejects bodies that are not declared as JSON, if a request may change something (415).

    A request without a Content-Type passes, because several ksqlDB clients omit it, unless a browser sent it.

    Args:
        app: handles requests that are allowed.
        endpoints: define which requests only read.
    """

    def __init__(self, app: ASGIApp, endpoints: Endpoints) -> None:
        self._app = app
        self._endpoints = endpoints

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Pass one request on, or reject it (ASGI)."""
        rules = self._endpoints.rules(scope["path"]) if scope["type"] == "http" else None
        if rules and scope["method"] not in ("GET", "HEAD", "OPTIONS") and not rules.only_reads:
            headers = Headers(scope=scope)
            types = headers.getlist("content-type")
            is_of_browser = "origin" in headers or "sec-fetch-site" in headers
            is_accepted = all(_is_json(name) or media_type(name) in rules.media_types for name in types)
            if not is_accepted or (is_of_browser and not types):
                problem = RequestError(
                    f"{scope['path']} requires the header Content-Type: application/json, but got "
                    f"{', '.join(types) or 'none'}. With curl, add -H 'Content-Type: application/json'.",
                    UNSUPPORTED_MEDIA_TYPE,
                )
                return errors.response(problem)(scope, receive, send)
        return self._app(scope, receive, send)


def media_type(content_type: str) -> str:
    """The media type in a Content-Type, in lower case."""
    return content_type.partition(";")[0].strip().lower()


def _is_json(content_type: str) -> bool:
    """Whether a Content-Type is a JSON type.

    >>> _is_json("application/vnd.ksql.v1+json; charset=utf-8"), _is_json("text/plain; a=application/json")
    (True, False)
    """
    name = media_type(content_type)
    type_, _, subtype = name.partition("/")
    return name == _DELIMITED or (type_ == "application" and (subtype == "json" or subtype.endswith("+json")))


#: bodies of more bytes count as large; how many there may be at once, and of these of one client
LARGE_BYTES, LARGE_BODIES, LARGE_BODIES_OF_CLIENT = 500_000, 20, 10


class BodyGuard:
    """Reads bodies; rejects large ones before they are in memory (413), and slow ones (408).

    Args:
        app: handles requests that are allowed; their scopes hold the body.
        most: the limit.
        longest_s: the time limit for a body, seconds.
        endpoints: define the streamed bodies, which have no limits here.
    """

    def __init__(self, app: ASGIApp, most: int, longest_s: float, endpoints: Endpoints) -> None:
        self._app = app
        self._most = most
        self._longest_s = longest_s
        self._endpoints = endpoints
        #: how many large bodies of a client are in memory
        self._large: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass one request on, or reject it (ASGI)."""
        if scope["type"] != "http" or self._endpoints.rules(scope["path"]).is_streamed:
            await self._app(scope, receive, send)
            return
        with contextlib.ExitStack() as held:
            try:
                body = await self._body(scope, receive, held)
            except RequestError as problem:
                await errors.response(problem)(scope, receive, send)
                return
            if body is not None:
                scope[BODY] = body
                await self._app(scope, receive, send)

    @contextlib.contextmanager
    def _holding(self, client: str) -> Iterator[None]:
        """A block in which a large body is in memory. Raises RequestError: there are too many."""
        if self._large.total() >= LARGE_BODIES or self._large[client] >= LARGE_BODIES_OF_CLIENT:
            raise RequestError("The server has too many large requests at once. Try again soon.", TOO_MANY)
        self._large[client] += 1
        try:
            yield
        finally:
            self._large[client] -= 1
            self._large += Counter()  # forgets those that have none

    async def _body(self, scope: Scope, receive: Receive, held: contextlib.ExitStack) -> bytes | None:
        """The body; None if the client disconnects."""
        length = header_of(scope, b"content-length") or b"0"
        if length.isdigit() and (
            len(length) > MAX_DIGITS or int(length) > self._most
        ):  # before the client is told to continue
            raise self._too_large()
        parts, read, is_large = [], 0, False
        try:
            async with asyncio.timeout(self._longest_s):
                while (message := await receive())["type"] == "http.request":
                    parts.append(message.get("body", b""))
                    read += len(parts[-1])
                    if read > self._most:
                        raise self._too_large()
                    if read > LARGE_BYTES and not is_large:
                        is_large = True
                        held.enter_context(self._holding(CLIENT.get()))
                    if not message.get("more_body"):
                        return b"".join(parts)
        except TimeoutError:
            within = f"{self._longest_s:g} s (ksql.server.request.timeout.ms)"
            raise RequestError(f"The request body did not arrive within {within}.", TIMEOUT) from None
        return None

    def _too_large(self) -> RequestError:
        return RequestError(
            f"The request's body has more than {self._most} bytes (ksql.server.max.request.bytes).", TOO_LARGE
        )
