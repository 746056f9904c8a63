"""Streams that follow lake tables, without Kafka and Spark: each row once, in order, whatever happens."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake

from ksql_spark.errors import KsqlError
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.lake import streams, tables
from ksql_spark.lake.origins import OriginStatus
from ksql_spark.lake.positions import Encoded, Position, ReadFile
from ksql_spark.lake.streams import StreamRun
from ksql_spark.metastore.origins import Origin
from ksql_spark.metastore.sources import STREAM, DataSource, FormatSpec, TimestampColumn
from ksql_spark.schema import Column, Schema
from ksql_spark.types import BIGINT, STRING

COLUMNS = (Column("N", BIGINT), Column("TS", BIGINT), Column("R", STRING))


class Killed(Exception):
    """The server is gone."""


@dataclass
class Topic:
    """A topic, its positions, and what makes records: all of Kafka and Spark."""

    rows: list[int] = field(default_factory=list)
    transactions: int = 0
    position: Position = field(default_factory=Position)
    files: dict[str, ReadFile] = field(default_factory=dict)
    dies: Callable[[], bool] = lambda: False
    id: str = "1"

    def topic_id(self, name: str) -> str:
        return self.id

    def close(self) -> None:
        """There is nothing to close."""

    def times(self, source: DataSource, rows: pa.Table) -> pa.ChunkedArray:
        return rows["TS"].cast(pa.int64())

    def records(self, source: DataSource, rows: pa.Table) -> list[Encoded]:
        return [Encoded(None, str(n).encode(), 0) for n in rows["N"].to_pylist()]

    def write(
        self, topic: str, records: Iterable[Encoded], position: Position, files: Mapping[str, ReadFile]
    ) -> None:
        rows = [int(record.value or b"") for record in records]
        if self.dies():
            raise Killed  # before the commit
        self.rows += rows
        self.position, self.files = position, {**self.files, **files}
        self.transactions += 1
        if self.dies():
            raise Killed  # after it


def run_of(topic: Topic, path: object, format_: str, is_timed: bool = False) -> StreamRun:
    source = DataSource(
        "S", STREAM, Schema(COLUMNS), "s", FormatSpec("KAFKA"), FormatSpec("JSON"),
        timestamp=TimestampColumn("TS") if is_timed else None,
    )  # fmt: skip
    opened = cast(Callable[[str], Any], lambda lake: topic)
    return StreamRun(
        (source, Origin(str(path), format_, refresh_ms=10)),
        cast(KafkaAdmin, topic),
        topic,
        opened,
        OriginStatus(),
    )


def table(numbers: Iterable[int], times: Callable[[int], int | None] = lambda n: n) -> pa.Table:
    listed = list(numbers)
    return pa.table(
        {
            "n": pa.array(listed, pa.int64()),
            "ts": pa.array([times(n) for n in listed], pa.int64()),
            "r": pa.array([f"E U/{n % 2}" for n in listed]),
        }
    )


class Lake:
    """A lake table of one format that grows."""

    def __init__(self, folder: Path, format_: str) -> None:
        self.path, self.format = folder / "lake", format_
        self.commits = 0
        if format_ in ("csv", "json", "parquet"):
            self.path.mkdir()

    def add(self, rows: pa.Table) -> None:
        self.commits += 1
        name = self.path / f"{self.commits:03}.{self.format}"
        match self.format:
            case "delta":
                write_deltalake(str(self.path), rows, mode="append", partition_by=["r"])
            case "iceberg":
                spec = tables.TableSpec(str(self.path), "t:1", COLUMNS)
                rows = rows.rename_columns(["N", "TS", "R"])
                tables.open_table("iceberg", spec).write(rows, {0: self.commits})
            case "parquet":
                pq.write_table(rows, name)
            case "csv":
                name.write_text(
                    "n,ts,r\n" + "".join(f"{r['n']},{r['ts']},{r['r']}\n" for r in rows.to_pylist())
                )
            case "json":
                import json

                name.write_text("".join(json.dumps(row) + "\n" for row in rows.to_pylist()))

    def compact(self) -> None:
        if self.format == "delta":
            DeltaTable(str(self.path)).optimize.compact()


FORMATS = ("csv", "delta", "iceberg", "json", "parquet")


@pytest.mark.parametrize("format_", FORMATS)
def test_each_row_once_as_the_table_grows(tmp_path: Path, format_: str) -> None:
    lake, topic = Lake(tmp_path, format_), Topic()
    run = run_of(topic, lake.path, format_)
    lake.add(table(range(3)))
    lake.add(table(range(3, 5)))
    run.refresh()
    assert sorted(topic.rows) == [0, 1, 2, 3, 4] and run.status.written == 5
    before = topic.transactions
    run.refresh()
    lake.compact()
    run.refresh()
    lake.add(table(range(5, 7)))
    lake.compact()
    run.refresh()
    run_of(topic, lake.path, format_).refresh()  # another server
    assert sorted(topic.rows) == list(range(7)) and topic.transactions > before
    assert run.status.rows == 7 and run.status.state == "RUNNING"


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("is_timed", [False, True])
def test_kills_anywhere(
    tmp_path: Path, format_: str, is_timed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each row is there once, and those of one refresh come in the order of their times."""
    monkeypatch.setattr(streams, "MOST_ROWS", 7)
    for seed in range(3):
        choose = random.Random(seed)
        (tmp_path / str(seed)).mkdir()
        lake = Lake(tmp_path / str(seed), format_)
        topic = Topic(dies=lambda choose=choose: choose.random() < 0.15)  # type: ignore[misc]
        times = {n: choose.randrange(30) for n in range(200)}
        sent = 0
        for _ in range(3):
            began = len(topic.rows)
            for _ in range(choose.randrange(1, 4)):
                count = choose.randrange(1, 20)
                lake.add(table(range(sent, sent + count), times.__getitem__))
                sent += count
            while True:
                try:
                    run_of(topic, lake.path, format_, is_timed).refresh()
                    break
                except Killed:
                    lake.compact()
            assert sorted(topic.rows) == list(range(sent)), seed
            found = [times[n] for n in topic.rows[began:]]
            assert not is_timed or found == sorted(found)


def test_rows_without_a_time_come_last_and_equal_times_stay_in_order(tmp_path: Path) -> None:
    lake, topic = Lake(tmp_path, "parquet"), Topic()
    lake.add(table([4, 5, 6], lambda n: None if n == 5 else 9))
    lake.add(table([1, 2, 3], lambda n: 10 - n))
    run_of(topic, lake.path, "parquet", is_timed=True).refresh()
    assert topic.rows == [3, 2, 4, 6, 1, 5]


def test_rows_that_are_changed_or_deleted(tmp_path: Path) -> None:
    lake, topic = Lake(tmp_path, "delta"), Topic()
    run = run_of(topic, lake.path, "delta")
    lake.add(table(range(4)))
    run.refresh()
    DeltaTable(str(lake.path)).delete("r = 'E U/0'")  # whole files: rows that were read stay
    lake.add(table([7]))
    run.refresh()
    assert sorted(topic.rows) == [0, 1, 2, 3, 7]
    DeltaTable(str(lake.path)).update({"ts": "5"}, predicate="n = 1")
    with pytest.raises(KsqlError, match="version 3 changes or deletes rows"):
        run.refresh()
    other = Topic()
    run_of(other, lake.path, "delta").refresh()  # a stream begins with the table as it is
    assert sorted(other.rows) == [1, 3, 7]


def test_iceberg_rows_that_are_changed(tmp_path: Path) -> None:
    from pyiceberg.catalog.sql import SqlCatalog

    lake, topic = Lake(tmp_path, "iceberg"), Topic()
    run = run_of(topic, lake.path, "iceberg")
    lake.add(table(range(4)))
    run.refresh()
    there = SqlCatalog("lake", uri=f"sqlite:///{lake.path}/catalog.db").load_table("lake.rows")
    there.delete("N = 2")
    with pytest.raises(KsqlError, match="changes or deletes rows"):
        run.refresh()


def test_what_comes_next_is_gone(tmp_path: Path) -> None:
    lake, topic = Lake(tmp_path, "delta"), Topic()
    run = run_of(topic, lake.path, "delta")
    lake.add(table(range(2)))
    run.refresh()
    lake.add(table([2]))
    lake.add(table([3]))
    DeltaTable(str(lake.path)).create_checkpoint()
    log = lake.path / "_delta_log" / f"{1:020}.json"
    log.rename(tmp_path / "log")  # as the clean-up of old logs does
    with pytest.raises(KsqlError, match="has no version 1 any more"):
        run.refresh()
    (tmp_path / "log").rename(log)
    run.refresh()
    assert sorted(topic.rows) == [0, 1, 2, 3]


def test_a_column_that_comes_later(tmp_path: Path) -> None:
    lake, topic = Lake(tmp_path, "parquet"), Topic()
    lake.add(table([1]).drop_columns(["r"]))
    lake.add(table([2]))
    run_of(topic, lake.path, "parquet").refresh()
    assert topic.rows == [1, 2]
    lake.add(table([3]).drop_columns(["r"]))
    run_of(topic, lake.path, "parquet").refresh()
    assert topic.rows == [1, 2, 3]


def test_files_that_are_no_part_of_it(tmp_path: Path) -> None:
    lake, topic = Lake(tmp_path, "csv"), Topic()
    run = run_of(topic, lake.path, "csv")
    run.refresh()  # a folder that is empty yet
    lake.add(table([1]))
    (lake.path / "_tmp").mkdir()
    (lake.path / "_tmp" / "x.csv").write_text("broken")
    (lake.path / ".y.csv").write_text("broken")
    run.refresh()
    assert topic.rows == [1] and run.status.state == "RUNNING"


def test_a_file_that_is_changed_is_told_and_others_are_read(tmp_path: Path) -> None:
    lake, topic = Lake(tmp_path, "csv"), Topic()
    run = run_of(topic, lake.path, "csv")
    lake.add(table([1]))
    run.refresh()
    with (lake.path / "001.csv").open("a") as file:
        file.write("9,9,x\n")
    lake.add(table([2]))
    with pytest.raises(KsqlError, match=r"001\.csv was changed after it was read"):
        run.refresh()
    assert topic.rows == [1, 2]


def test_a_table_that_is_not_there(tmp_path: Path) -> None:
    for format_ in FORMATS:
        with pytest.raises(KsqlError, match="cannot be read"):
            run_of(Topic(), tmp_path / "nowhere", format_).refresh()
