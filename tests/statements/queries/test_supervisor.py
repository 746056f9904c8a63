"""The end of Spark's JVM, and what becomes of the queries, on fakes."""

from __future__ import annotations

import queue
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from ksql_spark.runtime.driver.startup import SparkStart
from ksql_spark.runtime.driver.supervisor import SparkSupervisor
from ksql_spark.runtime.queries.managed import ManagedQuery
from tests.statements.world import World
from tests.waiting import until

#: exit codes: of Spark's own when memory is exhausted, and of kill -9
OUT_OF_MEMORY, KILLED = 52, -9
LONG_S = 1000.0


class FakeJvm:
    """A JVM that ends when a test says so."""

    def __init__(self) -> None:
        self.is_alive = True
        self.restarts = 0
        self.refusals = 0
        self._codes: queue.SimpleQueue[int] = queue.SimpleQueue()

    def wait(self) -> int:
        return self._codes.get()

    def restart(self) -> None:
        if self.refusals:
            self.refusals -= 1
            raise OSError("no memory")
        self.restarts += 1
        self.is_alive = True

    def end(self, code: int) -> None:
        self.is_alive = False
        self._codes.put(code)

    def kill(self) -> None:
        self.end(KILLED)


class Supervised:
    """A world with two queries, and a supervisor."""

    def __init__(self, world: World, proven_after_s: float) -> None:
        self.world, self.jvm = world, FakeJvm()
        self.told: list[str] = []
        for name in "abc":
            world.run(f"CREATE STREAM {name} AS SELECT * FROM s EMIT CHANGES;")
        queries = world.queries
        self.starting = SparkStart(self.jvm.restart, lambda: 0.0, lambda: False)
        self.supervisor = SparkSupervisor(
            self.jvm, self.starting, queries, lambda: self.told.append("restarted"), proven_after_s
        )
        self.supervisor.start()

    def query(self, name: str) -> ManagedQuery:
        (query,) = (q for q in self.world.queries.all() if q.plan.sink.name == name)
        return query

    def states(self) -> dict[str, str]:
        return {q.plan.sink.name: q.state for q in self.world.queries.all()}

    def end(self, code: int) -> None:
        """End the JVM, and wait until all is as well as it will be."""
        before = self.jvm.restarts
        self.jvm.end(code)
        until(lambda: self.jvm.restarts > before)

    def close(self) -> None:
        self.supervisor.close()
        self.jvm.end(0)


ALL = {"A": "RUNNING", "B": "RUNNING", "C": "RUNNING"}


@pytest.fixture
def supervised(world: World) -> Iterator[Callable[[float], Supervised]]:
    made: list[Supervised] = []

    def make(proven_after_s: float) -> Supervised:
        made.append(Supervised(world, proven_after_s))
        return made[-1]

    yield make
    for each in made:
        each.close()


def test_queries_go_on_in_a_new_jvm(supervised: Callable[[float], Supervised]) -> None:
    there = supervised(LONG_S)
    old = {q.id: q.spark[0] for q in there.world.queries.all()}
    there.end(KILLED)
    until(lambda: there.states() == ALL)
    assert there.told == ["restarted"]
    assert all(q.spark[0] is not old[q.id] for q in there.world.queries.all())
    assert "was ended by signal SIGKILL" in there.query("A").errors[-1].message
    assert there.query("A").errors[-1].type == "SYSTEM"


def test_no_query_is_to_blame_if_the_clock_is_set_back(supervised: Callable[[float], Supervised]) -> None:
    there = supervised(LONG_S)
    for number in range(1, 4):
        until(lambda: not there.supervisor._recovering)
        there.supervisor.clock_set_back(3600)
        until(lambda times=number: there.jvm.restarts == times and there.states() == ALL)  # type: ignore[misc]
    assert "was ended because the clock was set back by 3600 s" in there.query("A").errors[-1].message


def test_a_jvm_that_does_not_start_is_tried_again(
    supervised: Callable[[float], Supervised], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ksql_spark.runtime.driver.startup.FIRST_PAUSE_S", 0.01)
    there = supervised(LONG_S)
    there.jvm.refusals = 3
    told: list[str | None] = []
    restart = there.jvm.restart

    def noted() -> None:
        told.append(there.starting.problem)
        restart()

    there.starting._start = noted
    there.end(OUT_OF_MEMORY)
    until(lambda: there.states() == ALL)
    assert told[0] == "Spark's process ended with code 52. It is restarting."
    assert str(told[3]).startswith("Spark did not start: no memory The next attempt is in ")
    assert there.starting.problem is None


def test_queries_are_watched_again_in_a_new_jvm(supervised: Callable[[float], Supervised]) -> None:
    class Gone:
        @property
        def is_active(self) -> bool:
            raise ConnectionRefusedError

    there = supervised(LONG_S)
    there.query("A").spark[0] = Gone()  # type: ignore[call-overload]
    until(lambda: there.states()["A"] == "ERROR")  # noticed before the supervisor has noticed
    there.end(OUT_OF_MEMORY)
    until(lambda: there.states() == ALL)
    there.query("B").spark[0].is_active = False  # type: ignore[misc]
    until(lambda: any("ended unexpectedly" in error.message for error in there.query("B").errors))
    until(lambda: there.states() == ALL)


def test_what_was_paused_or_dropped_stays_so(supervised: Callable[[float], Supervised]) -> None:
    there = supervised(LONG_S)
    there.world.run(f"PAUSE {there.query('A').id};")
    there.jvm.refusals = 1
    there.jvm.end(OUT_OF_MEMORY)
    until(lambda: there.states()["B"] == "ERROR")
    there.world.run("DROP STREAM b;")
    until(lambda: there.states() == {"A": "PAUSED", "C": "RUNNING"})


def test_queries_that_have_run_for_a_while_are_never_halted(
    supervised: Callable[[float], Supervised],
) -> None:
    there = supervised(0.0)
    for _ in range(5):
        there.end(OUT_OF_MEMORY)
        until(lambda: there.states() == ALL)


@pytest.mark.parametrize("code, ends", [(OUT_OF_MEMORY, 2), (KILLED, 3)])
def test_the_only_query_that_ends_the_jvm_again_and_again(
    code: int, ends: int, supervised: Callable[[float], Supervised]
) -> None:
    there = supervised(LONG_S)
    there.world.run("DROP STREAM b; DROP STREAM c;")
    for _ in range(ends - 1):
        there.end(code)
        until(lambda: there.states() == {"A": "RUNNING"})
    there.end(code)
    until(lambda: there.states() == {"A": "ERROR"})
    query = there.query("A")
    assert f"RESUME {query.id} retries it" in query.errors[-1].message
    there.world.run(f"RESUME {query.id};")
    assert there.states() == {"A": "RUNNING"}


def test_the_query_that_ends_the_jvm_is_found_among_others(
    supervised: Callable[[float], Supervised], monkeypatch: pytest.MonkeyPatch
) -> None:
    there = supervised(0.3)
    launcher = there.world.queries._runs._launcher
    launch = launcher.launch

    def deadly(query: ManagedQuery, number: int, until: Any = None) -> Any:
        started = launch(query, number, until)
        if query.plan.sink.name == "B":
            there.jvm.end(OUT_OF_MEMORY)
        return started

    monkeypatch.setattr(launcher, "launch", deadly)
    there.jvm.end(OUT_OF_MEMORY)
    # B is in ERROR for a moment after each end, too
    until(lambda: any("RESUME" in error.message for error in there.query("B").errors))
    until(lambda: there.states() == {"A": "RUNNING", "B": "ERROR", "C": "RUNNING"})
    assert not there.query("A").errors[-1].message.startswith("RESUME")
