"""SELECT without EMIT, over complete inputs: joins, groups, sorting, sub-queries (beyond ksqlDB).

The rules are those of SQL rather than of streams: a result needs no key, a join may have any condition with
an equality, NULL is a group of its own. A sub-query has only the columns that it selects, no pseudo columns.
NULLs are sorted last in both directions, unless NULLS FIRST is given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

from sqlglot import exp

from ksql_spark.analyzer.base import settings
from ksql_spark.analyzer.base.clauses import IN_SUB_QUERIES, check_clauses
from ksql_spark.analyzer.base.failures import check_comparable, invalid
from ksql_spark.analyzer.base.naming import check_unique
from ksql_spark.analyzer.base.scope import BoundRelation, Correlation, Scope
from ksql_spark.analyzer.base.serialization import check_results
from ksql_spark.analyzer.expressions.aggregates import sort_key
from ksql_spark.analyzer.expressions.binding import bind_expression, bind_predicate
from ksql_spark.analyzer.expressions.calls import call, compare, typed_null
from ksql_spark.analyzer.expressions.coercion import coerce, unify
from ksql_spark.analyzer.reads.arrival import PLACES, with_latest_time
from ksql_spark.analyzer.reads.index_lookups import find_indexes
from ksql_spark.analyzer.reads.lookups import SCAN_HINT, narrow
from ksql_spark.analyzer.reads.pull_rules import (
    DISK_COLUMNS,
    REFUSED,
    check_query,
    check_queryable,
)
from ksql_spark.analyzer.relations.binding import Context, Rules
from ksql_spark.analyzer.relations.joins import CompleteJoin, relations_of
from ksql_spark.analyzer.select.queries import aligned
from ksql_spark.analyzer.select.select_items import (
    column_at,
)
from ksql_spark.analyzer.select.selects import BoundSelect, bind_select
from ksql_spark.expressions import Call, ColumnRef, Expression, Literal, SubQuery
from ksql_spark.functions import registry
from ksql_spark.grammar import nodes
from ksql_spark.metastore.store import MetaStore
from ksql_spark.plan.clauses import SORT, NamedExpression, SortKey
from ksql_spark.plan.nodes import (
    Distinct,
    Filter,
    Limit,
    Node,
    Project,
    SetOperation,
    Sort,
    Source,
    UnionAll,
    Values,
)
from ksql_spark.plan.queries import Job, Past
from ksql_spark.plan.trees import relations
from ksql_spark.schema import PSEUDO_COLUMNS, ROWTIME, WINDOW_BOUNDS, Column
from ksql_spark.types import BIGINT, BOOLEAN, Null, SqlType

#: the latest time of a row's partition so far
_LATEST = "KSQL_LATEST_TIME"
#: aggregates that are meaningless without an order of arrival
_ONLY_BY_ARRIVAL = frozenset({"EARLIEST_BY_OFFSET", "LATEST_BY_OFFSET"})
_IN_SUB_QUERIES = {"EMIT": IN_SUB_QUERIES["EMIT"]}
_NO_PAST: Mapping[str, Past] = {}


def bind_batch(query: nodes.QueryNode, metastore: MetaStore, config: Mapping[str, Any]) -> Node:
    """The plan of a SELECT or set operation over complete inputs.

    Raises:
        KsqlError: the first rule that is broken, with its place.
    """
    root = _bind(query, Context(metastore, config, _RULES))
    check_results(root.schema.columns, query)
    return root


def job_of(
    root: Node,
    query: nodes.QueryNode,
    metastore: MetaStore,
    config: Mapping[str, Any],
    past: Mapping[str, Past] = _NO_PAST,
) -> Job:
    """The job with the plan ``root`` of ``query``; ``past``: what is read of the past of tables.

    Raises:
        KsqlError: INVALID_STATEMENT if it needs the scan of a table, which the configuration forbids.
    """
    lookups, indexes = narrow(root), find_indexes(root, metastore)
    if not settings.flag(config, "ksql.query.pull.table.scan.enabled"):
        for relation, keys, index in zip(relations(root), lookups, indexes, strict=True):
            if relation.source.is_table and keys is None and index is None:
                what = f"Query requires table scan of {relation.source.name} to be enabled."
                raise invalid(what, query, hint=SCAN_HINT)
    return Job(root, lookups, indexes, key_names(root), past)


def key_names(root: Node) -> frozenset[str]:
    """The result columns that are the key, if each result row is a row of one table; else none."""
    return frozenset(c.name for c in root.schema.columns if _is_key(root, c.name))


def _is_key(node: Node, name: str) -> bool:
    match node:
        case Source(source):
            own = {c.name for c in source.schema.key} | (set(WINDOW_BOUNDS) if source.window else set())
            return source.is_table and name in own
        case Project(child, keys, values):
            expression = next(item.expression for item in (*keys, *values) if item.name == name)
            return isinstance(expression, ColumnRef) and _is_key(child, expression.name)
        case Limit(child) | Sort(child) | Distinct(child) | Filter(child):
            return _is_key(child, name)
    return False


def _bind(query: nodes.QueryNode | nodes.MatchRecognize, context: Context) -> Node:
    """The plan of a query or sub-query; its columns in SELECT order."""
    if isinstance(query, nodes.MatchRecognize):
        raise invalid("MATCH_RECOGNIZE is for persistent and push queries.", query, hint="Add EMIT CHANGES.")
    check_clauses(query, _IN_SUB_QUERIES)
    check_query(query, context.config)
    context = context.with_common_tables(query)
    if isinstance(query, nodes.Select):
        return _select(query, context)
    if isinstance(query, nodes.SetOperation):
        sides = [_bind(side, context) for side in (query.left, query.right)]
        root = _set_operation(sides, query)
    elif isinstance(query, nodes.Values):
        root = _values(query, context)
    else:
        raise invalid("This is not a query.", query)
    return _limited(_sorted_union(root, query, context), query)


def _values(query: nodes.Values, context: Context) -> Node:
    scope = _free_scope(context).at("VALUES")
    width = len(query.rows[0].expressions)
    for row in query.rows:
        if len(row.expressions) != width:
            raise invalid(f"Each row of VALUES needs {width} value(s), as the first one has.", row)
    names = [f"COLUMN{i + 1}" for i in range(width)]
    columns, fitted = [], []
    for name, written in zip(names, zip(*(row.expressions for row in query.rows), strict=True), strict=True):
        type_, values = unify([bind_expression(node, scope) for node in written], list(written), "")
        if isinstance(type_, Null):
            raise invalid(
                "A column of VALUES needs a type, and all its values are NULL.", written[0],
                hint="Give one of them a type: CAST(NULL AS ...).",
            )  # fmt: skip
        columns.append(Column(name, type_))
        fitted.append([coerce(value, type_) for value in values])
    return Values(tuple(columns), tuple(zip(*fitted, strict=True)))


def _free_scope(context: Context) -> Scope:
    """The names of a query without FROM."""
    return Scope(
        types=context.metastore.types(),
        ansi=settings.is_ansi(context.config),
        untyped=settings.is_untyped(context.config),
        postgres=settings.is_postgres(context.config),
        is_complete=True,
    )


def _limited(root: Node, query: nodes.QueryNode) -> Node:
    if query.limit is None and not query.offset:
        return root
    return Limit(root, query.limit, query.offset or 0)


def _set_operation(sides: list[Node], query: nodes.SetOperation) -> Node:
    if query.operator == "UNION ALL":
        children = (part for s in sides for part in (s.children if isinstance(s, UnionAll) else (s,)))
        return UnionAll(tuple(aligned(list(children), query)))
    left, right = aligned(sides, query)
    values = tuple(NamedExpression(c.name, ColumnRef(c.name, c.type)) for c in left.schema.columns)
    return Project(SetOperation(left, right, query.operator), (), values)


def _sorted_union(root: Node, query: nodes.QueryNode, context: Context) -> Node:
    if not query.order_by:
        return root
    scope = replace(_free_scope(context), relations=(BoundRelation("", root.schema, root.kind),))
    scope = scope.at("ORDER BY")
    keys = []
    for item in query.order_by:
        column = column_at(item, [c.name for c in root.schema.columns])
        selected = root.schema.find(column) if column is not None else None
        bound = (
            bind_expression(item.this, scope) if selected is None else ColumnRef(selected.name, selected.type)
        )
        keys.append(sort_key(item, bound, scope))
    return Sort(root, tuple(keys))


# ---- FROM ---------------------------------------------------------------------------------------------


def _bind_joins(
    node: nodes.Join, relations: Mapping[int, BoundRelation], scope: Scope
) -> tuple[CompleteJoin, Scope]:
    sides: list[CompleteJoin | BoundRelation] = []
    for side in (node.left, node.right):
        if isinstance(side, nodes.Join):
            joined, scope = _bind_joins(side, relations, scope)
            sides.append(joined)
        else:
            sides.append(relations[id(side)])
    left, right = sides
    if node.within is not None:
        raise invalid(
            "WITHIN is for joins in streaming queries; a pull query joins all current rows.",
            node.within,
            hint="Compare the ROWTIMEs in ON instead.",
        )
    if node.system_time is not None:
        raise invalid(
            "FOR SYSTEM_TIME AS OF is for joins in streaming queries; a pull query joins all current rows.",
            node.system_time, hint="t AS OF TIMESTAMP '…' reads what one table was.",
        )  # fmt: skip
    if isinstance(right, BoundRelation) and right.parameters and node.kind not in ("INNER", "LEFT", "CROSS"):
        raise invalid(f"LATERAL cannot be the right side of a {node.kind} JOIN.", node.right)
    condition: Expression = Literal(True, BOOLEAN)
    both = (relations_of(left), relations_of(right))
    merged: list[tuple[str, exp.Expr]] = [(str(name.this), name) for name in node.using]
    if node.natural:
        merged = [(name, node) for name in _columns(both[0]) if name in _columns(both[1])]
    if merged:
        condition, scope = _using(node, merged, *both, scope)
    elif node.on is not None:
        on = replace(scope.at("JOIN ON"), relations=(*both[0], *both[1]), sub_query=None)
        condition = bind_predicate(node.on, on)
    return CompleteJoin(left, right, "INNER" if node.kind == "CROSS" else node.kind, condition), scope


def _columns(relations: Sequence[BoundRelation]) -> list[str]:
    """The names of the columns of relations."""
    return list(dict.fromkeys(c.name for relation in relations for c in relation.schema.columns))


def _using(
    node: nodes.Join,
    names: Sequence[tuple[str, exp.Expr]],
    left: tuple[BoundRelation, ...],
    right: tuple[BoundRelation, ...],
    scope: Scope,
) -> tuple[Expression, Scope]:
    """The condition of USING, and the scope in which its names are those of both sides."""
    merged, parts = dict(scope.merged), []
    for text, name in names:
        sides = [replace(scope, relations=side).resolve("", text, name) for side in (left, right)]
        first, second = sides
        parts.append(compare("=", first, second, name, scope))
        if node.kind == "FULL":
            _, both = unify(sides, [name, name], scope.problem)
            merged[text] = call("COALESCE", both, name)
        else:
            merged[text] = second if node.kind == "RIGHT" else first
    return reduce(_and, parts), replace(scope, merged=merged)


def _and(left: Expression, right: Expression) -> Expression:
    return call("AND", (left, right), None)


# ---- sub-queries that are values ----------------------------------------------------------------------


def _sub_query(
    node: nodes.ScalarQuery | nodes.Exists | nodes.InQuery, scope: Scope, context: Context
) -> Expression:
    """A sub-query as a value; ksqlDB's IN, where nothing equals NULL, is EXISTS of the equal rows."""
    correlation = Correlation(scope, context.numbers)
    root = _bind(node.query, replace(context, outer=correlation))
    kind = "EXISTS"
    type_: SqlType = BOOLEAN
    columns = root.schema.columns
    written: list[exp.Expr] = []
    if isinstance(node, nodes.InQuery):
        written = node.this.expressions if isinstance(node.this, exp.Tuple) else [node.this]
    if not isinstance(node, nodes.Exists) and len(columns) != max(len(written), 1):
        what = "The sub-query of IN" if isinstance(node, nodes.InQuery) else "A sub-query that is a value"
        count = f"{len(written)} columns" if len(written) > 1 else "one column"
        raise invalid(f"{what} has {count}; this one has {len(columns)}.", node.query)
    operands: tuple[Expression, ...] = ()
    if written:
        values = [
            typed_null(bind_expression(e, scope), c.type) for e, c in zip(written, columns, strict=True)
        ]
        looked_for = values if scope.ansi else list(map(correlation.parameter, values))
        own = [ColumnRef(column.name, column.type) for column in columns]
        equal = [compare("=", *pair, node, scope) for pair in zip(own, looked_for, strict=True)]
        if scope.ansi:
            kind = "IN"
            sides = [call.arguments for call in equal if isinstance(call, Call)]
            items = (NamedExpression(c.name, side[0]) for c, side in zip(own, sides, strict=True))
            root = Project(root, (), tuple(items))
            operands = tuple(side[1] for side in sides)
        else:
            root = Filter(root, reduce(_and, equal))
    elif isinstance(node, nodes.ScalarQuery):
        kind, type_ = "", columns[0].type
    parameters = correlation.parameters
    return SubQuery(kind, root, tuple(parameters.values()), (*operands, *parameters), type_)


# ---- SELECT -------------------------------------------------------------------------------------------


def _select(select: nodes.Select, context: Context) -> Node:
    """The plan of one SELECT, with DISTINCT, ORDER BY and LIMIT on top."""
    within = select.within or select.join_within
    if within is not None:
        raise invalid("WITHIN after FROM is for streaming queries.", within, hint="Compare ROWTIME in WHERE.")
    bound = bind_select(select, context)
    check_unique([i.name for i in bound.items], [i.node for i in bound.items])
    plan = bound.build(sorts=_by_arrival(bound, select))
    values = [NamedExpression(i.name, i.expression) for i in bound.items]
    shown = len(values)
    named = {value.expression: value.name for value in reversed(values)}
    by = []
    for node, expression in bound.order:
        if expression not in named:
            if select.distinct:
                raise invalid(
                    "SELECT DISTINCT can only be sorted by columns that it selects.", node,
                    hint="Add the expression to the SELECT.",
                )  # fmt: skip
            named[expression] = f"{SORT}{len(values) - shown}"
            values.append(NamedExpression(named[expression], expression))
        by.append(sort_key(node, ColumnRef(named[expression], expression.type), _free_scope(context)))
    plan = Project(plan, (), tuple(values))
    if select.distinct:
        for item in bound.items:
            kind = item.expression.type
            text = f"{item.name} ({kind})"
            check_comparable(kind, "SELECT DISTINCT", text, item.node, hint="GROUP BY can.")
        plan = Distinct(plan)
    if by:
        plan = Sort(plan, tuple(by))
    plan = _limited(plan, select)
    if len(values) > shown:
        names = (ColumnRef(v.name, v.expression.type) for v in values[:shown])
        plan = Project(plan, (), tuple(NamedExpression(n.name, n) for n in names))
    return plan


def _by_arrival(bound: BoundSelect, select: nodes.Select) -> Callable[[Node], Node]:
    """Sorts rows for aggregates that depend on their order, if there are such."""
    calls = bound.grouping.aggregates if bound.grouping is not None else ()
    orders = dict.fromkeys(call.order for call in calls if call.order)
    if len(orders) > 1:
        raise invalid(
            "The aggregates of a SELECT take rows in one order: there are several ORDER BY in them.", select,
            hint="Put one of them into a sub-query.",
        )  # fmt: skip
    if orders:
        (order,) = orders
        return lambda rows: Sort(rows, order)
    ordered = [call.function for call in calls if registry.require(call.function).by_arrival]
    if not ordered:
        return lambda rows: rows
    relation = bound.source.relations[0]
    if bound.source.is_join or relation.source is None:
        lost = next((w for w in ordered if w in _ONLY_BY_ARRIVAL), None)
        if lost is not None:
            raise invalid(
                f"{lost} needs the arrival order of rows, which joins and sub-queries do not preserve.",
                select,
                hint="Use TOPK with ROWTIME, or aggregate the source itself in a sub-query.",
            )
        return lambda rows: rows
    is_table = relation.source.is_table
    names = (ROWTIME,) if is_table else PLACES
    bound.source.scope.named.update((relation.alias, name) for name in names)
    return _of_table_by_arrival if is_table else _of_stream_by_arrival


def _of_table_by_arrival(rows: Node) -> Node:
    return Sort(rows, (SortKey(ColumnRef(ROWTIME, BIGINT)),))


def _of_stream_by_arrival(rows: Node) -> Node:
    time, partition, offset = (ColumnRef(name, PSEUDO_COLUMNS[name]) for name in PLACES)
    timed = with_latest_time(rows, _LATEST, time, partition, offset)
    return Sort(timed, tuple(map(SortKey, (ColumnRef(_LATEST, BIGINT), partition, offset))))


#: the rules of SELECT without EMIT
_RULES = Rules(
    _bind,
    _bind_joins,
    bind_sub_query=_sub_query,
    check_source=check_queryable,
    refused=REFUSED,
    forbidden=DISK_COLUMNS,
    needs_keys=False,
    is_complete=True,
)

__all__ = ["bind_batch", "job_of", "key_names"]
