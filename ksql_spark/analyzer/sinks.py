"""Binds CREATE SINK (beyond ksqlDB)."""

from __future__ import annotations

import re

from ksql_spark.analyzer.failures import failure, invalid
from ksql_spark.analyzer.properties import Properties, identifier
from ksql_spark.errors import nearest
from ksql_spark.grammar.statements.sinks import CreateSink
from ksql_spark.grammar.with_properties import SINK
from ksql_spark.metastore.sinks import DELTA, ICEBERG, PARQUET, PartitionColumn, Sink
from ksql_spark.metastore.sources import DataSource
from ksql_spark.metastore.store import MetaStore
from ksql_spark.schema import RESERVED_COLUMNS, Column
from ksql_spark.types import DATE, TIMESTAMP, Decimal, Primitive

#: the values of TYPE
TYPES = (DELTA, ICEBERG, PARQUET)
#: those whose rows cannot be replaced
_APPENDING = (PARQUET,)
#: functions in PARTITION_BY -> the types of their columns
_TRANSFORMS = {
    "year": (DATE, TIMESTAMP),
    "month": (DATE, TIMESTAMP),
    "day": (DATE, TIMESTAMP),
    "hour": (TIMESTAMP,),
}
_PART = re.compile(r"(?:([A-Za-z]+)\s*\(\s*)?([^()]+?)\s*(?(1)\))")


def bind_create_sink(statement: CreateSink, metastore: MetaStore) -> Sink:
    """The sink that ``statement`` describes.

    Raises:
        KsqlError: an unknown source; a property that is missing or has a wrong value.
    """
    source = metastore.require(statement.source_name)
    given = Properties(statement.properties, SINK)
    for name in ("TYPE", "PATH"):
        if not given.get(name):
            raise invalid(f"CREATE SINK needs the property {name} in its WITH clause.", statement)
    type_ = given.get("TYPE").lower()
    if type_ not in TYPES:
        near = nearest(type_, TYPES)
        raise failure(
            "PROPERTY_IN_WITH", given.node("TYPE"), name="TYPE",
            reason=f"'{type_}' is none of {', '.join(TYPES)}",
            hint=f"Did you mean '{near}'?" if near else None,
        )  # fmt: skip
    if source.is_table and type_ in _APPENDING:
        raise failure(
            "PROPERTY_IN_WITH", given.node("TYPE"), name="TYPE",
            reason=f"the rows of a table change, and files of {type_} cannot be changed",
            hint=f"TYPE = '{DELTA}' takes tables.",
        )  # fmt: skip
    if source.is_table and not source.schema.key:
        raise invalid(f"{source.name} has no key, so its rows cannot be replaced.", statement)
    nested = [c.name for c in source.schema.key if not isinstance(c.type, (Primitive, Decimal))]
    if source.is_table and type_ == ICEBERG and nested:
        raise invalid(f"Iceberg cannot find rows by the key {nested[0]}, which has parts.", statement)
    taken = {column.name for column in source.schema.columns} & RESERVED_COLUMNS
    if taken:
        raise invalid(f"A sink cannot write the column {min(taken)}, whose name is reserved.", statement)
    interval = given.get("COMMIT_INTERVAL")
    return Sink(
        statement.name,
        source.name,
        type_,
        given.get("PATH"),
        _partition_by(given, source),
        10_000 if interval is None else given.duration("COMMIT_INTERVAL", interval),
        statement.source_text + ";",
    )


def _partition_by(given: Properties, source: DataSource) -> tuple[PartitionColumn, ...]:
    text, node = given.get("PARTITION_BY"), given.node("PARTITION_BY")
    parts = [] if text is None else [_part(one.strip(), source, given) for one in text.split(",")]
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


def _part(text: str, source: DataSource, given: Properties) -> PartitionColumn:
    def bad(reason: str, hint: str | None = None) -> Exception:
        return failure(
            "PROPERTY_IN_WITH", given.node("PARTITION_BY"), name="PARTITION_BY", reason=reason, hint=hint
        )

    found = _PART.fullmatch(text)
    if found is None:
        raise bad(f"'{text}' is neither a column nor a function of one", "For instance: 'day(ts), region'.")
    transform, name = found[1], identifier(found[2])
    column = source.schema.find(name)
    if column is None:
        near = nearest(name, (c.name for c in source.schema.columns))
        raise bad(f"{source.name} has no column {name}", f"Did you mean {near}?" if near else None)
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
