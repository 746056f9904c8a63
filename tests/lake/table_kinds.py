"""The kinds of tables that sinks write, each with a place and what other programs find there."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal as D
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import sqlalchemy as sa
from deltalake import DeltaTable
from pyiceberg.catalog.sql import SqlCatalog

from ksql_spark.lake import iceberg
from ksql_spark.lake.databases import url_of
from ksql_spark.lake.stores import Store
from ksql_spark.lake.tables import LakeTable, TableSpec, open_table
from tests.lake.table_rows import COLUMNS, FULL

Row = dict[str, Any]
#: the name of the table in a database
TABLE = "orders"


def _delta(path: str) -> list[Row]:
    rows: list[Row] = DeltaTable(path).to_pyarrow_table().to_pylist()
    return rows


def _iceberg(path: str) -> list[Row]:
    if path.startswith("catalog:"):
        catalog, name = path.removeprefix("catalog:").split("/")
        table = iceberg.load_catalog(catalog).load_table(name)
    else:
        table = SqlCatalog("lake", uri=f"sqlite:///{path}/catalog.db").load_table("lake.rows")
    rows: list[Row] = table.scan().to_arrow().to_pylist()
    return rows


def _parquet(path: str) -> list[Row]:
    store = Store(path)
    names = [name for name in store.all_names() if name.endswith(".parquet")]
    files = [pq.ParquetFile(pa.BufferReader(store.read(name))).read() for name in names]
    rows: list[Row] = pa.concat_tables(files, promote_options="default").to_pylist()
    return rows


def _database(url: str) -> list[Row]:
    engine = sa.create_engine(url_of(url))
    with engine.connect() as connection:
        found = connection.exec_driver_sql(f"SELECT * FROM {TABLE}")
        names = ["odd `name`" if name.startswith("odd") else name.upper() for name in found.keys()]  # noqa: SIM118
        rows = [dict(zip(names, map(_of_json, row), strict=True)) for row in found]
    engine.dispose()
    return rows


def _of_json(value: Any) -> Any:
    """The value of a column; SQLite has JSON as text."""
    return json.loads(value) if isinstance(value, str) and value[:1] in ("[", "{") else value


_TIMES = {"AT": datetime.time(12, 34, 56, 789000), "TIMES": [datetime.time(0), None]}
_TEXTS = {"AT": "12:34:56.789", "TIMES": ["00:00:00.000", None]}
_JSON = {
    "TIMES": ["00:00:00.000", None],
    "BY_NAME": {"a": [1, None], "b": None},
    "PLACE": {"x": 1.5, "since": None},
}
_IN_SQLITE = {
    "TS": "2026-03-01 23:59:59.999000", "AT": "12:34:56.789000", "ON": "1969-12-31", "PRICE": "-1234.50",
    "OK": 0,
}  # fmt: skip


@dataclass(frozen=True)
class Kind:
    """A kind of table.

    Args:
        type: TYPE of CREATE SINK.
        read: the rows that another program finds at a path.
        differs: the values that FULL has there, where they are others.
        millisecond: what the TIME 00:00:00.001 is there.
        integer, text: what it calls INTEGER and STRING.
        has_keys: whether rows can be replaced.
    """

    type: str
    read: Callable[[str], list[Row]]
    differs: Mapping[str, Any]
    millisecond: Any
    integer: str
    text: str
    has_keys: bool = True

    @property
    def written(self) -> Row:
        """What FULL is there."""
        return {**FULL, **self.differs}


DELTA = Kind("delta", _delta, _TEXTS, "00:00:00.001", "integer", "string")
ICEBERG = Kind("iceberg", _iceberg, _TIMES, datetime.time(0, 0, 0, 1000), "int", "string")
PARQUET = Kind("parquet", _parquet, _TIMES, datetime.time(0, 0, 0, 1000), "int32", "string", has_keys=False)
SQLITE = Kind("jdbc", _database, _JSON | _IN_SQLITE, "00:00:00.001", "INTEGER", "TEXT")
POSTGRESQL = Kind(
    "jdbc", _database, _JSON | {"AT": _TIMES["AT"], "PRICE": D("-1234.50")}, "00:00:00.001", "INTEGER", "TEXT"
)  # fmt: skip


@dataclass(frozen=True)
class Place:
    """Where a test's table is."""

    kind: Kind
    path: str

    def spec(self, **changes: Any) -> TableSpec:
        given = {"path": self.path, "topic": "t:1", "columns": COLUMNS, "table": TABLE}
        return TableSpec(**(given | changes))

    def open(self, **changes: Any) -> LakeTable:
        return open_table(self.kind.type, self.spec(**changes))

    def contents(self) -> list[Row]:
        """The rows that another program finds, by their ID."""
        return sorted(self.kind.read(self.path), key=lambda row: row["ID"])
