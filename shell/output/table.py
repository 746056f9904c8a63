"""Tables whose rows are all known, such as those of SHOW and DESCRIBE."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ksql_spark.shell.output.console import Console
from ksql_spark.shell.output.text import clip, fold, pad, width

#: list cells are not wrapped below this width
MIN_WIDTH = 8
#: columns are not truncated below this width
CUT_WIDTH = 12
#: the width where lines are never wrapped, and of a rule there
UNLIMITED = 1_000_000
RULE_WIDTH = 40


@dataclass(frozen=True)
class Table:
    """Headers, rows of texts, the columns to align to the right, and the column that may be truncated."""

    headers: tuple[str, ...]
    rows: Sequence[Sequence[str]]
    right: frozenset[int] = frozenset()
    #: a column with long texts that are available elsewhere: on a terminal they are truncated, not wrapped
    cut: int | None = None


def draw(table: Table, console: Console) -> str:
    """The table as text: `` A | B `` under a header, between two lines of dashes.

    On a terminal it is at most that wide. Cells are wrapped at words; if that is not enough, the column that
    may be truncated is dropped, and then each row is drawn as a list of its cells.
    """
    widths = [
        max(width(header), *(width(line) for row in table.rows for line in row[index].split("\n")), 0)
        if table.rows
        else width(header)
        for index, header in enumerate(table.headers)
    ]
    room = console.columns
    if room is None and table.cut == len(widths) - 1:
        widths[-1] = width(table.headers[-1])  # longer cells stick out, and nothing is padded to them
    if room is not None:
        room = max(1, room - 3 * (len(widths) - 1) - 2)
        if table.cut is not None and sum(widths) > room:
            # it gets the remaining width
            left = room - sum(widths) + widths[table.cut]
            if left < CUT_WIDTH:
                return draw(_without(table, table.cut), console)
            widths[table.cut] = left
        least = [
            columns if index == table.cut else min(_longest_word(table, index), room // (3 if index else 1))
            for index, columns in enumerate(widths)
        ]
        if len(widths) > 1 and sum(least) > room and table.rows and console.auto_vertical:
            return draw_vertically(table, console)
        widths = fit(widths, room, least)
    bar = console.dim(console.lines.vertical)
    rule = console.dim(console.lines.horizontal * (sum(widths) + 3 * (len(widths) - 1) + 2))

    def lines(cells: Sequence[str], header: bool = False) -> list[str]:
        folded = [
            cell.split("\n")
            if room is None
            else [clip(cell, columns, console.ellipsis)]
            if index == table.cut and not header
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


def _longest_word(table: Table, index: int) -> int:
    texts = [table.headers[index], *(row[index] for row in table.rows)]
    return max((width(word) for text in texts for word in text.split()), default=1)


def _without(table: Table, index: int) -> Table:
    """The table without a column, unless that is aligned to the right."""
    rows = [(*row[:index], *row[index + 1 :]) for row in table.rows]
    return Table((*table.headers[:index], *table.headers[index + 1 :]), rows, table.right)


def draw_vertically(table: Table, console: Console) -> str:
    """Each row as lines of a header and a cell, as for a terminal that is too narrow for columns."""
    names = max(map(width, table.headers))
    columns = console.columns or UNLIMITED
    room = max(MIN_WIDTH, columns - names - 4)
    bar = console.dim(console.lines.vertical)
    rule = console.dim(console.lines.horizontal * (console.columns or RULE_WIDTH))
    if console.plain:
        return "\n".join(
            line for row in table.rows for line in (*map(": ".join, zip(table.headers, row, strict=True)), "")
        )
    text = [rule]
    for row in table.rows:
        for header, cell in zip(table.headers, row, strict=True):
            if max(map(width, cell.split()), default=0) > room:  # an id, for instance: a line of its own
                text.append(f" {console.bold(header)} {bar}")
                text += [f"   {line}" for line in fold(cell, columns - 3)]
                continue
            first, *more = fold(cell, room)
            text.append(f" {console.bold(pad(header, names))} {bar} {first}".rstrip())
            text += [f" {' ' * names} {bar} {line}" for line in more]
        text.append(rule)
    return "\n".join(text)


def fit(widths: Sequence[int], room: int, least: Sequence[int]) -> list[int]:
    """``widths``, reduced until they fit into ``room``, the widest columns first.

    No column becomes narrower than ``least`` says, not even where that does not fit.

    >>> fit([5, 100], 40, [4, 6])
    [5, 35]
    """
    least = [min(columns, max(low, 1)) for columns, low in zip(widths, least, strict=True)]

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
