"""The groups of an aggregate over all records of its query: EXPLAIN ROW, EXPLAIN RECORD (tracing.py) and
REPROCESS (recomputing.py). A windowed group is a group by the bounds of its window, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ksql_spark.analyzer.expressions.calls import call
from ksql_spark.analyzer.rows.traced_plans import Tracer, is_ordered_by, with_columns
from ksql_spark.expressions import Case, ColumnRef, Expression, Literal
from ksql_spark.functions import registry
from ksql_spark.plan.clauses import AggregateCall, FramedCall, NamedExpression, SortKey, WindowSpec
from ksql_spark.plan.nodes import Aggregate, BatchOver, Expire, Filter, FlatMap, Node, Project, Sort
from ksql_spark.plan.trees import walk
from ksql_spark.schema import ROWTIME, WINDOW_BOUNDS, WINDOWEND, WINDOWSTART
from ksql_spark.types import BIGINT

#: the column with the number of a row's window
_NUMBER = "__WINDOW"


@dataclass(frozen=True)
class Parts:
    """A SELECT: what its columns are made of, HAVING, the aggregate, what is below it, and TTL."""

    outputs: tuple[NamedExpression, ...]
    having: Expression | None
    aggregate: Aggregate | None
    below: Node
    ttl_ms: int | None

    @classmethod
    def of(cls, top: Node, names: Iterable[str]) -> Parts:
        """The parts of ``top``, whose columns are called ``names``."""
        ttl_ms = None
        if isinstance(top, Expire):
            ttl_ms, top = top.ttl_ms, top.child
        below, having = top, None
        outputs: Iterable[Expression] = (ColumnRef(c.name, c.type) for c in top.schema.columns)
        if isinstance(top, Project):
            outputs, below = (item.expression for item in (*top.keys, *top.values)), top.child
        if isinstance(below, Filter) and isinstance(below.child, Aggregate):
            having, below = below.predicate, below.child
        aggregate = below if isinstance(below, Aggregate) else None
        if aggregate is not None:
            ttl_ms, below = ttl_ms or aggregate.ttl_ms, aggregate.child
        named = tuple(map(NamedExpression, names, outputs))
        return cls(named, having, aggregate, below, ttl_ms)

    @property
    def window(self) -> WindowSpec | None:
        """The WINDOW clause."""
        return self.aggregate.window_spec if self.aggregate is not None else None

    @property
    def is_by_arrival(self) -> bool:
        """Whether the aggregate depends on the order in which rows came."""
        calls = self.aggregate.aggregates if self.aggregate is not None else ()
        return any(registry.require(each.function).by_arrival for each in calls)

    @property
    def is_ordered(self) -> bool:
        """Whether rows depend on the order of records."""
        return self.is_by_arrival or any(map(is_ordered_by, walk(self.below)))


def of_groups(rows: Node, aggregate: Aggregate) -> Node:
    """Those of ``rows`` that belong to a group: a row without a key belongs to none."""
    for group in aggregate.group_by:
        rows = Filter(rows, call("IS NOT NULL", [group.expression], None))
    return rows


def grouped(rows: Node, parts: Parts, tracer: Tracer, more: Iterable[AggregateCall] = ()) -> Node:
    """The groups of ``of_groups``, or of ``windowed`` ones, with the results of ``more`` aggregates."""
    aggregate = parts.aggregate
    assert aggregate is not None  # the caller has looked
    keys = aggregate.group_by
    if aggregate.window_spec is not None:
        keys += tuple(NamedExpression(name, ColumnRef(name, BIGINT)) for name in WINDOW_BOUNDS)
    below = Sort(rows, tracer.arrivals) if parts.is_by_arrival else rows
    return Aggregate(below, keys, (*aggregate.aggregates, *more))


def windowed(rows: Node, aggregate: Aggregate) -> Node:
    """The rows of ``of_groups``, each once for each of its windows, with the bounds (as in Kafka Streams)."""
    spec = aggregate.window_spec
    assert spec is not None  # the caller has looked
    time = ColumnRef(ROWTIME, BIGINT)
    if spec.kind == "SESSION":
        return _in_sessions(rows, [group.expression for group in aggregate.group_by], time, spec.size_ms)
    advance = Literal(spec.advance_ms or spec.size_ms, BIGINT)
    earliest = call("-", [time, Literal(spec.size_ms - advance.value, BIGINT)], None)
    earliest = call("GREATEST", [earliest, Literal(0, BIGINT)], None)
    numbers = call("GENERATE_SERIES", [call("/", [at, advance], None) for at in (earliest, time)], None)
    each = FlatMap(rows, (NamedExpression(_NUMBER, numbers),))
    start = call("*", [ColumnRef(_NUMBER, BIGINT), advance], None)
    end = call("+", [start, Literal(spec.size_ms, BIGINT)], None)
    return with_columns(each, (NamedExpression(WINDOWSTART, start), NamedExpression(WINDOWEND, end)))


def _in_sessions(rows: Node, keys: Sequence[Expression], time: ColumnRef, gap_ms: int) -> Node:
    """The rows with the bounds of their sessions, which end where no row comes for longer than the gap."""

    def over(below: Node, keys: Sequence[Expression], order: bool, *calls: FramedCall) -> Node:
        return BatchOver(below, tuple(keys), (SortKey(time),) if order else (), calls)

    before, is_first = f"{_NUMBER}_BEFORE", f"{_NUMBER}_IS_FIRST"
    rows = over(rows, keys, True, FramedCall(AggregateCall(before, "MAX", (time,), BIGINT), None, 1))
    gap = call("-", [time, ColumnRef(before, BIGINT)], None)
    begins = Case(((call(">", [gap, Literal(gap_ms, BIGINT)], None), time),), Literal(None, BIGINT), BIGINT)
    rows = with_columns(rows, [NamedExpression(is_first, begins)])
    number = AggregateCall(_NUMBER, "COUNT", (ColumnRef(is_first, BIGINT),), BIGINT)
    rows = over(rows, keys, True, FramedCall(number, None, 0))
    bounds = [AggregateCall(n, f, (time,), BIGINT) for n, f in ((WINDOWSTART, "MIN"), (WINDOWEND, "MAX"))]
    of_session = [*keys, ColumnRef(_NUMBER, BIGINT)]
    return over(rows, of_session, False, *(FramedCall(each, None, None) for each in bounds))


__all__ = ["Parts", "grouped", "of_groups", "windowed"]
