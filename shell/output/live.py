"""A table of a push query's rows that updates in place: the latest row of each key."""

from __future__ import annotations

import io
import re
import time
from collections.abc import Mapping, Sequence
from typing import Any

from ksql_spark.shell.output.console import Console
from ksql_spark.shell.output.rows import Column, RowPrinter
from ksql_spark.shell.output.text import json_text

#: how long a changed cell is marked
MARKED_S = 1.0
#: how many keys are kept; without a key, how many rows
MOST_ROWS = 10_000
#: lines of a table beside its rows
FRAME_LINES = 4


_READS_TABLE = re.compile(r"\[ TRANSIENT SELECT \][^\n]*\n\s*> \[ TABLE")
_KEY = re.compile(r"\bKey: ([^|\n]*)")


def key_of(description: Mapping[str, Any]) -> list[str]:
    """The key of a push query's result, from its EXPLAIN; [] if the result is no table, or lacks its key.

    >>> plan = " > [ TRANSIENT SELECT ] | x\\n   > [ TABLE SCAN ] | Key: K | y"
    >>> key_of({"executionPlan": plan, "fields": [{"name": "K"}, {"name": "N"}]})
    ['K']
    """
    plan = str(description.get("executionPlan") or "")
    if not _READS_TABLE.search(plan):
        return []
    match = _KEY.search(plan)
    key = [name.strip().strip("`") for name in match[1].split(", ")] if match else []
    if description.get("windowType") or "| Window: " in plan:
        key.append("WINDOWSTART")
    selected = {one.get("name") for one in description.get("fields") or []}
    return key if set(key) <= selected else []


class LiveTable:
    """The rows to show.

    Args:
        columns: the columns of the header frame.
        key: the names of those that make the key; without a key, every row is shown.
    """

    def __init__(self, columns: Sequence[Column], key: Sequence[str] = ()) -> None:
        self._columns = columns
        self._keys = [index for index, column in enumerate(columns) if column.name in key]
        #: key -> values, and when each was changed; in the order of arrival of the keys
        self._rows: dict[str, tuple[list[Any], list[float]]] = {}
        self._count = 0

    def __len__(self) -> int:
        return len(self._rows)

    def take(self, rows: Sequence[Mapping[str, Any]], now: float | None = None) -> None:
        """Apply row frames; a tombstone removes its key."""
        now = time.monotonic() if now is None else now
        for row in rows:
            values = list(row.get("columns") or [])
            self._count += 1
            key = json_text([values[index] for index in self._keys]) if self._keys else str(self._count)
            if row.get("tombstone"):
                self._rows.pop(key, None)
                continue
            before = self._rows.get(key)
            if before is None:
                changed = [now if self._keys else 0.0] * len(values)
                if len(self._rows) >= MOST_ROWS:
                    del self._rows[next(iter(self._rows))]
            else:
                changed = [
                    at if old == new else now
                    for old, new, at in zip(before[0], values, before[1], strict=True)
                ]
            self._rows[key] = (values, changed)

    def text(self, console: Console, height: int, now: float | None = None) -> str:
        """The table in at most ``height`` lines: if there are more keys, the keys that changed last."""
        now = time.monotonic() if now is None else now
        room = max(1, height - FRAME_LINES)
        shown = list(self._rows.items())
        if len(shown) > room:
            order = {key: number for number, key in enumerate(self._rows)}
            latest = sorted(shown, key=lambda item: (max(item[1][1], default=0.0), order[item[0]]))[-room:]
            shown = sorted(latest, key=lambda item: order[item[0]])
        frames = [
            {
                "columns": values,
                "changed": {index for index, at in enumerate(changed) if at and now - at < MARKED_S},
            }
            for values, (_, changed) in ((row[0], row) for _, row in shown)
        ]
        out = io.StringIO()
        page = Console(out, tty=console.tty, columns=console.columns)
        page.lines, page.colours, page.is_light, page.wrap = (
            console.lines, console.colours, console.is_light, False,
        )  # fmt: skip
        page.in_zone, page.thousands = console.in_zone, console.thousands
        printer = RowPrinter(page, self._columns, frames, more=False)
        printer.header()
        printer.rows(frames)
        printer.footer()
        return out.getvalue()
