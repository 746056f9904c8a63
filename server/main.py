"""``ksql-spark server``: bind the port, start the engine behind it, serve until a signal, stop everything.

The port is bound before anything slow happens, so a port in use is noticed at once, and clients get a 503
("still starting") instead of a refused connection. Most of the server is imported afterwards, while the
broker of an earlier run starts.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import os
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from ksql_spark.config import Config
from ksql_spark.errors import KsqlError
from ksql_spark.listeners import add_listeners, listener_settings
from ksql_spark.server.memory import limit_heap
from ksql_spark.server.protocol.http import close_unread, tls_settings, trusted_proxies
from ksql_spark.server.queries_file import QueriesFileProblem, queries_of
from ksql_spark.server.terminal import fail, print_line
from ksql_spark.services import early_broker
from ksql_spark.services.early_broker import EarlyBroker

if TYPE_CHECKING:
    from ksql_spark.engine import Engine

BACKLOG = 512


def main(argv: Sequence[str], make_engine: Callable[[Config], Engine] | None = None) -> int:
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
        postgres = [_postgres_listener(at)] if (at := config["ksql.postgres.listener"]) else []
        tls = tls_settings(config)
        trusted_proxies(config)
        queries = queries_of(config["ksql.queries.file"])
    except (KsqlError, OSError, ValueError, QueriesFileProblem) as error:
        return fail(str(error))
    with contextlib.ExitStack() as stack:
        sockets: list[socket.socket] = []
        for listener in [*listeners, *postgres]:
            try:
                sock = _bind(*listener, config["ksql.server.send.timeout.ms"])
            except OSError as error:
                if error.errno != errno.EADDRINUSE or config.is_set("listeners") or listener in postgres:
                    return fail(_bind_problem(error, *listener))
                # the usual port, which nobody asked for
                listeners = [(listener[0], 0)]
                sock = _bind(*listeners[0], config["ksql.server.send.timeout.ms"])
                print_line(
                    f"port {listener[1]} is taken, perhaps by another ksql-spark server: this one uses port "
                    f"{sock.getsockname()[1]} (--listen HOST:PORT names another one)"
                )
            sockets.append(stack.enter_context(sock))
        limit_heap()
        make = make_engine
        if make is None:
            early = early_broker.begun(config)
            if early is not None:
                stack.enter_context(early)
            make = partial(_real_engine, early)
        # imported while the broker starts
        from ksql_spark.server.running import Running
        from ksql_spark.server.security.authentication import Authenticator

        try:
            authenticator = Authenticator(config)
        except (KsqlError, OSError, ValueError) as error:
            return fail(str(error))
        running = Running(
            config,
            queries,
            sockets[: len(listeners)],
            sockets[len(listeners) :],
            began,
            make,
            tls,
            authenticator,
            _chosen_ports([*listeners, *postgres], sockets),
        )
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
        help="the Kafka brokers to use; by default the server starts one",
    )
    add_listeners(parser)
    parser.add_argument("--data-dir", metavar="DIR", help="directory for all persistent data")
    parser.add_argument(
        "--spark-master",
        metavar="MASTER",
        help="where Spark's tasks run: local (default), spark://HOST:PORT, yarn or k8s://URL",
    )
    parser.add_argument(
        "--properties", metavar="FILE", type=Path, help="a properties file, with name=value lines"
    )
    parser.add_argument(
        "--queries-file", metavar="FILE.sql", help="run these statements and reject all others (headless)"
    )
    parser.add_argument(
        "--connect-plugins",
        metavar="DIR",
        action="append",
        help="a directory of connectors for the Kafka Connect worker that the server starts; may be repeated",
    )
    # for a program that starts the server as a child process: the pipe closes even if that program is killed
    parser.add_argument("--exit-with-stdin", action="store_true", help=argparse.SUPPRESS)
    return parser


def _overrides(options: argparse.Namespace) -> Mapping[str, str]:
    """The properties that the command line sets."""
    by_name = {
        "bootstrap.servers": options.bootstrap_servers,
        "ksql.spark.data.dir": options.data_dir,
        "ksql.spark.master": options.spark_master,
        "ksql.queries.file": options.queries_file,
        "ksql.spark.connect.plugins": options.connect_plugins and ",".join(options.connect_plugins),
    }
    given = {name: value for name, value in by_name.items() if value is not None}
    return given | listener_settings(options)


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


def _postgres_listener(text: str) -> tuple[str, int]:
    """Host and port of ksql.postgres.listener. Raises ValueError."""
    try:
        return _listener(f"http://{text}")
    except ValueError:
        raise ValueError(
            f"Cannot listen at '{text}' for clients of PostgreSQL: give a host and a port, for example "
            f"--pg-listen 127.0.0.1:5433."
        ) from None


def _bind(host: str, port: int, send_timeout_ms: int) -> socket.socket:
    family, kind, protocol, _, address = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    # the protocol matters: asyncio sends without delay (TCP_NODELAY) only if it is explicitly TCP
    sock = socket.socket(family, kind, protocol)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        close_unread(sock, send_timeout_ms)
        sock.bind(address)
        # already listen: an early client waits for a moment instead of being refused
        sock.listen(BACKLOG)
    except OSError:
        sock.close()
        raise
    return sock


def _bind_problem(error: OSError, host: str, port: int) -> str:
    """Describe in one line why the port cannot be bound, and what to do."""
    if error.errno == errno.EADDRINUSE:
        return (
            f"Port {port} on {host} is already in use. Stop the program that uses it "
            f"(perhaps another ksql-spark server), or choose another port with --listen {host}:{port + 1}."
        )
    if error.errno == errno.EACCES:
        return f"This user may not use port {port}. Choose a port above 1023 with --listen {host}:8088."
    return f"Cannot listen on {host}:{port}: {error.strerror or error}. Check --listen HOST:PORT."


def _chosen_ports(listeners: Sequence[tuple[str, int]], sockets: Sequence[socket.socket]) -> list[str]:
    """Return options with the ports that the system chose where the port was 0, for a later process."""
    options: list[str] = []
    for (host, port), sock in zip(listeners, sockets, strict=True):
        if port == 0:
            name = "--listen" if sock is sockets[0] else "--pg-listen"
            options += [name, f"{f'[{host}]' if ':' in host else host}:{sock.getsockname()[1]}"]
    return options


def _real_engine(early: EarlyBroker | None, config: Config) -> Engine:
    # importing Spark takes a while: only once the port is open
    from ksql_spark.engine import Engine

    return Engine(config, early=early)
