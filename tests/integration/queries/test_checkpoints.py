"""What a kill leaves in a query's folder does not keep the query from starting again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("left", ["commits/.0.x.tmp", "offsets/.0.x.tmp", "state/0/0/1_x.changelog"])
def test_a_first_batch_that_was_cut_short(local_spark: Any, tmp_path: Path, left: str) -> None:
    file = tmp_path / "checkpoint" / left
    file.parent.mkdir(parents=True)
    file.write_bytes(b"")
    counts = local_spark.readStream.format("rate").load().groupBy("value").count()
    writer = counts.writeStream.format("noop").outputMode("update").trigger(availableNow=True)
    query = writer.option("checkpointLocation", (tmp_path / "checkpoint").as_uri()).start()
    query.awaitTermination(120)
    assert query.exception() is None and not query.isActive
