"""Lake tables: what each type of sink writes, and how one is opened (ADR 57).

A commit adds rows and moves the positions of the Kafka partitions in one step, so whoever opens the table
finds the offset of the first record that it lacks.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from ksql_spark.errors import KsqlError
from ksql_spark.metastore.sinks import DELTA, ICEBERG, PARQUET, PartitionColumn
from ksql_spark.schema import Column

if TYPE_CHECKING:
    import pyarrow as pa

#: column of rows for a table with keys: whether the row is to be removed
DELETED = "__deleted"


@dataclass(frozen=True)
class TableSpec:
    """What a lake table must be like.

    Args:
        path: where it is.
        topic: the topic and its id, which name its positions: offsets of a topic that was made again are
            others.
        columns: its columns.
        keys: names of the columns that identify a row; none: rows are appended.
        partition_by: how its files are grouped.
    """

    path: str
    topic: str
    columns: tuple[Column, ...]
    keys: tuple[str, ...] = ()
    partition_by: tuple[PartitionColumn, ...] = ()


class LakeTable(Protocol):
    """A table as it was when it was opened."""

    def positions(self) -> dict[int, int]:
        """Kafka partition -> offset of the first record that the table lacks; none where it has none."""

    def write(self, rows: pa.Table, ends: Mapping[int, int]) -> None:
        """Add ``rows`` and move the positions to ``ends``, in one commit.

        Args:
            rows: columns as in arrow.plain_schema. With keys: each key once, and the column DELETED.
            ends: Kafka partition -> offset.

        Raises:
            KsqlError: LAKE_CONFLICT: somebody else has moved the positions; nothing was written.
        """


@dataclass(frozen=True)
class TableType:
    """A type of lake table.

    Args:
        module: the one that writes it, with a function ``open_table(spec)``.
        package: what that module needs.
    """

    module: str
    package: str


TYPES: Mapping[str, TableType] = {
    DELTA: TableType("ksql_spark.lake.delta", "deltalake"),
    ICEBERG: TableType("ksql_spark.lake.iceberg", "pyiceberg"),
    PARQUET: TableType("ksql_spark.lake.parquet", "pyarrow"),
}


def require(type_: str) -> Any:
    """The module that writes tables of this type.

    Raises:
        KsqlError: LAKE_MISSING.
    """
    known = TYPES[type_]
    try:
        return importlib.import_module(known.module)
    except ModuleNotFoundError as error:
        raise KsqlError("LAKE_MISSING", type=type_, package=error.name or known.package) from None


def open_table(type_: str, spec: TableSpec) -> LakeTable:
    """Open a table, which is created or gets new columns if necessary.

    Raises:
        KsqlError: LAKE_MISSING; LAKE_INCOMPATIBLE: a column has another type there.
    """
    table: LakeTable = require(type_).open_table(spec)
    return table
