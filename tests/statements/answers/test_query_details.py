"""How a query runs, step by step (GET /queries/{id})."""

from __future__ import annotations

from typing import Any

import pytest

from ksql_spark.authorization import ALL_RIGHTS, Rights
from ksql_spark.engine.graph import Graphs
from ksql_spark.engine.query_details import query_details
from ksql_spark.engine.samples import Samples
from ksql_spark.errors import KsqlError
from ksql_spark.plan.planner import EXECUTION_MODE
from ksql_spark.runtime.queries.figures import QueryFigures
from ksql_spark.runtime.queries.managed import ManagedQuery
from ksql_spark.spark.query import REPORTS, Reports
from ksql_spark.spark.traffic import Times, Traffic, Volume
from tests.statements.world import World

NO_TIMES = Times((0.1,), (0, 0), 0.0)


def created(world: World, text: str) -> ManagedQuery:
    world.run(text)
    (query,) = world.queries.all()
    return query


def figures(query: ManagedQuery, **more: object) -> QueryFigures:
    nothing = {
        "read": {},
        "written": {},
        "latencies": {},
        "pauses": NO_TIMES,
        "waiting_ms": None,
        "reached": {},
    }
    traffic = Traffic(**{**nothing, **more})  # type: ignore[arg-type]

    class Figures(QueryFigures):
        def traffic(self) -> dict[str, Traffic]:
            return {query.id: traffic}

    return Figures(None)


def test_steps_and_what_flows_through_them(world: World) -> None:
    query = created(world, "CREATE STREAM c WITH (KAFKA_TOPIC = 'other') AS SELECT * FROM s WHERE v > 1;")
    found = query_details(query, figures(query, read={"s": Volume(7, 70)}, written={"other": Volume(3, 30)}))
    (stage,) = found.sub_topologies
    titles = [step.title for step in stage.steps]
    assert titles[0] == "Stream Source" and titles[-1] == "Sink" and "Stream Filter" in titles
    ids = [step.id for step in stage.steps]
    assert all(set(step.inputs) <= set(ids[:at]) for at, step in enumerate(stage.steps))
    volumes = {step.topic: step.volume and step.volume.records for step in stage.steps if step.topic}
    assert volumes == {"s": 7, "other": 3}
    assert [step.title for step in found.logical][-1] == "Project"
    assert found.pauses is None and stage.state is None and stage.checkpoints == ()
    assert all(
        step.volume is None for step in query_details(query, QueryFigures(None)).sub_topologies[0].steps
    )


def test_sub_topologies_meet_at_internal_topics(world: World) -> None:
    query = created(world, "CREATE TABLE c AS SELECT v, COUNT(*) AS n FROM s GROUP BY v;")
    found = query_details(query, QueryFigures(None))
    assert found.sub_topologies[-1].steps[-1].topic == "C"
    assert any(step.state == "the aggregates of each key" for step in found.sub_topologies[-1].steps)
    for before, after in zip(found.sub_topologies, found.sub_topologies[1:], strict=False):
        assert before.steps[-1].topic in {step.topic for step in after.steps[:-1]}


def test_latencies_and_pauses(world: World) -> None:
    query = created(world, "CREATE STREAM c AS SELECT * FROM s;")
    times = Times((0.1, 1.0), (4, 2, 1), 3.5)
    found = query_details(query, figures(query, latencies={"C": times}, pauses=times))
    assert found.latencies["C"].counts == (4, 2, 1) and found.pauses is not None
    assert found.pauses.sum_seconds == 3.5


def report(batch: int, **parts: int) -> dict[str, Any]:
    return {
        "batchId": batch, "timestamp": "2026-11-26T10:00:00.500Z", "batchDuration": 40,
        "numInputRows": 3, "durationMs": parts, "sources": [],
    }  # fmt: skip


@pytest.mark.parametrize(("mode", "pause_ms"), [("realtime", 10), ("microbatch", None)])
def test_checkpoints(world: World, monkeypatch: pytest.MonkeyPatch, mode: str, pause_ms: int | None) -> None:
    query = created(world, f"SET '{EXECUTION_MODE}' = '{mode}'; CREATE STREAM c AS SELECT * FROM s;")
    monkeypatch.setattr(query.spark[0], "recent", [report(7, addBatch=30, commitOffsets=5)], False)
    ((found,),) = (stage.checkpoints for stage in query_details(query, QueryFigures(None)).sub_topologies)
    assert (found.batch, found.time_ms % 1000, found.took_ms, found.records) == (7, 500, 40, 3)
    assert (found.parts_ms, found.pause_ms) == ({"addBatch": 30, "commitOffsets": 5}, pause_ms)


def test_what_it_has_reached_by_now(world: World) -> None:
    query = created(world, "CREATE STREAM c AS SELECT * FROM s;")
    assert query_details(query, QueryFigures(None)).reached == {}
    assert query_details(query, figures(query, reached={"s": {0: 7, 1: 9}})).reached == {
        "s": {"0": 7, "1": 9}
    }


def test_reports_are_of_batches_that_ran() -> None:
    reports = Reports()
    for batch in range(REPORTS + 9):
        reports.note(report(batch, commitOffsets=batch))
    for odd in (report(58, latestOffset=1), {"odd": 1}, None):  # none is a batch
        reports.note(odd)
    reports.note(report(20, addBatch=1))  # seen again
    assert [it["batchId"] for it in reports.latest()] == list(range(9, REPORTS + 9))
    assert (
        reports.latest()[-1]["durationMs"] == {"commitOffsets": 58} and "sources" not in reports.latest()[0]
    )


def test_what_happened_to_it(world: World) -> None:
    query = created(world, "CREATE STREAM c AS SELECT * FROM s;")
    world.queries.pause(query.id)
    world.queries.resume(query.id)
    with query.control:
        world.queries.failed(query, KsqlError("SOURCE_TOPIC_DELETED", topic="s"))
    events = [(it.event, it.state, it.reason) for it in query_details(query, QueryFigures(None)).transitions]
    assert [event for event, _, _ in events] == ["start", "pause", "resume", "start", "fail"]
    assert events[-1][1] == "ERROR" and "s" in (events[-1][2] or "") and events[0][2] is None


def test_only_those_who_may_see_it(world: World) -> None:
    query = created(world, "CREATE STREAM c AS SELECT * FROM s;")
    graphs = Graphs(world.services, Samples(lambda: []))
    assert graphs.details(query.id.lower(), ALL_RIGHTS).id == query.id
    for id_, rights in ((query.id, Rights.of(["reader:s"])), ("NONE_9", ALL_RIGHTS)):
        with pytest.raises(KsqlError) as error:
            graphs.details(id_, rights)
        assert error.value.condition == "QUERY_UNKNOWN"
