"""Queries as plans: a tree of nodes, and what becomes of its rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from ksql_spark.errors import Position
from ksql_spark.expressions import Expression
from ksql_spark.metastore.indexes import Index
from ksql_spark.metastore.sources import DataSource
from ksql_spark.plan.clauses import NamedExpression
from ksql_spark.plan.nodes import Node
from ksql_spark.schema import Column

#: a topic, a partition of it, and an offset
TopicOffset: TypeAlias = tuple[str, int, int]

#: the start of a query's reading: at an end of its topics, at a time (epoch ms), at partitions' offsets,
#: or (None) by properties
Start: TypeAlias = Literal["earliest", "latest"] | int | tuple[TopicOffset, ...] | None


@dataclass(frozen=True)
class PersistentQuery:
    """CREATE … AS SELECT or INSERT INTO … SELECT: ``root`` written to ``sink``'s topic.

    Args:
        root: a Project, UnionAll or SetOperation; its columns match the sink's by position.
        sink: the stream or table that is written; for CREATE … AS not in the metastore yet.
        creates_sink: False for INSERT INTO.
        query_id: the QUERY_ID property, else None.
        by_event_time: ORDER = 'event-time'.
        start: the START property.
    """

    root: Node
    sink: DataSource
    creates_sink: bool
    query_id: str | None = None
    start: Start = None
    by_event_time: bool = False


@dataclass(frozen=True)
class Feed:
    """SELECT … EMIT: rows that come as records do.

    Args:
        root: the plan, as a stream's.
        output: the result columns in SELECT order, with their names in ``root``'s relation; hidden ones too
            (ROWTIME, WINDOWSTART …).
        limit: LIMIT, or None for all.
    """

    root: Node
    output: tuple[Column, ...]
    limit: int | None


@dataclass(frozen=True)
class KeyLookup:
    """One key to look up: an expression (constant) per key column, in schema order."""

    values: tuple[Expression, ...]


@dataclass(frozen=True)
class IndexRange:
    """A range of an index, which has the rows that a condition allows, and perhaps others.

    Args:
        equal: constants that its first columns equal.
        bounds: conditions on the column after these: ``>=``, ``<=`` or ``LIKE``, and a constant.
    """

    equal: tuple[Expression, ...]
    bounds: tuple[tuple[str, Expression], ...] = ()


@dataclass(frozen=True)
class IndexLookup:
    """Rows that an index finds: those of any of ``ranges``."""

    index: Index
    ranges: tuple[IndexRange, ...]


@dataclass(frozen=True)
class Lookup:
    """SELECT without EMIT whose rows each come from one row of one materialized table (reference §2.5).

    Args:
        source: the table.
        lookups: the keys to look up; None: any.
        predicate: the whole WHERE over the source's columns and pseudo columns; None: all rows. (Lookups only
            narrow what is read.)
        items: result columns in SELECT order over the source's columns, ROWTIME, WINDOWSTART, WINDOWEND.
        key_names: which of the result columns are flagged KEY.
        limit: LIMIT, None: all.
        offset: OFFSET (beyond ksqlDB).
        index: what finds the rows if there are no keys to look up; None: a scan.
    """

    source: DataSource
    lookups: tuple[KeyLookup, ...] | None
    predicate: Expression | None
    items: tuple[NamedExpression, ...]
    key_names: frozenset[str]
    limit: int | None = None
    offset: int | None = None
    index: IndexLookup | None = None


@dataclass(frozen=True)
class Past:
    """The part of a table's history that a query reads.

    Args:
        table: the table.
        first_ms: the first event time of the changes that are wanted, epoch ms; None: the rows as they were.
        last_ms: the last event time, or the one when the rows were so; None: ``position`` says it.
        position: partition of the table's topic -> offset of the first record that does not count.
        place: where the statement says so, for errors.
    """

    table: DataSource
    first_ms: int | None
    last_ms: int | None
    position: Mapping[int, int] | None = None
    place: Position | None = None


@dataclass(frozen=True)
class Job:
    """Any other SELECT without EMIT: a batch over complete inputs.

    Args:
        root: its columns are the result's, in SELECT order.
        lookups: for each of ``relations(root)`` the keys that result rows can come from; None: any.
        indexes: for each of them what finds the rows, if there are no keys to look up; None: a scan.
        key_names: which of the result columns are flagged KEY.
        past: what is read of the sources that are the past of tables, by their names in ``root``.
    """

    root: Node
    lookups: tuple[tuple[KeyLookup, ...] | None, ...]
    indexes: tuple[IndexLookup | None, ...]
    key_names: frozenset[str] = frozenset()
    past: Mapping[str, Past] = field(default_factory=dict)


#: the answers to a SELECT
Read: TypeAlias = Lookup | Feed | Job
