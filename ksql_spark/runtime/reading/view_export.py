"""``python view_export.py VIEW CSV all|keys``: write rows of a view to a CSV file.

It runs as a separate process with low priority: in the server, exporting a million rows would block lookups
on the interpreter lock. With ``keys``, it reads the keys from standard input, one per line in hexadecimal.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path

_SQL = "SELECT hex(coalesce(written, key)), hex(value), time, window_start, window_end FROM entry"
_PAGE_ROWS = 10_000


def main(view: str, csv: str, which: str) -> None:
    """Write the file."""
    with contextlib.suppress(OSError):  # may not be permitted; it only matters on a busy machine
        os.nice(10)
    uri = f"{Path(view).absolute().as_uri()}?mode=ro"
    with (
        contextlib.closing(sqlite3.connect(uri, uri=True, timeout=30)) as db,
        open(csv, "w", encoding="ascii") as file,
    ):
        for cursor in _reads(db, which):
            while rows := cursor.fetchmany(_PAGE_ROWS):
                file.writelines(f"{k},{v},{t},{start},{end}\n" for k, v, t, start, end in rows)


def _reads(db: sqlite3.Connection, which: str) -> Iterator[sqlite3.Cursor]:
    if which == "all":
        yield db.execute(_SQL)
        return
    for line in sys.stdin:
        yield db.execute(f"{_SQL} WHERE key = ?", (bytes.fromhex(line),))


if __name__ == "__main__":
    main(*sys.argv[1:])
