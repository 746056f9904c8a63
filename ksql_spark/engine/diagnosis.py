"""Diagnoses queries that hold up those after them."""

from __future__ import annotations

from collections.abc import Callable

from ksql_spark.entities.graph import GraphNode, QueryFigures
from ksql_spark.runtime.queries.states import State

#: a query is behind if its lag has grown over this time, seconds, and a record waits for as long
BEHIND_S, WAITS_S = 30, 10.0
#: returns the growth of a query's lag, records, from its id and its current lag
Grown = Callable[[str, int | None], float]


def diagnose(node: GraphNode, grown: Grown) -> tuple[tuple[int, float], str] | None:
    """Return how bad the state of a query is, the higher the worse, and a sentence; None if it is well."""
    figures = node.figures or QueryFigures(errors={})
    lag = figures.lag_records
    waiting = f", {lag:,} {'record waits' if lag == 1 else 'records wait'}" if lag else ""
    if node.state in (State.ERROR, "FAILED"):  # a connector has FAILED
        return (2, float(lag or 0)), f"It has failed{waiting}: {node.error or 'see its errors'}"
    if node.state == State.PAUSED and lag:
        return (1, float(lag)), f"It is paused{waiting}."
    growth = grown(node.name, lag)
    if node.state == State.RUNNING and lag and growth > 0 and (figures.lag_seconds or 0) >= WAITS_S:
        rates = ""
        if figures.arriving_per_s is not None and figures.read_per_s is not None:
            rates = f": {figures.arriving_per_s:,.0f} records/s arrive, it reads {figures.read_per_s:,.0f}/s"
        return (0, growth), f"It falls behind, by {growth:,.0f} records in {BEHIND_S} s{rates}."
    return None
