"""The product's server, whose look-ups at ``/query-stream?jvm`` read from a JVM: ``python serve.py OPTION…``.

Everything before and behind the view is the product's: checks, plan cache, freshness, headers. The
environment variable READS_SOCKET names the JVM's socket.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from reads import connector

from ksql_spark.server import main as server
from ksql_spark.server.callbacks import until_current
from ksql_spark.server.streaming import lookups
from ksql_spark.server.streaming.responses import DELIMITED

CONNECTED = connector(os.environ["READS_SOCKET"])
_of_python = lookups.LookUps.answer


async def answer(self: Any, scope: Any, body: bytes, send: Any) -> bool:
    """Answer a look-up from the JVM, if its URL says so and its plan is known."""
    if scope["query_string"] != b"jvm":
        return await _of_python(self, scope, body, send)
    request = lookups._request("sql", "properties", body)
    found = request and self._host.engine.look_up(*request, scope["ksql_spark.principal"].rights)
    if not found:
        return False
    if found.when_current is not None:
        await until_current(found.when_current)
    (key,) = found._plan.keys(found._values)
    lines = await (await CONNECTED()).answer(key)
    rows = b'{"queryId":"%b",%b' % (found.query_id.encode(), lines)
    headers = [(b"content-length", b"%d" % len(rows)), (b"content-type", DELIMITED.encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": rows})
    return True


lookups.LookUps.answer = answer  # type: ignore[method-assign]

if __name__ == "__main__":
    sys.exit(server.main(sys.argv[1:]))
