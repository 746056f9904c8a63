"""EMIT CHANGES EVERY: an aggregation emits a changed row once in an interval (§2.6, beyond ksqlDB)."""

from __future__ import annotations

from dataclasses import replace

from ksql_spark.analyzer.failures import invalid
from ksql_spark.grammar import nodes
from ksql_spark.plan.nodes import Aggregate, Filter, Node, Project


def at_intervals(root: Project, query: nodes.QueryNode, are_held: bool = True) -> Project:
    """``root``, the plan of ``query``, with its EVERY in the aggregation.

    Args:
        are_held: whether rows wait for the end of an interval (ksql.emit.every.enabled).

    Raises:
        KsqlError: INVALID_STATEMENT where there is none, and for an interval of zero.
    """
    if query.every is None:
        return root
    every_ms = query.every.milliseconds
    if every_ms == 0:
        raise invalid("EVERY must be longer than zero.", query.every)
    below = _aggregating(root.child, every_ms)
    if below is None:
        raise invalid(
            "EVERY is for queries that aggregate.", query.every,
            hint="Other queries emit each row when it comes: remove EVERY.",
        )  # fmt: skip
    return replace(root, child=below) if are_held else root


def _aggregating(node: Node, every_ms: int) -> Node | None:
    match node:
        case Aggregate():
            return replace(node, every_ms=every_ms)
        case Project(child) | Filter(child):  # HAVING
            below = _aggregating(child, every_ms)
            return None if below is None else replace(node, child=below)
    return None
