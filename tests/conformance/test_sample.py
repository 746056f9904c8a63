"""A few conformance cases on the real engine, where the cases are there (see run.py)."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ksql_spark.services.broker import EmbeddedBroker
from ksql_spark.spark.session import SparkProcess

from .run import SAMPLE, runner_folder

RUNNER = runner_folder()
IDS = SAMPLE.read_text(encoding="utf-8").splitlines()

pytestmark = [
    pytest.mark.kafka,
    pytest.mark.long,
    pytest.mark.skipif(RUNNER is None, reason="the conformance cases are not part of this project"),
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="watching processes needs /proc"),
]


@pytest.fixture(scope="module")
def runner_modules(broker: EmbeddedBroker) -> Iterator[Any]:
    """The runner's modules, importable for as long as these tests run."""
    sys.path.insert(0, str(RUNNER))
    try:
        import harness

        yield harness
    finally:
        sys.path.remove(str(RUNNER))


@pytest.fixture(scope="module")
def adapter(runner_modules: Any, broker: EmbeddedBroker, spark_process: SparkProcess) -> Iterator[Any]:
    """The engine under test, on the shared broker and Spark."""
    from .adapter import EngineAdapter

    running = EngineAdapter(broker=broker, spark=spark_process)
    yield running
    running.close()


@pytest.fixture(scope="module")
def cases(runner_modules: Any) -> dict[str, Any]:
    """The sample's cases by id."""
    import xjson

    assert RUNNER is not None
    found = {}
    for file in {f"{i.split('/')[0]}-{i.split('/')[1]}" for i in IDS}:
        for line in (RUNNER / "cases" / f"{file}.jsonl").read_text(encoding="utf-8").splitlines():
            case = xjson.loads(line)
            found[case["id"]] = case
    return found


@pytest.mark.parametrize("case_id", IDS)
def test_conformance_case(case_id: str, cases: dict[str, Any], adapter: Any, runner_modules: Any) -> None:
    options = runner_modules.Options(timeout=10.0)
    result = runner_modules.run_case(cases[case_id], adapter, options)
    assert result["status"] == "pass", result["reason"]
