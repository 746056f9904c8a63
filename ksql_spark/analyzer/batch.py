"""SELECT without EMIT, over complete inputs: joins, groups, sorting, sub-queries (beyond ksqlDB).

The rules are those of SQL rather than of streams: a result needs no key, a join may have any condition with
an equality, NULL is a group of its own. A sub-query has only the columns that it
selects, no pseudo columns. NULLs are sorted last in both directions, unless NULLS FIRST is given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

from sqlglot import exp

from ksql_spark.analyzer import settings
from ksql_spark.analyzer.aggregates import Aggregates, not_grouped, over_groups
from ksql_spark.analyzer.arrival import PLACES, with_latest_time
from ksql_spark.analyzer.expressions import bind_expression, bind_predicate, call
from ksql_spark.analyzer.failures import check_comparable, failure, invalid
from ksql_spark.analyzer.joins import show
from ksql_spark.analyzer.lookups import SCAN_HINT, conjuncts, narrow
from ksql_spark.analyzer.naming import Names, check_unique
from ksql_spark.analyzer.pull_rules import check_limit, check_queryable, check_select, without_disk_columns
from ksql_spark.analyzer.queries import aligned
from ksql_spark.analyzer.relations import (
    Context,
    bind_unnest,
    check_aliases,
    check_internal_names,
    flat,
    hidden_order,
    named_query,
    source_relation,
    without_unnests,
)
from ksql_spark.analyzer.scope import BoundRelation, Scope
from ksql_spark.analyzer.select_items import (
    Item,
    bind_groups,
    bind_items,
    bind_table_function,
    check_typed,
    expand_stars,
    star_items,
    with_aggregates,
)
from ksql_spark.analyzer.semi_joins import Condition, bind_sub_query, bind_where, split, sub_select
from ksql_spark.analyzer.serialization import check_results
from ksql_spark.expressions import Call, ColumnRef, Expression, columns_in, transform
from ksql_spark.functions import registry
from ksql_spark.grammar import nodes
from ksql_spark.metastore.store import MetaStore
from ksql_spark.plan.nodes import (
    ANTI,
    GROUP,
    SEMI,
    SORT,
    Aggregate,
    BatchJoin,
    Distinct,
    Filter,
    FlatMap,
    Job,
    Limit,
    NamedExpression,
    Node,
    Past,
    Project,
    SetOperation,
    Sort,
    SortKey,
    Source,
    UnionAll,
    relations,
)
from ksql_spark.schema import PSEUDO_COLUMNS, ROWTIME, WINDOW_BOUNDS
from ksql_spark.types import BIGINT, CAST_VARIANT, VARIANTS, Null, without_equality

#: the latest time of a row's partition so far
_LATEST = "KSQL_LATEST_TIME"
#: aggregates that are meaningless without an order of arrival
_ONLY_BY_ARRIVAL = frozenset({"EARLIEST_BY_OFFSET", "LATEST_BY_OFFSET"})
_NO_PAST: Mapping[str, Past] = {}


def bind_batch(query: nodes.QueryNode, metastore: MetaStore, config: Mapping[str, Any]) -> Node:
    """The plan of a SELECT or set operation over complete inputs.

    Raises:
        KsqlError: the first rule that is broken, with its place.
    """
    root = _bind(query, Context(metastore, config, _bind, is_batch=True))
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
            found = next(v.expression for v in values if v.name == name)
            return isinstance(found, ColumnRef) and _is_key(child, found.name)
        case BatchJoin(left, _, join) if join in (SEMI, ANTI):
            return _is_key(left, name)
        case Limit(child) | Sort(child) | Distinct(child) | Filter(child):
            return _is_key(child, name)
    return False


def _bind(query: nodes.QueryNode | nodes.MatchRecognize, context: Context) -> Node:
    """The plan of a query or sub-query; its columns in SELECT order."""
    if isinstance(query, nodes.MatchRecognize):
        raise invalid("MATCH_RECOGNIZE is for persistent and push queries.", query, hint="Add EMIT CHANGES.")
    if query.emit is not None:
        raise invalid("EMIT is not allowed in a sub-query.", query, hint="Move EMIT to the end.")
    check_limit(query, context.config)
    context = context.with_common_tables(query)
    if isinstance(query, nodes.Select):
        return _Select(query, context).bind()
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
        column = _by_position(item, [c.name for c in root.schema.columns])
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


def _by_position(item: nodes.OrderItem, names: list[str]) -> str | None:
    """The output column of ``ORDER BY n``; None for other expressions."""
    if not isinstance(item.this, nodes.IntegerLiteral):
        return None
    number = item.this.value
    if not 1 <= number <= len(names):
        raise invalid(f"ORDER BY {number} is not a column: the SELECT has {len(names)}.", item)
    return names[number - 1]


# ---- FROM ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Joined:
    """A bound join."""

    left: _Joined | BoundRelation
    right: _Joined | BoundRelation
    join: str
    condition: Expression


def _relations(side: _Joined | BoundRelation) -> tuple[BoundRelation, ...]:
    return (side,) if isinstance(side, BoundRelation) else (*_relations(side.left), *_relations(side.right))


def _bind_relation(from_item: nodes.Relation, context: Context, prefixed: bool) -> BoundRelation:
    alias, query, context = named_query(from_item, context)
    if query is not None:
        node = _bind(query, context)
        context.size.add(node.schema, from_item)
        return BoundRelation(alias, node.schema, node.kind, None, prefixed, {}, None, node, from_item)
    relation = source_relation(from_item, context.metastore, prefixed)
    assert relation.source is not None
    context.size.add(relation.schema, from_item)
    check_queryable(relation.source, from_item, context.config)
    return relation


def _bind_join(node: nodes.Join, found: Mapping[int, BoundRelation], scope: Scope) -> _Joined:
    left, right = (
        _bind_join(side, found, scope) if isinstance(side, nodes.Join) else found[id(side)]
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
    sides = [_relations(left), _relations(right)]
    on = replace(without_disk_columns(scope, "JOIN ON"), relations=(*sides[0], *sides[1]))
    condition = bind_predicate(node.on, on)
    names = [{relation.internal(n) for relation in side for n in _names(relation)} for side in sides]
    if not any(_meet(part, names) for part in conjuncts(condition)):
        raise failure(
            "JOIN_INVALID", node.on,
            reason="ON needs a comparison with = between columns of the left and of the right side. "
            f"Got {show(condition, scope)}.",
        )  # fmt: skip
    return _Joined(left, right, node.kind, condition)


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


def _build(side: _Joined | BoundRelation, named: Iterable[tuple[str, str]]) -> Node:
    """The plan of a bound FROM; ``named``: (alias, name) of the pseudo columns that the query uses."""
    if isinstance(side, _Joined):
        return BatchJoin(_build(side.left, named), _build(side.right, named), side.join, side.condition)
    if side.source is not None:
        exposed = tuple(hidden_order(name for alias, name in named if alias == side.alias))
        return Source(side.source, side.alias, side.prefixed, exposed)
    assert side.node is not None
    if not side.prefixed:
        return side.node
    columns = side.schema.columns
    return Project(
        side.node,
        (),
        tuple(NamedExpression(side.internal(c.name), _reference(c.name, side)) for c in columns),
    )


def _reference(name: str, relation: BoundRelation) -> ColumnRef:
    type_ = relation.find(name)
    assert type_ is not None
    return ColumnRef(name, type_)


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


# ---- SELECT -------------------------------------------------------------------------------------------


class _Select:
    """Binds one SELECT with its ORDER BY."""

    def __init__(self, select: nodes.Select, context: Context) -> None:
        check_select(select, context.config)
        self.select = select
        self.context = context
        from_item, unnests = without_unnests(select.relation)
        from_items = flat(from_item)
        self.is_join = len(from_items) > 1
        found = {id(r): _bind_relation(r, context, self.is_join) for r in from_items}
        self.relations = tuple(found.values())
        check_aliases(self.relations)
        check_internal_names(self.relations)
        self.scope = Scope(
            self.relations, types=context.metastore.types(), ansi=settings.is_ansi(context.config)
        )
        self.tree = (
            _bind_join(from_item, found, self.scope)
            if isinstance(from_item, nodes.Join)
            else self.relations[0]
        )
        self.unnests: list[tuple[NamedExpression, ...]] = []
        for unnest in unnests:
            unnested, functions = bind_unnest(unnest, without_disk_columns(self.scope, "UNNEST"))
            self.relations = (*self.relations, unnested)
            self.scope = replace(self.scope, relations=self.relations)
            self.unnests.append(functions)
        columns = [c.name for relation in self.relations for c in relation.schema.columns]
        self.names = Names(columns)
        self.ambiguous = frozenset(n for n in columns if columns.count(n) > 1)
        self.aggregates = Aggregates()
        self.functions: list[NamedExpression] = []

    def bind(self) -> Node:
        """The plan, ORDER BY and LIMIT on top."""
        select = self.select
        where, semi_joins = self._where()
        groups = self._groups()
        items = self._items()
        having = None
        if select.having is not None:
            having = bind_predicate(select.having, self._with_aggregates("HAVING"))
        check_unique([i.name for i in items], [i.node for i in items])
        keys = [(node, self._sort_expression(node, items)) for node in select.order_by]
        is_grouped = bool(groups or self.aggregates.calls or having is not None)
        if is_grouped:
            if self.functions:
                raise invalid("Table functions cannot be used with aggregations.", select)
            if not groups and not self.aggregates.calls:
                raise invalid("HAVING needs GROUP BY or an aggregate function.", select.having)
            items = [replace(i, expression=self._over(groups, i.expression, "SELECT", i.node)) for i in items]
            if having is not None:
                having = self._over(groups, having, "HAVING", select.having)
            keys = [(node, self._over(groups, bound, "ORDER BY", node)) for node, bound in keys]
        sorts = self._sorted_by_arrival() if is_grouped else None
        plan = _build(self.tree, self.scope.named)
        for functions in self.unnests:
            plan = FlatMap(plan, functions)
        if where is not None:
            plan = Filter(plan, where)
        for semi_join in semi_joins:
            plan = semi_join.build(plan)
        if self.functions:
            plan = FlatMap(plan, tuple(self.functions))
        if is_grouped:
            if sorts is not None:
                plan = sorts(plan)
            plan = Aggregate(plan, groups, tuple(self.aggregates.calls))
            if having is not None:
                plan = Filter(plan, having)
        return self._projected(plan, items, keys)

    # ---- WHERE ----------------------------------------------------------------------------------------

    def _where(self) -> tuple[Expression | None, list[_SemiJoin]]:
        scope = without_disk_columns(self.scope, "WHERE")
        plain, sub_queries = split(self.select.where)
        if not sub_queries:
            return None if self.select.where is None else bind_predicate(self.select.where, scope), []
        return bind_where(plain, scope), [self._semi_join(c, i, scope) for i, c in enumerate(sub_queries)]

    def _semi_join(self, condition: Condition, number: int, scope: Scope) -> _SemiJoin:
        select = sub_select(condition)
        within = select.within or select.join_within
        if within is not None:
            raise invalid("WITHIN of EXISTS and IN is for streaming queries.", within)
        if isinstance(select.relation, nodes.Join):
            raise invalid("The sub-query of EXISTS or IN has one relation in FROM.", select.relation)
        relation = _bind_relation(select.relation, self.context, prefixed=False)
        inner, parts = bind_sub_query(condition, select, relation, number, scope)
        own = [(inner.internal(c.name), ColumnRef(c.name, c.type)) for c in relation.schema.columns]
        others = {relation.internal(n) for relation in self.relations for n in _names(relation)}
        if not any(_meet(part, [others, {name for name, _ in own}]) for part in parts):
            raise invalid(
                "EXISTS and IN need a comparison with = between columns of the sub-query and of the query "
                "around it.", condition.place,
            )  # fmt: skip
        is_in = isinstance(condition.node, nodes.InQuery)
        looked_up = bind_expression(condition.node.this, scope) if is_in else None
        right = Project(_build(relation, ()), (), tuple(NamedExpression(*column) for column in own))
        return _SemiJoin(right, reduce(_and, parts), condition.is_negated, looked_up)

    def _projected(
        self, plan: Node, items: list[Item], keys: list[tuple[nodes.OrderItem, Expression]]
    ) -> Node:
        values = [NamedExpression(i.name, i.expression) for i in items]
        shown = len(values)
        by = []
        for node, expression in keys:
            sort_value = next((v for v in values if v.expression == expression), None)
            if sort_value is None:
                if self.select.distinct:
                    raise invalid(
                        "SELECT DISTINCT can only be sorted by columns that it selects.", node,
                        hint="Add the expression to the SELECT.",
                    )  # fmt: skip
                sort_value = NamedExpression(f"{SORT}{len(values) - shown}", expression)
                values.append(sort_value)
            by.append(_sort_key(node, ColumnRef(sort_value.name, expression.type)))
        plan = Project(plan, (), tuple(values))
        if self.select.distinct:
            for item in items:
                kind = item.expression.type
                text = f"{item.name} ({kind})"
                check_comparable(kind, "SELECT DISTINCT", text, item.node, hint="GROUP BY can.")
            plan = Distinct(plan)
        if by:
            plan = Sort(plan, tuple(by))
        plan = _limited(plan, self.select)
        if len(values) > shown:
            names = (ColumnRef(v.name, v.expression.type) for v in values[:shown])
            plan = Project(plan, (), tuple(NamedExpression(n.name, n) for n in names))
        return plan

    # ---- SELECT list ----------------------------------------------------------------------------------

    def _with_aggregates(self, clause: str) -> Scope:
        return with_aggregates(without_disk_columns(self.scope, clause), self.aggregates)

    def _items(self) -> list[Item]:
        scope = replace(self._with_aggregates("SELECT"), table_function=self._table_function)
        bound = bind_items(self.select, scope, self.names, self.ambiguous.__contains__)
        items = list(expand_stars(bound, self.relations, self._star))
        check_typed(items)
        return items

    def _star(self, relation: BoundRelation, node: nodes.AllColumns) -> list[Item]:
        if relation.window is not None:
            self.scope.named.update((relation.alias, name) for name in WINDOW_BOUNDS)
        return star_items(relation, node, with_bounds=True)

    def _table_function(self, node: nodes.FunctionCall, scope: Scope) -> Expression:
        return bind_table_function(node, scope, self.functions)

    # ---- GROUP BY -------------------------------------------------------------------------------------

    def _groups(self) -> tuple[NamedExpression, ...]:
        found = bind_groups(self.select, without_disk_columns(self.scope, "GROUP BY"))
        return tuple(NamedExpression(f"{GROUP}{i}", expression) for i, expression in enumerate(found))

    def _over(
        self, groups: tuple[NamedExpression, ...], bound: Expression, clause: str, node: exp.Expr | None
    ) -> Expression:
        """``bound`` rewritten over the columns of the Aggregate."""
        over, stray = over_groups(bound, groups, frozenset())
        if stray:
            texts = (
                [self.aggregates.show(bound)] if clause == "SELECT" else [show(c, self.scope) for c in stray]
            )
            raise not_grouped(clause, texts, node)
        return over

    def _sorted_by_arrival(self) -> Callable[[Node], Node] | None:
        """Sorts rows for aggregates that depend on their order; None if none does."""
        functions = [call.function for call in self.aggregates.calls]
        wanted = [function for function in functions if registry.require(function).by_arrival]
        source = self.relations[0].source if not self.is_join else None
        if not wanted:
            return None
        if source is None:
            lost = next((w for w in wanted if w in _ONLY_BY_ARRIVAL), None)
            if lost is not None:
                raise invalid(
                    f"{lost} needs the arrival order of rows, which joins and sub-queries do not preserve.",
                    self.select,
                    hint="Use TOPK with ROWTIME, or aggregate the source itself in a sub-query.",
                )
            return None
        names = (ROWTIME,) if source.is_table else PLACES
        self.scope.named.update((self.relations[0].alias, name) for name in names)
        return _by_time if source.is_table else _by_arrival

    # ---- ORDER BY -------------------------------------------------------------------------------------

    def _sort_expression(self, item: nodes.OrderItem, items: list[Item]) -> Expression:
        """An expression of ORDER BY: a result column by position or name, else an expression over FROM.

        In an expression, a name that FROM lacks may be that of a result column.
        """
        written: exp.Expr = item.this
        while isinstance(written, exp.Paren):
            written = written.this
        name = _by_position(item, [i.name for i in items])
        if name is None and isinstance(written, exp.Column) and not written.table:
            name = written.name
        found = next((i for i in items if i.name == name), None)
        if found is not None:
            return found.expression
        internal = {relation.internal(c.name) for relation in self.relations for c in relation.schema.columns}
        results = {i.name: i.expression for i in items if not self.scope.is_column(i.name)}
        results = {n: e for n, e in results.items() if n not in internal}
        scope = self._with_aggregates("ORDER BY")
        extra = {**scope.extra, **{n: e.type for n, e in results.items()}}
        bound = bind_expression(item.this, replace(scope, extra=extra))

        def resolve(part: Expression) -> Expression | None:
            return results.get(part.name) if isinstance(part, ColumnRef) else None

        return transform(bound, resolve)


__all__ = ["bind_batch", "job_of", "key_names"]


def _by_time(rows: Node) -> Node:
    return Sort(rows, (SortKey(ColumnRef(ROWTIME, BIGINT)),))


def _by_arrival(rows: Node) -> Node:
    time, partition, offset = (ColumnRef(name, PSEUDO_COLUMNS[name]) for name in PLACES)
    timed = with_latest_time(rows, _LATEST, time, partition, offset)
    return Sort(timed, tuple(map(SortKey, (ColumnRef(_LATEST, BIGINT), partition, offset))))
