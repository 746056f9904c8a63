"""What COPY and INSERT … SELECT hold until all rows are known."""

from __future__ import annotations

import time
from collections.abc import Collection
from pathlib import Path

import pytest

from ksql_spark.errors import KsqlError
from ksql_spark.kafka.record_limits import Record, RecordLimits
from ksql_spark.runtime.held_records import HeldRecords

HOUR_MS = 3600 * 1000


def test_a_record_that_brokers_would_refuse_is_refused_before_any_is_written(tmp_path: Path) -> None:
    limits = RecordLimits(
        "t", {f"message.timestamp.{side}.max.ms": str(HOUR_MS) for side in ("before", "after")}
    )
    written: list[Record] = []

    def write_all(records: Collection[Record]) -> None:
        written.extend(records)

    held = HeldRecords(tmp_path, 0, limits, write_all, lambda number, error: None)
    now_ms = int(time.time() * 1000)
    held.write(0, b"k", b"v", now_ms)
    for far_ms in (now_ms - 2 * HOUR_MS, now_ms + 2 * HOUR_MS):
        with pytest.raises(KsqlError, match="is too far from now"):
            held.write(1, b"k", b"v", far_ms)
    assert not written
    held.write_all()
    assert written == [(b"k", b"v", now_ms)]
    held.close()
