"""One SELECT: from its clauses to output columns, key slots and plan nodes (reference §2.2, §2.5, §6.2-6.8).

The plan is built last: the pseudo columns that a join must expose, and the name of its key, are known only
once every clause is bound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial

from sqlglot import exp

from ksql_spark.analyzer.base import settings
from ksql_spark.analyzer.base.clauses import check_clauses
from ksql_spark.analyzer.base.failures import failure, invalid
from ksql_spark.analyzer.base.naming import Names
from ksql_spark.analyzer.base.scope import BoundRelation, Scope
from ksql_spark.analyzer.expressions.aggregates import (
    FORBIDDEN_BOUNDS,
    Aggregates,
    not_grouped,
    over_groups,
    sort_key,
)
from ksql_spark.analyzer.expressions.binding import bind_expression, bind_predicate
from ksql_spark.analyzer.relations.binding import Context, From, OnWhere, bind_from, build_from
from ksql_spark.analyzer.relations.joins import CompleteJoin, Joined, relations_of, show
from ksql_spark.analyzer.relations.windows import bind_window
from ksql_spark.analyzer.select.complete_windows import CompleteWindows, has_calls
from ksql_spark.analyzer.select.deduplication import Deduplication, bind_deduplication, refuse_within_alone
from ksql_spark.analyzer.select.grouping_sets import GroupingSets, bind_grouping_sets
from ksql_spark.analyzer.select.select_items import (
    Item,
    bind_items,
    bind_table_function,
    check_typed,
    column_at,
    expand_stars,
    refuse_variant,
    selected,
    star_items,
    with_aggregates,
)
from ksql_spark.analyzer.select.semi_joins import bind_where, split, without_places
from ksql_spark.analyzer.select.top_n import PLACE, Ranking, bind_ranking
from ksql_spark.analyzer.select.window_functions import WindowFunctions
from ksql_spark.expressions import ColumnRef, Expression, FieldRef, Literal, columns_in, transform
from ksql_spark.grammar import nodes
from ksql_spark.metastore.sources import STREAM, TABLE, Windowing
from ksql_spark.plan.clauses import GROUP, AggregateCall, NamedExpression, WindowSpec
from ksql_spark.plan.nodes import (
    FOREIGN_KEY,
    REPLICATED,
    Aggregate,
    Deduplicate,
    Filter,
    FlatMap,
    Node,
    Over,
    SelectKey,
    TopN,
)
from ksql_spark.plan.trees import relations
from ksql_spark.schema import PSEUDO_COLUMNS, RESERVED_COLUMNS, WINDOW_BOUNDS, Role


@dataclass(frozen=True)
class KeySlot:
    """One key column of the result.

    Args:
        candidates: unique names of the columns that can be the key, the preferred one first.
        shown: the candidates as messages show them.
        what: key column, join expression, partitioning expression or grouping expression.
    """

    candidates: tuple[str, ...]
    shown: tuple[str, ...]
    what: str


@dataclass(frozen=True)
class Grouping:
    """GROUP BY, its aggregates, its window, HAVING, and its grouping sets."""

    groups: tuple[NamedExpression, ...]
    aggregates: tuple[AggregateCall, ...]
    window: WindowSpec | None
    emit_final: bool
    having: Expression | None
    sets: GroupingSets | None

    def build(self, child: Node) -> Node:
        """The plan over ``child``."""
        node = Aggregate(
            child, self.groups, self.aggregates, self.window, self.emit_final, in_slices=self._is_in_slices
        )
        if self.sets is not None:
            return self.sets.build(node, self.having)
        return node if self.having is None else Filter(node, self.having)

    @property
    def _is_in_slices(self) -> bool:
        window = self.window
        overlap = window is not None and window.kind == "HOPPING" and window.advance_ms != window.size_ms
        return overlap and self.emit_final and all(call.merges for call in self.aggregates)


@dataclass(frozen=True)
class BoundSelect:
    """A SELECT before its projection: FROM, then the clauses in this order, then ``items``.

    Args:
        source: the FROM clause.
        where: the condition, over the columns of FROM.
        semi_joins: EXISTS and IN (SELECT …) of WHERE.
        deduplication: DISTINCT ON or QUALIFY, over the columns of FROM.
        ranking: QUALIFY for several rows or in another order than that of arrival, and its named keys.
        over: the calls with OVER, and their PARTITION BY.
        partition_by: new keys; None: no PARTITION BY; empty: PARTITION BY NULL.
        functions: table functions, under the names of their results.
        grouping: GROUP BY or aggregates.
        windows: the calls with OVER, of complete inputs.
        qualify: QUALIFY or DISTINCT ON, of complete inputs, over the results of these calls.
        items: the output columns in SELECT order.
        slots: the key columns of the result.
        join_key: the name that the outermost join's key must have; None: any.
        order: ORDER BY of complete inputs, over what is below the projection.
    """

    source: From
    where: Expression | None
    semi_joins: tuple[OnWhere, ...]
    deduplication: Deduplication | None
    ranking: tuple[Ranking, tuple[NamedExpression, ...]] | None
    over: WindowFunctions
    partition_by: tuple[NamedExpression, ...] | None
    functions: tuple[NamedExpression, ...]
    grouping: Grouping | None
    items: tuple[Item, ...]
    slots: tuple[KeySlot, ...]
    join_key: str | None = None
    order: tuple[tuple[nodes.OrderItem, Expression], ...] = ()
    windows: CompleteWindows = field(default_factory=CompleteWindows)
    qualify: Expression | None = None

    @property
    def kind(self) -> str:
        """STREAM or TABLE: the kind of the result."""
        return TABLE if self.grouping is not None or self.ranking is not None else self.source.tree.kind

    @property
    def window(self) -> Windowing | None:
        """The window in the result's keys, or None."""
        if self.grouping is not None:
            return self.grouping.window.windowing if self.grouping.window else None
        is_rekeyed = self.partition_by is not None or self.ranking is not None
        return None if is_rekeyed else self.source.relations[0].window

    def build(self, join_key: str | None = None, sorts: Callable[[Node], Node] = lambda rows: rows) -> Node:
        """The plan below the projection.

        Args:
            join_key: the name of the outermost join's key.
            sorts: puts the rows that GROUP BY takes into the order that its aggregates need.
        """
        node = build_from(self.source, self.join_key or join_key)
        if self.where is not None:
            node = Filter(node, self.where)
        for semi_join in self.semi_joins:
            node = semi_join.build(node)
        if self.deduplication is not None:
            node = Deduplicate(node, self.deduplication.keys, self.deduplication.within_ms)
        if self.ranking is not None:
            ranking, keys = self.ranking
            node = TopN(node, keys, ranking.order, ranking.count, ranking.rank, ranking.limit, ranking.ranks)
        if self.over.calls:
            node = Over(node, self.over.keys, tuple(self.over.calls), self.over.within_ms)
        if self.partition_by is not None:
            node = SelectKey(node, self.partition_by)
        if self.functions:
            node = FlatMap(node, self.functions)
        if self.grouping is not None:
            node = self.grouping.build(sorts(node))
        node = self.windows.build(node)
        return node if self.qualify is None else Filter(node, self.qualify)


def bind_select(select: nodes.Select, context: Context, emit: str | None = None) -> BoundSelect:
    """Bind every clause of ``select`` but LIMIT, OFFSET and DISTINCT.

    Args:
        select: the query.
        context: the metastore, the rules and the common tables.
        emit: None, CHANGES or FINAL.

    Raises:
        KsqlError: the first rule that is broken, with its position.
    """
    check_clauses(select, context.rules.refused)
    refuse_within_alone(select)
    if emit == "FINAL" and not settings.flag(context.config, "ksql.suppress.enabled"):
        raise invalid("EMIT FINAL is disabled: ksql.suppress.enabled is false.", select)
    context = context.with_common_tables(select)
    if select.relation is None:
        star = next((item for item in select.items if isinstance(item, nodes.AllColumns)), None)
        if star is not None:
            raise invalid("SELECT * needs FROM.", star)
        if not context.rules.is_complete:
            raise invalid("A SELECT without FROM is for pull queries.", select.items[0])
    source = bind_from(select.relation, context)
    return _Binder(select, source, emit, context).bind()


class _Binder:
    """Binds one SELECT; the order of its methods is the order of ``bind``."""

    def __init__(self, select: nodes.Select, source: From, emit: str | None, context: Context) -> None:
        self.select = select
        self.rules = context.rules
        where = None if self.rules.bind_semi_join is None else select.where
        self.conditions, self.sub_queries = split(where)
        has_places = self.rules.is_complete or not self.sub_queries
        self.source = source if has_places else without_places(source)
        self.context = context
        self.is_final = emit == "FINAL"
        self.names = Names(c.name for relation in source.relations for c in relation.schema.columns)
        self.aggregates = Aggregates()
        self.functions: list[NamedExpression] = []
        within_ms = select.within.milliseconds if select.within is not None else None
        self.over = WindowFunctions(source, within_ms)
        self.windows = CompleteWindows()
        self.join_key: str | None = None
        self.ranking: Ranking | None = None
        self.sets: GroupingSets | None = None

    def _lateness_ms(self) -> int | None:
        """The greatest LATENESS of the sources that rows come from; None if none has one."""
        sources = [r.source for r in self.source.relations if r.source is not None]
        for relation in self.source.relations:
            if relation.node is not None:
                sources += [below.source for below in relations(relation.node)]
        return max((s.lateness_ms for s in sources if s.lateness_ms is not None), default=None)

    def bind(self) -> BoundSelect:
        select, scope = self.select, self.source.scope
        window = None
        if select.window is not None:
            window = bind_window(select.window, self.is_final, self._lateness_ms())
        where, semi_joins = self._where(scope.at("WHERE"))
        deduplication = None
        if not self.rules.is_complete:
            self.ranking = bind_ranking(select, self.source)
            deduplication = bind_deduplication(select, self.source) if self.ranking is None else None
        forbidden = {**scope.forbidden, **(FORBIDDEN_BOUNDS if window else {})}
        guarded = replace(scope.at("GROUP BY"), forbidden=forbidden)
        groups, self.sets = bind_grouping_sets(select, guarded, self.names)
        partitions = self._partition_expressions(scope.at("PARTITION BY"))
        bound = bind_items(select, self._select_scope(window), self.names, self._clashes)
        having = self._having(guarded, [item for item in bound if isinstance(item, Item)])
        partition_by = self._partition_by(partitions, bound)
        items = list(self._all_items(bound, partition_by))
        order = self._order(items)
        qualify = self._qualify(items, order) if self.rules.is_complete else None
        slots = self._source_slots()
        if partition_by is not None:
            items = [replace(i, expression=_over_keys(i.expression, partition_by)) for i in items]
            slots = self._partition_slots(partition_by)
        ranking = None
        if self.ranking is not None:
            ranking = (self.ranking, self._ranking_keys(self.ranking, bound))
            items = [replace(i, expression=_over_keys(i.expression, ranking[1])) for i in items]
            slots = self._partition_slots(ranking[1])
            if self.ranking.rank:
                slots = (*slots, KeySlot((PLACE,), ("ROW_NUMBER() OVER (…)",), "partitioning expression"))
        grouping = None
        is_grouped = bool(groups or self.aggregates.calls or having is not None)
        self._check_order(deduplication, is_grouped)
        if is_grouped:
            groups = [_over_keys(g, partition_by or ()) for g in groups]
            having = having and _over_keys(having, partition_by or ())
            grouping, items, order = self._grouping(groups, window, having, items, order)
            over = partial(self._over, groups=grouping.groups, clause="OVER", node=self.windows.place)
            self.windows = self.windows.over(over)
            qualify = qualify and self._over(qualify, grouping.groups, "QUALIFY", select.qualify)
            slots = tuple(
                KeySlot((g.name,), (self._shown_group(g),), "grouping expression") for g in grouping.groups
            )
        elif window is not None:
            raise invalid("WINDOW clause requires a GROUP BY clause.", select.window)
        if self.is_final and (grouping is None or grouping.window is None):
            raise invalid("EMIT FINAL is only supported for windowed aggregations.", select)
        self._check_value_formats()
        check_typed(items)
        if self._is_current_key(partition_by):
            partition_by = None
        return BoundSelect(
            self.source, where, semi_joins, deduplication, ranking, self.over, partition_by,
            tuple(self.functions), grouping, tuple(items), slots, self.join_key, tuple(order), self.windows,
            qualify,
        )  # fmt: skip

    def _where(self, scope: Scope) -> tuple[Expression | None, tuple[OnWhere, ...]]:
        if self.select.where is None:
            return None, ()
        if not self.sub_queries:
            return bind_predicate(self.select.where, scope), ()
        plain, bind = bind_where(self.conditions, scope), self.rules.bind_semi_join
        assert bind is not None
        semi_joins = (bind(c, i, self.source, self.context) for i, c in enumerate(self.sub_queries))
        return plain, tuple(semi_joins)

    # ---- SELECT list ----------------------------------------------------------------------------------

    def _select_scope(self, window: WindowSpec | None) -> Scope:
        scope = self.source.scope
        extra = dict(scope.extra)
        if window is not None and not self.source.is_join:
            extra |= WINDOW_BOUNDS
        over = self.over.bind if self.ranking is None else self.ranking.bind
        scope = replace(
            scope, extra=extra, clause="SELECT", table_function=self._table_function,
            window_function=self.windows.bind if self.rules.is_complete else over,
            grouping=None if self.sets is None else self.sets.call,
        )  # fmt: skip
        return with_aggregates(scope, self.aggregates)

    def _table_function(self, node: nodes.FunctionCall, scope: Scope) -> Expression:
        of_table = self.source.tree.kind == TABLE and not self.rules.is_complete
        return bind_table_function(node, scope, self.functions, of_table=of_table)

    def _clashes(self, name: str) -> bool:
        relations = self.source.relations
        if self.rules.is_complete:
            return sum(relation.schema.find(name) is not None for relation in relations) > 1
        return sum(relation.find(name) is not None for relation in relations) > 1

    def _all_items(
        self, bound: list[Item | nodes.AllColumns], partition_by: tuple[NamedExpression, ...] | None
    ) -> Iterator[Item]:
        for item in bound:
            if isinstance(item, Item) or item.source_name is not None:
                yield from expand_stars([item], self.source.relations, self._relation_star)
            else:
                yield from self._star(item, partition_by)

    def _star(
        self, node: nodes.AllColumns, partition_by: tuple[NamedExpression, ...] | None
    ) -> Iterator[Item]:
        if partition_by is None or self._is_current_key(partition_by):
            scope = self.source.scope
            for name, type_ in scope.extra.items():
                yield Item(name, ColumnRef(name, type_), node)
            items = list(expand_stars([node], self.source.relations, self._relation_star))
            if scope.postgres:  # the columns of USING come first
                items.sort(key=lambda item: item.name not in scope.merged)
            yield from items
            return
        for key in partition_by:
            yield Item(key.name, ColumnRef(key.name, key.expression.type), node)
        new = {k.name for k in partition_by if isinstance(k.expression, ColumnRef)}
        for relation in self.source.relations:
            columns = [(c.name, c.type) for c in relation.schema.columns if c.role is not Role.KEY]
            if self.source.is_join:
                # a re-keyed join shows its pseudo columns (reference §3.6)
                pseudo = [(n, t) for n, t in PSEUDO_COLUMNS.items() if n in relation.hidden]
                self.source.scope.named.update((relation.alias, name) for name, _ in pseudo)
                columns += pseudo
            for name, type_ in (*columns, *((c.name, c.type) for c in relation.schema.key)):
                internal = relation.internal(name)
                if internal not in new:
                    yield Item(internal, ColumnRef(internal, type_), node)

    def _relation_star(self, relation: BoundRelation, node: nodes.AllColumns) -> list[Item]:
        is_shown = self.source.is_join or not self.rules.needs_keys
        is_grouped = bool(self.select.group_by) and not self.rules.is_complete
        with_bounds = relation.window is not None and is_shown and not is_grouped
        if with_bounds:
            self.source.scope.named.update((relation.alias, name) for name in WINDOW_BOUNDS)
        items = star_items(relation, node, with_bounds=with_bounds)
        merged = {} if node.source_name is not None else self.source.scope.merged
        if not merged:
            return items
        # the columns of USING come once, in place of those of the first relation
        internal = {relation.internal(name): name for name in merged}
        is_first = relation is self.source.relations[0]
        return [
            replace(item, name=internal[item.name], expression=merged[internal[item.name]])
            if item.name in internal
            else item
            for item in items
            if is_first or item.name not in internal
        ]

    # ---- PARTITION BY ---------------------------------------------------------------------------------

    def _partition_expressions(self, scope: Scope) -> list[Expression] | None:
        """The bound expressions; None without the clause, empty for NULL."""
        written = self.select.partition_by
        if not written:
            return None
        if self.source.tree.kind == TABLE:
            raise invalid(
                "PARTITION BY is for streams: the key of a table cannot be changed.", written[0],
                hint="Use GROUP BY.",
            )  # fmt: skip
        if any(relation.window for relation in self.source.relations):
            raise invalid("Implicit repartitioning of windowed sources is not supported.", written[0])
        if any(isinstance(w, exp.Null) for w in written):
            if len(written) > 1:
                raise invalid("Cannot PARTITION BY multiple columns including NULL.", written[0])
            return []
        bound = []
        for node in written:
            if isinstance(node, exp.Column) and not scope.is_column(node.name) and not node.table:
                output = {i.alias_name for i in self.select.items if isinstance(i, nodes.SelectItem)}
                if node.name in output:
                    raise failure(
                        "COLUMN_UNKNOWN", node, clause="PARTITION BY", name=node.name,
                        hint=f"'{node.name}' must be a column in the source schema since PARTITION BY is "
                        "applied on the input.",
                    )  # fmt: skip
            expression = bind_expression(node, scope)
            if expression in bound:
                raise invalid(f"Duplicate PARTITION BY expression: {show(expression, scope)}.", node)
            refuse_variant(expression, scope, node)
            bound.append(expression)
        return bound

    def _partition_by(
        self, partitions: list[Expression] | None, items: list[Item | nodes.AllColumns]
    ) -> tuple[NamedExpression, ...] | None:
        if partitions is None:
            return None
        names = self._key_names(partitions, items)
        keys = tuple(NamedExpression(n, p) for n, p in zip(names, partitions, strict=True))
        tree = self.source.tree
        if isinstance(tree, Joined) and len(keys) == 1 and keys[0].name in tree.candidates:
            self.join_key = keys[0].name if isinstance(keys[0].expression, ColumnRef) else None
        return keys

    def _key_names(self, expressions: list[Expression], items: list[Item | nodes.AllColumns]) -> list[str]:
        """Names of key columns: the column's own, the alias in SELECT, the field's, or a generated one."""
        names_in_select = {
            relation.internal(c.name) for relation in self.source.relations for c in relation.schema.columns
        }
        names: list[str] = []
        for expression in expressions:
            if isinstance(expression, ColumnRef):
                names.append(expression.name)
                continue
            alias = next((i.name for i in items if isinstance(i, Item) and i.expression == expression), None)
            if alias is not None and alias not in names_in_select and alias not in names:
                names.append(alias)
            elif isinstance(expression, FieldRef):
                names.append(self.names.field(expression.field))
            else:
                names.append(self.names.generated())
        return names

    def _ranking_keys(
        self, ranking: Ranking, items: list[Item | nodes.AllColumns]
    ) -> tuple[NamedExpression, ...]:
        names = self._renamed(self._key_names(list(ranking.keys), items))
        keys = tuple(NamedExpression(n, k) for n, k in zip(names, ranking.keys, strict=True))
        for item in items:
            if self.source.tree.kind != TABLE or not isinstance(item, Item):
                continue
            used = columns_in(_over_keys(item.expression, keys))
            if used & WINDOW_BOUNDS.keys():
                raise invalid(
                    f"With QUALIFY, SELECT can only have the bounds of windows that PARTITION BY has: "
                    f"{', '.join(sorted(used & WINDOW_BOUNDS.keys()))}.", item.node,
                )  # fmt: skip
        return keys

    def _renamed(self, keys: list[str]) -> list[str]:
        """Names of keys that no hidden column has, which are in every row."""
        return [self.names.field(f"KSQL_{name}") if name in RESERVED_COLUMNS else name for name in keys]

    def _is_current_key(self, partition_by: tuple[NamedExpression, ...] | None) -> bool:
        """Whether re-keying would change nothing."""
        tree = self.source.tree
        if not partition_by:
            return False
        if not isinstance(tree, BoundRelation):
            return self.join_key is not None
        return tuple(k.expression for k in partition_by) == tuple(
            ColumnRef(tree.internal(c.name), c.type) for c in tree.schema.key
        )

    # ---- keys -----------------------------------------------------------------------------------------

    def _source_slots(self) -> tuple[KeySlot, ...]:
        tree, scope = self.source.tree, self.source.scope
        if isinstance(tree, CompleteJoin):
            return ()
        if isinstance(tree, Joined):
            if tree.keeps_keys:
                relation = relations_of(tree)[0]
                what = f"foreign key of `{relation.alias}`" if tree.type == FOREIGN_KEY else "key column"
                is_lookup = tree.type == REPLICATED
                return tuple(
                    KeySlot((name,), (scope.display(name) if is_lookup else c.name,), what)
                    for c in relation.schema.key
                    for name in (relation.internal(c.name),)
                )
            names = tree.candidates or (tree.default_key,)
            return (KeySlot(names, tuple(scope.display(n) for n in names), "join expression"),)
        return tuple(KeySlot((c.name,), (c.name,), "key column") for c in tree.schema.key)

    def _partition_slots(self, partition_by: tuple[NamedExpression, ...]) -> tuple[KeySlot, ...]:
        scope = self.source.scope
        return tuple(
            KeySlot((k.name,), (show(k.expression, scope),), "partitioning expression") for k in partition_by
        )

    # ---- GROUP BY -------------------------------------------------------------------------------------

    def _having(self, scope: Scope, items: list[Item]) -> Expression | None:
        if self.select.having is None:
            return None
        scope = replace(scope, clause="HAVING", grouping=None if self.sets is None else self.sets.call)
        having = with_aggregates(scope, self.aggregates)
        plain = [item for item in items if not has_calls(item.expression)]
        return self._with_results(self.select.having, having, plain, bind_predicate)

    def _with_results(
        self,
        node: exp.Expr,
        scope: Scope,
        items: list[Item],
        bind: Callable[[exp.Expr, Scope], Expression] = bind_expression,
    ) -> Expression:
        """An expression over FROM, in which a name that FROM lacks may be that of a result column."""
        source = self.source
        internal = {r.internal(c.name) for r in source.relations for c in r.schema.columns}
        results = {i.name: i.expression for i in items if not source.scope.is_column(i.name)}
        results = {n: e for n, e in results.items() if n not in internal}
        bound = bind(node, replace(scope, extra={**scope.extra, **{n: e.type for n, e in results.items()}}))
        return transform(bound, lambda part: results.get(part.name) if isinstance(part, ColumnRef) else None)

    def _grouping(
        self, expressions: list[Expression], window: WindowSpec | None, having: Expression | None,
        items: list[Item], order: list[tuple[nodes.OrderItem, Expression]],
    ) -> tuple[Grouping, list[Item], list[tuple[nodes.OrderItem, Expression]]]:  # fmt: skip
        """GROUP BY; the items, and the expressions of ORDER BY, over its columns."""
        select = self.select
        if self.functions:
            raise invalid("Table functions cannot be used with aggregations.", select)
        allowed = frozenset(WINDOW_BOUNDS) if window is not None and not self.source.is_join else frozenset()
        if self.rules.is_complete:
            names = [f"{GROUP}{i}" for i, _ in enumerate(expressions)]
        else:
            names = self._renamed(self._key_names(expressions, list(items)))
        groups = tuple(NamedExpression(n, e) for n, e in zip(names, expressions, strict=True))
        if self.sets is not None:
            groups = (*groups, NamedExpression(self.sets.name, self.sets.number))
        over = [(item, *over_groups(item.expression, groups, allowed)) for item in items]
        self._check_aggregates(groups)
        stray = [item for item, _, ungrouped in over if ungrouped]
        if stray:
            texts = [self.aggregates.show(item.expression) for item in stray]
            raise not_grouped("SELECT", texts, stray[0].node)
        if having is not None:
            having = self._over(having, groups, "HAVING", select.having)
        order = [(node, self._over(key, groups, "ORDER BY", node)) for node, key in order]
        if not self.rules.is_complete:
            self._check_stream_groups(expressions, window)
        calls = tuple(self.aggregates.calls)
        grouping = Grouping(groups, calls, window, self.is_final, having, self.sets)
        return grouping, [replace(item, expression=rewritten) for item, rewritten, _ in over], order

    def _over(
        self,
        bound: Expression,
        groups: tuple[NamedExpression, ...],
        clause: str,
        node: exp.Expr | None,
    ) -> Expression:
        """An expression of ``clause`` over the columns of GROUP BY."""
        over, ungrouped = over_groups(bound, groups, frozenset())
        if ungrouped:
            shown = (
                show(column, self.source.scope) if self.source.is_join else str(column)
                for column in ungrouped
            )
            raise not_grouped(clause, list(shown), node)
        return over

    def _check_aggregates(self, groups: tuple[NamedExpression, ...]) -> None:
        select = self.select
        if self.aggregates.calls:
            return
        if not self.rules.is_complete:
            raise invalid(
                "GROUP BY requires aggregate functions in either the SELECT or HAVING clause.",
                select.group_by[0] if select.group_by else select,
                hint="Add for instance COUNT(*).",
            )
        if not groups:
            raise invalid("HAVING needs GROUP BY or an aggregate function.", select.having)

    def _check_stream_groups(self, expressions: list[Expression], window: WindowSpec | None) -> None:
        """Refuse groups that a stream of changes cannot have."""
        select = self.select
        if not expressions and self.rules.needs_keys:
            raise failure("GROUP_BY_MISSING", select, aggregates=", ".join(self.aggregates.texts))
        if self.source.tree.kind == TABLE:
            self.aggregates.check_table_source(select)
            if window is not None:
                raise invalid("WINDOW clause is only supported on streams, not on tables.", select.window)
        first = self.source.relations[0].source
        if first is not None:
            self.aggregates.check_state(first.value_format.name, select)

    def _shown_group(self, group: NamedExpression) -> str:
        if self.sets is None or group.name != self.sets.name:
            return str(group.expression)
        return f"GROUPING({', '.join(map(str, self.sets.columns))})"

    # ---- ORDER BY -------------------------------------------------------------------------------------

    def _order(self, items: list[Item]) -> list[tuple[nodes.OrderItem, Expression]]:
        if not self.rules.is_complete:
            return []
        return [(node, self._sort_expression(node, items)) for node in self.select.order_by]

    def _sort_expression(self, item: nodes.OrderItem, items: list[Item]) -> Expression:
        """An expression of ORDER BY: a result column by position or name, else an expression over FROM.

        In an expression, a name that FROM lacks may be that of a result column.
        """
        written: exp.Expr = item.this
        while isinstance(written, exp.Paren):
            written = written.this
        name = column_at(item, [i.name for i in items])
        if name is None and isinstance(written, exp.Column) and not written.table:
            name = written.name
        result_item = next((i for i in items if i.name == name), None)
        if result_item is not None:
            return result_item.expression
        return self._with_results(item.this, self._result_scope("ORDER BY"), items)

    def _result_scope(self, clause: str) -> Scope:
        """The names of a clause that is evaluated after GROUP BY and OVER."""
        scope = replace(
            self.source.scope.at(clause), window_function=self.windows.bind,
            grouping=None if self.sets is None else self.sets.call,
        )  # fmt: skip
        return with_aggregates(scope, self.aggregates)

    def _qualify(
        self, items: list[Item], order: list[tuple[nodes.OrderItem, Expression]]
    ) -> Expression | None:
        """QUALIFY or DISTINCT ON over complete inputs."""
        select = self.select
        if select.qualify is not None:
            if select.distinct_on:
                raise invalid("A query has DISTINCT ON or QUALIFY, not both.", select.qualify)
            return self._with_results(select.qualify, self._result_scope("QUALIFY"), items, bind_predicate)
        if not select.distinct_on:
            return None
        scope = self._result_scope("DISTINCT ON")
        keys = [
            self._with_results(selected(node, select, scope), scope, items) for node in select.distinct_on
        ]
        by = [sort_key(node, expression, scope) for node, expression in order]
        return self.windows.first_of(keys, by, select.distinct_on[0])

    # ---- rules that need the whole --------------------------------------------------------------------

    def _check_order(self, deduplication: Deduplication | None, is_grouped: bool) -> None:
        """Refuse clauses whose order is ambiguous: one of them must be in a sub-query."""
        others = {"aggregations": is_grouped, "table functions": bool(self.functions)}
        if self.rules.is_complete:
            del others["aggregations"]  # they come first
        if deduplication is not None:
            clause, place = deduplication.clause, deduplication.place
            others["OVER in SELECT"] = bool(self.over.calls)
        elif self.ranking is not None:
            clause, place = "QUALIFY", self.ranking.place
            others["PARTITION BY of the query"] = bool(self.select.partition_by)
        elif (at := self.over.place or self.windows.place) is not None:
            clause, place = "OVER", at
        else:
            return
        for what, is_present in others.items():
            if is_present:
                hint = "Put one of them into a sub-query in FROM."
                raise invalid(f"{clause} cannot be used with {what}.", place, hint=hint)

    def _check_value_formats(self) -> None:
        """Refuse joins and groups of sources with the KAFKA value format (reference §5.1)."""
        if self.rules.is_complete:
            return
        lacking = [
            x.source.name for x in self.source.relations if x.source and x.source.value_format.name == "KAFKA"
        ]
        what = "JOIN" if self.source.is_join else "GROUP BY" if self.select.group_by else None
        if lacking and what:
            raise invalid(
                f"Source(s) {', '.join(lacking)} are using the 'KAFKA' value format. "
                f"This format does not yet support {what}.",
                self.select.relation,
                hint="Copy the source to another value format first.",
            )


def _over_keys(node: Expression, partition_by: tuple[NamedExpression, ...]) -> Expression:
    """``node`` with references to the keys that PARTITION BY has made of its parts."""

    def rewrite(part: Expression) -> Expression | None:
        if isinstance(part, Literal) and part is not node:
            # some functions need constants as arguments
            return None
        key = next((k for k in partition_by if part == k.expression), None)
        return None if key is None else ColumnRef(key.name, part.type)

    return transform(node, rewrite) if partition_by else node


__all__ = ["STREAM", "BoundSelect", "Grouping", "KeySlot", "bind_select"]
