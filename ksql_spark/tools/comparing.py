"""Compares the rows of two streams or tables of one server."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ksql_spark.client.values import type_text
from ksql_spark.shell.client import Client, Settings
from ksql_spark.shell.output.text import json_text
from ksql_spark.shell.statements import quoted_name

BOUNDS = ("WINDOWSTART", "WINDOWEND")
#: how many differing rows are shown
_SAMPLES = 3
_SCANS = {"ksql.query.pull.table.scan.enabled": True}
_COUNT = "COMPARED_COUNT"


@dataclass(frozen=True)
class Differences:
    """The differences between two streams or tables.

    Args:
        rows: how many the other one has, and this one.
        only_there, only_here: how many rows one of them has alone; a table's row that differs is in both.
        samples: some of these rows, each with where it is.
    """

    rows: tuple[int, int]
    only_there: int
    only_here: int
    samples: tuple[tuple[str, Mapping[str, Any]], ...] = ()

    @property
    def are_none(self) -> bool:
        """Whether both have the same rows."""
        return not (self.only_there or self.only_here)

    def __str__(self) -> str:
        there, here = self.rows
        if self.are_none:
            return f"{here:,} rows"
        alone = f"{self.only_there:,} only there, {self.only_here:,} only here"
        return f"{there:,} rows there, {here:,} here; {alone}"

    def lines(self) -> Iterator[str]:
        """The samples, as text."""
        for where, row in self.samples:
            yield f"         only {where}: {json_text(row)}"


def comparable(fields: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """The columns that rows can be compared by, with their types; ``fields`` are those of a description."""
    types = {str(field["name"]): type_text(field["schema"]) for field in fields}
    return {name: type_ for name, type_ in types.items() if "MAP<" not in type_}


def compared_rows(client: Client, here: str, there: str, columns: Sequence[str]) -> Differences:
    """Compare two streams or tables by these columns, which both have.

    Raises:
        ClientError: the server does not answer, or cannot compare them.
    """

    def rows(text: str) -> list[list[Any]]:
        return [*client.rows(text, Settings(_SCANS))]

    counts = [int(rows(f"SELECT COUNT(*) FROM {quoted_name(name)};")[0][0]) for name in (there, here)]
    names = ", ".join(map(_name, columns))
    sides = " UNION ALL ".join(
        f"SELECT {names}, {one} AS {_COUNT} FROM {quoted_name(name)}"
        for name, one in ((here, 1), (there, -1))
    )
    differing = (
        f"SELECT {names}, SUM({_COUNT}) AS {_COUNT} FROM ({sides}) GROUP BY {names} HAVING SUM({_COUNT}) <> 0"
    )
    sums = (f"SUM(CASE WHEN {_COUNT} {sign} 0 THEN ABS({_COUNT}) ELSE 0 END)" for sign in "<>")
    (only,) = rows(f"SELECT {', '.join(sums)} FROM ({differing});")
    samples = rows(f"{differing} LIMIT {_SAMPLES};") if any(only) else []
    return Differences(
        (counts[0], counts[1]),
        int(only[0] or 0),
        int(only[1] or 0),
        tuple(("here" if row[-1] > 0 else "there", dict(zip(columns, row, strict=False))) for row in samples),
    )


def _name(column: str) -> str:
    return column if column in BOUNDS else quoted_name(column)


__all__ = ["BOUNDS", "Differences", "comparable", "compared_rows"]
