"""GET endpoints about the server, its commands and its health."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from server.errors import NOT_FOUND, RequestError
from server.host import Host
from server.models import described

router = APIRouter()

ANSWER = described(answers={"application/json": None})


@router.get("/", status_code=307)
async def root() -> Response:
    """Redirect to /info."""
    return RedirectResponse("/info", status_code=307)


@router.get("/info", openapi_extra=ANSWER)
async def info(http: Request) -> Response:
    """Version, cluster id, service id, status."""
    return JSONResponse({"KsqlServerInfo": await _info(http)})


@router.get("/healthcheck", openapi_extra=ANSWER)
async def healthcheck(http: Request) -> Response:
    """Health of metastore, Kafka, command log, Spark and queries; the status is always 200."""
    host: Host = http.app.state.host
    return JSONResponse(await host.health())


@router.get("/status", openapi_extra=ANSWER)
async def statuses(http: Request) -> Response:
    """The last status of every command."""
    host: Host = http.app.state.host
    return JSONResponse({"commandStatuses": await host.call(lambda engine: engine.statuses())})


@router.get("/status/{type}/{entity:path}/{action}", openapi_extra=ANSWER)
async def status(http: Request, type: str, entity: str, action: str) -> Response:
    """The last status of one command."""
    host: Host = http.app.state.host
    found = await host.call(lambda engine: engine.status(type, entity, action))
    if found is None:
        raise RequestError(f"There is no command {type}/{entity}/{action}.", NOT_FOUND)
    return JSONResponse(found)


@router.get("/v1/metadata", openapi_extra=ANSWER)
async def metadata(http: Request) -> Response:
    """Version and cluster id."""
    info = await _info(http)
    return JSONResponse({"version": info["version"], "clusterId": _cluster_id(info)})


@router.get("/v1/metadata/id", openapi_extra=ANSWER)
async def metadata_id(http: Request) -> Response:
    """Cluster id."""
    return JSONResponse(_cluster_id(await _info(http)))


@router.get("/is_valid_property/{name}", openapi_extra=ANSWER)
async def is_valid_property(http: Request, name: str) -> Response:
    """``true``, or 400 if SET would refuse the property."""
    host: Host = http.app.state.host
    if not await host.call(lambda engine: engine.is_valid_property(name)):
        raise RequestError(f"There is no property '{name}' that can be set.")
    return JSONResponse(True)


@router.get("/chc/ready", openapi_extra=ANSWER)
@router.get("/chc/live", openapi_extra=ANSWER)
async def check() -> Response:
    """Answered from the moment the port is open."""
    return JSONResponse({})


async def _info(http: Request) -> dict[str, Any]:
    host: Host = http.app.state.host
    return await host.call(lambda engine: engine.info())


def _cluster_id(info: dict[str, Any]) -> dict[str, Any]:
    clusters = {"kafka-cluster": info["kafkaClusterId"], "ksql-cluster": info["ksqlServiceId"]}
    return {"id": "", "scope": {"path": [], "clusters": clusters}}
