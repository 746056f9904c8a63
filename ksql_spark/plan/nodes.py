"""Nodes of plans: what a query means, and where it is cut into stages. They are immutable, and have a schema.

A node's relation has the columns of ``schema``, each with a unique name, and hidden columns that
expressions may use: ROWTIME always; WINDOWSTART and WINDOWEND where ``window`` is set; ROWPARTITION
and ROWOFFSET while rows are still those of one source. In a join every column of a source is called
``<ALIAS>_<COLUMN>`` (reference §2.2), its pseudo columns too: those that the query names are exposed as
value columns.

A record with a NULL value is passed on until a node drops it: a stream's WHERE, joins and aggregates drop it,
projections pass it on. In a table it is a tombstone (reference §6.1).

A Job consists of the same nodes over a complete input: without hidden columns (a Source exposes the
pseudo columns that are used), keys, and records without a value. Only it has Values, BatchJoin, BatchOver,
FirstWithin, Distinct, Sort and Limit.

The planner puts in exchanges and parts of foreign-key joins; no binder makes any, and
``trees.unplanned`` takes them out.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from ksql_spark.expressions import ColumnRef, Expression, OuterRef
from ksql_spark.metastore.sources import STREAM, TABLE, DataSource, Windowing
from ksql_spark.plan.clauses import (
    AggregateCall,
    FramedCall,
    NamedExpression,
    RowPattern,
    SortKey,
    WindowSpec,
    WithinSpec,
)
from ksql_spark.schema import PSEUDO_COLUMNS, WINDOW_BOUNDS, Column, Role, Schema
from ksql_spark.types import BIGINT, BOOLEAN, BYTES, INTEGER


@dataclass(frozen=True)
class Source:
    """Records of a stream or table.

    Args:
        source: the stream or table.
        alias: its name in the query.
        prefixed: columns are called ``<ALIAS>_<COLUMN>`` (in joins).
        exposed: pseudo columns (and window bounds) to be value columns, by unprefixed name; in joins
            and batch queries only.
    """

    source: DataSource
    alias: str
    prefixed: bool = False
    exposed: tuple[str, ...] = ()

    def column_name(self, name: str) -> str:
        """The name of the source's column ``name`` in this relation."""
        return f"{self.alias}_{name}" if self.prefixed else name

    @cached_property
    def schema(self) -> Schema:
        """The source's columns, prefixed in joins, then the exposed pseudo columns."""
        hidden = PSEUDO_COLUMNS | WINDOW_BOUNDS
        columns = [
            Column(self.column_name(c.name), c.type, Role.KEY if c.role is Role.KEY else Role.VALUE)
            for c in self.source.schema.columns
        ]
        return Schema((*columns, *(Column(self.column_name(n), hidden[n]) for n in self.exposed)))

    @cached_property
    def kind(self) -> str:
        """STREAM or TABLE."""
        return self.source.kind

    @cached_property
    def window(self) -> Windowing | None:
        """The window in the source's keys."""
        return self.source.window


class _Stream:
    """Base of nodes whose rows are facts."""

    @property
    def kind(self) -> str:
        """STREAM."""
        return STREAM


class _Table:
    """Base of nodes whose rows replace those of their keys."""

    @property
    def kind(self) -> str:
        """TABLE."""
        return TABLE


class _Unwindowed:
    """Base of nodes whose keys have no windows; in batch queries bounds are plain columns."""

    @property
    def window(self) -> Windowing | None:
        """None."""
        return None


@dataclass(frozen=True)
class _OneChild:
    """Base of nodes over one relation, which have its columns, kind and window unless they say otherwise."""

    child: Node

    @cached_property
    def schema(self) -> Schema:
        """The child's."""
        return self.child.schema

    @property
    def kind(self) -> str:
        """The child's."""
        return self.child.kind

    @property
    def window(self) -> Windowing | None:
        """The child's."""
        return self.child.window


@dataclass(frozen=True)
class Filter(_OneChild):
    """WHERE, or HAVING above an Aggregate: rows for which ``predicate`` is TRUE (reference §6.2)."""

    predicate: Expression


@dataclass(frozen=True)
class Deduplicate(_OneChild):
    """DISTINCT ON, or QUALIFY ROW_NUMBER() … = 1: the first row of each key (beyond ksqlDB; reference §6.13).

    Args:
        keys: expressions over the child; NULL is a value like others.
        within_ms: a key is forgotten once stream time is more than this past its first row; None: never.
    """

    keys: tuple[Expression, ...]
    within_ms: int | None


@dataclass(frozen=True)
class Over(_Stream, _OneChild):
    """Calls with OVER (reference §6.14; beyond ksqlDB): each row with aggregates of rows before or after it.

    Args:
        keys: expressions over the child, PARTITION BY of OVER; NULL is a value like others.
        calls: their results are added as value columns.
        within_ms: a group is forgotten once stream time is more than this past its latest row; None: never.
    """

    keys: tuple[Expression, ...]
    calls: tuple[FramedCall, ...]
    within_ms: int | None = None

    @cached_property
    def schema(self) -> Schema:
        """The child's columns and the results."""
        added = (Column(c.call.name, c.call.type) for c in self.calls)
        return Schema((*self.child.schema.columns, *added))


@dataclass(frozen=True)
class MatchRecognize(_Stream, _Unwindowed, _OneChild):
    """MATCH_RECOGNIZE without its MEASURES (reference §6.17; beyond ksqlDB): the matches of each key's rows.

    ``keys``: columns of the child, PARTITION BY; NULL is a value like others.
    """

    keys: tuple[ColumnRef, ...]
    pattern: RowPattern

    @cached_property
    def schema(self) -> Schema:
        """The keys, with ALL ROWS PER MATCH the child's other columns, then what measures are made of."""
        names = {k.name for k in self.keys}
        keys = (Column(k.name, k.type, Role.KEY) for k in self.keys)
        others = self.child.schema.columns if self.pattern.all_rows else ()
        carried = (Column(c.name, c.type) for c in others if c.name not in names)
        return Schema((*keys, *carried, *self.pattern.columns))


#: TopN.limit
ROW_NUMBER, RANK, DENSE_RANK = "ROW_NUMBER", "RANK", "DENSE_RANK"

#: the columns with a row's numbers in its group
RANKS = (f"KSQL_{RANK}", f"KSQL_{DENSE_RANK}")


@dataclass(frozen=True)
class TopN(_Table, _Unwindowed, _OneChild):
    """QUALIFY ROW_NUMBER() OVER (…) <= n (reference §6.15; beyond ksqlDB): the best rows of each group.

    Args:
        keys: PARTITION BY of OVER, with the names of the key columns.
        order: its ORDER BY, over the child.
        count: n.
        rank: the key column with a row's place in its group, from 1; empty: there is none, as n is 1.
        limit: ROW_NUMBER, RANK or DENSE_RANK: what must not be greater than n.
        ranks: whether there are columns with RANK and DENSE_RANK.
    """

    keys: tuple[NamedExpression, ...]
    order: tuple[SortKey, ...]
    count: int
    rank: str
    limit: str = ROW_NUMBER
    ranks: bool = False

    @cached_property
    def schema(self) -> Schema:
        """The new keys and the place, then the child's other columns, then the ranks."""
        new = {k.name for k in self.keys}
        keys = [Column(k.name, k.expression.type, Role.KEY) for k in self.keys]
        places = [Column(self.rank, BIGINT, Role.KEY)] if self.rank else []
        values = (Column(c.name, c.type) for c in self.child.schema.columns if c.name not in new)
        ranks = (Column(name, BIGINT) for name in RANKS) if self.ranks else ()
        return Schema((*keys, *places, *values, *ranks))


@dataclass(frozen=True)
class SelectKey(_Stream, _Unwindowed, _OneChild):
    """PARTITION BY (reference §6.3): new key columns; empty: no key (PARTITION BY NULL).

    Old key columns move to the end of the value. A key that is just a column takes that column out of
    the value; an expression leaves the columns as they are.
    """

    keys: tuple[NamedExpression, ...]

    @cached_property
    def schema(self) -> Schema:
        """The new keys, the remaining values, then the old keys."""
        new = {k.name for k in self.keys}
        keys = [Column(k.name, k.expression.type, Role.KEY) for k in self.keys]
        values = [c for c in self.child.schema.columns if c.role is not Role.KEY and c.name not in new]
        old = [Column(c.name, c.type) for c in self.child.schema.key if c.name not in new]
        return Schema((*keys, *values, *old))


#: Join.type
STREAM_STREAM, STREAM_TABLE = "STREAM_STREAM", "STREAM_TABLE"

TABLE_TABLE, FOREIGN_KEY = "TABLE_TABLE", "FOREIGN_KEY"

#: a stream with a table that every task has as a whole (beyond ksqlDB)
REPLICATED = "REPLICATED"


@dataclass(frozen=True)
class Join:
    """A join of two relations without common column names (reference §2.7, §6.4-6.7).

    Args:
        type: STREAM_STREAM, STREAM_TABLE, REPLICATED, TABLE_TABLE or FOREIGN_KEY.
        join: INNER, LEFT, RIGHT or FULL; STREAM_STREAM also SEMI: left rows with a partner, each once.
        left_key, right_key: the two operands of ON, over the left and the right relation.
        key_name: the result's key column: the name of a column that carries the join value, or ROWKEY
            (ROWKEY_1 …) where neither side's column always does. FOREIGN_KEY, REPLICATED: left keys stay, "".
        within: STREAM_STREAM only; None: rows of any times are pairs, for INNER only.
        grace_ms: FOR SYSTEM_TIME AS OF: how long a row of a stream waits for the table's row of its time;
            None: it meets the row that the table has when it comes. STREAM_TABLE and REPLICATED only.
        residual: what two rows must satisfy besides the equality of their keys, over the columns of both;
            joins with a stream only.
        is_loaded_first: FOR SYSTEM_TIME AS OF CURRENT_TIMESTAMP: what the table's topic has comes before rows
            of the stream, whatever their times. STREAM_TABLE and REPLICATED only.
    """

    left: Node
    right: Node
    type: str
    join: str
    left_key: Expression
    right_key: Expression
    key_name: str
    within: WithinSpec | None = None
    grace_ms: int | None = None
    residual: Expression | None = None
    is_loaded_first: bool = False

    @cached_property
    def schema(self) -> Schema:
        """The key, then all other columns of left and right."""
        both = (*self.left.schema.columns, *self.right.schema.columns)
        if self.type in (FOREIGN_KEY, REPLICATED):
            keys = self.left.schema.key
        else:
            keys = (Column(self.key_name, self.left_key.type, Role.KEY),)
        names = {k.name for k in keys}
        return Schema((*keys, *(Column(c.name, c.type) for c in both if c.name not in names)))

    @property
    def kind(self) -> str:
        """TABLE where both sides are tables."""
        return TABLE if self.type in (TABLE_TABLE, FOREIGN_KEY) else STREAM

    @property
    def window(self) -> Windowing | None:
        """The left side's."""
        return self.left.window

    @property
    def is_endless(self) -> bool:
        """Whether rows of two streams join whatever their times, so that all are kept."""
        return self.type == STREAM_STREAM and self.within is None


@dataclass(frozen=True)
class FlatMap(_Stream, _OneChild):
    """Table functions (reference §4.9): each row becomes as many rows as the longest of their results has.

    ``functions``: calls of table functions; their results are added as value columns.
    """

    functions: tuple[NamedExpression, ...]

    @cached_property
    def schema(self) -> Schema:
        """The child's columns and the results."""
        added = (Column(f.name, f.expression.type) for f in self.functions)
        return Schema((*self.child.schema.columns, *added))


@dataclass(frozen=True)
class Aggregate(_Table, _OneChild):
    """GROUP BY with aggregates (reference §6.8, §6.9); the result is a table keyed by ``group_by``.

    Args:
        group_by: grouping expressions with the names of the key columns; empty: one global group.
        aggregates: the aggregates, each once.
        window: WINDOW clause.
        emit_final: EMIT FINAL.
        ttl_ms: how long after its last record a group ends (TTL); only without a window.
        every_ms: the length of the intervals at whose ends changed rows are emitted (EVERY); None: at once.
        in_slices: whether the state is of slices between the bounds of windows, which windows share
            (SliceAggregate.java), not of windows.
    """

    group_by: tuple[NamedExpression, ...]
    aggregates: tuple[AggregateCall, ...]
    window_spec: WindowSpec | None = None
    emit_final: bool = False
    ttl_ms: int | None = None
    every_ms: int | None = None
    in_slices: bool = False

    @cached_property
    def schema(self) -> Schema:
        """Grouping columns as key, aggregates as value."""
        keys = (Column(g.name, g.expression.type, Role.KEY) for g in self.group_by)
        return Schema((*keys, *(Column(a.name, a.type) for a in self.aggregates)))

    @property
    def window(self) -> Windowing | None:
        """The window of the WINDOW clause, or None."""
        return self.window_spec.windowing if self.window_spec else None


@dataclass(frozen=True)
class Expire(_OneChild):
    """A table whose rows are deleted ``ttl_ms`` after their last change, by stream time (TTL)."""

    ttl_ms: int


@dataclass(frozen=True)
class Project(_OneChild):
    """SELECT: the output columns, key columns first.

    ``keys`` may be empty only in transient queries (push) and for keyless streams.
    """

    keys: tuple[NamedExpression, ...]
    values: tuple[NamedExpression, ...]

    @cached_property
    def schema(self) -> Schema:
        """Keys, then values."""
        keys = (Column(k.name, k.expression.type, Role.KEY) for k in self.keys)
        return Schema((*keys, *(Column(v.name, v.expression.type) for v in self.values)))


@dataclass(frozen=True)
class UnionAll(_Stream):
    """UNION ALL of streams, or in a batch query of any relations, with equal schemas (beyond ksqlDB)."""

    children: tuple[Node, ...]

    @cached_property
    def schema(self) -> Schema:
        """The first child's."""
        return self.children[0].schema

    @property
    def window(self) -> Windowing | None:
        """The first child's."""
        return self.children[0].window


@dataclass(frozen=True)
class Values(_Table, _Unwindowed):
    """VALUES in a batch query, or one row without columns, for a SELECT without FROM (beyond ksqlDB).

    Args:
        columns: the columns.
        rows: constants of the columns' types.
    """

    columns: tuple[Column, ...] = ()
    rows: tuple[tuple[Expression, ...], ...] = ((),)

    @cached_property
    def schema(self) -> Schema:
        """The columns."""
        return Schema(self.columns)


#: SetOperation.operator
UNION, EXCEPT, INTERSECT = "UNION", "EXCEPT", "INTERSECT"


@dataclass(frozen=True)
class SetOperation(_Table, _Unwindowed):
    """UNION, EXCEPT or INTERSECT of tables, or in a batch query of any relations (beyond ksqlDB).

    Equal rows are one, and NULL is a value like others.

    Args:
        left, right: relations with equal columns; the first columns of each are its key, as many everywhere.
        operator: UNION, EXCEPT or INTERSECT.
    """

    left: Node
    right: Node
    operator: str

    @cached_property
    def schema(self) -> Schema:
        """The left side's columns, which are the key together."""
        return Schema(tuple(Column(c.name, c.type, Role.KEY) for c in self.left.schema.columns))


#: Join.join: the left rows with a partner
SEMI = "SEMI"


@dataclass(frozen=True)
class BatchJoin(_Unwindowed):
    """A join in a batch query (beyond ksqlDB), with any condition.

    Args:
        left: the left relation.
        right: the right relation, without column names of the left one.
        join: INNER, LEFT, RIGHT or FULL.
        condition: ON, over both sides' columns.
        parameters: LATERAL: what the right side reads of a left row, with expressions over that row.
    """

    left: Node
    right: Node
    join: str
    condition: Expression
    parameters: tuple[tuple[OuterRef, Expression], ...] = ()

    @cached_property
    def schema(self) -> Schema:
        """All columns of left and right."""
        both = (*self.left.schema.columns, *self.right.schema.columns)
        return Schema(tuple(Column(c.name, c.type) for c in both))

    @property
    def kind(self) -> str:
        """TABLE where both sides are tables."""
        return TABLE if self.left.kind == self.right.kind == TABLE else STREAM


#: functions that only BatchOver has beside aggregates, and those of them that have frames
FRAMED = frozenset(("FIRST_VALUE", "LAST_VALUE", "NTH_VALUE"))
WINDOW_FUNCTIONS = FRAMED | frozenset(
    (ROW_NUMBER, RANK, DENSE_RANK, "PERCENT_RANK", "CUME_DIST", "NTILE", "LAG", "LEAD")
)


@dataclass(frozen=True)
class BatchOver(_Unwindowed, _OneChild):
    """Calls with OVER in a batch query (beyond ksqlDB): each row with results over rows of its group.

    Args:
        child: the rows.
        keys: PARTITION BY; NULL is a value like others.
        order: ORDER BY; empty: every frame is the whole group.
        calls: aggregates and WINDOW_FUNCTIONS.
        is_range: whether frames are differences of the one value of ``order``, else numbers of rows.
    """

    keys: tuple[Expression, ...]
    order: tuple[SortKey, ...]
    calls: tuple[FramedCall, ...]
    is_range: bool = False

    @cached_property
    def schema(self) -> Schema:
        """The child's columns and the results."""
        added = (Column(c.call.name, c.call.type) for c in self.calls)
        return Schema((*self.child.schema.columns, *added))


@dataclass(frozen=True)
class FirstWithin(_Unwindowed, _OneChild):
    """Determines which rows of a batch query DISTINCT ON … WITHIN lets pass (beyond ksqlDB).

    Args:
        child: the rows.
        keys: as those of Deduplicate.
        number: the number of a row in the order of its key's rows.
        time: event time.
        stream_time: the greatest event time so far.
        within_ms: a key is forgotten once stream time is more than this past its first row.
        name: the column that tells.
    """

    keys: tuple[Expression, ...]
    number: Expression
    time: Expression
    stream_time: Expression
    within_ms: int
    name: str

    @cached_property
    def schema(self) -> Schema:
        """The child's columns and the new one."""
        return Schema((*self.child.schema.columns, Column(self.name, BOOLEAN)))


@dataclass(frozen=True)
class Sort(_OneChild):
    """ORDER BY; right below an Aggregate, the rows' order of arrival."""

    by: tuple[SortKey, ...]


@dataclass(frozen=True)
class Distinct(_OneChild):
    """SELECT DISTINCT."""


@dataclass(frozen=True)
class Limit(_OneChild):
    """LIMIT (None: all) after OFFSET (0: none)."""

    limit: int | None
    offset: int


# ---- what only the planner makes --------------------------------------------------------------------------

#: the columns of records of internal topics: key and row as bytes
MESSAGE = Schema((Column("K", BYTES, Role.KEY), Column("V", BYTES)))

#: hidden column of a table's changes: -1 or -2 for a row to retract, 1 for a row to add
SIGN = "__SIGN"
#: how the name of the column begins that has the number of a record's grouping set
SET_NUMBER = "KSQL_GROUPING"


@dataclass(frozen=True)
class Exchange(_OneChild):
    """An internal topic between two stages: one writes its rows, or messages, and the other reads them.

    Args:
        child: the last node of the stage that writes.
        key: expressions over the child, by which rows get to their tasks.
        number: of the stage that writes; topics, state and transactional ids are named by it.
        topic: the internal topic.
    """

    key: tuple[Expression, ...]
    number: int
    topic: str

    @property
    def carries_messages(self) -> bool:
        """Whether the child makes keys and values as bytes itself, as parts of foreign-key joins do."""
        return isinstance(self.child, ForeignKeySubscribe | ForeignKeyAnswer)

    @property
    def carries_changes(self) -> bool:
        """Whether rows are changes of a table's."""
        return isinstance(self.child, Changes)

    @property
    def carried(self) -> Schema:
        """The columns that are in the topic, hidden ones of changes too."""
        return self.child.carried if isinstance(self.child, Changes) else self.schema


@dataclass(frozen=True)
class Changes(_Stream, _Unwindowed, _OneChild):
    """A table's changes as rows, for groups of its rows: the old one is retracted, the new one is added.

    ``group``: where a row belongs; the old one has the sign -2 if the new one belongs there too, and so
    follows it. ``has_bounds``: rows have the bounds of their windows, as hidden columns like the sign.
    ``is_direct``: the operation that makes the rows says itself how they change, so no row is kept here.
    """

    group: tuple[Expression, ...]
    has_bounds: bool = False
    is_direct: bool = False

    @property
    def bounds(self) -> tuple[Column, ...]:
        """The bounds of windows, if it has them."""
        return tuple(Column(name, type_) for name, type_ in WINDOW_BOUNDS.items() if self.has_bounds)

    @property
    def carried(self) -> Schema:
        """The child's columns and the hidden ones."""
        return Schema((*self.schema.columns, *self.bounds, Column(SIGN, INTEGER)))


@dataclass(frozen=True)
class KeepUnchanged(_OneChild):
    """A table in envelopes, whose changes may leave out columns: these keep their former values.

    ``child`` is a Source.
    """


@dataclass(frozen=True)
class _OfMessages(_Stream, _Unwindowed):
    """Base of nodes that make messages."""

    @property
    def schema(self) -> Schema:
        """Key and value as bytes."""
        return MESSAGE


@dataclass(frozen=True)
class ForeignKeySubscribe(_OfMessages):
    """First part of a foreign-key join (reference §6.7): sends left rows to their foreign keys."""

    child: Node
    foreign_key: Expression
    join: str


@dataclass(frozen=True)
class ForeignKeyAnswer(_OfMessages):
    """Second part: joins these rows (``left``) with the right table's, and sends them back."""

    left: Node
    right: Node
    right_key: Expression
    join: str


@dataclass(frozen=True)
class ForeignKeyJoin(_Table):
    """Third part: answers to the current left row as the join's columns; older answers are dropped.

    ``child`` is the exchange of the second part; the others are arguments of the bound Join.
    """

    child: Exchange
    join: str
    left_key: Expression
    right_key: Expression
    key_name: str

    @cached_property
    def bound(self) -> Join:
        """The join that the three parts make."""
        answer = self.child.child
        assert isinstance(answer, ForeignKeyAnswer) and isinstance(answer.left, Exchange)
        subscribe = answer.left.child
        assert isinstance(subscribe, ForeignKeySubscribe)
        attributes = (self.join, self.left_key, self.right_key, self.key_name)
        return Join(subscribe.child, answer.right, FOREIGN_KEY, *attributes)

    @property
    def schema(self) -> Schema:
        """The join's."""
        return self.bound.schema

    @property
    def window(self) -> Windowing | None:
        """The join's."""
        return self.bound.window


Node: TypeAlias = (
    Source
    | Filter
    | Deduplicate
    | Over
    | MatchRecognize
    | TopN
    | SelectKey
    | Join
    | FlatMap
    | Aggregate
    | Expire
    | Project
    | UnionAll
    | SetOperation
    | Values
    | BatchJoin
    | BatchOver
    | FirstWithin
    | Sort
    | Distinct
    | Limit
    | Exchange
    | Changes
    | KeepUnchanged
    | ForeignKeySubscribe
    | ForeignKeyAnswer
    | ForeignKeyJoin
)
