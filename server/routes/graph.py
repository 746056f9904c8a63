"""Serves the graph of what runs, and its figures for the last hours."""

from __future__ import annotations

from fastapi import Request
from starlette.responses import JSONResponse, Response

from ksql_spark.authorization import Role
from ksql_spark.entities.graph import Graph, MetricsHistory
from ksql_spark.entities.query_details import QueryDetails
from ksql_spark.entities.wire import to_json
from ksql_spark.server.endpoints import Router, Rules
from ksql_spark.server.errors import RequestError
from ksql_spark.server.host import Host
from ksql_spark.server.models import described
from ksql_spark.server.security.access import principal_of

router = Router()

#: how far back the history goes, minutes
MOST_MINUTES = 720


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


_PARAMETERS = [
    {
        "name": "minutes",
        "in": "query",
        "description": "How far back: up to 120 with a sample every 5 s, up to 720 with one every 2 minutes.",
        "schema": {"type": "integer", "default": 15, "minimum": 1, "maximum": MOST_MINUTES},
    },
    {
        "name": "query",
        "in": "query",
        "description": "The id of one query; without it and topic, all.",
        "schema": {"type": "string"},
    },
    {
        "name": "topic",
        "in": "query",
        "description": "The name of the topic of a stream or table; without it and query, all.",
        "schema": {"type": "string"},
    },
]


@router.endpoint(
    "GET",
    "/metrics/history",
    Rules(Role.READER, takes_patterns=True),
    openapi_extra={**described(answers={"application/json": MetricsHistory}), "parameters": _PARAMETERS},
)
async def history(http: Request) -> Response:
    """Figures about queries and topics in the last hours; none if ksql.console.enabled is false."""
    host: Host = http.app.state.host
    rights = principal_of(http).rights
    text = http.query_params.get("minutes", "15")
    minutes = int(text) if text.isdecimal() and len(text) < 9 else 0
    if not 1 <= minutes <= MOST_MINUTES:
        raise RequestError(f"minutes is {text!r}, not a number from 1 to {MOST_MINUTES}.")
    query, topic = http.query_params.get("query"), http.query_params.get("topic")
    return JSONResponse(
        to_json(await host.call(lambda engine: engine.history(minutes, query, topic, rights)))
    )
