"""EXPLAIN ROW and EXPLAIN MISSING ROW: trace the rows of a query to records (beyond ksqlDB)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from ksql_spark.analyzer.base.failures import invalid
from ksql_spark.analyzer.base.scope import BoundRelation, Scope
from ksql_spark.analyzer.base.settings import is_ansi
from ksql_spark.analyzer.expressions.binding import bind_predicate
from ksql_spark.analyzer.rows.traced_plans import Tracer, is_ordered_by, kept_column, place, replaced, step
from ksql_spark.expressions import ColumnRef, Expression, columns_in
from ksql_spark.metastore.store import MetaStore
from ksql_spark.plan.clauses import call_texts, written_out
from ksql_spark.plan.nodes import Aggregate, Expire, Filter, Node, Project, Source, UnionAll
from ksql_spark.plan.queries import PersistentQuery
from ksql_spark.plan.trees import walk
from ksql_spark.schema import PSEUDO_COLUMNS, ROWOFFSET, ROWPARTITION, ROWTIME


@dataclass(frozen=True)
class Trace:
    """A batch query that finds the records behind the rows of a stream or table.

    Args:
        inputs: the streams and tables that the query reads, as the batch does. The frame of each has the
            columns ``added`` besides those of its schema.
        root: the batch: for each input ``place``, NULL where no record of it is part of the row, then
            ``step`` for each of ``steps``, of all rows that belong to the wanted ones.
        steps: for each step why it drops a row, in the order in which the query takes them.
        having: the condition of HAVING.
        is_aggregate: whether a row can be made of many records.
        is_windowed: whether these are spread over windows, for which a record can be too late.
        joins_versions: whether a stream is joined with a table, which had another row at other times.
        is_ordered: whether the rows depend on the order in which the query has taken the records.
        ttl_ms: how long after its last change a row is deleted.
    """

    inputs: tuple[Source, ...]
    root: Node
    steps: tuple[str, ...]
    having: str | None
    is_aggregate: bool
    is_windowed: bool
    joins_versions: bool
    is_ordered: bool
    ttl_ms: int | None


def bind_traces(
    query: PersistentQuery, where: exp.Expr, metastore: MetaStore, config: Mapping[str, Any]
) -> tuple[Trace, ...]:
    """The traces of the rows of a query's result for which ``where`` is true: one for each SELECT.

    Raises:
        KsqlError: the condition is invalid, or the query has a step whose rows cannot be traced.
    """
    root = query.root
    relation = BoundRelation(query.sink.name, root.schema, root.kind, hidden=dict(PSEUDO_COLUMNS))
    scope = Scope((relation,), types=metastore.types(), ansi=is_ansi(config)).at("WHERE")
    condition = bind_predicate(where, scope)
    names = [column.name for column in root.schema.columns]
    selects = root.children if isinstance(root, UnionAll) else (root,)
    return tuple(_bind_trace(select, names, condition, where) for select in selects)


def _bind_trace(top: Node, names: Iterable[str], condition: Expression, where: exp.Expr) -> Trace:
    ttl_ms = None
    if isinstance(top, Expire):
        ttl_ms, top = top.ttl_ms, top.child
    below, having = top, None
    outputs: Iterable[Expression] = (ColumnRef(c.name, c.type) for c in top.schema.columns)
    if isinstance(top, Project):
        outputs, below = (item.expression for item in (*top.keys, *top.values)), top.child
    condition = replaced(condition, dict(zip(names, outputs, strict=True)))
    if isinstance(below, Filter) and isinstance(below.child, Aggregate):
        having, below = below.predicate, below.child
    aggregate = below if isinstance(below, Aggregate) else None
    if aggregate is not None:
        ttl_ms = ttl_ms or aggregate.ttl_ms
        groups = {group.name: group.expression for group in aggregate.group_by}
        others = columns_in(condition) - groups.keys() - set(PSEUDO_COLUMNS)
        if others:
            keys = ", ".join(key.name for key in top.schema.key)
            reason = f"WHERE may name the key ({keys}) and {ROWTIME}: other columns are made of many records."
            raise invalid(reason, where)
        condition, below = replaced(condition, groups), aggregate.child
    tracer = Tracer(is_ordered=any(map(is_ordered_by, walk(below))))
    carried = tracer.carried(below)
    there = {column.name: column for column in carried.schema.columns}
    lost = {ROWPARTITION, ROWOFFSET} & columns_in(condition) - there.keys()
    if lost:
        raise invalid(f"The rows come of several records, so they have no {min(lost)}.", where)
    tracer.check(condition)
    rows = tracer.with_frames(carried, condition) if tracer.frames else Filter(carried, condition)
    names_of_result = [name for i, _ in enumerate(tracer.inputs) for name in place(i)]
    names_of_result += map(step, range(len(tracer.steps)))
    return Trace(
        inputs=tuple(tracer.inputs),
        root=Project(rows, (), tuple(kept_column(there[name]) for name in names_of_result)),
        steps=tuple(tracer.steps),
        having=_text(having, aggregate),
        is_aggregate=aggregate is not None,
        is_windowed=aggregate is not None and aggregate.window_spec is not None,
        joins_versions=tracer.joins_versions,
        is_ordered=tracer.is_ordered,
        ttl_ms=ttl_ms,
    )


def _text(having: Expression | None, aggregate: Aggregate | None) -> str | None:
    """HAVING with the calls of aggregates in place of their columns."""
    if having is None or aggregate is None:
        return None
    return str(written_out(having, call_texts(aggregate.aggregates)))


__all__ = ["Trace", "bind_traces"]
