"""Pull queries: SELECT without EMIT on a materialized table or on a stream (reference §2.5).

A query whose result rows each come from one row of one source is a PullQuery, answered from the table's view;
any other is a BatchQuery (batch.py), which Spark runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from ksql_spark.analyzer.base.failures import within_statement
from ksql_spark.analyzer.base.naming import Names, check_unique
from ksql_spark.analyzer.base.scope import BoundRelation, Scope
from ksql_spark.analyzer.base.serialization import check_results
from ksql_spark.analyzer.base.settings import check_lambdas, is_ansi
from ksql_spark.analyzer.expressions.binding import bind_predicate
from ksql_spark.analyzer.reads.batch import bind_batch
from ksql_spark.analyzer.reads.lookups import check_key_values, check_scan, find_lookups
from ksql_spark.analyzer.reads.past import bind_past
from ksql_spark.analyzer.reads.pull_rules import (
    check_limit,
    check_queryable,
    check_select,
    without_disk_columns,
)
from ksql_spark.analyzer.relations.binding import source_relation
from ksql_spark.analyzer.select.select_items import bind_items, check_typed, expand_stars, star_items
from ksql_spark.expressions import ColumnRef
from ksql_spark.functions import registry
from ksql_spark.grammar import nodes
from ksql_spark.metastore.store import MetaStore
from ksql_spark.plan.clauses import NamedExpression
from ksql_spark.plan.queries import BatchQuery, PullQuery
from ksql_spark.schema import WINDOW_BOUNDS, Column


def bind_pull(
    query: nodes.QueryNode, metastore: MetaStore, config: Mapping[str, Any]
) -> PullQuery | BatchQuery:
    """The pull query of a SELECT without EMIT.

    Raises:
        KsqlError: a clause that pull queries do not support, a table that is not materialized; those of
            bind_expression.
    """
    if query.find(nodes.PastSource) is not None:
        return bind_past(query, metastore, config)[0]
    with within_statement(query):
        check_lambdas(query, config)
        if isinstance(query, nodes.Select) and _is_plain(query):
            return _bind(query, metastore, config)
        return bind_batch(query, metastore, config)


def _is_plain(query: nodes.Select) -> bool:
    """Whether each result row comes from one row of one source, in any order."""
    clauses = (
        query.ctes, query.distinct, query.group_by, query.having, query.order_by,
        not isinstance(query.relation, nodes.AliasedSource),
    )  # fmt: skip
    if query.find(nodes.Exists, nodes.InQuery) is not None:
        return False
    return not any(clauses) and not any(
        registry.aggregate(call.name) or registry.table_function(call.name)
        for item in query.items
        for call in item.find_all(nodes.FunctionCall)
    )


def _bind(query: nodes.Select, metastore: MetaStore, config: Mapping[str, Any]) -> PullQuery:
    check_select(query, config)
    relation = source_relation(query.relation, metastore, prefixed=False)
    source = relation.source
    assert source is not None
    check_queryable(source, query.relation, config)
    check_limit(query, config)
    scope = Scope((relation,), types=metastore.types(), ansi=is_ansi(config))
    items, key_names = _items(query, scope, relation)
    predicate = lookups = None
    if query.where is not None:
        predicate = bind_predicate(query.where, without_disk_columns(scope, "WHERE"))
        check_key_values(predicate, source, query.where)
        if source.is_table:
            lookups = find_lookups(predicate, source)
    if source.is_table:
        check_scan(predicate, source, query, config)
    return PullQuery(
        source, lookups, predicate, tuple(items), frozenset(key_names), query.limit, query.offset
    )


# ---- SELECT -------------------------------------------------------------------------------------------


def _items(
    query: nodes.Select, scope: Scope, relation: BoundRelation
) -> tuple[list[NamedExpression], list[str]]:
    """The result columns, and the names of those that are key columns of a table."""
    names = Names(c.name for c in relation.schema.columns)
    bound = bind_items(query, without_disk_columns(scope, "SELECT"), names)
    items = list(expand_stars(bound, [relation], partial(star_items, with_bounds=True)))
    check_typed(items)
    check_unique([i.name for i in items], [i.node for i in items])
    check_results([Column(i.name, i.expression.type) for i in items], query)
    keys = {c.name for c in relation.schema.key} | (set(WINDOW_BOUNDS) if relation.window else set())
    flagged = (i for i in items if isinstance(i.expression, ColumnRef) and i.expression.name in keys)
    is_table = relation.source is not None and relation.source.is_table
    return [NamedExpression(i.name, i.expression) for i in items], [i.name for i in flagged if is_table]


__all__ = ["bind_pull"]
