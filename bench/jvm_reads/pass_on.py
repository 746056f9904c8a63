"""The smallest server that passes the JVM's bytes on: ``python pass_on.py PORT look-ups|feed SOCKET``.

It parses no SQL: the key is what follows the last ``=``. Nothing of the product's server runs here.
"""

from __future__ import annotations

import asyncio
import sys
import time
from typing import Any

import orjson
import uvicorn
from reads import connector, feed

HEADERS = [(b"content-type", b"application/vnd.ksqlapi.delimited.v1")]


def look_ups(socket: str) -> Any:
    """The application that answers look-ups."""
    connected = connector(socket)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        body = (await receive())["body"]
        key = orjson.loads(body)["sql"].rpartition("=")[2].strip(" ;").encode()
        lines = await (await connected()).answer(key)
        answer = b'{"queryId":"query_%d",%b' % (int(time.time() * 1000), lines)
        headers = [*HEADERS, (b"content-length", b"%d" % len(answer))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": answer})

    return app


def feeds(socket: str) -> Any:
    """The application that sends one feed to all clients."""
    clients: set[asyncio.Queue[bytes]] = set()
    reading: set[asyncio.Task[None]] = set()

    async def read() -> None:
        async for rows in feed(socket):
            for client in clients:
                client.put_nowait(rows)

    async def forward(rows: asyncio.Queue[bytes], send: Any) -> None:
        while True:
            await send({"type": "http.response.body", "body": await rows.get(), "more_body": True})

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if not reading:
            reading.add(asyncio.create_task(read()))
        own: asyncio.Queue[bytes] = asyncio.Queue()
        clients.add(own)
        await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
        await send({"type": "http.response.body", "body": b"{}\n", "more_body": True})
        sending = asyncio.create_task(forward(own, send))
        while (await receive())["type"] != "http.disconnect":
            pass
        clients.discard(own)
        sending.cancel()

    return app


if __name__ == "__main__":
    apps = {"look-ups": look_ups, "feed": feeds}
    settings = {"log_level": "error", "access_log": False, "lifespan": "off", "loop": "uvloop"}
    uvicorn.run(apps[sys.argv[2]](sys.argv[3]), port=int(sys.argv[1]), http="zttp", **settings)
