"""REPLAY of a join of streams: its pairs of rows, from complete inputs (ADR 85)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp

from ksql_spark.analyzer.base.failures import invalid
from ksql_spark.analyzer.expressions.calls import call
from ksql_spark.analyzer.rows.recomputing import alone, other_way
from ksql_spark.analyzer.rows.traced_groups import Parts
from ksql_spark.analyzer.rows.traced_plans import Tracer, added, all_of, any_of, kept_column, place
from ksql_spark.expressions import Call, ColumnRef, Expression, Literal
from ksql_spark.expressions import walk as parts_of
from ksql_spark.functions import registry
from ksql_spark.grammar.statements.lifecycle import ReplayLateRows
from ksql_spark.metastore.calendars import DAY_MS
from ksql_spark.plan.clauses import NamedExpression
from ksql_spark.plan.nodes import (
    SEMI,
    STREAM_STREAM,
    Aggregate,
    Filter,
    FlatMap,
    Join,
    Node,
    Project,
    SelectKey,
    Source,
)
from ksql_spark.plan.queries import PersistentQuery
from ksql_spark.plan.trees import walk
from ksql_spark.schema import NULL_VALUE, ROWTIME
from ksql_spark.types import BIGINT, BOOLEAN

#: the column that tells whether a pair has a record that is asked for
IS_ASKED = "__IS_ASKED"
_PASSED = (Filter, FlatMap, Project, SelectKey)


@dataclass(frozen=True)
class Pairs:
    """A batch that computes the rows that a join of two streams writes for pairs of records.

    Args:
        inputs: the streams, as those of a Trace.
        root: the batch: the sink's columns, ROWTIME, NULL_VALUE, IS_ASKED, and ``place`` of each input.
        alone: what the query computes of each record before the join, for each input.
        reach_ms: how far apart the times of a pair are at most.
        closes_after_ms: how long after a record its last partner may come, in stream time.
    """

    inputs: tuple[Source, ...]
    root: Node
    alone: tuple[Node, ...]
    reach_ms: int
    closes_after_ms: int


def is_join_of_streams(query: PersistentQuery) -> bool:
    """Whether the rows of a query are those of a join of two streams."""
    nodes = list(walk(query.root))
    is_joined = any(isinstance(node, Join) and node.type == STREAM_STREAM for node in nodes)
    return is_joined and not any(isinstance(node, Aggregate) for node in nodes)


def bind_pairs(query: PersistentQuery, statement: exp.Expr, what: str) -> Pairs:
    """The batch for all pairs of ``query``, a join of streams.

    Args:
        query: the query.
        statement: where errors are shown.
        what: the words of the statement, for errors.

    Raises:
        KsqlError: INVALID_STATEMENT if it cannot be known which pairs the query has missed.
    """
    nodes = list(walk(query.root))
    joins = [node for node in nodes if isinstance(node, Join)]
    sources = [node.source for node in nodes if isinstance(node, Source)]
    hint = None if isinstance(statement, ReplayLateRows) else other_way(query.sink)
    is_simple = all(isinstance(node, (Join, Source, *_PASSED)) for node in nodes) and len(joins) == 1
    if not is_simple or joins[0].within is None or joins[0].join == SEMI or any(s.is_table for s in sources):
        raise invalid(
            f"{what} of a join finds the pairs that one join of two streams WITHIN a time has "
            "missed; this query has other steps, too.",
            statement,
            hint=hint or "CREATE STREAM … AS the join alone, and the other steps over that.",
        )
    if len({source.topic for source in sources}) < 2:
        raise invalid(
            f"{what} cannot tell the sides of a join of topic {sources[0].topic} with itself.",
            statement,
            hint=hint,
        )
    for expression in (each for node in nodes for each in _expressions(node)):
        for part in parts_of(expression):
            is_varying = isinstance(part, Call) and not registry.require(part.function).is_deterministic
            if isinstance(part, Call) and is_varying and not part.arguments:
                raise invalid(
                    f"{what} compares pairs with the rows that are there, but "
                    f"{part.function}() gives another value each time.",
                    statement,
                    hint=hint,
                )
    parts = Parts.of(query.root, (column.name for column in query.sink.schema.columns))
    tracer = Tracer(is_ordered=False, statement=what, asks=True)
    rows = tracer.carried(parts.below)
    numbers = range(len(tracer.inputs))
    is_there = [call("IS NOT NULL", [ColumnRef(place(n)[2], BIGINT)], None) for n in numbers]
    rows = Filter(rows, all_of([tracer.passes, *is_there]))
    there = {column.name: column for column in rows.schema.columns}
    is_asked = any_of(ColumnRef(added(n).is_asked, BOOLEAN) for n in numbers)
    hidden = [NamedExpression(NULL_VALUE, Literal(False, BOOLEAN)), NamedExpression(IS_ASKED, is_asked)]
    hidden += (kept_column(there[name]) for name in (ROWTIME, *(c for n in numbers for c in place(n)[1:])))
    within = joins[0].within
    reach_ms = max(within.before_ms, within.after_ms)
    return Pairs(
        inputs=tuple(tracer.inputs),
        root=Project(rows, (), (*parts.outputs, *hidden)),
        alone=(alone(joins[0].left, [joins[0].left_key]), alone(joins[0].right, [joins[0].right_key])),
        reach_ms=reach_ms,
        closes_after_ms=reach_ms + (DAY_MS if within.grace_ms is None else within.grace_ms),
    )


def _expressions(node: Node) -> Iterator[Expression]:
    match node:
        case Filter():
            yield node.predicate
        case Project():
            yield from (item.expression for item in (*node.keys, *node.values))
        case SelectKey():
            yield from (item.expression for item in node.keys)
        case FlatMap():
            yield from (function.expression for function in node.functions)
        case Join():
            yield from (node.left_key, node.right_key)
            yield from () if node.residual is None else (node.residual,)


__all__ = ["IS_ASKED", "Pairs", "bind_pairs", "is_join_of_streams"]
