"""GET endpoints about the server, its commands and its health."""

from __future__ import annotations

from typing import Any

from fastapi import Request
from starlette.responses import JSONResponse, Response

from ksql_spark.authorization import Role
from ksql_spark.config import PROPERTIES
from ksql_spark.entities import Body
from ksql_spark.entities.commands import CommandStatus, CommandStatuses
from ksql_spark.entities.servers import (
    CallerRights,
    Clusters,
    HealthCheckResponse,
    PropertyDescription,
    PropertyDescriptions,
    RoleGrant,
    Scope,
    ServerClusterId,
    ServerInfo,
    ServerInfoResponse,
    ServerMetadata,
)
from ksql_spark.entities.wire import to_json
from ksql_spark.server.endpoints import Router, Rules
from ksql_spark.server.errors import NOT_FOUND, RequestError
from ksql_spark.server.host import Host
from ksql_spark.server.models import described
from ksql_spark.server.security.access import principal_of
from ksql_spark.server.security.authentication import STRANGER

router = Router()


def _described(answer: type[Body] | dict[str, Any]) -> dict[str, Any]:
    return described(answers={"application/json": answer})


@router.endpoint(
    "GET", "/info", Rules(Role.READER, takes_patterns=True), openapi_extra=_described(ServerInfoResponse)
)
async def info(http: Request) -> Response:
    """Version, cluster id, service id, status."""
    return JSONResponse(to_json(ServerInfoResponse(await _info(http))))


@router.endpoint(
    "GET", "/rights", Rules(Role.READER, takes_patterns=True), openapi_extra=_described(CallerRights)
)
async def rights(http: Request) -> Response:
    """The client's name, and the roles that it has."""
    principal = principal_of(http)
    role = principal.rights.role
    caller = CallerRights(
        user=principal.name,
        role=role.label if role is not None else None,
        grants=tuple(RoleGrant(grant.role.label, grant.pattern) for grant in principal.rights.grants),
    )
    return JSONResponse(to_json(caller))


@router.endpoint(
    "GET",
    "/healthcheck",
    Rules(Role.READER, takes_patterns=True),
    openapi_extra=_described(HealthCheckResponse),
)
async def healthcheck(http: Request) -> Response:
    """Health of metastore, Kafka, command log, Spark, queries and lakes; the status is always 200.

    Reasons are only for clients with a role for everything.
    """
    host: Host = http.app.state.host
    health, principal = await host.health(), principal_of(http)
    is_for_all = principal is not STRANGER and principal.rights.role is not None
    return JSONResponse(to_json(health if is_for_all else health.in_short()))


@router.endpoint("GET", "/status", Rules(Role.READER), openapi_extra=_described(CommandStatuses))
async def statuses(http: Request) -> Response:
    """The last status of every command."""
    host: Host = http.app.state.host
    return JSONResponse(to_json(CommandStatuses(await host.call(lambda engine: engine.statuses()))))


@router.endpoint(
    "GET",
    "/status/{type}/{entity:path}/{action}",
    Rules(Role.READER),
    openapi_extra=_described(CommandStatus),
)
async def status(http: Request, type: str, entity: str, action: str) -> Response:
    """The last status of one command."""
    host: Host = http.app.state.host
    command_status = await host.call(lambda engine: engine.status(type, entity, action))
    if command_status is None:
        raise RequestError(f"Command {type}/{entity}/{action} does not exist.", NOT_FOUND)
    return JSONResponse(to_json(command_status))


@router.endpoint(
    "GET", "/v1/metadata", Rules(Role.READER, takes_patterns=True), openapi_extra=_described(ServerMetadata)
)
async def metadata(http: Request) -> Response:
    """Version and cluster id."""
    info = await _info(http)
    return JSONResponse(to_json(ServerMetadata(version=info.version, cluster_id=_cluster_id(info))))


@router.endpoint(
    "GET",
    "/v1/metadata/id",
    Rules(Role.READER, takes_patterns=True),
    openapi_extra=_described(ServerClusterId),
)
async def metadata_id(http: Request) -> Response:
    """Cluster id."""
    return JSONResponse(to_json(_cluster_id(await _info(http))))


@router.endpoint(
    "GET",
    "/properties",
    Rules(Role.READER, takes_patterns=True),
    openapi_extra=_described(PropertyDescriptions),
)
async def properties() -> Response:
    """Each property's description, and the values that it may have."""
    rows = tuple(
        PropertyDescription(
            name=one.name,
            type=one.type,
            description=one.description,
            editable=one.editable,
            choices=one.choices,
            minimum=one.minimum,
            in_force=one.in_force,
        )
        for one in PROPERTIES.values()
    )
    return JSONResponse(to_json(PropertyDescriptions(rows)))


@router.endpoint(
    "GET",
    "/is_valid_property/{name}",
    Rules(Role.READER, takes_patterns=True),
    openapi_extra=_described({"const": True}),
)
async def is_valid_property(http: Request, name: str) -> Response:
    """``true``, or 400 if SET would reject the property."""
    host: Host = http.app.state.host
    if not await host.call(lambda engine: engine.is_valid_property(name)):
        raise RequestError(f"No editable property is named '{name}'.")
    return JSONResponse(True)


@router.endpoint("GET", "/chc/ready", Rules(None), openapi_extra=_described({"type": "object"}))
@router.endpoint("GET", "/chc/live", Rules(None), openapi_extra=_described({"type": "object"}))
async def check() -> Response:
    """Responds from the moment the port is open."""
    return JSONResponse({})


async def _info(http: Request) -> ServerInfo:
    host: Host = http.app.state.host
    assert host.engine is not None, "routes are only reached while RUNNING"
    return await host.check(host.engine.info)


def _cluster_id(info: ServerInfo) -> ServerClusterId:
    clusters = Clusters(kafka_cluster=info.kafka_cluster_id, ksql_cluster=info.ksql_service_id)
    return ServerClusterId(scope=Scope(clusters=clusters))
