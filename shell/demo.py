"""``ksql-spark demo``: runs the whole taxi example, and cleans up afterwards."""

from __future__ import annotations

import argparse
import contextlib
import io
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import grammar
from shell import dashboard, embedded
from shell.client import Client, ClientError, FrameStream, ServerError, Settings, until_ready
from shell.dashboard import Feed, Panel
from shell.output.console import Console
from shell.output.rows import columns_of
from shell.output.text import value_text
from shell.scripts import read_script
from shell.session import Failure, Session

SCRIPT = Path(__file__).parent.parent / "examples" / "taxi.sql"
READY_S = 120.0
FRAME_S = 0.2
#: without a terminal: pause between two lines of a panel
LINES_S = 1.0
#: the generator ends when we end, however that happens: its standard input is a pipe from us
_DATAGEN = (
    "import os, sys, threading; sys.path[:] = [p for p in sys.path if p]; "
    "threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start(); "
    "from ksql_spark.datagen import main; sys.exit(main(sys.argv[1:]))"
)
_CREATED = re.compile(r"CREATE\s+(STREAM|TABLE)\s+(\w+)", re.I)


class DemoProblem(Exception):
    """The demo cannot continue; the text is for the user."""


def main(argv: Sequence[str]) -> int:
    """Run the demo until Ctrl-C (or for --seconds).

    Returns:
        The exit code: 0, or 1 if something could not be started.
    """
    options = _parser().parse_args(argv)
    console = Console()
    # so that SIGTERM cleans up as well
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with contextlib.ExitStack() as stack:
            return Demo(options, console, stack).run()
    except (DemoProblem, ClientError) as problem:
        console.clear_status()
        print(f"ksql-spark demo: {problem}", file=sys.stderr)
        return 1
    except Failure as failure:
        print(failure.located(options.file), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="ksql-spark demo",
        description="The taxi example: starts an engine in a temporary folder, generates rides and zones, "
        "runs examples/taxi.sql and shows the results, live, until Ctrl-C. It leaves nothing behind.",
    )
    parser.add_argument("--rate", metavar="N", type=int, default=50, help="rides per second (default: 50)")
    parser.add_argument("--seconds", metavar="N", type=float, help="end after N seconds of data")
    parser.add_argument("--server", metavar="URL", help="use this server instead of starting one")
    parser.add_argument("--file", metavar="FILE.sql", default=str(SCRIPT), help=argparse.SUPPRESS)
    return parser


def panels(console: Console) -> list[Panel]:
    """The demo's panels: push queries on the streams and tables of examples/taxi.sql."""
    return [
        Panel(
            "Rides by vendor",
            Feed("SELECT * FROM rides_by_vendor EMIT CHANGES;", ("VENDORID",)),
            dashboard.vendors_panel,
            console.cyan,
        ),
        Panel(
            "One-minute windows",
            Feed("SELECT * FROM rides_per_minute EMIT CHANGES;", ("VENDORID", "WINDOWSTART")),
            dashboard.windows_panel,
            console.cyan,
        ),
        Panel(
            "Rides of $40 and more",
            Feed("SELECT * FROM expensive_rides EMIT CHANGES;"),
            dashboard.expensive_panel,
            console.cyan,
        ),
        Panel(
            "Where rides begin",
            Feed("SELECT * FROM rides_with_zones EMIT CHANGES;"),
            dashboard.zones_panel,
            console.cyan,
        ),
    ]


class Demo:
    """One run. Everything that is started is registered with ``stack``, which stops it in reverse order."""

    def __init__(self, options: argparse.Namespace, console: Console, stack: contextlib.ExitStack) -> None:
        self._options = options
        self._console = console
        self._stack = stack
        self._generators: list[subprocess.Popen[str]] = []
        self.panels = panels(console)

    def run(self) -> int:
        """Start everything, and show results until the end."""
        text = read_script(self._options.file)
        client = self._connect()
        self._run_script(client, text)
        servers = bootstrap_servers(client)
        # all zones first, so that the first rides find their zones
        zones = self._generate("zones", servers)
        with self._console.busy("generating zones", after_s=0):
            zones.wait()
        self._check_generators()
        self._generate("rides", servers, "--rate", f"{self._options.rate}/s")
        for panel in self.panels:
            self._follow(client, panel.feed)
        began = time.monotonic()
        with self._picture() if self._console.tty else contextlib.nullcontext():
            printed = [0] * len(self.panels)
            while not self._is_over(began):
                self._check_generators()
                if self._console.tty:
                    self._draw(client.url, time.monotonic() - began)
                else:
                    self._print_new(printed)
                time.sleep(FRAME_S if self._console.tty else LINES_S)
        return 0

    def _is_over(self, began: float) -> bool:
        seconds = self._options.seconds
        return seconds is not None and time.monotonic() - began >= seconds

    def _connect(self) -> Client:
        console = self._console
        if self._options.server is not None:
            client = Client(self._options.server)
        else:
            folder = Path(tempfile.mkdtemp(prefix="ksql-spark-demo-"))
            self._stack.callback(shutil.rmtree, folder, ignore_errors=True)
            server = embedded.start(folder)
            self._stack.callback(self._stop, server)
            url = server.wait_ready(console.status)
            console.clear_status()
            console.line(f"{console.green('✓')} engine at {url}, ready in {server.ready_after_s:.1f} s")
            client = Client(url)
        self._stack.callback(client.close)
        for _ in until_ready(client, READY_S):
            console.status(f"{client.url} is starting")
        console.clear_status()
        return client

    def _stop(self, server: embedded.EmbeddedServer) -> None:
        try:
            server.stop(self._console.status)
        finally:
            self._console.clear_status()

    def _run_script(self, client: Client, text: str) -> None:
        """Run the script statement by statement, printing a line for each; raises Failure if one fails."""
        console = self._console
        if self._options.server is not None:
            self._stack.callback(_drop_all, client, text)
        # do not show the statements' answers, only whether they succeed
        quiet = Session(client, Console(io.StringIO(), tty=False))
        for part in grammar.split(text):
            first = part.text.split("\n")[0].split("(")[0].strip()
            with console.busy(first, after_s=0):
                quiet.run(part)
            console.line(f"{console.green('✓')} {first}")

    def _generate(self, schema: str, servers: str, *arguments: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [
                sys.executable,
                "-c",
                _DATAGEN,
                schema,
                "--topic",
                schema,
                "--bootstrap-servers",
                servers,
                *arguments,
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self._generators.append(process)
        self._stack.callback(_end, process)
        self._console.line(f"{self._console.green('✓')} generating {schema}")
        return process

    def _check_generators(self) -> None:
        for process in self._generators:
            if process.poll():
                assert process.stderr is not None
                said = process.stderr.read().strip().splitlines() or ["it gave no reason"]
                raise DemoProblem(f"The generator of events ended: {said[-1]}")

    def _follow(self, client: Client, feed: Feed) -> None:
        """Start a panel's query, and read it in a thread."""
        try:
            stream = client.query(feed.sql, Settings({"auto.offset.reset": "earliest"}))
        except ServerError as error:
            feed.problem = error.message.splitlines()[0]
            return
        self._stack.callback(stream.close)
        threading.Thread(target=_read, args=(stream, feed), daemon=True).start()

    @contextlib.contextmanager
    def _picture(self) -> Iterator[None]:
        """Use the terminal's alternate screen without a cursor; restore it afterwards."""
        sys.stdout.write("\x1b[?1049h\x1b[?25l\x1b[2J")
        try:
            yield
        except KeyboardInterrupt:
            pass
        finally:
            sys.stdout.write("\x1b[?25h\x1b[?1049l")
            sys.stdout.flush()

    def _draw(self, url: str, elapsed_s: float) -> None:
        size = shutil.get_terminal_size((80, 24))
        console = self._console
        total = sum(int(row.get("TRIPS") or 0) for row in list(self.panels[0].feed.rows.values()))
        lines = dashboard.screen(
            self.panels,
            ("ksql-spark · taxi rides of New York", f"{total:,} rides · {elapsed_s:.0f} s"),
            f"Ctrl-C ends · your own queries: ksql-spark {url}",
            size.columns,
            size.lines,
            console.bold,
            console.dim,
        )
        sys.stdout.write("\x1b[H" + "\x1b[K\r\n".join(lines) + "\x1b[K")
        sys.stdout.flush()

    def _print_new(self, printed: list[int]) -> None:
        """Without a terminal: print one line per panel, with its newest row."""
        for index, panel in enumerate(self.panels):
            feed = panel.feed
            with feed.lock:
                row = feed.last[-1] if feed.last and feed.total > printed[index] else None
                printed[index] = feed.total
            if feed.problem:
                raise DemoProblem(f"{feed.sql} {feed.problem}")
            if row is not None:
                cells = ", ".join(f"{name}={_short(value)}" for name, value in row.items())
                self._console.line(f"{panel.title}: {cells}")


def _short(value: Any) -> str:
    """A value as text: amounts with two decimals, not with all digits of a DOUBLE."""
    return f"{value:.2f}" if isinstance(value, (float, Decimal)) else value_text(value)


def bootstrap_servers(client: Client) -> str:
    """The server's brokers, from SHOW PROPERTIES. Raises DemoProblem."""
    for entity in client.run("SHOW PROPERTIES;"):
        for found in entity.get("properties") or []:
            if str(found.get("name", "")).removeprefix("ksql.streams.") == "bootstrap.servers" and found.get(
                "value"
            ):
                return str(found["value"])
    raise DemoProblem("The server does not say where its Kafka is (bootstrap.servers in SHOW PROPERTIES).")


def _read(stream: FrameStream, feed: Feed) -> None:
    """Add a query's rows to its feed until it ends (in a thread)."""
    names: list[str] = []
    while (frames := stream.read(1.0)) is not None:
        for frame in frames:
            if "header" in frame:
                names = [column.name.upper() for column in columns_of(str(frame["header"].get("schema", "")))]
            elif "row" in frame:
                row: dict[str, Any] = dict(zip(names, frame["row"].get("columns") or [], strict=False))
                feed.add(row, bool(frame["row"].get("tombstone")))
                if "ZONE" in row:
                    feed.count(str(row["ZONE"] or "(zone not known yet)"))
            elif "errorMessage" in frame:
                feed.problem = str(frame["errorMessage"].get("message")).splitlines()[0]


def _end(process: subprocess.Popen[str]) -> None:
    with contextlib.suppress(OSError):
        if process.stdin:
            process.stdin.close()
    try:
        process.wait(timeout=5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stderr:
        process.stderr.close()


def _drop_all(client: Client, text: str) -> None:
    """Drop what the script created on a server that we did not start, with topics, in reverse order."""
    for kind, name in reversed(_CREATED.findall(text)):
        with contextlib.suppress(ClientError):
            client.run(f"DROP {kind} IF EXISTS {name} DELETE TOPIC;")
