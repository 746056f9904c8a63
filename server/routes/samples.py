"""Serves the storage of a stream or table: the bytes in its topic, and its schemas in a registry."""

from __future__ import annotations

from fastapi import Request
from starlette.responses import JSONResponse, Response

from ksql_spark.authorization import Role
from ksql_spark.entities.samples import RawRecords, SourceSchemas
from ksql_spark.entities.wire import to_json
from ksql_spark.server.endpoints import Router, Rules
from ksql_spark.server.errors import RequestError
from ksql_spark.server.host import Host
from ksql_spark.server.models import described
from ksql_spark.server.security.access import principal_of

router = Router()

#: how many records one answer has at most
MOST_RECORDS = 100


def _parameter(name: str, description: str, **schema: int) -> dict[str, object]:
    number = {"type": "integer", "minimum": 0, **schema}
    return {"name": name, "in": "query", "description": description, "schema": number}


_PARAMETERS = [
    _parameter("partition", "The partition.", default=0),
    _parameter("offset", "The first record's offset, or the oldest if it is gone; without it, the newest."),
    _parameter("limit", "How many records.", default=20, minimum=1, maximum=MOST_RECORDS),
]


@router.endpoint(
    "GET",
    "/topics/{topic}/records",
    Rules(Role.DEVELOPER, takes_patterns=True),
    openapi_extra={**described(answers={"application/json": RawRecords}), "parameters": _PARAMETERS},
)
async def records(http: Request, topic: str) -> Response:
    """Records of a partition as they are in Kafka, in base64: for those that cannot be decoded."""
    host: Host = http.app.state.host
    rights = principal_of(http).rights
    partition = _number(http, "partition", 0) or 0
    offset = _number(http, "offset", None)
    limit = _number(http, "limit", 20) or 0
    if not 1 <= limit <= MOST_RECORDS:
        raise RequestError(f"limit is {limit}, not a number from 1 to {MOST_RECORDS}.")
    raw_records = await host.call(lambda engine: engine.raw_records(topic, partition, offset, limit, rights))
    return JSONResponse(to_json(raw_records))


@router.endpoint(
    "GET",
    "/sources/{name}/schemas",
    Rules(Role.READER, takes_patterns=True),
    openapi_extra=described(answers={"application/json": SourceSchemas}),
)
async def schemas(http: Request, name: str) -> Response:
    """The latest versions of a stream's or table's schemas in the registry."""
    host: Host = http.app.state.host
    rights = principal_of(http).rights
    return JSONResponse(to_json(await host.call(lambda engine: engine.source_schemas(name, rights))))


def _number(http: Request, name: str, otherwise: int | None) -> int | None:
    text = http.query_params.get(name)
    if text is None:
        return otherwise
    if not (text.isascii() and text.isdecimal() and len(text) < 19):
        raise RequestError(f"{name} is {text!r}, not a number.")
    return int(text)
