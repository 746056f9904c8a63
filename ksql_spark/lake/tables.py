"""Lake tables: what each type of sink writes, and how one is opened (ADR 57).

A commit adds rows and moves the positions of the Kafka partitions in one step, so whoever opens the table
finds the offset of the first record that it lacks.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from ksql_spark.client.packages import install
from ksql_spark.errors import KsqlError
from ksql_spark.metastore.origins import Origin
from ksql_spark.metastore.sinks import DELTA, ICEBERG, JDBC, PARQUET, PartitionColumn
from ksql_spark.schema import Column

if TYPE_CHECKING:
    import pyarrow as pa

#: column of rows for a table with keys: whether the row is to be removed
DELETED = "__deleted"


@dataclass(frozen=True)
class TableSpec:
    """The specification of a lake table: its place, columns, keys and partitions.

    Args:
        path: where it is.
        topic: the topic and its id, which name its positions: offsets of a topic that was made again are
            others.
        columns: its columns.
        keys: names of the columns that identify a row; none: rows are appended.
        partition_by: how its files are grouped.
        table: of a database, the table's name, after that of its schema and a dot if it is not the usual one.
        is_archive: whether its rows are the records of a topic, with their offsets.
    """

    path: str
    topic: str
    columns: tuple[Column, ...]
    keys: tuple[str, ...] = ()
    partition_by: tuple[PartitionColumn, ...] = ()
    table: str = ""
    is_archive: bool = False


@dataclass(frozen=True)
class Refusal:
    """A row that the table cannot have, and why."""

    row: Mapping[str, Any]
    reason: str


#: takes refused rows of one commit; it is called again if the commit is repeated
Report = Callable[[Sequence[Refusal]], None]


def ignore(refused: Sequence[Refusal]) -> None:
    """Ignore a report; a Report for callers that want none."""


class LakeTable(Protocol):
    """A table as it was when it was opened."""

    def positions(self) -> dict[int, int]:
        """Kafka partition -> offset of the first record that the table lacks; none where it has none."""

    def write(self, rows: pa.Table, ends: Mapping[int, int], report: Report = ignore) -> None:
        """Add ``rows`` and move the positions to ``ends``, in one commit.

        Args:
            rows: columns as in arrow.plain_schema. With keys: each key once, and the column DELETED.
            ends: Kafka partition -> offset.
            report: takes the rows that a database refuses, before the others are committed.

        Raises:
            KsqlError: LAKE_CONFLICT: somebody else has moved the positions; nothing was written. LAKE_FAILED:
                a database cannot be reached, or refuses all.
        """


@dataclass(frozen=True)
class TableType:
    """A type of lake table.

    Args:
        module: the one that writes it, with a function ``open_table(spec)``.
        package: what that module needs.
        extra: of ksql-spark, which has the package.
    """

    module: str
    package: str
    extra: str = "lake"


TYPES: Mapping[str, TableType] = {
    DELTA: TableType("ksql_spark.lake.delta", "deltalake"),
    ICEBERG: TableType("ksql_spark.lake.iceberg", "pyiceberg"),
    PARQUET: TableType("ksql_spark.lake.parquet", "pyarrow"),
    JDBC: TableType("ksql_spark.lake.jdbc", "sqlalchemy", "jdbc"),
}


def require(type_: str) -> Any:
    """The module that writes tables of this type.

    Raises:
        KsqlError: LAKE_MISSING.
    """
    type_of_table = TYPES[type_]
    try:
        return importlib.import_module(type_of_table.module)
    except ModuleNotFoundError as error:
        raise missing(type_, error) from None


def missing(type_: str, error: ModuleNotFoundError) -> KsqlError:
    """LAKE_MISSING: the package that a type of table needs."""
    package = error.name or "pyarrow"
    importlib.invalidate_caches()  # the next try finds what is installed meanwhile
    # files of CSV and JSON need nothing else
    wanted = f"ksql-spark[{TYPES[type_].extra}]" if type_ in TYPES else package
    return KsqlError("LAKE_MISSING", type=type_, package=package, command=install(wanted))


def check_origin(origin: Origin) -> None:
    """Check that there is what reads a table.

    Raises:
        KsqlError: LAKE_MISSING.
    """
    for package in ("pyarrow", *((TYPES[origin.format].package,) if origin.format in TYPES else ())):
        try:
            importlib.import_module(package)
        except ModuleNotFoundError as error:
            raise missing(origin.format, error) from None


def open_table(type_: str, spec: TableSpec) -> LakeTable:
    """Open a table, which is created or gets new columns if necessary.

    Raises:
        KsqlError: LAKE_MISSING; LAKE_INCOMPATIBLE: a column has another type there; LAKE_FAILED.
    """
    module = require(type_)
    try:
        table: LakeTable = module.open_table(spec)
    except ModuleNotFoundError as error:  # the driver of a database
        raise missing(type_, error) from None
    return table


def complete(type_: str, path: str) -> None:
    """Complete a commit in which its writer was killed, where readers may see that, without making another.

    Raises:
        KsqlError: LAKE_MISSING, LAKE_FAILED.
    """
    if type_ == PARQUET:
        require(type_).complete(path)


def compact(type_: str, spec: TableSpec) -> None:
    """Make few large files of many small ones, and remove what no reader needs any more. Rows and positions
    stay as they are.

    Raises:
        KsqlError: those of open_table; LAKE_CONFLICT: somebody else has changed the table.
    """
    table: Any = open_table(type_, spec)
    table.compact()
