"""``ksql-spark demo STORY``: runs a story live, and cleans up afterwards."""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import io
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ksql_spark import grammar
from ksql_spark.client import FrameStream
from ksql_spark.client.packages import install
from ksql_spark.listeners import add_listeners, listener_settings
from ksql_spark.shell import embedded, statements
from ksql_spark.shell.client import Client, ClientError, Settings, until_ready
from ksql_spark.shell.output.console import Console
from ksql_spark.shell.output.rows import columns_of
from ksql_spark.shell.session import Failure, Session
from ksql_spark.tools.demo import dashboard, stories
from ksql_spark.tools.demo.dashboard import Feed, Panel
from ksql_spark.tools.demo.stories import Generate, Program, Show, Story, StoryProblem, Then

READY_S = 120.0
REGISTRY_S = 120.0
FRAME_S = 0.2
#: without a terminal: the pause between two lines of a panel
LINES_S = 1.0
#: the interval of pull queries
PULL_S = 1.0
#: how long to wait for the first panel's first row before the next statement runs
FIRST_S = 10.0
#: how long to show results before a story continues, and the maximum wait for first rows
LOOK_S, LONGEST_LOOK_S = 8.0, 45.0
#: statements whose answers are shown, and how long people get to read one before results cover it
_TOLD, READ_S = ("REPLAY", "REPROCESS", "EXPLAIN"), 6.0
#: for the answers of all others
_QUIET = Console(io.StringIO(), tty=False)
_FROM_START = Settings({"auto.offset.reset": "earliest"})
#: a child exits when we exit, in any case: its standard input is a pipe from us
_ENDS_WITH_US = (
    "import os, signal, sys, threading; sys.path[:] = [p for p in sys.path if p]; "
    "end = lambda: (os.read(0, 1), os.kill(os.getpid(), signal.SIGTERM)); "
    "threading.Thread(target=end, daemon=True).start(); "
)
_DATAGEN = _ENDS_WITH_US + "from ksql_spark.datagen import main; sys.exit(main(sys.argv[1:]))"
_REGISTRY = _ENDS_WITH_US + ("from ksql_spark.tools.registry import main; sys.exit(main(sys.argv[1:]))")
_CONNECT = _ENDS_WITH_US + ("from ksql_spark.tools.connect import main; sys.exit(main(sys.argv[1:]))")
_PROGRAM = _ENDS_WITH_US + (
    "import runpy; sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__')"
)


class DemoProblem(Exception):
    """The demo cannot continue; the text is for the user."""


def main(argv: Sequence[str]) -> int:
    """Run a story until Ctrl-C (or for --seconds); without a name list all stories.

    Returns:
        The exit code: 0, 1 if something did not start, 2 for an unknown story or missing packages.
    """
    options = _parser().parse_args(argv)
    console = Console()
    try:
        if options.story is None:
            console.line(listing())
            return 0
        story = stories.load(options.story)
        check_packages(story)
    except StoryProblem as problem:
        print(f"ksql-spark demo: {problem}", file=sys.stderr)
        return 2
    # so that SIGTERM also cleans up
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with contextlib.ExitStack() as stack:
            return Demo(story, options, console, stack).run()
    except (DemoProblem, ClientError) as problem:
        console.clear_status()
        print(f"ksql-spark demo: {problem}", file=sys.stderr)
        return 1
    except Failure as failure:
        print(failure.located(str(story.file)), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 0


def listing() -> str:
    """All stories, one line each. Raises StoryProblem."""
    if not stories.names():
        raise StoryProblem(f"No stories found: the directory {stories.FOLDER} is only in the repository.")
    width = max(map(len, stories.names()))
    lines = [f"  {name.ljust(width)}  {stories.load(name).title}" for name in stories.names()]
    return "\n".join(["ksql-spark demo STORY runs one of these until Ctrl-C:", "", *lines])


def check_packages(story: Story) -> None:
    """Check that the packages that a story needs are installed. Raises StoryProblem."""
    needed = [
        package for module, package in story.packages.items() if importlib.util.find_spec(module) is None
    ]
    if needed:
        pip = install(*dict.fromkeys(needed))
        raise StoryProblem(
            f"'{story.name}' needs more Python packages. Install them, and start it again:\n  {pip}"
        )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="ksql-spark demo",
        description="Run an example story: start an engine in a temporary directory, generate events, run "
        "the story's statements and show their results live until Ctrl-C. The demo leaves nothing behind. "
        "Without a name, list the stories.",
    )
    parser.add_argument("story", metavar="STORY", nargs="?", help="the name of a story, for example taxi")
    parser.add_argument("--seconds", metavar="N", type=float, help="stop after N seconds of results")
    parser.add_argument("--server", metavar="URL", help="use this server instead of starting one")
    add_listeners(parser.add_argument_group("the engine that it starts"))
    return parser


class Demo:
    """One run. Everything that it starts is registered with ``stack``, which stops it in reverse order."""

    def __init__(
        self, story: Story, options: argparse.Namespace, console: Console, stack: contextlib.ExitStack
    ) -> None:
        self._story = story
        self._options = options
        self._console = console
        self._stack = stack
        self._children: list[tuple[str, subprocess.Popen[str]]] = []
        self._panels: list[Panel] = []
        self._printed: list[int] = []
        self._registry: str | None = None
        self._servers = ""
        self._folder = Path(tempfile.mkdtemp(prefix="ksql-spark-demo-"))
        stack.callback(shutil.rmtree, self._folder, ignore_errors=True)
        #: variables of statements and directives
        self._variables = {"folder": str(self._folder / "story")}
        (self._folder / "story").mkdir()
        self._ready_at = 0.0
        self._first_after_s: float | None = None
        #: programs that run before the engine starts
        self._early: list[Program] = []
        #: the things that the demo created on somebody else's server and must drop: name -> kind
        self._created: dict[str, str] = {}

    def run(self) -> int:
        """Start everything, and show results until the end."""
        client = self._connect()
        self._ready_at = time.monotonic()
        self._servers = _property(client, "bootstrap.servers")
        if self._options.server is not None:
            self._stack.callback(self._drop_all, client)
            if self._story.has_registry:
                self._registry = _property(client, "ksql.schema.registry.url")
        session = Session(client, _QUIET, variables=self._variables)
        for step in self._story.steps:
            match step:
                case Generate():
                    self._child(
                        _DATAGEN, step.arguments[0], [*step.arguments, *self._kafka()], step.is_awaited
                    )
                case Program() if step in self._early:
                    pass
                case Program():
                    self._child(_PROGRAM, step.file.name, self._arguments(step), step.is_awaited)
                case Show():
                    self._show(client, step)
                    if len(self._panels) == 1:
                        self._await_first()
                case Then():
                    self._look(client.url, LOOK_S, LONGEST_LOOK_S)
                    self._console.line(self._console.bold(step.text))
                case _:
                    self._statement(session, step)
            self._print_new()
        self._look(client.url, self._options.seconds)
        return 0

    # ---- what is started --------------------------------------------------------------------------------

    def _connect(self) -> Client:
        console = self._console
        if self._options.server is not None:
            client = Client(self._options.server)
        else:
            folder = self._folder
            # the story's first query warms up Spark
            properties = {"ksql.spark.warm.up.enabled": "false", **self._story.server}
            if self._story.has_registry:
                self._registry = properties["ksql.schema.registry.url"] = self._start_registry(folder)
            for step in self._story.steps:
                if isinstance(step, Program) and step.is_early:
                    self._early.append(step)
                    self._child(_PROGRAM, step.file.name, self._arguments(step), step.is_awaited)
            if self._story.connectors:
                install = ["install", "--data-dir", str(folder / "data"), *self._story.connectors]
                self._child(_CONNECT, "connectors", install, True)
                # a configured worker starts with the server, not with the first statement
                worker = folder / "worker.properties"
                # connectors that list their classes, so that the worker need not search all jars
                worker.write_text("plugin.discovery=service_load\n", encoding="utf-8")
                properties["ksql.connect.worker.config"] = str(worker)
            file = folder / "demo.properties"
            file.write_text(
                "".join(f"{name}={value}\n" for name, value in properties.items()), encoding="utf-8"
            )
            server = embedded.start(folder / "data", file, listener_settings(self._options))
            self._stack.callback(self._stop, server)
            url = server.wait_ready(console.status)
            console.clear_status()
            self._done(f"engine at {url}, ready in {server.ready_after_s:.1f} s")
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

    def _start_registry(self, folder: Path) -> str:
        """Start a schema registry; return its address."""
        process = self._popen(_REGISTRY, ["--data-dir", str(folder), "--port", "0"], stdout=subprocess.PIPE)
        assert process.stdout is not None
        url: list[str] = []

        def read(lines: io.TextIOBase | Any) -> None:
            for line in lines:
                if line.startswith("ksql.schema.registry.url="):
                    url.append(line.strip().partition("=")[2])

        threading.Thread(target=read, args=(process.stdout,), daemon=True).start()
        deadline = time.monotonic() + REGISTRY_S
        while not url:
            if process.poll() is not None or time.monotonic() > deadline:
                raise DemoProblem(f"The schema registry did not start: {_last_words(process)}")
            self._console.status("starting the schema registry")
            time.sleep(0.1)
        self._console.clear_status()
        self._children.append(("schema registry", process))
        self._done(f"schema registry at {url[0]}")
        return url[0]

    def _kafka(self) -> list[str]:
        return ["--bootstrap-servers", self._servers] if self._servers else []

    def _arguments(self, program: Program) -> list[str]:
        registry = ["--schema-registry", self._registry] if self._registry else []
        own = [statements.substitute(argument, self._variables) for argument in program.arguments]
        return [str(program.file), *own, *self._kafka(), *registry]

    def _child(self, code: str, name: str, arguments: Sequence[str], is_awaited: bool) -> None:
        """Start a generator or a program; wait for it if it is finite."""
        process = self._popen(code, arguments)
        self._children.append((name, process))
        if is_awaited:
            with self._console.busy(name, after_s=0):
                process.wait()
        self._check_children()
        self._done(f"{'wrote' if is_awaited else 'writing'} {name}" if code == _DATAGEN else name)

    def _popen(
        self, code: str, arguments: Sequence[str], stdout: int = subprocess.DEVNULL
    ) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", code, *arguments],
            stdin=subprocess.PIPE,
            stdout=stdout,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self._stack.callback(_end, process)
        return process

    def _check_children(self) -> None:
        for name, process in self._children:
            if process.poll():
                raise DemoProblem(f"{name} ended: {_last_words(process)}")

    def _statement(self, session: Session, part: grammar.StatementText) -> None:
        """Run a statement and show that it succeeded, and of some the answer; raises Failure."""
        first = part.text.split("\n")[0].split("(")[0].strip()
        is_told = part.verb in _TOLD
        session.console = self._console if is_told else _QUIET
        with contextlib.nullcontext() if is_told else self._console.busy(first, after_s=0):
            session.run(part)
        if is_told and self._console.tty:
            time.sleep(READ_S)
        if part.verb == "CREATE" and part.object in ("STREAM", "TABLE", "CONNECTOR", "SINK"):
            self._created[part.name] = part.object
        elif part.verb == "DROP":
            self._created.pop(part.name, None)
        self._done(first)

    def _drop_all(self, client: Client) -> None:
        """Drop what the story created on a server that we did not start, with topics, in reverse order."""
        for query in _queries_into(client, set(self._created)):
            with contextlib.suppress(ClientError):
                client.run(f"TERMINATE {query};")
        for name, kind in reversed(self._created.items()):
            with contextlib.suppress(ClientError):
                topic = " DELETE TOPIC" if kind in ("STREAM", "TABLE") else ""
                client.run(f"DROP {kind} IF EXISTS {statements.quoted_name(name)}{topic};")

    # ---- what is shown ----------------------------------------------------------------------------------

    def _done(self, text: str) -> None:
        self._console.line(f"{self._console.green('✓')} {text}")

    def _show(self, client: Client, show: Show) -> None:
        """Add a panel, and read its rows in a thread."""
        feed = Feed(show.key)
        self._panels.append(Panel(show.title, feed, show.bar))
        self._printed.append(0)
        if isinstance(show.source, Program):
            process = self._popen(_PROGRAM, self._arguments(show.source), stdout=subprocess.PIPE)
            self._children.append((show.source.file.name, process))
            self._thread(_read_lines, process, feed)
        elif any(piece.is_push for piece in grammar.split(show.source)):
            stream = client.query(show.source, _FROM_START)
            self._stack.callback(stream.close)
            self._thread(_read, stream, feed)
        else:
            over = threading.Event()
            self._stack.callback(over.set)
            self._thread(_pull, client, show.source, feed, over)

    def _await_first(self) -> None:
        """Wait a while for the first result: a query produces it sooner if no other one is starting."""
        deadline = time.monotonic() + FIRST_S
        (panel,) = self._panels
        with self._console.busy(panel.title, after_s=0):
            while not (panel.feed.total or panel.feed.problem) and time.monotonic() < deadline:
                time.sleep(0.05)
        self._check_children()

    @staticmethod
    def _thread(target: Any, *arguments: Any) -> None:
        threading.Thread(target=target, args=arguments, daemon=True).start()

    def _look(self, url: str, seconds: float | None, longest_s: float | None = None) -> None:
        """Show results: forever, or for some seconds.

        Args:
            url: the server's address.
            seconds: how long; None: until Ctrl-C.
            longest_s: if given, the seconds count from when every panel has rows; this is the overall limit.
        """
        began = time.monotonic()
        complete_at: float | None = None if longest_s is not None else began
        with self._picture() if self._console.tty else contextlib.nullcontext():
            while True:
                now = time.monotonic()
                if complete_at is None and all(panel.feed.total for panel in self._panels):
                    complete_at = now
                if seconds is not None and complete_at is not None and now - complete_at >= seconds:
                    return
                if longest_s is not None and now - began >= longest_s:
                    return
                self._check_children()
                if self._console.tty:
                    self._draw(url)
                else:
                    self._print_new()
                time.sleep(FRAME_S if self._console.tty else LINES_S)

    def _note_first(self) -> None:
        if self._first_after_s is None and any(panel.feed.total for panel in self._panels):
            self._first_after_s = time.monotonic() - self._ready_at
            self._done(f"first result {self._first_after_s:.1f} s after the engine was ready")

    @contextlib.contextmanager
    def _picture(self) -> Iterator[None]:
        """Use the terminal's alternate screen without a cursor; restore it afterwards."""
        sys.stdout.write("\x1b[?1049h\x1b[?25l\x1b[2J")
        try:
            yield
        finally:
            sys.stdout.write("\x1b[?25h\x1b[?1049l")
            sys.stdout.flush()

    def _draw(self, url: str) -> None:
        size = shutil.get_terminal_size((80, 24))
        console = self._console
        total = sum(panel.feed.total for panel in self._panels)
        lines = dashboard.screen(
            self._panels,
            (f"ksql-spark · {self._story.title.partition(':')[0]}", f"{total:,} results"),
            f"Ctrl-C ends · your own queries: ksql-spark {url}",
            size.columns,
            size.lines,
            console.bold,
            console.dim,
            console.cyan,
        )
        sys.stdout.write("\x1b[H" + "\x1b[K\r\n".join(lines) + "\x1b[K")
        sys.stdout.flush()

    def _print_new(self) -> None:
        """Print a line with the newest row of each panel, while there is no picture."""
        self._note_first()
        for index, panel in enumerate(self._panels):
            feed = panel.feed
            with feed.lock:
                row = feed.last[-1] if feed.last and feed.total > self._printed[index] else None
                self._printed[index] = feed.total
            if feed.problem and not self._console.tty:
                raise DemoProblem(f"{panel.title}: {feed.problem}")
            if row is not None:
                cells = ", ".join(f"{name}={dashboard.cell(name, value)}" for name, value in row.items())
                self._console.line(f"{panel.title}: {cells}")


def _property(client: Client, name: str) -> str:
    """A property of the server, from SHOW PROPERTIES. Raises DemoProblem."""
    for entity in client.run("SHOW PROPERTIES;"):
        for entry in entity.get("properties") or []:
            if str(entry.get("name", "")).removeprefix("ksql.streams.") == name and entry.get("value"):
                return str(entry["value"])
    raise DemoProblem(f"This story needs {name}, which the server's SHOW PROPERTIES lacks.")


def _queries_into(client: Client, sinks: set[str]) -> list[str]:
    """The ids of queries that INSERT INTO … SELECT has created for these streams."""
    with contextlib.suppress(ClientError):
        listed = [query for entity in client.run("SHOW QUERIES;") for query in entity.get("queries") or []]
        return [
            str(query["id"])
            for query in listed
            if str(query["id"]).startswith("INSERTQUERY") and sinks & set(query.get("sinks") or [])
        ]
    return []


def _rows(frames: Sequence[dict[str, Any]], names: list[str]) -> Iterator[tuple[dict[str, Any], bool]]:
    """The rows in frames, by column name, and whether they delete; ``names`` is filled from the header."""
    for frame in frames:
        if "header" in frame:
            names[:] = [column.name.upper() for column in columns_of(str(frame["header"].get("schema", "")))]
        elif "row" in frame:
            row = dict(zip(names, frame["row"].get("columns") or [], strict=False))
            yield row, bool(frame["row"].get("tombstone"))
        elif "errorMessage" in frame:
            raise ClientError(str(frame["errorMessage"].get("message")).splitlines()[0])


def _read(stream: FrameStream, feed: Feed) -> None:
    """Add a push query's rows to its feed until it ends (in a thread)."""
    names: list[str] = []
    try:
        while (frames := stream.read(1.0)) is not None:
            for row, is_deletion in _rows(frames, names):
                feed.add(row, is_deletion)
    except ClientError as error:
        feed.problem = str(error)


def _pull(client: Client, sql: str, feed: Feed, over: threading.Event) -> None:
    """Send a pull query each second (in a thread); a missing table is not an error."""
    while not over.wait(PULL_S):
        names: list[str] = []
        rows: list[dict[str, Any]] = []
        try:
            stream = client.query(sql)
            while (frames := stream.read(1.0)) is not None:
                rows += [row for row, _ in _rows(frames, names)]
            stream.close()
        except (ClientError, RuntimeError):  # RuntimeError: the client was closed
            continue
        if rows:
            feed.replace(rows)


def _read_lines(process: subprocess.Popen[str], feed: Feed) -> None:
    """Add the lines that a program prints to its feed (in a thread)."""
    assert process.stdout is not None
    with contextlib.suppress(ValueError):  # closed during a read
        for line in process.stdout:
            feed.add({"LINE": line.rstrip()})


def _last_words(process: subprocess.Popen[str]) -> str:
    if process.poll() is None:
        return "it took too long."
    assert process.stderr is not None
    return (process.stderr.read().strip().splitlines() or ["it gave no reason"])[-1]


def _end(process: subprocess.Popen[str]) -> None:
    with contextlib.suppress(OSError):
        if process.stdin:
            process.stdin.close()
    try:
        process.wait(timeout=10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    for pipe in (process.stdout, process.stderr):
        if pipe:
            with contextlib.suppress(OSError, ValueError):
                pipe.close()
