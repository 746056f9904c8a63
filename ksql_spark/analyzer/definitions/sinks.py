"""Binds CREATE SINK (beyond ksqlDB)."""

from __future__ import annotations

import re

from ksql_spark.analyzer.base.failures import failure, invalid
from ksql_spark.analyzer.definitions.properties import Properties, identifier
from ksql_spark.analyzer.definitions.write_rules import check_one_topic
from ksql_spark.grammar.statements.sinks import CreateSink, CreateSinkAs
from ksql_spark.grammar.with_properties import SINK
from ksql_spark.metastore.sinks import (
    CATALOG_TABLE,
    DATABASE_URL,
    DELTA,
    ICEBERG,
    JDBC,
    PARQUET,
    PartitionColumn,
    Sink,
    folded,
)
from ksql_spark.metastore.sources import DataSource
from ksql_spark.metastore.store import MetaStore
from ksql_spark.schema import RESERVED_COLUMNS, Column
from ksql_spark.types import DATE, TIMESTAMP, Decimal, Primitive

#: the values of TYPE
TYPES = (DELTA, ICEBERG, JDBC, PARQUET)
#: formats whose rows cannot be replaced
_APPENDING = (PARQUET,)
#: functions in PARTITION_BY -> the types of their columns
_TRANSFORMS = {
    "year": (DATE, TIMESTAMP),
    "month": (DATE, TIMESTAMP),
    "day": (DATE, TIMESTAMP),
    "hour": (TIMESTAMP,),
}
_PART = re.compile(r"(?:([A-Za-z]+)\s*+\(\s*+)?([^()]*[^()\s])\s*+(?(1)\))")


def bind_create_sink(statement: CreateSink | CreateSinkAs, metastore: MetaStore) -> Sink:
    """The sink that ``statement`` describes.

    Raises:
        KsqlError: an unknown source; a property that is missing or has a wrong value.
    """
    source = metastore.require(statement.source_name)
    check_one_topic(source, "write a sink of", statement)
    properties = Properties(statement.properties, SINK)
    _required(properties, "TYPE", "CREATE SINK", statement)
    type_ = properties.get("TYPE").lower()
    if type_ not in TYPES:
        raise properties.none_of("TYPE", type_, TYPES)
    path, table = _place(properties, type_, source, statement)
    if source.is_table and type_ in _APPENDING:
        raise failure(
            "PROPERTY_IN_WITH", properties.node("TYPE"), name="TYPE",
            reason=f"the rows of a table change, and files of {type_} cannot be changed",
            hint=f"TYPE = '{DELTA}' takes tables.",
        )  # fmt: skip
    if source.is_table and not source.schema.key:
        raise invalid(f"{source.name} has no key, so its rows cannot be replaced.", statement)
    nested = [c.name for c in source.schema.key if not isinstance(c.type, (Primitive, Decimal))]
    if source.is_table and type_ == ICEBERG and nested:
        raise invalid(f"Iceberg cannot find rows by the key {nested[0]}, which has parts.", statement)
    reserved = {column.name for column in source.schema.columns} & RESERVED_COLUMNS
    if reserved:
        raise invalid(f"A sink cannot write the column {min(reserved)}, whose name is reserved.", statement)
    if type_ == JDBC:
        _check_names(source, statement)
    is_archive = _is_archive(properties, type_)
    interval = properties.get("COMMIT_INTERVAL")
    return Sink(
        statement.name,
        source.name,
        type_,
        path,
        table,
        _partition_by(properties, source),
        10_000 if interval is None else properties.duration("COMMIT_INTERVAL", interval),
        statement.source_text + ";",
        is_archive=is_archive,
    )


def _is_archive(properties: Properties, type_: str) -> bool:
    value = properties.get("ARCHIVE")
    if value is None:
        return False
    node = properties.node("ARCHIVE")
    if str(value).lower() not in ("true", "false"):
        raise failure("PROPERTY_IN_WITH", node, name="ARCHIVE", reason="Expected true or false")
    is_archive = str(value).lower() == "true"
    if is_archive and type_ != PARQUET:
        raise failure(
            "PROPERTY_IN_WITH", node, name="ARCHIVE", reason=f"archives are written by TYPE = '{PARQUET}'"
        )
    if is_archive:
        _refuse(properties, "PARTITION_BY", "archives are grouped by day and partition")
    return is_archive


def _required(properties: Properties, name: str, what: str, statement: CreateSink | CreateSinkAs) -> str:
    value = properties.get(name)
    if not value:
        raise invalid(f"{what} needs the property {name} in its WITH clause.", statement)
    return str(value)


def _place(
    properties: Properties, type_: str, source: DataSource, statement: CreateSink | CreateSinkAs
) -> tuple[str, str | None]:
    """The path, or the URL of a database and the table's name."""
    if type_ != JDBC:
        for name in ("URL", "TABLE"):
            _refuse(properties, name, f"only TYPE = '{JDBC}' has it; a lake table has the property PATH")
        path = _required(properties, "PATH", "CREATE SINK", statement)
        check_catalog(properties, "PATH", path, type_)
        return path, None
    _refuse(properties, "PATH", f"TYPE = '{JDBC}' has the property URL")
    _refuse(properties, "PARTITION_BY", f"TYPE = '{JDBC}' writes no files")
    url = _required(properties, "URL", f"TYPE = '{JDBC}'", statement)
    if not DATABASE_URL.match(url):
        raise failure(
            "PROPERTY_IN_WITH", properties.node("URL"), name="URL",
            reason="it is no URL of PostgreSQL or SQLite",
            hint="For instance: 'postgresql://user:password@host:5432/database' or 'sqlite:////folder/file.db'.",
        )  # fmt: skip
    table = properties.get("TABLE")
    if table is not None and not all(table.split(".", 1)):
        raise failure("PROPERTY_IN_WITH", properties.node("TABLE"), name="TABLE", reason="a name is missing")
    return url, folded(source.name) if table is None else table


def check_catalog(properties: Properties, name: str, path: str, type_: str) -> None:
    """Check a path that names a table of a catalog.

    Args:
        properties: the properties of WITH.
        name: the property that has the path.
        path: its value.
        type_: of the table: delta, iceberg …

    Raises:
        KsqlError: the table is none of Iceberg, or has no namespace.
    """
    if path.startswith("catalog:") and not (type_ == ICEBERG and CATALOG_TABLE.fullmatch(path)):
        raise failure(
            "PROPERTY_IN_WITH", properties.node(name), name=name,
            reason="it is no table in a catalog of Iceberg",
            hint=f"For instance: {name} = 'catalog:prod/sales.orders', with '{ICEBERG}'.",
        )  # fmt: skip


def _refuse(properties: Properties, name: str, reason: str) -> None:
    if name in properties:
        raise failure("PROPERTY_IN_WITH", properties.node(name), name=name, reason=reason)


def _check_names(source: DataSource, statement: CreateSink | CreateSinkAs) -> None:
    by_folded: dict[str, str] = {}
    for column in source.schema.columns:
        other = by_folded.setdefault(folded(column.name), column.name)
        if other != column.name:
            raise invalid(
                f"The columns {other} and {column.name} would both be {folded(column.name)} in the database.",
                statement,
            )


def _partition_by(properties: Properties, source: DataSource) -> tuple[PartitionColumn, ...]:
    text, node = properties.get("PARTITION_BY"), properties.node("PARTITION_BY")
    parts = [] if text is None else [_part(one.strip(), source, properties) for one in text.split(",")]
    names = [part.name for part in parts]
    there = {column.name for column in source.schema.columns}
    for part in parts:
        if names.count(part.name) > 1 or (part.transform is not None and part.name in there):
            raise failure("PROPERTY_IN_WITH", node, name="PARTITION_BY", reason=f"{part.name} is there twice")
    if len(there) == sum(part.transform is None for part in parts):
        raise failure(
            "PROPERTY_IN_WITH", node, name="PARTITION_BY", reason="it names all columns, so none is left"
        )
    return tuple(parts)


def _part(text: str, source: DataSource, properties: Properties) -> PartitionColumn:
    def bad(reason: str, hint: str | None = None) -> Exception:
        return failure(
            "PROPERTY_IN_WITH", properties.node("PARTITION_BY"), name="PARTITION_BY", reason=reason, hint=hint
        )

    match = _PART.fullmatch(text)
    if match is None:
        raise bad(f"'{text}' is neither a column nor a function of one", "For instance: 'day(ts), region'.")
    transform, name = match[1], identifier(match[2])
    column = source.schema.find(name)
    if column is None:
        reason, hint = source.lacks(name)
        raise bad(reason.removesuffix("."), hint)
    if transform is None:
        if not _is_plain(column):
            raise bad(f"files cannot be grouped by {name}, which is {column.type}")
        return PartitionColumn(name)
    types = _TRANSFORMS.get(transform.lower())
    if types is None:
        raise bad(f"'{transform}' is none of {', '.join(_TRANSFORMS)}")
    if column.type not in types:
        raise bad(f"{transform.lower()}() takes {' or '.join(map(str, types))}, and {name} is {column.type}")
    return PartitionColumn(name, transform.lower())


def _is_plain(column: Column) -> bool:
    """Whether the values of a column can be names of folders."""
    return isinstance(column.type, Primitive) and column.type.name not in ("BYTES", "DOUBLE")
