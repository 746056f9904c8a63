"""Variations (ksql_spark/tools/testing/variations.py) of the cases that must not change what comes out.

A few cases run, with ``METAMORPHIC=all`` all of them. ``SEED=n`` chooses other points to stop at, and other
cases; ``CASE=path:line`` takes one case, ``RELATION=name`` one variation.
"""

from __future__ import annotations

import io
import os
import random
from collections.abc import Callable, Iterator, Mapping, Sequence

import pytest

from ksql_spark.shell.output.console import Console
from ksql_spark.tools.testing.files import Check, SqlTest
from ksql_spark.tools.testing.running import Runner
from ksql_spark.tools.testing.variations import VARIATIONS, read
from ksql_spark.tools.testing.varying import Varied, variations
from tests.cases import every_case, name_of

pytestmark = [pytest.mark.kafka, pytest.mark.long]

SEED = int(os.environ.get("SEED", "1"))
#: the other variations change results of many cases: what is late, or comes twice, counts
NAMES = ("restart", "split", "crash", "replay")
#: cases for each variation where nobody asks for more
SAMPLE = 2
#: beginnings of the names of cases in which a variation has found a bug; they run always
FOUND = (
    "what is in the table before the query",
    "a row keeps the table's row of its time",
    "pairs meet at any time",
    "of rows of equal times",
)


def _cases() -> Iterator[object]:
    for name in NAMES:
        if name == os.environ.get("RELATION", name):
            for case in _chosen(every_case(), name):
                yield pytest.param(name, case, id=f"{name} {name_of(case)}")


def _chosen(cases: Sequence[SqlTest], name: str) -> Iterator[SqlTest]:
    """The cases that run with a variation: all that it changes, or FOUND and a sample."""
    left = len(cases) if {"METAMORPHIC", "CASE"} & set(os.environ) else SAMPLE
    for case in random.Random(f"{SEED} {name}").sample(cases, len(cases)):
        is_found = case.name.startswith(FOUND)
        if (is_found or left) and _is_changed(case, name):
            left -= not is_found
            yield case


def _is_changed(case: SqlTest, name: str) -> bool:
    """Whether a variation changes a case, and what comes out depends on the records alone."""
    texts = [part.text for part in case.statements]
    if any("ksql.idle.window.timeout" in text or text.upper().startswith(PAUSING) for text in texts):
        return False
    is_checked = any(isinstance(step, Check) and step.kind == "output" for step in case.steps)
    test = read(case)
    return is_checked and VARIATIONS[name][0](test, SEED) != list(test.steps)


#: what they stop is to stay so
PAUSING = ("PAUSE", "TERMINATE")
#: pytest refuses no parameters at all, as when CASE has nothing to change
NO_CASES = pytest.param("", None, marks=pytest.mark.skip("no variation applies"))


@pytest.fixture(scope="module")
def runner(make_runner: Callable[[Mapping[str, str]], Runner]) -> Runner:
    """Waits until queries have committed what they have read, which they do at checkpoints."""
    return make_runner({"ksql.checkpoint.interval.ms": "5000"})


@pytest.mark.parametrize(("name", "case"), list(_cases()) or [NO_CASES])
def test_variations_change_nothing(name: str, case: SqlTest, runner: Runner) -> None:
    out = io.StringIO()
    if Varied(case, runner, Console(out, tty=False), SEED).run(variations([name], [])):
        pytest.fail(out.getvalue(), pytrace=False)
