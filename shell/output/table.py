"""Tables whose rows are all known, as of SHOW and DESCRIBE."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from shell.output.console import Console
from shell.output.text import clip, fold, pad, width

#: columns are not wrapped to less than this
MIN_WIDTH = 8
#: a column is not truncated to less than this
CUT_WIDTH = 20


@dataclass(frozen=True)
class Table:
    """Headers, rows of texts, the columns to align to the right, and the column that may be truncated."""

    headers: tuple[str, ...]
    rows: Sequence[Sequence[str]]
    right: frozenset[int] = frozenset()
    #: a column with long texts that are available elsewhere: on a terminal they are truncated, not wrapped
    cut: int | None = None


def draw(table: Table, console: Console) -> str:
    """The table as text: `` A | B `` under a header, between two lines of dashes."""
    widths = [
        max(width(header), *(width(line) for row in table.rows for line in row[index].split("\n")), 0)
        if table.rows
        else width(header)
        for index, header in enumerate(table.headers)
    ]
    room = console.columns
    if room is not None:
        room -= 3 * (len(widths) - 1) + 2
        if table.cut is not None and sum(widths) > room:
            # it gets the width that the others leave
            others = sum(widths) - widths[table.cut]
            widths[table.cut] = min(widths[table.cut], max(CUT_WIDTH, room - others))
        widths = fit(widths, room, [width(header) for header in table.headers])
    bar = console.dim(console.lines.vertical)
    rule = console.dim(console.lines.horizontal * (sum(widths) + 3 * (len(widths) - 1) + 2))

    def lines(cells: Sequence[str], header: bool = False) -> list[str]:
        folded = [
            [clip(cell, columns)]
            if index == table.cut and room is not None and not header
            else fold(cell, columns)
            for index, (cell, columns) in enumerate(zip(cells, widths, strict=True))
        ]
        drawn = []
        for index in range(max(len(cell) for cell in folded)):
            parts = [
                pad(cell[index] if index < len(cell) else "", columns, column in table.right)
                for column, (cell, columns) in enumerate(zip(folded, widths, strict=True))
            ]
            shown = [console.bold(part) for part in parts] if header else parts
            drawn.append(f" {f' {bar} '.join(shown)}".rstrip())
        return drawn

    text = [*lines(table.headers, header=True), rule]
    for row in table.rows:
        text += lines(row)
    return "\n".join([*text, rule])


def fit(widths: Sequence[int], room: int, headers: Sequence[int]) -> list[int]:
    """``widths``, reduced until they fit into ``room``, the widest columns first.

    No column becomes narrower than MIN_WIDTH (or its header, where that is shorter).

    >>> fit([5, 100], 40, [4, 6])
    [5, 35]
    """
    least = [min(MIN_WIDTH, columns, max(header, 1)) for columns, header in zip(widths, headers, strict=True)]

    def capped(cap: int) -> list[int]:
        return [max(low, min(columns, cap)) for low, columns in zip(least, widths, strict=True)]

    if sum(widths) <= room:
        return list(widths)
    # the largest cap that fits, by bisection: capped() is monotonic
    low, high = 0, max(widths, default=0)
    while low + 1 < high:
        middle = (low + high) // 2
        low, high = (middle, high) if sum(capped(middle)) <= room else (low, middle)
    return capped(low)
