"""The shell: from key press to screen, live tables, and how soon it is ready.

    python bench/shell.py [--only keys,live,ready]

Each part has a stub in place of the server, so only the shell is measured. Times are those of the clock; of a
key press also how much of it the shell waited for a processor that others had, and how long it used one.

Targets: a key press is on the screen within 20 ms, with 1,000 sources of 50 columns; a live table takes 5,000
changes/s with at least 10 frames/s, and Ctrl-C ends it within 100 ms; the shell is ready within 0.4 s.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import pty
import queue
import select
import statistics
import sys
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, cast

from prompt_toolkit.data_structures import Size
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output.vt100 import Vt100_Output

from ksql_spark.client import FrameStream
from ksql_spark.shell.client import Client
from ksql_spark.shell.commands.command import Context
from ksql_spark.shell.output.console import Console
from ksql_spark.shell.prompt.live import LiveQuery
from ksql_spark.shell.prompt.metadata import Metadata, MetadataCache
from ksql_spark.shell.prompt.repl import Repl
from ksql_spark.shell.session import QueryView, Session

SOURCES, COLUMNS = 1000, 50
ROUNDS = 30
CHANGES_PER_S, KEYS, LIVE_S = 5000, 1000, 5.0
INPUT = (
    f"SELECT a.COLUMN_1, b.COLUMN_2 FROM SOURCE_1 a JOIN SOURCE_{SOURCES - 1} b ON a.COLUMN_1 = b.COLUMN_1 "
)
SIZE = Size(rows=24, columns=80)


def terminal(screen: io.StringIO | None = None) -> Vt100_Output:
    """A terminal that nobody sees, and what is written to it."""
    return Vt100_Output(screen or io.StringIO(), lambda: SIZE, term="xterm-256color", enable_cpr=False)


def quiet() -> Console:
    """A console that nobody sees."""
    return Console(io.StringIO(), tty=True, columns=SIZE.columns)


def many_sources() -> Metadata:
    """What the shell knows of a server with many sources."""
    names = [f"SOURCE_{number}" for number in range(SOURCES)]
    columns = tuple(f"COLUMN_{number}" for number in range(COLUMNS))
    schema = {column: {"type": "STRING"} for column in columns}
    return Metadata(
        streams=dict.fromkeys(names[: SOURCES // 2], columns),
        tables=dict.fromkeys(names[SOURCES // 2 :], columns),
        functions=tuple(f"FUNCTION_{number}" for number in range(200)),
        schemas=dict.fromkeys(names, schema),
        keys=dict.fromkeys(names, ("COLUMN_0",)),
    )


def now() -> tuple[float, float, float]:
    """The clock, how long the main thread has waited for a processor, and how long it has used one, in ms."""
    used, waited, _ = Path(f"/proc/self/task/{os.getpid()}/schedstat").read_text().split()
    return time.perf_counter() * 1e3, int(waited) / 1e6, int(used) / 1e6


def keys() -> None:
    """Key presses at the prompt: a letter, and Tab with its menu."""
    stub = cast(Client, None)
    cache = MetadataCache(stub)
    cache.current = many_sources()
    _ = cache.current.columns, cache.current.column_types  # as the thread that fetches does
    cache.refresh = lambda: None  # type: ignore[method-assign]
    session = Session(stub, quiet())
    screen = io.StringIO()
    #: when a picture was drawn, and how long the screen's text is with it
    drawn: queue.Queue[tuple[tuple[float, float, float], int]] = queue.Queue()
    times: dict[str, list[tuple[float, ...]]] = {"a letter": [], "Tab, and the menu": []}
    with create_pipe_input() as given:
        repl = Repl(Context(session), cache, input=given, output=terminal(screen))
        app = repl._prompt.app
        app.after_render += lambda _: drawn.put((now(), screen.tell()))

        def pressed(keys: str, shows: str) -> tuple[float, ...]:
            """How long it takes until ``shows`` is on the screen."""
            with contextlib.suppress(queue.Empty):
                while True:
                    drawn.get(timeout=0.1)
            start = screen.tell()
            began = now()
            given.send_text(keys)
            while True:
                ended, end = drawn.get(timeout=60)
                if shows in screen.getvalue()[start:end]:
                    return tuple(after - before for before, after in zip(began, ended, strict=True))

        def work() -> None:
            pressed(INPUT, "")
            for _ in range(ROUNDS):
                times["a letter"].append(pressed("C", "C"))
                times["Tab, and the menu"].append(pressed("\t", "COLUMN_5"))
                pressed("\x15", "")  # Ctrl-U
                pressed(INPUT, "")
            given.send_text("\x15\x04")

        worker = threading.Thread(target=work)
        worker.start()
        repl.run()
        worker.join()
    for name, taken in times.items():
        for what, of_all in (("median", statistics.median), ("greatest", max)):
            wall, waited, used = (of_all(figures) for figures in zip(*taken, strict=True))
            alone = of_all([one[0] - one[1] for one in taken])
            print(
                f"{name}, {what}: {wall:.1f} ms, of which {waited:.1f} ms waiting for a processor; "
                f"{used:.1f} ms of processor time; {alone:.1f} ms without the waiting"
            )


class Changes:
    """A push query whose table changes all the time."""

    def __init__(self) -> None:
        self._began = time.perf_counter()
        self._sent = -1
        self.closed_at = 0.0

    def read(self, timeout_s: float) -> list[dict[str, Any]]:
        """As FrameStream.read."""
        due = int((time.perf_counter() - self._began) * CHANGES_PER_S)
        frames: list[dict[str, Any]] = []
        if self._sent < 0:
            self._sent = 0
            frames.append({"header": {"schema": "`K` STRING KEY, `N` BIGINT, `X` DOUBLE"}})
        for number in range(self._sent, due):
            frames.append({"row": {"columns": [f"key {number % KEYS}", number, number / 7]}})
        self._sent = max(self._sent, due)
        return frames

    def close(self) -> None:
        """As FrameStream.close."""


def live() -> None:
    """A live table, bars and lines of 1,000 keys, and Ctrl-C."""
    for key, name in (("t", "table"), ("c", "bars"), ("cc", "lines")):
        session = Session(cast(Client, None), quiet())
        stream, view = Changes(), QueryView(session.console, True, "")
        view.early = []
        frames: list[float] = []
        pressed = 0.0
        with create_pipe_input() as given:
            query = LiveQuery(session, cast(FrameStream, stream), view, ["K"], given, terminal())
            query._app.after_render += lambda _, frames=frames: frames.append(time.perf_counter())

            def work(send: Callable[[str], None] = given.send_text, keys: str = key) -> None:
                nonlocal pressed
                send(keys)
                time.sleep(LIVE_S)
                pressed = time.perf_counter()
                send("\x03")

            worker = threading.Thread(target=work)
            worker.start()
            cpu = time.process_time()
            try:
                query.run()
            except KeyboardInterrupt:
                ended = time.perf_counter()
            worker.join()
            cpu = time.process_time() - cpu
        print(
            f"live {name}: {view.count / LIVE_S:,.0f} changes/s, {len(frames) / LIVE_S:.1f} frames/s, "
            f"{cpu / LIVE_S:.0%} of a core, Ctrl-C after {(ended - pressed) * 1000:.0f} ms"
        )


class Answers(BaseHTTPRequestHandler):
    """A server that has nothing."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """GET /info."""
        self._answer({"KsqlServerInfo": {"version": "0", "kafkaClusterId": "", "serverStatus": "RUNNING"}})

    def do_POST(self) -> None:
        """POST /ksql."""
        self.rfile.read(int(self.headers["Content-Length"]))
        self._answer([])

    def _answer(self, body: object) -> None:
        content = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


def ready() -> None:
    """From the start of the process to the prompt."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}"
    code = "import sys; from ksql_spark.shell.main import main; sys.exit(main())"
    taken = []
    for _ in range(5):
        began = time.perf_counter()
        before = sum(os.times()[2:4])
        pid, screen = pty.fork()
        if pid == 0:
            os.environ |= {"TERM": "xterm", "KSQL_HISTORY": os.devnull}
            os.execv(sys.executable, [sys.executable, "-c", code, url])
        seen = b""
        while b"ksql> " not in seen and select.select([screen], [], [], 60)[0]:
            more = os.read(screen, 65536)
            seen += more
            if b"\x1b[6n" in more:  # where is the cursor?
                os.write(screen, b"\x1b[1;1R")
        wall = time.perf_counter() - began
        os.write(screen, b"\x04")
        os.waitpid(pid, 0)
        os.close(screen)
        taken.append((wall, sum(os.times()[2:4]) - before))
    wall_s, cpu_s = (min(one[which] for one in taken) for which in (0, 1))
    print(f"ready: {wall_s:.2f} s ({cpu_s:.2f} s with its end), the best of {len(taken)}")
    server.shutdown()


PARTS = {"keys": keys, "live": live, "ready": ready}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", default=",".join(PARTS), help="parts, separated by commas")
    for name in parser.parse_args().only.split(","):
        PARTS[name]()


if __name__ == "__main__":
    main()
