"""Physical steps: how a query runs, as immutable data that later releases can read.

A step has ksqlDB's name if ksqlDB has the step. Its ``schema`` and hidden columns are those of its logical
node (see logical.nodes). spark.build turns each step into a frame with exactly these columns: those of the
schema by name, ROWTIME (BIGINT, epoch ms), NULL_VALUE (BOOLEAN: the record's value is NULL) and, where they
exist, EVENT_TIME, NULL_KEY, FORWARDED_HEADERS, ROWPARTITION, ROWOFFSET, WINDOWSTART, WINDOWEND.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

from ksql_spark.expressions import ColumnRef, Expression, name_text
from ksql_spark.formats.spec import RecordSpec
from ksql_spark.logical.nodes import (
    ROW_NUMBER,
    SEMI,
    AggregateCall,
    FramedCall,
    NamedExpression,
    RowPattern,
    SortKey,
    WindowSpec,
    WithinSpec,
    call_texts,
    written_out,
)
from ksql_spark.metastore.sources import DataSource, Windowing
from ksql_spark.physical.text import (
    aggregates_text,
    best_text,
    emit_text,
    groups_text,
    items_text,
    on_text,
    pattern_details,
    set_operation_text,
    span_text,
    window_text,
    windowing_text,
    within_text,
)
from ksql_spark.schema import ROWOFFSET, ROWPARTITION, Column, Schema

#: hidden column: the record's value is NULL (in a table: a tombstone)
NULL_VALUE = "__NULL_VALUE"
#: hidden column of streams with several key columns (BOOLEAN): the record's key as a whole is NULL
NULL_KEY = "__NULL_KEY"
#: hidden column of rows that come from one record: its headers, which are copied to the output (§6.1)
FORWARDED_HEADERS = "__HEADERS"

#: hidden column of rows that have a column called ROWTIME, a key that PARTITION BY made: their event time, ms
EVENT_TIME = "__ROWTIME"

#: hidden column of what goes into an internal topic: the operator's stream time when the row left it, ms
STREAM_TIME = "__STREAM_TIME"

REALTIME, MICROBATCH = "realtime", "microbatch"
#: the effect of a failure on results: values of processing.guarantee
AT_LEAST_ONCE, EXACTLY_ONCE = "at_least_once", "exactly_once_v2"

#: the details that EXPLAIN shows of a step or node: (title, value); the title may be "", a value of None is
#: hidden
Details: TypeAlias = Sequence[tuple[str, Any]]


# ---- base classes ------------------------------------------------------------------------------------


class Step(ABC):
    """One step, which spark.build turns into a frame. A class must have all these members."""

    schema: Schema
    window: Windowing | None

    @property
    def shown_schema(self) -> Schema:
        """The schema that EXPLAIN shows."""
        return self.schema

    @property
    @abstractmethod
    def inputs(self) -> tuple[Step, ...]:
        """The steps whose rows it reads, left to right."""

    @property
    @abstractmethod
    def details(self) -> Details:
        """What EXPLAIN shows besides the schema."""

    @property
    @abstractmethod
    def row_expressions(self) -> tuple[Expression, ...]:
        """The expressions that it evaluates for each row of its first input.

        Calls of user functions in these are made for many rows at once; calls in other expressions, row by
        row.
        """


class OneInputStep(Step):
    """A step with one input."""

    child: Step

    @property
    def inputs(self) -> tuple[Step, ...]:
        return (self.child,)


class StatefulStep(Step):
    """A step that keeps state; Spark allows only one in a query that emits updates."""

    @property
    @abstractmethod
    def kept_state(self) -> str:
        """A description of its state, for EXPLAIN."""

    @property
    def unbounded_state(self) -> str | None:
        """A warning about state that a clause could bound; None if there is no such clause, or it is set."""
        return None


class TableKeepingStep(StatefulStep):
    """A step that stores the rows of its tables itself, so it knows which deletions have an effect.

    A filter directly below it needs no state: this step deletes rows that do not match.
    """


class WaitingStep(StatefulStep):
    """A step whose output waits for stream time, but at most ``idle_ms`` without new rows (0: no limit)."""

    idle_ms: int


class SourceStep(Step):
    """A step that reads a topic; ``records``: their serdes (None in plans of earlier releases)."""

    source: DataSource
    prefix: str
    exposed: tuple[str, ...]
    records: RecordSpec | None

    @property
    def inputs(self) -> tuple[Step, ...]:
        return ()

    @property
    def details(self) -> Details:
        return [
            ("", name_text(self.source.name)),
            ("Topic", self.source.topic),
            ("Envelope", self.source.envelope),
            ("Lateness", None if self.source.lateness_ms is None else span_text(self.source.lateness_ms)),
            ("Constraints", ", ".join(c.text for c in self.source.constraints)),
            ("Window", windowing_text(self.window)),
        ]

    @property
    def row_expressions(self) -> tuple[Expression, ...]:
        return ()


class AggregateStep(OneInputStep, StatefulStep):
    """A step that aggregates rows per group.

    ``every_ms``: each changed row is emitted once, at the end of an interval of this length (EVERY); 0: at
    once.
    """

    group_by: tuple[NamedExpression, ...]
    aggregates: tuple[AggregateCall, ...]
    having: Expression | None
    every_ms: int

    @property
    def details(self) -> Details:
        return [
            ("", aggregates_text(self.aggregates)),
            ("Group by", groups_text(self.group_by)),
            (
                "Having",
                None if self.having is None else written_out(self.having, call_texts(self.aggregates)),
            ),
            ("Emit", emit_text(self.every_ms)),
        ]

    @property
    def shown_schema(self) -> Schema:
        texts = call_texts(self.aggregates)
        return Schema(tuple(replace(c, name=texts.get(c.name, c.name)) for c in self.schema.columns))

    @property
    def row_expressions(self) -> tuple[Expression, ...]:
        arguments = (a for call in self.aggregates for a in call.inputs)
        return (*(g.expression for g in self.group_by), *arguments)

    @property
    def kept_state(self) -> str:
        return f"the aggregates of each key{self._held}"

    @property
    def _held(self) -> str:
        return f", and what changed within {span_text(self.every_ms)}" if self.every_ms else ""


class JoinStep(StatefulStep):
    """A step that joins rows of two relations with equal keys.

    ``key_name``: the key's column. ``residual``: what two rows must satisfy besides; None: nothing.
    """

    left: Step
    right: Step
    join: str
    left_key: Expression
    right_key: Expression
    key_name: str
    residual: Expression | None = None

    @property
    def inputs(self) -> tuple[Step, ...]:
        return (self.left, self.right)

    @property
    def details(self) -> Details:
        return [("", self.join), ("On", on_text(self.left_key, self.right_key, self.residual))]

    @property
    def row_expressions(self) -> tuple[Expression, ...]:
        return ()


# ---- the steps ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class StreamSource(SourceStep):
    """Read a stream's topic. ``prefix`` ("" or "ALIAS_") is put before the name of every column."""

    source: DataSource
    schema: Schema
    prefix: str = ""
    exposed: tuple[str, ...] = ()
    window: Windowing | None = None
    records: RecordSpec | None = None


@dataclass(frozen=True)
class TableSource(SourceStep):
    """Read a table's topic: each record is the new row of its key, a NULL value deletes it.

    ``is_first``: what the topic has comes before rows of the other inputs, whatever their times.
    """

    source: DataSource
    schema: Schema
    prefix: str = ""
    exposed: tuple[str, ...] = ()
    window: Windowing | None = None
    records: RecordSpec | None = None
    is_first: bool = False

    @property
    def details(self) -> Details:
        return [*super().details, ("Order", "before the other inputs" if self.is_first else None)]


@dataclass(frozen=True)
class StreamFilter(OneInputStep):
    """Rows for which ``predicate`` is TRUE; records with a NULL value are dropped."""

    child: Step
    predicate: Expression
    schema: Schema
    window: Windowing | None = None

    @property
    def details(self) -> Details:
        return [("Where", written_out(self.predicate, {}))]

    @property
    def row_expressions(self) -> tuple[Expression, ...]:
        return (self.predicate,)


@dataclass(frozen=True)
class TableFilter(OneInputStep, StatefulStep):
    """Rows that do not match become deletions, but only of keys that were passed on before (§6.2)."""

    child: Step
    predicate: Expression
    schema: Schema
    window: Windowing | None = None

    @property
    def details(self) -> Details:
        return [("Where", written_out(self.predicate, {}))]

    @property
    def row_expressions(self) -> tuple[Expression, ...]:
        return ()

    @property
    def kept_state(self) -> str:
        return "the keys whose rows were passed on"


@dataclass(frozen=True)
class TableExpire(OneInputStep, StatefulStep):
    """Rows become deletions ``ttl_ms`` after their last change, by stream time (§6.16)."""

    child: Step
    ttl_ms: int
    schema: Schema
    window: Windowing | None = None

    @property
    def details(self) -> Details:
        return [("TTL", span_text(self.ttl_ms))]

    @property
    def row_expressions(self) -> tuple[Expression, ...]:
        return ()

    @property
    def kept_state(self) -> str:
        return "the time of each key's last change"


@dataclass(frozen=True)
class StreamDeduplicate(OneInputStep, StatefulStep):
    """The first row of each key (§6.13); after ``within_ms`` of stream time it is forgotten (None: never)."""

    child: Step
    keys: tuple[Expression, ...]
    within_ms: int | None
    schema: Schema
    window: Windowing | None = None

    @property
    def details(self) -> Details:
        within = None if self.within_ms is None else span_text(self.within_ms)
        return [("Distinct on", self._keys_text), ("Within", within)]

    @property
    def row_expressions(self) -> tuple[Expression, ...]:
        return self.keys

    @property
    def kept_state(self) -> str:
        how_long = "forever" if self.within_ms is None else f"for {span_text(self.within_ms)}"
        return f"the time of each key's first row, {how_long}"

    @property
    def unbounded_state(self) -> str | None:
        if self.within_ms is not None:
            return None
        return (
            f"The state grows with each new value of {self._keys_text}: the query keeps the value and 8 "
            "bytes forever. WITHIN after FROM bounds it, as in FROM s WITHIN 1 HOUR."
        )

    @property
    def _keys_text(self) -> str:
        return ", ".join(map(str, self.keys))


@dataclass(frozen=True)
class StreamOver(OneInputStep, StatefulStep):
    """Each row with aggregates of rows of its group, in the order of arrival (§6.14).

    A group is forgotten once stream time is more than ``within_ms`` past its latest row (None: never).
    """

    child: Step
    keys: tuple[Expression, ...]
    calls: tuple[FramedCall, ...]
    schema: Schema
    window: Windowing | None = None
    within_ms: int | None = None

    @property
    def details(self) -> Details:
        return [
            ("", ", ".join(map(str, self.calls))),
            ("Partition by", ", ".join(map(str, self.keys))),
            ("Within", None if self.within_ms is None else span_text(self.within_ms)),
        ]

    @property
    def row_expressions(self) -> tuple[Expression, ...]:
        return (*self.keys, *(a for c in self.calls for a in c.call.inputs))

    @property
    def kept_state(self) -> str:
        most = max((c.first or 0 for c in self.calls), default=0)
        parts = [f"the arguments of each key's last {most} rows"] if most else []
        longest = max((c.range_ms for c in self.calls if c.range_ms is not None), default=None)
        if longest is not None:
            parts.append(f"the arguments of each key's rows of {span_text(longest)}, as many as there are")
        if any(c.first is None and c.range_ms is None for c in self.calls):
            parts.append("the aggregates of each key")
        ahead = -min((c.last for c in self.calls), default=0)
        if ahead > 0:
            rows = "row, which waits for the next one" if ahead == 1 else f"{ahead} rows, which wait for more"
            parts.append(f"each key's last {rows}")
        how_long = "" if self.within_ms is None else f", for {span_text(self.within_ms)} after the latest row"
        return ", ".join(parts) + how_long if parts else "none"


@dataclass(frozen=True)
class StreamMatchRecognize(OneInputStep, WaitingStep):
    """The matches of a pattern in the rows of each key, in the order of arrival (§6.17)."""

    child: Step
    keys: tuple[ColumnRef, ...]
    pattern: RowPattern
    schema: Schema
    idle_ms: int = 0
    window: Windowing | None = None

    @property
    def details(self) -> Details:
        return pattern_details(self.keys, self.pattern)

    @property
    def row_expressions(self) -> tuple[Expression, ...]:
        rows = (r.expression for r in self.pattern.row)
        return (*self.keys, *rows, *(i for a in self.pattern.aggregates for i in a.call.inputs))

    @property
    def kept_state(self) -> str:
        pattern = self.pattern
        texts = [*(v.text for v in pattern.values), *(a.text for a in pattern.aggregates)]
        each = f"for each its state and {', '.join(texts)}" if texts else "for each its state"
        parts = [f"each key's partial matches that began at most {span_text(pattern.within_ms)} ago, {each}"]
        if pattern.all_rows:
            parts.append("the rows of these")
        back = max((p.offset for p in pattern.previous), default=0)
        if back:
            parts.append(f"what PREV needs of each key's last {back} row{'s' * (back > 1)}")
        return ", ".join(parts)


class TopNStep(OneInputStep, StatefulStep):
    """The best rows of each group in an order, by place (§6.15); each row keeps its time."""

    keys: tuple[NamedExpression, ...]
    order: tuple[SortKey, ...]
    count: int
    rank: str
    limit: str
    ranks: bool

    @property
    def details(self) -> Details:
        order = ", ".join(map(str, self.order))
        return [
            ("", best_text(self.count, self.limit)),
            ("Partition by", groups_text(self.keys)),
            ("Order by", order),
        ]

    @property
    def row_expressions(self) -> tuple[Expression, ...]:
        return (*(k.expression for k in self.keys), *(o.expression for o in self.order))


@dataclass(frozen=True)
class StreamTopN(TopNStep):
    """Of a stream: a row that is not among the best never will be."""

    child: Step
    keys: tuple[NamedExpression, ...]
    order: tuple[SortKey, ...]
    count: int
    rank: str
    schema: Schema
    window: Windowing | None = None
    limit: str = ROW_NUMBER
    ranks: bool = False

    @property
    def kept_state(self) -> str:
        ties = "" if self.limit == ROW_NUMBER else ", and all rows that equal one of them"
        return f"{self.count} row{'s' if self.count > 1 else ''} of each key{ties}"


@dataclass(frozen=True)
class TableTopN(TopNStep):
    """Of a table: column ``sign`` says whether a row is retracted (-1, -2) or added (1).

    The columns ``identity`` tell a table's rows apart. After -2 the row that replaces it follows.
    """

    child: Step
    keys: tuple[NamedExpression, ...]
    order: tuple[SortKey, ...]
    count: int
    rank: str
    limit: str
    ranks: bool
    sign: str
    identity: tuple[str, ...]
    schema: Schema
    window: Windowing | None = None

    @property
    def kept_state(self) -> str:
        return "all rows of each key, in order"


@dataclass(frozen=True)
class StreamSelectKey(OneInputStep):
    """PARTITION BY; without ``keys`` the result has no key."""

    child: Step
    keys: tuple[NamedExpression, ...]
    schema: Schema
    window: Windowing | None = None

    @property
    def details(self) -> Details:
        return [("Key", items_text(self.keys) or "none")]

    @property
    def row_expressions(self) -> tuple[Expression, ...]:
        return tuple(k.expression for k in self.keys)


@dataclass(frozen=True)
class StreamFlatMap(OneInputStep):
    """Table functions: their n-th elements together are one row."""

    child: Step
    functions: tuple[NamedExpression, ...]
    schema: Schema
    window: Windowing | None = None

    @property
    def details(self) -> Details:
        return [("Functions", items_text(self.functions))]

    @property
    def row_expressions(self) -> tuple[Expression, ...]:
        return tuple(f.expression for f in self.functions)


@dataclass(frozen=True)
class StreamSelect(OneInputStep):
    """Projection of a stream."""

    child: Step
    keys: tuple[NamedExpression, ...]
    values: tuple[NamedExpression, ...]
    schema: Schema
    window: Windowing | None = None

    @property
    def details(self) -> Details:
        return [("Select", items_text((*self.keys, *self.values)))]

    @property
    def row_expressions(self) -> tuple[Expression, ...]:
        return tuple(c.expression for c in (*self.keys, *self.values))


@dataclass(frozen=True)
class TableSelect(OneInputStep):
    """Projection of a table; deletions pass through."""

    child: Step
    keys: tuple[NamedExpression, ...]
    values: tuple[NamedExpression, ...]
    schema: Schema
    window: Windowing | None = None

    @property
    def details(self) -> Details:
        texts = call_texts(self.child.aggregates) if isinstance(self.child, AggregateStep) else {}
        return [("Select", items_text((*self.keys, *self.values), texts))]

    @property
    def row_expressions(self) -> tuple[Expression, ...]:
        return tuple(c.expression for c in (*self.keys, *self.values))


@dataclass(frozen=True)
class StreamAggregate(AggregateStep):
    """Aggregates of a stream per key (§6.8): each input row gives one output row, if it passes ``having``."""

    child: Step
    group_by: tuple[NamedExpression, ...]
    aggregates: tuple[AggregateCall, ...]
    having: Expression | None
    schema: Schema
    window: Windowing | None = None
    ttl_ms: int | None = None
    every_ms: int = 0

    @property
    def details(self) -> Details:
        return [*super().details, ("TTL", None if self.ttl_ms is None else span_text(self.ttl_ms))]

    @property
    def kept_state(self) -> str:
        how_long = "" if self.ttl_ms is None else f", for {span_text(self.ttl_ms)} after its last record"
        return f"{super().kept_state}{how_long}"


@dataclass(frozen=True)
class StreamWindowedAggregate(AggregateStep, WaitingStep):
    """Aggregates per key and window (§6.9); with ``emit_final``, one row when stream time closes the window.

    ``idle_ms``: windows also close after this time without rows; 0: never. ``is_lossy``: windows that a jump
    in time leaves behind are lost (ksql.suppress.lossy.jumps). Both need ``emit_final``.
    """

    child: Step
    group_by: tuple[NamedExpression, ...]
    aggregates: tuple[AggregateCall, ...]
    having: Expression | None
    window_spec: WindowSpec
    emit_final: bool
    schema: Schema
    window: Windowing | None = None
    idle_ms: int = 0
    is_lossy: bool = False
    every_ms: int = 0

    @property
    def details(self) -> Details:
        lost = ", windows that a jump in time leaves behind are lost" if self.is_lossy else ""
        emit = f"FINAL{lost}" if self.emit_final else None
        window = ("Window", window_text(self.window_spec))
        return [*super().details, window, ("Emit", emit), ("Idle timeout", _idle(self.idle_ms))]

    @property
    def kept_state(self) -> str:
        spec = self.window_spec
        if spec.kind == "SLIDING":
            how_long = span_text(3 * spec.size_ms + spec.grace_ms)
            return (
                "the aggregates of up to two windows for each time of a key's records, "
                f"for {how_long}{self._held}"
            )
        retention = span_text(spec.retention_ms)
        return f"the aggregates of each key and window, for {retention}{self._held}"


@dataclass(frozen=True)
class StreamTableJoin(JoinStep, TableKeepingStep):
    """Each stream row with the table's current row; ``join`` is INNER or LEFT (§6.6).

    ``is_replicated``: every task has the whole table (an extension of ksqlDB); stream rows stay with the task
    of their partition and keep their key, so ``key_name`` is "".
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
    residual: Expression | None = None

    @property
    def details(self) -> Details:
        return [*super().details, ("Table", "whole in every task" if self.is_replicated else None)]

    @property
    def kept_state(self) -> str:
        return f"the table's latest row of each key{', in every task' if self.is_replicated else ''}"


@dataclass(frozen=True)
class StreamVersionedTableJoin(StreamTableJoin, WaitingStep):
    """Each stream row with the row that the table had at its time (FOR SYSTEM_TIME AS OF, §6.6).

    A row waits until stream time is ``grace_ms`` past its time, or ``idle_ms`` without rows (0: forever).
    """

    grace_ms: int = 0
    idle_ms: int = 0

    @property
    def details(self) -> Details:
        grace = ("Grace period", span_text(self.grace_ms))
        return [*super().details, grace, ("Idle timeout", _idle(self.idle_ms))]

    @property
    def kept_state(self) -> str:
        span = span_text(self.grace_ms)
        where = ", in every task" if self.is_replicated else ""
        return f"the table's latest row of each key, its rows of {span}{where}, and the stream's of {span}"


@dataclass(frozen=True)
class StreamStreamJoin(JoinStep, WaitingStep):
    """Pairs of rows with equal keys and with times within bounds (§6.5).

    ``idle_ms``: rows without a match also leave after this time without rows; 0: never.
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
    residual: Expression | None = None

    @property
    def details(self) -> Details:
        within = ("Within", within_text(self.within))
        return [*super().details, within, ("Idle timeout", _idle(self.idle_ms))]

    @property
    def kept_state(self) -> str:
        span = span_text(self.within.before_ms + self.within.after_ms)
        if self.join == SEMI:
            return (
                "the rows of the right side, and those of the left one that came before their partner, "
                f"for {span} and the grace period"
            )
        return f"the rows of both sides, for {span} and the grace period"


@dataclass(frozen=True)
class TableTableJoin(JoinStep, TableKeepingStep):
    """Current rows of two tables with equal primary keys; ``join`` is INNER, LEFT, RIGHT or FULL (§6.7)."""

    left: Step
    right: Step
    join: str
    left_key: Expression
    right_key: Expression
    key_name: str
    schema: Schema
    window: Windowing | None = None

    @property
    def kept_state(self) -> str:
        return "both tables' latest row of each key"


@dataclass(frozen=True)
class StreamUnion(Step):
    """The rows of all branches; columns are matched by position."""

    branches: tuple[Step, ...]
    schema: Schema
    window: Windowing | None = None

    @property
    def inputs(self) -> tuple[Step, ...]:
        return self.branches

    @property
    def details(self) -> Details:
        return []

    @property
    def row_expressions(self) -> tuple[Expression, ...]:
        return ()


@dataclass(frozen=True)
class TableSetOperation(TableKeepingStep):
    """Set operations over the current rows of tables: a table whose columns are all its key.

    ``operation`` in postfix notation: numbers of branches, UNION, EXCEPT and INTERSECT.
    """

    branches: tuple[Step, ...]
    operation: tuple[str, ...]
    schema: Schema
    window: Windowing | None = None

    @property
    def inputs(self) -> tuple[Step, ...]:
        return self.branches

    @property
    def details(self) -> Details:
        return [("", set_operation_text(self.operation))]

    @property
    def row_expressions(self) -> tuple[Expression, ...]:
        return ()

    @property
    def kept_state(self) -> str:
        return "the latest row of each key of every table"


@dataclass(frozen=True)
class TransientSelect(OneInputStep):
    """A push query's result: whether the row is a deletion, then the result columns under neutral names.

    ``output`` names columns (hidden ones too) of the child in the order of the SELECT; ``schema`` has the
    flag first, then C0, C1 …, so that a result column may have the name of a hidden one. Users see the
    names in ``shown_schema``. If it ``has_places``, the schema ends with the partition and the offset of the
    record that the row was made of.
    """

    child: Step
    output: tuple[str, ...]
    keys: frozenset[str]
    is_table: bool
    schema: Schema
    window: Windowing | None = None
    has_places: bool = False

    @property
    def details(self) -> Details:
        return [("Select", ", ".join(map(name_text, self.output)))]

    @property
    def shown_schema(self) -> Schema:
        columns = zip(self.output, self.schema.columns[1 : len(self.output) + 1], strict=True)
        return Schema(tuple(Column(name, column.type) for name, column in columns))

    @property
    def row_expressions(self) -> tuple[Expression, ...]:
        return ()


@dataclass(frozen=True)
class Packed(OneInputStep):
    """Rows as bytes for an internal topic: K the packed ``key``, V the packed columns (and window bounds)."""

    child: Step
    key: tuple[Expression, ...]
    schema: Schema
    window: Windowing | None = None

    @property
    def details(self) -> Details:
        return [("Key", ", ".join(map(str, self.key)) or "none")]

    @property
    def row_expressions(self) -> tuple[Expression, ...]:
        return ()


@dataclass(frozen=True)
class Unpacked(OneInputStep):
    """The columns of ``schema`` from what Packed wrote; a table's keys come from K, deletions have no V."""

    child: Step
    is_table: bool
    schema: Schema
    window: Windowing | None = None

    @property
    def details(self) -> Details:
        return []

    @property
    def row_expressions(self) -> tuple[Expression, ...]:
        return ()


@dataclass(frozen=True)
class TableChanges(OneInputStep, TableKeepingStep):
    """A table's changes as rows: the old one with -1 in the last column, the new one with 1.

    With a ``key`` the old one has -2 if the new one has the same key, and so follows it to the same group.
    """

    child: Step
    schema: Schema
    window: Windowing | None = None
    key: tuple[Expression, ...] | None = None

    @property
    def details(self) -> Details:
        return []

    @property
    def row_expressions(self) -> tuple[Expression, ...]:
        return ()

    @property
    def kept_state(self) -> str:
        return "the latest row of each key"


@dataclass(frozen=True)
class TableAggregate(AggregateStep):
    """Aggregates of a table (§6.8): column ``sign`` says whether a row is retracted (-1, -2) or added (1).

    After -2 nothing is emitted, as the row that replaces the retracted one in its group follows.
    """

    child: Step
    group_by: tuple[NamedExpression, ...]
    aggregates: tuple[AggregateCall, ...]
    having: Expression | None
    sign: str
    schema: Schema
    window: Windowing | None = None
    every_ms: int = 0


@dataclass(frozen=True)
class ForeignKeySubscribe(OneInputStep, TableKeepingStep):
    """First part of a foreign-key join (§6.7): sends left rows to their foreign keys; K and V are bytes."""

    child: Step
    foreign_key: Expression
    join: str
    schema: Schema
    window: Windowing | None = None

    @property
    def details(self) -> Details:
        return [("", self.join), ("Foreign key", self.foreign_key)]

    @property
    def row_expressions(self) -> tuple[Expression, ...]:
        return ()

    @property
    def kept_state(self) -> str:
        return "the foreign key of each key on the left"


@dataclass(frozen=True)
class ForeignKeyAnswer(TableKeepingStep):
    """Second part: joins these rows (``left``) with the right table's, sends them back; K and V are bytes."""

    left: Step
    right: Step
    right_key: Expression
    join: str
    schema: Schema
    window: Windowing | None = None

    @property
    def inputs(self) -> tuple[Step, ...]:
        return (self.left, self.right)

    @property
    def details(self) -> Details:
        return [("", self.join), ("Key", self.right_key)]

    @property
    def row_expressions(self) -> tuple[Expression, ...]:
        return ()

    @property
    def kept_state(self) -> str:
        return "the latest row of each key on the right, and the left keys that ask for it"


@dataclass(frozen=True)
class ForeignKeyLatest(OneInputStep, StatefulStep):
    """Third part: answers to the current left row as the join's columns; older answers are dropped."""

    child: Step
    left: Schema
    right: Schema
    schema: Schema
    window: Windowing | None = None

    @property
    def details(self) -> Details:
        return []

    @property
    def row_expressions(self) -> tuple[Expression, ...]:
        return ()

    @property
    def kept_state(self) -> str:
        return "the latest row of each key on the left"


def _idle(idle_ms: int) -> str | None:
    return span_text(idle_ms) if idle_ms else None


# ---- plans --------------------------------------------------------------------------------------------


def transactional_id(service_id: str, query_id: str, number: int) -> str:
    """The name of the producers of a query's sub-topology, by which Kafka fences the earlier ones.

    It begins like the names of the query's topics, because ACLs may use prefixes.
    """
    return f"{transactional_ids_of(service_id)}query_{query_id}-{number}"


def transactional_ids_of(service_id: str) -> str:
    """What all of a service's transactional ids begin with."""
    return f"_confluent-ksql-{service_id}"


@dataclass(frozen=True)
class Stage:
    """A part of a plan that is one Spark query: ``root`` written to ``sink``'s topic.

    Args:
        number: its place among the stages, upstream first.
        root: the last step.
        sink: the stream or table that is written.
        mode: REALTIME or MICROBATCH.
        reason: why it has this mode, in KSQL's terms.
        is_last: whether it writes the plan's sink, else an internal topic.
        by_event_time: rows of a batch are processed in order of event time.
        records: serdes of the sink's records.
        transactional_id: the Kafka producer's id if it is exactly once; None: at least once.
    """

    number: int
    root: Step
    sink: DataSource
    mode: str
    reason: str
    is_last: bool
    by_event_time: bool
    records: RecordSpec
    transactional_id: str | None = None

    @property
    def guarantee(self) -> str:
        """AT_LEAST_ONCE or EXACTLY_ONCE."""
        return AT_LEAST_ONCE if self.transactional_id is None else EXACTLY_ONCE

    @property
    def state_kinds(self) -> tuple[str, ...]:
        """The class names of the steps that keep state."""
        return tuple(type(s).__name__ for s in stateful_steps(self.root))

    @property
    def has_idle_timeout(self) -> bool:
        """Whether results wait for a time without rows."""
        return any(isinstance(s, WaitingStep) and s.idle_ms > 0 for s in walk(self.root))

    @property
    def needs_heartbeats(self) -> bool:
        """Whether it must know that time passes: for an idle timeout, or intervals."""
        has_intervals = any(isinstance(s, AggregateStep) and s.every_ms > 0 for s in walk(self.root))
        return has_intervals or self.has_idle_timeout

    @property
    def topics(self) -> tuple[str, ...]:
        """The topics that it reads, internal ones too."""
        return tuple(s.source.topic for s in walk(self.root) if isinstance(s, SourceStep))


@dataclass(frozen=True)
class Plan:
    """How a query runs: ``root`` written to ``sink``'s topic, in stages.

    Args:
        root: the last step.
        sink: the stream or table that is written.
        mode: of the last stage.
        reason: why it has this mode, in KSQL's terms.
        sources: the streams and tables that it reads, left to right; no internal topics.
        records: serdes of the sink's records.
        inner: the stages before the last, each with an internal topic as its sink, furthest upstream first.
        by_event_time: ORDER = 'event-time': rows of a batch are processed in order of event time.
        transactional_id: of the last stage.
    """

    root: Step
    sink: DataSource
    mode: str
    reason: str
    sources: tuple[DataSource, ...]
    records: RecordSpec
    inner: tuple[Stage, ...] = ()
    by_event_time: bool = False
    transactional_id: str | None = None

    @property
    def guarantee(self) -> str:
        """AT_LEAST_ONCE or EXACTLY_ONCE."""
        return self.last.guarantee

    @property
    def transactional_ids(self) -> tuple[str, ...]:
        """The ids of all exactly-once stages."""
        return tuple(s.transactional_id for s in self.stages if s.transactional_id is not None)

    @cached_property
    def stages(self) -> tuple[Stage, ...]:
        """All stages, upstream first."""
        return (*self.inner, self.last)

    @cached_property
    def last(self) -> Stage:
        """The stage that writes the sink."""
        how = (self.mode, self.reason, True, self.by_event_time, self.records, self.transactional_id)
        return Stage(len(self.inner), self.root, self.sink, *how)

    @property
    def is_transient(self) -> bool:
        """Whether it is a push query's: its sink is a topic that one client reads."""
        return isinstance(self.root, TransientSelect)

    @property
    def shown_schema(self) -> Schema:
        """The columns of its results, as users name them."""
        return self.root.shown_schema


#: steps whose rows come from one row each
_ROW_BY_ROW = (StreamFilter, StreamFlatMap, StreamSelect, StreamSelectKey, TableSelect)


def record_topic(step: Step) -> str | None:
    """The topic of the records that rows of ``step`` come from, where ROWPARTITION and ROWOFFSET name them.

    None where a row comes from several records or from state, or where the key that PARTITION BY made has
    the name of one of these columns.
    """
    while True:
        if any(step.schema.find(name) is not None for name in (ROWPARTITION, ROWOFFSET)):
            return None
        if not isinstance(step, _ROW_BY_ROW):
            if not isinstance(step, SourceStep) or step.source.topic_pattern is not None:
                return None
            return step.source.topic
        step = step.child


def walk(step: Step) -> list[Step]:
    """``step`` and all steps below it, parents first."""
    return [step, *(below for child in step.inputs for below in walk(child))]


def tables_in_state(plan: Plan) -> set[str]:
    """The topics of tables that a query without state must read from the beginning: all that it reads, if it
    keeps state, because a table is what all its records make of it.
    """
    if not any(True for stage in plan.stages for _ in stateful_steps(stage.root)):
        return set()
    streams = {source.topic for source in plan.sources if not source.is_table}
    return {source.topic for source in plan.sources if source.is_table} - streams


def stateful_steps(step: Step) -> Iterator[StatefulStep]:
    """The steps that keep state, parents first, without filters whose deletions the step above handles."""
    if isinstance(step, StatefulStep):
        yield step
    for child in step.inputs:
        is_deleted_above = isinstance(step, TableKeepingStep) and isinstance(child, TableFilter)
        yield from stateful_steps(child.inputs[0] if is_deleted_above else child)
