"""Delta tables: positions and rows are one commit; types, keys, new columns."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from ksql_spark.errors import KsqlError
from ksql_spark.lake.tables import DELETED, open_table
from ksql_spark.metastore.sinks import PartitionColumn
from ksql_spark.schema import Column, Role
from ksql_spark.types import (
    INTEGER,
    STRING,
    TIME,
    Array,
)
from tests.lake.table_rows import COLUMNS, EMPTY, FULL, changed, keyed, rows, spec

#: what FULL is in Delta, which has no TIME
WRITTEN = FULL | {"AT": "12:34:56.789", "TIMES": ["00:00:00.000", None]}


def contents(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = DeltaTable(str(path)).to_pyarrow_table().to_pylist()
    return sorted(found, key=lambda row: row["ID"])


def test_every_type_and_null(tmp_path: Path) -> None:
    table = open_table("delta", spec(tmp_path))
    assert table.positions() == {}
    table.write(rows(FULL, EMPTY), {0: 2, 1: 7})
    assert contents(tmp_path) == [WRITTEN, EMPTY]
    assert open_table("delta", spec(tmp_path)).positions() == {0: 2, 1: 7}
    assert open_table("delta", spec(tmp_path, topic="t:2")).positions() == {}


@pytest.mark.parametrize("keys", [(), ("ID",)])
def test_of_two_writers_at_one_position_one_fails(tmp_path: Path, keys: tuple[str, ...]) -> None:
    one, other = (open_table("delta", spec(tmp_path, keys=keys)) for _ in range(2))
    given = changed(FULL, deleted=(False,)) if keys else rows(FULL)
    one.write(given, {0: 1})
    with pytest.raises(KsqlError) as refused:
        other.write(given, {0: 1})
    assert refused.value.condition == "LAKE_CONFLICT"
    assert contents(tmp_path) == [WRITTEN]


def test_rows_are_replaced_and_removed_by_key(tmp_path: Path) -> None:
    open_table("delta", keyed(tmp_path)).write(changed(FULL, EMPTY, deleted=(False, False)), {0: 2})
    newer = EMPTY | {"RATE": 2.5}
    table = open_table("delta", keyed(tmp_path))
    table.write(changed(FULL, newer, EMPTY | {"ID": 3}, deleted=(True, False, True)), {0: 5})
    assert contents(tmp_path) == [newer]
    assert open_table("delta", keyed(tmp_path)).positions() == {0: 5}


def test_a_key_may_be_null_in_part(tmp_path: Path) -> None:
    wanted = spec(tmp_path, keys=("ID", "odd `name`"))
    open_table("delta", wanted).write(changed(EMPTY, deleted=(False,)), {0: 1})
    open_table("delta", wanted).write(changed(EMPTY | {"BIG": 5}, deleted=(False,)), {0: 2})
    assert contents(tmp_path) == [EMPTY | {"BIG": 5}]


def test_files_are_grouped(tmp_path: Path) -> None:
    parts = (PartitionColumn("TS", "day"), PartitionColumn("odd `name`"))
    table = open_table("delta", spec(tmp_path, partition_by=parts))
    table.write(rows(FULL, EMPTY), {0: 2})
    day = {"TS_DAY": datetime.date(2026, 3, 1)}
    assert contents(tmp_path) == [WRITTEN | day, EMPTY | {"TS_DAY": None}]
    assert DeltaTable(str(tmp_path)).metadata().partition_columns == ["TS_DAY", "odd `name`"]


@pytest.mark.parametrize(
    ("transform", "value"),
    [("year", 2026), ("month", "2026-03"), ("day", datetime.date(2026, 3, 1)), ("hour", "2026-03-01-23")],
)
def test_functions_of_partitions(tmp_path: Path, transform: str, value: object) -> None:
    part = PartitionColumn("TS", transform)
    open_table("delta", spec(tmp_path, partition_by=(part,))).write(rows(FULL, EMPTY), {0: 2})
    assert [row[part.name] for row in contents(tmp_path)] == [value, None]


@pytest.mark.parametrize("keys", [(), ("ID",)])
def test_new_columns_are_added(tmp_path: Path, keys: tuple[str, ...]) -> None:
    flags = {DELETED: pa.array([False])} if keys else {}

    def write(row: dict[str, Any], columns: tuple[Column, ...], end: int) -> None:
        table = open_table("delta", spec(tmp_path, columns=columns, keys=keys))
        given = rows(row, columns=columns)
        table.write(given.append_column(DELETED, flags[DELETED]) if keys else given, {0: end})

    write(EMPTY, COLUMNS, 1)
    more = (*COLUMNS, Column("MORE", Array(TIME)))
    write(FULL | {"MORE": [1]}, more, 2)
    assert contents(tmp_path) == [WRITTEN | {"MORE": ["00:00:00.001"]}, EMPTY | {"MORE": None}]


def test_a_column_of_another_type_is_refused(tmp_path: Path) -> None:
    open_table("delta", spec(tmp_path)).write(rows(FULL), {0: 1})
    other = (Column("ID", STRING, Role.KEY), *COLUMNS[1:])
    with pytest.raises(KsqlError, match=r"column ID of .* is integer and would have to be string"):
        open_table("delta", spec(tmp_path, columns=other))
    assert contents(tmp_path) == [WRITTEN]


def test_a_column_that_is_lost_becomes_null(tmp_path: Path) -> None:
    columns = (Column("ID", INTEGER), Column("A", INTEGER), Column("B", INTEGER))
    for values, end in (({"ID": 1, "A": 1, "B": 10}, 1), ({"ID": 1, "A": 5}, 2)):
        there = columns[: len(values)]
        table = open_table("delta", spec(tmp_path, columns=there, keys=("ID",)))
        given = rows(values, columns=there).append_column(DELETED, pa.array([False]))
        table.write(given, {0: end})
    assert contents(tmp_path) == [{"ID": 1, "A": 5, "B": None}]
