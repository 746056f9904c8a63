"""Folders of Parquet files: DuckDB and pyarrow read what is committed, and nothing else."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pytest

from ksql_spark.errors import KsqlError
from ksql_spark.lake.stores import Store
from ksql_spark.lake.tables import open_table
from ksql_spark.metastore.sinks import PartitionColumn
from tests.lake.table_rows import EMPTY, FULL, rows, spec

#: what FULL is in Parquet, which has TIME
WRITTEN = FULL | {
    "AT": datetime.time(12, 34, 56, 789000),
    "TIMES": [datetime.time(0), None],
}


def contents(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = ds.dataset(path, partitioning="hive").to_table().to_pylist()
    return sorted(found, key=lambda row: row["ID"])


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


def test_old_manifests_go(tmp_path: Path) -> None:
    for end in range(1, 15):
        open_table("parquet", spec(tmp_path)).write(rows(EMPTY), {0: end})
    assert len(list((tmp_path / "_ksql").iterdir())) <= 12
    assert len(contents(tmp_path)) == 14
