"""Queries as plans: SELECT, set operations, sub-queries and common table expressions (reference §2.5)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ksql_spark.analyzer.base.clauses import IN_SUB_QUERIES, Refusal, check_clauses
from ksql_spark.analyzer.base.failures import check_comparable, invalid, within_statement
from ksql_spark.analyzer.base.scope import BoundRelation
from ksql_spark.analyzer.base.settings import flag
from ksql_spark.analyzer.expressions.coercion import coerce, is_implicit
from ksql_spark.analyzer.expressions.intervals import at_intervals
from ksql_spark.analyzer.relations.binding import Context, Rules, bind_stream_joins
from ksql_spark.analyzer.select.match_recognize import bind_match
from ksql_spark.analyzer.select.projections import project
from ksql_spark.analyzer.select.selects import BoundSelect, bind_select
from ksql_spark.analyzer.select.semi_joins import bind_semi_join
from ksql_spark.expressions import ColumnRef
from ksql_spark.functions.signatures import common_type
from ksql_spark.grammar import nodes
from ksql_spark.metastore.sources import STREAM, TABLE
from ksql_spark.metastore.store import MetaStore
from ksql_spark.plan.clauses import NamedExpression
from ksql_spark.plan.nodes import Node, Project, SetOperation, UnionAll
from ksql_spark.plan.trees import operands, with_operands
from ksql_spark.schema import Role
from ksql_spark.types import BIGINT, DOUBLE, Decimal, SqlType


def bind_query(query: nodes.QueryNode, metastore: MetaStore, config: Mapping[str, Any]) -> Node:
    """The plan of a query by the rules of persistent queries: keys are kept (reference §2.2).

    Raises:
        KsqlError: the first rule that is broken, with its position.
    """
    with within_statement(query):
        return bind_nested(query, make_context(metastore, config))


def make_context(metastore: MetaStore, config: Mapping[str, Any], rules: Rules | None = None) -> Context:
    """A context for binding queries; ``rules``: those of queries whose results keep their keys, or others."""
    return Context(metastore, config, rules or KEYED)


def bind_nested(query: nodes.QueryNode | nodes.MatchRecognize, context: Context) -> Node:
    """The plan of a sub-query, common table expression or MATCH_RECOGNIZE.

    Raises:
        KsqlError: as bind_query; INVALID_STATEMENT for EMIT, LIMIT and ORDER BY.
    """
    context = replace(context, rules=KEYED)
    if isinstance(query, nodes.MatchRecognize):
        return bind_match(query, context)
    is_final = isinstance(query, nodes.Select) and query.emit == "FINAL" and query.window is not None
    clauses = {clause: why for clause, why in IN_SUB_QUERIES.items() if clause != "EMIT" or not is_final}
    check_clauses(query, clauses)
    return bind_any(query, context, None).root


#: the rules of persistent queries and of sub-queries
KEYED = Rules(
    bind_nested,
    bind_stream_joins,
    bind_semi_join,
    refused={
        "DISTINCT": Refusal(
            "SELECT DISTINCT cannot run on a stream of changes.",
            "Write DISTINCT ON (expression, …), or GROUP BY the columns with an aggregate.",
        )
    },
)


@dataclass(frozen=True)
class Planned:
    """A plan that keeps its keys, and the SELECT from whose sources a sink inherits.

    ``select`` is the leftmost SELECT of a set operation.
    """

    root: Project | UnionAll | SetOperation
    select: BoundSelect

    @property
    def left_most(self) -> BoundRelation:
        """The relation from which a sink inherits formats and topic properties."""
        return self.select.source.relations[0]


def bind_any(
    query: nodes.QueryNode,
    context: Context,
    sink: str | None,
    emit: str | None = None,
    *,
    needs_value: bool = True,
) -> Planned:
    """The plan of a Select or SetOperation.

    Args:
        query: the query.
        context: the metastore and the common tables.
        sink: the name of its sink, for messages.
        emit: EMIT of the query that it is a part of.
        needs_value: whether a query with a sink must have a value column.

    Raises:
        KsqlError: the first rule that is broken, with its position.
    """
    context = context.with_common_tables(query)
    match query:
        case nodes.Select():
            bound = bind_select(query, context, query.emit or emit)
            projected = project(bound, query, sink, needs_key=True, needs_value=needs_value)
            are_held = flag(context.config, "ksql.emit.every.enabled")
            return Planned(at_intervals(projected.root, query, are_held), bound)
        case nodes.SetOperation():
            return _set_operation(query, context, sink, query.emit or emit)
    if isinstance(query, nodes.Values):
        raise invalid(
            "VALUES as a query is for pull queries.", query, hint="INSERT INTO … VALUES writes rows."
        )
    raise invalid("This is not a query.", query)


def _set_operation(
    query: nodes.SetOperation, context: Context, sink: str | None, emit: str | None
) -> Planned:
    if query.every is not None:
        raise invalid("EVERY is for queries that aggregate.", query.every)
    is_all = query.operator == "UNION ALL"
    if query.operator in ("EXCEPT ALL", "INTERSECT ALL"):
        plain = query.operator.removesuffix(" ALL")
        raise invalid(
            f"{query.operator} is for pull queries: {plain} gives each row once.",
            query.right,
            hint=f"Write {plain}.",
        )
    left, right = (bind_any(q, context, sink, emit, needs_value=is_all) for q in (query.left, query.right))
    _check_places(left, right, query)
    sides = ((left.root, query.left), (right.root, query.right))
    if not is_all:
        return Planned(_of_tables(query, sides), left.select)
    children: list[Node] = []
    for root, node in sides:
        if root.kind != STREAM:
            raise invalid(
                "UNION ALL is for streams; this side is a table.", node,
                hint="Use UNION, which gives each row once. A column such as 'a' AS origin tells equal rows "
                "of both sides apart.",
            )  # fmt: skip
        children += root.children if isinstance(root, UnionAll) else (root,)
    return Planned(UnionAll(tuple(aligned(children, query))), left.select)


def _check_places(left: Planned, right: Planned, query: nodes.SetOperation) -> None:
    """Refuse sides whose key columns are at different places in SELECT: plans have them first."""
    places = []
    for side in (left, right):
        written = [item.name for item in side.select.items]
        places.append([written.index(c.name) for c in side.root.schema.columns if c.name in written])
    if places[0] != places[1]:
        key = ", ".join(c.name for c in right.root.schema.key)
        raise invalid(
            f"The key columns of both sides must be at the same places in SELECT: {key} is not.", query.right
        )


#: the wording for streams
_OF_STREAMS = {
    "UNION": "Use UNION ALL, and DISTINCT ON (…) … WITHIN over it.",
    "EXCEPT": "Use WHERE NOT EXISTS (SELECT …).",
    "INTERSECT": "Use WHERE EXISTS (SELECT …).",
}


def _of_tables(query: nodes.SetOperation, sides: tuple[tuple[Node, nodes.QueryNode], ...]) -> SetOperation:
    """UNION, EXCEPT or INTERSECT of tables, which are compared by their keys first."""
    for root, node in sides:
        if root.kind != TABLE:
            raise invalid(
                f"{query.operator} is for tables; this side is a stream, of which all rows would be kept.",
                node,
                hint=_OF_STREAMS[query.operator],
            )
        if root.window is not None:
            raise invalid(f"{query.operator} cannot read windowed tables.", node)
    operation = SetOperation(sides[0][0], sides[1][0], query.operator)
    relations = operands(operation)
    matched = aligned(list(relations), query)
    for i, column in enumerate(matched[0].schema.columns):
        own = [relation.schema.columns[i].type for relation in relations]
        if column.role is Role.KEY and column.type == DOUBLE and any(map(_is_exact, own)):
            raise invalid(
                f"The keys of both sides must have the same type: column {i + 1} is "
                f"{' and '.join(dict.fromkeys(map(str, own)))}.",
                query,
                hint="Different keys may be the same DOUBLE.",
            )
    coerced = with_operands(operation, iter(matched))
    assert isinstance(coerced, SetOperation)
    return coerced


def _is_exact(type_: SqlType) -> bool:
    return type_ == BIGINT or isinstance(type_, Decimal)


def aligned(children: list[Node], query: nodes.SetOperation) -> list[Node]:
    """The children of a set operation, with the column names of the first child and common types.

    Raises:
        KsqlError: their columns differ in number, role or type, or cannot be compared.
    """
    first = children[0].schema.columns
    types: list[SqlType] = [c.type for c in first]
    for child in children:
        columns = child.schema.columns
        if [c.role for c in columns] != [c.role for c in first]:
            raise invalid(
                f"The sides of {query.operator} need the same number of key and value columns: "
                f"{children[0].schema} and {child.schema}.",
                query,
            )
        for i, column in enumerate(columns):
            merged = common_type(types[i], column.type)
            if merged is None:
                raise invalid(
                    f"The sides of {query.operator} differ in column {i + 1}: {first[i]} and {column}.",
                    query,
                    hint="Cast one of them.",
                )  # fmt: skip
            types[i] = merged
    if query.operator != "UNION ALL":
        for column, type_ in zip(first, types, strict=True):
            check_comparable(type_, query.operator, str(replace(column, type=type_)), query)
    return [fitted(child, [c.name for c in first], types) for child in children]


def fitted(node: Node, names: list[str], types: list[SqlType]) -> Node:
    """``node`` with its columns renamed to ``names`` and coerced to ``types``, by position."""
    columns = node.schema.columns
    if [c.name for c in columns] == names and [c.type for c in columns] == types:
        return node
    if isinstance(node, Project):
        parts = [*node.keys, *node.values]
        named = [
            NamedExpression(n, coerce(p.expression, t)) for p, n, t in zip(parts, names, types, strict=True)
        ]
        return Project(node.child, tuple(named[: len(node.keys)]), tuple(named[len(node.keys) :]))
    references = [coerce(ColumnRef(c.name, c.type), t) for c, t in zip(columns, types, strict=True)]
    named = [NamedExpression(n, e) for n, e in zip(names, references, strict=True)]
    keys = sum(c.role is Role.KEY for c in columns)
    return Project(node, tuple(named[:keys]), tuple(named[keys:]))


__all__ = [
    "Planned",
    "aligned",
    "bind_any",
    "bind_nested",
    "bind_query",
    "fitted",
    "is_implicit",
    "make_context",
]
