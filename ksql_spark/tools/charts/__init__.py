"""What tools send over PostgreSQL's port: a file of SQL for each, with a statement for each kind of chart.

The statements have the forms that the tools generate, in words of our own. Names of a table and its columns
are in braces: ``{table}``, ``{key}``, and a column of a type each.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from importlib import resources
from typing import NamedTuple

from ksql_spark.grammar.words import KEYWORDS

#: what a statement may name beside the table -> PostgreSQL's types that such a column may have; empty: any
COLUMNS: dict[str, tuple[str, ...]] = {
    "key": (),
    "text": ("text",),
    "number": ("numeric", "double precision", "bigint", "integer"),
    "time": ("timestamp without time zone",),
    "date": ("date",),
}
_NAMES = r"\{(table|" + "|".join(COLUMNS) + r")\}"
_QUOTED_OR_NAME = re.compile(rf'"[^"]*"|{_NAMES}(\w*)')
_NAME = re.compile(_NAMES)
_PLAIN = re.compile(r"[a-z_][a-z0-9_]*")


class Chart(NamedTuple):
    """A kind of statement of a tool.

    Args:
        tool: the name of its file: ``superset``.
        name: what it is for.
        sql: its text, with names in braces.
    """

    tool: str
    name: str
    sql: str

    @property
    def columns(self) -> list[str]:
        """The columns that it names, in the order of COLUMNS."""
        named = set(_NAME.findall(self.sql))
        return [column for column in COLUMNS if column in named]

    def of(self, names: Mapping[str, str]) -> str:
        """The statement over a table.

        Args:
            names: the table's and its columns', as PostgreSQL's clients see them.

        >>> Chart("", "", 'SELECT {key}, "sum:{key}" FROM {table}').of({"table": "t", "key": "Id"})
        'SELECT "Id", "sum:Id" FROM t'
        """

        def put(found: re.Match[str]) -> str:
            if found[0].startswith('"'):
                return _NAME.sub(lambda name: names[name[1]].replace('"', '""'), found[0])
            return _written(names[found[1]] + found[2])

        return _QUOTED_OR_NAME.sub(put, self.sql)


def _written(name: str) -> str:
    """A name, in quotes if it needs them."""
    if _PLAIN.fullmatch(name) and name.upper() not in KEYWORDS:
        return name
    return '"' + name.replace('"', '""') + '"'


def charts() -> Iterator[Chart]:
    """The statements of all tools."""
    for file in sorted(resources.files(__name__).iterdir(), key=lambda file: file.name):
        tool, _, kind = file.name.rpartition(".")
        if kind == "sql":
            yield from _read(tool, file.read_text(encoding="utf-8"))


def _read(tool: str, text: str) -> Iterator[Chart]:
    for part in text.split(";\n"):
        title, _, sql = part.strip().partition("\n")
        if sql:
            yield Chart(tool, title.removeprefix("-- "), sql)
