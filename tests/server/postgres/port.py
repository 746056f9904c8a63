"""A port for PostgreSQL's clients, over an engine whose queries return what a test wants."""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import psycopg

from ksql_spark.config import Config
from ksql_spark.engine import Request, ResultColumn, Row
from ksql_spark.server.host import Host
from ksql_spark.server.postgres.catalog import process as catalog_process
from ksql_spark.server.postgres.listener import PostgresListener
from ksql_spark.server.protocol.connections import DEFAULT_LIMITS
from ksql_spark.server.security.access import Logins
from ksql_spark.server.security.authentication import Authenticator
from ksql_spark.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INTEGER,
    STRING,
    TIME,
    TIMESTAMP,
    Array,
    Field,
    Struct,
)
from ksql_spark.types import Decimal as DecimalType
from tests.server.fake_engine import FakeEngine, FakeStream

SOON_S = 20
COLUMNS = [
    ResultColumn.of(name, type_)
    for name, type_ in {
        "B": BOOLEAN,
        "I": INTEGER,
        "L": BIGINT,
        "F": DOUBLE,
        "S": STRING,
        "D": DATE,
        "T": TIME,
        "TS": TIMESTAMP,
        "N": DecimalType(12, 4),
        "RAW": BYTES,
        "A": Array(STRING),
        "NUMBERS": Array(BIGINT),
        "WHO": Struct((Field("NAME", STRING),)),
        "Mixed": STRING,
    }.items()
]
VALUES: list[Any] = [
    True, -7, 2**62, -1.5, "it's \t\\ \n", "1969-12-31", "23:59:59.999", "1999-12-31T23:59:59.999",
    Decimal("-12345.0600"), "SGk=", ["a", 'b"c\\', None], [1, -2], {"NAME": "Ann"}, "x",
]  # fmt: skip


class PgEngine(FakeEngine):
    """Its queries return ``stream()``; parameters are kept."""

    stream: Callable[[], FakeStream] = staticmethod(
        lambda: FakeStream("PULL", COLUMNS, [Row(VALUES), Row([None] * len(COLUMNS))])
    )

    def query(self, request: Request) -> FakeStream:
        """As Engine.query."""
        self.requests.append(request)
        if "NOWHERE" in request.text:
            self._one(request.text)
        self.streams.append(stream := self.stream())
        return stream


class Catalogs(catalog_process.CatalogProcesses):
    """Those of all ports: a process takes a while to start."""

    def close(self) -> None:
        """Leave them to the next port."""


CATALOGS = Catalogs()


class Port:
    """A port for PostgreSQL's clients, served in a thread."""

    def __init__(
        self,
        engine: PgEngine,
        config: Config | None = None,
        tls: ssl.SSLContext | None = None,
        most: int = 50,
        per_second: float = 0,
        share: float = 1.0,
    ) -> None:
        self.engine = engine
        self.host = Host()
        self.host.engine = engine
        self._sock = socket.create_server(("127.0.0.1", 0))
        self.port = self._sock.getsockname()[1]
        self._loop = asyncio.new_event_loop()
        logins = Logins(Authenticator(config or Config({})))
        limits = DEFAULT_LIMITS._replace(most=most)
        self._listener = PostgresListener(self.host, logins, self._sock, tls, limits, per_second, share)
        self._listener._catalogs = CATALOGS
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self) -> Port:
        self._thread.start()
        self._run(self._listener.start())
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        self._run(self._listener.stop())
        if error is None:
            self._run(self._other_tasks())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(SOON_S)
        self._loop.close()
        self.host.release_threads()

    async def _other_tasks(self) -> None:
        """Return once the loop has no other task: what a closed port started comes to its end."""
        while others := asyncio.all_tasks() - {asyncio.current_task()}:
            await asyncio.wait(others)

    def _run(self, work: Any) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(SOON_S)

    def connect(self, **options: Any) -> psycopg.Connection[Any]:
        settings = {"user": "ada", "dbname": "ksql", "connect_timeout": SOON_S, "autocommit": True} | options
        return psycopg.connect(host="127.0.0.1", port=self.port, **settings)
