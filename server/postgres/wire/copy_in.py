"""COPY … FROM STDIN: rows as a client writes them, in PostgreSQL's formats text, csv and binary."""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from typing import Any

from ksql_spark.server.postgres.values import values
from ksql_spark.server.postgres.wire.columns import Column
from ksql_spark.server.postgres.wire.copying import BINARY_HEAD, CopyOptions
from ksql_spark.server.streaming.row_copy import RowCopy

Cells = list[bytes | None]
_ESCAPES = {b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"}
_ESCAPED = re.compile(rb"\\(x[0-9a-fA-F]{1,2}|[0-7]{1,3}|.)", re.DOTALL)
_END = b"\\."


class CopyIn:
    """The rows of one COPY.

    Args:
        copy: writes them.
        columns: of the stream or table, which the rows have, by our names.
        options: of the statement.
        most: the maximum size of a row, bytes.
    """

    def __init__(self, copy: RowCopy, columns: Sequence[Column], options: CopyOptions, most: int) -> None:
        self._copy = copy
        self._columns = columns
        self._names = [f"`{column.name.replace('`', '``')}`" for column in columns]
        self._is_binary = options.is_binary
        self._cells_of: Callable[[bytearray, bool], Iterator[Cells]] = (
            _binary_rows() if options.is_binary else _text_rows(options)
        )
        self._most = most
        self._rest = bytearray()
        self._count = 0
        self._skipped = int(options.has_header and not options.is_binary)
        self._misfit: str | None = None

    @property
    def is_over(self) -> bool:
        """Whether a row is wrong, so that no more are taken."""
        return self._misfit is not None

    def feed(self, data: bytes, is_end: bool = False) -> None:
        """Take what the client has sent; it blocks while rows are written."""
        self._rest += data
        try:
            for cells in self._cells_of(self._rest, is_end):
                if self._skipped:
                    self._skipped = 0
                    continue
                self._count += 1
                if not self._copy.add(f"row {self._count}", self._row(cells)):
                    self._misfit = ""
                    return
            if len(self._rest) > self._most:
                raise ValueError(f"it has more than {self._most:,} bytes")
        except (ValueError, struct.error, RecursionError) as error:
            self._misfit = f"row {self._count + (error.__class__ is not _WrongCell)}: {error}"

    def finish(self) -> int:
        """Write the last rows; returns the number of all.

        Raises:
            KsqlError: as `RowCopy.finish`.
        """
        if not self.is_over:
            self.feed(b"", is_end=True)
        return self._copy.finish(self._misfit or None)

    def _row(self, cells: Cells) -> dict[str, Any]:
        if len(cells) != len(self._columns):
            raise _WrongCell(f"{len(cells)} values for {len(self._columns)} columns")
        row = {}
        for name, column, cell in zip(self._names, self._columns, cells, strict=True):
            try:
                row[name] = value_of(cell, column.type, self._is_binary)
            except (ValueError, RecursionError) as error:
                raise _WrongCell(f"column {column.name}: {str(error)[:200]}") from None
        return row


class _WrongCell(ValueError):
    """Raised for the row that was counted last."""


def value_of(cell: bytes | None, type_: values.PgType, is_binary: bool) -> Any:
    """A value of a type as the REST API takes it. Raises ValueError."""
    value = values.parameter(cell, type_.oid, is_binary)
    if value is None:
        return None
    if type_ in (values.JSON, values.JSONB):
        return json.loads(value, parse_float=Decimal)
    if type_.element is values.JSONB:
        return [None if one is None else json.loads(one, parse_float=Decimal) for one in value]
    return value


# ---- text and csv ----------------------------------------------------------------------------------------


def _text_rows(options: CopyOptions) -> Callable[[bytearray, bool], Iterator[Cells]]:
    """A function that takes the complete rows from the beginning of what has come."""
    split = _csv_cells(options) if options.is_csv else _escaped_cells(options)
    is_over = False

    def rows(data: bytearray, is_end: bool) -> Iterator[Cells]:
        nonlocal is_over
        start = 0
        while not is_over and start < len(data):
            end = data.find(b"\n", start)
            # a line break in quotes, or behind a backslash, belongs to the value
            while end >= 0 and _is_open(data[start:end], options):
                end = data.find(b"\n", end + 1)
            if end < 0 and not is_end:
                break
            line = bytes(data[start : end if end >= 0 else len(data)]).removesuffix(b"\r")
            start = end + 1 if end >= 0 else len(data)
            if line == _END:
                is_over = True
            else:
                del data[:start]
                start = 0
                yield split(line)
        del data[: len(data) if is_over else start]

    return rows


def _is_open(line: bytes | bytearray, options: CopyOptions) -> bool:
    if options.is_csv:
        return bool(line.count(options.quote) % 2)
    return bool(line.endswith(b"\\")) and bool((len(line) - len(line.rstrip(b"\\"))) % 2)


def _csv_cells(options: CopyOptions) -> Callable[[bytes], Cells]:
    quote, mark = re.escape(options.quote), re.escape(options.delimiter)
    quoted = quote + rb"((?:[^%b]++|%b%b)*+)" % (quote, quote, quote) + quote
    cell = re.compile(rb"(?:%b|([^%b%b]*+))(%b|\Z)" % (quoted, quote, mark, mark), re.DOTALL)

    def cells(line: bytes) -> Cells:
        found: Cells = []
        at = 0
        while (match := cell.match(line, at)) is not None:
            if match[1] is not None:
                found.append(match[1].replace(options.quote * 2, options.quote))
            else:
                found.append(None if match[2] == options.null else match[2])
            at = match.end()
            if not match[3]:
                return found
        raise ValueError("its quotes are wrong")

    return cells


def _escaped_cells(options: CopyOptions) -> Callable[[bytes], Cells]:
    mark = re.escape(options.delimiter)
    cell = re.compile(rb"((?:[^\\%b]++|\\.)*+)(%b|\Z)" % (mark, mark), re.DOTALL)

    def cells(line: bytes) -> Cells:
        if b"\\" not in line:
            return [None if one == options.null else one for one in line.split(options.delimiter)]
        found: Cells = []
        at = 0
        while (match := cell.match(line, at)) is not None:
            found.append(None if match[1] == options.null else _ESCAPED.sub(_unescaped, match[1]))
            at = match.end()
            if not match[2]:
                return found
        raise ValueError("it ends with a backslash")

    return cells


def _unescaped(match: re.Match[bytes]) -> bytes:
    what = match[1]
    if what[:1] == b"x" and len(what) > 1:
        return bytes([int(what[1:], 16)])
    if what.isdigit() and what[0] in b"01234567":
        return bytes([int(what, 8) & 0xFF])
    return _ESCAPES.get(what, what)


# ---- binary ----------------------------------------------------------------------------------------------


def _binary_rows() -> Callable[[bytearray, bool], Iterator[Cells]]:
    has_begun = is_over = False

    def rows(data: bytearray, is_end: bool) -> Iterator[Cells]:
        nonlocal has_begun, is_over
        if not has_begun and len(data) >= len(BINARY_HEAD):
            if data[:11] != BINARY_HEAD[:11]:
                raise ValueError("this is not PostgreSQL's binary format")
            extension = struct.unpack_from("!I", data, 15)[0]
            if len(data) >= len(BINARY_HEAD) + extension:
                del data[: len(BINARY_HEAD) + extension]
                has_begun = True
        while has_begun and not is_over and (read := _tuple(data)) is not None:
            cells, end = read
            del data[:end]
            if cells is None:
                is_over = True
            else:
                yield cells
        if is_over:
            data.clear()
        elif is_end and (data or not has_begun):  # the end may lack its mark, as in pgx
            raise ValueError("the data end too early")

    return rows


def _tuple(data: bytearray) -> tuple[Cells | None, int] | None:
    """The cells at the beginning, and where they end; no cells: the end, or None if they are not complete."""
    if len(data) < 2:
        return None
    count = struct.unpack_from("!h", data)[0]
    if count < 0:
        return None, 2
    cells: Cells = []
    at = 2
    for _ in range(count):
        if len(data) < at + 4:
            return None
        size = struct.unpack_from("!i", data, at)[0]
        at += 4
        if size < 0:
            cells.append(None)
            continue
        if len(data) < at + size:
            return None
        cells.append(bytes(data[at : at + size]))
        at += size
    return cells, at
