"""The shortest way to a row: look-ups whose plan and view are known, answered in the event loop's thread.

A look-up reads one page of a file. Handing it to a thread, and the answer back, would take longer.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import NoneType
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson
from starlette.types import Scope, Send

from ksql_spark.authorization import Rights
from ksql_spark.errors import KsqlError
from server import errors
from server.guards import header_of
from server.host import Host
from server.models import STALE_HEADER, TOKEN, TOKEN_HEADER
from server.streaming import DELIMITED, answer_type, complete_body, delimited_body, format_of

if TYPE_CHECKING:
    from ksql_spark.engine import LookUp

TOKEN_PROPERTY = "ksql.query.pull.consistency.token.enabled"
#: where a request's scope has its look-up, if that has begun
STARTED = "ksql_spark.started"
#: the paths of look-ups -> the members of their bodies
PATHS = {"/query-stream": ("sql", "properties"), "/query": ("ksql", "streamsProperties")}


class Started(NamedTuple):
    """A look-up under way.

    Args:
        text: the statement.
        look_up: has the rows.
        wants_token: whether the answer comes with a consistency token.
    """

    text: str
    look_up: LookUp
    wants_token: bool


class LookUps:
    """Answers look-ups that the engine can answer at once.

    Args:
        host: has the engine.
    """

    def __init__(self, host: Host) -> None:
        self._host = host

    async def answer(self, scope: Scope, body: bytes, send: Send) -> bool:
        """Answer a POST to /query-stream or /query; False if it is no such look-up, and nothing was sent."""
        path = scope["path"]
        started: Started | None = scope.get(STARTED)
        try:
            if started is None:
                started = self.start(path, body, scope["ksql_spark.principal"].rights)
            if started is None:
                return False
            media_type = media_type_of(scope)
            if started.look_up.when_current is not None:
                await self._host.wakeups.until(started.look_up.when_current)
            text, more = self.reply(started, media_type)
        except Exception as error:
            if isinstance(error, KsqlError) and error.statement is None and started is not None:
                error.statement = started.text
            response = errors.response(error)
            await response(scope, _nothing, send)
            return True
        headers = [(b"content-length", b"%d" % len(text)), *more, (b"content-type", media_type.encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": text})
        return True

    def start(self, path: str, body: bytes, rights: Rights) -> Started | None:
        """Begin the look-up that was sent to ``path``; None if it is none that can be answered at once.

        Raises:
            KsqlError: as Engine.look_up, with the statement.
        """
        request, engine = _request(*PATHS[path], body), self._host.engine
        if request is None or engine is None:
            return None
        text, properties, _, token = request
        try:
            look_up = engine.look_up(*request, rights)
        except KsqlError as error:
            error.statement = error.statement or text
            raise
        if look_up is None:
            return None
        return Started(text, look_up, wants_token(properties, token))

    def reply(self, started: Started, media_type: str) -> tuple[bytes, list[tuple[bytes, bytes]]]:
        """The body, and headers of its own, of the answer to a look-up that need not wait, or no longer.

        Raises:
            KsqlError: as LookUp.rows.
        """
        look_up = started.look_up
        if media_type == DELIMITED:
            text = delimited_body(look_up)
        else:
            text = complete_body(result := look_up.result(), format_of(result, media_type))
        more = []
        if started.wants_token:
            more.append((TOKEN_HEADER.encode(), look_up.token.encode()))
        if look_up.stopped:
            more.append((STALE_HEADER.encode(), ", ".join(look_up.stopped).encode()))
        return text, more


def media_type_of(scope: Scope) -> str:
    """The media type of the answer to a look-up. Raises RequestError, as answer_type."""
    accept = header_of(scope, b"accept")
    return answer_type(scope["path"], None if accept is None else accept.decode("latin-1"))


async def _nothing() -> Any:
    return {"type": "http.disconnect"}


#: text, properties, values of parameters, token of earlier answers
_LookUpRequest = tuple[str, dict[str, Any], "list[Any] | dict[str, Any] | None", "str | None"]


def _request(text_name: str, properties_name: str, body: bytes) -> _LookUpRequest | None:
    """What a body asks for; None if it has more than look-ups need, or is wrong."""
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
    """Whether an answer comes with a consistency token."""
    if token is not None or not properties:
        return token is not None
    return str(properties.get(TOKEN_PROPERTY, "")).lower() == "true"
