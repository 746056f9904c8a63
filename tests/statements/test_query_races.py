"""Threads that change a query at the same time: what came first decides, and nothing runs twice."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from ksql_spark.errors import KsqlError
from ksql_spark.runtime.managed_query import ManagedQuery
from tests.statements.world import World

TIMEOUT_S = 20.0

TWO_STAGES = """
CREATE TABLE a WITH (ORDER = 'event-time') AS
  SELECT s.w, COUNT(*) AS n FROM s JOIN t ON s.k = t.k GROUP BY s.w EMIT CHANGES;
"""


class Overtaken:
    """A query's control that somebody else has got just before.

    Args:
        query: whose control it is.
        act: what they do with it.
    """

    def __init__(self, query: ManagedQuery, act: Callable[[], object]) -> None:
        self._own, self._act = query.control, act
        query.control = self  # type: ignore[assignment]

    def acquire(self, blocking: bool = True) -> bool:
        return self._own.acquire(blocking)

    def release(self) -> None:
        self._own.release()

    def __enter__(self) -> None:
        self._own.acquire()
        act, self._act = self._act, lambda: None
        act()

    def __exit__(self, *_: object) -> None:
        self._own.release()


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + TIMEOUT_S
    while not condition():
        assert time.monotonic() < deadline


def launches(world: World, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The Spark queries that are started from now on."""
    started, launch = [], world.queries._runs._launcher.launch

    def launched(query: ManagedQuery, number: int) -> Any:
        started.append(launch(query, number))
        return started[-1]

    monkeypatch.setattr(world.queries._runs._launcher, "launch", launched)
    return started


@pytest.fixture
def query(world: World) -> ManagedQuery:
    world.run("CREATE STREAM a AS SELECT * FROM s EMIT CHANGES;")
    (found,) = world.queries.all()
    return found


def test_resume_leaves_a_query_alone_that_was_started_meanwhile(
    world: World, query: ManagedQuery, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.queries.pause(query.id)
    started = launches(world, monkeypatch)
    Overtaken(query, lambda: world.queries.resume(query.id))
    world.queries.resume(query.id)
    assert query.spark == started and len(started) == 1 and query.state == "RUNNING"


def test_restart_leaves_a_query_alone_that_was_paused_meanwhile(world: World, query: ManagedQuery) -> None:
    Overtaken(query, lambda: world.queries.pause(query.id))
    world.queries.restart(query.id)
    assert query.state == "PAUSED" and not query.spark


def test_restart_does_not_bring_back_a_query_that_was_dropped_meanwhile(
    world: World, query: ManagedQuery, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = launches(world, monkeypatch)
    Overtaken(query, lambda: world.queries.drop(query))
    world.queries.restart(query.id)
    assert not world.ids() and not started and not world.checkpoint(query.id).exists()


def test_a_query_that_was_dropped_meanwhile_is_not_rebuilt(world: World, query: ManagedQuery) -> None:
    Overtaken(query, lambda: world.queries.drop(query))
    with pytest.raises(KsqlError, match="Unknown queryId"):
        world.queries.rebuild(query)
    assert not world.ids() and not world.checkpoint(query.id).exists()


def test_a_query_that_is_paused_while_it_reads_history_does_not_fail(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_reading, is_paused = threading.Event(), threading.Event()

    def ends(*_: object) -> Any:
        is_reading.set()
        assert is_paused.wait(TIMEOUT_S)
        raise KsqlError("BROKER_UNREACHABLE", servers="nowhere", reason="it is gone")

    monkeypatch.setattr(world.queries._runs, "_ends", ends)
    world.run(TWO_STAGES)
    (query,) = world.queries.all()
    assert is_reading.wait(TIMEOUT_S)
    (reader,) = [thread for thread in threading.enumerate() if thread.name == f"backfill-{query.id}"]
    world.run(f"PAUSE {query.id};")
    is_paused.set()
    reader.join(TIMEOUT_S)
    assert query.state == "PAUSED" and not query.errors and not query.is_loading


def test_nothing_of_a_query_runs_whose_next_stage_does_not_start(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    launch, first = world.queries._runs._launcher.launch, []

    def launched(query: ManagedQuery, number: int) -> Any:
        if number > 0:
            raise KsqlError("QUERY_FAILED", id=query.id, reason="Spark says no")
        first.append(launch(query, number))
        return first[-1]

    monkeypatch.setattr(world.queries._runs, "_ends", lambda *_: {})
    monkeypatch.setattr(world.queries._runs._launcher, "launch", launched)
    world.run(TWO_STAGES)
    (query,) = world.queries.all()
    wait_for(lambda: query.state == "ERROR" and not query.is_loading)
    assert not query.spark and [run.is_active for run in first] == [False]
