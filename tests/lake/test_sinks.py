"""Sinks without Kafka and Spark: what is read, written and told, whatever fails."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from ksql_spark.errors import KsqlError
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.lake import sinks, tables
from ksql_spark.lake.sinks import Range, SinkRun, Sinks, SinkStatus, next_range
from ksql_spark.lake.tables import Refusal, Report
from ksql_spark.metastore.catalog import Catalog
from ksql_spark.metastore.sinks import Sink
from ksql_spark.metastore.sources import DataSource
from ksql_spark.schema import Column, Schema
from ksql_spark.types import INTEGER
from tests.lake.number_topic import SOURCE, Topic
from tests.waiting import until


def run_of(topic: Topic, path: Path, source: DataSource | None = SOURCE) -> SinkRun:
    sink = Sink("LAKE", "S", "delta", str(path))
    return SinkRun(sink, lambda name: source, cast(KafkaAdmin, topic), topic.read, SinkStatus())


def numbers(path: Path) -> list[int]:
    return sorted(DeltaTable(str(path)).to_pyarrow_table()["N"].to_pylist())


def test_ranges_share_what_is_left() -> None:
    assert next_range({0: 0, 1: 0, 2: 7}, {0: 100, 1: 10, 2: 7}, 60).ends == {0: 50, 1: 10, 2: 7}
    assert next_range({0: 3}, {0: 3}, 60).size == 0
    for seed in range(200):
        choose = random.Random(seed)
        starts = {p: choose.randrange(50) for p in range(choose.randrange(1, 6))}
        ends = {p: start + choose.choice([0, 1, 40]) for p, start in starts.items()}
        part = next_range(starts, ends, 20)
        assert all(starts[p] <= part.ends[p] <= ends[p] for p in ends)
        assert part.size <= 20 + len(ends) and (part.size > 0 or starts == ends)


def test_a_backlog_is_written_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sinks, "MOST_RECORDS", 10)
    topic = Topic(25, 3)
    run = run_of(topic, tmp_path)
    assert [run.commit() for _ in range(3)] == [True, True, False]
    assert numbers(tmp_path) == [*range(25), 1_000, 1_001, 1_002]
    assert (run.status.lag, run.status.rows, run.status.commits) == (0, 28, 3)
    version = DeltaTable(str(tmp_path)).version()
    assert run.commit() is False and DeltaTable(str(tmp_path)).version() == version


def test_a_table_is_opened_when_there_is_something_to_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []

    def open_table(type_: str, spec: Any) -> Any:
        opened.append(spec.topic)
        return tables.open_table(type_, spec)

    monkeypatch.setattr(sinks, "open_table", open_table)
    topic = Topic(3)
    run = run_of(topic, tmp_path)
    run.commit()
    run.failed("Kafka was away")
    assert [run.commit() for _ in range(5)] == [False] * 5
    assert opened == ["s:one"] and run.status.state == "RUNNING"
    topic.ends = {0: 4}
    assert [run.commit() for _ in range(5)] == [False] * 5
    topic.id = "two"  # recreated, with as many records
    run.commit()
    assert opened == ["s:one", "s:one", "s:two"] and numbers(tmp_path) == sorted([*range(4), *range(4)])


def test_another_run_goes_on_where_the_table_is(tmp_path: Path) -> None:
    topic = Topic(5)
    run_of(topic, tmp_path).commit()
    topic.ends = {0: 8, 1: 2}  # with a new partition
    topic.begins = {0: 0, 1: 0}
    run_of(topic, tmp_path).commit()
    assert numbers(tmp_path) == [*range(8), 1_000, 1_001]
    assert topic.reads[-1] == Range({0: 5, 1: 0}, {0: 8, 1: 2})


def test_a_column_that_comes_before_the_end_was_read_is_not_left_out(tmp_path: Path) -> None:
    more = replace(SOURCE, schema=Schema((*SOURCE.schema.columns, Column("MORE", INTEGER))))
    topic, source = Topic(0), SOURCE

    def ends(name: str) -> dict[tuple[str, int], int]:
        nonlocal source
        source = more  # ALTER, and a record that has the column
        return {(name, 0): 1}

    def read(sink: Sink, source: DataSource, columns: tuple[Column, ...], part: Range) -> pa.Table:
        return pa.table({column.name: pa.array([4], pa.int32()) for column in columns})

    topic.committed_ends = ends  # type: ignore[method-assign]
    sink = Sink("LAKE", "S", "delta", str(tmp_path))
    run = SinkRun(sink, lambda name: source, cast(KafkaAdmin, topic), read, SinkStatus())
    while run.commit():
        pass
    assert DeltaTable(str(tmp_path)).to_pyarrow_table().to_pylist() == [{"N": 4, "MORE": 4}]


@pytest.mark.parametrize("seed", range(6))
def test_each_record_is_there_once_whatever_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """Failures before and after each commit, as a kill at these places; two runs at once."""
    monkeypatch.setattr(sinks, "MOST_RECORDS", 7)
    choose, topic, opened = random.Random(seed), Topic(0, 0), sinks.open_table

    class Fails(Exception):
        pass

    def flaky(type_: str, spec: Any) -> Any:
        table = opened(type_, spec)
        write = table.write

        def written(rows: pa.Table, ends: Mapping[int, int], report: Report) -> None:
            if choose.random() < 0.3:
                raise Fails
            if choose.random() < 0.2:  # somebody else is faster
                opened(type_, spec).write(rows, ends, report)
            write(rows, ends, report)
            if choose.random() < 0.3:
                raise Fails

        monkeypatch.setattr(table, "write", written)
        return table

    monkeypatch.setattr(sinks, "open_table", flaky)
    run = run_of(topic, tmp_path)
    for _ in range(30):
        topic.ends = {p: end + choose.randrange(5) for p, end in topic.ends.items()}
        try:
            run.commit()
        except (Fails, KsqlError):
            run = run_of(topic, tmp_path)
    monkeypatch.setattr(sinks, "open_table", opened)
    while run.commit():
        pass
    expected = [p * 1_000 + offset for p, end in topic.ends.items() for offset in range(end)]
    assert numbers(tmp_path) == expected


def test_a_run_that_was_overtaken_tries_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    topic, opened, tried = Topic(3), sinks.open_table, list[int]()

    def overtaken(type_: str, spec: Any) -> Any:
        tried.append(0)
        if len(tried) < 3:
            raise KsqlError("LAKE_CONFLICT", path="x", reason="Others are faster.")
        return opened(type_, spec)

    monkeypatch.setattr(sinks, "open_table", overtaken)
    run = run_of(topic, tmp_path)
    run.start()
    until(lambda: run.status.state == "RUNNING", lambda: run.status)
    assert run.status.reason is None
    run.close()
    run.join(10)
    assert numbers(tmp_path) == [0, 1, 2]


def test_what_a_table_refuses_is_reported_and_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Table:
        def positions(self) -> dict[int, int]:
            return {}

        def write(self, rows: pa.Table, ends: Mapping[int, int], report: Report) -> None:
            report([Refusal(rows.to_pylist()[1], "Never.")])

    monkeypatch.setattr(sinks, "open_table", lambda type_, spec: Table())
    reported: list[Any] = []
    sink = Sink("LAKE", "S", "jdbc", "sqlite:x", "s")
    topic = Topic(3)
    run = SinkRun(
        sink,
        lambda name: SOURCE,
        cast(KafkaAdmin, topic),
        topic.read,
        SinkStatus(),
        lambda sink, refused: reported.append((sink.id, refused)),
    )
    run.commit()
    assert reported == [("SINK_LAKE", [Refusal({"N": 1}, "Never.")])]
    assert (run.status.rows, run.status.lag) == (2, 0)


def test_what_retention_has_removed_is_counted_once(tmp_path: Path) -> None:
    topic = Topic(5)
    run = run_of(topic, tmp_path)
    run.commit()
    topic.begins, topic.ends = {0: 9}, {0: 9}
    for _ in range(3):  # there is nothing to write, so the table does not know of it
        run.commit()
        assert run.status.removed == 4
    topic.ends = {0: 12}
    run.commit()
    assert run.status.removed == 4
    assert numbers(tmp_path) == [*range(5), 9, 10, 11]
    topic.id, topic.begins, topic.ends = "two", {0: 0}, {0: 1}
    run.commit()
    topic.begins, topic.ends = {0: 3}, {0: 3}
    run.commit()
    assert run.status.removed == 4 + 2


def test_what_retention_removes_before_the_first_commit_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: object) -> None:
        raise KsqlError("LAKE_FAILED", path="x", reason="it is away")

    topic = Topic(100, 100, 100)
    topic.begins = {0: 90, 1: 70, 2: 5}
    # records that were gone before the statement are not the sink's; partition 2 was added after it
    sink = Sink("LAKE", "S", "delta", str(tmp_path), begins={0: 40, 1: 0})
    run = SinkRun(sink, lambda name: SOURCE, cast(KafkaAdmin, topic), topic.read, SinkStatus())
    with monkeypatch.context() as patch:
        patch.setattr(sinks, "open_table", away)
        with pytest.raises(KsqlError):
            run.commit()
    for _ in range(2):
        run.commit()
        assert run.status.removed == 50 + 70 + 5
    assert len(numbers(tmp_path)) == 10 + 30 + 95
    # a sink that a release before has logged without these offsets
    old = run_of(topic, tmp_path / "old")
    old.commit()
    assert old.status.removed == 0


def test_a_topic_that_was_made_again_is_read_from_its_beginning(tmp_path: Path) -> None:
    topic = Topic(5)
    run_of(topic, tmp_path).commit()
    topic.id, topic.ends = "two", {0: 2}
    run_of(topic, tmp_path).commit()
    assert numbers(tmp_path) == [0, 0, 1, 1, 2, 3, 4]


def test_a_source_that_was_dropped_with_its_sink_is_no_error(tmp_path: Path) -> None:
    run = run_of(Topic(1), tmp_path, None)
    assert run.commit() is False
    assert run.status == SinkStatus(compacted=0) and not list(tmp_path.iterdir())


def test_sinks_follow_the_metastore(tmp_path: Path) -> None:
    catalog, topic = Catalog(), Topic(3)
    followed = Sinks(catalog, cast(KafkaAdmin, topic), topic.read)
    sink = Sink("LAKE", "S", "delta", str(tmp_path / "lake"), interval_ms=10)

    def now(*there: Sink) -> None:
        for one in catalog.metastore.sinks():
            catalog.metastore.drop_sink(one.name)
        for one in there:
            catalog.metastore.add_sink(one)
        catalog.publish()
        followed.follow()

    catalog.metastore.add(SOURCE)
    now(sink)
    run = followed._runs["LAKE"]
    until(lambda: followed.status("LAKE").state == "RUNNING", lambda: followed.status("LAKE"))
    followed.follow()
    assert followed._runs["LAKE"] is run
    now(Sink(**{**sink.__dict__, "is_paused": True}))
    run.join(10)
    assert followed.status("LAKE").rows == 3 and not followed._runs
    topic.ends = {0: 4}
    now(sink)
    until(lambda: followed.status("LAKE").rows == 4)
    now()
    followed.close()
    assert followed.status("LAKE") == SinkStatus()
    assert numbers(tmp_path / "lake") == [0, 1, 2, 3]
