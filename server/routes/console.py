"""The console for browsers: its page at /, and the files that the page loads."""

from __future__ import annotations

from fastapi import Request
from starlette.responses import RedirectResponse, Response

from ksql_spark.server.accept import prefers_page
from ksql_spark.server.console import PAGE, Console
from ksql_spark.server.endpoints import Router, Rules
from ksql_spark.server.errors import NOT_FOUND, RequestError
from ksql_spark.server.models import described

router = Router()


@router.endpoint("GET", "/", Rules(None), status_code=307)
async def root(http: Request) -> Response:
    """The console for browsers; other clients are sent to /info."""
    console: Console | None = http.app.state.console
    page = console.response(PAGE, http.scope) if console is not None and prefers_page(http.scope) else None
    return page or RedirectResponse("/info", status_code=307, headers={"Vary": "Accept"})


@router.endpoint(
    "GET",
    "/console/{name}",
    Rules(None),
    openapi_extra=described(answers={"text/javascript": None, "text/css": None, "text/plain": None}),
)
async def file(http: Request, name: str) -> Response:
    """A file of the console. It has no data, so anybody may have it; 404 if ksql.console.enabled is false."""
    console: Console | None = http.app.state.console
    response = console.response(name, http.scope) if console is not None else None
    if response is None:
        raise RequestError(f"There is no resource /console/{name}.", NOT_FOUND)
    return response
