"""The port of PostgreSQL clients."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import itertools
import logging
import socket
import ssl
from collections.abc import Coroutine
from typing import Any

from ksql_spark.server.host import Host
from ksql_spark.server.postgres.connection import Connection
from ksql_spark.server.security.access import Buckets, Logins

LOG = logging.getLogger(__name__)

#: how long connections may take to end, seconds
_END_S = 5.0


class PostgresListener:
    """Serves the clients of a port.

    Args:
        host: has the engine.
        logins: checks who clients are.
        sock: the bound port.
        tls: for clients that ask for encryption; None: there is none.
        most: the maximum number of connections; 0: any number. Half of them may not have logged in yet.
        per_second: the maximum number of statements of a client in a second; 0: any number.
    """

    def __init__(
        self,
        host: Host,
        logins: Logins,
        sock: socket.socket,
        tls: ssl.SSLContext | None,
        most: int,
        per_second: float = 0.0,
    ) -> None:
        self._host = host
        self._logins = logins
        self._sock = sock
        self._tls = tls
        self._most = most
        self._requests = Buckets(per_second) if per_second else None
        self._numbers = itertools.count(1)
        self._open: dict[int, Connection] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    async def start(self) -> None:
        """Begin to accept connections."""
        self._server = await asyncio.start_server(self._accept, sock=self._sock)

    async def stop(self) -> None:
        """End all connections."""
        if self._server is not None:
            self._server.close()
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=_END_S)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        number = next(self._numbers)
        connection = Connection(
            self._host, self._logins, reader, writer, self._tls, self._requests, number, self._cancel
        )
        strangers = sum(not one.is_in for one in self._open.values())
        # so that those who never log in do not keep others out
        if self._most and (len(self._open) >= self._most or strangers >= max(1, self._most // 2)):
            await connection.refuse()
            return
        self._open[number] = connection
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            await _served(connection.serve())
        finally:
            self._open.pop(number, None)
            self._tasks.discard(task)

    def _cancel(self, process_id: int, secret: bytes) -> None:
        """Cancel what a connection runs, if the secret is its own."""
        connection = self._open.get(process_id)
        if connection is not None and hmac.compare_digest(connection.secret, secret):
            connection.cancel()


async def _served(serving: Coroutine[Any, Any, None]) -> None:
    with contextlib.suppress(asyncio.CancelledError):
        try:
            await serving
        except Exception:
            LOG.exception("a PostgreSQL client's connection failed")
