"""Commits of a sink that pile up: files and metadata of lake tables, with and without COMPACT SINK.

    PYTHONPATH=. python bench/lake_commits.py [TYPE...] [--commits N] [--every SECONDS] [--compact N]

Makes commits as a sink does, one every so many seconds (0: at once), and then one compaction, or one after
each N commits with --compact. Delta and Iceberg keep what has been replaced for days; here they remove it at
once, so that it shows what is left then. "data" is all Parquet files that are there, "metadata" the others.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

import pyarrow as pa

from ksql_spark.lake import archives
from ksql_spark.lake.arrow import schema_of
from ksql_spark.lake.tables import TableSpec, compact, open_table
from ksql_spark.metastore.sinks import DELTA, ICEBERG, PARQUET
from ksql_spark.schema import Column
from ksql_spark.types import BIGINT, DOUBLE, STRING

COLUMNS = (Column("ID", BIGINT), Column("ZONE", STRING), Column("FARE", DOUBLE))
ARCHIVE = "archive"
#: nothing that was replaced is kept
_NOW = {
    DELTA: {
        "delta.deletedFileRetentionDuration": "interval 0 seconds",
        "delta.logRetentionDuration": "interval 0 seconds",
    },
    ICEBERG: {"history.expire.max-snapshot-age-ms": "0"},
}


def _spec(kind: str, path: Path) -> TableSpec:
    if kind != ARCHIVE:
        return TableSpec(str(path), "t:1", COLUMNS)
    return TableSpec(str(path), "archive:t:1", archives.COLUMNS, (), archives.PARTITION_BY, is_archive=True)


def _rows(kind: str, first: int, count: int) -> pa.Table:
    numbers = range(first, first + count)
    if kind != ARCHIVE:
        found = [{"ID": n, "ZONE": f"zone {n % 50}", "FARE": n / 8} for n in numbers]
        return pa.Table.from_pylist(found, schema_of(COLUMNS))
    found = [
        {
            "topic": "t", "partition": 0, "offset": n, "timestamp": n * 100_000, "key": b"k%d" % (n % 50),
            "headers": [], "value": b'{"FARE": %d}' % n,
        }
        for n in numbers
    ]  # fmt: skip
    return pa.Table.from_pylist(found, schema_of(archives.COLUMNS))


def _keep_nothing(kind: str, spec: TableSpec) -> None:
    table: Any = open_table(kind, spec)
    if kind == DELTA:
        table._table.alter.set_table_properties(_NOW[kind])
    elif kind == ICEBERG:
        with table._table.transaction() as change:
            change.set_properties(_NOW[kind])


def _told(kind: str, when: str, path: Path, seconds: float) -> None:
    files = [file for file in path.rglob("*") if file.is_file()]
    # Iceberg's data are in a folder of their own, and Delta's checkpoints are Parquet, too
    data = [f for f in files if f.suffix == ".parquet" and "_delta_log" not in f.parts]
    own = [f for f in files if f not in set(data)]
    sizes = [sum(file.stat().st_size for file in part) / 1e6 for part in (data, own)]
    print(
        f"{kind:8} {when:24} data {len(data):5} files {sizes[0]:8.2f} MB   metadata {len(own):5} files"
        f" {sizes[1]:8.2f} MB   {seconds:6.1f} s",
        flush=True,
    )


def measure(kind: str, commits: int, every: float, rows: int, each: int | None) -> None:
    """Make the commits of one table, and print what is there before and after compaction."""
    type_ = PARQUET if kind == ARCHIVE else kind
    with tempfile.TemporaryDirectory() as folder:
        spec = _spec(kind, Path(folder))
        if each is not None:
            _keep_nothing(type_, spec)
        begin = time.monotonic()
        for commit in range(commits):
            open_table(type_, spec).write(_rows(kind, commit * rows, rows), {0: (commit + 1) * rows})
            if each is not None and (commit + 1) % each == 0:
                compact(type_, spec)
            if every:
                time.sleep(max(begin + (commit + 1) * every - time.monotonic(), 0.0))
        when = f"{commits} commits" if each is None else f"{commits}, COMPACT each {each}"
        _told(kind, when, Path(folder), time.monotonic() - begin)
        if each is None:
            _keep_nothing(type_, spec)
            begin = time.monotonic()
            compact(type_, spec)
            _told(kind, "after COMPACT", Path(folder), time.monotonic() - begin)


def main() -> None:
    """Run it."""
    kinds = [DELTA, ICEBERG, PARQUET, ARCHIVE]
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("types", nargs="*", default=kinds, metavar="TYPE", help=", ".join(kinds))
    parser.add_argument("--commits", type=int, default=360)
    parser.add_argument("--every", type=float, default=0.0, help="seconds between two commits")
    parser.add_argument("--rows", type=int, default=100, help="of each commit")
    parser.add_argument("--compact", type=int, help="commits between two compactions")
    given = parser.parse_args()
    for kind in given.types:
        measure(kind, given.commits, given.every, given.rows, given.compact)


if __name__ == "__main__":
    main()
