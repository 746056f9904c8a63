"""The interactive shell, from greeting to exit; an engine may still be starting in the background."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ksql_spark.shell.client import Client, ClientError, until_ready
from ksql_spark.shell.commands.command import Context
from ksql_spark.shell.options import READY_S, Connection
from ksql_spark.shell.output.console import SPINNER
from ksql_spark.shell.output.live import key_of
from ksql_spark.shell.prompt.metadata import MetadataCache
from ksql_spark.shell.prompt.progress import Progress
from ksql_spark.shell.prompt.repl import Repl, open_history, without_echo
from ksql_spark.shell.prompt.toolbar import toolbar
from ksql_spark.shell.prompt.watch import ServerWatch
from ksql_spark.shell.session import QueryView
from ksql_spark.shell.version import release, version

if TYPE_CHECKING:
    from ksql_spark.shell.resuming import Frames

#: properties with the addresses of services that the server uses or has started
SERVICES = {
    "bootstrap.servers": "Kafka",
    "ksql.schema.registry.url": "schema registry",
    "ksql.connect.url": "Connect",
}


class Interactive:
    """One run of the interactive shell."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._session = connection.session
        self._metadata = MetadataCache(connection.session.client)
        self._watch: ServerWatch | None = None
        self._progress: Progress | None = None

    def run(self) -> int:
        """Greet, read and run until the user leaves; return the exit code."""
        with without_echo():  # the prompt shows what is typed before it is there
            return self._run()

    def _run(self) -> int:
        console = self._session.console
        console.line()
        console.line(
            f"  {console.bold('ksql-spark')} {version()} · streams and tables in SQL, on Spark and Kafka"
        )
        if self._connection.server is not None:
            console.line(console.dim("  starting an engine"))
        console.line("  Type help for help, Ctrl-D to exit.")
        console.line()
        if console.tty and os.environ.get("TERM") != "dumb":
            self._session.live = self._live
        self._connection.on_restart = lambda: self._metadata.moved(self._session.client)
        repl = Repl(Context(self._session), self._metadata, toolbar=self._toolbar, history=open_history())
        progress = self._progress = Progress(lambda text: repl.print_above(console.dim(text)))
        self._session.on_start = progress.follow
        self._watch = ServerWatch(
            lambda: self._metadata.client,
            lambda text: self._report(repl, text),
            self._engine_failed,
            also=self._follow_queries,
        )
        follow = self._follow if self._connection.server is not None else lambda: self._reach(repl)
        threading.Thread(target=follow, daemon=True).start()
        try:
            repl.run()
        finally:
            self._watch.close()
            self._metadata.close()
        return 0

    def _report(self, repl: Repl, text: str) -> None:
        """Report a change of the server's state, and ask what it has now."""
        repl.print_above(self._session.console.dim(text))
        self._metadata.refresh()

    def _follow_queries(self) -> None:
        """Ask how far the queries are that were started here."""
        if self._progress is not None and self._progress.is_needed:
            with contextlib.suppress(
                ClientError, RuntimeError
            ):  # RuntimeError: the client was closed meanwhile
                self._progress.take(self._metadata.client.graph())

    def _live(self, stream: Frames, view: QueryView) -> None:
        """Show a push query that goes on."""
        from ksql_spark.shell.prompt.live import LiveQuery, explained

        described = explained(self._session, view.text)
        sources = described.get("sources") or []
        LiveQuery(self._session, stream, view, key_of(described), sources=sources).run()

    def _engine_failed(self) -> str | None:
        """Return why our own engine has stopped; None while it runs."""
        server = self._connection.server
        return (
            server.last_words() if server is not None and server.url is not None and server.failed else None
        )

    def _reach(self, repl: Repl) -> None:
        """Greet the server above the prompt, or report why it cannot be reached (in a thread)."""
        console, client = self._session.console, self._session.client
        try:
            for _ in until_ready(client, READY_S):
                pass
            self._greet(client, client.info(), repl.print_above)
            self._print_services(client, repl.print_above)
        except ClientError as error:
            # as with any statement: the user may start the server, or switch to another with `server URL`
            repl.print_above(console.red(f"  {error}"))
        assert self._watch is not None
        self._watch.start()
        self._metadata.refresh()
        # what the first letter and the first statement need
        from ksql_spark.shell.prompt import completion, lexer  # noqa: F401

    def _greet(self, client: Client, info: dict[str, Any], print_line: Callable[[str], None]) -> None:
        theirs = release(info.get("version", "unknown"))
        url = self._session.console.cyan(client.url)
        print_line(f"  CLI v{version()}, Server v{theirs} located at {url}")
        print_line(f"  Server Status: {info.get('serverStatus', 'unknown')}")
        if theirs != version():
            print_line("  WARNING: CLI and server versions differ; some features may not work.")

    def _toolbar(self) -> str | None:
        """The engine's progress until it is ready; then the state of server and session."""
        server = self._connection.server
        if server is None or server.url is not None:
            state = self._watch.state if self._watch is not None else ""
            if not state:
                return "connecting · you can type already"
            queries = len(self._metadata.current.queries)
            progress = self._progress.text if self._progress is not None else ""
            return toolbar(self._session, self._metadata.client.url, state, queries, progress)
        if server.failed:
            return None
        wheel = SPINNER[int(server.elapsed_s * 4) % len(SPINNER)]
        return f"{wheel} {server.progress} ({server.elapsed_s:.0f} s) · you can type already"

    def _follow(self) -> None:
        """Print above the prompt when the engine is ready, or why it failed (in a thread)."""
        server = self._connection.server
        assert server is not None
        console = self._session.console
        try:
            url = server.wait_ready(lambda _: None)
        except ClientError as error:
            # print, because sys.stdout is patched to print above an active prompt
            console.clear_status()
            print(console.red(str(error)))
            return
        console.clear_status()
        urls = " and ".join([url, *server.postgres_urls])
        print(console.dim(f"  ready in {server.ready_after_s:.1f} s: {urls}, data in {server.data_dir}"))
        client = self._session.client.at(url)
        self._print_services(client, lambda text: print(console.dim(text)))
        self._metadata.moved(client)
        if self._watch is not None:
            self._watch.start()

    def _print_services(self, client: Client, print_line: Callable[[str], None]) -> None:
        """Print the addresses of the services that the server uses."""
        with contextlib.suppress(ClientError):  # users who may not see properties can still use the shell
            if addresses := services(client.run("SHOW PROPERTIES;")):
                print_line(f"  {addresses}")


def services(answer: Sequence[Mapping[str, Any]]) -> str:
    """The addresses in a response to SHOW PROPERTIES.

    >>> services([{"properties": [{"name": "ksql.connect.url", "value": "http://localhost:8083"}]}])
    'Connect at http://localhost:8083'
    """
    values = {
        one.get("name"): one.get("value") for entity in answer for one in entity.get("properties") or []
    }
    return " · ".join(f"{name} at {values[key]}" for key, name in SERVICES.items() if values.get(key))
