"""The demo's screen: panels of live results as lines of text. It is pure: frames in, lines out."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from ksql_spark.shell.output.text import clip, pad, value_text, width

BAR = "█▏▎▍▌▋▊▉"
#: columns that are instants in epoch milliseconds
TIMES = ("WINDOWSTART", "WINDOWEND", "ROWTIME")
#: no column is wider, so that one long text does not hide the others
WIDEST = 24

Row = Mapping[str, Any]
Style = Callable[[str], str]


@dataclass
class Feed:
    """The rows that have arrived from one query.

    Args:
        key: keep the newest row for each value of these columns; if empty, keep the last rows.
    """

    key: tuple[str, ...] = ()
    rows: dict[Any, Row] = field(default_factory=dict)
    last: deque[Row] = field(default_factory=lambda: deque(maxlen=50))
    total: int = 0
    problem: str | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, row: Row, tombstone: bool = False) -> None:
        """Add one result row, a dict by column name."""
        with self.lock:
            self.total += 1
            if self.key:
                key = tuple(row.get(name) for name in self.key)
                # the newest comes last
                self.rows.pop(key, None)
                if not tombstone:
                    self.rows[key] = row
            if not tombstone:
                self.last.append(row)

    def replace(self, rows: Sequence[Row]) -> None:
        """Replace all rows with these: the result of a pull query."""
        with self.lock:
            shown = {
                tuple(row.get(name) for name in self.key) if self.key else n: row
                for n, row in enumerate(rows)
            }
            if shown != self.rows:
                self.total += 1
                self.last.extend(rows[-1:])
            self.rows = shown


def cell(name: str, value: Any) -> str:
    """A value as a panel shows it: amounts with two decimals, instants as the time of day (UTC)."""
    if isinstance(value, (float, Decimal)):
        return f"{value:,.2f}"
    if name in TIMES and isinstance(value, int):
        return datetime.fromtimestamp(value / 1000, UTC).strftime("%H:%M:%S")
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else value_text(value)


def bar(share: float, columns: int) -> str:
    """A bar that fills ``share`` (0 to 1) of ``columns``, to an eighth of a column."""
    eighths = round(max(0.0, min(1.0, share)) * columns * 8)
    return BAR[0] * (eighths // 8) + (BAR[eighths % 8] if eighths % 8 else "")


@dataclass(frozen=True)
class Panel:
    """A part of the screen.

    Args:
        title: its heading.
        feed: its rows.
        measure: the column that is drawn as bars and sorts the rows; None: newest rows first.
    """

    title: str
    feed: Feed
    measure: str | None = None

    def rows(self, room: int) -> list[Row]:
        """The rows to show, the first one on top."""
        with self.feed.lock:
            rows = list(self.feed.rows.values()) if self.feed.rows or self.feed.key else list(self.feed.last)
        if self.measure is not None:
            measure = self.measure
            return sorted(rows, key=lambda row: -number(row.get(measure)))[:room]
        return rows[::-1][:room]

    def content(self, columns: int, room: int) -> list[str]:
        """The rows as lines: the names of the columns, then a line for each row."""
        rows = self.rows(room - 1)
        if not rows:
            return []
        names = list(rows[0])
        cells = [[clip(cell(name, row.get(name)), WIDEST, "…") for name in names] for row in rows]
        widths = [max(width(name), *(width(line[n]) for line in cells)) for n, name in enumerate(names)]
        right = [any(isinstance(row.get(name), (int, float, Decimal)) for row in rows) for name in names]
        lines = [_line([name.lower() for name in names], widths, right)]
        most = max((number(row.get(self.measure)) for row in rows), default=0.0) if self.measure else 0.0
        space = columns - sum(widths) - 2 * len(widths)
        for row, line in zip(rows, cells, strict=True):
            drawn = ""
            if self.measure and most > 0 and space > 3:
                drawn = "  " + bar(number(row.get(self.measure)) / most, space)
            lines.append(_line(line, widths, right) + drawn)
        return lines


def number(value: Any) -> float:
    """A value as a number; 0 if it is not one."""
    return float(value) if isinstance(value, (int, float, Decimal)) else 0.0


def _line(cells: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    parts = []
    for text, columns, is_right in zip(cells, widths, right, strict=True):
        parts.append(" " * (columns - width(text)) + text if is_right else pad(text, columns))
    return "  ".join(parts)


def screen(
    panels: Sequence[Panel],
    head: tuple[str, str],
    foot: str,
    columns: int,
    rows: int,
    bold: Style,
    dim: Style,
    title: Style,
) -> list[str]:
    """Exactly ``rows`` lines: a head line, the panels two by two, a foot line.

    Args:
        head: the left and the right text of the first line.
        columns: the terminal's width.
        rows: the terminal's height.
        title: the style of the panels' headings.
    """
    space = max(1, columns - width(head[0]) - width(head[1]))
    lines = [bold(clip(head[0], columns)) + " " * space + dim(head[1]), ""]
    room = rows - 3
    pairs = [panels[n : n + 2] for n in range(0, len(panels), 2)]
    for index, pair in enumerate(pairs):
        height = room // (len(pairs) - index)
        room -= height
        widths = [columns] if len(pair) == 1 else [(columns - 3) // 2, columns - 3 - (columns - 3) // 2]
        boxes = [box(panel, w, height, dim, title) for panel, w in zip(pair, widths, strict=True)]
        lines += ["   ".join(parts) for parts in zip(*boxes, strict=True)]
    lines += [""] * room
    return [*lines, dim(clip(foot, columns))]


def box(panel: Panel, columns: int, height: int, dim: Style, title: Style) -> list[str]:
    """A panel as ``height`` lines of ``columns``: title, rule, content."""
    room = height - 3
    if panel.feed.problem:
        content = [panel.feed.problem]
    else:
        content = panel.content(columns, room) or ["waiting for the first rows …"]
    heading = clip(panel.title, columns)
    lines = [title(heading) + " " * (columns - width(heading)), dim("─" * columns)]
    lines += [pad(clip(line, columns, "…"), columns) for line in content[: max(0, room)]]
    return (lines + [" " * columns] * height)[:height]
