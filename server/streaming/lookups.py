"""Lookups whose plan and view are known: they run in the event loop's thread.

A lookup reads one page of a file. Passing it to a thread and the result back would take longer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.responses import Response

from ksql_spark.engine import NotHereError
from ksql_spark.errors import KsqlError
from ksql_spark.server.callbacks import until_current
from ksql_spark.server.host import LOOK_UP_BYTES, Host
from ksql_spark.server.models import STALE_HEADER, TOKEN_HEADER
from ksql_spark.server.streaming.responses import DELIMITED, complete_body, delimited_body, format_of

if TYPE_CHECKING:
    from ksql_spark.consistency import KnownPositions
    from ksql_spark.engine import LookUp, Request

_TOKEN_PROPERTY = "ksql.query.pull.consistency.token.enabled"


async def looked_up(host: Host, request: Request, size: int, media_type: str) -> Response | None:
    """The response to a lookup, or None if the engine must be asked in a thread.

    Args:
        size: of the request's body, bytes; a long one would keep the event loop.

    Raises:
        KsqlError: as Engine.look_up(), and those of reading the rows.
    """
    if host.engine is None or size > LOOK_UP_BYTES or request.variables or request.command_sequence_number:
        return None
    try:
        look_up = host.engine.look_up(
            request.text, request.properties, request.parameters, request.consistency_token, request.rights
        )
        if look_up is None:
            return None
        if look_up.when_current is not None:
            await until_current(look_up.when_current)
        if media_type == DELIMITED:
            rows = delimited_body(look_up)
        else:
            rows = complete_body(result := look_up.result(), format_of(result, media_type))
    except NotHereError:
        return None
    except KsqlError as error:
        error.statement = error.statement or request.text
        raise
    return Response(rows, headers=result_headers(request, look_up), media_type=media_type)


def result_headers(request: Request, positions: KnownPositions | LookUp) -> dict[str, str]:
    """The headers of a result: its consistency token, if the client wants one, and what may make it stale."""
    headers = {}
    if _wants_token(request) and (token := positions.token) is not None:
        headers[TOKEN_HEADER] = token
    if positions.stopped:
        headers[STALE_HEADER] = ", ".join(positions.stopped)
    return headers


def _wants_token(request: Request) -> bool:
    if request.consistency_token is not None or not request.properties:
        return request.consistency_token is not None
    return str(request.properties.get(_TOKEN_PROPERTY, "")).lower() == "true"
