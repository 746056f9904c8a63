"""Files of rows: CSV, TSV, JSON and Parquet as rows of a stream or table, and results as CSV.

A CSV or TSV file begins with a line of column names. JSON is an array of objects, or one object a line.
Rows are read one by one, so a file may be larger than memory, except for an array.
"""

from __future__ import annotations

import base64
import csv
import io
import json
import math
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, time
from decimal import Decimal, InvalidOperation
from typing import Any, BinaryIO

CSV, TSV, JSON, PARQUET = "csv", "tsv", "json", "parquet"
#: the longest line, and array, in characters
MOST_CHARACTERS = 64 * 1024 * 1024
#: no DECIMAL has more digits before or after the point
_MOST_DIGITS = 38

_NEEDS_QUOTES = re.compile(r'[",\r\n]|^$|^\s|\s$')


class Misfit(ValueError):
    """Raised with what is wrong in a file, and where, such as ``line 2: …``."""


#: a row's place, and its values by the names in the file
Rows = Iterator[tuple[str, Mapping[str, Any]]]


def rows_of(file: BinaryIO, form: str, fields: Mapping[str, Mapping[str, Any]]) -> Rows:
    """The rows of a file, each with its place; names are those of the columns, in back-quotes.

    Args:
        file: is read from where it is.
        form: CSV, TSV, JSON or PARQUET.
        fields: the columns of the target with their types as the REST API has them; names in a file match
            them whatever their case.

    Raises:
        Misfit: the file cannot be read, or a value is not of its column's type.
        ModuleNotFoundError: pyarrow is not installed, which PARQUET needs.
    """
    is_text = form in (CSV, TSV)
    names = {name.upper(): name for name in fields}
    try:
        for place, row in READERS[form](file):
            values: dict[str, Any] = {}
            for column, value in row.items():
                name = column if column in fields else names.get(str(column).upper())
                if name is None:
                    columns = ", ".join(fields)
                    at = "line 1" if is_text else place
                    raise Misfit(f"{at}: there is no column {column}. There are: {columns}.")
                if f"`{name}`" in values:
                    raise Misfit(f"{'line 1' if is_text else place}: there are two columns {name}.")
                try:
                    read = _typed(value, fields[name]) if is_text else _exact(value, fields[name], form)
                    values[f"`{name}`"] = read
                except (ValueError, InvalidOperation, RecursionError):
                    kind = fields[name]["type"]
                    raise Misfit(f"{place}: '{value}' in {column} is no {kind}.") from None
            yield place, values
    except UnicodeDecodeError:
        raise Misfit("it is not UTF-8 text.") from None


def csv_line(values: Sequence[Any], text_of: Callable[[Any], str]) -> str:
    """A line of CSV: RFC 4180, with line feeds; NULL is empty, the empty text is in quotes.

    >>> csv_line(["a,b", None, "", 1], str)
    '"a,b",,"",1\\n'
    """
    return ",".join(_csv_cell(value, text_of) for value in values) + "\n"


def _csv_cell(value: Any, text_of: Callable[[Any], str]) -> str:
    if value is None:
        return ""
    text = value if isinstance(value, str) else text_of(value)
    return '"' + text.replace('"', '""') + '"' if _NEEDS_QUOTES.search(text) else text


def _typed(text: str, schema: Mapping[str, Any]) -> Any:
    """A cell of text as a value of a type; what is empty is NULL. Raises ValueError."""
    if text == "":
        return None
    match schema["type"]:
        case "INTEGER" | "BIGINT":
            return int(text)
        case "DOUBLE":
            number = float(text)
            if not math.isfinite(number):  # JSON has none of these
                raise ValueError(text)
            return number
        case "DECIMAL":
            return _decimal(Decimal(text))
        case "BOOLEAN":
            if text.lower() not in ("true", "false"):
                raise ValueError(text)
            return text.lower() == "true"
        case "ARRAY" | "MAP" | "STRUCT":
            return json.loads(text)
        case "VARIANT":
            return _parsed(text)
    return text


def _decimal(number: Decimal) -> Decimal:
    """A number that can be written with all its digits. Raises ValueError: no DECIMAL has so many."""
    if not number.is_finite() or (number and abs(number.adjusted()) > _MOST_DIGITS):
        raise ValueError(number)
    return number or Decimal(0)


def _parsed(text: str) -> Any:
    """The value of a text with JSON. Raises ValueError: it has none, or one that a VARIANT would lose."""
    return _variant(json.loads(text, parse_float=Decimal, parse_constant=_no_json))


def _no_json(word: str) -> Any:
    """NaN and Infinity, which JSON does not have. Raises ValueError."""
    raise ValueError(word)


def _variant(value: Any) -> Any:
    """A value for a VARIANT, with the numbers that JSON's writers have. Raises ValueError: one is longer."""
    match value:
        case dict():
            return {name: _variant(one) for name, one in value.items()}
        case list():
            return [_variant(one) for one in value]
        case Decimal():
            number = float(value)
            if Decimal(repr(number)) != value:
                raise ValueError(value)
            return number
        case float() if not math.isfinite(value):
            raise ValueError(value)
    return value


def _exact(value: Any, schema: Mapping[str, Any], form: str) -> Any:
    """A value of JSON or Parquet as one of JSON: numbers with a point are exact only in a DECIMAL.

    A VARIANT is a text with JSON in Parquet; what it cannot hold exactly is refused.
    """
    if schema["type"] == "VARIANT":
        is_json = form == PARQUET and isinstance(value, str)
        return _parsed(value) if is_json else _variant(value)
    match value:
        case bytes():
            return base64.b64encode(value).decode()
        case date() | time():
            return value.isoformat()
        case Decimal():
            return _decimal(value) if schema["type"] == "DECIMAL" else float(value)
        case list() if (element := schema.get("memberSchema")) is not None:
            return [_exact(one, element, form) for one in value]
        case dict():
            member = schema.get("memberSchema")
            members = {field["name"]: field["schema"] for field in schema.get("fields") or ()}
            return {
                name: _exact(one, member or members.get(name, {"type": ""}), form)
                for name, one in value.items()
            }
    return value


def _csv(file: BinaryIO, delimiter: str = ",") -> Rows:
    reader = csv.reader((line for _, line in _lines(file)), delimiter=delimiter, strict=True)
    try:
        names = next(reader, None)
        if names is None:
            raise Misfit("it is empty: its first line names the columns.")
        for cells in reader:
            if not cells:
                continue
            place = f"line {reader.line_num}"
            if len(cells) != len(names):
                raise Misfit(f"{place}: {len(cells)} values for {len(names)} columns.")
            yield place, dict(zip(names, cells, strict=True))
    except csv.Error as error:
        raise Misfit(f"line {reader.line_num}: {error}.") from None


def _tsv(file: BinaryIO) -> Rows:
    return _csv(file, "\t")


def _lines(file: BinaryIO) -> Iterator[tuple[int, str]]:
    """The lines of a text, with their numbers and ends.

    Raises:
        Misfit: one is too long to be in memory.
    """
    text = io.TextIOWrapper(file, encoding="utf-8-sig", newline="")
    number = 0
    while line := text.readline(MOST_CHARACTERS):
        number += 1
        if len(line) == MOST_CHARACTERS and not line.endswith("\n"):
            raise Misfit(f"line {number} has more than {MOST_CHARACTERS} characters.")
        yield number, line


def _json(file: BinaryIO) -> Rows:
    lines = _lines(file)
    first = next(((number, line) for number, line in lines if line.strip()), None)
    if first is None:
        return
    if first[1].lstrip().startswith("["):
        for number, row in enumerate(_decoded(_whole(first[1], lines), first[0]), 1):
            yield _row(f"element {number}", row)
        return
    yield _row(f"line {first[0]}", _decoded(first[1], first[0]))
    for number, line in lines:
        if line.strip():
            yield _row(f"line {number}", _decoded(line, number))


def _whole(first: str, lines: Iterator[tuple[int, str]]) -> str:
    parts, size = [first], len(first)
    for _, line in lines:
        parts.append(line)
        size += len(line)
        if size > MOST_CHARACTERS:
            raise Misfit(f"an array of more than {MOST_CHARACTERS} characters: write one object a line.")
    return "".join(parts)


def _row(place: str, row: Any) -> tuple[str, Mapping[str, Any]]:
    if not isinstance(row, dict):
        raise Misfit(f"{place}: a row is an object.")
    return place, row


def _decoded(text: str, line: int) -> Any:
    """A JSON text that begins at a line of a file. Raises Misfit."""
    try:
        return json.loads(text, parse_float=Decimal)
    except json.JSONDecodeError as error:
        raise Misfit(f"line {line + error.lineno - 1}: {error.msg}.") from None
    except RecursionError:
        raise Misfit(f"line {line}: it is nested too deeply.") from None
    except ValueError:  # Python reads no more digits of an integer
        raise Misfit(f"line {line}: a number has more than {sys.get_int_max_str_digits()} digits.") from None


def _parquet(file: BinaryIO) -> Rows:
    from pyarrow import ArrowInvalid, parquet

    with tempfile.TemporaryFile() as whole:  # its end tells where the rows are
        shutil.copyfileobj(file, whole)
        number = 0
        try:
            for batch in parquet.ParquetFile(whole).iter_batches(1000):
                for row in batch.to_pylist():
                    number += 1
                    yield f"row {number}", row
        except ArrowInvalid as error:
            raise Misfit(f"it is no Parquet file: {error}") from None


#: form -> what reads it
READERS: dict[str, Callable[[BinaryIO], Rows]] = {CSV: _csv, TSV: _tsv, JSON: _json, PARQUET: _parquet}
