"""Charts of a push query's rows, drawn by plotext: bars by key, lines over time."""

from __future__ import annotations

import re
import time
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from ksql_spark.shell.output.console import Console
from ksql_spark.shell.output.rows import Column
from ksql_spark.shell.output.text import clip, value_text

#: how many keys have lines, and how many points a line has
MOST_LINES = 6
MOST_KEYS = 200
MOST_POINTS = 300
#: below this size there is no room for a chart
LEAST_COLUMNS, LEAST_LINES = 40, 5
LABEL_WIDTH = 16
_COLOURS = ("cyan", "green", "yellow", "magenta", "blue", "red")
#: how plotext ends the number of a bar that is whole
_WHOLE = re.compile(r"\.00(?=\s*(?:\x1b\[[0-9;]*m)*\s*$)", re.MULTILINE)
_STYLE = re.compile(r"\x1b\[[0-9;]*m")


class Chart:
    """The numbers to draw: the latest of each key, and the last ones over time.

    Args:
        columns: the columns of the header frame.
        key: the names of those that make the key; without a key, there is one line.
    """

    def __init__(self, columns: Sequence[Column], key: Sequence[str] = ()) -> None:
        self._columns = columns
        self._keys = [index for index, column in enumerate(columns) if column.name in key]
        bounds = ("WINDOWSTART", "WINDOWEND", "ROWTIME")
        #: the columns that can be drawn
        self.numbers = [
            index
            for index, column in enumerate(columns)
            if column.is_number and index not in self._keys and column.name not in bounds
        ]
        self._chosen = 0
        #: key -> its points: seconds, and the row's values; the key that changed last is the last one
        self._points: dict[str, deque[tuple[float, Sequence[Any]]]] = {}
        self._began = time.monotonic()

    @property
    def column(self) -> str:
        """The name of the column that is drawn."""
        return self._columns[self.numbers[self._chosen]].name if self.numbers else ""

    def next_column(self) -> None:
        """Draw the next column with numbers."""
        self._chosen = (self._chosen + 1) % max(1, len(self.numbers))

    def take(self, rows: Sequence[Mapping[str, Any]], now: float | None = None) -> None:
        """Apply row frames; a tombstone removes its key."""
        at = (time.monotonic() if now is None else now) - self._began
        for row in rows:
            values = row.get("columns") or []
            key = " ".join(value_text(values[index]) for index in self._keys)
            points = self._points.pop(key, None)
            if row.get("tombstone"):
                continue
            if points is None:
                points = deque(maxlen=MOST_POINTS)
                if len(self._points) >= MOST_KEYS:
                    del self._points[next(iter(self._points))]
            points.append((at, values))
            self._points[key] = points

    def text(self, console: Console, height: int, *, is_bars: bool) -> str:
        """The chart in ``height`` lines, or why there is none."""
        columns = console.columns or 80
        if not console.is_unicode:
            return "A chart needs a terminal with UTF-8."
        if not self.numbers:
            return "A chart needs a column with numbers beside the key."
        if columns < LEAST_COLUMNS or height < LEAST_LINES:
            return "The terminal is too small for a chart."
        index = self.numbers[self._chosen]
        latest = {
            key: float(points[-1][1][index])
            for key, points in self._points.items()
            if points[-1][1][index] is not None
        }
        greatest = sorted(latest, key=lambda key: -abs(latest[key]))
        if not greatest:
            return "No numbers have come yet."
        # imported late: most sessions draw nothing
        import plotext

        plotext.clear_figure()
        plotext.theme("clear")
        plotext.limit_size(False, False)  # plotext's own idea of the terminal may be another
        if is_bars:
            shown = greatest[: max(1, height - 3)]
            labels = [clip(key or self.column, min(LABEL_WIDTH, columns // 3), "…") for key in shown]
            plotext.simple_bar(labels, [latest[key] for key in shown], width=columns - 2, color=_COLOURS[0])
        else:
            plotext.title(self.column)
            plotext.plot_size(columns, height)
            for number, key in enumerate(greatest[:MOST_LINES]):
                seen = [(at, values[index]) for at, values in self._points[key] if values[index] is not None]
                plotext.plot(
                    [at for at, _ in seen],
                    [float(value) for _, value in seen],
                    label=clip(key, LABEL_WIDTH, "…") or None,
                    color=_COLOURS[number % len(_COLOURS)],
                    marker="braille",
                )
            plotext.xlabel("seconds")
        drawn = str(plotext.build()).rstrip("\n")
        if is_bars and all(latest[key].is_integer() for key in shown):
            drawn = _WHOLE.sub("", drawn)
        lines = (drawn if console.colours else _STYLE.sub("", drawn)).split("\n")[:height]
        return "\n".join(lines)
