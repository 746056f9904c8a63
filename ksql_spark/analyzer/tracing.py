"""EXPLAIN ROW and EXPLAIN MISSING ROW: a query's plan as a batch that carries the places of records along
(beyond ksqlDB)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from sqlglot import exp

from ksql_spark.analyzer.expressions import bind_predicate
from ksql_spark.analyzer.failures import invalid
from ksql_spark.analyzer.scope import BoundRelation, Scope
from ksql_spark.errors import KsqlError
from ksql_spark.expressions import ColumnRef, Expression, columns_in, transform
from ksql_spark.logical.nodes import (
    Aggregate,
    Deduplicate,
    Expire,
    Filter,
    FlatMap,
    Join,
    NamedExpression,
    Node,
    Over,
    PersistentQuery,
    Project,
    SelectKey,
    Source,
    TopN,
    UnionAll,
    call_texts,
    written_out,
)
from ksql_spark.metastore.store import MetaStore
from ksql_spark.schema import PSEUDO_COLUMNS, ROWOFFSET, ROWPARTITION, ROWTIME, Column

#: the columns that tell a record's place
PLACES = (ROWTIME, ROWPARTITION, ROWOFFSET)
_UNSUPPORTED: Mapping[type, str] = {
    Aggregate: "aggregations of aggregations",
    Deduplicate: "de-duplication",
    Expire: "TTL",
    Join: "joins",
    Over: "OVER",
    TopN: "Top-N",
    UnionAll: "UNION ALL",
}


@dataclass(frozen=True)
class Trace:
    """Where the rows of a stream or table come from.

    Args:
        relation: the stream that the query reads.
        root: a batch over it: PLACES, then a BOOLEAN for each of ``filters``, of all records that belong to
            the wanted rows.
        filters: the conditions of WHERE, in the order in which the query applies them.
        having: the condition of HAVING.
        is_aggregate: whether a row can be made of many records.
        is_windowed: whether these are spread over windows, for which a record can be too late.
    """

    relation: Source
    root: Node
    filters: tuple[str, ...]
    having: str | None
    is_aggregate: bool
    is_windowed: bool


def bind_trace(query: PersistentQuery, where: exp.Expr, metastore: MetaStore) -> Trace:
    """The trace of the rows of a query's result for which ``where`` is true.

    Raises:
        KsqlError: the condition is invalid, or the query has a step whose rows cannot be traced.
    """
    top = query.root
    if not isinstance(top, Project):
        raise _unsupported(top)
    outputs = {item.name: item.expression for item in (*top.keys, *top.values)}
    relation = BoundRelation(query.sink.name, top.schema, top.kind, hidden=dict(PSEUDO_COLUMNS))
    scope = Scope((relation,), types=metastore.types()).at("WHERE")
    condition = _replaced(bind_predicate(where, scope), outputs)
    below, having = top.child, None
    if isinstance(below, Filter) and isinstance(below.child, Aggregate):
        having, below = below.predicate, below.child
    aggregate = below if isinstance(below, Aggregate) else None
    if aggregate is not None:
        groups = {group.name: group.expression for group in aggregate.group_by}
        others = columns_in(condition) - groups.keys() - set(PSEUDO_COLUMNS)
        if others:
            keys = ", ".join(key.name for key in top.keys)
            reason = f"WHERE may name the key ({keys}) and {ROWTIME}: other columns are made of many records."
            raise invalid(reason, where)
        condition, below = _replaced(condition, groups), aggregate.child
    filters: list[Expression] = []
    carried = _carried(below, filters)
    names = [*PLACES, *(step(i) for i in range(len(filters)))]
    types = {column.name: column.type for column in carried.schema.columns}
    kept = Project(
        Filter(carried, condition), (), tuple(NamedExpression(n, ColumnRef(n, types[n])) for n in names)
    )
    return Trace(
        relation=_source(carried),
        root=kept,
        filters=tuple(str(written_out(predicate, {})) for predicate in filters),
        having=_text(having, aggregate),
        is_aggregate=aggregate is not None,
        is_windowed=aggregate is not None and aggregate.window_spec is not None,
    )


def _text(having: Expression | None, aggregate: Aggregate | None) -> str | None:
    """HAVING with the calls of aggregates in place of their columns."""
    if having is None or aggregate is None:
        return None
    return str(written_out(having, call_texts(aggregate.aggregates)))


def step(number: int) -> str:
    """The column that tells whether a row passes the filter with this number, from 0."""
    return f"__passes_{number}"


def _carried(node: Node, filters: list[Expression]) -> Node:
    """The node over all records, also those that filters drop, with PLACES and a column for each filter."""
    match node:
        case Source(source) if not source.is_table and not node.prefixed:
            return replace(node, exposed=PLACES)
        case Source(source):
            reason = f"EXPLAIN ROW does not support queries of tables yet: {source.name} is one."
            raise KsqlError("INVALID_STATEMENT", reason=reason)
        case Filter(child, predicate):
            below = _carried(child, filters)
            filters.append(predicate)
            return _projected(
                below, [NamedExpression(step(len(filters) - 1), predicate)], below.schema.columns
            )
        case FlatMap(child):
            return replace(node, child=_carried(child, filters))
        case SelectKey(child, keys):
            below = _carried(child, filters)
            names = {key.name for key in keys}
            return _projected(below, keys, (c for c in below.schema.columns if c.name not in names))
        case Project(child, keys, values):
            below = _carried(child, filters)
            hidden = (c for c in below.schema.columns if c.name in PLACES or c.name.startswith("__passes_"))
            return _projected(below, (*keys, *values), hidden)
    raise _unsupported(node)


def _projected(below: Node, made: Iterable[NamedExpression], kept: Iterable[Column]) -> Project:
    columns = (NamedExpression(column.name, ColumnRef(column.name, column.type)) for column in kept)
    return Project(below, (), (*columns, *made))


def _source(node: Node) -> Source:
    while not isinstance(node, Source):
        assert isinstance(node, (Filter, FlatMap, Project))
        node = node.child
    return node


def _replaced(expression: Expression, columns: Mapping[str, Expression]) -> Expression:
    """``expression`` over the columns of which ``columns`` are made."""
    return transform(expression, lambda e: columns.get(e.name) if isinstance(e, ColumnRef) else None)


def _unsupported(node: Node) -> KsqlError:
    what = _UNSUPPORTED.get(type(node), type(node).__name__)
    reason = f"EXPLAIN ROW does not support {what} yet."
    return KsqlError("INVALID_STATEMENT", reason=reason)


__all__ = ["PLACES", "Trace", "bind_trace", "step"]
