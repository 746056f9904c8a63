"""Batches of a Spark query take over the plan that was optimized for the first one (KeptPlan.java)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.waiting import until

pytestmark = pytest.mark.spark


@pytest.fixture
def numbers(local_spark: Any, tmp_path: Path) -> Iterator[Any]:
    """A query that keeps its plan, with a batch after the other."""
    rows = local_spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 10).load()
    writer = rows.where("value % 2 = 0").select("value").writeStream.format("noop")
    query = writer.option("checkpointLocation", (tmp_path / "checkpoint").as_uri()).start()
    try:
        assert local_spark._jvm.org.ksqlspark.internals.task.KeptPlan.keep(query._jsq)
        yield query
    finally:
        query.stop()


def wait_until(query: Any, condition: Callable[[], bool]) -> None:
    until(lambda: condition() or not query.isActive)
    assert query.isActive


def test_the_second_batch_is_not_optimized_again(numbers: Any) -> None:
    wait_until(numbers, lambda: numbers.lastProgress is not None and numbers.lastProgress["batchId"] >= 3)
    last = numbers._jsq.streamingQuery().lastExecution()
    assert "ColumnPruning" not in str(last.tracker().rules()) and "value" in str(last.optimizedPlan())
    # each batch has its own rows
    assert {p["numInputRows"] for p in numbers.recentProgress if p["batchId"] > 0} == {10}


def test_the_plans_of_the_batch_before_are_forgotten(numbers: Any) -> None:
    def are_forgotten() -> bool:
        before = numbers._jsq.streamingQuery().getLatestExecutionContext().previousContext()
        return bool(before.isDefined()) and before.get().executionPlan() is None

    wait_until(numbers, are_forgotten)
