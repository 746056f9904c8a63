"""Tables that follow others outside Kafka, without Kafka and Spark: what is read, written and told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import cast

import pyarrow as pa
import pytest

from ksql_spark.errors import KsqlError
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.lake.origins import Changes, OriginRun, Origins, OriginStatus
from ksql_spark.metastore.catalog import Catalog
from ksql_spark.metastore.origins import Origin
from ksql_spark.metastore.sources import TABLE, DataSource, FormatSpec
from ksql_spark.schema import Column, Role, Schema
from ksql_spark.types import INTEGER
from tests.waiting import until

SOURCE = DataSource(
    "T", TABLE, Schema((Column("N", INTEGER, Role.KEY),)), "t", FormatSpec("KAFKA"), FormatSpec("JSON")
)


class Topic:
    """A compacted topic of numbers: admin and writer in one."""

    def __init__(self) -> None:
        self.rows: set[int] = set()
        self.end = 0
        self.looks = 0

    def committed_ends(self, name: str) -> dict[tuple[str, int], int]:
        return {(name, 0): self.end}

    def write(self, source: DataSource, origin: Origin, rows: pa.Table, ends: Mapping[int, int]) -> Changes:
        self.looks += 1
        wanted = set(rows["N"].to_pylist())
        new, gone = wanted - self.rows, self.rows - wanted
        self.rows = wanted
        self.end += len(new) + len(gone)
        return Changes(len(wanted), len(new), len(gone), 0)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "n.csv"


def put(path: Path, *numbers: int) -> None:
    path.write_text("n\n" + "".join(f"{n}\n" for n in numbers))


def run_of(topic: Topic, path: Path) -> OriginRun:
    origin = Origin(str(path), "csv", refresh_ms=10)
    return OriginRun((SOURCE, origin), cast(KafkaAdmin, topic), topic.write, OriginStatus())


def test_rows_that_come_and_go(path: Path) -> None:
    topic = Topic()
    run = run_of(topic, path)
    for numbers, written, removed in (((1, 2), 2, 0), ((2, 3), 3, 1), ((), 3, 3)):
        put(path, *numbers)
        run.refresh()
        assert topic.rows == set(numbers)
        status = run.status
        assert (status.rows, status.written, status.removed) == (len(numbers), written, removed)
        assert status.state == "RUNNING" and status.last_refresh_ms is not None


def test_what_is_equal_is_not_read_again(path: Path) -> None:
    topic = Topic()
    run = run_of(topic, path)
    put(path, 1)
    for _ in range(4):
        run.refresh()
    assert topic.looks == 2  # the second look sees that all has arrived
    topic.end += 1  # somebody writes to the topic
    run.refresh()
    assert topic.looks == 3


def test_a_failure_changes_nothing_and_is_told(path: Path) -> None:
    topic = Topic()
    run = run_of(topic, path)
    put(path, 1)
    run.refresh()
    path.unlink()
    with pytest.raises(KsqlError, match="there is no file"):
        run.refresh()
    assert topic.rows == {1}
    run.failed("gone")
    assert (run.status.state, run.status.reason, run.status.rows) == ("ERROR", "gone", 1)
    put(path, 1, 2)
    run.refresh()
    assert topic.rows == {1, 2} and run.status.reason is None


def test_tables_follow_the_metastore(path: Path) -> None:
    catalog, topic = Catalog(), Topic()
    followed = Origins(
        catalog,
        lambda definition, status: OriginRun(definition, cast(KafkaAdmin, topic), topic.write, status),
    )

    def status_in(state: str) -> OriginStatus:
        until(lambda: followed.status("T").state == state, lambda: followed.status("T"))
        return followed.status("T")

    catalog.metastore.add(SOURCE)
    catalog.metastore.add_origin("T", Origin(str(path), "csv", refresh_ms=10))
    catalog.publish()
    followed.follow()
    assert "there is no file" in str(status_in("ERROR").reason)
    put(path, 1)
    status_in("RUNNING")
    catalog.metastore.add(replace(SOURCE, topic="other"))
    catalog.publish()
    (before,) = followed._runs.values()
    followed.follow()
    (after,) = followed._runs.values()
    assert after is not before
    catalog.metastore.drop("T")
    catalog.publish()
    followed.follow()
    assert not followed._runs and followed.status("T") == OriginStatus() and not catalog.metastore.origins()
    followed.close()
