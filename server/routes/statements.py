"""POST /ksql: run statements."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

from fastapi import Request
from starlette.responses import JSONResponse, Response

from ksql_spark import grammar
from ksql_spark.authorization import Role, role_for_statement
from ksql_spark.config import warning
from ksql_spark.entities import Entity
from ksql_spark.entities.servers import SplitStatement, SplitText, Validated
from ksql_spark.entities.wire import to_json
from ksql_spark.server.endpoints import Router, Rules
from ksql_spark.server.host import Host
from ksql_spark.server.models import (
    TOKEN_HEADER,
    SplitBody,
    StatementsBody,
    described,
    read_body,
    schema_of,
)
from ksql_spark.server.security.access import note_statements, principal_of

if TYPE_CHECKING:
    from ksql_spark.engine import Engine

router = Router()

ENTITIES = {"description": "An array of entities.", "type": "array", "items": schema_of(Entity)}


@router.endpoint(
    "POST",
    "/ksql",
    Rules(Role.READER, takes_patterns=True, runs_sql=True),
    openapi_extra=described(StatementsBody, answers={"application/json": ENTITIES}),
)
async def run_statements(http: Request) -> Response:
    """Run all statements except queries and PRINT; returns an array of entities (reference §7.3).

    The first entity contains warnings about properties of the request that have no effect.
    """
    host: Host = http.app.state.host
    principal = principal_of(http)
    request = read_body(StatementsBody, http).request(principal.rights, principal.user)
    note_statements(principal, request.text)

    def run(engine: Engine) -> str:
        entities = engine.execute(request)
        if entities:
            warnings = (warning(name, value) for name, value in request.properties.items())
            entities[0] = entities[0].warned(*(message for message in warnings if message is not None))
        # here, and one by one, so that a long response does not delay other requests
        return f"[{', '.join(json.dumps(to_json(entity), ensure_ascii=False) for entity in entities)}]"

    with host.handling_statements():
        answer = await host.call_while_connected(http, request, run)
    token = request.positions.token
    return Response(
        answer,
        headers={} if token is None else {TOKEN_HEADER: token},
        media_type="application/json",
    )


@router.endpoint(
    "POST",
    "/ksql/validate",
    Rules(Role.READER, takes_patterns=True, runs_sql=True),
    openapi_extra=described(StatementsBody, answers={"application/json": Validated}),
)
async def validate_statements(http: Request) -> Response:
    """Validate all statements except queries and PRINT in order, as /ksql does, without an effect."""
    host: Host = http.app.state.host
    principal = principal_of(http)
    request = read_body(StatementsBody, http).request(principal.rights)
    with host.handling_statements():
        count = await host.call_while_connected(http, request, lambda engine: engine.validate(request))
    return JSONResponse(to_json(Validated(statements=count)))


@router.endpoint(
    "POST",
    "/ksql/split",
    Rules(Role.READER, takes_patterns=True, only_reads=True),
    openapi_extra=described(SplitBody, answers={"application/json": SplitText}),
)
async def split_statements(http: Request) -> Response:
    """Split a text into statements, and say what each is; they need not be valid, and nothing is run."""
    host: Host = http.app.state.host
    text = read_body(SplitBody, http).ksql
    return JSONResponse(await host.work(lambda: to_json(SplitText(tuple(_split(text))))))


def _split(text: str) -> Iterator[SplitStatement]:
    at = start = 0
    for piece in grammar.split(text):
        start += _utf16_units(text[at : piece.start])
        end = start + _utf16_units(text[piece.start : piece.end])
        property_, value = piece.setting or (None, None)
        yield SplitStatement(
            start=start,
            end=end,
            is_complete=piece.complete,
            verb=piece.verb,
            object=piece.object,
            name=piece.name,
            is_query=piece.is_query,
            is_push=piece.is_push,
            has_query=piece.has("SELECT"),
            is_replacement=[token.text for token in piece.tokens[1:3]] == ["OR", "REPLACE"],
            deletes_topic=piece.verb == "DROP" and piece.has("TOPIC"),
            property=property_,
            value=value,
            role=role_for_statement(grammar.class_of(piece)).label,
        )
        at, start = piece.end, end


def _utf16_units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
