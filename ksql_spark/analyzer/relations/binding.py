"""FROM: binds sources, joins, sub-queries and common table expressions, and builds their plan nodes."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeAlias

from sqlglot import exp

from ksql_spark.analyzer.base.clauses import Refusal
from ksql_spark.analyzer.base.failures import invalid, place
from ksql_spark.analyzer.base.naming import check_unique, first_free
from ksql_spark.analyzer.base.plan_size import PlanSize
from ksql_spark.analyzer.base.scope import BoundRelation, Correlation, Scope, hidden_columns
from ksql_spark.analyzer.base.settings import is_ansi, is_postgres, is_untyped
from ksql_spark.analyzer.expressions.binding import bind_expression
from ksql_spark.analyzer.expressions.calls import call
from ksql_spark.analyzer.relations.joins import CompleteJoin, Joined, bind_join, relations_of
from ksql_spark.analyzer.relations.query_log import log_of
from ksql_spark.analyzer.relations.views import in_view, query_of
from ksql_spark.expressions import ColumnRef, Expression, name_text
from ksql_spark.grammar import nodes
from ksql_spark.metastore.sources import STREAM, TABLE, DataSource
from ksql_spark.metastore.store import MetaStore
from ksql_spark.plan.clauses import NamedExpression
from ksql_spark.plan.nodes import (
    FOREIGN_KEY,
    REPLICATED,
    BatchJoin,
    Filter,
    FlatMap,
    Join,
    Node,
    Project,
    Source,
    Values,
)
from ksql_spark.schema import PSEUDO_COLUMNS, RESERVED_COLUMNS, ROWTIME, WINDOW_BOUNDS, Column, Schema
from ksql_spark.types import SqlType

#: what a FROM clause joins
Tree: TypeAlias = Joined | CompleteJoin | BoundRelation
#: (alias, name) of pseudo columns, as of Scope
Named: TypeAlias = set[tuple[str, str]]
#: binds the joins of FROM, given the relations by the ids of their nodes, and the names of all of them
BindJoins: TypeAlias = Callable[
    [nodes.Join, Mapping[int, BoundRelation], Scope], tuple[Joined | CompleteJoin, Scope]
]


class OnWhere(Protocol):
    """A semi join or anti join, for a condition of WHERE."""

    def build(self, child: Node) -> Node:
        """The plan over ``child``."""


@dataclass(frozen=True)
class Condition:
    """EXISTS or IN (SELECT …), which WHERE joins with its other conditions by AND.

    ``place``: the condition with its NOT, if it ``is_negated``.
    """

    node: nodes.Exists | nodes.InQuery
    is_negated: bool
    place: exp.Expr


@dataclass(frozen=True)
class Rules:
    """What sets the SELECTs of one kind of query apart from others (ADR 71).

    Args:
        bind_nested: binds a sub-query or MATCH_RECOGNIZE in FROM.
        bind_joins: binds the joins of FROM.
        bind_semi_join: binds EXISTS or IN (SELECT …): the condition, its number in the query, FROM, context;
            None: they are expressions.
        bind_sub_query: binds a sub-query that is an expression, or None.
        check_source: refuses streams and tables that cannot be read; None: all can.
        refused: the clauses that it cannot have.
        forbidden: the columns that it cannot use, as of Scope.
        needs_keys: results have the keys of their rows.
        is_complete: sources are read up to their ends, and the rules are those of SQL.
    """

    bind_nested: Callable[[nodes.QueryNode | nodes.MatchRecognize, Context], Node]
    bind_joins: BindJoins
    bind_semi_join: Callable[[Condition, int, From, Context], OnWhere] | None = None
    bind_sub_query: (
        Callable[[nodes.ScalarQuery | nodes.Exists | nodes.InQuery, Scope, Context], Expression] | None
    ) = None
    check_source: Callable[[DataSource, exp.Expr, Mapping[str, Any]], None] | None = None
    refused: Mapping[str, Refusal] = field(default_factory=dict)
    forbidden: Mapping[str, str] = field(default_factory=dict)
    needs_keys: bool = True
    is_complete: bool = False


@dataclass(frozen=True)
class Context:
    """The context in which a query is bound: metastore, configuration, rules, common table expressions.

    ``size``: how much has been bound; all contexts of a statement share it. ``outer``: the rows around a
    sub-query. ``numbers``: of their values.
    """

    metastore: MetaStore
    config: Mapping[str, Any]
    rules: Rules
    common_tables: Mapping[str, nodes.CommonTable] = field(default_factory=dict)
    size: PlanSize = field(default_factory=PlanSize)
    outer: Correlation | None = None
    numbers: Iterator[int] = field(default_factory=itertools.count)

    def with_common_tables(self, query: nodes.QueryNode) -> Context:
        """Return this context with the CTEs of ``query``. A later CTE may use earlier ones."""
        if not query.ctes:
            return self
        return replace(self, common_tables={**self.common_tables, **{c.table_name: c for c in query.ctes}})


@dataclass(frozen=True)
class From:
    """A bound FROM clause.

    Args:
        tree: its joins.
        scope: its names.
        unnests: for each CROSS JOIN UNNEST the table functions that make its columns.
        is_complete: a single source, too, has its pseudo columns only where the query names them.
    """

    tree: Tree
    scope: Scope
    unnests: tuple[tuple[NamedExpression, ...], ...] = ()
    is_complete: bool = False

    @property
    def relations(self) -> tuple[BoundRelation, ...]:
        """The relations, left to right."""
        return self.scope.relations

    @property
    def is_join(self) -> bool:
        """Whether there is more than one relation."""
        return not isinstance(self.tree, BoundRelation)


def bind_from(from_item: nodes.Relation | None, context: Context) -> From:
    """Bind the relations of ``relation`` and the conditions of its joins; None: one row without columns.

    Raises:
        KsqlError: an unknown source, an invalid join.
    """
    if from_item is None:
        return _bind_joins(None, context)
    from_item, unnests = without_unnests(from_item)
    source = _bind_joins(from_item, context)
    for unnest in unnests:
        if source.tree.kind == TABLE and not context.rules.is_complete:
            raise invalid("Table source is not supported with table functions: UNNEST.", unnest)
        relation, functions = bind_unnest(unnest, source.scope)
        scope = replace(source.scope, relations=(*source.relations, relation))
        source = replace(source, scope=scope, unnests=(*source.unnests, functions))
    return source


def without_unnests(from_item: nodes.Relation) -> tuple[nodes.Relation, list[nodes.Unnest]]:
    """A FROM clause without its CROSS JOIN UNNESTs, and these, left to right."""
    unnests: list[nodes.Unnest] = []
    while isinstance(from_item, nodes.Unnest):
        unnests.append(from_item)
        from_item = from_item.left
    return from_item, unnests[::-1]


def bind_unnest(node: nodes.Unnest, scope: Scope) -> tuple[BoundRelation, tuple[NamedExpression, ...]]:
    """The relation of a CROSS JOIN UNNEST, and the table functions that make its columns.

    Args:
        node: the join.
        scope: the names of the relations before it.

    Raises:
        KsqlError: as bind_expression; an alias or column that exists.
    """
    array = bind_expression(node.array, scope.at("UNNEST"))
    names = ("EXPLODE", "EXPLODE_POSITIONS")[: 1 + node.ordinality]
    calls = [call(name, (array,), node.array) for name in names]
    columns = tuple(Column(str(c.this), e.type) for c, e in zip(node.columns, calls, strict=True))
    relation = BoundRelation(node.alias_name, Schema(columns), STREAM, place=node)
    check_aliases((*scope.relations, relation))
    used = {r.internal(n) for r in scope.relations for n in (*(c.name for c in r.schema.columns), *r.hidden)}
    for i, column in enumerate(columns):
        if column.name in used | RESERVED_COLUMNS | {c.name for c in columns[:i]}:
            raise invalid(f"UNNEST: there is a column {column.name} already.", node.columns[i])
    return relation, tuple(NamedExpression(c.name, e) for c, e in zip(columns, calls, strict=True))


def _bind_relations(from_item: nodes.Relation, context: Context, named: Named) -> list[BoundRelation]:
    """The relations of FROM; one that is LATERAL reads those before it, and adds to ``named``."""
    is_join = isinstance(from_item, nodes.Join)
    relations: list[BoundRelation] = []
    for item in flat(from_item):
        inner, correlation = context, None
        if isinstance(item, nodes.SubQuery) and item.lateral:
            if not context.rules.is_complete:
                raise invalid("LATERAL is for pull queries.", item, hint="Join its source instead.")
            correlation = Correlation(_scope(relations, context, named), context.numbers)
            inner = replace(context, outer=correlation)
        relation = bind_relation(item, inner, is_join)
        if correlation is not None:
            relation = replace(relation, parameters=correlation.parameters)
        relations.append(relation)
    return relations


def _scope(relations: Sequence[BoundRelation], context: Context, named: Named) -> Scope:
    """The names of FROM."""
    bind = context.rules.bind_sub_query
    return Scope(
        tuple(relations),
        types=context.metastore.types(),
        ansi=is_ansi(context.config),
        untyped=is_untyped(context.config),
        postgres=context.rules.is_complete and is_postgres(context.config),
        forbidden=context.rules.forbidden,
        named=named,
        sub_query=None if bind is None else lambda node, scope: bind(node, scope, context),
        outer=context.outer,
        is_complete=context.rules.is_complete,
    )


def _bind_joins(from_item: nodes.Relation | None, context: Context) -> From:
    named: Named = set()
    if from_item is None:
        relations = [BoundRelation("", Schema(()), TABLE, node=Values())]
    else:
        relations = _bind_relations(from_item, context, named)
    check_aliases(relations)
    scope = _scope(relations, context, named)
    if not isinstance(from_item, nodes.Join):
        return From(relations[0], scope, is_complete=context.rules.is_complete)
    _check_internal_names(relations)
    by_node = {id(relation.place): relation for relation in relations}
    return From(*context.rules.bind_joins(from_item, by_node, scope))


def bind_stream_joins(
    node: nodes.Join, relations: Mapping[int, BoundRelation], scope: Scope
) -> tuple[Joined, Scope]:
    """The joins of a streaming query, and the scope with the key that they may have to make (BindJoins).

    Raises:
        KsqlError: as bind_join.
    """
    for join in node.find_all(nodes.Join):
        if join.on is None:
            what = "USING" if join.using else "NATURAL JOIN" if join.natural else "CROSS JOIN"
            raise invalid(
                f"{what} is for pull queries: a join of a streaming query needs ON.", join.right,
                hint="For instance: FROM a JOIN b ON a.id = b.id.",
            )  # fmt: skip
    rowkey = first_free("ROWKEY", {c.name for relation in scope.relations for c in relation.schema.columns})
    tree = _join_tree(node, relations, scope, rowkey)
    return tree, replace(scope, extra={tree.synthetic: tree.left_key.type}) if tree.synthetic else scope


def _check_internal_names(relations: Iterable[BoundRelation]) -> None:
    """Refuse relations whose columns ``<ALIAS>_<COLUMN>`` are not unique: A_B.C and A.B_C."""
    seen: dict[str, str] = {}
    for relation in relations:
        for column in relation.schema.columns:
            name, shown = relation.internal(column.name), f"{relation.alias}.{column.name}"
            if name in seen:
                raise invalid(
                    f"The columns {seen[name]} and {shown} would both be called `{name}`.", relation.place,
                    hint="Give one of the sources another alias.",
                )  # fmt: skip
            seen[name] = shown


def flat(from_item: nodes.Relation) -> list[nodes.Relation]:
    """The relations that a FROM clause joins, left to right."""
    if isinstance(from_item, nodes.Join):
        return [*flat(from_item.left), *flat(from_item.right)]
    return [from_item]


def named_query(
    from_item: nodes.Relation, context: Context
) -> tuple[str, nodes.QueryNode | nodes.MatchRecognize | None, Context]:
    """A relation's alias, its query (None for a source), and the context of that query.

    Raises:
        KsqlError: it is neither a name nor a sub-query.
    """
    match from_item:
        case nodes.PastSource():
            return from_item.alias_name, None, context
        case nodes.AliasedSource():
            if from_item.source_name not in context.common_tables:
                return _source_or_view(from_item, context)
            visible = dict(context.common_tables)
            query = visible.pop(from_item.source_name).query
            return from_item.alias_name, query, replace(context, common_tables=visible)
        case nodes.SubQuery():
            return from_item.alias_name or "SUBQUERY", from_item.query, context
        case nodes.MatchRecognize():
            return from_item.alias_name, from_item, context
        case nodes.LogOf():
            is_batch = context.rules.is_complete
            query = log_of(from_item, context.metastore, context.config, is_batch=is_batch)
            return from_item.alias_name, query, replace(context, common_tables={})
    raise invalid("This is not allowed in FROM.", from_item)


def _source_or_view(
    from_item: nodes.AliasedSource, context: Context
) -> tuple[str, nodes.QueryNode | None, Context]:
    text = context.metastore.views().get(from_item.source_name)
    if text is None:
        return from_item.alias_name, None, context
    metastore = context.metastore.copy()
    metastore.drop_view(from_item.source_name)  # a view cannot read itself
    inner = replace(context, metastore=metastore, common_tables={}, outer=None)
    return from_item.alias_name, query_of(text), inner


def bind_relation(from_item: nodes.Relation, context: Context, prefixed: bool) -> BoundRelation:
    """A relation of FROM; ``prefixed``: it is part of a join.

    Raises:
        KsqlError: SOURCE_UNKNOWN, a source that the rules refuse; those of the sub-query.
    """
    columns = _column_aliases(from_item, context)
    alias, query, inner = named_query(from_item, context)
    if query is not None:
        is_view = inner.metastore is not context.metastore
        with in_view(from_item) if is_view else nullcontext():
            relation = _nested(query, alias, inner, prefixed, from_item)
        relation = _renamed(relation, columns) if columns else relation
    else:
        relation = source_relation(from_item, inner.metastore, prefixed)
    context.size.add(relation.schema, from_item)
    if relation.source is not None and context.rules.check_source is not None:
        context.rules.check_source(relation.source, from_item, context.config)
    return relation


def _column_aliases(from_item: nodes.Relation, context: Context) -> list[exp.Identifier]:
    """The names that a sub-query, or a query of WITH, gives to its columns; empty: they keep their own."""
    if isinstance(from_item, nodes.SubQuery):
        return from_item.columns
    if type(from_item) is nodes.AliasedSource and from_item.source_name in context.common_tables:
        return context.common_tables[from_item.source_name].columns
    return []


def _renamed(relation: BoundRelation, names: list[exp.Identifier]) -> BoundRelation:
    """A sub-query whose columns have other names."""
    columns = relation.schema.columns
    if len(names) != len(columns):
        raise invalid(
            f"{relation.alias} has {len(columns)} column(s), and {len(names)} name(s) are given.", names[0]
        )
    assert relation.node is not None
    items = [
        NamedExpression(str(name.this), ColumnRef(column.name, column.type))
        for name, column in zip(names, columns, strict=True)
    ]
    check_unique([item.name for item in items], names)
    keys = len(relation.schema.key)
    node = Project(relation.node, tuple(items[:keys]), tuple(items[keys:]))
    return replace(relation, schema=node.schema, node=node)


def source_relation(from_item: nodes.Relation, metastore: MetaStore, prefixed: bool) -> BoundRelation:
    """The stream or table that ``from_item`` names; ``prefixed``: it is part of a join.

    Raises:
        KsqlError: SOURCE_UNKNOWN.
    """
    assert isinstance(from_item, nodes.AliasedSource)
    if isinstance(from_item, nodes.PastSource):
        where = "VERIFY" if from_item.which in ("OLD", "NEW") else "pull queries"
        raise invalid(f"{from_item.which} of {from_item.source_name} is for {where} only.", from_item)
    source = metastore.require(from_item.source_name, place(from_item))
    return BoundRelation(
        from_item.alias_name, source.schema, source.kind, source.window, prefixed,
        hidden_columns(source.window), source, None, from_item,
    )  # fmt: skip


def _nested(
    query: nodes.QueryNode | nodes.MatchRecognize, alias: str, context: Context, prefixed: bool, at: exp.Expr
) -> BoundRelation:
    node = context.rules.bind_nested(query, context)
    hidden: dict[str, SqlType] = {}
    if not context.rules.is_complete:
        hidden = {ROWTIME: PSEUDO_COLUMNS[ROWTIME]} | (WINDOW_BOUNDS if node.window else {})
    return BoundRelation(alias, node.schema, node.kind, node.window, prefixed, hidden, None, node, at)


def check_aliases(relations: Iterable[BoundRelation]) -> None:
    """Refuse an alias that two relations have.

    Raises:
        KsqlError: INVALID_STATEMENT.
    """
    seen: set[str] = set()
    for relation in relations:
        if relation.alias in seen:
            raise invalid(
                f"The alias '{relation.alias}' is used twice in FROM.", relation.place,
                hint="Give each its own alias: FROM a x JOIN a y ON ...",
            )  # fmt: skip
        seen.add(relation.alias)


def copy_hint(source: DataSource) -> str:
    """What to do where a query cannot read a stream or table twice."""
    copy = name_text(f"{source.name}_COPY")
    return f"Make a copy first: CREATE {source.kind} {copy} AS SELECT * FROM {name_text(source.name)}."


def _join_tree(node: nodes.Join, relations: Mapping[int, BoundRelation], scope: Scope, rowkey: str) -> Joined:
    if isinstance(node.right, nodes.Join):
        raise invalid(
            "Joins are evaluated from left to right; parentheses around the right side are not supported.",
            node,
        )
    left: Joined | BoundRelation
    if isinstance(node.left, nodes.Join):
        left = _join_tree(node.left, relations, scope, rowkey)
    else:
        left = relations[id(node.left)]
    return bind_join(node, left, relations[id(node.right)], scope, rowkey)


# ---- back to plan nodes -------------------------------------------------------------------------------


def build_from(source: From, key_name: str | None = None) -> Node:
    """The plan of a bound FROM clause, once all expressions are bound.

    Args:
        source: the clause; in joins, pseudo columns in ``scope.named`` become columns.
        key_name: the name of the outermost join's key; None for its default.
    """
    if isinstance(source.tree, BoundRelation):
        node = build_relation(source.tree, source.scope, source.is_complete)
    else:
        node = _build(source.tree, source.scope, key_name)
    for functions in source.unnests:
        node = FlatMap(node, functions)
    return node


def _build(side: Tree, scope: Scope, key_name: str | None = None) -> Node:
    if isinstance(side, BoundRelation):
        return build_relation(side, scope, side.prefixed)
    if isinstance(side, CompleteJoin):
        left = _build(side.left, scope)
        parameters = side.right.parameters if isinstance(side.right, BoundRelation) else {}
        given = tuple((parameter, value) for value, parameter in parameters.items())
        return BatchJoin(left, _build(side.right, scope), side.join, side.condition, given)
    # the inner join's key has the name that the outer join uses, if possible
    inner = None
    if side.type == REPLICATED:
        left, right = _build(side.left, scope, key_name), build_relation(side.right, scope, True)
        return Join(
            left,
            right,
            side.type,
            side.join,
            side.left_key,
            side.right_key,
            "",
            None,
            side.grace_ms,
            side.residual,
            side.is_loaded_first,
        )
    if isinstance(side.left, Joined) and isinstance(side.left_key, ColumnRef):
        inner = side.left_key.name if side.left_key.name in side.left.candidates else None
    left, right = _build(side.left, scope, inner), build_relation(side.right, scope, True)
    name = key_name or side.default_key
    of_tables = side.residual if side.kind == TABLE else None
    if of_tables is not None and side.join == "LEFT":
        right = Filter(right, of_tables)
    elif of_tables is not None and side.join == "RIGHT":
        left = Filter(left, of_tables)
    join = Join(
        left, right, side.type, side.join, side.left_key, side.right_key, name, side.within, side.grace_ms,
        None if side.kind == TABLE else side.residual, side.is_loaded_first,
    )  # fmt: skip
    return Filter(join, of_tables) if of_tables is not None and side.join == "INNER" else join


def build_relation(relation: BoundRelation, scope: Scope, is_exposed: bool) -> Node:
    """The plan of a relation.

    Args:
        relation: the relation.
        scope: the pseudo columns that the query names (``named``).
        is_exposed: whether they become columns of a source; in sub-queries they are.
    """
    if relation.source is not None:
        named = [name for alias, name in scope.named if alias == relation.alias and is_exposed]
        exposed = tuple(hidden_order(named))
        return Source(relation.source, relation.alias, relation.prefixed, exposed)
    assert relation.node is not None
    if not relation.prefixed:
        return relation.node
    keys = tuple(
        NamedExpression(relation.internal(c.name), ColumnRef(c.name, c.type)) for c in relation.schema.key
    )
    values = [
        NamedExpression(relation.internal(c.name), ColumnRef(c.name, c.type))
        for c in relation.schema.columns[len(keys) :]
    ]
    for alias, name in sorted(scope.named):
        if alias == relation.alias:
            values.append(NamedExpression(relation.internal(name), ColumnRef(name, relation.hidden[name])))
    return Project(relation.node, keys, tuple(values))


def hidden_order(names: Any) -> list[str]:
    """``names`` of pseudo columns in their usual order."""
    order = [*PSEUDO_COLUMNS, *WINDOW_BOUNDS]
    return sorted(names, key=order.index)


__all__ = [
    "FOREIGN_KEY",
    "Context",
    "From",
    "bind_from",
    "build_from",
    "flat",
    "hidden_order",
    "relations_of",
]
