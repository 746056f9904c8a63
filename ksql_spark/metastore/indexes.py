"""Indexes: columns of tables by which pull queries find rows in views (beyond ksqlDB)."""

from __future__ import annotations

from dataclasses import dataclass

from ksql_spark.expressions import ColumnRef, Expression, FieldRef, name_text
from ksql_spark.metastore.sources import DataSource
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
    Decimal,
    SqlType,
    Struct,
)

#: a column, or a field of one: the names of a path
Path = tuple[str, ...]

_ORDERED = (INTEGER, BIGINT, DOUBLE, BOOLEAN, STRING, BYTES, DATE, TIME, TIMESTAMP)


@dataclass(frozen=True)
class Index:
    """An index of a table's view.

    Args:
        name: its name, which no other index has.
        table: the table's name.
        columns: what it has values of, in this order; a path of several names is a field of a STRUCT.
    """

    name: str
    table: str
    columns: tuple[Path, ...]

    @property
    def texts(self) -> tuple[str, ...]:
        """Its columns as KSQL writes them."""
        return tuple("->".join(map(name_text, path)) for path in self.columns)

    def expressions(self, source: DataSource) -> tuple[Expression, ...] | None:
        """Its columns over those of ``source``; None if one is not there, or cannot be in an index."""
        found = [bound for path in self.columns if (bound := at_path(source, path)) is not None]
        is_whole = len(found) == len(self.columns) and all(has_order(each.type) for each in found)
        return tuple(found) if is_whole else None


def at_path(source: DataSource, path: Path) -> Expression | None:
    """The column, or field of a column, of ``source`` at ``path``, or None."""
    column = source.schema.find(path[0])
    if column is None:
        return None
    bound: Expression = ColumnRef(column.name, column.type)
    for name in path[1:]:
        fields = bound.type.fields if isinstance(bound.type, Struct) else ()
        field = next((field for field in fields if field.name == name), None)
        if field is None:
            return None
        bound = FieldRef(bound, name, field.type)
    return bound


def has_order(type_: SqlType) -> bool:
    """Whether an index can have values of ``type_``."""
    return type_ in _ORDERED or isinstance(type_, Decimal)
