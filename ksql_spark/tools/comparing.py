"""Compares the rows of two streams or tables of one server."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ksql_spark.client.values import type_text
from ksql_spark.shell.client import Client, ClientError, Settings
from ksql_spark.shell.output.text import json_text
from ksql_spark.shell.statements import quoted_name

BOUNDS = ("WINDOWSTART", "WINDOWEND")
#: how many differing rows are shown
_SAMPLES = 3
_SCANS = {"ksql.query.pull.table.scan.enabled": True}
_COUNT = "COMPARED_COUNT"


@dataclass(frozen=True)
class Comparison:
    """The comparison of the rows of two streams or tables.

    Args:
        what: kind and name of both.
        reason: why they were not compared; empty if they were.
        rows: how many rows the other one has, and this one.
        only_there, only_here: how many rows one of them has alone; a table's row that differs is in both.
        samples: some of these rows, each with where it is.
        is_behind: whether a server had records left to read for one of them, so that differences may vanish.
    """

    what: str
    reason: str = ""
    rows: tuple[int, int] = (0, 0)
    only_there: int = 0
    only_here: int = 0
    samples: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    is_behind: bool = False

    @property
    def is_equal(self) -> bool:
        """Whether both have the same rows."""
        return not (self.reason or self.only_there or self.only_here)

    @property
    def state(self) -> str:
        """The result in one word: equal, behind, differs or unknown."""
        if self.reason:
            return "unknown"
        return "equal" if self.is_equal else "behind" if self.is_behind else "differs"

    def __str__(self) -> str:
        there, here = self.rows
        if self.reason:
            return self.reason
        if self.is_equal:
            return f"{here:,} rows"
        alone = f"{self.only_there:,} only there, {self.only_here:,} only here"
        return f"{there:,} rows there, {here:,} here; {alone}"

    def lines(self) -> Iterator[str]:
        """Return the samples, as text."""
        for where, row in self.samples:
            yield f"         only {where}: {json_text(row)}"


def not_compared(what: str, error: ClientError) -> Comparison:
    """Return the comparison that ended with an error."""
    return Comparison(what, reason=" ".join(str(error).split()))


def comparable(fields: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """The columns that rows can be compared by, with their types; ``fields`` are those of a description."""
    types = {str(field["name"]): type_text(field["schema"]) for field in fields}
    return {name: type_ for name, type_ in types.items() if "MAP<" not in type_}


def compared_rows(client: Client, what: str, here: str, there: str, columns: Sequence[str]) -> Comparison:
    """Compare two streams or tables.

    Args:
        client: of the server that has both.
        what: kind and name of both.
        here, there: their names on this server.
        columns: the columns to compare, which both have.

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
    return Comparison(
        what,
        rows=(counts[0], counts[1]),
        only_there=int(only[0] or 0),
        only_here=int(only[1] or 0),
        samples=tuple(
            ("here" if row[-1] > 0 else "there", dict(zip(columns, row, strict=False))) for row in samples
        ),
    )


def _name(column: str) -> str:
    return column if column in BOUNDS else quoted_name(column)


__all__ = ["BOUNDS", "Comparison", "comparable", "compared_rows", "not_compared"]
