"""The shortest way to a record: INSERT VALUES whose statement is known, written by the event loop's thread.

Only its values are filled in. Handing it to a thread that waits for the brokers, and the answer back,
would take longer.
"""

from __future__ import annotations

from typing import Any

import orjson
from starlette.types import Scope, Send

from ksql_spark.errors import KsqlError
from server import errors
from server.access import note_statements
from server.authentication import Principal
from server.host import Host
from server.models import TOKEN_HEADER

_NO_ENTITIES = b"[]"


class Inserts:
    """Answers INSERT VALUES that the engine can write at once.

    Args:
        host: has the engine.
    """

    def __init__(self, host: Host) -> None:
        self._host = host

    async def answer(self, scope: Scope, body: bytes, send: Send) -> bool:
        """Answer a POST to /ksql; False if it is no such statement, and nothing was written or sent."""
        engine = self._host.engine
        request = _request(body)
        if engine is None or request is None:
            return False
        principal: Principal = scope["ksql_spark.principal"]
        text = request[0]
        try:
            with self._host.handling_statements():
                insert = engine.insert(*request, principal.rights)
                if insert is None:
                    return False
                note_statements(principal, text)
                await self._host.wakeups.until(insert.write)
        except Exception as error:
            if isinstance(error, KsqlError) and error.condition == "TOPIC_UNKNOWN":
                return False  # it may have been made again since: the longer way waits for that
            await errors.response(error)(scope, _nothing, send)
            return True
        headers = [
            (b"content-length", b"%d" % len(_NO_ENTITIES)),
            (b"content-type", b"application/json"),
            (TOKEN_HEADER.encode(), insert.token.encode()),
        ]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": _NO_ENTITIES})
        return True


async def _nothing() -> Any:
    return {"type": "http.disconnect"}


def _request(body: bytes) -> tuple[str, dict[str, Any]] | None:
    """Text and properties; None if a body has more than these, variables, or is wrong."""
    try:
        members = orjson.loads(body)
    except ValueError:
        return None
    if type(members) is not dict or type(text := members.pop("ksql", None)) is not str or "${" in text:
        return None
    properties = members.pop("streamsProperties", None)
    if type(properties) not in (dict, type(None)) or any(v not in (None, {}) for v in members.values()):
        return None
    return text, properties or {}
