"""Iceberg tables: positions and rows are one commit; types, keys, new columns. Pyiceberg reads them."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table

from ksql_spark.errors import KsqlError
from ksql_spark.lake.tables import open_table
from ksql_spark.metastore.sinks import PartitionColumn
from ksql_spark.schema import Column, Role
from ksql_spark.types import STRING, TIME, Array
from tests.lake.table_rows import COLUMNS, EMPTY, FULL, changed, keyed, rows, spec

WRITTEN = FULL | {"AT": datetime.time(12, 34, 56, 789000), "TIMES": [datetime.time(0), None]}


def table_of(path: Path) -> Table:
    return SqlCatalog("lake", uri=f"sqlite:///{path}/catalog.db").load_table("lake.rows")


def contents(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = table_of(path).scan().to_arrow().to_pylist()
    return sorted(found, key=lambda row: row["ID"])


def test_every_type_and_null(tmp_path: Path) -> None:
    table = open_table("iceberg", spec(tmp_path))
    assert table.positions() == {}
    table.write(rows(FULL, EMPTY), {0: 2, 1: 7})
    assert contents(tmp_path) == [WRITTEN, EMPTY]
    assert open_table("iceberg", spec(tmp_path)).positions() == {0: 2, 1: 7}
    assert open_table("iceberg", spec(tmp_path, topic="t:2")).positions() == {}
    assert len(table_of(tmp_path).snapshots()) == 1


@pytest.mark.parametrize("keys", [(), ("ID",)])
def test_of_two_writers_at_one_position_one_fails(tmp_path: Path, keys: tuple[str, ...]) -> None:
    one, other = (open_table("iceberg", spec(tmp_path, keys=keys)) for _ in range(2))
    given = changed(FULL, deleted=(False,)) if keys else rows(FULL)
    one.write(given, {0: 1})
    with pytest.raises(KsqlError) as refused:
        other.write(given, {0: 1})
    assert refused.value.condition == "LAKE_CONFLICT"
    assert contents(tmp_path) == [WRITTEN]


def test_rows_are_replaced_and_removed_by_key(tmp_path: Path) -> None:
    open_table("iceberg", keyed(tmp_path)).write(changed(FULL, EMPTY, deleted=(False, False)), {0: 2})
    newer = EMPTY | {"RATE": 2.5}
    table = open_table("iceberg", keyed(tmp_path))
    table.write(changed(FULL, newer, EMPTY | {"ID": 3}, deleted=(True, False, True)), {0: 5})
    assert contents(tmp_path) == [newer]
    assert open_table("iceberg", keyed(tmp_path)).positions() == {0: 5}


def test_a_key_may_be_null_in_part(tmp_path: Path) -> None:
    wanted = spec(tmp_path, keys=("ID", "odd `name`"))
    open_table("iceberg", wanted).write(changed(EMPTY, FULL, deleted=(False, False)), {0: 1})
    open_table("iceberg", wanted).write(changed(EMPTY | {"BIG": 5}, deleted=(False,)), {0: 2})
    assert contents(tmp_path) == [WRITTEN, EMPTY | {"BIG": 5}]


@pytest.mark.parametrize("transform", ["year", "month", "day", "hour", None])
def test_files_are_grouped(tmp_path: Path, transform: str | None) -> None:
    part = PartitionColumn("TS" if transform else "odd `name`", transform)
    open_table("iceberg", spec(tmp_path, partition_by=(part,))).write(rows(FULL, EMPTY), {0: 2})
    assert contents(tmp_path) == [WRITTEN, EMPTY]
    assert len(table_of(tmp_path).inspect.files()) == 2


def test_new_columns_and_other_types(tmp_path: Path) -> None:
    open_table("iceberg", spec(tmp_path)).write(rows(EMPTY), {0: 1})
    more = (*COLUMNS, Column("MORE", Array(TIME)))
    table = open_table("iceberg", spec(tmp_path, columns=more))
    table.write(rows(FULL | {"MORE": [1]}, columns=more), {0: 2})
    assert [row["MORE"] for row in contents(tmp_path)] == [[datetime.time(0, 0, 0, 1000)], None]
    other = (Column("ID", STRING, Role.KEY), *COLUMNS[1:])
    with pytest.raises(KsqlError, match="is int and would have to be string"):
        open_table("iceberg", spec(tmp_path, columns=other))
