"""Walks trees of nodes, and makes trees of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from ksql_spark.expressions import ColumnRef, Expression, SubQuery
from ksql_spark.expressions import walk as parts_of
from ksql_spark.metastore.serdes import leaves_out_columns
from ksql_spark.plan.clauses import NamedExpression
from ksql_spark.plan.nodes import (
    Aggregate,
    BatchJoin,
    BatchOver,
    Changes,
    Exchange,
    Filter,
    FlatMap,
    ForeignKeyAnswer,
    ForeignKeyJoin,
    Join,
    KeepUnchanged,
    Node,
    Project,
    SelectKey,
    SetOperation,
    Sort,
    Source,
    UnionAll,
    Values,
)
from ksql_spark.schema import ROWOFFSET, ROWPARTITION


def operands(node: Node) -> tuple[Node, ...]:
    """The relations that set operations on top of each other combine, left to right; else ``node``."""
    if isinstance(node, SetOperation):
        return (*operands(node.left), *operands(node.right))
    return (node,)


def with_operands(node: Node, relations: Iterator[Node]) -> Node:
    """``node`` over other relations than ``operands``, which are as many."""
    if isinstance(node, SetOperation):
        left = with_operands(node.left, relations)
        return SetOperation(left, with_operands(node.right, relations), node.operator)
    return next(relations)


def children(node: Node) -> tuple[Node, ...]:
    """The relations that ``node`` reads, left to right."""
    match node:
        case Source() | Values():
            return ()
        case Join() | BatchJoin() | SetOperation() | ForeignKeyAnswer():
            return (node.left, node.right)
        case UnionAll(inner):
            return inner
    return (node.child,)


def with_children(node: Node, new: Sequence[Node]) -> Node:
    """``node`` over other relations than ``children``, which are as many."""
    match node:
        case Source() | Values():
            return node
        case Join() | BatchJoin() | SetOperation() | ForeignKeyAnswer():
            return replace(node, left=new[0], right=new[1])
        case UnionAll():
            return UnionAll(tuple(new))
        case ForeignKeyJoin():
            assert isinstance(new[0], Exchange)
            return replace(node, child=new[0])
    return replace(node, child=new[0])


def unplanned(node: Node) -> Node:
    """Return the bound tree from which the planner made this one."""
    if isinstance(node, Exchange | Changes | KeepUnchanged):
        return unplanned(node.child)
    bound = node.bound if isinstance(node, ForeignKeyJoin) else node
    return with_children(bound, [unplanned(child) for child in children(bound)])


def walk(node: Node) -> Iterator[Node]:
    """``node`` and all nodes below it, from the top, left to right."""
    yield node
    for child in children(node):
        yield from walk(child)


def sub_queries(node: Node) -> tuple[SubQuery, ...]:
    """The sub-queries in the expressions of ``node``, each once; only those of complete inputs have such."""
    found: dict[SubQuery, None] = {}
    for expression in _batch_expressions(node):
        found.update((part, None) for part in parts_of(expression) if isinstance(part, SubQuery))
    return tuple(found)


def _batch_expressions(node: Node) -> Iterator[Expression]:
    """The expressions of a node over complete inputs that may have sub-queries."""
    match node:
        case Filter():
            yield node.predicate
        case Project():
            yield from (item.expression for item in (*node.keys, *node.values))
        case FlatMap():
            yield from (function.expression for function in node.functions)
        case Sort():
            yield from (key.expression for key in node.by)
        case Aggregate():
            yield from (group.expression for group in node.group_by)
            yield from (value for call in node.aggregates for value in call.inputs)
        case BatchOver():
            yield from (*node.keys, *(key.expression for key in node.order))
            yield from (value for framed in node.calls for value in framed.call.inputs)


def relations(node: Node) -> tuple[Source, ...]:
    """The sources below ``node``, left to right, then those of its sub-queries."""
    if isinstance(node, Source):
        return (node,)
    below = (*children(node), *(sub_query.root for sub_query in sub_queries(node)))
    return tuple(relation for child in below for relation in relations(child))


def keeps_places(node: Node) -> bool:
    """Whether each row comes from one record of one stream or table, and still has its position.

    These are its hidden columns ROWPARTITION and ROWOFFSET: no column of the query's own has their names.
    """
    match node:
        case Source(source):
            names = {column.name for column in source.schema.columns}
            is_one = source.topic_pattern is None and not leaves_out_columns(source)
            return is_one and not node.prefixed and not _PLACE & names
        case Filter(child, _):
            return keeps_places(child)
        case FlatMap(child, functions):
            return _replaces_no_place(functions) and keeps_places(child)
        case SelectKey(child, keys):
            return _replaces_no_place(keys) and keeps_places(child)
        case Project(child, keys, values):
            return _replaces_no_place((*keys, *values)) and keeps_places(child)
    return False


_PLACE = frozenset((ROWPARTITION, ROWOFFSET))


def _replaces_no_place(items: Iterable[NamedExpression]) -> bool:
    own = [item for item in items if item.name in _PLACE]
    return all(isinstance(item.expression, ColumnRef) and item.expression.name == item.name for item in own)
