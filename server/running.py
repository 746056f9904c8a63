"""One running server: the engine behind a bound port, until a signal, then everything stops."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

import uvicorn

from ksql_spark.config import Config, warning
from ksql_spark.errors import KsqlError
from ksql_spark.server.app import create_app
from ksql_spark.server.host import Host
from ksql_spark.server.logs import log_to
from ksql_spark.server.memory import settle
from ksql_spark.server.protocol.connections import DEFAULT_LIMITS, Limits
from ksql_spark.server.protocol.http import TlsSettings, http_settings
from ksql_spark.server.queries_file import QueriesFileProblem
from ksql_spark.server.security.access import Logins
from ksql_spark.server.security.authentication import Authenticator
from ksql_spark.server.terminal import fail, print_line
from ksql_spark.services.data_dir import make_data_dir

if TYPE_CHECKING:
    # not at run time: this import loads Spark, and the port should open before that
    from ksql_spark.engine import Engine
    from ksql_spark.server.postgres.listener import PostgresListener

LOG = logging.getLogger(__name__)

#: how long running requests may take to finish on shutdown
GRACE_S = 5
#: how long the thread that starts the server may take to notice that it was stopped
STARTER_S = 5
#: how long a thread may compute while others are waiting
SWITCH_INTERVAL_S = 0.001
IDLE = "ksql.idle.connection.timeout.seconds"
#: how long to keep a connection without a request if IDLE is not set: longer than clients do, so that they
#: close it first
BETWEEN_REQUESTS_S = 75
FOR_EVER_S = 2**31


def between_requests_s(config: Config) -> int:
    """Return how long to keep connections without a request, seconds; if IDLE is set, it alone decides."""
    if config.is_set(IDLE):
        return int(config[IDLE]) or FOR_EVER_S
    return BETWEEN_REQUESTS_S


class Web(uvicorn.Server):
    """uvicorn without its signal handling; it ends query streams before it waits for their responses.

    Args:
        config: of uvicorn, whose ``lifespan`` is off.
        host: holds the streams.
        limits: of connections.
        others: ports of other protocols.
    """

    def __init__(
        self,
        config: uvicorn.Config,
        host: Host,
        limits: Limits = DEFAULT_LIMITS,
        others: Sequence[PostgresListener] = (),
    ) -> None:
        super().__init__(config)
        self._others = others
        self._host = host
        self._limits = limits

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Do nothing: Running handles signals."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve ``sockets`` as uvicorn does, but with time limits for TLS."""
        config = self.config
        limit_s = self._limits.header_s if config.ssl else None

        def make_protocol() -> asyncio.Protocol:
            return config.http_protocol_class(  # type: ignore[call-arg]
                config=config, server_state=self.server_state, app_state={}
            )

        loop = asyncio.get_running_loop()
        self.servers = [
            await loop.create_server(
                make_protocol,
                sock=sock,
                ssl=config.ssl,
                backlog=config.backlog,
                ssl_handshake_timeout=limit_s,
                ssl_shutdown_timeout=limit_s,
            )
            for sock in sockets or ()
        ]
        for other in self._others:
            await other.start()
        self.started = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop serving."""
        self._host.stopping = True
        await self._host.close_streams()
        for other in self._others:
            await other.stop()
        await super().shutdown(sockets)


class Running:
    """One server from start to end."""

    def __init__(
        self,
        config: Config,
        queries: str | None,
        sockets: Sequence[socket.socket],
        postgres: Sequence[socket.socket],
        began: float,
        make_engine: Callable[[Config], Engine],
        tls: TlsSettings,
        authenticator: Authenticator,
        chosen_ports: Sequence[str] = (),
    ) -> None:
        self._config = config
        self._chosen_ports = chosen_ports
        self._is_open = authenticator.is_on and not tls
        self._queries = queries
        self._sockets = sockets
        self._began = began
        self._make_engine = make_engine
        self._url = f"{'https' if tls else 'http'}://{_address(sockets[0])}"
        self._host = Host(
            int(config["ksql.max.push.queries"]),
            int(config["ksql.server.max.concurrent.statements"]),
            config["ksql.client.max.share"],
        )
        self._host.request_stop = self._request_stop
        self._host.queries_file = config["ksql.queries.file"] or None
        self._engine: Engine | None = None
        self._failure: BaseException | None = None
        self._signals = 0
        #: whether something hangs that was to stop
        self._hangs = False
        limits = Limits(
            config["ksql.server.header.timeout.ms"] / 1000,
            config["ksql.server.max.connections"],
            config[IDLE],
            config["ksql.server.send.timeout.ms"] / 1000,
        )
        web = uvicorn.Config(
            create_app(self._host, config, authenticator),
            **tls,
            **http_settings(limits),
            log_config=None,
            access_log=False,
            lifespan="off",
            server_header=False,
            timeout_keep_alive=between_requests_s(config),
            timeout_graceful_shutdown=GRACE_S,
        )
        self._postgres_urls = [f"postgresql://{_address(sock)}/ksql" for sock in postgres]
        others = _postgres(postgres, self._host, authenticator, web, limits, config)
        self._web = Web(web, self._host, limits, others)

    def run(self, exit_with_stdin: bool) -> int:
        """Start, serve and stop; return the exit code."""
        data_dir = Path(self._config["ksql.spark.data.dir"]).expanduser().absolute()
        try:
            make_data_dir(data_dir)
            file = data_dir / "logs" / "server.log"
            log = log_to(file, self._config.secrets(), self._config["ksql.server.log.format"])
        except OSError as error:
            reason = error.strerror or str(error)
            return fail(f"Cannot write to the data folder {data_dir}: {reason}. Choose another: --data-dir.")
        # lookups run in short threads: none should wait long for a thread that only computes
        sys.setswitchinterval(SWITCH_INTERVAL_S)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._on_signal)
        for name, value in self._config.with_prefix("").items():
            if message := warning(name, value):
                LOG.warning(message)
        if self._is_open:
            print_line("passwords and tokens travel in clear text: use https, or a proxy that does")
        print_line(f"starting: {self._url}, data in {data_dir}, log in {log}")
        starter = threading.Thread(target=self._start, name="start", daemon=True)
        starter.start()
        if exit_with_stdin:
            threading.Thread(target=self._watch_stdin, name="stdin", daemon=True).start()
        self._web.run(sockets=list(self._sockets))
        self._stop(starter)
        if self._hangs:
            print_line("stopped, without waiting for what hangs; see the log")
            os._exit(0 if self._failure is None else 1)
        if self._failure is None:
            print_line("stopped")
            return 0
        if isinstance(self._failure, (KsqlError, QueriesFileProblem)):
            return fail(str(self._failure))
        LOG.error("the server could not start", exc_info=self._failure)
        lines = str(self._failure).splitlines() or [type(self._failure).__name__]
        return fail(f"The server could not start: {lines[0]}. See {log} for details.")

    def _start(self) -> None:
        """Start the engine in its own thread."""
        try:
            self._engine = engine = self._make_engine(self._config)
            engine.request_stop = self._request_stop
            engine.restart = self._restart
            engine.listeners = self._listeners()
            if self._host.stopping:
                return
            if self._queries is None:
                engine.start(print_line, lambda: self._serve(engine))
            else:
                engine.start(print_line, lambda: None)
                self._run_queries(engine, self._queries)
                self._serve(engine)
            settle()
            if not self._host.stopping:
                print_line(f"complete: Spark and all queries were started in {self._elapsed_s:.1f} s")
        except BaseException as error:
            # an interrupted start fails with an error that need not be reported
            if not self._host.stopping:
                self._failure = error
                self._request_stop()

    def _listeners(self) -> list[tuple[str, str]]:
        """Name and address of each port of this server, and of the console."""
        scheme = self._url.partition("://")[0]
        urls = [f"{scheme}://{_address(sock)}" for sock in self._sockets]
        console = [("console", self._url)] if self._config["ksql.console.enabled"] else []
        return [
            *(("REST API", url) for url in urls),
            *console,
            *(("PostgreSQL", url) for url in self._postgres_urls),
        ]

    def _serve(self, engine: Engine) -> None:
        """Let requests reach the engine."""
        settle()
        self._host.engine = engine
        if not self._host.stopping:
            print_line(f"ready: {' and '.join([self._url, *self._postgres_urls])} in {self._elapsed_s:.1f} s")

    @property
    def _elapsed_s(self) -> float:
        return time.monotonic() - self._began

    def _run_queries(self, engine: Engine, queries: str) -> None:
        """Run the statements of a headless server, unless an earlier run has done so.

        Raises:
            QueriesFileProblem: a statement fails.
        """
        from ksql_spark.engine import Request

        file = self._host.queries_file
        # statements from the command log have been replayed; the file would only repeat them
        if engine.statuses():
            print_line(f"the command log already has statements; not running {file} again")
            return
        try:
            engine.execute(Request(queries))
        except KsqlError as error:
            raise QueriesFileProblem(f"{file}: {error.message}") from error
        print_line(f"running the statements of {file}")

    def _stop(self, starter: threading.Thread) -> None:
        if self._failure is None:
            print_line("stopping")
        if self._engine is not None:
            self._stop_engine(self._engine)
        starter.join(STARTER_S)
        self._hangs |= starter.is_alive()
        # the engine may have been created, or have finished starting, while we were stopping it
        if self._engine is not None and self._engine.state != "STOPPING":
            self._stop_engine(self._engine)
        self._host.release_threads()

    def _stop_engine(self, engine: Engine) -> None:
        try:
            self._hangs |= not engine.stop()
        except Exception:
            LOG.exception("stopping the engine failed")

    def _request_stop(self) -> None:
        self._host.stopping = True
        self._web.should_exit = True

    def _restart(self, why: str) -> None:
        """Replace this process by a new one with the same arguments and ports, as after a crash.

        For what no stop can end, such as a thread that waits in Kafka's client. The process id stays.
        A server that is to stop does not start again.
        """
        if self._host.stopping:
            return
        LOG.error("%s: the server starts again, since its Kafka clients would wait for the old time", why)
        print_line(f"{why}: starting again")
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:], *self._chosen_ports])

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self._signals += 1
        if self._signals > 1 and number == signal.SIGINT:
            os.write(2, b"ksql-spark server: stopped at once, without finishing what was under way\n")
            os._exit(130)
        self._request_stop()

    def _watch_stdin(self) -> None:
        with contextlib.suppress(OSError):
            while os.read(0, 1024):
                pass
        self._request_stop()


def _address(sock: socket.socket) -> str:
    """Return the address at which a port is bound, as URLs have it."""
    host, port = sock.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _postgres(
    sockets: Sequence[socket.socket],
    host: Host,
    authenticator: Authenticator,
    web: uvicorn.Config,
    limits: Limits,
    config: Config,
) -> list[PostgresListener]:
    """Ports for clients of PostgreSQL, with the certificate and the limits of the REST API."""
    if not sockets:
        return []
    # imported only where it is used: it takes a while
    from ksql_spark.server.postgres.listener import PostgresListener

    web.load()  # for its TLS
    logins = Logins(authenticator)
    per_second, share = config["ksql.server.max.requests.per.second"], config["ksql.client.max.share"]
    return [PostgresListener(host, logins, sock, web.ssl, limits, per_second, share) for sock in sockets]
