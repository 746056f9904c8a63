"""COPY: rows of a file into a stream or table, and results of a query into a file (beyond ksqlDB).

    COPY orders FROM 'orders.csv';
    COPY (SELECT * FROM sales) TO 'sales.json';

The shell reads and writes the files, so they are on its machine. The ending of a file's name tells its form:
csv with a line of column names, json (an array, or one object a line), or parquet, which is only read.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from itertools import islice
from pathlib import Path
from typing import Any

from ksql_spark.shell.client import ClientError, ServerError
from ksql_spark.shell.output.console import Form

_COPY = re.compile(
    r"COPY\s+(?:(?P<name>`[^`]+`|[\w.]+)\s+FROM|\((?P<query>.*)\)\s*TO)\s+'(?P<file>(?:[^']|'')+)'\s*;?\s*",
    re.IGNORECASE | re.DOTALL,
)
#: how a server names a row that it refuses, from 0
_ROW = re.compile(r"row (\d+): (.*)", re.DOTALL)
USAGE = "COPY name FROM 'file.csv|json|parquet'; or COPY (SELECT …) TO 'file.csv|json|tsv|md';"
_FORMS = {
    ".csv": Form.CSV, ".tsv": Form.TSV, ".json": Form.NDJSON, ".jsonl": Form.NDJSON, ".ndjson": Form.NDJSON,
    ".md": Form.MARKDOWN,
}  # fmt: skip


@dataclass(frozen=True)
class Copy:
    """One COPY: a stream or table that takes a file, or a query whose result a file takes."""

    file: Path
    target: str | None
    query: str | None

    @property
    def form(self) -> Form:
        """The form in which a result is written. Raises ClientError."""
        if (found := _FORMS.get(self.file.suffix.lower())) is None:
            raise ClientError(f"COPY cannot write {self.file.name}: it writes {', '.join(_FORMS)}.")
        return found


def parsed(text: str) -> Copy:
    """What a COPY says. Raises ClientError."""
    found = _COPY.fullmatch(text.strip())
    if found is None:
        raise ClientError(f"This is no COPY: {USAGE}")
    file = Path(found["file"].replace("''", "'")).expanduser()
    return Copy(file, found["name"], found["query"] and f"{found['query'].strip()};")


def rows_of(file: Path, fields: Mapping[str, Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """The rows of a file, by the names of its columns.

    Args:
        file: csv, json or parquet.
        fields: the columns of the target with their types as the REST API has them; names in a file match
            them whatever their case.

    Raises:
        ClientError: the file cannot be read, or a value is not of its column's type, with its line.
    """
    reader = _READERS.get(file.suffix.lower())
    if reader is None:
        raise ClientError(f"COPY cannot read {file.name}: it reads {', '.join(_READERS)}.")
    is_text = file.suffix.lower() in (".csv", ".tsv")
    names = {name.upper(): name for name in fields}
    try:
        for place, row in reader(file):
            made: dict[str, Any] = {}
            for column, value in row.items():
                name = column if column in fields else names.get(str(column).upper())
                if name is None:
                    known = ", ".join(fields)
                    place = "line 1" if is_text else place
                    raise ClientError(f"{file}, {place}: there is no column {column}. There are: {known}.")
                try:
                    convert = _typed if is_text else _exact
                    made[f"`{name}`"] = convert(value, fields[name])
                except (ValueError, InvalidOperation):
                    kind = fields[name]["type"]
                    raise ClientError(f"{file}, {place}: '{value}' in {column} is no {kind}.") from None
            yield made
    except OSError as error:
        raise ClientError(f"Cannot read {file}: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise ClientError(f"Cannot read {file}: it is not UTF-8 text.") from None


def refused(error: ServerError, file: Path) -> ClientError:
    """The error of a server that has refused a row, with the row's place in the file."""
    found = _ROW.match(error.message)
    if found is None:
        return error
    rows = _READERS[file.suffix.lower()](file)
    place, _ = next(islice(rows, int(found[1]), None))
    return ClientError(f"{file}, {place}: {found[2]}")


def _typed(text: str, schema: Mapping[str, Any]) -> Any:
    """A cell of text as a value of a type; what is empty is NULL. Raises ValueError."""
    if text == "":
        return None
    match schema["type"]:
        case "INTEGER" | "BIGINT":
            return int(text)
        case "DOUBLE":
            return float(text)
        case "DECIMAL":
            return Decimal(text)
        case "BOOLEAN":
            if text.lower() not in ("true", "false"):
                raise ValueError(text)
            return text.lower() == "true"
        case "ARRAY" | "MAP" | "STRUCT":
            return json.loads(text)
    return text


def _exact(value: Any, schema: Mapping[str, Any]) -> Any:
    """A value of JSON or Parquet: numbers with a point are exact only in a DECIMAL."""
    match value:
        case Decimal() if schema["type"] != "DECIMAL":
            return float(value)
        case list() if (element := schema.get("memberSchema")) is not None:
            return [_exact(one, element) for one in value]
        case dict():
            member = schema.get("memberSchema")
            members = {field["name"]: field["schema"] for field in schema.get("fields") or ()}
            return {
                name: _exact(one, member or members.get(name, {"type": ""})) for name, one in value.items()
            }
    return value


def _csv(file: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    with file.open(encoding="utf-8-sig", newline="") as lines:
        reader = csv.reader(lines, delimiter="\t" if file.suffix.lower() == ".tsv" else ",")
        names = next(reader, None)
        if names is None:
            raise ClientError(f"{file} is empty: its first line names the columns.")
        for cells in reader:
            if not cells:
                continue
            place = f"line {reader.line_num}"
            if len(cells) != len(names):
                raise ClientError(f"{file}, {place}: {len(cells)} values for {len(names)} columns.")
            yield place, dict(zip(names, cells, strict=True))


def _json(file: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    with file.open(encoding="utf-8-sig") as lines:
        if lines.read(1000).lstrip().startswith("["):
            lines.seek(0)
            listed = _decoded(lines.read().removeprefix("\ufeff"), file, 1)
            found = ((f"element {number}", row) for number, row in enumerate(listed, 1))
        else:
            lines.seek(0)
            found = (
                (f"line {number}", _decoded(line.removeprefix("\ufeff"), file, number))
                for number, line in enumerate(lines, 1)
                if line.strip()
            )
        for place, row in found:
            if not isinstance(row, dict):
                raise ClientError(f"{file}, {place}: a row is an object.")
            yield place, row


def _decoded(text: str, file: Path, line: int) -> Any:
    """A JSON text that begins at a line of a file. Raises ClientError."""
    try:
        return json.loads(text, parse_float=Decimal)
    except json.JSONDecodeError as error:
        raise ClientError(f"{file}, line {line + error.lineno - 1}: {error.msg}.") from None


def _parquet(file: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    try:
        from pyarrow import ArrowInvalid, parquet
    except ModuleNotFoundError:
        raise ClientError("pyarrow is not installed: pip install 'ksql-spark[frames]'") from None
    number = 0
    try:
        for batch in parquet.ParquetFile(file).iter_batches():
            for row in batch.to_pylist():
                number += 1
                yield f"row {number}", row
    except ArrowInvalid as error:
        raise ClientError(f"Cannot read {file}: {error}") from None


_READERS: dict[str, Callable[[Path], Iterator[tuple[str, Mapping[str, Any]]]]] = {
    ".csv": _csv, ".tsv": _csv, ".json": _json, ".jsonl": _json, ".ndjson": _json, ".parquet": _parquet,
}  # fmt: skip
