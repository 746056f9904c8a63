"""The port of PostgreSQL clients."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import itertools
import logging
import socket
import ssl
from collections import Counter
from collections.abc import Coroutine
from typing import Any

from ksql_spark.config import share_of
from ksql_spark.server.host import Host
from ksql_spark.server.postgres.catalog.process import CatalogProcesses
from ksql_spark.server.postgres.session.connection import Connection
from ksql_spark.server.protocol.connections import DEFAULT_LIMITS, Limits
from ksql_spark.server.security.access import Buckets, Logins

LOG = logging.getLogger(__name__)

#: how long connections may take to end, seconds
_END_S = 5.0
#: the part of the connections that may belong to clients that have not logged in
_STRANGERS = 1 / 4
_FULL = "The server has as many connections as it may have. Try again soon."


class PostgresListener:
    """Serves the clients of a port.

    Args:
        host: has the engine.
        logins: checks who clients are.
        sock: the bound port.
        tls: for clients that ask for encryption, or None.
        limits: of connections. Of those that have not logged in, of which a part may be, the address with the
            most gives way to a new one, so that nobody keeps others out.
        per_second: the maximum number of statements of a client in a second; 0: any number.
        share: the part of the connections that one client may have.
    """

    def __init__(
        self,
        host: Host,
        logins: Logins,
        sock: socket.socket,
        tls: ssl.SSLContext | None,
        limits: Limits = DEFAULT_LIMITS,
        per_second: float = 0.0,
        share: float = 1.0,
    ) -> None:
        self._host = host
        self._logins = logins
        self._sock = sock
        self._tls = tls
        self._limits = limits
        self._share = share
        self._requests = Buckets(per_second) if per_second else None
        self._numbers = itertools.count(1)
        self._open: dict[int, Connection] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None
        self._catalogs = CatalogProcesses()

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
        self._catalogs.close()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        number = next(self._numbers)
        connection = Connection(
            self._host,
            self._logins,
            reader,
            writer,
            self._tls,
            self._requests,
            self._limits,
            self._may_enter,
            number,
            self._cancel,
            self._catalogs,
        )
        if not self._has_room():
            await connection.refuse(_FULL)
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

    def _has_room(self) -> bool:
        """Whether one connection more may come, for which another may have to go."""
        strangers = [one for one in self._open.values() if not one.is_in]
        most = self._limits.most
        if not most or (len(self._open) < most and len(strangers) < share_of(most, _STRANGERS)):
            return True
        of_address = Counter(one.address for one in strangers)
        silent = [one for one in strangers if not one.is_checked]
        if not silent:
            return False
        gone = max(silent, key=lambda one: of_address[one.address])  # the oldest of these
        del self._open[gone.process_id]
        gone.abort()
        return True

    def _may_enter(self, client: str) -> bool:
        """Whether a client may have one connection more."""
        most = self._limits.most
        count = sum(one.is_in and one.client == client for one in self._open.values())
        return not most or count < share_of(most, self._share)

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
