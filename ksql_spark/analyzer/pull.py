"""Pull queries: SELECT without EMIT on a materialised table or on a stream (reference §2.5).

What reads the rows of one source one by one is a PullQuery and answered from the table's view; all else is a
BatchQuery (batch.py), which Spark runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlglot import exp

from grammar import nodes
from ksql_spark.analyzer.batch import bind_batch
from ksql_spark.analyzer.expressions import bind_expression, bind_predicate, struct_fields
from ksql_spark.analyzer.failures import invalid, place, within_statement
from ksql_spark.analyzer.lookups import check_key_literals, check_scan, find_lookups
from ksql_spark.analyzer.naming import Names, check_unique, item_name
from ksql_spark.analyzer.pull_rules import check_limit, check_queryable, check_select, without_disk_columns
from ksql_spark.analyzer.scope import BoundRelation, Scope
from ksql_spark.analyzer.settings import check_lambdas
from ksql_spark.expressions import ColumnRef
from ksql_spark.functions import registry
from ksql_spark.logical.nodes import BatchQuery, NamedExpression, PullQuery
from ksql_spark.metastore.sources import DataSource
from ksql_spark.metastore.store import MetaStore
from ksql_spark.schema import PSEUDO_COLUMNS, ROWTIME, WINDOW_BOUNDS, Column
from ksql_spark.types import Null


def bind_pull(
    query: nodes.QueryNode, metastore: MetaStore, config: Mapping[str, Any]
) -> PullQuery | BatchQuery:
    """The pull query of a SELECT without EMIT.

    Raises:
        KsqlError: a clause that pull queries lack, a table that is not materialised, or as bind_expression.
    """
    with within_statement(query):
        check_lambdas(query, config)
        if isinstance(query, nodes.Select) and _is_plain(query):
            return _bind(query, metastore, config)
        return bind_batch(query, metastore, config)


def _is_plain(query: nodes.Select) -> bool:
    """Whether each row of the result comes from one row of one source, in no order."""
    clauses = (
        query.ctes, query.distinct, query.group_by, query.having, query.order_by,
        not isinstance(query.relation, nodes.AliasedSource),
    )  # fmt: skip
    return not any(clauses) and not any(
        registry.aggregate(call.name) or registry.table_function(call.name)
        for item in query.items
        for call in item.find_all(nodes.FunctionCall)
    )


def _bind(query: nodes.Select, metastore: MetaStore, config: Mapping[str, Any]) -> PullQuery:
    check_select(query, config)
    from_item = query.relation
    assert isinstance(from_item, nodes.AliasedSource)
    source = metastore.require(from_item.source_name, place(from_item))
    check_queryable(source, from_item, config)
    check_limit(query, config)
    hidden = {ROWTIME: PSEUDO_COLUMNS[ROWTIME]} | (WINDOW_BOUNDS if source.window else {})
    relation = BoundRelation(
        from_item.alias_name, source.schema, source.kind, source.window, hidden=hidden, source=source
    )
    scope = Scope((relation,), types=metastore.types())
    names = Names(c.name for c in source.schema.columns)
    items, key_names = _items(query, scope, source, names)
    predicate = lookups = None
    if query.where is not None:
        predicate = bind_predicate(query.where, without_disk_columns(scope, "WHERE"))
        check_key_literals(predicate, source, query.where)
        if source.is_table:
            lookups = find_lookups(predicate, source)
    if source.is_table and lookups is None:
        check_scan(predicate, source, query, config)
    return PullQuery(
        source, lookups, predicate, tuple(items), frozenset(key_names), query.limit, query.offset
    )


# ---- SELECT -------------------------------------------------------------------------------------------


def _items(
    query: nodes.Select, scope: Scope, source: DataSource, names: Names
) -> tuple[list[NamedExpression], list[str]]:
    select = without_disk_columns(scope, "SELECT")
    keys = {c.name for c in source.schema.key} | (set(WINDOW_BOUNDS) if source.window else set())
    items: list[NamedExpression] = []
    places: list[exp.Expr] = []
    for node in query.items:
        match node:
            case nodes.AllColumns():
                if node.source_name is not None:
                    scope.relation(node.source_name, node)
                items += (NamedExpression(c.name, ColumnRef(c.name, c.type)) for c in _star(source))
            case nodes.AllFields():
                items += (
                    NamedExpression(names.field(name), value) for name, value in struct_fields(node, select)
                )
            case nodes.SelectItem():
                bound = bind_expression(node.this, select)
                if isinstance(bound.type, Null):
                    raise invalid("Can't infer a type of null.", node, hint="Use CAST(NULL AS ...).")
                items.append(NamedExpression(item_name(node, bound, names), bound))
        places += [node] * (len(items) - len(places))
    check_unique([i.name for i in items], places)
    flagged = (i for i in items if isinstance(i.expression, ColumnRef) and i.expression.name in keys)
    return items, [i.name for i in flagged] if source.is_table else []


def _star(source: DataSource) -> list[Column]:
    columns = list(source.schema.columns)
    if source.window is not None:
        at = len(source.schema.key)
        columns[at:at] = [Column(name, type_) for name, type_ in WINDOW_BOUNDS.items()]
    return columns
