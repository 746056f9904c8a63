"""Figures about queries and views (GET /metrics)."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from ksql_spark.engine.metrics import MEASURES, Measures
from ksql_spark.engine.query_service import QueryService
from ksql_spark.errors import KsqlError
from ksql_spark.spark.traffic import Times, Traffic, Volume
from tests.statements.world import World


def figures(world: World) -> dict[tuple[str, ...], Any]:
    found = Measures(world.services, QueryService(world.services)).figures()
    assert all(
        figure.measure in MEASURES and len(figure.labels) == len(figure.measure.labels) for figure in found
    )
    return {(figure.measure.name, *figure.labels): figure.value for figure in found}


def with_ends(world: World, ends: dict[tuple[str, int], int]) -> None:
    def ask(topics: Sequence[str]) -> dict[tuple[str, int], int]:
        return {key: end for key, end in ends.items() if key[0] in topics}

    world.services.views._ends._send = ask


def test_a_querys_state_and_lag(make_world: Callable[..., World]) -> None:
    world = make_world()
    world.run("CREATE STREAM c AS SELECT * FROM s;")
    (query,) = world.queries.all()
    with_ends(world, {("s", 0): 10, ("s", 1): 20, ("s", 2): 0})
    found = figures(world)
    assert found["query_state", query.id, "RUNNING"] == 1
    assert found["query_lag_records", query.id, "s"] == 30
    assert found["query_read_offsets", query.id, "s"] == 0
    world.commit(query.id, 0, s={"0": 8, "1": 20, "2": 0})
    found = figures(world)
    assert found["query_lag_records", query.id, "s"] == 2
    assert found["query_read_offsets", query.id, "s"] == 28
    assert found["query_record_errors", query.id, "late"] == 0


def test_tasks_are_ahead_of_the_last_checkpoint(
    make_world: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> None:
    world = make_world()
    world.run("CREATE STREAM c AS SELECT * FROM s;")
    (query,) = world.queries.all()
    with_ends(world, {("s", 0): 10, ("s", 1): 20})
    world.commit(query.id, 0, s={"0": 8, "1": 20})
    none = Times((), (0,), 0.0)
    traffic = Traffic({}, {}, {}, none, None, {"s": {0: 10, 1: 3}})
    monkeypatch.setattr(world.queries.figures, "traffic", lambda: {query.id: traffic})
    found = figures(world)
    assert found["query_lag_records", query.id, "s"] == 0
    assert found["query_read_offsets", query.id, "s"] == 30


def test_what_a_query_reads_and_writes(
    make_world: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> None:
    world = make_world()
    world.run("CREATE STREAM c AS SELECT * FROM s;")
    (query,) = world.queries.all()
    with_ends(world, {})
    times = Times((0.001,), (1, 2), 0.5)
    now = time.time()
    read, written = {"s": Volume(3, 60)}, {"C": Volume(2, 30)}
    traffic = Traffic(read, written, {"C": times}, times, int(now * 1000) - 5000, {})
    monkeypatch.setattr(world.queries.figures, "traffic", lambda: {query.id: traffic, "gone": traffic})
    found = figures(world)
    assert found["query_read_records", query.id, "s"] == 3
    assert found["query_read_bytes", query.id, "s"] == 60
    assert found["query_written_records", query.id, "C"] == 2
    assert found["query_latency_seconds", query.id, "C"] == found["query_pause_seconds", query.id] == times
    assert found["query_lag_seconds", query.id] >= 5
    assert not [labels for _, *labels in found if "gone" in labels]
    monkeypatch.setattr(
        world.queries.figures, "traffic", lambda: {query.id: traffic._replace(waiting_ms=None)}
    )
    assert figures(world)["query_lag_seconds", query.id] == 0
    world.queries.pause(query.id)
    assert ("query_lag_seconds", query.id) not in figures(world)


def test_failures_are_counted(make_world: Callable[..., World]) -> None:
    world = make_world()
    world.run("CREATE STREAM c AS SELECT * FROM s;")
    (query,) = world.queries.all()
    with_ends(world, {})
    world.queries.failed(query, RuntimeError("gone"))
    world.queries.failed(query, RuntimeError("gone"))
    found = figures(world)
    assert found["query_failures", query.id] == 2
    assert found["query_state", query.id, "ERROR"] == 1


def test_a_broker_that_is_gone_leaves_out_lags_only(make_world: Callable[..., World]) -> None:
    world = make_world()
    world.run("CREATE STREAM c AS SELECT * FROM s;")
    (query,) = world.queries.all()

    def gone(topics: Sequence[str]) -> dict[tuple[str, int], int]:
        raise KsqlError("BROKER_UNREACHABLE", servers="nowhere", reason="it is gone")

    world.services.views._ends._send = gone
    found = figures(world)
    assert found["query_state", query.id, "RUNNING"] == 1
    assert ("query_lag_records", query.id, "s") not in found


def test_known_plans_are_counted(make_world: Callable[..., World]) -> None:
    world = make_world()
    queries = QueryService(world.services)
    queries.plans.hits, queries.plans.misses = 3, 1
    found = {f.measure.name: f.value for f in Measures(world.services, queries).figures()}
    assert (found["plan_cache_hits"], found["plan_cache_misses"]) == (3, 1)
