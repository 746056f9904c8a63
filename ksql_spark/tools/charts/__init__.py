"""What tools send over PostgreSQL's port: a file of SQL for each, with a statement for each kind of chart.

The statements have the forms that the tools generate, in words of our own. Names of a table and its columns
are in braces: ``{table}``, ``{key}``, and a column of a type each.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from importlib import resources
from typing import NamedTuple

#: what a statement may name beside the table -> the types that such a column may have
COLUMNS: dict[str, tuple[str, ...]] = {
    "key": (),
    "text": ("STRING",),
    "number": ("DECIMAL", "DOUBLE", "BIGINT", "INTEGER"),
    "time": ("TIMESTAMP",),
    "date": ("DATE",),
}
_NAME = re.compile(r"\{(table|" + "|".join(COLUMNS) + r")\}")


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
    def columns(self) -> frozenset[str]:
        """The columns that it names."""
        return frozenset(_NAME.findall(self.sql)) - {"table"}

    def of(self, names: Mapping[str, str]) -> str:
        """The statement over a table.

        Args:
            names: the table's and its columns', as PostgreSQL's clients see them.
        """
        return _NAME.sub(lambda found: names[found[1]], self.sql)


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
