"""COMPACT SINK: few files instead of many, the same rows for every reader, whatever fails in between."""

from __future__ import annotations

import contextlib
import random
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table

from ksql_spark.errors import KsqlError
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.lake import archives, manifests, reading
from ksql_spark.lake.sinks import SinkRun, Sinks, SinkStatus
from ksql_spark.lake.stores import Store
from ksql_spark.lake.tables import open_table
from ksql_spark.metastore.catalog import Catalog
from ksql_spark.metastore.origins import Origin
from ksql_spark.metastore.sinks import Sink
from tests.lake.archive_files import DAY_MS, TOPIC, archive_spec, write
from tests.lake.number_topic import SOURCE, Topic
from tests.lake.table_kinds import DELTA, ICEBERG, PARQUET, Kind
from tests.waiting import until


def after_commits(path: Path, type_: str, count: int) -> tuple[SinkRun, Topic]:
    """A sink that has made commits of three rows each."""
    topic = Topic(0)
    sink = Sink("LAKE", "S", type_, str(path))
    run = SinkRun(sink, lambda name: SOURCE, cast(KafkaAdmin, topic), topic.read, SinkStatus())
    for commit in range(1, count + 1):
        topic.ends = {0: 3 * commit}
        run.work()
    return run, topic


def compacted(run: SinkRun, topic: Topic) -> SinkRun:
    """The sink after COMPACT SINK, and a commit before and after that."""
    asked = SinkRun(
        replace(run.sink, compactions=1), lambda name: SOURCE, cast(KafkaAdmin, topic), topic.read, run.status
    )
    for _ in range(2):
        topic.ends = {0: topic.ends[0] + 3}
        asked.work()
    assert asked.status.last_compaction_ms is not None and asked.status.compacted == 1
    return asked


def told(path: Path, type_: str) -> list[int]:
    """What our reader finds."""
    found = reading.read(Origin(str(path), type_, None, 0), SOURCE.schema.columns)
    return sorted(found["N"].to_pylist())


def iceberg_table(path: Path) -> Table:
    return SqlCatalog("lake", uri=f"sqlite:///{path}/catalog.db").load_table("lake.rows")


def size(path: Path, *patterns: str) -> tuple[int, int]:
    """How many files there are of these, and their bytes."""
    files = [file for pattern in patterns for file in path.rglob(pattern) if file.is_file()]
    return len(files), sum(file.stat().st_size for file in files)


#: properties of Delta tables that keep nothing old
KEEP_NOTHING = {
    "delta.deletedFileRetentionDuration": "interval 0 seconds",
    "delta.logRetentionDuration": "interval 0 seconds",
}


@pytest.mark.parametrize("kind", [DELTA, ICEBERG, PARQUET], ids=lambda kind: kind.type)
def test_few_files_are_left_and_all_rows(tmp_path: Path, kind: Kind) -> None:
    run, topic = after_commits(tmp_path, kind.type, 30)
    if kind is DELTA:
        DeltaTable(str(tmp_path)).alter.set_table_properties(KEEP_NOTHING)
    if kind is ICEBERG:
        with iceberg_table(tmp_path).transaction() as change:
            change.set_properties({"history.expire.max-snapshot-age-ms": "0"})
    assert size(tmp_path, "*.parquet")[0] == 30
    compacted(run, topic)
    rows = list(range(96))
    assert told(tmp_path, kind.type) == rows
    assert sorted(row["N"] for row in kind.read(str(tmp_path))) == rows
    match kind.type:
        case "delta":
            assert size(tmp_path, "part-*.parquet")[0] < 8
            assert size(tmp_path / "_delta_log", "*.json")[0] < 10
        case "iceberg":  # pyiceberg rewrites no data
            assert len(iceberg_table(tmp_path).metadata.snapshots) == 2  # and the one of the last commit
        case "parquet":
            first, _ = sorted(tmp_path.glob("part-*.parquet"))
            assert pq.ParquetFile(first).read()["N"].to_pylist() == list(range(93))  # in their order
            number, bytes_ = size(tmp_path / "_ksql", "*")
            assert number <= 13 and bytes_ < 30_000
            assert not list((tmp_path / "_ksql").glob("*.tmp"))


def test_what_was_asked_before_a_start_is_over(tmp_path: Path) -> None:
    run, topic = after_commits(tmp_path, "parquet", 3)
    later = SinkRun(
        replace(run.sink, compactions=7),
        lambda name: SOURCE,
        cast(KafkaAdmin, topic),
        topic.read,
        SinkStatus(),
    )
    later.work()
    assert later.status.last_compaction_ms is None and size(tmp_path, "part-*.parquet")[0] == 3


def test_an_archive_keeps_the_order_of_offsets(tmp_path: Path) -> None:
    for n in range(0, 60, 2):
        write(tmp_path, [(0, n, n % 3 * DAY_MS), (0, n + 1, n % 5 * DAY_MS), (1, n, 0)])
    open_table("parquet", archive_spec(tmp_path)).compact()
    store = Store(str(tmp_path))
    listed = manifests.listed(store, manifests.newest(store))
    assert len(listed) == 6 and set(listed) == {
        str(path.relative_to(tmp_path)) for path in tmp_path.rglob("part-*.parquet")
    }
    for name, (_, first, last) in listed.items():
        offsets = pq.ParquetFile(tmp_path / name).read()["offset"].to_pylist()
        assert offsets == sorted(offsets) and (offsets[0], offsets[-1]) == (first, last)
    assert archives.first_offsets(str(tmp_path), TOPIC, 4 * DAY_MS) == {0: 5}


def records(path: Path) -> list[tuple[int, int]]:
    """What readers of manifests find in an archive."""
    store = Store(str(path))
    last = manifests.newest(store)
    found: list[tuple[int, int]] = []
    for name in manifests.listed(store, last):
        partition = int(name.split("partition=")[1].split("/")[0])
        rows = pq.read_table(pa.BufferReader(manifests.content(store, last, name)), columns=["offset"])
        found += [(partition, offset) for offset in rows["offset"].to_pylist()]
    return sorted(found)


class Killed(BaseException):
    """The server is killed."""


def killing(act: Callable[..., Any], after: int) -> Callable[..., Any]:
    """``act``, which is killed in one of its calls."""
    left = [after]

    def call(*args: Any, **more: Any) -> Any:
        left[0] -= 1
        if left[0] < 0:
            raise Killed
        return act(*args, **more)

    return call


@pytest.mark.parametrize("seed", range(4))
def test_kills_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """Commits and compactions, each killed at some call to the store; two writers now and then."""
    choose = random.Random(seed)
    monkeypatch.setattr(manifests, "_LISTED", 4)
    monkeypatch.setattr("ksql_spark.lake.parquet._LARGE", 4_000)
    written: list[tuple[int, int]] = []
    for _ in range(40):
        table = open_table("parquet", archive_spec(tmp_path))
        position = table.positions().get(0, 0)
        written = [(0, n) for n in range(position)]
        assert records(tmp_path) == written
        rival = open_table("parquet", archive_spec(tmp_path))
        with monkeypatch.context() as patch:
            if choose.random() < 0.5:
                act = choose.choice(["write", "create", "rename", "remove"])
                patch.setattr(Store, act, killing(getattr(Store, act), choose.randrange(4)))
            try:
                if choose.random() < 0.4:
                    cast(Any, table).compact()
                else:
                    days = [(0, position + i, choose.randrange(3) * DAY_MS) for i in range(3)]
                    write(tmp_path, days)
                    if choose.random() < 0.3:
                        with pytest.raises(KsqlError, match="is there already"):
                            rival.write(pa.Table.from_pylist([], archives_schema()), {0: 0})
            except Killed:
                continue
    table = open_table("parquet", archive_spec(tmp_path))
    cast(Any, table).compact()
    assert records(tmp_path) == [(0, n) for n in range(table.positions()[0])]
    listed = set(manifests.listed(Store(str(tmp_path)), manifests.newest(Store(str(tmp_path)))))
    assert {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.parquet")} == listed


def listing(path: Path) -> list[int]:
    """The offsets that a program finds that knows nothing of manifests."""
    found = duckdb.sql(f"SELECT \"offset\" FROM read_parquet('{path}/*/*/*.parquet')").fetchall()
    return sorted(offset for (offset,) in found)


@pytest.mark.parametrize("calls", range(7))
def test_a_kill_while_replaced_files_are_removed_is_mended_without_the_sink(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, calls: int
) -> None:
    """Who lists the folder sees the rows of one of its folders twice, until the next start."""
    days = 3
    for n in range(4 * days):
        write(tmp_path, [(0, n, n % days * DAY_MS)])
    table: Any = open_table("parquet", archive_spec(tmp_path))
    with monkeypatch.context() as patch:
        kill = killing(lambda act, *args: act(*args), calls)
        for name in ("rename", "remove"):
            act = getattr(Store, name)
            patch.setattr(Store, name, lambda *args, act=act: kill(act, *args))
        with contextlib.suppress(Killed):
            table.compact()
    every = list(range(4 * days))
    found = listing(tmp_path)
    assert set(found) == set(every) and len(found) <= len(every) + 4
    assert records(tmp_path) == [(0, n) for n in every]
    catalog = Catalog()
    catalog.metastore.add_sink(Sink("LAKE", "S", "parquet", str(tmp_path), is_archive=True))
    catalog.publish()
    Sinks(catalog, cast(KafkaAdmin, None), cast(Any, None)).complete()
    until(lambda: not list((tmp_path / "_ksql").glob("*.tmp")))
    assert listing(tmp_path) == every


def test_what_is_away_at_a_start_is_left_to_the_sink(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    catalog = Catalog()
    (tmp_path / "file").touch()
    catalog.metastore.add_sink(Sink("AWAY", "S", "parquet", str(tmp_path / "file" / "x")))
    catalog.metastore.add_sink(Sink("NEW", "S", "parquet", str(tmp_path / "new")))
    catalog.metastore.add_sink(Sink("DELTA", "S", "delta", str(tmp_path / "delta")))
    catalog.publish()
    Sinks(catalog, cast(KafkaAdmin, None), cast(Any, None)).complete()
    for thread in threading.enumerate():
        if thread.name == "sinks-complete":
            thread.join(60)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def archives_schema() -> pa.Schema:
    from ksql_spark.lake.arrow import schema_of

    return schema_of(archives.COLUMNS)
