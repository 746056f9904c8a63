"""Tables of Delta Lake, by delta-rs.

Positions are application transactions of Delta's log, one for each Kafka partition, whose version is the
offset. Delta refuses a commit if another one has moved them since the table was opened.
"""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Field, Schema, Transaction, write_deltalake
from deltalake.exceptions import CommitFailedError

from ksql_spark.errors import KsqlError
from ksql_spark.lake import arrow
from ksql_spark.lake.tables import DELETED, Report, TableSpec, ignore

#: Delta has no TIME: '12:34:56.789'
_TIME = pa.string()


class _DeltaTable:
    def __init__(self, spec: TableSpec) -> None:
        self._spec = spec
        self._schema = arrow.with_partitions(arrow.schema_of(spec.columns, _TIME), spec.partition_by)
        schema = Schema.from_arrow(self._schema)
        self._table = DeltaTable.create(
            spec.path, schema, mode="ignore", partition_by=[part.name for part in spec.partition_by]
        )
        self._add_columns(schema)

    def _add_columns(self, schema: Schema) -> None:
        there = {field.name: field.type for field in self._table.schema().fields}
        missing: list[Field] = []
        for field in schema.fields:
            if field.name not in there:
                missing.append(Field(field.name, field.type))
            elif there[field.name] != field.type:
                raise KsqlError(
                    "LAKE_INCOMPATIBLE",
                    path=self._spec.path,
                    column=field.name,
                    there=_shown(there[field.name]),
                    wanted=_shown(field.type),
                )
        if missing:
            self._table.alter.add_columns(missing)

    def positions(self) -> dict[int, int]:
        # an id ends with its partition
        positions = {}
        partition = 0
        while (offset := self._table.transaction_version(self._id(partition))) is not None:
            positions[partition] = offset
            partition += 1
        return positions

    def _id(self, partition: int) -> str:
        return f"ksql-spark:{self._spec.topic}:{partition}"

    def write(self, rows: pa.Table, ends: Mapping[int, int], report: Report = ignore) -> None:
        moved = [Transaction(self._id(partition), offset) for partition, offset in ends.items()]
        properties = CommitProperties(app_transactions=moved)
        names = [n for n in rows.column_names if n != DELETED]
        data = rows.select(names).cast(arrow.schema_of(self._spec.columns))
        data = arrow.partitioned(data, self._spec.partition_by).cast(self._schema)
        try:
            if self._spec.keys:
                self._merge(data.append_column(DELETED, rows[DELETED]), properties)
            else:
                write_deltalake(
                    self._table, data, mode="append", schema_mode="merge", commit_properties=properties
                )
        except CommitFailedError as error:
            raise self._overtaken(error) from None

    def compact(self) -> None:
        """Merge small files, and remove what the table's retention of deleted files and of its log allows."""
        try:
            self._table.optimize.compact()
            self._table.vacuum(dry_run=False)
        except CommitFailedError as error:
            raise self._overtaken(error) from None
        self._table.update_incremental()
        self._table.create_checkpoint()
        self._table.cleanup_metadata()

    def _overtaken(self, error: CommitFailedError) -> KsqlError:
        # the lines after the first one are hints for programmers
        return KsqlError("LAKE_CONFLICT", path=self._spec.path, reason=str(error).partition("\n")[0])

    def _merge(self, rows: pa.Table, properties: CommitProperties) -> None:
        # columns that the source has lost are NULL from now on
        columns = {_quoted(field.name): "NULL" for field in self._table.schema().fields}
        columns |= {_quoted(name): f"s.{_quoted(name)}" for name in self._schema.names}
        same = " AND ".join(f"(t.{_quoted(k)} IS NOT DISTINCT FROM s.{_quoted(k)})" for k in self._spec.keys)
        (
            self._table.merge(rows, same, source_alias="s", target_alias="t", commit_properties=properties)
            .when_matched_delete(f"s.{DELETED}")
            .when_matched_update(columns)
            .when_not_matched_insert(columns, predicate=f"NOT s.{DELETED}")
            .execute()
        )


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _shown(type_: object) -> str:
    """The JSON of a Delta type, without the quotes of a primitive one."""
    return str(type_.to_json()).strip('"')  # type: ignore[attr-defined]


def open_table(spec: TableSpec) -> _DeltaTable:
    """Open or create a table; see tables.open_table."""
    return _DeltaTable(spec)
