"""Queries whose state reaches a bound stop with the reason, and go on after RESUME with another bound."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ksql_spark.runtime.queries.managed import ManagedQuery
from ksql_spark.runtime.queries.state_bounds import StateBounds
from ksql_spark.runtime.queries.watching import watcher as query_watcher
from tests.statements.world import FakeSparkQuery, World
from tests.waiting import until

BYTES, ENTRIES = "ksql.query.state.max.bytes", "ksql.query.state.max.entries"
STATEMENT = "CREATE TABLE n AS SELECT v, COUNT(*) AS n FROM s GROUP BY v EMIT CHANGES;"


@pytest.fixture
def world(make_world: Callable[..., World], monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setattr(query_watcher, "LOOK_AT_STATES_EVERY_S", 0.01)
    return make_world()


def grows_to(query: ManagedQuery, size_bytes: int, **metrics: int) -> None:
    """Spark reports this size, and metrics of RocksDB, at the next checkpoint."""
    operator = {"memoryUsedBytes": size_bytes, "customMetrics": metrics}
    for run in query.spark:
        assert isinstance(run, FakeSparkQuery)
        run.progress = {"id": "1", "timestamp": "2026-01-01T00:00:00Z", "stateOperators": [operator]}  # type: ignore[assignment]


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    """What the log says of states."""
    return [text for record in caplog.records if (text := record.getMessage()).startswith("state of query")]


def test_a_full_state_stops_its_query_until_the_bound_is_raised(world: World) -> None:
    world.run(f"SET '{BYTES}' = '1000'; {STATEMENT}")
    (query,) = world.queries.all()
    grows_to(query, 999)
    until(lambda: world.queries.figures.state_bounds.fill(query.id) is not None)
    assert query.state == "RUNNING"
    topology = world.one(f"EXPLAIN {query.id};")["queryDescription"]["topology"]
    assert "Bound of its state: 99 % of 1,000 bytes" in topology
    grows_to(query, 1200)
    until(lambda: query.state == "ERROR")
    (row,) = world.one("SHOW QUERIES;")["queries"]
    assert row["error"].startswith(
        f"The query's state has reached its bound: 120 % of 1,000 bytes ({BYTES})."
    )
    assert query.is_halted
    world.run(f"SET '{BYTES}' = '5000'; RESUME {query.id};")
    grows_to(query, 1300)
    until(lambda: world.queries.figures.state_bounds.fill(query.id).most == 5000)
    assert query.state == "RUNNING"
    world.run(f"RESUME {query.id};")  # the bound stays
    assert query.properties[BYTES] == 5000


def test_a_raised_bound_outlives_a_restart(world: World) -> None:
    world.run(f"SET '{BYTES}' = '1000'; {STATEMENT}")
    (query,) = world.queries.all()
    world.run(f"SET '{BYTES}' = '5000'; RESUME {query.id};")
    world.restart()
    (query,) = world.queries.all()
    assert query.properties[BYTES] == 5000


def test_who_is_nearly_full_is_warned_of_once(world: World, caplog: pytest.LogCaptureFixture) -> None:
    world.run(f"SET '{BYTES}' = '1000'; {STATEMENT}")
    (query,) = world.queries.all()
    grows_to(query, 850)
    until(lambda: warnings(caplog))
    grows_to(query, 860)
    until(lambda: world.queries.figures.state_bounds.fill(query.id).size == 860)
    (warning,) = warnings(caplog)
    assert warning == f"state of query {query.id}: 85 % of 1,000 bytes ({BYTES})"


def test_queries_without_a_bound_are_not_looked_at(world: World) -> None:
    world.run(STATEMENT)
    (query,) = world.queries.all()
    grows_to(query, 10**15)
    world.run(f"SET '{ENTRIES}' = '5'; CREATE STREAM other AS SELECT * FROM s EMIT CHANGES;")
    assert query.state == "RUNNING"
    assert world.queries.figures.state_bounds.fill(query.id) is None


def test_growth_and_the_time_until_it_is_full() -> None:
    now = [0.0]
    bounds = StateBounds(lambda: now[0])
    setting: Callable[[str], Any] = {BYTES: 10_000_000, ENTRIES: 2_000}.get
    for minute in range(0, 90):
        now[0] = 60.0 * minute
        bounds.note("q", 1_000 * minute, 10 * minute, setting)
    fill = bounds.fill("q")
    assert str(fill) == f"44 % of 2,000 entries ({ENTRIES}); it grows by 600 an hour and is full in 2 hours"
    bounds.note("q", 9_999_000, 10 * minute, setting)
    assert bounds.fill("q").name == BYTES  # type: ignore[union-attr]
    bounds.keep(())
    assert bounds.fill("q") is None


def test_explain_says_that_a_state_has_outgrown_its_memory(world: World) -> None:
    world.run(STATEMENT)
    (query,) = world.queries.all()

    def topology() -> str:
        text: str = world.one(f"EXPLAIN {query.id};")["queryDescription"]["topology"]
        return text

    grows_to(query, 999, rocksdbGetCount=200_000, rocksdbReadBlockCacheMissCount=20_000)
    assert "outgrown" not in topology()
    grows_to(query, 999, rocksdbGetCount=20_000, rocksdbReadBlockCacheMissCount=31_000)
    said = "RocksDB read 31,000 blocks from files for 20,000 look-ups: the state has outgrown its memory"
    assert f"Memory of its state: {said}" in topology()
