"""The files in cases/: statements, each with what the analyzer makes of it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ksql_spark.metastore.store import MetaStore
from tests.analyzer.binding import run

CASES = Path(__file__).parent / "cases"
INDENT = "    "


@dataclass(frozen=True)
class Case:
    path: Path
    line: int
    statement: str
    expected: str


def read(path: Path) -> tuple[str, list[Case]]:
    """The statements before ``----``, and the cases after it."""
    setup, _, rest = path.read_text(encoding="utf-8").partition("\n----\n")
    first = setup.count("\n") + 3
    cases: list[Case] = []
    statement: list[str] = []
    expected: list[str] = []
    start = first

    def close() -> None:
        if statement:
            cases.append(Case(path, start, "\n".join(statement), "\n".join(expected)))
        statement.clear()
        expected.clear()

    for number, line in enumerate(rest.splitlines(), first):
        if line.startswith(INDENT) and statement and statement[-1].endswith(";"):
            expected.append(line.removeprefix(INDENT))
        elif line.strip():
            if expected or not statement or statement[-1].endswith(";"):
                close()
                start = number
            statement.append(line)
    close()
    return setup, cases


@cache
def scene(setup: str) -> MetaStore:
    """The metastore after the statements of ``setup``."""
    store = MetaStore()
    run(setup, store)
    return store
