"""``ksql-spark server``: bind the port, start the engine behind it, serve until a signal, stop everything.

The port is bound before anything slow happens, so a port in use is noticed at once, and clients get a 503
("still starting") instead of a refused connection.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import errno
import logging
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Protocol
from urllib.parse import urlsplit

import uvicorn

from ksql_spark.config import Config, warning
from ksql_spark.errors import KsqlError
from ksql_spark.masking import masked
from ksql_spark.services.data_dir import make_data_dir
from server.app import create_app
from server.authentication import Authenticator
from server.connections import DEFAULT_LIMITS, Limits
from server.host import Engine, Host
from server.http import TlsSettings, close_unread, http_settings, tls_settings
from server.logs import log_to
from server.memory import settle, share_arenas

LOG = logging.getLogger(__name__)

#: how long running requests may take to finish when the server stops
GRACE_S = 10
BACKLOG = 512
#: how long a thread may compute while others want to
SWITCH_INTERVAL_S = 0.001
IDLE = "ksql.idle.connection.timeout.seconds"
#: how long a connection without a request is kept where IDLE is not set: longer than clients keep it, so that
#: they close it
BETWEEN_REQUESTS_S = 75
FOR_EVER_S = 2**31


class StartableEngine(Engine, Protocol):
    """An engine with its life cycle, which only this module controls."""

    #: the engine calls it when another server has ended all servers of the service id
    request_stop: Callable[[], None]

    def start(self, report: Callable[[str], None], serving: Callable[[], None]) -> None:
        """Block until everything runs.

        Args:
            report: gets progress lines.
            serving: called once requests can be answered.
        """
        ...

    def stop(self) -> None:
        """Stop everything, including a start() in progress; may be called more than once."""
        ...


def main(argv: Sequence[str], make_engine: Callable[[Config], StartableEngine] | None = None) -> int:
    """Run a server until a signal stops it.

    Args:
        argv: the options after ``ksql-spark server``.
        make_engine: creates the engine; by default the real Engine.

    Returns:
        The exit code: 0 after a stop by signal, 1 if the server could not start, 2 for wrong options.
    """
    began = time.monotonic()
    try:
        options = _parser().parse_args(argv)
    except SystemExit as stop:
        return int(stop.code or 0)
    try:
        config = Config.load(options.properties, os.environ, _overrides(options))
        listeners = _listeners(config)
        tls = tls_settings(config)
        authenticator = Authenticator(config)
        queries = _queries_of(config["ksql.queries.file"])
    except (KsqlError, OSError, ValueError, QueriesFileProblem) as error:
        return _fail(str(error))
    sockets: list[socket.socket] = []
    for listener in listeners:
        try:
            sockets.append(_bind(*listener, config["ksql.server.send.timeout.ms"]))
        except OSError as error:
            for sock in sockets:
                sock.close()
            return _fail(_bind_problem(error, *listener))
    running = Running(config, queries, sockets, began, make_engine or _real_engine, tls, authenticator)
    return running.run(options.exit_with_stdin)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="ksql-spark server",
        description="Run the ksql-spark server: a REST API over streams and tables on Kafka.",
        epilog="Every property can also be set in the environment: KSQL_ and its name in upper case, with _ "
        "for a dot, __ for an underscore and ___ for a dash (KSQL_BOOTSTRAP_SERVERS, KSQL_KSQL_SERVICE_ID). "
        "The command line overrides the environment, which overrides the file.",
    )
    parser.add_argument(
        "--bootstrap-servers",
        metavar="HOST:PORT,…",
        help="the Kafka brokers to use; without them, a broker is started here",
    )
    parser.add_argument(
        "--listen", metavar="HOST:PORT", help="where to serve the REST API (default 127.0.0.1:8088)"
    )
    parser.add_argument("--data-dir", metavar="DIR", help="the folder for all persistent data")
    parser.add_argument(
        "--spark-master",
        metavar="MASTER",
        help="where Spark's tasks run: local (default), spark://HOST:PORT, yarn or k8s://URL",
    )
    parser.add_argument(
        "--properties", metavar="FILE", type=Path, help="a file of properties, name=value on each line"
    )
    parser.add_argument(
        "--queries-file", metavar="FILE.sql", help="run these statements and refuse all others (headless)"
    )
    parser.add_argument(
        "--connect-plugins",
        metavar="DIR",
        action="append",
        help="a folder of connectors for the Kafka Connect worker that the server starts; may be repeated",
    )
    # for a program that starts the server as a child process: the pipe closes even if that program is killed
    parser.add_argument("--exit-with-stdin", action="store_true", help=argparse.SUPPRESS)
    return parser


def _overrides(options: argparse.Namespace) -> Mapping[str, str]:
    """The properties that the command line sets."""
    given = {
        "bootstrap.servers": options.bootstrap_servers,
        "listeners": options.listen and f"http://{options.listen}",
        "ksql.spark.data.dir": options.data_dir,
        "ksql.spark.master": options.spark_master,
        "ksql.queries.file": options.queries_file,
        "ksql.spark.connect.plugins": options.connect_plugins and ",".join(options.connect_plugins),
    }
    return {name: value for name, value in given.items() if value is not None}


def _queries_of(file: str | None) -> str | None:
    """The statements of a headless server; None for a server that is not headless.

    Raises:
        QueriesFileProblem: the file cannot be read.
    """
    if not file:
        return None
    try:
        return Path(file).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise QueriesFileProblem(f"Cannot read the queries file {file}: {reason}.") from error


def _listeners(config: Config) -> list[tuple[str, int]]:
    """Hosts and ports of the property ``listeners``. Raises ValueError."""
    return [_listener(text.strip()) for text in str(config["listeners"]).split(",")]


def _listener(text: str) -> tuple[str, int]:
    """Host and port of one listener.

    Raises:
        ValueError: it is not http://HOST:PORT or https://HOST:PORT.
    """
    try:
        url = urlsplit(text)
        host, port = url.hostname, url.port
    except ValueError:
        host, port = None, None
    if url.scheme not in ("http", "https") or host is None or port is None:
        raise ValueError(
            f"Cannot listen at '{text}': give a host and a port, for example --listen 127.0.0.1:8088."
        )
    return host, port


def _bind(host: str, port: int, send_timeout_ms: int) -> socket.socket:
    family, kind, protocol, _, address = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    # the protocol matters: asyncio sends without delay (TCP_NODELAY) only if it is TCP explicitly
    sock = socket.socket(family, kind, protocol)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        close_unread(sock, send_timeout_ms)
        sock.bind(address)
        # listen already: an early client waits for a moment instead of being refused
        sock.listen(BACKLOG)
    except OSError:
        sock.close()
        raise
    return sock


def _bind_problem(error: OSError, host: str, port: int) -> str:
    """One line that says why the port cannot be bound, and what to do."""
    if error.errno == errno.EADDRINUSE:
        return (
            f"Port {port} on {host} is already in use. Stop the program that uses it "
            f"(perhaps another ksql-spark server), or choose another port with --listen {host}:{port + 1}."
        )
    if error.errno == errno.EACCES:
        return f"Port {port} may not be used by this user. Choose one above 1023 with --listen {host}:8088."
    return f"Cannot listen on {host}:{port}: {error.strerror or error}. Check --listen HOST:PORT."


def between_requests_s(config: Config) -> int:
    """How long connections without a request are kept; once IDLE is set, that decides alone."""
    if config.is_set(IDLE):
        return int(config[IDLE]) or FOR_EVER_S
    return BETWEEN_REQUESTS_S


def _fail(message: str) -> int:
    print(f"ksql-spark server: {masked(message)}", file=sys.stderr, flush=True)
    return 1


def _say(line: str) -> None:
    # the process that started us may have ended, and closed its end of the pipe
    with contextlib.suppress(OSError):
        # in one call: Kafka and Spark start concurrently, and both report progress
        print(f"{masked(line)}\n", end="", flush=True)


def _real_engine(config: Config) -> StartableEngine:
    # importing Spark takes a while: only once the port is open
    from ksql_spark.engine import Engine as RealEngine

    return RealEngine(config)


class Web(uvicorn.Server):
    """uvicorn without its signal handling; it ends query streams before it waits for their responses.

    Args:
        config: of uvicorn, whose ``lifespan`` is off.
        host: has the streams.
        limits: of connections.
    """

    def __init__(self, config: uvicorn.Config, host: Host, limits: Limits = DEFAULT_LIMITS) -> None:
        super().__init__(config)
        self._host = host
        self._limits = limits

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Do nothing: Running handles signals."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve at ``sockets``, as uvicorn does, but with limits to what TLS waits for."""
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
        self.started = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop serving."""
        self._host.stopping = True
        await self._host.close_streams()
        await super().shutdown(sockets)


class QueriesFileProblem(Exception):
    """A headless server cannot run its file; the text is for the user."""


class Running:
    """One server from its start to its end."""

    def __init__(
        self,
        config: Config,
        queries: str | None,
        sockets: Sequence[socket.socket],
        began: float,
        make_engine: Callable[[Config], StartableEngine],
        tls: TlsSettings,
        authenticator: Authenticator,
    ) -> None:
        self._config = config
        self._is_open = authenticator.is_on and not tls
        self._queries = queries
        self._sockets = sockets
        self._began = began
        self._make_engine = make_engine
        host, port = sockets[0].getsockname()[:2]
        scheme = "https" if tls else "http"
        self._url = f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"
        self._host = Host(
            int(config["ksql.max.push.queries"]), int(config["ksql.server.max.concurrent.statements"])
        )
        self._host.request_stop = self._request_stop
        self._host.queries_file = config["ksql.queries.file"] or None
        self._engine: StartableEngine | None = None
        self._failure: BaseException | None = None
        self._signals = 0
        limits = Limits(
            config["ksql.server.header.timeout.ms"] / 1000,
            config["ksql.server.max.connections"],
            config[IDLE],
        )
        self._web = Web(
            uvicorn.Config(
                create_app(self._host, config, authenticator),
                **tls,
                **http_settings(limits),
                log_config=None,
                access_log=False,
                lifespan="off",
                server_header=False,
                timeout_keep_alive=between_requests_s(config),
                timeout_graceful_shutdown=GRACE_S,
            ),
            self._host,
            limits,
        )

    def run(self, exit_with_stdin: bool) -> int:
        """Start, serve and stop; return the exit code."""
        share_arenas()
        data_dir = Path(self._config["ksql.spark.data.dir"]).expanduser().absolute()
        try:
            make_data_dir(data_dir)
            file = data_dir / "logs" / "server.log"
            log = log_to(file, self._config.secrets(), self._config["ksql.server.log.format"])
        except OSError as error:
            reason = error.strerror or str(error)
            return _fail(f"Cannot write to the data folder {data_dir}: {reason}. Choose another: --data-dir.")
        # threads of look-ups are short: none should wait long for another that only computes
        sys.setswitchinterval(SWITCH_INTERVAL_S)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._on_signal)
        for name, value in self._config.with_prefix("").items():
            if message := warning(name, value):
                LOG.warning(message)
        if self._is_open:
            _say("passwords and tokens come in clear text: use https, or a proxy that does")
        _say(f"starting: {self._url}, data in {data_dir}, log in {log}")
        starter = threading.Thread(target=self._start, name="start", daemon=True)
        starter.start()
        if exit_with_stdin:
            threading.Thread(target=self._watch_stdin, name="stdin", daemon=True).start()
        self._web.run(sockets=list(self._sockets))
        self._stop(starter)
        if self._failure is None:
            _say("stopped")
            return 0
        if isinstance(self._failure, (KsqlError, QueriesFileProblem)):
            return _fail(str(self._failure))
        LOG.error("the server could not start", exc_info=self._failure)
        lines = str(self._failure).splitlines() or [type(self._failure).__name__]
        return _fail(f"The server could not start: {lines[0]}. The details are in {log}.")

    def _start(self) -> None:
        """Start the engine (in a thread of its own)."""
        try:
            self._engine = engine = self._make_engine(self._config)
            engine.request_stop = self._request_stop
            if self._host.stopping:
                return
            if self._queries is None:
                engine.start(_say, lambda: self._serve(engine))
            else:
                engine.start(_say, lambda: None)
                self._run_queries(engine, self._queries)
                self._serve(engine)
            settle()
            if not self._host.stopping:
                _say(f"complete: Spark and all queries were started in {self._elapsed_s:.1f} s")
        except BaseException as error:
            # an interrupted start fails with some error, which is not a failure to report
            if not self._host.stopping:
                self._failure = error
                self._request_stop()

    def _serve(self, engine: StartableEngine) -> None:
        """Let requests reach the engine."""
        settle()
        self._host.engine = engine
        if not self._host.stopping:
            _say(f"ready: {self._url} in {self._elapsed_s:.1f} s")

    @property
    def _elapsed_s(self) -> float:
        return time.monotonic() - self._began

    def _run_queries(self, engine: StartableEngine, queries: str) -> None:
        """Run the statements of a headless server, unless an earlier run has done so.

        Raises:
            QueriesFileProblem: a statement fails.
        """
        from ksql_spark.engine import Request

        file = self._host.queries_file
        # statements from the command log have been replayed; the file would only repeat them
        if engine.statuses():
            _say(f"the command log has statements already; {file} is not run again")
            return
        try:
            engine.execute(Request(queries))
        except KsqlError as error:
            raise QueriesFileProblem(f"{file}: {error.message}") from error
        _say(f"running the statements of {file}")

    def _stop(self, starter: threading.Thread) -> None:
        if self._failure is None:
            _say("stopping")
        if self._engine is not None:
            self._stop_engine(self._engine)
        starter.join()
        # the engine may have been created, or have finished starting, while we were stopping it
        if self._engine is not None and self._engine.state != "STOPPING":
            self._stop_engine(self._engine)
        self._host.release_threads()

    def _stop_engine(self, engine: StartableEngine) -> None:
        try:
            engine.stop()
        except Exception:
            LOG.exception("stopping the engine failed")

    def _request_stop(self) -> None:
        self._host.stopping = True
        self._web.should_exit = True

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
