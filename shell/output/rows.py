"""Rows of a running query, printed as they arrive (reference §8.3).

They form a table if the terminal is wide enough for the column names, otherwise one line per value. Widths
are fixed before all rows are known: from the columns' types, from the first rows if they arrive at once, and
from the terminal. Longer values are wrapped, or truncated (WRAP OFF). Other formats have a row in PRINTERS.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, Protocol

from ksql_spark.shell.output import exports
from ksql_spark.shell.output.console import Console, Form
from ksql_spark.shell.output.table import UNLIMITED, fit
from ksql_spark.shell.output.text import TOMBSTONE, clip, fold, json_text, pad, value_text, width

#: the width that suffices for most values of a type
TYPE_WIDTHS = {
    "BOOLEAN": 5,
    "INTEGER": 8,
    "BIGINT": 13,
    "DOUBLE": 18,
    "DATE": 10,
    "TIME": 12,
    "TIMESTAMP": 23,
    "STRING": 16,
    "BYTES": 16,
    "VARIANT": 30,
}
NESTED_WIDTH = 30
NUMBERS = ("INTEGER", "BIGINT", "DOUBLE", "DECIMAL")
LEAST_WIDTH = 5
#: columns with instants as numbers, which people get as times
TIMES = ("ROWTIME", "WINDOWSTART", "WINDOWEND")
#: an instant with its offset
ZONED_WIDTH = 29
EPOCH = datetime(1970, 1, 1)

_COLUMN = re.compile(r"`((?:[^`]|``)*)`\s+(.*)", re.S)


@dataclass(frozen=True)
class Column:
    """One column of a result, from its header frame."""

    name: str
    type: str
    is_key: bool = False

    @property
    def is_number(self) -> bool:
        """Whether its cells are aligned to the right."""
        return self.type.startswith(NUMBERS) and not self.is_instant

    @property
    def is_instant(self) -> bool:
        """Whether it has instants as numbers."""
        return self.name in TIMES and self.type == "BIGINT"


def columns_of(schema: str) -> list[Column]:
    """The columns of a header frame's ``schema``.

    >>> [column.type for column in columns_of("`K` STRING KEY, `S` STRUCT<`A` INTEGER, `B` DECIMAL(4, 2)>")]
    ['STRING', 'STRUCT<`A` INTEGER, `B` DECIMAL(4, 2)>']
    """
    columns = []
    for part in _split(schema):
        match = _COLUMN.fullmatch(part.strip())
        name, kind = (match[1].replace("``", "`"), match[2]) if match else (part.strip(), "STRING")
        is_key = kind.endswith(" KEY")
        columns.append(Column(name, kind.removesuffix(" KEY"), is_key))
    return columns


def _split(schema: str) -> list[str]:
    """Split ``schema`` at its outermost commas.

    >>> _split("A INT,B MAP<STRING, INT>")
    ['A INT', 'B MAP<STRING, INT>']
    """
    parts, depth, quoted, begin = [], 0, False, 0
    for index, character in enumerate(schema):
        if character == "`":
            quoted = not quoted
        elif quoted:
            continue
        elif character in "<(":
            depth += 1
        elif character in ">)":
            depth -= 1
        elif character == "," and depth == 0:
            parts.append(schema[begin:index])
            begin = index + 1
    return [*parts, schema[begin:]] if schema.strip() else []


def value_at(row: Mapping[str, Any], index: int) -> Any:
    """One value of a row frame."""
    values = row.get("columns") or []
    return values[index] if index < len(values) else None


def cell(row: Mapping[str, Any], index: int) -> str:
    """The text of one value of a row frame."""
    value = value_at(row, index)
    # a deleted row has only its key
    if row.get("tombstone") and value is None:
        return TOMBSTONE
    return value_text(value)


def text_of(row: Mapping[str, Any], index: int, column: Column, console: Console) -> str:
    """The text of one value for people: times, in their zone; numbers with separated thousands."""
    value = value_at(row, index)
    if value is None:
        return cell(row, index)
    if column.is_instant or (column.type == "TIMESTAMP" and console.in_zone is not None):
        with contextlib.suppress(ValueError, TypeError, OverflowError):  # years beyond 9999
            number = isinstance(value, int)
            moment = EPOCH + timedelta(milliseconds=value) if number else datetime.fromisoformat(value)
            if console.in_zone is not None:
                moment = console.in_zone(moment.replace(tzinfo=UTC))
            return moment.isoformat(timespec="milliseconds")
    elif console.thousands and column.is_number and isinstance(value, (int, float, Decimal)):
        return f"{value:,}"
    return cell(row, index)


class Printer(Protocol):
    """Prints the rows of one query."""

    def header(self) -> None:
        """Print what comes before the rows."""
        ...

    def rows(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Print row frames."""
        ...

    def footer(self) -> None:
        """Print what comes after the rows."""
        ...


class RowPrinter:
    """Prints a query's rows as a table.

    Args:
        console: the console to print to.
        columns: the columns of the header frame.
        first: rows that have already arrived, to choose the widths.
        more: whether other rows will follow, for which the types determine the widths.
    """

    def __init__(
        self,
        console: Console,
        columns: Sequence[Column],
        first: Sequence[Mapping[str, Any]] = (),
        more: bool = True,
    ) -> None:
        self._console = console
        self._columns = columns
        self._more = more or not first
        self._widths = self._choose(first)

    def _choose(self, first: Sequence[Mapping[str, Any]]) -> list[int]:
        console = self._console
        if console.column_width:
            return [console.column_width] * len(self._columns)
        widths = []
        for index, column in enumerate(self._columns):
            seen = [width(line) for row in first for line in text_of(row, index, column, console).split("\n")]
            type_ = "TIMESTAMP" if column.is_instant else column.type
            by_type = TYPE_WIDTHS.get(type_, 14 if column.is_number else NESTED_WIDTH)
            if console.in_zone is not None and type_ == "TIMESTAMP":
                by_type = ZONED_WIDTH
            widths.append(max(width(column.name), LEAST_WIDTH, by_type if self._more else 0, *seen))
        room = console.columns
        if room is None:
            return widths
        room -= 3 * len(widths) + 1
        if sum(widths) > room:
            return fit(widths, room, [LEAST_WIDTH] * len(widths))
        if self._more:
            return self._widen(widths, room - sum(widths))
        return widths

    def _widen(self, widths: list[int], spare: int) -> list[int]:
        """Widen columns of variable length by ``spare``, at most to twice their width."""
        flexible = [i for i, c in enumerate(self._columns) if c.type not in TYPE_WIDTHS or c.type == "STRING"]
        for i in flexible:
            extra = min(spare // len(flexible), widths[i])
            widths[i] += extra
        return widths

    def header(self) -> None:
        """The box with the columns' names."""
        console, lines = self._console, self._console.lines
        console.line(console.dim(self._rule(lines.top)))
        names = [column.name for column in self._columns]
        console.write(self._line(names, [console.bold] * len(names)))
        console.line(console.dim(self._rule(lines.cross)))

    def rows(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """One line (or more) for each row frame."""
        indices = range(len(self._columns))
        lines = []
        for row in rows:
            changed = row.get("changed") or ()
            # NULL is faint, which tells it from the text 'null'
            styles = [
                self._console.green
                if i in changed
                else self._console.dim
                if value_at(row, i) is None
                else None
                for i in indices
            ]
            cells = [text_of(row, i, column, self._console) for i, column in enumerate(self._columns)]
            lines.append(self._line(cells, styles))
        self._console.write("".join(lines))

    def footer(self) -> None:
        """The lower edge."""
        self._console.line(self._console.dim(self._rule(self._console.lines.bottom)))

    def _line(self, cells: Sequence[str], styles: Sequence[Callable[[str], str] | None]) -> str:
        console = self._console
        bar = console.dim(console.lines.vertical)
        if console.columns is None and not console.column_width:
            folded = [cell.split("\n") for cell in cells]
        elif console.wrap:
            folded = [fold(cell, columns) for cell, columns in zip(cells, self._widths, strict=True)]
        else:
            one = (cell.replace("\n", " ") for cell in cells)
            folded = [[clip(cell, columns)] for cell, columns in zip(one, self._widths, strict=True)]
        text = []
        for number in range(max(map(len, folded), default=0)):
            parts = []
            for column, lines, columns, style in zip(
                self._columns, folded, self._widths, styles, strict=True
            ):
                part = pad(lines[number] if number < len(lines) else "", columns, column.is_number)
                parts.append(style(part) if style else part)
            text.append(f"{bar} {f' {bar} '.join(parts)} {bar}\n")
        return "".join(text)

    def _rule(self, corners: str) -> str:
        line = self._console.lines.horizontal
        return corners[0] + corners[1].join(line * (columns + 2) for columns in self._widths) + corners[2]


class RecordPrinter:
    """One line for each column of a row, for rows with more columns than fit a table."""

    def __init__(self, console: Console, columns: Sequence[Column]) -> None:
        self._console = console
        self._columns = columns
        self._names = max(width(column.name) for column in columns)
        self._count = 0

    def header(self) -> None:
        """The columns' names, because the first row may take a while."""
        names = ", ".join(column.name for column in self._columns)
        self._console.line(self._console.dim("\n".join(fold(names, self._console.columns or UNLIMITED))))

    def rows(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """A numbered line, and the values below it."""
        console = self._console
        bar = console.dim(console.lines.vertical)
        room = max(LEAST_WIDTH, (console.columns or UNLIMITED) - self._names - 4)
        text = []
        for row in rows:
            self._count += 1
            title = f"{console.lines.horizontal}[ {self._count} ]"
            rule = console.lines.horizontal * (self._names + 14 - len(title))
            text.append(f"Row {self._count:,}" if console.plain else console.dim(title + rule))
            for index, column in enumerate(self._columns):
                value = text_of(row, index, column, console)
                if console.plain:
                    text.append(f"{column.name}: {value}")
                    continue
                lines = fold(value, room) if console.wrap else [clip(value.replace("\n", " "), room)]
                name = console.bold(pad(column.name, self._names))
                shown = console.dim(lines[0]) if value_at(row, index) is None else lines[0]
                text.append(f" {name} {bar} {shown}")
                text += [f" {' ' * self._names} {bar} {line}" for line in lines[1:]]
        console.write("\n".join(text) + "\n")

    def footer(self) -> None:
        """Do nothing."""


class TextPrinter:
    """The rows in a format of exports.py.

    Args:
        console: the console to print to.
        columns: the columns of the header frame.
        export: the format.
    """

    def __init__(self, console: Console, columns: Sequence[Column], export: exports.Export) -> None:
        self._console = console
        self._columns = columns
        self._export = export

    def header(self) -> None:
        """The columns' names."""
        names = [column.name for column in self._columns]
        numbers = {index for index, column in enumerate(self._columns) if column.is_number}
        self._console.write(self._export.header(names, numbers))

    def rows(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """One line for each row."""
        names = [column.name for column in self._columns]
        lines = []
        for row in rows:
            missing = TOMBSTONE if row.get("tombstone") else None
            values = [value_at(row, index) for index in range(len(names))]
            lines.append(self._export.row(names, [missing if v is None else v for v in values]))
        self._console.write("".join(lines))

    def footer(self) -> None:
        """Do nothing."""


class JsonPrinter:
    """Prints the frames themselves, as JSON."""

    def __init__(self, console: Console, header: Mapping[str, Any]) -> None:
        self._console = console
        self._header = header

    def header(self) -> None:
        """The header frame."""
        self._console.line(json_text({"header": self._header}, indent=2))

    def rows(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """One frame for each row."""
        self._console.write("".join(json_text({"row": row}, indent=2) + "\n" for row in rows))

    def footer(self) -> None:
        """Do nothing."""


def printer(
    console: Console, header: Mapping[str, Any], first: Sequence[Mapping[str, Any]] = (), more: bool = True
) -> Printer:
    """The printer for a query with this header frame, in the console's current format.

    Args:
        console: the console to print to.
        header: the header frame.
        first: see RowPrinter.
        more: see RowPrinter.
    """
    return PRINTERS[console.form](console, header, first, more)


def _table(
    console: Console, header: Mapping[str, Any], first: Sequence[Mapping[str, Any]], more: bool
) -> Printer:
    """A table, or vertical rows on a terminal that is too narrow for it."""
    columns = shown_columns(header)
    if console.columns is not None and not console.column_width and console.auto_vertical:
        least = sum(max(width(column.name), LEAST_WIDTH) + 3 for column in columns) + 1
        if least > console.columns and len(columns) > 1:
            return RecordPrinter(console, columns)
    return RowPrinter(console, columns, first, more)


def shown_columns(header: Mapping[str, Any]) -> list[Column]:
    """The columns with names for a terminal."""
    return [replace(one, name=value_text(one.name)) for one in columns_of(str(header.get("schema", "")))]


def _exported(export: exports.Export) -> MakePrinter:
    return lambda console, header, first, more: TextPrinter(
        console, columns_of(str(header.get("schema", ""))), export
    )


#: makes the printer of a query: console, header frame, first rows, and whether more follow
MakePrinter = Callable[[Console, Mapping[str, Any], Sequence[Mapping[str, Any]], bool], Printer]

#: every output format
PRINTERS: dict[Form, MakePrinter] = {
    Form.TABULAR: _table,
    Form.JSON: lambda console, header, first, more: JsonPrinter(console, header),
    Form.VERTICAL: lambda console, header, first, more: RecordPrinter(console, shown_columns(header)),
    **{form: _exported(export) for form, export in exports.EXPORTS.items()},
}
