"""Every statement in cases/*.sql gives the plan, or the error with its place, that is written below it.

Above the line ``----`` stand the statements that set the scene; below it each statement is followed by what
it gives, indented. ``ANALYZER_CASES=write`` writes what they give now: read the difference before committing.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from ksql_spark.errors import KsqlError
from tests.analyzer.binding import bind
from tests.analyzer.case_files import CASES, INDENT, Case, read, scene
from tests.analyzer.plan_checks import problems
from tests.analyzer.plan_text import text


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
