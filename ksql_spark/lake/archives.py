"""Archives: folders of Parquet files with the records of a topic as they are (ADR 64).

The sink of Parquet writes them (lake/parquet.py), and Archive.java reads them.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ksql_spark.errors import KsqlError
from ksql_spark.lake.tables import missing
from ksql_spark.metastore.sinks import PARQUET, PartitionColumn, Sink
from ksql_spark.schema import Column
from ksql_spark.types import BIGINT, BYTES, INTEGER, STRING, TIMESTAMP, Array, Field, Struct

#: their names are in Archive.java, too
COLUMNS = (
    Column("topic", STRING),
    Column("partition", INTEGER),
    Column("offset", BIGINT),
    Column("timestamp", TIMESTAMP),
    Column("key", BYTES),
    Column("headers", Array(Struct((Field("key", STRING), Field("value", BYTES))))),
    Column("value", BYTES),
)
#: the name of the column of days, and of their folders
_DAY = "timestamp_DAY"
PARTITION_BY = (PartitionColumn("timestamp", "day"), PartitionColumn("partition"))


def check(folder: str, topic: str) -> None:
    """Check that an archive is that of a topic, or empty yet.

    Args:
        folder: where it is.
        topic: from archive_name().

    Raises:
        KsqlError: LAKE_FAILED; ARCHIVE_OF_OTHERS.
    """
    found = _positions(folder)
    if found and topic not in found:
        raise KsqlError("ARCHIVE_OF_OTHERS", path=folder, there=min(found), topic=topic)


def first_offsets(
    folder: str, topic: str, since_ms: int | None, sinks: Iterable[Sink] = ()
) -> dict[int, int]:
    """Of each partition of which an archive has records, an offset to begin with.

    Args:
        folder: where it is.
        topic: from archive_name().
        since_ms: the first record with this timestamp or a later one; None: 0, so that the archive says which
            one is the first. Partitions without such a record are left out.
        sinks: those whose folders may not be there yet.

    Raises:
        KsqlError: LAKE_FAILED: it is not there; LAKE_MISSING; ARCHIVE_OF_OTHERS.
    """
    if not Path(folder, "_ksql").is_dir():
        if any(sink.is_archive and Path(sink.path) == Path(folder) for sink in sinks):
            return {}
        raise KsqlError("LAKE_FAILED", path=folder, reason="there is no archive")
    check(folder, topic)
    paths = (path for path in Path(folder).glob("*/partition=*") if any(path.glob("part-*.parquet")))
    there = {int(path.name.partition("=")[2]) for path in paths}
    if since_ms is None or not there:
        return dict.fromkeys(there, 0)
    try:
        import pyarrow as pa
        import pyarrow.dataset as ds
    except ModuleNotFoundError as error:
        raise missing(PARQUET, error) from None
    hive = ds.partitioning(pa.schema([("partition", pa.int32())]), flavor="hive")
    rows = ds.dataset(folder, format="parquet", partitioning=hive)
    wanted = ds.field("timestamp") >= pa.scalar(since_ms * 1000, pa.timestamp("us", "UTC"))
    found = rows.to_table(["partition", "offset"], filter=wanted)
    first = found.group_by("partition").aggregate([("offset", "min")])
    return dict(zip(first["partition"].to_pylist(), first["offset_min"].to_pylist(), strict=True))


class Extent(NamedTuple):
    """How many files an archive has, of how many days."""

    files: int
    days: int


def extent(folder: str, first_ms: int | None = None, last_ms: int | None = None) -> Extent:
    """What an archive has of the days between two times, ms of the epoch; None: any."""
    first, last = ("" if ms is None else _day(ms) for ms in (first_ms, last_ms))
    wanted = [
        path
        for path in Path(folder).glob(f"{_DAY}=*")
        if first <= path.name.partition("=")[2] and (not last or path.name.partition("=")[2] <= last)
    ]
    counts = [sum(1 for _ in path.glob("partition=*/part-*.parquet")) for path in wanted]
    return Extent(sum(counts), sum(map(bool, counts)))


def _day(ms: int) -> str:
    return (datetime.date(1970, 1, 1) + datetime.timedelta(days=ms // 86_400_000)).isoformat()


def _positions(folder: str) -> Mapping[str, Any]:
    """Of the newest manifest: topic -> partition -> offset; none: there is no archive yet."""
    try:
        manifests = sorted(Path(folder, "_ksql").glob("*.json"))
        return json.loads(manifests[-1].read_bytes())["positions"] if manifests else {}
    except (OSError, ValueError) as error:
        raise KsqlError("LAKE_FAILED", path=folder, reason=str(error).rstrip(".")) from None
