"""Serves the graph of what runs, with its figures."""

from __future__ import annotations

from fastapi import Request
from starlette.responses import JSONResponse, Response

from ksql_spark.authorization import Role
from ksql_spark.entities.graph import Graph
from ksql_spark.entities.query_details import QueryDetails
from ksql_spark.entities.wire import to_json
from ksql_spark.server.endpoints import Router, Rules
from ksql_spark.server.host import Host
from ksql_spark.server.models import described
from ksql_spark.server.security.access import principal_of

router = Router()


@router.endpoint(
    "GET",
    "/graph",
    Rules(Role.READER, takes_patterns=True),
    openapi_extra=described(answers={"application/json": Graph}),
)
async def graph(http: Request) -> Response:
    """Topics, streams, tables, queries and connectors, how records go between them, and what is too slow."""
    host: Host = http.app.state.host
    rights = principal_of(http).rights
    return JSONResponse(to_json(await host.call(lambda engine: engine.graph(rights))))


@router.endpoint(
    "GET",
    "/queries/{query_id}",
    Rules(Role.READER, takes_patterns=True),
    openapi_extra=described(answers={"application/json": QueryDetails}),
)
async def query_details(http: Request, query_id: str) -> Response:
    """A persistent query: its steps with figures, latencies, checkpoints, and what has happened to it."""
    host: Host = http.app.state.host
    rights = principal_of(http).rights
    return JSONResponse(to_json(await host.call(lambda engine: engine.query_details(query_id, rights))))
