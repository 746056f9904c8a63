"""Access control: who sends a request, whether they may, and how many they send."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import time
from collections import OrderedDict
from collections.abc import Awaitable, Hashable, Iterable
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from starlette.datastructures import Headers
from starlette.requests import HTTPConnection
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ksql_spark.authorization import Role, check_role
from ksql_spark.errors import KsqlError
from ksql_spark.masking import masked
from ksql_spark.server import errors
from ksql_spark.server.endpoints import Endpoints
from ksql_spark.server.errors import TOO_MANY, RequestError
from ksql_spark.server.security.authentication import ANYBODY, STRANGER, Authenticator, Principal, Refused
from ksql_spark.server.threads import CLIENT

if TYPE_CHECKING:
    from ksql_spark.engine import QueryStream, Request

LOG = logging.getLogger(__name__)
AUDIT = logging.getLogger("audit")

UNAUTHENTICATED = 40100
#: the maximum failed logins per second of one user from one address, and of all users from one address
MAX_REFUSED, MAX_REFUSED_OF_ADDRESS = 5.0, 20.0
#: how many credentials are checked at once: each hash takes 32 MB and a core
MAX_CHECKS = 2
#: how many characters of statements to log
MAX_NOTED = 200_000
#: how many clients to remember for the rate limit
MAX_CLIENTS = 10_000


def principal_of(http: HTTPConnection) -> Principal:
    """The sender of a request that has passed AccessGuard."""
    return http.scope["ksql_spark.principal"]  # type: ignore[no-any-return]


def client_of(http: HTTPConnection) -> str:
    """Whom limits count as the sender of a request that has passed AccessGuard."""
    return _counted(http.scope)


def _counted(scope: Scope) -> str:
    principal: Principal = scope["ksql_spark.principal"]
    return _client(scope) if principal == ANYBODY else f"user {principal.name}"


def note_statements(principal: Principal, text: str) -> None:
    """Log who wants to run which statements; for overlong texts, only the beginning."""
    if len(text) > MAX_NOTED:
        text = f"{text[:MAX_NOTED].rsplit(maxsplit=1)[0]} … ({len(text)} characters)"
    AUDIT.info("%s (%s): %s", principal.name, principal.rights, masked(text))


def note_query(principal: Principal, stream: QueryStream, request: Request) -> None:
    """Log who has started a query, except pull queries on tables, which are frequent and short."""
    if stream.kind != "PULL":
        note_statements(principal, request.text)


class Logins:
    """Checks credentials, a few at once, and those of an address not too often.

    Args:
        authenticator: knows the users.
    """

    def __init__(self, authenticator: Authenticator) -> None:
        self._authenticator = authenticator
        self._refused, self._refused_of_address = Buckets(MAX_REFUSED), Buckets(MAX_REFUSED_OF_ADDRESS)
        self._checks = asyncio.Semaphore(MAX_CHECKS)

    @property
    def is_on(self) -> bool:
        """Whether clients must log in."""
        return self._authenticator.is_on

    async def principal(self, address: str, header: str | None) -> Principal:
        """The client's principal.

        Args:
            address: of the client.
            header: its credentials, as the header Authorization has them.

        Raises:
            Refused: the client is unknown.
            RequestError: 429 if there were too many attempts.
        """
        if (principal := self._authenticator.remembered(header)) is not None:
            return principal
        self._check_attempts(address, header)
        async with self._checks:
            # others may have failed while this one waited
            self._check_attempts(address, header)
            if (principal := self._authenticator.remembered(header)) is not None:  # or have logged in
                return principal
            try:
                # in a thread: hashing is slow on purpose, and keys may come from elsewhere
                return await asyncio.to_thread(self._authenticator.principal, header)
            except Refused:
                self._refused.wait_s((address, self._authenticator.claimed(header)))
                if header is not None:  # without credentials, this was not an attempt
                    self._refused_of_address.wait_s(address)
                raise

    def _check_attempts(self, address: str, header: str | None) -> None:
        """Check whether ``address`` may try these credentials. Credentials that were right before always may:
        behind a proxy, many users share an address.

        Raises:
            RequestError: 429 if too many attempts have failed.
        """
        if self._authenticator.has_succeeded(header):
            return
        key = (address, self._authenticator.claimed(header))
        if (
            self._refused.wait_s(key, take=0.0) > 0
            or (header is not None and self._refused_of_address.wait_s(address, take=0.0) > 0)
        ):  # fmt: skip
            raise RequestError("Too many failed logins. Try again in a second.", TOO_MANY)


class AccessGuard:
    """Passes a request on with its principal, or returns 401 or 403. Every request passes through here.

    Args:
        app: handles requests that are allowed.
        authenticator: identifies the sender.
        endpoints: define the required role.
        skipped: patterns of paths that need no authentication.
    """

    def __init__(
        self, app: ASGIApp, authenticator: Authenticator, endpoints: Endpoints, skipped: Iterable[str]
    ) -> None:
        self._app = app
        self._authenticator = authenticator
        self._endpoints = endpoints
        self._skipped = tuple(skipped)
        self._logins = Logins(authenticator)

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Pass one request on, or reject it (ASGI)."""
        if scope["type"] not in ("http", "websocket"):
            return self._app(scope, receive, send)
        if self._authenticator.is_on:
            rules = self._endpoints.rules(scope["path"])
            if any(fnmatchcase(scope["path"], pattern) for pattern in self._skipped):
                return self._optionally_authenticated(scope, receive, send)
            if rules.role is not None:
                return self._authenticated(rules.role, rules.takes_patterns, scope, receive, send)
        scope["ksql_spark.principal"] = ANYBODY
        return self._app(scope, receive, send)

    async def _optionally_authenticated(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on a request that needs no authentication; who logs in all the same may learn more."""
        scope["ksql_spark.principal"] = STRANGER
        header = Headers(scope=scope).get("authorization")
        if header is not None:
            with contextlib.suppress(Refused, RequestError):
                scope["ksql_spark.principal"] = await self._logins.principal(_client(scope), header)
        await self._app(scope, receive, send)

    async def _authenticated(
        self, role: Role, takes_patterns: bool, scope: Scope, receive: Receive, send: Send
    ) -> None:
        path = scope["path"]
        header = Headers(scope=scope).get("authorization")
        principal = ANYBODY
        try:
            principal = await self._logins.principal(_client(scope), header)
            check_role(principal.rights, role, takes_patterns, path)
        except Refused as refused:
            LOG.warning("refused %s of %s: %s", path, _client(scope), refused)
            answer = errors.response(RequestError(refused.message, UNAUTHENTICATED))
            answer.headers["WWW-Authenticate"] = self._authenticator.challenge
            await errors.refuse(answer, scope, receive, send)
            return
        except RequestError as problem:
            await errors.refuse(_retry_after(problem, 1.0), scope, receive, send)
            return
        except KsqlError as error:
            AUDIT.warning("%s (%s) was refused %s", principal.name, principal.rights, path)
            await errors.refuse(errors.response(error), scope, receive, send)
            return
        scope["ksql_spark.principal"] = principal
        if principal.expires is not None:
            receive = _receiving_until(principal.expires, scope, receive)
        await self._app(scope, receive, send)


def _receiving_until(expires: float, scope: Scope, receive: Receive) -> Receive:
    """``receive``, whose client counts as gone once its token has expired, so that streams end."""

    async def limited() -> Message:
        try:
            async with asyncio.timeout(max(0.0, expires - time.time())):
                return await receive()
        except TimeoutError:
            LOG.info("%s of %s ends: its token has expired", scope["path"], _client(scope))
            return {"type": f"{scope['type']}.disconnect", "code": 1008}

    return limited


class Buckets:
    """A token bucket for each client.

    Args:
        most: requests per second, and the size of a full bucket (at least one).
    """

    def __init__(self, most: float) -> None:
        self._rate = most
        self._full = max(1.0, most)
        #: client -> remaining requests, and when that was computed; the most recent clients are last
        self._levels: OrderedDict[Hashable, tuple[float, float]] = OrderedDict()

    def wait_s(self, client: Hashable, take: float = 1.0) -> float:
        """Take a request from the bucket; returns 0, or the seconds until one is available."""
        now = time.monotonic()
        tokens, at = self._levels.pop(client, (self._full, now))
        tokens = min(self._full, tokens + (now - at) * self._rate)
        is_there = tokens >= 1
        self._levels[client] = (tokens - take if is_there else tokens, now)
        if len(self._levels) > MAX_CLIENTS:
            self._levels.popitem(last=False)
        return 0.0 if is_there else (1 - tokens) / self._rate


class RateGuard:
    """Returns 429 to a client that sends too many requests.

    A client is a principal, or an address if there is no authentication.

    Args:
        app: handles requests that are allowed.
        most: requests per second; 0: no limit.
        endpoints: define the public endpoints, which have no limit.
    """

    def __init__(self, app: ASGIApp, most: float, endpoints: Endpoints) -> None:
        self._app = app
        self._most = most
        self._endpoints = endpoints
        self._buckets = Buckets(most)

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Pass one request on, or reject it (ASGI)."""
        if scope["type"] not in ("http", "websocket"):
            return self._app(scope, receive, send)
        CLIENT.set(_counted(scope))
        if self._most > 0 and self._endpoints.rules(scope["path"]).role is not None:
            wait_s = self._buckets.wait_s(_counted(scope))
            if wait_s > 0:
                problem = RequestError(
                    f"More than {self._most:g} requests a second (ksql.server.max.requests.per.second).",
                    TOO_MANY,
                )
                return errors.refuse(_retry_after(problem, wait_s), scope, receive, send)
        return self._app(scope, receive, send)


def _retry_after(problem: RequestError, wait_s: float) -> Response:
    answer = errors.response(problem)
    answer.headers["Retry-After"] = str(math.ceil(wait_s))
    return answer


def _client(scope: Scope) -> str:
    return str(scope["client"][0]) if scope.get("client") else "unknown"
