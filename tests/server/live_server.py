"""The web application on a real port, in a thread: for streams and disconnects."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from collections.abc import Iterator
from types import TracebackType
from typing import Any

import uvicorn

from ksql_spark.config import Config
from ksql_spark.server.app import create_app
from ksql_spark.server.host import Host
from ksql_spark.server.protocol.connections import DEFAULT_LIMITS, Limits
from ksql_spark.server.protocol.http import TlsSettings, close_unread, http_settings
from ksql_spark.server.running import Web

#: how long an answer may take
SOON_S = 20.0


class LiveServer:
    """Serves ``engine`` on a free port between ``with`` and the end of its block."""

    def __init__(
        self,
        engine: Any,
        max_push_queries: int = 100,
        most_statements: int = 256,
        send_timeout_ms: int = 60_000,
        limits: Limits = DEFAULT_LIMITS,
        tls: TlsSettings | None = None,
        config: Config | None = None,
        keep_alive_s: int = 5,
    ) -> None:
        self.engine = engine
        self.host = Host(max_push_queries, most_statements)
        self.host.engine = engine
        # asyncio sends without delay (TCP_NODELAY) only where the protocol is named.
        self._sock = socket.socket(proto=socket.IPPROTO_TCP)
        close_unread(self._sock, send_timeout_ms)
        self._sock.bind(("127.0.0.1", 0))
        self._sock.listen(128)
        self.port: int = self._sock.getsockname()[1]
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self.port}"
        web = uvicorn.Config(
            create_app(self.host, config),
            **http_settings(limits),
            **(tls or {}),
            log_config=None,
            access_log=False,
            lifespan="off",
            timeout_keep_alive=keep_alive_s,
        )
        self.web = Web(web, self.host, limits)
        self.thread = threading.Thread(target=self.web.run, args=([self._sock],), daemon=True)

    def __enter__(self) -> LiveServer:
        self.thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.web.should_exit = True
        self.thread.join(timeout=20)
        self.host.release_threads()
        assert not self.thread.is_alive()


@contextlib.contextmanager
def connected(live: LiveServer) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", live.port), timeout=SOON_S) as sock:
        yield sock


def trusting(protocol: str = "http/1.1") -> ssl.SSLContext:
    """What a client needs that trusts any server."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_alpn_protocols([protocol])
    return context
