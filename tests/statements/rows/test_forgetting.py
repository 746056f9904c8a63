"""What FORGET waits for, without Spark: records that were there when it came must not bring a key back."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from ksql_spark.authorization import Rights
from ksql_spark.deadline import Deadline
from ksql_spark.engine.request import Request
from ksql_spark.entities.commands import RowsForgotten
from ksql_spark.errors import KsqlError
from ksql_spark.kafka.consumer import Record
from ksql_spark.runtime.queries.changes import catching_up
from ksql_spark.runtime.queries.checkpoints import Forgotten
from ksql_spark.runtime.queries.differences import Place
from ksql_spark.runtime.queries.states import Event
from ksql_spark.statements.rows import forgetting
from tests.statements.world import World

EARLIEST = "SET 'auto.offset.reset' = 'earliest'; "
A = "CREATE STREAM a AS SELECT * FROM s EMIT CHANGES;"
COUNTS = "CREATE TABLE counts AS SELECT w, COUNT(*) AS n FROM s GROUP BY w EMIT CHANGES;"
FORGET = "FORGET FROM counts WHERE w = 'ann';"

#: what happens at each look that finds records left
Steps = Callable[[], None]


class Watched:
    """A world in which something happens whenever FORGET is about to look again.

    Args:
        world: the world.
        monkeypatch: pytest's.
    """

    def __init__(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        self.world, self._monkeypatch = world, monkeypatch
        self.steps: Iterator[Steps] = iter(())
        self.removed = 0
        monkeypatch.setattr(catching_up.time, "sleep", lambda _: next(self.steps)())
        monkeypatch.setattr(forgetting._Task, "run", lambda task: self._run(task))

    def _run(self, task: forgetting._Task) -> RowsForgotten:
        if task._done is not None:
            task._done.check()
        self.removed += 1
        return RowsForgotten(
            statement_text="", name="", query_id="", is_preview=False, count=0, places=(), message=""
        )

    def time_out(self) -> None:
        def check(_: Deadline) -> None:
            raise KsqlError("STATEMENT_TIMEOUT", limit="1")

        self._monkeypatch.setattr(Deadline, "check", check)

    def refused(self, *steps: Steps) -> str:
        self.steps = iter(steps)
        error = self.world.refused(FORGET)
        assert error.condition == "QUERY_REPEATS" and self.removed == 0
        assert next(self.steps, None) is None
        return error.message

    def forgets(self, *steps: Steps) -> None:
        self.steps = iter(steps)
        self.world.run(FORGET)
        assert self.removed == 1 and next(self.steps, None) is None


@pytest.fixture
def watched(world: World, monkeypatch: pytest.MonkeyPatch) -> Watched:
    return Watched(world, monkeypatch)


def end_of(world: World, topic: str, end: int, partition: int = 0) -> None:
    world.admin.ends[topic, partition] = end


def test_a_query_without_records_is_waited_for_by_nobody(watched: Watched) -> None:
    watched.world.run(COUNTS)
    watched.forgets()


def test_what_was_there_is_committed_first(watched: Watched) -> None:
    world = watched.world
    world.run(EARLIEST + COUNTS)
    end_of(world, "s", 3)
    end_of(world, "s", 2, partition=2)
    watched.forgets(
        lambda: world.commit("CTAS_COUNTS_2", 0, s={"0": 3, "1": 0, "2": 1}),
        lambda: end_of(world, "s", 9),  # what comes after it is not waited for
        lambda: world.commit("CTAS_COUNTS_2", 1, s={"0": 3, "1": 0, "2": 2}),
    )


def test_what_retention_has_deleted_is_not_waited_for(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = watched.world
    world.run(EARLIEST + COUNTS)
    end_of(world, "s", 3)
    monkeypatch.setattr(world.admin, "beginning_offsets", world.admin.end_offsets)
    watched.forgets()


def test_a_topic_that_is_gone_is_not_waited_for(watched: Watched) -> None:
    world = watched.world
    world.run(EARLIEST + COUNTS)
    end_of(world, "s", 3)
    world.admin.delete_topics(["s"])
    watched.forgets()


def test_a_query_that_does_not_commit_in_time(watched: Watched) -> None:
    world = watched.world
    world.run(EARLIEST + COUNTS)
    end_of(world, "s", 1234)
    world.commit("CTAS_COUNTS_2", 0, s={"0": 1, "1": 0, "2": 0})
    message = watched.refused(watched.time_out)
    assert message == (
        "Query CTAS_COUNTS_2 has not committed all records that were there when the statement came: 1,233 "
        "are left (ksql.statement.timeout.ms). They would bring the keys back. Nothing was removed. Send the "
        "statement again later: SHOW QUERIES EXTENDED; says how far the query is."
    )


def test_a_query_that_is_paused(watched: Watched) -> None:
    world = watched.world
    world.run(EARLIEST + COUNTS + "PAUSE ALL;")
    end_of(world, "s", 1)
    assert watched.refused().endswith(
        "it is paused. They would bring the keys back. Nothing was removed. RESUME CTAS_COUNTS_2; first."
    )
    world.commit("CTAS_COUNTS_2", 0, s={"0": 1, "1": 0, "2": 0})
    watched.forgets()


def test_a_query_that_has_failed(watched: Watched) -> None:
    world = watched.world
    world.run(EARLIEST + COUNTS)
    end_of(world, "s", 1)
    (query,) = world.queries.all()

    def fail() -> None:
        query.lifecycle.apply(Event.FAIL)

    def halt() -> None:
        query.retries.halt()

    # it is retried, so it may get on; or not in time, or not at all
    assert "it has failed" in watched.refused(fail, halt)


def test_a_query_that_fails_until_then(watched: Watched) -> None:
    world = watched.world
    world.run(EARLIEST + COUNTS)
    end_of(world, "s", 1)
    (query,) = world.queries.all()
    message = watched.refused(lambda: query.lifecycle.apply(Event.FAIL) and None, watched.time_out)
    assert message.endswith(
        "it has failed. They would bring the keys back. Nothing was removed. EXPLAIN CTAS_COUNTS_2; says why."
    )


def test_queries_before_it_come_first(watched: Watched) -> None:
    world = watched.world
    world.run(EARLIEST + A)
    world.run(EARLIEST + COUNTS.replace("FROM s", "FROM a"))
    end_of(world, "s", 1)
    read = {"0": 1, "1": 0, "2": 0}

    def write() -> None:
        end_of(world, "A", 1)
        world.commit("CSAS_A_2", 0, s=read)

    watched.forgets(write, lambda: world.commit("CTAS_COUNTS_3", 0, A=read))


def test_queries_that_read_each_other(watched: Watched) -> None:
    world = watched.world
    world.run(EARLIEST + A)
    world.run("INSERT INTO s SELECT * FROM a EMIT CHANGES;" + COUNTS)
    watched.forgets()


def test_the_name_of_a_query_is_not_told_to_whom_it_is_hidden(watched: Watched) -> None:
    world = watched.world
    world.run(EARLIEST + A + "PAUSE ALL;")
    world.run(COUNTS.replace("FROM s", "FROM a"))
    end_of(world, "s", 1)
    rights = Rights.of(["developer:counts", "developer:a"])
    with pytest.raises(KsqlError) as caught:
        world.answers(Request(FORGET, rights=rights))
    assert caught.value.message == (
        "A query before CTAS_COUNTS_4 has not committed all records that were there when the statement came: "
        "it is paused. They would bring the keys back. Nothing was removed."
    )


def test_nobody_waits_any_more(watched: Watched) -> None:
    world = watched.world
    world.run(EARLIEST + COUNTS)
    end_of(world, "s", 1)
    request = Request(FORGET)
    watched.steps = iter([request.cancelled.set])
    with pytest.raises(KsqlError) as caught:
        world.statements.execute(request)
    assert caught.value.condition == "STATEMENT_CANCELLED" and watched.removed == 0


def test_a_query_that_is_dropped_meanwhile(watched: Watched) -> None:
    world = watched.world
    world.run(EARLIEST + COUNTS)
    end_of(world, "s", 1)
    watched.steps = iter([lambda: world.run("DROP TABLE counts;") and None])
    assert world.refused(FORGET).condition == "QUERY_UNKNOWN"


def test_state_that_is_removed_meanwhile(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    world = watched.world
    world.run(EARLIEST + COUNTS)
    end_of(world, "s", 1)
    world.commit("CTAS_COUNTS_2", 0, s={"0": 1, "1": 0, "2": 0})
    wait = catching_up.CatchingUp.wait

    def waits(done: catching_up.CatchingUp) -> None:
        wait(done)
        world.queries.checkpoints.remove("CTAS_COUNTS_2")

    monkeypatch.setattr(catching_up.CatchingUp, "wait", waits)
    watched.refused()


def test_a_preview_waits_for_nothing(watched: Watched) -> None:
    world = watched.world
    world.run(EARLIEST + COUNTS + "PAUSE ALL;")
    end_of(world, "s", 1)
    world.run("FORGET FROM counts WHERE w = 'ann' WITH (PREVIEW = true);")
    assert watched.removed == 1


class Alone:
    """A world without a broker and Spark, in which FORGET does the rest.

    Args:
        world: the world; its query is paused.
        monkeypatch: pytest's.
    """

    def __init__(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        world.run(COUNTS + "PAUSE ALL;")
        self.world, self.is_away, self._looks = world, False, 0
        (query,) = world.queries.all()
        self.checkpoint = world.queries.checkpoints.of(query, 0)
        monkeypatch.setattr(forgetting._Task, "_rows", lambda _: self._rows())
        monkeypatch.setattr(forgetting._Task, "_late", lambda _: None)
        monkeypatch.setattr(forgetting._Task, "_packed", lambda _: [b"ann"])
        monkeypatch.setattr(forgetting, "_TIMEOUT_S", 0.01)

    def _rows(self) -> dict[Place, Record]:
        self._looks += 1
        if self.is_away and self._looks % 2 == 0:  # the look while the query is stopped
            raise KsqlError("BROKER_UNREACHABLE", servers="nowhere", reason="it is gone")
        return {}


@pytest.fixture
def alone(world: World, monkeypatch: pytest.MonkeyPatch) -> Alone:
    return Alone(world, monkeypatch)


def test_a_paused_query_keeps_the_keys_until_it_goes_on(alone: Alone) -> None:
    answer = alone.world.one(FORGET)
    assert {place["place"]: place["outcome"] for place in answer["places"]}["state"] == "pending"
    assert alone.checkpoint.forgotten() == Forgotten(0, (b"ann",))


def test_a_preview_says_what_can_be_reached(alone: Alone) -> None:
    answer = alone.world.one("FORGET FROM counts WHERE w = 'ann' WITH (PREVIEW = true);")
    outcomes = [(place["place"], place["outcome"]) for place in answer["places"]]
    assert outcomes == [("topic", "reachable"), ("state", "reachable"), ("stream", "left")]
    assert alone.checkpoint.forgotten() is None


def test_nothing_is_half_done_if_the_broker_goes_away(alone: Alone) -> None:
    alone.is_away = True
    assert alone.world.refused(FORGET).condition == "BROKER_UNREACHABLE"
    assert alone.checkpoint.forgotten() is None
    alone.is_away = False
    alone.world.run(FORGET)
    assert alone.checkpoint.forgotten() is not None


def test_rows_that_a_statement_computes_again_are_waited_for(alone: Alone) -> None:
    with alone.world.services.row_changes["COUNTS"]:
        error = alone.world.refused(FORGET)
    assert error.condition == "ROWS_BUSY" and "rows of COUNTS again" in error.message
    assert alone.checkpoint.forgotten() is None
    alone.world.run(FORGET)


def test_a_server_that_was_replaced_forgets_nothing(alone: Alone) -> None:
    alone.world.services.server.is_replaced = lambda: True
    assert alone.world.refused(FORGET).condition == "SERVICE_ID_TAKEN"
    assert alone.checkpoint.forgotten() is None


def test_a_query_that_another_server_has_taken_meanwhile(
    alone: Alone, monkeypatch: pytest.MonkeyPatch
) -> None:
    queries, first = alone.world.queries, iter([True])
    monkeypatch.setattr(queries, "is_here", lambda _: next(first, False))
    monkeypatch.setattr(queries, "state_of", lambda _: ("RUNNING", "other:8088"))
    error = alone.world.refused(FORGET)
    assert error.condition == "QUERY_ELSEWHERE" and "other:8088" in error.message
    assert alone.checkpoint.forgotten() is None


def test_a_query_that_waits_for_resume_is_not_started(alone: Alone) -> None:
    world = alone.world
    world.run("RESUME ALL;")
    (query,) = world.queries.all()
    world.queries.halt(query, "lost")
    world.run(FORGET)
    assert world.states() == {"CTAS_COUNTS_2": "ERROR"}
    assert alone.checkpoint.forgotten() is not None
    world.queries.restart(query.id)
    assert world.states() == {"CTAS_COUNTS_2": "RUNNING"}


def test_what_steps_before_it_hold_is_left(alone: Alone) -> None:
    world = alone.world
    world.run(
        "CREATE STREAM j AS SELECT a.k AS k, a.w AS w FROM s a LEFT JOIN s b WITHIN 1 HOUR ON a.k = b.k;"
        "CREATE TABLE more AS SELECT w, COUNT(*) AS n FROM j GROUP BY w;"
    )
    answer = world.one("FORGET FROM more WHERE w = 'ann' WITH (PREVIEW = true);")
    left = [place["name"] for place in answer["places"] if place["outcome"] == "left"]
    assert [name for name in left if name.startswith("CSAS_J_")] == ["CSAS_J_4: Stream Stream Join"]


def test_a_new_version_that_begins_meanwhile(alone: Alone, monkeypatch: pytest.MonkeyPatch) -> None:
    evolved: Iterator[str | None] = iter([None])
    monkeypatch.setattr(forgetting, "evolves", lambda _: next(evolved, "COUNTS"))
    error = alone.world.refused(FORGET)
    assert error.condition == "INVALID_STATEMENT" and "A new version of COUNTS" in error.message
    assert alone.checkpoint.forgotten() is None
