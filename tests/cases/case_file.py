"""Case files: SQL with directives in comments, read into steps and written back with what came out.

::

    --@test: a title                         a case begins; statements before the first belong to all cases
    --@notyet: reason                        the case must fail for now
    --@server: name = value                  a property of the server's configuration
    --@output SINK folded|ordered|rowsort    what the sink's topic holds
    --@output SINK folded repeating          the same, and the statement before is run until it is so
    --@rows [ordered|rowsort]                what the SELECT or PRINT before it gives
    --@error: CONDITION                      how the statement before it is refused
    --@restart                               the engine is stopped and started again

``--@output`` and ``--@rows`` are followed by a table, ``--@error`` may be by the message, in comments. The
table's first line names the columns. ``folded`` is the last value of each key; ``ordered`` and ``rowsort``
are the records since the sink's last ``--@output``. ``repeating`` is for rows of two topics that race each
other: nothing says whether a join sees a table's row before a stream's that was written after it.

The last row that a case writes must show in the output: then everything before it has been processed too.
Names of topics begin with ``${case}``, which is different in each run. Pure: no Kafka, no Spark.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from ksql_spark import grammar

FOLDER = Path(__file__).parent
MODES = ("folded", "ordered", "rowsort")
Cells = list[str]


@dataclass(frozen=True)
class Sql:
    """One statement and the line it begins at."""

    text: str
    line: int


@dataclass(frozen=True)
class Check:
    """An expectation: ``kind`` output, rows or error; its comment lines are lines [first, last) of the file.

    ``subject`` is the sink or the condition; ``repeats``: run the statement before it until it holds.
    """

    kind: str
    line: int
    subject: str = ""
    mode: str = "ordered"
    comments: tuple[str, ...] = ()
    repeats: bool = False

    @property
    def header(self) -> Cells:
        """The names of the columns; [] where the table is missing."""
        return split_row(self.comments[0]) if self.comments else []

    @property
    def rows(self) -> list[Cells]:
        """The expected rows."""
        return [split_row(c) for c in self.comments[1:]]


@dataclass(frozen=True)
class Restart:
    """Stop the engine and start it again on the same data."""

    line: int


@dataclass
class Case:
    """One case: ``steps`` in their order; lines [line, end) of the file."""

    path: Path
    title: str
    line: int
    end: int = 0
    notyet: str | None = None
    server: dict[str, str] = field(default_factory=dict)
    steps: list[Sql | Check | Restart] = field(default_factory=list)


def read(path: Path) -> list[Case]:
    """The cases of a file.

    Raises:
        ValueError: a directive that is not one, with file and line.
    """
    lines = path.read_text(encoding="utf-8").splitlines()
    shared = Case(path, "", 1)
    cases = [shared]
    number = 0
    while number < len(lines):
        line = lines[number]
        if line.startswith("--@"):
            number = _directive(cases, lines, number)
        else:
            end = next((i for i in range(number, len(lines)) if lines[i].startswith("--@")), len(lines))
            text = "\n".join(lines[number:end])
            cases[-1].steps += [Sql(s.text + ";", number + s.line) for s in grammar.split(text) if s.text]
            number = end
        cases[-1].end = number + 1
    for case in cases[1:]:
        case.steps[:0] = shared.steps
        case.server = shared.server | case.server
    return cases[1:]


def every_case() -> Iterator[Case]:
    """The cases of all files; only that at a line, or those of one file, where CASE=path:line says so."""
    chosen, _, line = os.environ.get("CASE", "").partition(":")
    for path in sorted(FOLDER.rglob("*.sql")):
        if not chosen or path == Path(chosen).absolute():
            yield from (case for case in read(path) if not line or case.line <= int(line) < case.end)


def _directive(cases: list[Case], lines: Sequence[str], number: int) -> int:
    """Take in the directive at index ``number``; the index of the line after it and its comments."""
    line = lines[number]
    name, _, rest = line.removeprefix("--@").partition(" ")
    name, rest = name.rstrip(":"), rest.strip()
    end = number + 1
    if name in ("output", "rows", "error"):
        while end < len(lines) and lines[end].startswith("--") and not lines[end].startswith("--@"):
            end += 1
    comments = tuple(text.removeprefix("--").removeprefix(" ") for text in lines[number + 1 : end])
    words = rest.split()
    match name, words:
        case "test", [_, *_]:
            cases.append(Case(cases[0].path, rest, number + 1))
        case "notyet", [_, *_]:
            cases[-1].notyet = rest
        case "server", [name, "=", value]:
            cases[-1].server[name] = value
        case "restart", []:
            cases[-1].steps.append(Restart(number + 1))
        case "output", [sink, mode] if mode in MODES:
            cases[-1].steps.append(Check("output", number + 1, sink, mode, comments))
        case "output", [sink, "folded", "repeating"]:
            check = Check("output", number + 1, sink, "folded", comments, repeats=True)
            cases[-1].steps.append(check)
        case "rows", [] | ["ordered"] | ["rowsort"]:
            cases[-1].steps.append(Check("rows", number + 1, "", (words or ["ordered"])[0], comments))
        case "error", [condition]:
            cases[-1].steps.append(Check("error", number + 1, condition, comments=comments))
        case _:
            raise ValueError(f"{cases[0].path}:{number + 1}: no such directive: {line}")
    return end


def write(path: Path, outcomes: Iterable[tuple[Check, Sequence[str]]]) -> None:
    """Put what came out into the file: for each check its new comment lines."""
    lines = path.read_text(encoding="utf-8").splitlines()
    for check, comments in sorted(outcomes, key=lambda pair: pair[0].line, reverse=True):
        last = check.line + len(check.comments)
        lines[check.line : last] = [f"-- {c}".rstrip() for c in comments]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def cell(value: Any) -> str:
    """A value of the REST API's form as it stands in a table."""
    if value is None:
        return "NULL"
    if isinstance(value, str):
        is_plain = value == value.strip() and value not in ("", "NULL") and value.isprintable()
        # a border is told from a | in a text by the quotes around it, so these must be in pairs
        is_plain = is_plain and not set(value) & set("|\\") and value.count('"') % 2 == 0
        return value if is_plain else json.dumps(value, ensure_ascii=False)
    return _json(value)


def _json(value: Any) -> str:
    """JSON with all digits of a DECIMAL, at any depth."""
    match value:
        case Decimal():
            return f"{value:f}"
        case list():
            return f"[{', '.join(map(_json, value))}]"
        case dict():
            return f"{{{', '.join(f'{_json(name)}: {_json(part)}' for name, part in value.items())}}}"
        case _:
            return json.dumps(value, ensure_ascii=False)


def split_row(text: str) -> Cells:
    """The cells of a table's line (a ``|`` inside of a quoted text is not a border)."""
    cells, current, is_quoted = [], "", False
    for character in text:
        if character == '"' and not current.endswith("\\"):
            is_quoted = not is_quoted
        if character == "|" and not is_quoted:
            cells.append(current.strip())
            current = ""
        else:
            current += character
    return [*cells, current.strip()]


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Lines of a table with its columns aligned."""
    every = [[*row, *[""] * (len(header) - len(row))] for row in (header, *rows)]
    widths = [max(len(row[i]) for row in every) for i in range(len(header))]
    return [" | ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in every]
