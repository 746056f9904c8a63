"""Tables of Apache Iceberg, by pyiceberg.

They are in a catalog that pyiceberg is configured for, or in one of their own, a SQLite file in their folder.
Positions are a property of the table, which is set in the transaction that adds the rows. Pyiceberg must not
repeat a commit that another one has overtaken, since that one may have had the same rows.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.expressions import And, BooleanExpression, EqualTo, In, IsNull, Or
from pyiceberg.table import StaticTable, Table
from pyiceberg.transforms import DayTransform, HourTransform, IdentityTransform, MonthTransform, YearTransform

from ksql_spark.errors import KsqlError
from ksql_spark.lake import arrow
from ksql_spark.lake.tables import DELETED, Report, TableSpec, ignore
from ksql_spark.metastore.sinks import CATALOG_TABLE

#: the name of a table in a catalog of its own, and of that catalog's file
_NAME, _FILE = ("lake", "rows"), "catalog.db"
_POSITIONS = "ksql-spark.positions"
#: how long snapshots are kept, and Iceberg's default: five days
_AGE, _DEFAULT_AGE_MS = "history.expire.max-snapshot-age-ms", "432000000"
_PROPERTIES = {"commit.retry.num-retries": "0"}
#: Iceberg's TIME has microseconds
_TIME = pa.time64("us")
_TRANSFORMS: Mapping[str | None, Any] = {
    None: IdentityTransform(),
    "year": YearTransform(),
    "month": MonthTransform(),
    "day": DayTransform(),
    "hour": HourTransform(),
}


class _IcebergTable:
    def __init__(self, spec: TableSpec) -> None:
        self._spec = spec
        self._schema = arrow.schema_of(spec.columns, _TIME)
        catalog, name, location = _place_in_catalog(spec.path) or _own(Path(spec.path).absolute())
        if not catalog.table_exists(name):
            catalog.create_namespace_if_not_exists(name[:-1])
            making = catalog.create_table_transaction(
                name, self._schema, location=location, properties=_PROPERTIES
            )
            with making, making.update_spec() as update:
                for part in spec.partition_by:
                    update.add_field(part.column, _TRANSFORMS[part.transform], f"{part.name}_PART")
        self._table = catalog.load_table(name)
        if not _PROPERTIES.items() <= self._table.properties.items():  # somebody else has made it
            with self._table.transaction() as change:
                change.set_properties(_PROPERTIES)
        self._add_columns()

    def _add_columns(self) -> None:
        there = {field.name: field.field_type for field in self._table.schema().fields}
        for field in self._schema:
            try:
                with self._table.update_schema() as update:
                    update.union_by_name(pa.schema([field]))
            except CommitFailedException:
                raise
            except Exception:  # it has no common class
                raise KsqlError(
                    "LAKE_INCOMPATIBLE",
                    path=self._spec.path,
                    column=field.name,
                    there=there.get(field.name),
                    wanted=field.type,
                ) from None

    def _all_positions(self) -> dict[str, dict[str, int]]:
        positions: dict[str, dict[str, int]] = json.loads(self._table.properties.get(_POSITIONS, "{}"))
        return positions

    def positions(self) -> dict[int, int]:
        of_topic = self._all_positions().get(self._spec.topic, {})
        return {int(partition): offset for partition, offset in of_topic.items()}

    def write(self, rows: pa.Table, ends: Mapping[int, int], report: Report = ignore) -> None:
        moved = {str(partition): offset for partition, offset in ends.items()}
        positions = json.dumps(self._all_positions() | {self._spec.topic: moved})
        data = rows.select(self._schema.names).cast(arrow.schema_of(self._spec.columns)).cast(self._schema)
        try:
            with self._table.transaction() as commit:
                if self._spec.keys and data.num_rows:
                    if self._table.current_snapshot() is not None:
                        commit.delete(_any_of(data.select(self._spec.keys)))
                    data = data.filter(pc.invert(rows[DELETED]))
                if data.num_rows:
                    commit.append(data)
                commit.set_properties({_POSITIONS: positions})
        except CommitFailedException as error:
            raise KsqlError("LAKE_CONFLICT", path=self._spec.path, reason=str(error)) from None

    def compact(self) -> None:
        """Expire snapshots that are older than the table's property allows, except the newest one.

        Pyiceberg cannot rewrite data files, and leaves files of metadata that nothing names any more.
        """
        age = timedelta(milliseconds=int(self._table.properties.get(_AGE, _DEFAULT_AGE_MS)))
        self._table.maintenance.expire_snapshots().older_than(datetime.now(UTC) - age).commit()


#: a catalog, the name of a table there, and where a new one is to be; None: where the catalog says
_Place = tuple[Catalog, tuple[str, ...], str | None]


def _place_in_catalog(path: str) -> _Place | None:
    """Load the catalog of a path ``catalog:NAME/namespace.table``; return None for other paths."""
    match = CATALOG_TABLE.fullmatch(path)
    return match and (load_catalog(match["catalog"]), tuple(match["table"].split(".")), None)


def _own(folder: Path) -> _Place:
    folder.mkdir(parents=True, exist_ok=True)
    catalog = SqlCatalog(_NAME[0], uri=f"sqlite:///{folder}/{_FILE}", warehouse=folder.as_uri())
    return catalog, _NAME, folder.as_uri()


def table(path: str) -> Table:
    """A table that is there: of a catalog, of a folder that a sink has made, or of one that has its metadata.

    Args:
        path: ``catalog:NAME/namespace.table``, a folder, or a file ``….metadata.json``.
    """
    if (place := _place_in_catalog(path)) is not None:
        return place[0].load_table(place[1])
    folder = Path(path).absolute()
    if (folder / _FILE).exists():
        return _own(folder)[0].load_table(_NAME)
    return StaticTable.from_metadata(path)


def _any_of(keys: pa.Table) -> BooleanExpression:
    """Whether a row has one of ``keys``."""
    if keys.num_columns == 1:
        (name,) = keys.column_names
        return In(name, keys[name].to_pylist())
    rows = [[_equal(name, value) for name, value in row.items()] for row in keys.to_pylist()]
    same = [And(*parts) for parts in rows]
    return Or(*same) if len(same) > 1 else same[0]


def _equal(name: str, value: Any) -> BooleanExpression:
    return IsNull(name) if value is None else EqualTo(name, value)


def open_table(spec: TableSpec) -> _IcebergTable:
    """Open or create a table; see tables.open_table."""
    return _IcebergTable(spec)
