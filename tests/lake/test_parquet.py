"""Folders of Parquet files: DuckDB and pyarrow read what is committed, and nothing else."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.dataset as ds
import pytest

from ksql_spark.errors import KsqlError
from ksql_spark.lake import manifests
from ksql_spark.lake.stores import Store
from ksql_spark.lake.tables import open_table
from ksql_spark.metastore.sinks import PartitionColumn
from ksql_spark.schema import Column, Role
from ksql_spark.types import STRING, TIME, Array
from tests.lake.table_rows import COLUMNS, EMPTY, FULL, rows, spec

#: what FULL is in Parquet, which has TIME
WRITTEN = FULL | {
    "AT": datetime.time(12, 34, 56, 789000),
    "TIMES": [datetime.time(0), None],
}


def contents(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = ds.dataset(path, partitioning="hive").to_table().to_pylist()
    return sorted(found, key=lambda row: row["ID"])


def test_every_type_and_null(tmp_path: Path) -> None:
    table = open_table("parquet", spec(tmp_path))
    assert table.positions() == {}
    table.write(rows(FULL, EMPTY), {0: 2, 1: 7})
    assert contents(tmp_path) == [WRITTEN, EMPTY]
    assert open_table("parquet", spec(tmp_path)).positions() == {0: 2, 1: 7}
    assert open_table("parquet", spec(tmp_path, topic="t:2")).positions() == {}
    found = duckdb.sql(f'SELECT ID, "AT", PRICE FROM "{tmp_path}/*.parquet" ORDER BY ID').fetchall()
    assert found == [(1, WRITTEN["AT"], FULL["PRICE"]), (2, None, None)]


def test_of_two_writers_at_one_position_one_fails(tmp_path: Path) -> None:
    one, other = (open_table("parquet", spec(tmp_path)) for _ in range(2))
    one.write(rows(FULL), {0: 1})
    with pytest.raises(KsqlError) as refused:
        other.write(rows(FULL), {0: 1})
    assert refused.value.condition == "LAKE_CONFLICT"
    assert contents(tmp_path) == [WRITTEN]
    assert len(list((tmp_path / "_ksql").iterdir())) == 1


@pytest.mark.parametrize("at", ["commit", "publish"])
def test_a_kill_before_and_after_the_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: str) -> None:
    wanted = spec(tmp_path, partition_by=(PartitionColumn("ID"),))
    open_table("parquet", wanted).write(rows(FULL), {0: 1})

    class Killed(BaseException):
        pass

    def killed(*_: object) -> None:
        raise Killed

    table = open_table("parquet", wanted)
    with monkeypatch.context() as patch:
        patch.setattr(manifests, at, killed)
        with pytest.raises(Killed):
            table.write(rows(EMPTY), {0: 2})
    assert len(contents(tmp_path)) == 1
    table = open_table("parquet", wanted)
    is_committed = at == "publish"
    assert table.positions() == {0: 2 if is_committed else 1}
    if not is_committed:
        table.write(rows(EMPTY), {0: 2})
    assert [row["ID"] for row in contents(tmp_path)] == [1, 2]


@pytest.mark.parametrize("act", ["write", "compact"])
def test_attempts_on_a_full_disk_leave_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, act: str
) -> None:
    wanted = spec(tmp_path, partition_by=(PartitionColumn("ID"),))
    for end in (2, 4):
        open_table("parquet", wanted).write(rows(FULL, EMPTY), {0: end})
    before = sorted(tmp_path.rglob("*"))
    write, written = Store.write, list[str]()

    def full(self: Store, name: str, content: bytes | Path) -> None:
        if written:
            raise KsqlError("LAKE_FAILED", path=str(tmp_path), reason="no space left on device")
        written.append(name)
        write(self, name, content)

    monkeypatch.setattr(Store, "write", full)
    for _ in range(3):
        written.clear()
        table = open_table("parquet", wanted)
        with pytest.raises(KsqlError, match="no space left"):
            table.compact() if act == "compact" else table.write(rows(FULL, EMPTY), {0: 6})
        assert written
    assert sorted(tmp_path.rglob("*")) == before


def test_files_are_grouped(tmp_path: Path) -> None:
    parts = (PartitionColumn("TS", "day"), PartitionColumn("odd `name`"))
    table = open_table("parquet", spec(tmp_path, partition_by=parts))
    table.write(rows(FULL, EMPTY), {0: 2})
    open_table("parquet", spec(tmp_path, partition_by=parts)).write(rows(FULL | {"ID": 3}), {0: 3})
    assert [row["ID"] for row in contents(tmp_path)] == [1, 2, 3]
    assert (tmp_path / "TS_DAY=2026-03-01").is_dir()


def test_new_columns_and_other_types(tmp_path: Path) -> None:
    open_table("parquet", spec(tmp_path)).write(rows(EMPTY), {0: 1})
    more = (*COLUMNS, Column("MORE", Array(TIME)))
    table = open_table("parquet", spec(tmp_path, columns=more))
    table.write(rows(FULL | {"MORE": [1]}, columns=more), {0: 2})
    files = [ds.dataset(path).schema for path in tmp_path.glob("*.parquet")]
    found = ds.dataset(tmp_path, schema=pa.unify_schemas(files)).to_table()
    assert sorted(map(str, found["MORE"].to_pylist())) == ["None", "[datetime.time(0, 0, 0, 1000)]"]
    other = (Column("ID", STRING, Role.KEY), *COLUMNS[1:])
    with pytest.raises(KsqlError, match="is int32 and would have to be string"):
        open_table("parquet", spec(tmp_path, columns=other))


def test_old_manifests_go(tmp_path: Path) -> None:
    for end in range(1, 15):
        open_table("parquet", spec(tmp_path)).write(rows(EMPTY), {0: end})
    assert len(list((tmp_path / "_ksql").iterdir())) <= 12
    assert len(contents(tmp_path)) == 14
