"""Every case in ``<area>/<topic>.sql``, end to end; ``CASE=path:line`` runs the case at that line.

``ksql-spark test --complete tests/cases/path.sql`` writes what comes out into a file, for a person to read
before it is committed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from ksql_spark.tools.testing.files import SqlTest
from ksql_spark.tools.testing.running import Runner
from tests.cases import every_case, name_of

pytestmark = pytest.mark.kafka


@pytest.fixture(scope="module")
def runner(make_runner: Callable[[Mapping[str, str]], Runner]) -> Runner:
    return make_runner({})


@pytest.mark.parametrize("case", [pytest.param(case, id=name_of(case)) for case in every_case()])
def test_case(case: SqlTest, runner: Runner) -> None:
    failure = runner.run(case).failure
    if failure is not None:
        pytest.fail(failure, pytrace=False)
