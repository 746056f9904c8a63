"""Every case in ``<area>/<topic>.sql``, end to end; case_file.py says how they are written.

``CASE=path:line`` runs the case at that line; ``COMPLETE=1`` writes what comes out into the files, for a
person to read before it is committed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from ksql_spark.config import Config
from ksql_spark.engine import Engine
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.services.broker import EmbeddedBroker
from ksql_spark.spark.session import SparkProcess
from tests.cases.case_file import Case, Check, read, write
from tests.cases.running import CaseFailed, Run

FOLDER = Path(__file__).parent
IS_COMPLETING = bool(os.environ.get("COMPLETE"))

pytestmark = pytest.mark.kafka


def _every_case() -> Iterator[Case]:
    wanted, _, line = os.environ.get("CASE", "").partition(":")
    for path in sorted(FOLDER.rglob("*.sql")):
        for case in read(path):
            is_wanted = not wanted or path == Path(wanted).absolute()
            if is_wanted and (not line or case.line <= int(line) < case.end):
                yield case


def _parameter(case: Case) -> object:
    name = f"{case.path.relative_to(FOLDER)}:{case.line} {case.title}"
    marks = [pytest.mark.xfail(reason=case.notyet, strict=True)] if case.notyet else []
    return pytest.param(case, id=name, marks=marks)


@pytest.fixture
def make_engine(
    broker: EmbeddedBroker, spark_process: SparkProcess, tmp_path: Path
) -> Callable[[Mapping[str, str]], Engine]:
    """A maker of engines on the shared broker and Spark, with the data folder of this test."""

    def make(properties: Mapping[str, str]) -> Engine:
        config = {
            "bootstrap.servers": broker.bootstrap_servers,
            "ksql.spark.data.dir": str(tmp_path),
            # a planned stop repeats nothing, however busy the machine
            "ksql.query.stop.timeout.ms": "60000",
            **properties,
        }
        return Engine(Config(config), spark_process)

    return make


@pytest.fixture(scope="module")
def completed() -> Iterator[dict[Path, list[tuple[Check, list[str]]]]]:
    """What came out, by file: written when all cases have run, since writing moves lines."""
    by_file: dict[Path, list[tuple[Check, list[str]]]] = {}
    yield by_file
    for path, found in by_file.items():
        if found:
            write(path, found)


@pytest.mark.parametrize("case", list(map(_parameter, _every_case())))
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
