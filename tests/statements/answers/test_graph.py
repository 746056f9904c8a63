"""The graph of what runs (GET /graph)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from ksql_spark.authorization import ALL_RIGHTS, Rights
from ksql_spark.engine.graph import NO_KAFKA, Graphs
from ksql_spark.engine.metrics import LAG, Figure
from ksql_spark.engine.samples import Samples, TopicSpan
from ksql_spark.entities.graph import Graph, TopicFigures
from ksql_spark.errors import KsqlError
from ksql_spark.kafka_connect import NoConnect
from tests.statements.world import World


def graphs(world: World) -> Graphs:
    figures = [Figure(LAG, (query.id, "s"), 7) for query in world.queries.all()]
    return Graphs(world.services, Samples(lambda: figures))


def test_what_is_in_the_topic_of_a_source(world: World) -> None:
    samples = Samples(lambda: [], spans=lambda: {"s": TopicSpan(2, 9)})
    nodes = {node.id: node for node in Graphs(world.services, samples).now(ALL_RIGHTS).nodes}
    assert nodes["stream:S"].topic_figures == TopicFigures(arriving_per_s=None, records=7)
    assert nodes["table:T"].topic_figures is None


def test_it_says_that_kafka_does_not_answer(world: World) -> None:
    samples = Samples(lambda: [], spans=lambda: None)
    assert Graphs(world.services, samples).now(ALL_RIGHTS).warnings == (NO_KAFKA,)
    assert graphs(world).now(ALL_RIGHTS).warnings == ()


def edges(graph: Graph) -> set[tuple[str, str]]:
    return {(edge.source, edge.target) for edge in graph.edges}


def test_sources_topics_and_queries(world: World) -> None:
    world.run("CREATE STREAM c WITH (KAFKA_TOPIC = 'other') AS SELECT * FROM s;")
    (query,) = world.queries.all()
    graph = graphs(world).now(ALL_RIGHTS)
    nodes = {node.id: node for node in graph.nodes}
    assert {
        ("topic:s", "stream:S"), ("stream:S", f"query:{query.id}"),
        (f"query:{query.id}", "topic:other"), ("topic:other", "stream:C"),
    } <= edges(graph)  # fmt: skip
    found = nodes[f"query:{query.id}"]
    assert (found.kind, found.state) == ("QUERY", "RUNNING") and "SELECT" in (found.statement or "")
    assert found.figures is not None and found.figures.lag_records == 7
    assert nodes["stream:C"].topic == "other" and nodes["stream:C"].windowed is False
    ends = {end for edge in edges(graph) for end in edge}
    assert ends <= nodes.keys()


def test_the_new_version_of_a_table(world: World) -> None:
    world.run("CREATE TABLE c AS SELECT k, COUNT(*) AS n FROM s GROUP BY k;")
    world.run(
        "CREATE OR REPLACE TABLE c WITH (EVOLVE = 'backfill') AS SELECT k, SUM(v) AS n FROM s GROUP BY k;"
    )
    queries = [node for node in graphs(world).now(ALL_RIGHTS).nodes if node.kind == "QUERY"]
    assert [query.new_version_of for query in queries] == [None, "C"]


def test_a_client_sees_what_it_may_read(world: World) -> None:
    world.run("CREATE STREAM c AS SELECT * FROM s;")
    made = graphs(world)
    rights = Rights.of(["reader:s"])
    assert [node.id for node in made.now(rights).nodes] == ["topic:s", "stream:S"]


def test_a_client_s_roles(world: World) -> None:
    world.run("CREATE STREAM c AS SELECT * FROM s;")
    (query,) = world.queries.all()
    found = {node.id: node.role for node in graphs(world).now(Rights.of(["reader:s", "developer:c"])).nodes}
    assert (found["stream:S"], found["stream:C"]) == ("reader", "developer")
    assert found[f"query:{query.id}"] == "developer"
    assert {node.role for node in graphs(world).now(ALL_RIGHTS).nodes} == {"admin"}


class FakeConnect(NoConnect):
    """A Connect cluster with a connector of each kind."""

    def __init__(self, error: KsqlError | None = None) -> None:
        self._error = error
        self.asked = 0

    def is_in_use(self) -> bool:
        return True

    def client(self) -> Any:
        self.asked += 1
        if self._error is not None:
            raise self._error
        return self

    def connectors(self) -> Mapping[str, Any]:
        failed = {"state": "FAILED", "trace": "no file\n at x"}
        return {
            "in": {"status": {"connector": {"state": "RUNNING"}, "tasks": [failed], "type": "source"}},
            "out": {
                "status": {"connector": {"state": "RUNNING"}, "tasks": [], "type": "sink"},
                "info": {"config": {"topics": "s, t2"}},
            },
        }

    def topics(self, name: str) -> list[str]:
        return ["s"]


def test_connectors(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(world.services, "connect", FakeConnect())
    graph = graphs(world).now(ALL_RIGHTS)
    nodes = {node.name: node for node in graph.nodes if node.kind == "CONNECTOR"}
    assert (nodes["in"].state, nodes["in"].error, nodes["out"].state) == ("FAILED", "no file", "RUNNING")
    assert {
        ("connector:in", "topic:s"), ("topic:s", "connector:out"), ("topic:t2", "connector:out")
    } <= edges(graph)  # fmt: skip
    assert not [n for n in graphs(world).now(Rights.of(["reader:s"])).nodes if n.kind == "CONNECTOR"]


def test_connect_that_does_not_answer(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    error = KsqlError("INTERNAL", reason="refused")
    monkeypatch.setattr(world.services, "connect", FakeConnect(error))
    made = graphs(world)
    graph = made.now(ALL_RIGHTS)
    assert graph.warnings == (error.message,) and graph.nodes
    assert made.now(ALL_RIGHTS).warnings == (error.message,)
    assert world.services.connect.asked == 1  # not for each client, every other second
