"""Archives in a folder, with the records that a test wants in their files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from ksql_spark.lake import archives
from ksql_spark.lake.arrow import schema_of
from ksql_spark.lake.tables import TableSpec, open_table
from ksql_spark.metastore.sinks import archive_name

DAY_MS = 86_400_000
TOPIC = archive_name("t", "id1")


def archive_spec(folder: Path | str, topic: str = TOPIC) -> TableSpec:
    return TableSpec(
        str(folder),
        topic,
        archives.COLUMNS,
        (),
        archives.PARTITION_BY,
        is_archive=topic.startswith("archive:"),
    )


def write(
    folder: Path | str, records: Sequence[tuple[int, int, int]], topic: str = TOPIC, value: bytes = b"x"
) -> None:
    """One commit; ``records``: partition, offset, timestamp in ms."""
    table = open_table("parquet", archive_spec(folder, topic))
    rows = pa.Table.from_pylist(
        [
            {
                "topic": "t", "partition": partition, "offset": offset, "timestamp": time_ms * 1000,
                "key": None, "headers": [{"key": "h", "value": b"1"}], "value": value,
            }
            for partition, offset, time_ms in records
        ],
        schema_of(archives.COLUMNS),
    )  # fmt: skip
    ends = {p: 1 + max(o for q, o, _ in records if q == p) for p in {p for p, _, _ in records}}
    table.write(rows, {**table.positions(), **ends})
