"""Endpoints about several servers: which exist, how far each has read, and how to end all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi import Request
from starlette.background import BackgroundTask
from starlette.responses import JSONResponse, Response

from ksql_spark.authorization import Role
from ksql_spark.entities.commands import CommandStatusEntity
from ksql_spark.entities.servers import (
    ClusterStatusResponse,
    DrainStatus,
    HostStatus,
    KeyQueryMetadata,
    Noted,
    StreamsMetadataList,
)
from ksql_spark.entities.wire import to_json
from ksql_spark.server.endpoints import Router, Rules
from ksql_spark.server.errors import NOT_FOUND, RequestError
from ksql_spark.server.host import Host
from ksql_spark.server.models import (
    DrainBody,
    HeartbeatBody,
    LagBody,
    MetadataForKeyBody,
    TerminateBody,
    described,
    read_body,
    schema_of,
)
from ksql_spark.server.security.access import AUDIT, principal_of

if TYPE_CHECKING:
    from ksql_spark.engine import Engine

router = Router()

JSON = "application/json"
ENTITIES = {"type": "array", "items": schema_of(CommandStatusEntity)}


@router.endpoint(
    "GET",
    "/clusterStatus",
    Rules(Role.READER),
    openapi_extra=described(answers={JSON: ClusterStatusResponse}),
)
async def cluster_status(http: Request) -> Response:
    """The known servers; 404 unless servers share queries or ksql.heartbeat.enable is true."""
    host: Host = http.app.state.host

    def ask(engine: Engine) -> dict[str, HostStatus] | None:
        return engine.cluster.status() if engine.cluster.has_heartbeats else None

    servers = await host.call(ask)
    if servers is None:
        raise _off("ksql.heartbeat.enable")
    return JSONResponse(to_json(ClusterStatusResponse(servers)))


@router.endpoint(
    "POST", "/heartbeat", Rules(Role.ADMIN), openapi_extra=described(HeartbeatBody, answers={JSON: Noted})
)
async def heartbeat(http: Request) -> Response:
    """Another server is alive; 404 unless servers share queries or ksql.heartbeat.enable is true."""
    host: Host = http.app.state.host
    body = read_body(HeartbeatBody, http)

    def note(engine: Engine) -> bool:
        if engine.cluster.has_heartbeats:
            engine.cluster.heartbeat(str(body.hostInfo), body.timestamp)
        return engine.cluster.has_heartbeats

    if not await host.call(note):
        raise _off("ksql.heartbeat.enable")
    return JSONResponse(to_json(Noted()))


@router.endpoint("POST", "/lag", Rules(Role.ADMIN), openapi_extra=described(LagBody, answers={JSON: Noted}))
async def lag(http: Request) -> Response:
    """Receive another server's lags; 404 if ksql.lag.reporting.enable is false."""
    host: Host = http.app.state.host
    body = read_body(LagBody, http)

    def note(engine: Engine) -> bool:
        if engine.cluster.has_lags:
            engine.cluster.report(str(body.ksqlHost), body.hostStoreLags)
        return engine.cluster.has_lags

    if not await host.call(note):
        raise _off("ksql.lag.reporting.enable")
    return JSONResponse(to_json(Noted()))


@router.endpoint(
    "POST",
    "/metadata/key",
    Rules(Role.READER),
    openapi_extra=described(MetadataForKeyBody, answers={JSON: KeyQueryMetadata}),
)
async def metadata_for_key(http: Request) -> Response:
    """The partition of a table's key, the server that writes it, and other servers that can serve it."""
    host: Host = http.app.state.host
    body = read_body(MetadataForKeyBody, http)
    metadata = await host.call(lambda engine: engine.cluster.metadata_for_key(body.table, body.key))
    return JSONResponse(to_json(metadata))


@router.endpoint(
    "GET", "/metadata", Rules(Role.READER), openapi_extra=described(answers={JSON: StreamsMetadataList})
)
async def all_metadata(http: Request) -> Response:
    """The servers, the tables that each of them writes, and the partitions that it reads."""
    host: Host = http.app.state.host
    servers = await host.call(lambda engine: engine.cluster.all_metadata())
    return JSONResponse(to_json(StreamsMetadataList(tuple(servers))))


@router.endpoint(
    "POST",
    "/cluster/drain",
    Rules(Role.ADMIN),
    openapi_extra=described(DrainBody, answers={JSON: DrainStatus}),
)
async def drain(http: Request) -> Response:
    """Hand this server's queries over to the others that share them, and take none until drained is false."""
    host: Host = http.app.state.host
    drained = read_body(DrainBody, http).drained
    AUDIT.info("%s: drain: %s", principal_of(http).name, drained)
    done = await host.call(lambda engine: engine.cluster.drain() if drained else engine.cluster.serve())
    return JSONResponse(to_json(done))


@router.endpoint(
    "POST",
    "/ksql/terminate",
    Rules(Role.ADMIN, runs_sql=True),
    openapi_extra=described(TerminateBody, answers={JSON: ENTITIES}),
)
async def terminate(http: Request) -> Response:
    """End all queries for good, delete the sinks' topics that match deleteTopicList, and stop the server."""
    host: Host = http.app.state.host
    topics = read_body(TerminateBody, http).deleteTopicList or []
    AUDIT.info("%s: terminate, deleting topics %s", principal_of(http).name, topics)
    entities = await host.call(lambda engine: engine.terminate_cluster(topics))
    # once the response has been sent
    answer = [to_json(entity) for entity in entities]
    return JSONResponse(answer, background=BackgroundTask(host.request_stop))


def _off(name: str) -> RequestError:
    return RequestError(f"This is disabled on this server: {name} is false.", NOT_FOUND)
