"""Serves what Kafka Connect offers beyond the statements about connectors."""

from __future__ import annotations

from fastapi import Request
from starlette.responses import JSONResponse, Response

from ksql_spark.authorization import Role
from ksql_spark.entities.connectors import ConnectorSettings
from ksql_spark.entities.wire import to_json
from ksql_spark.server.endpoints import Router, Rules
from ksql_spark.server.errors import NOT_FOUND, RequestError
from ksql_spark.server.host import Host
from ksql_spark.server.models import RestartBody, described, read_body

router = Router()


@router.endpoint(
    "GET",
    "/connector-plugins/{plugin}",
    Rules(Role.READER),
    openapi_extra=described(answers={"application/json": ConnectorSettings}),
)
async def settings(http: Request, plugin: str) -> Response:
    """The settings of a class of connectors, as Kafka Connect describes them."""
    host: Host = http.app.state.host
    descriptions = await host.call(lambda engine: engine.connector_settings(plugin))
    if descriptions is None:
        raise RequestError(
            f"Kafka Connect has no plugin {plugin}; SHOW CONNECTOR PLUGINS lists them.", NOT_FOUND
        )
    return JSONResponse(to_json(descriptions))


@router.endpoint(
    "POST", "/connectors/{name}/restart", Rules(Role.ADMIN), openapi_extra=described(RestartBody, answers={})
)
async def restart(http: Request, name: str) -> Response:
    """Restart a connector and those of its tasks that have failed."""
    read_body(RestartBody, http)
    host: Host = http.app.state.host
    await host.call(lambda engine: engine.restart_connector(name))
    return Response()
