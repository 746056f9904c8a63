"""Draws the pictures of the shell in docs/how-to from a session in tmux: python docs/pictures.py URL.

It needs tmux, rich (pip install rich), and a server with the stream ORDERS of `ksql-spark datagen orders` and a
table over it:

    CREATE TABLE by_state AS SELECT address->state AS state, COUNT(*) AS n, SUM(orderunits) AS units
      FROM orders GROUP BY address->state EMIT CHANGES;
"""

from __future__ import annotations

import io
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

FOLDER = Path(__file__).parent / "how-to" / "pictures"
COLUMNS, LINES = 100, 24
SOON_S = 120.0
QUERY = "SELECT state, n, units FROM by_state EMIT CHANGES;"
#: picture -> keys as tmux names them (text begins with "="), and a pattern of the screen when they have worked
STEPS: Sequence[tuple[str, Sequence[str], str]] = (
    ("", (), r"running · [1-9]"),
    ("completion", ("=SELECT * FROM ", "Tab"), "ORDERS"),
    ("", ("C-c", "C-l", f"={QUERY}", "Enter"), "│ State_"),
    ("log", (), "t table"),
    ("live-table", ("t",), "t log"),
    ("live-bars", ("c",), "▇▇"),
    ("live-lines", ("c",), "seconds"),
    ("", ("q",), "Query terminated"),
    ("", ("C-l", "=\\top", "Enter"), "q end"),
    ("top", ("s", "s", "s"), "▼"),
    ("top-query", ("Enter",), "└─"),
    ("", ("q", "q"), "last"),
    ("explain", ("C-l", "=EXPLAIN CTAS_BY_STATE_1;", "Enter"), "└─"),
)


def tmux(*arguments: str) -> str:
    """Run a command of our own tmux server; return what it prints."""
    command = ["tmux", "-L", "ksql-spark-pictures", "-f", "/dev/null", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def wait(text: str) -> str:
    """The screen, with its colors, once it has the pattern ``text``."""
    deadline = time.monotonic() + SOON_S
    for pause_s in (0, 1):  # the second look is for what comes with it
        time.sleep(pause_s)
        while not re.search(text, tmux("capture-pane", "-p")):
            if time.monotonic() > deadline:
                raise SystemExit(f"'{text}' is not on the screen:\n{tmux('capture-pane', '-p')}")
            time.sleep(0.1)
    return tmux("capture-pane", "-p", "-e")


def draw(name: str, screen: str) -> None:
    """Write a screen as SVG."""
    console = Console(width=COLUMNS, record=True, file=io.StringIO(), force_terminal=True)
    console.print(Text.from_ansi(screen.rstrip("\n")), no_wrap=True, overflow="crop")
    FOLDER.mkdir(exist_ok=True)
    console.save_svg(str(FOLDER / f"{name}.svg"), title="ksql-spark", unique_id=f"ksql-spark-{name}")


def main(url: str) -> None:
    """Type, and draw what is on the screen."""
    code = "import sys; from ksql_spark.shell.main import main; sys.exit(main())"
    size = ("-x", str(COLUMNS), "-y", str(LINES))
    tmux("new-session", "-d", *size, "-e", "KSQL_HISTORY=/dev/null", "--", sys.executable, "-c", code, url)
    try:
        for name, keys, sign in STEPS:
            for key in keys:
                # tmux takes a last semicolon for its own
                text = key[1:-1] + "\\;" if key.endswith(";") else key[1:]
                tmux("send-keys", *(("-l", text) if key[0] == "=" else (key,)))
            screen = wait(sign)
            if name:
                draw(name, screen)
    finally:
        tmux("kill-server")


if __name__ == "__main__":
    main(sys.argv[1])
