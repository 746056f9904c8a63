"""The shell in a real pseudo-terminal: typing, completion, the pager, a live view, Ctrl-C."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import select
import signal
import struct
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from fake_engine import FakeEngine, FakeStream
from live_server import LiveServer

from ksql_spark.engine import ResultColumn, Row

SOON_S = 120
_CODE = "import sys; from ksql_spark.shell.main import main; sys.exit(main())"
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]")


class Terminal:
    """A shell on a pseudo-terminal of 24 lines and 80 columns."""

    def __init__(self, url: str, home: Path, **environment: str) -> None:
        self.pid, self._screen = pty.fork()
        if self.pid == 0:
            os.environ.update(TERM="xterm", HOME=str(home), LANG="C.UTF-8", **environment)
            os.environ.pop("NO_COLOR", None)
            os.environ.pop("KSQL_HISTORY", None)
            os.execv(sys.executable, [sys.executable, "-c", _CODE, url])
        size(self._screen)
        self.seen = ""

    def type(self, keys: str) -> None:
        os.write(self._screen, keys.encode())

    def expect(self, text: str) -> str:
        """What was printed since the last call, up to ``text``, without colors and cursor movements."""
        deadline = time.monotonic() + SOON_S
        while text not in self.seen:
            assert time.monotonic() < deadline, f"{text!r} is not in {self.seen!r}"
            if select.select([self._screen], [], [], 1)[0]:
                try:
                    more = os.read(self._screen, 65536)
                except OSError:
                    more = b""
                assert more, f"the shell ended after {self.seen!r}"
                if b"\x1b[6n" in more:  # where is the cursor?
                    self.type("\x1b[1;1R")
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


@pytest.fixture
def terminal(server: LiveServer, tmp_path: Path) -> Iterator[Terminal]:
    made = Terminal(server.url, tmp_path, PAGER=f"sh -c 'cat > {tmp_path}/paged; echo PAGED'")
    try:
        yield made
    finally:
        made.close()


def test_a_session(terminal: Terminal, engine: FakeEngine, tmp_path: Path) -> None:
    columns = [ResultColumn("K", "STRING", True), ResultColumn("N", "INTEGER")]
    terminal.expect("Type help for help")
    terminal.expect("running")
    while "DESCRIBE FUNCTION" not in engine.requests[-1].text:  # the last that completion asks for
        time.sleep(0.1)
    time.sleep(1)
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
    # a live view: log, table, end
    stream = engine.next_stream = FakeStream("PUSH", columns, [Row(["a", 1])], ends=False)
    terminal.type("SELECT * FROM RIDES EMIT CHANGES;\r")
    terminal.expect("rows/s")
    terminal.type("t")
    terminal.expect("keys")
    stream.rows.put(Row(["b", 22]))
    terminal.expect("22")
    terminal.type("\x03")
    terminal.expect("Query terminated (2 rows, ")
    assert stream.closed.wait(SOON_S)
    terminal.type("quit\r")
    terminal.expect("Exiting ksql-spark.")
