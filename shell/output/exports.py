"""Formats for other programs: one line for each row, whatever the terminal."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

from ksql_spark.row_files import csv_line
from ksql_spark.shell.output.console import Form
from ksql_spark.shell.output.text import NULL, json_text, value_text

_ESCAPES = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"}


@dataclass(frozen=True)
class Export:
    """A file format for results.

    Attributes:
        header: the text before the rows, from the columns' names and the indices of those with numbers.
        row: the text of one row, from the columns' names and its values.
    """

    header: Callable[[Sequence[str], Collection[int]], str]
    row: Callable[[Sequence[str], Sequence[Any]], str]


def _csv_line(values: Sequence[Any]) -> str:
    return csv_line(values, value_text)


def _tsv_line(values: Sequence[Any]) -> str:
    r"""Tabs, line ends and backslashes are escaped; NULL is \N.

    >>> _tsv_line(["a", None, 1])
    'a\t\\N\t1\n'
    """
    cells = (r"\N" if value is None else _tsv_cell(value) for value in values)
    return "\t".join(cells) + "\n"


def _tsv_cell(value: Any) -> str:
    return "".join(_ESCAPES.get(one, one) for one in _plain(value))


def _markdown_line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |\n"


def _markdown_cell(value: Any) -> str:
    if value is None:
        return f"*{NULL}*"
    return re.sub(r"([\\|*_`<])", r"\\\1", value_text(value)).replace("\n", "<br>")


def _markdown_header(names: Sequence[str], numbers: Collection[int]) -> str:
    rule = ["---:" if index in numbers else "---" for index in range(len(names))]
    return _markdown_line([_markdown_cell(name) for name in names]) + _markdown_line(rule)


def _plain(value: Any) -> str:
    """A value without the escapes that protect a terminal."""
    return value if isinstance(value, str) else value_text(value)


#: format -> its text
EXPORTS: dict[Form, Export] = {
    Form.NDJSON: Export(
        header=lambda names, numbers: "",
        row=lambda names, values: json_text(dict(zip(names, values, strict=True))) + "\n",
    ),
    Form.CSV: Export(
        header=lambda names, numbers: _csv_line(names), row=lambda names, values: _csv_line(values)
    ),
    Form.TSV: Export(
        header=lambda names, numbers: _tsv_line(names), row=lambda names, values: _tsv_line(values)
    ),
    Form.MARKDOWN: Export(
        header=_markdown_header,
        row=lambda names, values: _markdown_line([_markdown_cell(value) for value in values]),
    ),
}
