"""The figures of now, and what the graph says of them."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from ksql_spark.engine import metrics
from ksql_spark.engine.graph import culprits
from ksql_spark.engine.metrics import Figure
from ksql_spark.engine.samples import Samples, TopicSpan, decoded_figures
from ksql_spark.entities.graph import GraphEdge, GraphNode, QueryFigures, TopicFigures
from ksql_spark.spark.traffic import Times


class FakeEngineFigures:
    """Figures of one query at a time that a test sets."""

    def __init__(self) -> None:
        self.now = 1_000_000.0
        self.asked = 0
        self.takes_s = 0.0
        self.read, self.written, self.committed, self.lag = 0, 0, 0, 0
        self.latencies = [0, 0, 0]
        self.told: dict[str, QueryFigures] = {}
        self.spans: dict[str, TopicSpan] | None = {}
        self.states = {"Q": "RUNNING"}
        self.samples = Samples(
            self.figures,
            lambda: self.now,
            remote_figures=lambda: self.told,
            spans=lambda: self.spans,
            states=lambda: dict(self.states),
        )

    def figures(self) -> list[Figure]:
        self.asked += 1
        self.now += self.takes_s
        times = Times((0.1, 1.0), tuple(self.latencies), 0.0)
        return [
            Figure(metrics.READ_RECORDS, ("Q", "a"), self.read),
            Figure(metrics.WRITTEN_RECORDS, ("Q", "b"), self.written),
            Figure(metrics.READ, ("Q", "a"), self.committed),
            Figure(metrics.LAG, ("Q", "a"), self.lag),
            Figure(metrics.LAG_SECONDS, ("Q",), 1.5),
            Figure(metrics.ERRORS, ("Q", "late"), 2),
            Figure(metrics.ERRORS, ("Q", "lost"), 0),
            Figure(metrics.STATE_ROWS, ("Q",), 7),
            Figure(metrics.LATENCY, ("Q", "b"), times),
            Figure(metrics.PUSH, (), 1),
        ]

    def after(self, seconds: float, **changes: Any) -> QueryFigures:
        self.now += seconds
        vars(self).update(changes)
        self.samples.sample()
        return self.samples.latest()[1]["Q"]


def test_rates_are_those_between_two_samples() -> None:
    engine = FakeEngineFigures()
    first = engine.after(0, committed=100, lag=10)
    assert (first.read_per_s, first.lag_records, first.lag_seconds) == (None, 10, 1.5)
    assert first.arrived_records == 110
    second = engine.after(5, read=50, written=25, committed=130, lag=30, latencies=[98, 1, 1])
    assert (second.read_per_s, second.written_per_s, second.arriving_per_s) == (10, 5, 10)
    assert second.latency_seconds == pytest.approx(0.095 / 0.98, abs=0.001)
    assert second.errors == {"late": 2, "lost": 0}
    # the histogram has grown by slow ones only
    assert engine.after(5, latencies=[98, 2, 1]).latency_seconds == pytest.approx(0.955)


def test_spark_starts_again_and_counters_begin_at_zero() -> None:
    engine = FakeEngineFigures()
    engine.after(0, read=1000, latencies=[9, 0, 0])
    again = engine.after(5, read=20, latencies=[0, 1, 0])
    assert (again.read_per_s, again.latency_seconds) == (4, pytest.approx(0.955))


def test_young_samples_are_used_again() -> None:
    engine = FakeEngineFigures()
    engine.after(0)
    engine.after(1)
    assert engine.asked == 1
    engine.now += 60
    engine.samples.latest()
    assert engine.asked == 2


def test_a_query_that_is_paused_has_new_figures_at_once() -> None:
    engine = FakeEngineFigures()
    engine.after(0, lag=100)
    engine.after(5, read=50, lag=50)
    engine.now += 1
    engine.states["Q"], engine.lag = "PAUSED", 0
    figures = engine.samples.latest()[1]["Q"]
    assert figures.lag_records == 0 and figures.read_per_s == 10
    engine.samples.latest()
    assert engine.asked == 3
    # rates are still those between samples that are far enough apart
    engine.states["Q"] = "RUNNING"
    assert engine.after(4, read=140).read_per_s == 18


def test_samples_that_take_long_are_rare() -> None:
    engine = FakeEngineFigures()
    engine.takes_s = 2.0
    for n in range(100):
        engine.after(5, states={"Q": str(n)})
    assert 10 <= engine.asked <= 14


def test_after_kafka_was_away_the_next_sample_is_soon() -> None:
    engine = FakeEngineFigures()
    engine.after(0, takes_s=20.0, spans=None)
    assert not engine.samples.is_whole
    engine.after(5, takes_s=0.0, spans={"a": TopicSpan(0, 5)})
    assert engine.samples.is_whole and engine.asked == 2
    assert engine.samples.topics()["a"].records == 5


def test_the_lag_of_before() -> None:
    engine = FakeEngineFigures()
    assert engine.samples.lag_before("Q", 30) is None
    for number in range(20):
        engine.after(5, lag=number)
    assert engine.samples.lag_before("Q", 30) == 13
    assert engine.samples.lag_before("Q", 3600) is None and engine.samples.lag_before("R", 30) is None


def test_a_clock_that_is_set_back_stops_nothing() -> None:
    engine = FakeEngineFigures()
    engine.after(0, read=1)
    assert engine.after(-3600, read=100).read_per_s is None
    assert engine.after(5, read=200).read_per_s == 20


def test_what_arrives_in_topics_and_how_much_is_there() -> None:
    engine = FakeEngineFigures()
    engine.after(0, spans={"a": TopicSpan(0, 100)})
    assert engine.samples.topics() == {"a": TopicFigures(arriving_per_s=None, records=100)}
    engine.after(5, spans={"a": TopicSpan(50, 150), "b": TopicSpan(0, 9)})
    assert engine.samples.topics() == {
        "a": TopicFigures(arriving_per_s=10, records=100),
        "b": TopicFigures(arriving_per_s=None, records=9),
    }
    engine.after(5, spans={"a": TopicSpan(0, 5), "b": TopicSpan(0, 9)})  # it was created anew
    assert engine.samples.topics() == {
        "a": TopicFigures(arriving_per_s=None, records=5),
        "b": TopicFigures(arriving_per_s=0, records=9),
    }


def test_other_servers_tell_the_figures_of_their_queries() -> None:
    """What one server says, the other one shows as its own."""
    here, there = FakeEngineFigures(), FakeEngineFigures()
    here.figures = list  # type: ignore[method-assign]
    here.samples = Samples(here.figures, lambda: here.now, remote_figures=lambda: here.told)
    for seconds, read in ((0, 0), (5, 50)):
        expected = there.after(seconds, read=read, lag=30, committed=9)
        here.told = decoded_figures(there.samples.report)
        found = here.after(seconds)
    assert found == replace(expected, errors={"late": 2}, arrived_records=None) and found.read_per_s == 10
    assert here.samples.report == {}  # a server tells of its own queries
    assert here.samples.lag_before("Q", 5) == 30


@pytest.mark.parametrize("said", [{"Q": []}, {"Q": [1, 2]}, {"Q": "x"}, {"Q": [None] * 10}])
def test_what_another_release_says_is_left_out(said: dict[str, Any]) -> None:
    assert decoded_figures(said) == {}


def node(name: str, state: str = "RUNNING", **figures: Any) -> GraphNode:
    return GraphNode(
        id=f"query:{name}", kind="QUERY", name=name, state=state, figures=QueryFigures(errors={}, **figures)
    )


def found(*nodes: GraphNode, grown: dict[str, float] | None = None) -> dict[str, str]:
    """The culprits of queries that follow one another."""
    edges = [GraphEdge(one.id, other.id) for one, other in pairwise(nodes)]
    by_id = {one.id: one for one in nodes}
    return {c.query_id: c.reason for c in culprits(by_id, edges, lambda id_, _: (grown or {}).get(id_, 0.0))}


def test_queries_that_keep_up_are_no_culprits() -> None:
    assert found(node("A", lag_records=900, lag_seconds=0.2), node("B")) == {}
    # it catches up
    assert found(node("A", lag_records=900, lag_seconds=60), grown={"A": -500}) == {}


def test_the_query_that_falls_behind_is_the_culprit_not_those_after_it() -> None:
    slow = node("SLOW", lag_records=9000, lag_seconds=30, arriving_per_s=500, read_per_s=200)
    (reason,) = found(node("A", lag_records=5), slow, node("B"), grown={"A": 5, "SLOW": 9000}).values()
    assert reason == "It falls behind, by 9,000 records in 30 s: 500 records/s arrive, it reads 200/s."


def test_of_several_the_worst_of_each_part() -> None:
    slow, slower = (node(name, lag_records=99, lag_seconds=60) for name in ("SLOW", "SLOWER"))
    assert set(found(slow, slower, grown={"SLOW": 10, "SLOWER": 20})) == {"SLOWER"}
    failed = GraphNode(id="query:F", kind="QUERY", name="F", state="ERROR", error="no topic")
    assert found(slower, failed, grown={"SLOWER": 20}) == {"F": "It has failed: no topic"}
    apart = {one.id: one for one in (slow, failed)}
    assert {c.query_id for c in culprits(apart, [], lambda *_: 10.0)} == {"SLOW", "F"}


def test_a_paused_query_is_one_where_records_wait() -> None:
    assert found(node("P", "PAUSED", lag_records=0)) == {}
    assert found(node("P", "PAUSED", lag_records=1)) == {"P": "It is paused, 1 record waits."}
    assert found(node("P", "PAUSED", lag_records=1200)) == {"P": "It is paused, 1,200 records wait."}
