"""Mutations: mistakes that could be made in the product, and tests that notice them.

``table.txt`` has a paragraph for each: the area and what users would see; the file; after ``- `` the lines
that it has exactly once, and after ``+ `` those that replace them; then the tests that notice it, as pytest
calls them, or for a case its file, a colon and the beginning of its name.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ksql_spark.tools.testing import files
from tests.cases import name_of

ROOT = Path(__file__).parents[2]
FILE = Path(__file__).with_name("table.txt")


@dataclass(frozen=True)
class Mutation:
    """A mistake: ``text`` in ``file`` becomes ``replacement``."""

    area: str
    breaks: str
    file: str
    text: str
    replacement: str
    tests: tuple[str, ...]


def read() -> list[Mutation]:
    """The mutations of the table."""
    return [_mutation(paragraph.splitlines()) for paragraph in FILE.read_text().strip().split("\n\n")]


def _mutation(lines: list[str]) -> Mutation:
    area, _, breaks = lines[0].partition(": ")
    before, after = ("\n".join(x[2:] for x in lines[2:] if x.startswith(mark)) for mark in ("- ", "+ "))
    return Mutation(area, breaks, lines[1], before, after, tuple(x for x in lines[2:] if x[1] != " "))


def node(test: str) -> str:
    """What pytest calls a test of the table.

    Raises:
        LookupError: not exactly one case of the file has a name that begins so.
    """
    path, separator, title = test.partition(".sql: ")
    if not separator:
        return test
    cases = [case for case in files.read(ROOT / f"{path}.sql") if case.name.startswith(title)]
    if len(cases) != 1:
        raise LookupError(f"{len(cases)} cases: {test}")
    return f"tests/cases/test_cases.py::test_case[{name_of(cases[0])}]"
