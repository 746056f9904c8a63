"""Every statement in cases/*.sql gives the plan, or the error with its place, that is written below it.

Above the line ``----`` stand the statements that set the scene; below it each statement is followed by what
it gives, indented. ``ANALYZER_CASES=write`` writes what they give now: read the difference before committing.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from ksql_spark.errors import KsqlError
from ksql_spark.metastore.store import MetaStore
from tests.analyzer.binding import bind, run
from tests.analyzer.plan_checks import problems
from tests.analyzer.plan_text import text

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


def given(case: Case, setup: str) -> str:
    """What the analyzer makes of the case: a plan's text, or an error's."""
    try:
        bound = bind(case.statement, scene(setup).copy())
        assert problems(bound) == []
        return text(bound)
    except KsqlError as error:
        return f"{error.condition}: {error.message}"


def every_case() -> Iterator[tuple[Case, str]]:
    for path in sorted(CASES.glob("*.sql")):
        setup, cases = read(path)
        if os.environ.get("ANALYZER_CASES") == "write":
            cases = [Case(c.path, c.line, c.statement, given(c, setup)) for c in cases]
            blocks = ["\n".join([c.statement, *_indented(c.expected)]) for c in cases]
            path.write_text(setup + "\n----\n" + "\n\n".join(blocks) + "\n", encoding="utf-8")
        yield from ((case, setup) for case in cases)


def _indented(expected: str) -> list[str]:
    return [f"{INDENT}{line}".rstrip() for line in expected.splitlines()]


@pytest.mark.parametrize(
    ("case", "setup"), [pytest.param(c, s, id=f"{c.path.name}:{c.line}") for c, s in every_case()]
)
def test_case(case: Case, setup: str) -> None:
    now = "\n".join(line.rstrip() for line in given(case, setup).splitlines())
    assert now == case.expected
