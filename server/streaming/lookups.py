"""The fast path for lookups whose plan and view are known: they run in the event loop's thread.

A lookup reads one page of a file. Passing it to a thread and the result back would take longer.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import NoneType
from typing import Any

import orjson
from starlette.types import Scope, Send

from ksql_spark.errors import KsqlError
from ksql_spark.server import errors
from ksql_spark.server.callbacks import until_current
from ksql_spark.server.host import LOOK_UP_BYTES, Host
from ksql_spark.server.models import STALE_HEADER, TOKEN, TOKEN_HEADER
from ksql_spark.server.security.middleware import header_of
from ksql_spark.server.streaming.responses import (
    DELIMITED,
    answer_type,
    complete_body,
    delimited_body,
    format_of,
)

TOKEN_PROPERTY = "ksql.query.pull.consistency.token.enabled"
#: path -> the members of its body
_MEMBERS = {"/query-stream": ("sql", "properties"), "/query": ("ksql", "streamsProperties")}


class LookUps:
    """Runs lookups that need no waiting.

    Args:
        host: holds the engine.
    """

    def __init__(self, host: Host) -> None:
        self._host = host

    async def answer(self, scope: Scope, body: bytes, send: Send) -> bool:
        """Answer a POST to /query-stream or /query; False, with nothing sent, if it is not such a lookup."""
        if len(body) > LOOK_UP_BYTES:
            return False
        path = scope["path"]
        request, engine = _request(*_MEMBERS[path], body), self._host.engine
        if request is None or engine is None:
            return False
        text, properties, _, token = request
        try:
            look_up = engine.look_up(*request, scope["ksql_spark.principal"].rights)
            if look_up is None:
                return False
            accept = header_of(scope, b"accept")
            media_type = answer_type(path, None if accept is None else accept.decode("latin-1"))
            if look_up.when_current is not None:
                await until_current(look_up.when_current)
            if media_type == DELIMITED:
                rows = delimited_body(look_up)
            else:
                rows = complete_body(result := look_up.result(), format_of(result, media_type))
        except Exception as error:
            if isinstance(error, KsqlError) and error.statement is None:
                error.statement = text
            response = errors.response(error)
            await response(scope, _nothing, send)
            return True
        headers = [(b"content-length", b"%d" % len(rows)), (b"content-type", media_type.encode())]
        if wants_token(properties, token):
            headers.append((TOKEN_HEADER.encode(), look_up.token.encode()))
        if look_up.stopped:
            headers.append((STALE_HEADER.encode(), ", ".join(look_up.stopped).encode()))
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": rows})
        return True


async def _nothing() -> Any:
    return {"type": "http.disconnect"}


#: text, properties, parameter values, token of earlier results
_LookUpRequest = tuple[str, dict[str, Any], "list[Any] | dict[str, Any] | None", "str | None"]


def _request(text_name: str, properties_name: str, body: bytes) -> _LookUpRequest | None:
    """The request in a body; None if it has members that lookups do not support, or is invalid."""
    try:
        members = orjson.loads(body)
    except ValueError:
        return None
    if type(members) is not dict or type(text := members.get(text_name)) is not str:
        return None
    if len(members) == 1:
        return text, {}, None, None
    properties, own = (members.get(name) for name in (properties_name, "requestProperties"))
    properties, own = {} if properties is None else properties, {} if own is None else own
    parameters = members.get("parameters") if text_name == "sql" else None
    if (
        type(properties) is not dict
        or type(own) is not dict
        or type(parameters) not in (NoneType, list, dict)
    ):
        return None
    known = (text_name, properties_name, "parameters", "requestProperties")
    token = own.get(TOKEN)
    if type(token) not in (NoneType, str) or any(v for name, v in members.items() if name not in known):
        return None
    return text, properties, parameters, token or None


def wants_token(properties: Mapping[str, Any], token: str | None) -> bool:
    """Whether the response includes a consistency token."""
    if token is not None or not properties:
        return token is not None
    return str(properties.get(TOKEN_PROPERTY, "")).lower() == "true"
