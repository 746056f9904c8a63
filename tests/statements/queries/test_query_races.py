"""Threads that change a query at the same time: what came first decides, and nothing runs twice."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from typing import Any

import pytest

from ksql_spark.errors import KsqlError
from ksql_spark.runtime.queries.managed import ManagedQuery
from ksql_spark.runtime.queries.watching import watcher as query_watcher
from tests.statements.world import World
from tests.waiting import until

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

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        return self._own.acquire(blocking, timeout)

    def release(self) -> None:
        self._own.release()

    def __enter__(self) -> None:
        self._own.acquire()
        act, self._act = self._act, lambda: None
        act()

    def __exit__(self, *_: object) -> None:
        self._own.release()


def launches(world: World, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The Spark queries that are started from now on."""
    started, launch = [], world.queries._runs._launcher.launch

    def launched(query: ManagedQuery, number: int, until: Any = None) -> Any:
        started.append(launch(query, number, until))
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
    assert query.state == "PAUSED" and not query.errors and not query.loading


def test_nothing_of_a_query_runs_whose_next_stage_does_not_start(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    launch, first = world.queries._runs._launcher.launch, []

    def launched(query: ManagedQuery, number: int, until: Any = None) -> Any:
        if number > 0:
            raise KsqlError("QUERY_FAILED", id=query.id, reason="Spark says no")
        first.append(launch(query, number, until))
        return first[-1]

    monkeypatch.setattr(world.queries._runs, "_ends", lambda *_: {})
    monkeypatch.setattr(world.queries._runs._launcher, "launch", launched)
    world.run(TWO_STAGES)
    (query,) = world.queries.all()
    until(lambda: query.state == "ERROR" and not query.loading)
    assert not query.spark and [run.is_active for run in first] == [False]


def test_what_runs_of_a_query_is_ended_before_it_is_started_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    launch = world.queries._runs._launcher.launch
    is_refused = True
    started = []

    def launched(query: ManagedQuery, number: int, until: Any = None) -> Any:
        if number > 0 and is_refused:
            raise ConnectionRefusedError  # as if the JVM had gone, which the supervisor would notice
        started.append(launch(query, number, until))
        return started[-1]

    monkeypatch.setattr(world.queries._runs, "_ends", lambda *_: {})
    monkeypatch.setattr(world.queries._runs._launcher, "launch", launched)
    world.run(TWO_STAGES)
    (query,) = world.queries.all()
    until(lambda: query.state == "ERROR" and not query.loading)
    is_refused = False
    world.queries.restart(query.id)
    until(lambda: len(query.spark) == 2)
    assert [run for run in started if run.is_active] == query.spark


class Jvm:
    """Of Spark, that ends now and then: what it runs ends with it."""

    def __init__(self, world: World, chance: random.Random) -> None:
        self._manager, self._chance = world.queries, chance
        self._launch = world.queries._runs._launcher.launch
        self._lock = threading.Lock()
        self._is_there = self.is_well = True
        self.runs: list[Any] = []

    def launch(self, query: ManagedQuery, number: int, until: Any = None) -> Any:
        if not self.is_well and self._chance.random() < 0.1:
            raise self._chance.choice([KsqlError("STOPPED"), RuntimeError("odd"), ConnectionRefusedError()])
        run = self._launch(query, number, until)
        with self._lock:
            if not self._is_there:
                raise KsqlError("SPARK_RESTARTING")
            self.runs.append(run)
        return run

    def end(self) -> None:
        with self._lock:
            self._is_there = False
            for run in self.runs:
                run.is_active = False
        lost = self._manager.spark_loss.begin("Spark's process ended")
        with self._lock:
            self._is_there = True
        self._manager.spark_loss.end()
        for query in lost:
            self._manager.spark_loss.restart(query)


def runs_all(query: ManagedQuery) -> bool:
    """Whether both of its stages run."""
    return [run.is_active for run in list(query.spark)] == [True, True]


@pytest.mark.parametrize("seed", range(4))
def test_whatever_is_done_at_once_no_spark_query_is_left_behind(
    make_world: Callable[..., World], monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr(query_watcher, "WATCH_EVERY_S", 0.002)
    pauses = {"ksql.query.retry.backoff.initial.ms": 1, "ksql.query.retry.backoff.max.ms": 5}
    world = make_world(**pauses)
    manager, jvm = world.queries, Jvm(world, random.Random(seed))
    monkeypatch.setattr(manager._runs, "_ends", lambda *_: {})
    monkeypatch.setattr(manager._runs._launcher, "launch", jvm.launch)
    for name in "ab":
        world.run(TWO_STAGES.replace("a WITH", f"{name} WITH"))
    queries = manager.all()
    jvm.is_well = False

    def fail(query: ManagedQuery) -> None:
        for run in list(query.spark)[:1]:
            run.is_active = False  # type: ignore[misc]

    def act(number: int) -> None:
        chance = random.Random(f"{seed} {number}")
        for _ in range(60):
            query = chance.choice(queries)
            if number == 0 and chance.random() < 0.1:
                jvm.end()
            by_id = chance.choice([manager.pause, manager.resume, manager.restart, None])
            if by_id is not None:
                by_id(query.id)
            else:
                chance.choice([manager.rebuild, fail])(query)

    threads = [threading.Thread(target=act, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    jvm.is_well = True
    manager.resume(*world.ids())
    for query in queries:
        until(lambda: query.state == "RUNNING" and not query.loading and runs_all(query))  # noqa: B023
    here = {id(run) for query in queries for run in query.spark}
    assert {id(run) for run in jvm.runs if run.is_active} == here
    assert manager.watcher.problem is None
