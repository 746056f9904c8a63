"""Physical steps: how a query runs, as immutable data that a later release can still read.

Names are ksqlDB's where it has the step. A step's ``schema`` and hidden columns are those of the logical node
it comes from (see logical.nodes); spark.build turns each into a frame with exactly these columns:
the schema's by name, ROWTIME (BIGINT, ms), NULL_VALUE (BOOLEAN: the record's value is NULL) and, where they
exist, ROWPARTITION, ROWOFFSET, WINDOWSTART, WINDOWEND.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from ksql_spark.expressions import Expression
from ksql_spark.logical.nodes import AggregateCall, Named, WindowSpec, WithinSpec
from ksql_spark.metastore.sources import DataSource, Windowing
from ksql_spark.schema import Schema

#: hidden column: the record's value is NULL (in a table: a tombstone)
NULL_VALUE = "__NULL_VALUE"
#: hidden column of rows that are still one record's: that record's headers, which go on to the output (§6.1)
FORWARDED_HEADERS = "__HEADERS"

REALTIME, MICROBATCH = "realtime", "microbatch"


@dataclass(frozen=True)
class StreamSource:
    """Read a topic's records in order. ``prefix`` stands before every column's name ("" or "ALIAS_")."""

    source: DataSource
    schema: Schema
    prefix: str = ""
    exposed: tuple[str, ...] = ()
    window: Windowing | None = None


@dataclass(frozen=True)
class TableSource:
    """Read a table's topic: every record is the new row of its key, NULL its deletion."""

    source: DataSource
    schema: Schema
    prefix: str = ""
    exposed: tuple[str, ...] = ()
    window: Windowing | None = None


@dataclass(frozen=True)
class StreamFilter:
    """Rows for which ``predicate`` is TRUE; NULL values are dropped."""

    child: Step
    predicate: Expression
    schema: Schema
    window: Windowing | None = None


@dataclass(frozen=True)
class TableFilter:
    """Rows that do not match become deletions, those of keys that were never passed on vanish (§6.2)."""

    child: Step
    predicate: Expression
    schema: Schema
    window: Windowing | None = None


@dataclass(frozen=True)
class StreamSelectKey:
    """PARTITION BY; empty ``keys``: no key."""

    child: Step
    keys: tuple[Named, ...]
    schema: Schema
    window: Windowing | None = None


@dataclass(frozen=True)
class StreamFlatMap:
    """Table functions, zipped row by row."""

    child: Step
    functions: tuple[Named, ...]
    schema: Schema
    window: Windowing | None = None


@dataclass(frozen=True)
class StreamSelect:
    """Projection of a stream."""

    child: Step
    keys: tuple[Named, ...]
    values: tuple[Named, ...]
    schema: Schema
    window: Windowing | None = None


@dataclass(frozen=True)
class TableSelect:
    """Projection of a table; deletions pass."""

    child: Step
    keys: tuple[Named, ...]
    values: tuple[Named, ...]
    schema: Schema
    window: Windowing | None = None


@dataclass(frozen=True)
class StreamAggregate:
    """Aggregates of a stream per key (§6.8): for every row that comes one leaves, if it passes ``having``."""

    child: Step
    group_by: tuple[Named, ...]
    aggregates: tuple[AggregateCall, ...]
    having: Expression | None
    schema: Schema
    window: Windowing | None = None


@dataclass(frozen=True)
class StreamWindowedAggregate:
    """Aggregates per key and window (§6.9); with ``emit_final`` one row leaves when stream time closes it.

    ``idle_ms``: after so long without rows windows close all the same; 0: never. Only with ``emit_final``.
    """

    child: Step
    group_by: tuple[Named, ...]
    aggregates: tuple[AggregateCall, ...]
    having: Expression | None
    window_spec: WindowSpec
    emit_final: bool
    schema: Schema
    window: Windowing | None = None
    idle_ms: int = 0


@dataclass(frozen=True)
class StreamTableJoin:
    """Each stream row with the table's row as it is then; ``join`` INNER or LEFT (§6.6).

    ``is_replicated``: every task has the whole table (beyond ksqlDB); stream rows stay with their partition's
    task, and keep their key: ``key_name`` is "".
    """

    left: Step
    right: Step
    join: str
    left_key: Expression
    right_key: Expression
    key_name: str
    schema: Schema
    window: Windowing | None = None
    is_replicated: bool = False


@dataclass(frozen=True)
class StreamStreamJoin:
    """Pairs of rows with equal keys and times within bounds (§6.5).

    ``idle_ms``: after so long without rows those that met nothing leave all the same; 0: never.
    """

    left: Step
    right: Step
    join: str
    left_key: Expression
    right_key: Expression
    key_name: str
    within: WithinSpec
    schema: Schema
    window: Windowing | None = None
    idle_ms: int = 0


@dataclass(frozen=True)
class TableTableJoin:
    """Rows of two tables with equal primary keys, as they are; ``join`` INNER, LEFT, RIGHT or FULL (§6.7)."""

    left: Step
    right: Step
    join: str
    left_key: Expression
    right_key: Expression
    key_name: str
    schema: Schema
    window: Windowing | None = None


@dataclass(frozen=True)
class StreamUnion:
    """Rows of all children; columns by position."""

    children: tuple[Step, ...]
    schema: Schema
    window: Windowing | None = None


@dataclass(frozen=True)
class TransientSelect:
    """A push query's result: whether the row is a deletion, then the result columns under neutral names.

    ``output`` names columns (hidden ones too) of the child in the order of the SELECT; ``schema`` has the
    flag first, then C0, C1 … (so that a result column may be called like a hidden one).
    """

    child: Step
    output: tuple[str, ...]
    keys: frozenset[str]
    is_table: bool
    schema: Schema
    window: Windowing | None = None


@dataclass(frozen=True)
class Packed:
    """Rows as bytes for an internal topic: K the packed ``key``, V the packed columns (and window bounds)."""

    child: Step
    key: tuple[Expression, ...]
    schema: Schema
    window: Windowing | None = None


@dataclass(frozen=True)
class Unpacked:
    """What Packed wrote: ``schema``'s columns again; a table's keys come from K, deletions have no V."""

    child: Step
    is_table: bool
    schema: Schema
    window: Windowing | None = None


@dataclass(frozen=True)
class TableChanges:
    """A table's changes as rows: the old one with -1 in the last column, the new one with 1."""

    child: Step
    schema: Schema
    window: Windowing | None = None


@dataclass(frozen=True)
class TableAggregate:
    """Aggregates of a table (§6.8): rows are taken back or applied by the sign in column ``sign``."""

    child: Step
    group_by: tuple[Named, ...]
    aggregates: tuple[AggregateCall, ...]
    having: Expression | None
    sign: str
    schema: Schema
    window: Windowing | None = None


@dataclass(frozen=True)
class ForeignKeySubscribe:
    """First part of a foreign-key join (§6.7): left rows to their foreign keys; K and V bytes."""

    child: Step
    foreign_key: Expression
    join: str
    schema: Schema
    window: Windowing | None = None


@dataclass(frozen=True)
class ForeignKeyAnswer:
    """Second part: these rows (``left``) with the right table's, back to the left keys; K and V bytes."""

    left: Step
    right: Step
    right_key: Expression
    join: str
    schema: Schema
    window: Windowing | None = None


@dataclass(frozen=True)
class ForeignKeyLatest:
    """Third part: the answers that are about the left row as it is, as the join's columns."""

    child: Step
    left: Schema
    right: Schema
    schema: Schema
    window: Windowing | None = None


Step: TypeAlias = (
    StreamSource
    | TableSource
    | StreamFilter
    | TableFilter
    | StreamSelectKey
    | StreamFlatMap
    | StreamSelect
    | TableSelect
    | StreamAggregate
    | StreamWindowedAggregate
    | StreamTableJoin
    | StreamStreamJoin
    | TableTableJoin
    | StreamUnion
    | TransientSelect
    | Packed
    | Unpacked
    | TableChanges
    | TableAggregate
    | ForeignKeySubscribe
    | ForeignKeyAnswer
    | ForeignKeyLatest
)

#: steps that keep state; Spark allows one of them in a query that emits updates
STATEFUL = (
    TableFilter,
    StreamAggregate,
    StreamWindowedAggregate,
    StreamTableJoin,
    StreamStreamJoin,
    TableTableJoin,
    TableChanges,
    TableAggregate,
    ForeignKeySubscribe,
    ForeignKeyAnswer,
    ForeignKeyLatest,
)


@dataclass(frozen=True)
class PhysicalPlan:
    """``root`` written to ``sink``'s topic, one Spark query; ``inner`` ones fill the topics it reads.

    Args:
        root: the last step.
        sink: what is written.
        mode: REALTIME or MICROBATCH.
        reason: why, in KSQL's terms.
        sources: the streams and tables that the whole plan reads, left to right; no internal topics.
        inner: sub-topologies that come before, each with its internal topic as sink, upstream first.
        by_event_time: ORDER = 'event-time': rows of a batch are taken in the order of their event time.
    """

    root: Step
    sink: DataSource
    mode: str
    reason: str
    sources: tuple[DataSource, ...]
    inner: tuple[PhysicalPlan, ...] = ()
    by_event_time: bool = False

    @property
    def stages(self) -> tuple[PhysicalPlan, ...]:
        """All sub-topologies, upstream first, this one last."""
        return (*self.inner, self)

    @property
    def state_kinds(self) -> tuple[str, ...]:
        """Names of the steps of ``root`` that keep state."""
        return tuple(type(s).__name__ for s in walk(self.root) if isinstance(s, STATEFUL))

    @property
    def has_idle_timeout(self) -> bool:
        """Whether ``root`` must hear that time passes where no rows come."""
        timed = (StreamWindowedAggregate, StreamStreamJoin)
        return any(isinstance(s, timed) and s.idle_ms > 0 for s in walk(self.root))

    @property
    def topics(self) -> tuple[str, ...]:
        """Topics that ``root`` reads, internal ones too."""
        return tuple(s.source.topic for s in walk(self.root) if isinstance(s, (StreamSource, TableSource)))


def children(step: Step) -> tuple[Step, ...]:
    """The steps that ``step`` reads."""
    match step:
        case StreamSource() | TableSource():
            return ()
        case StreamTableJoin() | StreamStreamJoin() | TableTableJoin() | ForeignKeyAnswer():
            return (step.left, step.right)
        case StreamUnion():
            return step.children
    return (step.child,)


def walk(step: Step) -> list[Step]:
    """``step`` and all below it, parents first."""
    return [step, *(below for child in children(step) for below in walk(child))]
