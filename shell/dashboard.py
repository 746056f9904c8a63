"""The demo's screen: four panels of live results as lines of text. It is pure: frames in, lines out."""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from shell.output.text import clip, pad, width

#: VendorID in the public data set
VENDORS = {1: "Creative", 2: "Curb", 6: "Myle", 7: "Helix"}
BAR = "█▏▎▍▌▋▊▉"

Row = Mapping[str, Any]
Style = Callable[[str], str]


@dataclass
class Feed:
    """The rows that have arrived from one push query.

    Args:
        sql: the query.
        key: key columns of a table; none for a stream, whose last rows are kept.
    """

    sql: str
    key: tuple[str, ...] = ()
    rows: dict[Any, Row] = field(default_factory=dict)
    last: deque[Row] = field(default_factory=lambda: deque(maxlen=50))
    counts: Counter[str] = field(default_factory=Counter)
    total: int = 0
    problem: str | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, row: Row, tombstone: bool = False) -> None:
        """Add one result row, a dict by column name."""
        with self.lock:
            self.total += 1
            self.last.append(row)
            if self.key:
                key = tuple(row.get(name) for name in self.key)
                if tombstone:
                    self.rows.pop(key, None)
                else:
                    self.rows[key] = row

    def count(self, value: str) -> None:
        """Count one more of ``value``."""
        with self.lock:
            self.counts[value] += 1


def vendor(value: Any) -> str:
    """A vendor's short name."""
    return VENDORS.get(value, f"vendor {value}")


def money(value: Any) -> str:
    """An amount in dollars."""
    return f"{float(value or 0):,.2f}"


def bar(share: float, columns: int) -> str:
    """A bar that fills ``share`` (0 to 1) of ``columns``, to an eighth of a column."""
    eighths = round(max(0.0, min(1.0, share)) * columns * 8)
    return BAR[0] * (eighths // 8) + (BAR[eighths % 8] if eighths % 8 else "")


def vendors_panel(feed: Feed, columns: int, lines: int) -> list[str]:
    """Rides and revenue of each vendor, with bars."""
    with feed.lock:
        rows = sorted(feed.rows.values(), key=lambda row: -int(row.get("TRIPS") or 0))[:lines]
    most = max((int(row.get("TRIPS") or 0) for row in rows), default=1) or 1
    room = max(4, columns - 33)
    return [
        f"{clip(vendor(row.get('VENDORID')), 9, '…'):<9}{int(row.get('TRIPS') or 0):>7,} "
        f"{money(row.get('REVENUE')):>13}  {bar(int(row.get('TRIPS') or 0) / most, room)}"
        for row in rows
    ]


def windows_panel(feed: Feed, columns: int, lines: int) -> list[str]:
    """The latest one-minute windows."""
    with feed.lock:
        rows = sorted(
            feed.rows.values(),
            key=lambda row: (-int(row.get("WINDOWSTART") or 0), int(row.get("VENDORID") or 0)),
        )
    return [
        f"{clock(row.get('WINDOWSTART'))}  {clip(vendor(row.get('VENDORID')), 9, '…'):<9}"
        f"{int(row.get('TRIPS') or 0):>6,} {money(row.get('REVENUE')):>12}"
        for row in rows[:lines]
    ]


def expensive_panel(feed: Feed, columns: int, lines: int) -> list[str]:
    """The latest expensive rides, newest first."""
    with feed.lock:
        rows = list(feed.last)[::-1][:lines]
    return [
        f"{clock(row.get('TPEP_PICKUP_DATETIME'), seconds=True)}"
        + f" {float(row.get('TRIP_DISTANCE') or 0):>6.1f} mi"
        + f" {money(row.get('TOTAL_AMOUNT')):>9}  {vendor(row.get('VENDORID'))}"
        for row in rows
    ]


def zones_panel(feed: Feed, columns: int, lines: int) -> list[str]:
    """The zones in which most rides begin."""
    with feed.lock:
        common = feed.counts.most_common(lines)
    most = common[0][1] if common else 1
    name_width = min(24, max(12, columns - 17))
    room = max(3, columns - name_width - 8)
    return [
        f"{pad(clip(name, name_width, '…'), name_width)}{number:>6,} {bar(number / most, room)}"
        for name, number in common
    ]


def clock(epoch_ms: Any, seconds: bool = False) -> str:
    """Time of day (UTC) of epoch milliseconds."""
    if not isinstance(epoch_ms, int):
        return "--:--"
    moment = datetime.fromtimestamp(epoch_ms / 1000, UTC)
    return moment.strftime("%H:%M:%S" if seconds else "%H:%M")


@dataclass(frozen=True)
class Panel:
    """A part of the screen."""

    title: str
    feed: Feed
    content: Callable[[Feed, int, int], list[str]]
    style: Style


def screen(
    panels: Sequence[Panel],
    head: tuple[str, str],
    foot: str,
    columns: int,
    rows: int,
    bold: Style,
    dim: Style,
) -> list[str]:
    """Exactly ``rows`` lines: a head line, the four panels two by two, a foot line.

    Args:
        head: the left and the right text of the first line.
        columns: the terminal's width.
        rows: the terminal's height.
    """
    left_columns = (columns - 3) // 2
    right_columns = columns - 3 - left_columns
    first = (rows - 3) // 2
    second = rows - 3 - first
    space = max(1, columns - width(head[0]) - width(head[1]))
    lines = [bold(clip(head[0], columns)) + " " * space + dim(head[1]), ""]
    for height, pair in ((first, panels[:2]), (second, panels[2:])):
        left = box(pair[0], left_columns, height, dim)
        right = box(pair[1], right_columns, height, dim)
        lines += [f"{a}   {b}" for a, b in zip(left, right, strict=True)]
    return [*lines, dim(clip(foot, columns))]


def box(panel: Panel, columns: int, height: int, dim: Style) -> list[str]:
    """A panel as ``height`` lines of ``columns``: title, rule, content."""
    room = height - 3
    if panel.feed.problem:
        content = [panel.feed.problem]
    else:
        content = panel.content(panel.feed, columns, room) or ["waiting for the first rows …"]
    title = clip(panel.title, columns)
    lines = [panel.style(title) + " " * (columns - width(title)), dim("─" * columns)]
    lines += [pad(clip(line, columns, "…"), columns) for line in content[:room]]
    return (lines + [" " * columns] * height)[:height]
