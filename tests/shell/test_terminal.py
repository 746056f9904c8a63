"""The shell in a real pseudo-terminal: typing, completion, paste, resize, each view, a lost server."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import select
import signal
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from prompt_toolkit.utils import get_cwidth

from ksql_spark.engine import ResultColumn, Row
from tests.server.fake_engine import FakeEngine, FakeStream
from tests.server.live_server import LiveServer
from tests.waiting import until

SOON_S = 120
_CODE = "import sys; from ksql_spark.shell.main import main; sys.exit(main())"
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]|\x1b\]0;[^\x07]*\x07")
_COLOUR = re.compile(r"\x1b\[[0-9;]*3[0-9][0-9;]*m")
COLUMNS = [ResultColumn("K", "STRING", True), ResultColumn("N", "INTEGER")]


class Terminal:
    """A shell on a pseudo-terminal of 24 lines."""

    def __init__(self, url: str, home: Path, *options: str, columns: int = 80, **environment: str) -> None:
        self.pid, self._screen = pty.fork()
        if self.pid == 0:
            ours = ("NO_COLOR", "KSQL_HISTORY", "COLUMNS", "LINES", "COLORFGBG")
            kept = {name: value for name, value in os.environ.items() if name not in ours}
            settings = {"TERM": "xterm", "HOME": str(home), "LANG": "C.UTF-8", **environment}
            os.chdir(home)
            signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
            os.execve(sys.executable, [sys.executable, "-c", _CODE, url, *options], kept | settings)
        self.resize(columns)
        self.seen = ""
        #: all that was printed, with colors and cursor movements
        self.raw = ""

    def resize(self, columns: int) -> None:
        self._columns, self._is_narrower = columns, False
        size(self._screen, columns=columns)

    def type(self, keys: str) -> None:
        os.write(self._screen, keys.encode())

    def expect(self, text: str) -> str:
        """What was printed since the last call, up to ``text``, without colors and cursor movements."""
        deadline, redrawn = time.monotonic() + SOON_S, time.monotonic()
        while text not in self.seen:
            assert time.monotonic() < deadline, f"{text!r} is not in {self.seen!r}"
            if time.monotonic() > redrawn + 1:
                # only what had changed was drawn: let all be drawn anew
                redrawn, self._is_narrower = time.monotonic(), not self._is_narrower
                size(self._screen, columns=self._columns - self._is_narrower)
            if select.select([self._screen], [], [], 0.5)[0]:
                try:
                    more = os.read(self._screen, 65536)
                except OSError:
                    more = b""
                assert more, f"the shell ended after {self.seen!r}"
                if b"\x1b[6n" in more:  # where is the cursor?
                    self.type("\x1b[1;1R")
                self.raw += more.decode(errors="replace")
                self.seen = _ESCAPES.sub("", self.seen + more.decode(errors="replace"))
        found, _, self.seen = self.seen.partition(text)
        return found

    def close(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self._screen)


def size(screen: int, lines: int = 24, columns: int = 80) -> None:
    import fcntl
    import termios

    fcntl.ioctl(screen, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))


class Proxy:
    """A port before a server, so that a test can cut the connections and let them through again."""

    def __init__(self, port: int) -> None:
        self._to = port
        self._sockets: list[socket.socket] = []
        self.port = 0
        self.open()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def open(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", self.port))
        self.port = self._listener.getsockname()[1]
        self._sockets = [self._listener]
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def cut(self) -> None:
        for one in self._sockets:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def _accept(self, listener: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                here, _ = listener.accept()
                there = socket.create_connection(("127.0.0.1", self._to))
                self._sockets += (here, there)
                for pair in ((here, there), (there, here)):
                    threading.Thread(target=self._copy, args=pair, daemon=True).start()

    def _copy(self, source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)


class Continued(FakeStream):
    """A push query that returns continuation tokens."""

    continuation = "token"  # type: ignore[assignment]


@pytest.fixture
def proxy(server: LiveServer) -> Iterator[Proxy]:
    made = Proxy(server.port)
    yield made
    made.cut()


@pytest.fixture
def start(server: LiveServer, tmp_path: Path) -> Iterator[Callable[..., Terminal]]:
    """Starts a shell and waits until it has greeted the server."""
    started: list[Terminal] = []

    def start(*options: str, url: str = server.url, **given: object) -> Terminal:
        started.append(Terminal(url, tmp_path, *options, **given))  # type: ignore[arg-type]
        started[-1].expect("Server Status: RUNNING")
        return started[-1]

    yield start
    for one in started:
        one.close()


@pytest.fixture
def terminal(server: LiveServer, tmp_path: Path) -> Iterator[Terminal]:
    made = Terminal(server.url, tmp_path, PAGER=f"sh -c 'cat > {tmp_path}/paged; echo PAGED'")
    try:
        yield made
    finally:
        made.close()


def test_a_session(terminal: Terminal, engine: FakeEngine, tmp_path: Path) -> None:
    terminal.expect("Type help for help")
    terminal.expect("running")
    until(lambda: "DESCRIBE FUNCTION" in engine.requests[-1].text)  # the last that completion asks for
    time.sleep(1)  # nothing on the screen shows that the answer has come
    # completion, and what a query says at its end
    terminal.type("SELECT * FROM RID\t")
    terminal.expect("ES")
    terminal.type(";\r")
    terminal.expect("Query terminated (2 rows, ")
    assert "SELECT * FROM RIDES;" in [request.text for request in engine.requests]
    # a pager for what is longer than the screen
    terminal.type("help\r")
    terminal.expect("PAGED")
    assert "Commands" in (tmp_path / "paged").read_text()
    # none while typed or pasted statements wait: it would take them as its keys
    (tmp_path / "paged").unlink()
    terminal.type("help\rhelp\rSELECT * FROM RIDES;\r")
    terminal.expect("Query terminated (2 rows, ")
    assert not (tmp_path / "paged").exists()
    # a live view: log, table, end
    stream = engine.next_stream = FakeStream("PUSH", COLUMNS, [Row(["a", 1])], ends=False)
    terminal.type("SELECT * FROM RIDES EMIT CHANGES;\r")
    terminal.expect("rows/s")
    terminal.type("t")
    terminal.expect("t log")
    stream.rows.put(Row(["b", 471123]))
    terminal.expect("471123")
    terminal.type("\x03")
    terminal.expect("Query terminated (2 rows, ")
    assert stream.closed.wait(SOON_S)
    terminal.type("quit\r")
    terminal.expect("Exiting ksql-spark.")


Start = Callable[..., Terminal]


def test_live_views(start: Start, engine: FakeEngine, tmp_path: Path) -> None:
    shell = start()
    stream = engine.next_stream = FakeStream("PUSH", COLUMNS, [Row(["a", 1])], ends=False)
    shell.type("SELECT * FROM RIDES EMIT CHANGES;\r")
    shell.expect("│ a ")
    shell.expect("rows/s")
    shell.type("t")
    shell.expect("1 row ·")
    shell.expect("t log")
    shell.type("c")
    shell.expect("seconds")  # lines: the result has no key
    shell.type("p")
    shell.expect("paused")
    stream.rows.put(Row(["b", 77123]))
    shell.type("p")
    shell.expect("2 rows")
    shell.type("w")
    shell.expect("2 rows written to")
    shell.type("t")
    shell.expect("77123")
    # narrower while it runs
    shell.resize(40)
    stream.rows.put(Row(["c", 88123]))
    shell.expect("88123")
    shell.expect("┘")
    shell.type("q")
    shell.expect("Query terminated (3 rows, ")
    assert stream.closed.wait(SOON_S)
    (written,) = tmp_path.glob("ksql-spark-*.csv")
    assert written.read_text() == "K,N\na,1\nb,77123\n"


def test_what_is_typed_during_a_query_runs_after_it(start: Start, engine: FakeEngine) -> None:
    shell = start()
    stream = engine.next_stream = FakeStream("PUSH", COLUMNS, [Row(["a", 1])], ends=False)
    shell.type("SELECT * FROM RIDES EMIT CHANGES;\r")
    shell.expect("rows/s")
    shell.type("print")
    shell.expect("ksql> print   Ctrl-C ends the query")
    shell.type(" TOPICS;\r")
    shell.type("\x03")
    assert stream.closed.wait(SOON_S)
    until(lambda: any(request.text == "print TOPICS;" for request in engine.requests))


def test_ctrl_c_keeps_what_was_typed(start: Start, engine: FakeEngine) -> None:
    shell = start()
    stream = engine.next_stream = FakeStream(
        "PRINT", [ResultColumn("LINE", "STRING")], [Row(["rowtime: 1"])], ends=False
    )
    shell.type("PRINT topic;\r")
    shell.expect("rowtime: 1")
    shell.type("SHOW TOPICS;\r\x03")
    assert stream.closed.wait(SOON_S)
    shell.expect("Partition Replicas")


def test_the_terminal_never_echoes(start: Start) -> None:
    import termios

    shell = start()
    is_over = threading.Event()
    modes: set[bool] = set()

    def look() -> None:
        while not is_over.is_set():
            modes.add(bool(termios.tcgetattr(shell._screen)[3] & termios.ECHO))

    shell.expect("ksql> ")
    looking = threading.Thread(target=look)
    looking.start()
    for _ in range(10):
        shell.type("SHOW TOPICS;\r")
        shell.expect("Partition Replicas")
    is_over.set()
    looking.join()
    assert modes == {False}


def test_top_and_a_plan(start: Start) -> None:
    shell = start()
    shell.type("\\top\r")
    shell.expect("BIG_1: It falls behind.")
    shell.expect("q end")
    shell.type("\r")
    shell.expect("BIG_1 · RUNNING")
    shell.expect("Esc back")
    shell.type("e")
    shell.expect("late 1")
    shell.type("\x1b")
    shell.expect("q end")
    shell.type("t")
    shell.expect("Terminate BIG_1 and remove its state?")
    shell.type("nq")
    shell.expect("ksql> ")
    shell.type("EXPLAIN SELECT * FROM RIDES;\r")
    shell.expect("a plan")


def test_a_server_that_is_lost_during_a_push_query(start: Start, proxy: Proxy, engine: FakeEngine) -> None:
    shell = start(url=proxy.url)
    stream = engine.next_stream = Continued("PUSH", COLUMNS, [Row(["a", 1])], ends=False)
    shell.type("SELECT * FROM RIDES EMIT CHANGES;\r")
    shell.expect("│ a ")
    shell.expect("rows/s")
    proxy.cut()
    shell.expect("The server is lost; the query resumes when it is back.")
    assert stream.closed.wait(SOON_S)
    engine.next_stream = Continued("PUSH", COLUMNS, [Row(["b", 2])], ends=False)
    proxy.open()
    shell.expect("The server is back; the query goes on where it stopped.")
    shell.expect("│ b ")
    assert engine.requests[-1].continuation_token == "token"
    shell.type("\x03")
    shell.expect("Query terminated (2 rows, ")


def test_a_server_that_is_lost_at_the_prompt(start: Start, proxy: Proxy) -> None:
    shell = start(url=proxy.url)
    shell.expect("running")
    proxy.cut()
    shell.expect(f"Lost the server at {proxy.url}.")
    shell.type("SHOW TOPICS;\r")
    shell.expect("No server answers at")
    proxy.open()
    shell.expect(f"The server at {proxy.url} is back.")
    shell.type("SHOW TOPICS;\r")
    shell.expect("Partition Replicas")


def test_500_lines_are_pasted_as_one(start: Start, engine: FakeEngine) -> None:
    shell = start()
    lines = [f"INSERT INTO RIDES (K, N) VALUES ('key', {number});" for number in range(500)]
    before = len(shell.raw)
    shell.type("\x1b[200~" + "\n".join(lines) + "\x1b[201~")
    shell.expect("499);")
    assert len(shell.raw) - before < 100_000, "the screen is drawn once, not with each line"
    shell.type("\r")
    shell.expect("500 rows inserted into RIDES")
    assert [one.text for one in engine.requests if one.text.startswith("INSERT")] == lines


def test_ctrl_c_discards_what_was_typed(start: Start, engine: FakeEngine) -> None:
    shell = start()
    shell.expect("ksql> ")
    shell.type("SELECT * FROM NOWHERE")
    shell.expect("NOWHERE")
    shell.type("\x03")
    shell.expect("^C")
    shell.type("SHOW TOPICS;\r")
    shell.expect("Partition Replicas")
    assert not any("NOWHERE" in request.text for request in engine.requests)
    shell.expect("ksql> ")  # between prompts, the terminal would take Ctrl-D for itself
    shell.type("\x04")
    shell.expect("Exiting ksql-spark.")


@pytest.mark.parametrize("columns", [40, 300])
def test_the_width_of_the_terminal(columns: int, start: Start, engine: FakeEngine) -> None:
    shell = start(columns=columns)
    wide = [ResultColumn(name, "STRING") for name in ("CITY", "VEHICLE")]
    rows = [Row(["東京都", "🚕 taxi"]), Row(["Zürich " * 9, "e\u0301"])]
    engine.next_stream = FakeStream("PULL", wide, rows)
    shell.type("SELECT * FROM RIDES;\r")
    shell.expect("┌")
    table = "┌" + shell.expect("Query terminated")
    lines = table.replace("\r", "").strip().split("\n")
    assert len({get_cwidth(line) for line in lines}) == 1, table
    assert get_cwidth(lines[0]) <= columns
    assert "🚕 taxi" in table


@pytest.mark.parametrize("options", [(), ("--plain",)])
def test_without_colours(options: tuple[str, ...], start: Start, engine: FakeEngine) -> None:
    shell = start(*options, NO_COLOR="1")
    stream = engine.next_stream = FakeStream("PUSH", COLUMNS, [Row(["a", 1])], ends=False)
    shell.type("SELECT * FROM RIDES EMIT CHANGES;\r")
    shell.expect("K: a" if options else "│ a ")
    shell.type("\x03")
    shell.expect("Query terminated")
    assert stream.closed.wait(SOON_S)
    assert not _COLOUR.search(shell.raw), shell.raw
    assert ("rows/s" in _ESCAPES.sub("", shell.raw)) <= (not options)


def test_a_dumb_terminal(start: Start) -> None:
    shell = start(TERM="dumb")
    shell.type("SHOW TOPICS;\r")
    shell.expect("Partition Replicas")
    shell.type("exit\r")
    shell.expect("Exiting ksql-spark.")
    assert "\x1b[3" not in shell.raw
