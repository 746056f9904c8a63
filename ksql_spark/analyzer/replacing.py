"""CREATE OR REPLACE … AS SELECT: what of a running query may change (reference §2.3)."""

from __future__ import annotations

from dataclasses import replace

from ksql_spark.analyzer.failures import Placed, invalid
from ksql_spark.logical.nodes import (
    Aggregate,
    Filter,
    FlatMap,
    Join,
    NamedExpression,
    Node,
    PersistentQuery,
    Project,
    SelectKey,
    Source,
    children,
)
from ksql_spark.schema import Schema


def check_query_replacement(old: PersistentQuery, new: PersistentQuery, node: Placed | None = None) -> None:
    """Refuse a replacement that is more than another WHERE or columns appended to the projection.

    Args:
        old: the query that runs; its sink's schema, formats and topic are checked with the source already.
        new: what shall take its place, with its state and offsets.
        node: the statement, for the error's place.

    Raises:
        KsqlError: INVALID_STATEMENT naming what differs.
    """

    def refuse(reason: str) -> Exception:
        return invalid(f"Cannot upgrade the query that writes `{new.sink.name}`: {reason}", node)

    before, after = old.root, new.root
    if not isinstance(before, Project) or not isinstance(after, Project):
        raise refuse("UNION ALL cannot be replaced.")
    for part in _parts(before.child):
        if isinstance(part, Join):
            raise refuse("joins cannot be replaced.")
        if isinstance(part, Aggregate) and part.window_spec is not None:
            raise refuse("windowed aggregations cannot be replaced.")
        if isinstance(part, Aggregate) and part.child.kind == "TABLE":
            raise refuse("aggregations of tables cannot be replaced.")
    if _without_where(before.child) != _without_where(after.child):
        raise refuse("only WHERE may change, and columns may be appended to SELECT.")
    if before.keys != after.keys or not _extends(after.values, before.values):
        raise refuse("columns of SELECT may be appended, but not changed, removed or reordered.")


def _extends(new: tuple[NamedExpression, ...], old: tuple[NamedExpression, ...]) -> bool:
    return new[: len(old)] == old


def _parts(node: Node) -> list[Node]:
    return [node, *(part for child in children(node) for part in _parts(child))]


def _without_where(node: Node) -> Node:
    """``node`` without the filter right above its source; a source counts by its name only."""
    match node:
        case Filter(Source() as child, _):
            return _without_where(child)
        case Source():
            bare = replace(node.source, schema=Schema(()), statement="", partitions=None, replicas=None)
            return replace(node, source=bare)
        case Filter() | SelectKey() | FlatMap() | Aggregate() | Project():
            return replace(node, child=_without_where(node.child))
    return node


__all__ = ["check_query_replacement"]
