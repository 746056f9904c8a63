"""Batches of a Spark query take over the plan that was optimized for the first one (KeptPlan.java)."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.spark

TIMEOUT_S = 60.0


def test_the_second_batch_is_not_optimized_again(local_spark: Any, tmp_path: Path) -> None:
    numbers = local_spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 10).load()
    writer = numbers.where("value % 2 = 0").select("value").writeStream.format("noop")
    query = writer.option("checkpointLocation", (tmp_path / "checkpoint").as_uri()).start()
    try:
        assert local_spark._jvm.org.ksqlspark.task.KeptPlan.keep(query._jsq)
        deadline = time.monotonic() + TIMEOUT_S
        while query.lastProgress is None or query.lastProgress["batchId"] < 3:
            assert time.monotonic() < deadline and query.isActive
            time.sleep(0.05)
        last = query._jsq.streamingQuery().lastExecution()
        assert "ColumnPruning" not in str(last.tracker().rules()) and "value" in str(last.optimizedPlan())
        # each batch has its own rows
        assert {p["numInputRows"] for p in query.recentProgress if p["batchId"] > 0} == {10}
    finally:
        query.stop()


def test_what_queries_copy_of_hadoops_settings_is_small(local_spark: Any) -> None:
    settings = local_spark._jsparkSession.sessionState().newHadoopConf()
    assert settings.get("yarn.acl.enable") is None and settings.get("mapreduce.job.maps") is None
    assert settings.get("fs.defaultFS") == "file:///"
