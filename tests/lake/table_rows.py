"""Columns of all types with a full and an empty row, as lake tables are given them."""

from __future__ import annotations

import datetime
from decimal import Decimal as D
from pathlib import Path
from typing import Any

import pyarrow as pa

from ksql_spark.lake.arrow import schema_of
from ksql_spark.lake.tables import DELETED, TableSpec
from ksql_spark.schema import Column, Role
from ksql_spark.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INTEGER,
    STRING,
    TIME,
    TIMESTAMP,
    Array,
    Decimal,
    Field,
    Map,
    Struct,
)

COLUMNS = (
    Column("ID", INTEGER, Role.KEY),
    Column("TS", TIMESTAMP),
    Column("AT", TIME),
    Column("ON", DATE),
    Column("PRICE", Decimal(6, 2)),
    Column("BIG", BIGINT),
    Column("RATE", DOUBLE),
    Column("OK", BOOLEAN),
    Column("DATA", BYTES),
    Column("TIMES", Array(TIME)),
    Column("BY_NAME", Map(STRING, Array(INTEGER))),
    Column("PLACE", Struct((Field("x", DOUBLE), Field("since", DATE)))),
    Column("odd `name`", STRING),
)
FULL = {
    "ID": 1, "TS": datetime.datetime(2026, 3, 1, 23, 59, 59, 999000, datetime.UTC), "AT": 45_296_789,
    "ON": datetime.date(1969, 12, 31), "PRICE": D("-1234.50"), "BIG": 2**63 - 1, "RATE": -0.1, "OK": False,
    "DATA": b"\x00\xff", "TIMES": [0, None], "BY_NAME": [("a", [1, None]), ("b", None)],
    "PLACE": {"x": 1.5, "since": None}, "odd `name`": "Zoë, 'x'",
}  # fmt: skip
EMPTY = {name: None for name in FULL} | {"ID": 2}


def rows(*dicts: dict[str, Any], columns: tuple[Column, ...] = COLUMNS) -> pa.Table:
    return pa.Table.from_pylist(list(dicts), schema_of(columns, pa.int32()))


def spec(path: Path, **changes: Any) -> TableSpec:
    return TableSpec(**({"path": str(path), "topic": "t:1", "columns": COLUMNS} | changes))


def keyed(path: Path, **changes: Any) -> TableSpec:
    return spec(path, keys=("ID",), **changes)


def changed(*dicts: dict[str, Any], deleted: tuple[bool, ...]) -> pa.Table:
    return rows(*dicts).append_column(DELETED, pa.array(deleted, pa.bool_()))
