"""Archives: folders of Parquet files with the records of a topic as they are (ADR 64).

The sink of Parquet writes them (lake/parquet.py), and Archive.java reads them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from ksql_spark.errors import KsqlError
from ksql_spark.lake.tables import missing
from ksql_spark.metastore.sinks import PARQUET, PartitionColumn
from ksql_spark.schema import Column
from ksql_spark.types import BIGINT, BYTES, INTEGER, STRING, TIMESTAMP, Array, Field, Struct

if TYPE_CHECKING:
    from types import ModuleType

    from ksql_spark.lake.manifests import Manifest
    from ksql_spark.lake.stores import Store

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
PARTITION_BY = (PartitionColumn("timestamp", "day"), PartitionColumn("partition"))
_FOLDER = re.compile(r"timestamp_DAY=([\d-]+)/partition=(\d+)/")


def make(folder: str, topic: str) -> None:
    """Make an archive, empty yet, unless there is one.

    Only CREATE SINK does. So a folder that is empty later, such as one that is not mounted, is no archive,
    and neither readers nor the sink take it for one.

    Args:
        folder: where it shall be.
        topic: from archive_name().

    Raises:
        KsqlError: LAKE_FAILED; LAKE_MISSING; ARCHIVE_OF_OTHERS.
    """
    manifests, store = _manifests(folder, is_made=True)
    last = manifests.newest(store)
    if not last.number:
        manifests.require_empty(store, folder)
        manifests.commit(store, manifests.Manifest(1, {topic: {}}))
        last = manifests.newest(store)
    _check(folder, topic, last)


def check(folder: str, topic: str) -> None:
    """Check that there is an archive of a topic.

    Args:
        folder: where it is.
        topic: from archive_name().

    Raises:
        KsqlError: LAKE_FAILED: it is not there; LAKE_MISSING; ARCHIVE_OF_OTHERS.
    """
    manifests, store = _manifests(folder)
    _check(folder, topic, manifests.newest(store))


def first_offsets(folder: str, topic: str, since_ms: int | None) -> dict[int, int]:
    """Return the offset to begin with for each partition of which an archive has records.

    Args:
        folder: where it is.
        topic: from archive_name().
        since_ms: the first record with this timestamp or a later one; None: 0, so that the archive says which
            one is the first. Partitions without such a record are left out.

    Raises:
        KsqlError: LAKE_FAILED: it is not there; LAKE_MISSING; ARCHIVE_OF_OTHERS.
    """
    manifests, store = _manifests(folder)
    for _ in range(10):
        last = manifests.newest(store)
        _check(folder, topic, last)
        try:
            offsets: dict[int, int] = {}
            for name, (_, first, _) in manifests.listed(store, last).items():
                if (match := _FOLDER.match(name)) is not None:
                    partition = int(match[2])
                    content = partial(manifests.content, store, last, name)
                    offset = first if since_ms is None else _since(content, match[1], first, since_ms)
                    if offset is not None:
                        offsets[partition] = min(offset, offsets.get(partition, offset))
            return offsets if since_ms is not None else dict.fromkeys(offsets, 0)
        except FileNotFoundError:
            continue  # a compaction has replaced it
    raise KsqlError("LAKE_FAILED", path=folder, reason="a file of the newest commit is not there")


def ends(folder: str, topic: str) -> dict[int, int]:
    """Return for each partition the offset up to which an archive has all records.

    Args:
        folder: where it is.
        topic: from archive_name().

    Raises:
        KsqlError: LAKE_FAILED, LAKE_MISSING.
    """
    manifests, store = _manifests(folder)
    return {int(p): end for p, end in manifests.newest(store).positions.get(topic, {}).items()}


def _since(content: Callable[[], bytes], day: str, first: int, since_ms: int) -> int | None:
    """The least offset in a file of a record that is not before a time; ``first``: the least of all."""
    since = _day(since_ms)
    if day != since:
        return first if day > since else None
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    rows = pq.read_table(pa.BufferReader(content()), columns=["timestamp", "offset"])
    is_later = pc.field("timestamp") >= pa.scalar(since_ms * 1000, pa.timestamp("us", "UTC"))
    least: int | None = pc.min(rows.filter(is_later)["offset"]).as_py()
    return least


def _manifests(folder: str, *, is_made: bool = False) -> tuple[ModuleType, Store]:
    """The module, whose packages are an extra, and the folder.

    Raises:
        KsqlError: LAKE_MISSING, LAKE_FAILED.
    """
    try:
        from ksql_spark.lake import manifests
        from ksql_spark.lake.stores import Store
    except ModuleNotFoundError as error:
        raise missing(PARQUET, error) from None
    return manifests, Store(folder, is_made=is_made)


class Extent(NamedTuple):
    """The extent of an archive: its number of files, and of the days that they cover."""

    files: int
    days: int


def extent(folder: str, first_ms: int | None = None, last_ms: int | None = None) -> Extent:
    """Return the files and days that an archive has between two times, ms of the epoch; None: any.

    Raises:
        KsqlError: LAKE_MISSING, LAKE_FAILED.
    """
    manifests, store = _manifests(folder)
    names = manifests.listed(store, manifests.newest(store))
    days = [match[1] for name in names if (match := _FOLDER.match(name)) is not None]
    days_of_files = [
        day
        for day in days
        if (first_ms is None or day >= _day(first_ms)) and (last_ms is None or day <= _day(last_ms))
    ]
    return Extent(len(days_of_files), len(set(days_of_files)))


def _day(ms: int) -> str:
    return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=ms)).date().isoformat()


def _check(folder: str, topic: str, last: Manifest) -> None:
    if not last.number:
        reason = "there is no archive; CREATE SINK makes one, so the folder, or what it had in _ksql, is gone"
        raise KsqlError("LAKE_FAILED", path=folder, reason=reason)
    if topic not in last.positions:
        raise KsqlError("ARCHIVE_OF_OTHERS", path=folder, there=min(last.positions), topic=topic)
