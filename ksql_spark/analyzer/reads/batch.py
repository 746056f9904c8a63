"""SELECT without EMIT, over complete inputs: joins, groups, sorting, sub-queries (beyond ksqlDB).

The rules are those of SQL rather than of streams: a result needs no key, a join may have any condition with
an equality, NULL is a group of its own. A sub-query has only the columns that it selects, no pseudo columns.
NULLs are sorted last in both directions, unless NULLS FIRST is given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

from ksql_spark.analyzer.base import settings
from ksql_spark.analyzer.base.clauses import IN_SUB_QUERIES, check_clauses
from ksql_spark.analyzer.base.failures import check_comparable, failure, invalid
from ksql_spark.analyzer.base.naming import check_unique
from ksql_spark.analyzer.base.scope import BoundRelation, Scope
from ksql_spark.analyzer.base.serialization import check_results
from ksql_spark.analyzer.expressions.binding import bind_expression, bind_predicate
from ksql_spark.analyzer.expressions.calls import call
from ksql_spark.analyzer.reads.arrival import PLACES, with_latest_time
from ksql_spark.analyzer.reads.lookups import SCAN_HINT, conjuncts, narrow
from ksql_spark.analyzer.reads.pull_rules import (
    DISK_COLUMNS,
    REFUSED,
    check_query,
    check_queryable,
)
from ksql_spark.analyzer.relations.binding import (
    Condition,
    Context,
    From,
    Rules,
    bind_relation,
    build_relation,
)
from ksql_spark.analyzer.relations.joins import CompleteJoin, relations_of, show
from ksql_spark.analyzer.select.queries import aligned
from ksql_spark.analyzer.select.select_items import (
    column_at,
)
from ksql_spark.analyzer.select.selects import BoundSelect, bind_select
from ksql_spark.analyzer.select.semi_joins import bind_sub_query, sub_select
from ksql_spark.expressions import Call, ColumnRef, Expression, columns_in
from ksql_spark.functions import registry
from ksql_spark.grammar import nodes
from ksql_spark.metastore.store import MetaStore
from ksql_spark.plan.clauses import SORT, NamedExpression, SortKey
from ksql_spark.plan.nodes import (
    ANTI,
    SEMI,
    BatchJoin,
    Distinct,
    Filter,
    Limit,
    Node,
    Project,
    SetOperation,
    Sort,
    Source,
    UnionAll,
)
from ksql_spark.plan.queries import Job, Past
from ksql_spark.plan.trees import relations
from ksql_spark.schema import PSEUDO_COLUMNS, ROWTIME, WINDOW_BOUNDS
from ksql_spark.types import BIGINT, CAST_VARIANT, VARIANTS, Null, without_equality

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
    config: Mapping[str, Any],
    past: Mapping[str, Past] = _NO_PAST,
) -> Job:
    """The job with the plan ``root`` of ``query``; ``past``: what is read of the past of tables.

    Raises:
        KsqlError: INVALID_STATEMENT if it needs the scan of a table, which the configuration forbids.
    """
    lookups = narrow(root)
    if not settings.flag(config, "ksql.query.pull.table.scan.enabled"):
        for relation, keys in zip(relations(root), lookups, strict=True):
            if relation.source.is_table and keys is None:
                what = f"Query requires table scan of {relation.source.name} to be enabled."
                raise invalid(what, query, hint=SCAN_HINT)
    return Job(root, lookups, key_names(root), past)


def key_names(root: Node) -> frozenset[str]:
    """The result columns that are the key, if each result row is a row of one table; else none."""
    return frozenset(c.name for c in root.schema.columns if _is_key(root, c.name))


def _is_key(node: Node, name: str) -> bool:
    match node:
        case Source(source):
            keys = {c.name for c in source.schema.key} | (set(WINDOW_BOUNDS) if source.window else set())
            return source.is_table and name in keys
        case Project(child, _, values):
            expression = next(v.expression for v in values if v.name == name)
            return isinstance(expression, ColumnRef) and _is_key(child, expression.name)
        case BatchJoin(left, _, join) if join in (SEMI, ANTI):
            return _is_key(left, name)
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
        return _limited(_sorted_union(root, query, context), query)
    raise invalid("This is not a query.", query)


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


def _sorted_union(root: Node, query: nodes.SetOperation, context: Context) -> Node:
    if not query.order_by:
        return root
    scope = Scope(
        (BoundRelation("", root.schema, root.kind),),
        types=context.metastore.types(),
        ansi=settings.is_ansi(context.config),
    ).at("ORDER BY")
    keys = []
    for item in query.order_by:
        column = column_at(item, [c.name for c in root.schema.columns])
        selected = root.schema.find(column) if column is not None else None
        bound = (
            bind_expression(item.this, scope) if selected is None else ColumnRef(selected.name, selected.type)
        )
        keys.append(_sort_key(item, bound))
    return Sort(root, tuple(keys))


def _sort_key(item: nodes.OrderItem, expression: Expression) -> SortKey:
    if what := without_equality(expression.type):
        hint = CAST_VARIANT if what == VARIANTS else None
        raise invalid(f"{what} have no sort order: {expression} ({expression.type}).", item, hint=hint)
    if isinstance(expression.type, Null):
        raise invalid("ORDER BY needs typed expressions, not NULL.", item)
    return SortKey(expression, bool(item.descending), item.nulls == "FIRST")


# ---- FROM ---------------------------------------------------------------------------------------------


def _bind_joins(
    node: nodes.Join, relations: Mapping[int, BoundRelation], scope: Scope
) -> tuple[CompleteJoin, Scope]:
    return _bind_join(node, relations, scope), scope


def _bind_join(node: nodes.Join, relations: Mapping[int, BoundRelation], scope: Scope) -> CompleteJoin:
    left, right = (
        _bind_join(side, relations, scope) if isinstance(side, nodes.Join) else relations[id(side)]
        for side in (node.left, node.right)
    )
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
    sides = [relations_of(left), relations_of(right)]
    on = replace(scope.at("JOIN ON"), relations=(*sides[0], *sides[1]))
    condition = bind_predicate(node.on, on)
    names = [{relation.internal(n) for relation in side for n in _names(relation)} for side in sides]
    if not any(_meet(part, names) for part in conjuncts(condition)):
        raise failure(
            "JOIN_INVALID", node.on,
            reason="ON needs a comparison with = between columns of the left and of the right side. "
            f"Got {show(condition, scope)}.",
        )  # fmt: skip
    return CompleteJoin(left, right, node.kind, condition)


def _names(relation: BoundRelation) -> tuple[str, ...]:
    """The names of its columns, hidden ones too."""
    return (*(c.name for c in relation.schema.columns), *relation.hidden)


def _meet(condition: Expression, names: list[set[str]]) -> bool:
    """Whether ``condition`` equates an expression over one side with an expression over the other side."""
    if not isinstance(condition, Call) or condition.function != "=":
        return False
    first, second = (columns_in(a) for a in condition.arguments)
    left, right = names
    return bool(first and second) and (
        (first <= left and second <= right) or (first <= right and second <= left)
    )


@dataclass(frozen=True)
class _SemiJoin:
    """EXISTS or IN (SELECT …) of WHERE; ``looked_up``: the left side of IN, which NOT IN needs."""

    right: Node
    condition: Expression
    is_anti: bool
    looked_up: Expression | None

    def build(self, child: Node) -> Node:
        """The plan over ``child``."""
        join = BatchJoin(child, self.right, ANTI if self.is_anti else SEMI, self.condition)
        if not self.is_anti or self.looked_up is None:
            return join
        return Filter(join, call("IS NOT NULL", (self.looked_up,), None))


def _and(left: Expression, right: Expression) -> Expression:
    return call("AND", (left, right), None)


def _bind_semi_join(condition: Condition, number: int, source: From, context: Context) -> _SemiJoin:
    select = sub_select(condition)
    within = select.within or select.join_within
    if within is not None:
        raise invalid("WITHIN of EXISTS and IN is for streaming queries.", within)
    if isinstance(select.relation, nodes.Join):
        raise invalid("The sub-query of EXISTS or IN has one relation in FROM.", select.relation)
    relation = bind_relation(select.relation, context, prefixed=False)
    inner, parts = bind_sub_query(condition, select, relation, number, source.scope)
    own = [(inner.internal(c.name), ColumnRef(c.name, c.type)) for c in relation.schema.columns]
    others = {each.internal(n) for each in source.relations for n in _names(each)}
    if not any(_meet(part, [others, {name for name, _ in own}]) for part in parts):
        raise invalid(
            "EXISTS and IN need a comparison with = between columns of the sub-query and of the query "
            "around it.", condition.place,
        )  # fmt: skip
    is_in = isinstance(condition.node, nodes.InQuery)
    looked_up = bind_expression(condition.node.this, source.scope.at("WHERE")) if is_in else None
    below = build_relation(relation, Scope(), is_exposed=False)
    right = Project(below, (), tuple(NamedExpression(*column) for column in own))
    return _SemiJoin(right, reduce(_and, parts), condition.is_negated, looked_up)


# ---- SELECT -------------------------------------------------------------------------------------------


def _select(select: nodes.Select, context: Context) -> Node:
    """The plan of one SELECT, with DISTINCT, ORDER BY and LIMIT on top."""
    bound = bind_select(select, context)
    check_unique([i.name for i in bound.items], [i.node for i in bound.items])
    plan = bound.build(sorts=_by_arrival(bound, select))
    values = [NamedExpression(i.name, i.expression) for i in bound.items]
    shown = len(values)
    by = []
    for node, expression in bound.order:
        sort_value = next((v for v in values if v.expression == expression), None)
        if sort_value is None:
            if select.distinct:
                raise invalid(
                    "SELECT DISTINCT can only be sorted by columns that it selects.", node,
                    hint="Add the expression to the SELECT.",
                )  # fmt: skip
            sort_value = NamedExpression(f"{SORT}{len(values) - shown}", expression)
            values.append(sort_value)
        by.append(_sort_key(node, ColumnRef(sort_value.name, expression.type)))
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
    functions = [call.function for call in bound.grouping.aggregates] if bound.grouping is not None else []
    ordered = [function for function in functions if registry.require(function).by_arrival]
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
    _bind_semi_join,
    check_queryable,
    REFUSED,
    DISK_COLUMNS,
    needs_keys=False,
    is_complete=True,
)

__all__ = ["bind_batch", "job_of", "key_names"]
