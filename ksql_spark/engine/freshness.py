"""Finds the origin of the delay of a stream or table, stage by stage (EXPLAIN FRESHNESS)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ksql_spark.engine.diagnosis import Grown, diagnose
from ksql_spark.entities.graph import Freshness, FreshnessStage, Graph, GraphNode, QueryFigures

#: a stage that adds less than this is not worth a name, seconds
WORTH_NAMING_S = 1.0


def freshness(graph: Graph, node_id: str, grown: Grown, view_lag: int | None) -> Freshness:
    """Explain the delay of a stream or table: its stages, and the one that holds up the others.

    The culprit is the query or connector in the worst trouble (failed, paused, falling behind) among those
    whose records reach it; if none is in trouble, the stage that adds most to the age of results.

    Args:
        graph: of now.
        node_id: of the stream or table.
        grown: see diagnose().
        view_lag: how many records its view has not read yet, or None if it has no view.
    """
    nodes = {node.id: node for node in graph.nodes}
    before = _before(graph)
    order = [nodes[id_] for id_ in _upstream(node_id, before) if nodes[id_].kind in ("QUERY", "CONNECTOR")]
    problems = {node.id: problem for node in order if (problem := diagnose(node, grown)) is not None}
    stages = [
        _stage(node, _latency_before(node.id, nodes, before), problems.get(node.id, (None, None))[1])
        for node in order
    ]
    name = nodes[node_id].name
    if view_lag is not None:
        stages.append(_view(name, view_lag))
    if problems:
        id_, (_, reason) = max(problems.items(), key=lambda one: one[1][0])
        culprit = nodes[id_].name
        return Freshness(name=name, stages=tuple(stages), culprit=culprit, verdict=f"{culprit}: {reason}")
    slowest = max(stages, key=lambda stage: stage.delay_seconds or 0.0, default=None)
    if slowest is not None and (slowest.delay_seconds or 0.0) >= WORTH_NAMING_S:
        verdict = f"{slowest.name} adds most: {slowest.delay_seconds:,.1f} s."
        return Freshness(name=name, stages=tuple(stages), culprit=slowest.name, verdict=verdict)
    verdict = "No stage holds it up." if stages else "No query writes it: it is as fresh as its topic."
    return Freshness(name=name, stages=tuple(stages), culprit=None, verdict=verdict)


def _before(graph: Graph) -> dict[str, list[str]]:
    """Node -> those whose records go to it."""
    writers: dict[str, list[str]] = {node.id: [] for node in graph.nodes}
    for edge in graph.edges:
        if edge.source in writers and edge.target in writers:
            writers[edge.target].append(edge.source)
    return writers


def _upstream(node_id: str, before: Mapping[str, list[str]]) -> list[str]:
    """All nodes whose records reach one, those before others first, and itself."""
    order: dict[str, None] = {}
    open_: list[tuple[str, bool]] = [(node_id, False)]
    seen = set()
    while open_:
        id_, is_done = open_.pop()
        if is_done:
            order[id_] = None
        elif id_ not in seen:
            seen.add(id_)
            open_.append((id_, True))
            open_ += ((one, False) for one in before[id_])
    return list(order)


def _latency_before(query_id: str, nodes: Mapping[str, GraphNode], before: Mapping[str, list[str]]) -> float:
    """The latency of the slowest of the queries whose results a query reads, seconds."""
    latencies = [
        figures.latency_seconds or 0.0
        for source in before[query_id]
        for topic in before[source]
        for writer in before[topic]
        if (figures := nodes[writer].figures) is not None
    ]
    return max(latencies, default=0.0)


def _stage(node: GraphNode, latency_before_s: float, reason: str | None) -> FreshnessStage:
    figures = node.figures or QueryFigures(errors={})
    own_s = None if figures.latency_seconds is None else max(0.0, figures.latency_seconds - latency_before_s)
    delays = [seconds for seconds in (figures.lag_seconds, own_s) if seconds is not None]
    return FreshnessStage(
        name=node.name,
        kind="QUERY" if node.kind == "QUERY" else "CONNECTOR",
        state=node.state,
        delay_seconds=max(delays, default=None),
        evidence=tuple(_evidence(node, figures, own_s, reason)),
    )


def _evidence(
    node: GraphNode, figures: QueryFigures, own_s: float | None, reason: str | None
) -> Iterable[str]:
    if reason is not None:
        yield reason
    elif node.error:
        yield node.error
    if node.figures is None:
        yield from ["It runs on another server."] if node.host else []
        return
    if figures.lag_records:
        records = f"{figures.lag_records:,} record{'' if figures.lag_records == 1 else 's'}"
        since = f", the oldest has waited for {figures.lag_seconds:,.1f} s" if figures.lag_seconds else ""
        yield f"Lag: {records}{since}."
    else:
        yield "Lag: none."
    if own_s is not None and figures.latency_seconds is not None:
        all_s = figures.latency_seconds
        yield f"p95 latency: {all_s:,.3f} s from the event time; {own_s:,.3f} s of it here."
    if figures.arriving_per_s or figures.read_per_s:
        arrive, read = figures.arriving_per_s or 0, figures.read_per_s or 0
        yield f"Rates: {arrive:,.0f} records/s arrive, {read:,.0f}/s are read."
    if figures.state_rows:
        yield f"State: {figures.state_rows:,} rows."
    if figures.failures:
        yield f"It has failed and was restarted {figures.failures:,} times."


def _view(name: str, lag: int) -> FreshnessStage:
    words = f"{lag:,} records of the topic are not in it yet." if lag else "It has all records of the topic."
    return FreshnessStage(name=name, kind="VIEW", state=None, delay_seconds=None, evidence=(words,))
