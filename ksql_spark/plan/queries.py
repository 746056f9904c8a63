"""Queries as plans: a tree of nodes, and what becomes of its rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from ksql_spark.expressions import Expression
from ksql_spark.metastore.sources import DataSource
from ksql_spark.plan.clauses import NamedExpression
from ksql_spark.plan.nodes import Filter, Node, Source
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
class PushQuery:
    """SELECT … EMIT; ``output``: the result columns in SELECT order, with their names in ``root``'s relation.

    ``output`` may name hidden columns too (ROWTIME, WINDOWSTART …).
    """

    root: Node
    output: tuple[Column, ...]
    limit: int | None


@dataclass(frozen=True)
class KeyLookup:
    """One key to look up: an expression (constant) per key column, in schema order."""

    values: tuple[Expression, ...]


@dataclass(frozen=True)
class PullQuery:
    """SELECT without EMIT over single rows of one materialized table or stream (reference §2.5).

    Args:
        source: the table or stream.
        lookups: the keys to look up; None: a scan.
        predicate: the whole WHERE over the source's columns and pseudo columns; None: all rows. (Lookups only
            narrow what is read.)
        items: result columns in SELECT order over the source's columns, ROWTIME, WINDOWSTART, WINDOWEND.
        key_names: which of the result columns are flagged KEY.
        limit: LIMIT, None: all.
        offset: OFFSET (beyond ksqlDB).
    """

    source: DataSource
    lookups: tuple[KeyLookup, ...] | None
    predicate: Expression | None
    items: tuple[NamedExpression, ...]
    key_names: frozenset[str]
    limit: int | None = None
    offset: int | None = None

    @property
    def selected(self) -> Node:
        """The rows of the source for which WHERE is true."""
        rows = Source(self.source, self.source.name)
        return rows if self.predicate is None else Filter(rows, self.predicate)


@dataclass(frozen=True)
class BatchQuery:
    """SELECT without EMIT that needs all its rows at once: sorted, grouped, joined … (beyond ksqlDB).

    Args:
        root: its columns are the result's, in SELECT order.
        lookups: for each of ``relations(root)`` the keys that result rows can come from; None: any.
        key_names: which of the result columns are flagged KEY.
    """

    root: Node
    lookups: tuple[tuple[KeyLookup, ...] | None, ...]
    key_names: frozenset[str] = frozenset()
