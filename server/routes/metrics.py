"""GET /metrics: metrics for Prometheus."""

from __future__ import annotations

from fastapi import Request
from starlette.responses import Response

from ksql_spark.authorization import Role
from ksql_spark.server.endpoints import Router, Rules
from ksql_spark.server.errors import NOT_FOUND, RequestError
from ksql_spark.server.host import Host
from ksql_spark.server.models import described

router = Router()


@router.endpoint(
    "GET",
    "/metrics",
    Rules(Role.READER),
    openapi_extra=described(answers={"text/plain": "Prometheus' text format."}),
)
async def metrics(http: Request) -> Response:
    """Metrics of requests, queries, views and the process, in Prometheus' text format."""
    host: Host = http.app.state.host
    server_metrics = http.app.state.metrics
    if server_metrics is None:
        raise RequestError("Metrics are not available: prometheus-client is not installed.", NOT_FOUND)
    text, media_type = await host.check(server_metrics.text)
    return Response(text, media_type=media_type)
