"""EXPLAIN FRESHNESS: where the delay of a stream or table comes from."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import pytest

from ksql_spark.engine.execution import StatementExecutor
from ksql_spark.engine.freshness import freshness
from ksql_spark.engine.graph import Graphs
from ksql_spark.engine.samples import Samples
from ksql_spark.entities.graph import Freshness, Graph, GraphEdge, GraphNode, NodeKind, QueryFigures
from tests.statements.world import World

CHAIN = (
    "topic:a",
    "stream:A",
    "query:Q1",
    "topic:b",
    "stream:B",
    "query:Q2",
    "topic:c",
    "table:C",
    "query:Q3",
    "topic:d",
)


def chain(states: Mapping[str, str] | None = None, **figures: QueryFigures) -> Graph:
    """a -> Q1 -> b -> Q2 -> c -> Q3 -> d."""
    kinds: dict[str, NodeKind] = {"topic": "TOPIC", "stream": "STREAM", "table": "TABLE", "query": "QUERY"}
    nodes = []
    for id_ in CHAIN:
        kind, _, name = id_.partition(":")
        state = (states or {}).get(name, "RUNNING") if kind == "query" else None
        nodes.append(GraphNode(id=id_, kind=kinds[kind], name=name, state=state, figures=figures.get(name)))
    edges = [GraphEdge(one, other) for one, other in itertools.pairwise(CHAIN)]
    return Graph(time_ms=1, nodes=tuple(nodes), edges=tuple(edges))


def of_c(graph: Graph, grown: Mapping[str, float] | None = None, view_lag: int | None = None) -> Freshness:
    return freshness(graph, "table:C", lambda id_, lag: (grown or {}).get(id_, 0.0), view_lag)


def quick(**figures: Any) -> QueryFigures:
    return QueryFigures(
        **{"errors": {}, "lag_records": 0, "lag_seconds": 0.0, "latency_seconds": 0.05} | figures
    )


def test_stages_are_those_before_it_in_the_order_of_records() -> None:
    found = of_c(chain(Q1=quick(), Q2=quick()), view_lag=0)
    assert [(stage.name, stage.kind) for stage in found.stages] == [
        ("Q1", "QUERY"),
        ("Q2", "QUERY"),
        ("C", "VIEW"),
    ]
    assert found.culprit is None and found.verdict == "No stage holds it up."


def test_a_query_that_falls_behind_is_the_culprit_although_another_one_is_slower() -> None:
    behind = quick(lag_records=500, lag_seconds=20.0, arriving_per_s=100.0, read_per_s=60.0)
    found = of_c(chain(Q1=quick(latency_seconds=60.0), Q2=behind), grown={"Q2": 300.0})
    assert found.culprit == "Q2"
    assert (
        found.verdict == "Q2: It falls behind, by 300 records in 30 s: 100 records/s arrive, it reads 60/s."
    )


@pytest.mark.parametrize(
    ("state", "words"), [("ERROR", "has failed"), ("PAUSED", "is paused, 7 records wait")]
)
def test_a_query_that_does_not_run(state: str, words: str) -> None:
    found = of_c(chain({"Q1": state}, Q1=quick(lag_records=7), Q2=quick()))
    assert found.culprit == "Q1" and words in found.verdict


def test_a_stage_is_not_blamed_for_the_latency_of_those_before_it() -> None:
    found = of_c(chain(Q1=quick(latency_seconds=8.0), Q2=quick(latency_seconds=8.2)))
    assert found.culprit == "Q1" and found.verdict == "Q1 adds most: 8.0 s."
    assert [stage.delay_seconds for stage in found.stages] == [8.0, pytest.approx(0.2)]


def test_nothing_writes_it() -> None:
    found = freshness(chain(), "stream:A", lambda id_, lag: 0.0, None)
    assert found.stages == () and "as fresh as its topic" in found.verdict


def test_the_statement(world: World) -> None:
    world.run("CREATE STREAM c AS SELECT * FROM s;")
    graphs = Graphs(world.services, Samples(lambda: []))
    world.statements = StatementExecutor(world.services, world.runner, graphs.freshness)
    found = world.one("EXPLAIN FRESHNESS c;")
    assert found["@type"] == "freshness"
    (stage,) = found["freshness"]["stages"]
    assert stage["kind"] == "QUERY" and stage["state"] == "RUNNING"
    assert world.refused("EXPLAIN FRESHNESS nothing;").condition == "SOURCE_UNKNOWN"
