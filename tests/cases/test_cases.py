"""Every case in ``<area>/<topic>.sql``, end to end; case_file.py says how they are written.

``CASE=path:line`` runs the case at that line; ``COMPLETE=1`` writes what comes out into the files, for a
person to read before it is committed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from ksql_spark.engine import Engine
from ksql_spark.kafka.admin import KafkaAdmin
from tests.cases.case_file import FOLDER, Case, Check, every_case, write
from tests.cases.running import CaseFailed, Run

IS_COMPLETING = os.environ.get("COMPLETE") == "1"

pytestmark = pytest.mark.kafka


def _parameter(case: Case) -> object:
    name = f"{case.path.relative_to(FOLDER)}:{case.line} {case.title}"
    marks = [pytest.mark.xfail(reason=case.notyet, strict=True)] if case.notyet else []
    return pytest.param(case, id=name, marks=marks)


@pytest.fixture(scope="module")
def completed() -> Iterator[dict[Path, list[tuple[Check, list[str]]]]]:
    """What came out, by file: written when all cases have run, since writing moves lines."""
    by_file: dict[Path, list[tuple[Check, list[str]]]] = {}
    yield by_file
    for path, found in by_file.items():
        if found:
            write(path, found)


@pytest.mark.parametrize("case", list(map(_parameter, every_case())))
def test_case(
    case: Case,
    make_engine: Callable[[Mapping[str, str]], Engine],
    kafka_admin: KafkaAdmin,
    completed: dict[Path, list[tuple[Check, list[str]]]],
) -> None:
    failure = None
    with Run(case, make_engine, kafka_admin, IS_COMPLETING) as run:
        try:
            run.run()
        except CaseFailed as failed:
            failure = str(failed)
    completed.setdefault(case.path, []).extend(run.completed)
    if failure is not None:
        pytest.fail(failure, pytrace=False)
