"""FROM: sources, joins, sub-queries and common table expressions to relations and back to plan nodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from sqlglot import exp

from grammar import nodes
from ksql_spark.analyzer.failures import invalid, place
from ksql_spark.analyzer.joins import Joined, bind_join, leaves_of
from ksql_spark.analyzer.naming import first_free
from ksql_spark.analyzer.scope import Leaf, Scope, hidden_columns
from ksql_spark.expressions import ColumnRef
from ksql_spark.logical.nodes import FOREIGN_KEY, REPLICATED, Join, Named, Node, Project, Source
from ksql_spark.metastore.store import MetaStore
from ksql_spark.schema import PSEUDO_COLUMNS, ROWTIME, WINDOW_BOUNDS


@dataclass(frozen=True)
class Context:
    """What a query is bound against.

    ``bind_nested`` binds a sub-query (it is given to avoid a circular import).
    """

    metastore: MetaStore
    config: Mapping[str, Any]
    bind_nested: Callable[[nodes.QueryNode, Context], Node]
    common_tables: Mapping[str, nodes.QueryNode] = field(default_factory=dict)

    def with_common_tables(self, query: nodes.QueryNode) -> Context:
        """With the CTEs of ``query``; a later one may use the earlier ones, which are inlined."""
        if not query.ctes:
            return self
        return replace(
            self, common_tables={**self.common_tables, **{c.table_name: c.query for c in query.ctes}}
        )


@dataclass(frozen=True)
class From:
    """A bound FROM clause."""

    tree: Joined | Leaf
    scope: Scope

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        """The relations, left to right."""
        return self.scope.leaves

    @property
    def is_join(self) -> bool:
        """True where there is more than one."""
        return isinstance(self.tree, Joined)


def bind_from(relation: nodes.Relation, context: Context) -> From:
    """Bind the relations of ``relation`` and the conditions of its joins.

    Raises:
        KsqlError: an unknown source, a self-join, a join that cannot be.
    """
    is_join = isinstance(relation, nodes.Join)
    leaves = [_leaf(r, context, is_join) for r in flat(relation)]
    _check_repeats(leaves)
    scope = Scope(tuple(leaves), types=context.metastore.types())
    if not isinstance(relation, nodes.Join):
        return From(leaves[0], scope)
    taken = {c.name for leaf in leaves for c in leaf.schema.columns}
    check_internal_names(leaves)
    rowkey = _synthetic_name(taken)
    tree = _join_tree(relation, {id(leaf.place): leaf for leaf in leaves}, scope, rowkey)
    if tree.synthetic:
        scope = replace(scope, extra={tree.synthetic: tree.left_key.type})
    return From(tree, scope)


def check_internal_names(leaves: list[Leaf]) -> None:
    """Refuse relations whose columns ``<ALIAS>_<COLUMN>`` are not unique: A_B.C and A.B_C.

    Raises:
        KsqlError: INVALID_STATEMENT.
    """
    seen: dict[str, str] = {}
    for leaf in leaves:
        for column in leaf.schema.columns:
            name, shown = leaf.internal(column.name), f"{leaf.alias}.{column.name}"
            if name in seen:
                raise invalid(
                    f"The columns {seen[name]} and {shown} would both be called `{name}`.", leaf.place,
                    hint="Give one of the sources another alias.",
                )  # fmt: skip
            seen[name] = shown


def _synthetic_name(taken: set[str]) -> str:
    return first_free("ROWKEY", taken)


def flat(relation: nodes.Relation) -> list[nodes.Relation]:
    """The relations that a FROM clause joins, left to right."""
    if isinstance(relation, nodes.Join):
        return [*flat(relation.left), *flat(relation.right)]
    return [relation]


def named_query(relation: nodes.Relation, context: Context) -> tuple[str, nodes.QueryNode | None, Context]:
    """A relation's alias, and the query that it stands for with what that sees; None for a source.

    Raises:
        KsqlError: it is neither a name nor a sub-query.
    """
    match relation:
        case nodes.AliasedSource():
            if relation.source_name not in context.common_tables:
                return relation.alias_name, None, context
            visible = dict(context.common_tables)
            query = visible.pop(relation.source_name)
            return relation.alias_name, query, replace(context, common_tables=visible)
        case nodes.SubQuery():
            return relation.alias_name or "SUBQUERY", relation.query, context
    raise invalid("This cannot stand in FROM.", relation)


def _leaf(relation: nodes.Relation, context: Context, prefixed: bool) -> Leaf:
    alias, query, context = named_query(relation, context)
    if query is not None:
        return _nested(query, alias, context, prefixed, relation)
    assert isinstance(relation, nodes.AliasedSource)
    source = context.metastore.require(relation.source_name, place(relation))
    return Leaf(
        alias, source.schema, source.kind, source.window, prefixed, hidden_columns(source.window),
        source, None, relation,
    )  # fmt: skip


def _nested(query: nodes.QueryNode, alias: str, context: Context, prefixed: bool, at: exp.Expr) -> Leaf:
    node = context.bind_nested(query, context)
    hidden = {ROWTIME: PSEUDO_COLUMNS[ROWTIME]} | (WINDOW_BOUNDS if node.window else {})
    return Leaf(alias, node.schema, node.kind, node.window, prefixed, hidden, None, node, at)


def _check_repeats(leaves: list[Leaf]) -> None:
    names: dict[str, Leaf] = {}
    aliases: set[str] = set()
    for leaf in leaves:
        name = leaf.source.name if leaf.source is not None else None
        if name is not None and name in names:
            if len(leaves) == 2:
                raise invalid(
                    f"Can not join '{name}' to '{name}': self joins are not yet supported.", leaf.place,
                    hint=f"Make a copy first: CREATE STREAM {name}_COPY AS SELECT * FROM {name}.",
                )  # fmt: skip
            raise invalid(
                f"N-way joins do not support multiple occurrences of the same source. Source: '{name}'.",
                leaf.place,
            )
        if leaf.alias in aliases:
            raise invalid(f"The alias '{leaf.alias}' is used twice in FROM.", leaf.place)
        aliases.add(leaf.alias)
        if name is not None:
            names[name] = leaf


def _join_tree(node: nodes.Join, leaves: dict[int, Leaf], scope: Scope, rowkey: str) -> Joined:
    if isinstance(node.right, nodes.Join):
        raise invalid(
            "Joins are read from left to right; parentheses around the right side are not supported.", node
        )
    left: Joined | Leaf
    if isinstance(node.left, nodes.Join):
        left = _join_tree(node.left, leaves, scope, rowkey)
    else:
        left = leaves[id(node.left)]
    return bind_join(node, left, leaves[id(node.right)], scope, rowkey)


# ---- back to plan nodes -------------------------------------------------------------------------------


def build_from(source: From, key_name: str | None = None) -> Node:
    """The plan of a bound FROM clause, once all expressions are bound.

    Args:
        source: the clause; pseudo columns that ``scope.named`` lists become columns of joins.
        key_name: the name of the outermost join's key; None for its default.
    """
    return _build(source.tree, source.scope, key_name)


def _build(side: Joined | Leaf, scope: Scope, key_name: str | None = None) -> Node:
    if isinstance(side, Leaf):
        return _build_leaf(side, scope)
    # the inner join's key is named as the outer join uses it, where it can be
    inner = None
    if side.type == REPLICATED:
        left, right = _build(side.left, scope, key_name), _build_leaf(side.right, scope)
        return Join(left, right, side.type, side.join, side.left_key, side.right_key, "")
    if isinstance(side.left, Joined) and isinstance(side.left_key, ColumnRef):
        inner = side.left_key.name if side.left_key.name in side.left.candidates else None
    left, right = _build(side.left, scope, inner), _build_leaf(side.right, scope)
    name = key_name or side.default_key
    return Join(left, right, side.type, side.join, side.left_key, side.right_key, name, side.within)


def _build_leaf(leaf: Leaf, scope: Scope) -> Node:
    if leaf.source is not None:
        named = (name for alias, name in sorted(scope.named) if alias == leaf.alias)
        exposed = tuple(n for n in hidden_order(named) if leaf.prefixed)
        return Source(leaf.source, leaf.alias, leaf.prefixed, exposed)
    assert leaf.node is not None
    if not leaf.prefixed:
        return leaf.node
    keys = tuple(Named(leaf.internal(c.name), ColumnRef(c.name, c.type)) for c in leaf.schema.key)
    values = [
        Named(leaf.internal(c.name), ColumnRef(c.name, c.type)) for c in leaf.schema.columns[len(keys) :]
    ]
    for alias, name in sorted(scope.named):
        if alias == leaf.alias:
            values.append(Named(leaf.internal(name), ColumnRef(name, leaf.hidden[name])))
    return Project(leaf.node, keys, tuple(values))


def hidden_order(names: Any) -> list[str]:
    """``names`` of pseudo columns in their usual order."""
    order = [*PSEUDO_COLUMNS, *WINDOW_BOUNDS]
    return sorted(names, key=order.index)


__all__ = ["FOREIGN_KEY", "Context", "From", "bind_from", "build_from", "flat", "hidden_order", "leaves_of"]
