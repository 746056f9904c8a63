"""The state of queries: rebuild it when it cannot be read."""

from __future__ import annotations

from fastapi import Request
from starlette.responses import JSONResponse, Response

from ksql_spark.entities.commands import StateRebuilt
from ksql_spark.entities.wire import to_json
from ksql_spark.security.authorization import Role
from ksql_spark.server.endpoints import Router, Rules
from ksql_spark.server.host import Host
from ksql_spark.server.models import RebuildBody, described, read_body
from ksql_spark.server.security.access import AUDIT, principal_of

router = Router()


@router.endpoint(
    "POST",
    "/state/rebuild",
    Rules(Role.DEVELOPER, runs_sql=True),
    openapi_extra=described(RebuildBody, answers={"application/json": StateRebuilt}),
)
async def rebuild(http: Request) -> Response:
    """Remove a query's state, and make it reread its topics from where it first started."""
    host: Host = http.app.state.host
    query_id = read_body(RebuildBody, http).queryId
    AUDIT.info("%s: rebuild the state of %s", principal_of(http).name, query_id)
    return JSONResponse(to_json(await host.call(lambda engine: engine.rebuild_state(query_id))))
