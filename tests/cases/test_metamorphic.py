"""Metamorphic tests (metamorphic.py) over the case files: a few cases, with ``METAMORPHIC=all`` all of them.

``SEED=n`` chooses other points to stop at, and other cases; ``CASE=path:line`` takes one case,
``RELATION=name`` one relation.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator, Sequence

import pytest

from ksql_spark.engine import Engine
from ksql_spark.kafka.admin import KafkaAdmin
from tests.cases.case_file import FOLDER, Case, every_case
from tests.cases.metamorphic import RELATIONS, MetamorphicRun, related
from tests.cases.running import CaseFailed

pytestmark = pytest.mark.kafka

SEED = int(os.environ.get("SEED", "1"))
#: cases for each relation where nobody asks for more
SAMPLE = 2
#: beginnings of the titles of cases in which a metamorphic test has found a bug; they run always
FOUND = (
    "what is in the table before the query",
    "a row keeps the table's row of its time",
    "pairs meet at any time",
    "of rows of equal times",
)


def _cases() -> Iterator[object]:
    cases = list(every_case())
    for relation in RELATIONS:
        if relation != os.environ.get("RELATION", relation):
            continue
        for case in _made(cases, relation):
            yield pytest.param(case, id=f"{relation} {case.path.relative_to(FOLDER)}:{case.line}")


def _made(cases: Sequence[Case], relation: str) -> Iterator[Case]:
    """The cases that run, as the relation has them: all, or FOUND and a sample."""
    left = len(cases) if {"METAMORPHIC", "CASE"} & set(os.environ) else SAMPLE
    for case in random.Random(f"{SEED} {relation}").sample(cases, len(cases)):
        is_found = case.title.startswith(FOUND)
        if (is_found or left) and (made := related(case, relation, SEED)) is not None:
            left -= not is_found
            yield made


#: pytest refuses no parameters at all, as when CASE has nothing to change
NO_CASES = pytest.param(None, marks=pytest.mark.skip("no relation applies"))


@pytest.mark.long
@pytest.mark.parametrize("case", list(_cases()) or [NO_CASES])
def test_stops_and_replays_change_nothing(
    case: Case,
    make_engine: Callable[..., Engine],
    kafka_admin: KafkaAdmin,
) -> None:
    failure = None
    with MetamorphicRun(case, make_engine, kafka_admin, is_completing=False) as run:
        try:
            run.run()
        except CaseFailed as failed:
            stops = ", ".join(str(s.line) for s in case.steps if type(s).__name__ == "Stop")
            failure = f"{failed}\nstopped after line {stops}" if stops else str(failed)
    if failure is not None:
        pytest.fail(failure, pytrace=False)
