"""GET /metrics: figures for Prometheus."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from server.errors import NOT_FOUND, RequestError
from server.host import Host
from server.models import described

router = APIRouter()


@router.get("/metrics", openapi_extra=described(answers={"text/plain": "Prometheus' text format."}))
async def metrics(http: Request) -> Response:
    """Figures about requests, queries, views and the process, in Prometheus' text format."""
    host: Host = http.app.state.host
    found = http.app.state.metrics
    if found is None:
        raise RequestError("There are no metrics: prometheus-client is not installed.", NOT_FOUND)
    text, media_type = await host.check(found.text)
    return Response(text, media_type=media_type)
