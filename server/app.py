"""The web application: routes, errors and middleware."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, cast
from urllib.parse import urlsplit

from fastapi import FastAPI
from fastapi.routing import APIRoute, APIWebSocketRoute
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from ksql_spark.config import Config
from ksql_spark.entities.wire import schemas
from ksql_spark.server import errors
from ksql_spark.server.accept import prefers_page
from ksql_spark.server.console import Console
from ksql_spark.server.endpoints import Endpoints
from ksql_spark.server.host import Host
from ksql_spark.server.logs import RequestIds
from ksql_spark.server.metrics import CountingMiddleware, Metrics, has_metrics
from ksql_spark.server.models import REFERENCE
from ksql_spark.server.protocol.http import trusted_proxies
from ksql_spark.server.routes import (
    api_page,
    cluster,
    connectors,
    console,
    copying,
    graph,
    information,
    inserts,
    metrics,
    queries,
    samples,
    state,
    statements,
    websocket,
)
from ksql_spark.server.security.access import AccessGuard, RateGuard
from ksql_spark.server.security.authentication import Authenticator
from ksql_spark.server.security.middleware import BodyGuard, HostGuard, MediaTypeGuard, OriginGuard

#: the modules of all endpoints
MODULES = (
    statements,
    queries,
    samples,
    inserts,
    copying,
    websocket,
    information,
    cluster,
    state,
    api_page,
    metrics,
    graph,
    connectors,
    console,
)


def create_app(
    host: Host, config: Config | None = None, authenticator: Authenticator | None = None
) -> ASGIApp:
    """The application of ``host``.

    Args:
        host: holds the engine.
        config: the server's configuration.
        authenticator: identifies the sender, or None to create it from ``config``.
    """
    properties = config or Config()
    api = FastAPI(title="ksql-spark", docs_url=None, redoc_url=None)
    api.state.host = host
    host.most_request_bytes = properties["ksql.server.max.request.bytes"]
    host.request_timeout_s = properties["ksql.server.request.timeout.ms"] / 1000
    host.statement_timeout_s = properties["ksql.statement.timeout.ms"] / 1000
    _describe_truly(api)
    errors.install(api)
    for module in MODULES:
        api.include_router(module.router)
    authenticator = authenticator or Authenticator(properties)
    api.state.metrics = _metrics(host) if has_metrics() else None
    api.state.console = Console() if properties["ksql.console.enabled"] else None
    endpoints = Endpoints(module.router for module in MODULES)
    # each handles a request or passes it to the one before; the last one sees it first, and must be a
    # coroutine function, because uvicorn detects the version of ASGI by that. Each coroutine costs as much as
    # most of the checks themselves
    app: ASGIApp = ShortWay(api, {"/query-stream": queries.query_stream, "/query": queries.query})
    app = BodyGuard(app, host.most_request_bytes, host.request_timeout_s, endpoints)
    app = ReadinessMiddleware(app, host, endpoints)
    app = RateGuard(app, properties["ksql.server.max.requests.per.second"], endpoints)
    app = AccessGuard(app, authenticator, endpoints, properties["authentication.skip.paths"])
    app = MediaTypeGuard(app, endpoints)
    origins = [*properties["ksql.server.allowed.origins"], *properties["access.control.allow.origin"]]
    if origins:
        # lets such pages read responses, and send more than forms can
        app = CORSMiddleware(app, allow_origins=origins, allow_methods=["GET", "POST"], allow_headers=["*"])
    app = OriginGuard(app, origins)
    app = HostGuard(app, [*_listening_at(properties), *properties["ksql.server.allowed.hosts"]])
    app = RequestIds(app)
    if api.state.metrics is not None:
        app = CountingMiddleware(app, api.state.metrics)
    app = PathMiddleware(app)
    proxies = trusted_proxies(properties)
    return _behind(proxies, app) if proxies else app


def _behind(proxies: list[str], app: ASGIApp) -> ASGIApp:
    """``app`` with the client and the scheme from the headers of these proxies."""
    from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

    return cast(ASGIApp, ProxyHeadersMiddleware(cast(Any, app), proxies))


def _metrics(host: Host) -> Metrics:
    """The metrics of ``host`` and of all endpoints."""
    paths = [
        route.path
        for module in MODULES
        for route in module.router.routes
        if isinstance(route, (APIRoute, APIWebSocketRoute))
    ]
    return Metrics(lambda: host.engine.figures() if host.engine is not None else [], paths)


class ShortWay:
    """Calls some endpoints without FastAPI's routing, which takes longer than a lookup.

    Args:
        api: has these and all other endpoints.
        endpoints: path -> the handler of a POST.
    """

    def __init__(
        self, api: FastAPI, endpoints: Mapping[str, Callable[[Request], Awaitable[Response]]]
    ) -> None:
        self._api = api
        self._endpoints = endpoints

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request (ASGI)."""
        endpoint = self._endpoints.get(scope["path"]) if scope["type"] == "http" else None
        if endpoint is None or scope["method"] != "POST":
            await self._api(scope, receive, send)
            return
        scope["app"] = self._api
        try:
            response = await endpoint(Request(scope, receive, send))
        except Exception as error:
            response = errors.response(error)
        await response(scope, receive, send)


def _describe_truly(app: FastAPI) -> None:
    """Describe responses; remove FastAPI's 422, which no route returns."""
    whole = app.openapi

    def openapi() -> dict[str, Any]:
        document = whole()
        for methods in document["paths"].values():
            for entry in methods.values():
                entry["responses"].pop("422", None)
        for name in ("HTTPValidationError", "ValidationError"):
            document.get("components", {}).get("schemas", {}).pop(name, None)
        document.setdefault("components", {}).setdefault("schemas", {}).update(schemas(REFERENCE))
        return document

    app.openapi = openapi  # type: ignore[method-assign]


def _listening_at(config: Config) -> list[str]:
    """The host names of the property ``listeners``."""
    urls = (urlsplit(text.strip()) for text in str(config["listeners"]).split(","))
    return [url.hostname for url in urls if url.hostname is not None]


class PathMiddleware:
    """Treats ``/ksql/`` and ``http://host:8088/ksql`` like ``/ksql``, and so for every path.

    The latter is the absolute form of RFC 9112, which ksqlDB's Python client ``ksql`` sends over HTTP/2.

    Args:
        app: handles requests.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass one request on with its normalized path (ASGI)."""
        if scope["type"] in ("http", "websocket"):
            path = scope["path"]
            if "://" in path[:9]:
                path = "/" + path.partition("://")[2].partition("/")[2]
            if path.endswith("/"):
                path = path.rstrip("/") or "/"
            if path is not scope["path"]:
                scope = {**scope, "path": path}
        await self._app(scope, receive, send)


class ReadinessMiddleware:
    """Answers 503 to everything that needs the engine until the engine runs, and again once it stops.

    For a headless server it also rejects all statements.
    """

    def __init__(self, app: ASGIApp, host: Host, endpoints: Endpoints) -> None:
        self._app = app
        self._host = host
        self._endpoints = endpoints

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Pass one request on, or refuse it (ASGI)."""
        if scope["type"] in ("http", "websocket") and not _needs_no_engine(scope):
            state = self._host.state
            if state != "RUNNING":
                return errors.refuse(errors.unavailable(state), scope, receive, send)
            if self._host.queries_file is not None and self._endpoints.rules(scope["path"]).runs_sql:
                problem = errors.headless(self._host.queries_file)
                return errors.refuse(errors.response(problem), scope, receive, send)
        return self._app(scope, receive, send)


def _needs_no_engine(scope: Scope) -> bool:
    path = scope["path"]
    return path.startswith(("/chc/", "/console/")) or (path == "/" and prefers_page(scope))
