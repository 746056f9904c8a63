"""Queries that fail: whose the failure is, when they are started again, what the watcher does not expect."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from py4j.protocol import Py4JError, Py4JJavaError, Py4JNetworkError

from ksql_spark.errors import KsqlError
from ksql_spark.runtime.errors import classify, reason
from ksql_spark.runtime.queries.managed import ManagedQuery
from ksql_spark.runtime.queries.watching import watcher as query_watcher
from ksql_spark.spark import jvm
from tests.log_records import logged_error
from tests.statements.world import FakeSparkQuery, World
from tests.waiting import until

TIMEOUT_S = 20.0


class FromJava(Exception):
    """As PySpark gives what the JVM threw."""

    def __init__(self, text: str, trace: str = "", cause: Exception | None = None) -> None:
        super().__init__(text)
        self._desc, self._stackTrace, self._cause = text, trace, cause


@pytest.mark.parametrize(
    ("error", "is_gone"),
    [
        (Py4JNetworkError("Answer from Java side is empty"), True),
        (Py4JError("An error occurred while calling o1.isActive"), True),
        (ConnectionRefusedError("[Errno 111] Connection refused"), True),
        (Py4JJavaError.__new__(Py4JJavaError), False),
        (FromJava("java.io.IOException: no"), False),
        (KsqlError("STOPPED"), False),
    ],
)
def test_the_end_of_the_jvm_is_no_failure_of_a_query(error: Exception, is_gone: bool) -> None:
    assert jvm.is_gone(error) == is_gone


@pytest.mark.parametrize(
    ("error", "type_"),
    [
        (FromJava("[USER_RAISED_EXCEPTION] The value of a record cannot be read"), "USER"),
        (
            FromJava("[STREAM_FAILED]", cause=FromJava("o.a.k.UnknownTopicOrPartitionException")),
            "USER",
        ),
        (FromJava("failed", "Caused by: o.a.k.common.errors.TopicAuthorizationException: x"), "USER"),
        (FromJava("TimeoutException: Topic t not present in metadata after 60000 ms."), "USER"),
        (FromJava("org.apache.kafka.common.errors.TimeoutException: 1 record expired"), "SYSTEM"),
        (
            FromJava("Lost task 0.0: o.k.r.Away: [KSQL_REGISTRY_AWAY] The registry cannot be read: x."),
            "SYSTEM",
        ),
        (FromJava("job aborted", "java.lang.OutOfMemoryError: Java heap space"), "SYSTEM"),
        (KsqlError("BROKER_UNREACHABLE", servers="x", reason="gone"), "SYSTEM"),
        (KsqlError("TOPIC_UNKNOWN", topic="x"), "USER"),
        (KsqlError("STATE_INCOMPATIBLE", part="key", before="a", now="b", release="x"), "SYSTEM"),
        (KsqlError("CHECKPOINT_DAMAGED", file="0.json", reason="empty"), "SYSTEM"),
        (FromJava("java.lang.IllegalStateException: odd"), "UNKNOWN"),
        (None, "UNKNOWN"),
    ],
)
def test_whose_a_failure_is(error: Exception | None, type_: str) -> None:
    assert classify(error) == type_
    if error is not None:
        try:
            raise KsqlError("QUERY_FAILED", id="q", reason=reason(error)) from error
        except KsqlError as outer:
            assert classify(outer) == type_


@pytest.fixture
def query(make_world: Callable[..., World], monkeypatch: pytest.MonkeyPatch) -> tuple[World, ManagedQuery]:
    """A query that the watcher looks at often, and that is started again soon."""
    monkeypatch.setattr(query_watcher, "WATCH_EVERY_S", 0.01)
    world = make_world(**{"ksql.query.retry.backoff.initial.ms": 1})
    world.run("CREATE STREAM a AS SELECT * FROM s EMIT CHANGES;")
    (found,) = world.queries.all()
    return world, found


def fail(query: ManagedQuery) -> None:
    """Let its Spark query end by itself."""
    known = len(query.errors)
    spark = query.spark[0]
    assert isinstance(spark, FakeSparkQuery)
    spark.is_active = False
    until(lambda: len(query.errors) > known)


def test_a_registry_that_does_not_answer_is_named() -> None:
    error = FromJava("Lost task 0.0: o.k.r.Away: [KSQL_REGISTRY_AWAY] The schema registry is away.\n\tat x")
    assert reason(error) == "The schema registry is away."


@pytest.mark.parametrize(
    "text",
    [
        "Job aborted due to stage failure: Total size of serialized results of 2 tasks (1030.0 MiB) is bigger"
        " than spark.driver.maxResultSize (512.0 MiB).",
        "Lost task 0.3 in stage 1.0: java.lang.IllegalStateException: results of one task are bigger"
        " than spark.driver.maxResultSize (512.0 MiB)\n\tat org.ksqlspark",
    ],
)
def test_results_that_do_not_fit_say_what_to_do(text: str) -> None:
    said = reason(FromJava(text))
    assert "spark.driver.maxResultSize (512.0 MiB)" in said and "ksql.transaction.max.records" in said


def test_pauses_grow_until_a_query_gets_on(query: tuple[World, ManagedQuery]) -> None:
    world, a = query
    for failures in (1, 2, 3):
        until(lambda: a.state == "RUNNING")
        fail(a)
        assert a.retries.in_a_row == failures
    until(lambda: a.state == "RUNNING")
    world.admin.ends["s", 0] = 1
    world.commit(a.id, 0, s={"0": 1, "1": 0, "2": 0})
    fail(a)
    assert a.retries.in_a_row == 1
    until(lambda: a.state == "RUNNING")
    fail(a)
    assert a.retries.in_a_row == 2


def test_a_query_that_ran_for_the_longest_pause_begins_with_the_first(
    query: tuple[World, ManagedQuery],
) -> None:
    world, a = query
    for _ in range(2):
        until(lambda: a.state == "RUNNING")
        fail(a)
    until(lambda: a.state == "RUNNING")
    a.retries.started_at -= float(world.services.config["ksql.query.retry.backoff.max.ms"]) / 1000
    fail(a)
    assert a.retries.in_a_row == 1


def test_what_the_watcher_does_not_expect_is_an_error_of_the_query(
    query: tuple[World, ManagedQuery], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    _, a = query

    class Broken(FakeSparkQuery):
        @property
        def is_active(self) -> bool:
            raise RuntimeError("nobody thought of this")

        @is_active.setter
        def is_active(self, value: bool) -> None:
            pass

    a.spark[0] = Broken()  # type: ignore[call-overload]
    until(lambda: bool(a.errors))
    assert (a.errors[0].message, a.errors[0].type) == ("nobody thought of this", "UNKNOWN")
    assert "could not watch query" in caplog.text
    until(lambda: a.state == "RUNNING")  # the watcher goes on


def test_a_damaged_note_stops_its_query_alone(make_world: Callable[..., World]) -> None:
    world = make_world()
    world.run(
        "CREATE STREAM a AS SELECT * FROM s EMIT CHANGES; CREATE STREAM b AS SELECT * FROM s EMIT CHANGES;"
    )
    first, second = world.ids()
    world.close()
    note = world.checkpoint(first) / "0.json"
    note.write_text("", encoding="utf-8")
    world.restart()
    assert world.states() == {first: "ERROR", second: "RUNNING"}
    described = world.one("DESCRIBE a EXTENDED;")["sourceDescription"]
    # nobody knows where it stands: a guess would let a cut-over lose or repeat records
    assert not described["queryOffsetSummaries"] and "offsets unreadable" in described["statistics"]
    (error,) = world.one(f"EXPLAIN {first};")["queryDescription"]["queryErrors"]
    assert str(note) in error["errorMessage"] and error["type"] == "SYSTEM"
    world.run("DROP STREAM a;")
    assert world.ids() == [second] and not world.checkpoint(first).exists()


@pytest.mark.parametrize("text", ["", "[]", '{"sequence": 0}'])
def test_a_damaged_record_of_the_pending_statement_stops_nothing(
    world: World, tmp_path: Path, caplog: pytest.LogCaptureFixture, text: str
) -> None:
    pending = tmp_path / "pending.json"
    pending.write_text(text, encoding="utf-8")
    world.runner.finish_pending()
    assert str(pending) in caplog.text and not pending.exists()


@pytest.mark.parametrize("verb", ["kill", "stop"])
def test_a_query_that_is_ended_meanwhile_has_not_failed(
    world: World, caplog: pytest.LogCaptureFixture, verb: str
) -> None:
    world.run("CREATE STREAM a AS SELECT * FROM s EMIT CHANGES;")
    (a,) = world.queries.all()

    class Ending(FakeSparkQuery):
        """Ended by somebody else just when the watcher looks."""

        @property
        def is_active(self) -> bool:
            getattr(world.queries, verb)(a.id)
            return False

        @is_active.setter
        def is_active(self, value: bool) -> None:
            pass

    a.spark[0] = Ending()  # type: ignore[call-overload]
    world.queries.watcher.check(a)
    assert not a.errors and a.state != "ERROR" and "failed" not in caplog.text


def test_the_watcher_leaves_a_query_alone_that_somebody_holds(world: World) -> None:
    world.run("CREATE STREAM a AS SELECT * FROM s EMIT CHANGES;")
    (a,) = world.queries.all()
    checks: list[str] = []

    class Stopping(FakeSparkQuery):
        """Whose stop takes long enough for the watcher to look."""

        def stop(self, timeout_s: float = 0.0) -> bool:
            # as if the watcher had listed them before: what it sees is ended, and not taken out yet
            a.spark = [self]  # type: ignore[list-item]
            self.is_active = False
            watcher = threading.Thread(target=world.queries.watcher.check, args=(a,))
            watcher.start()
            watcher.join(TIMEOUT_S)
            checks.append(a.state)
            a.spark = []
            return True

    a.spark[0] = Stopping()  # type: ignore[call-overload]
    world.queries.restart(a.id)
    assert checks == ["RUNNING"] and not a.errors and a.state == "RUNNING"


def test_what_a_stopped_query_writes_is_known(query: tuple[World, ManagedQuery]) -> None:
    world, managed = query
    sink = managed.plan.sink.name
    assert world.queries.stopped_writers(sink) == ()
    world.run(f"PAUSE {managed.id};")
    assert world.queries.stopped_writers(sink) == (managed.id,)
    assert world.queries.stopped_writers("OTHER") == ()


def test_which_of_several_writers_are_stopped_is_known(world: World) -> None:
    world.run("CREATE STREAM a AS SELECT * FROM s EMIT CHANGES; INSERT INTO a SELECT * FROM s EMIT CHANGES;")
    first, second = world.ids()
    world.run("PAUSE ALL;")
    assert world.queries.stopped_writers("A") == (first, second)
    world.run(f"RESUME {first};")
    assert world.queries.stopped_writers("A") == (second,)
    world.run(f"TERMINATE {second};")
    assert world.queries.stopped_writers("A") == ()
    world.run("CREATE OR REPLACE STREAM a AS SELECT * FROM s EMIT CHANGES; PAUSE ALL;")
    assert world.queries.stopped_writers("A") == (first,)
    world.run("DROP STREAM a;")
    assert world.queries.stopped_writers("A") == ()


def test_a_query_that_cannot_go_on_after_a_pause_says_why(world: World) -> None:
    world.run("CREATE STREAM a AS SELECT * FROM s EMIT CHANGES;")
    (query_id,) = world.ids()
    world.run(f"PAUSE {query_id};")
    world.queries.refused = "SELECT"
    assert world.message(f"RESUME {query_id};") == "Query resumed."
    assert world.states() == {query_id: "ERROR"}
    (error,) = world.one(f"EXPLAIN {query_id};")["queryDescription"]["queryErrors"]
    assert "Spark says no" in error["errorMessage"]
    world.run(f"PAUSE {query_id};")
    shown = world.one(f"EXPLAIN {query_id};")["queryDescription"]
    assert shown["state"] == "PAUSED" and shown["queryErrors"] == [error]


def test_a_start_removes_checkpoints_of_queries_that_have_ended(world: World) -> None:
    world.run(
        "CREATE STREAM a AS SELECT * FROM s EMIT CHANGES; CREATE STREAM b AS SELECT * FROM s EMIT CHANGES;"
    )
    first, second = world.ids()
    world.run(f"TERMINATE {first};")
    for name in (first, "CSAS_OF_ANOTHER_SERVICE_7"):  # Spark has uploaded state after its end
        (world.checkpoint(name) / "0" / "state").mkdir(parents=True)
    world.restart()
    assert not world.checkpoint(first).exists()
    assert world.checkpoint(second).exists() and world.checkpoint("CSAS_OF_ANOTHER_SERVICE_7").exists()


def test_checkpoints_of_a_command_that_was_skipped_stay(world: World) -> None:
    world.run("CREATE STREAM a AS SELECT * FROM s EMIT CHANGES;")
    (query_id,) = world.ids()
    world.log.records[-1] = world.log.records[-1].replace("CREATE STREAM a", "CREATE STREEM a")
    world.restart()
    assert world.ids() == [] and world.checkpoint(query_id).exists()


def test_what_spark_uploads_after_a_removal_is_removed_as_well(
    make_world: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ksql_spark.runtime.queries.checkpoint_folders.REMOVE_AGAIN_S", 0.0)
    world = make_world()
    for name in "ab":
        world.run(f"CREATE STREAM {name} WITH (KAFKA_TOPIC = '{name}') AS SELECT * FROM s EMIT CHANGES;")
    first, second = world.ids()
    world.run(f"TERMINATE {first};")
    late = world.checkpoint(first) / "0" / "state"
    late.mkdir(parents=True, exist_ok=True)
    world.queries.checkpoints.remove(first)
    late.mkdir(parents=True, exist_ok=True)
    until(lambda: not world.checkpoint(first).exists())
    assert world.checkpoint(second).exists()


def test_what_spark_uploads_during_a_removal_is_removed_as_well(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.run("CREATE STREAM a AS SELECT * FROM s EMIT CHANGES;")
    (query_id,) = world.ids()
    remove, late = shutil.rmtree, [world.checkpoint(query_id) / "0" / "state"]

    def rmtree(path: Path, ignore_errors: bool = False) -> None:
        remove(path, ignore_errors=ignore_errors)
        while late:
            late.pop().mkdir(parents=True)

    monkeypatch.setattr(shutil, "rmtree", rmtree)
    world.run(f"TERMINATE {query_id};")
    assert not late and not world.checkpoint(query_id).exists()


def test_a_start_that_fails_while_the_server_stops_leaves_the_state_alone(
    query: tuple[World, ManagedQuery], monkeypatch: pytest.MonkeyPatch
) -> None:
    world, a = query
    is_starting, has_stopped = threading.Event(), threading.Event()

    def launch(*_: object) -> None:
        is_starting.set()
        assert has_stopped.wait(TIMEOUT_S)
        raise KsqlError("QUERY_FAILED", id=a.id, reason="Spark stops")

    monkeypatch.setattr(world.queries._runs._launcher, "launch", launch)
    spark = a.spark[0]
    assert isinstance(spark, FakeSparkQuery)
    spark.is_active = False
    assert is_starting.wait(TIMEOUT_S)
    tell_when_closed(world, monkeypatch, has_stopped)
    world.queries.shut_down()
    assert world.queries.watcher.join(TIMEOUT_S)
    assert (world.checkpoint(a.id) / "0.json").exists()


def tell_when_closed(world: World, monkeypatch: pytest.MonkeyPatch, event: threading.Event) -> None:
    """Set ``event`` when queries begin to be shut down."""
    close = world.queries._runs.close

    def close_and_tell() -> None:
        close()
        event.set()

    monkeypatch.setattr(world.queries._runs, "close", close_and_tell)


def test_what_is_being_started_while_the_server_stops_is_stopped(
    query: tuple[World, ManagedQuery], monkeypatch: pytest.MonkeyPatch
) -> None:
    world, a = query
    is_starting, is_closed = threading.Event(), threading.Event()
    started = FakeSparkQuery()

    def launch(*_: object) -> FakeSparkQuery:
        is_starting.set()
        assert is_closed.wait(TIMEOUT_S)
        return started

    monkeypatch.setattr(world.queries._runs._launcher, "launch", launch)
    spark = a.spark[0]
    assert isinstance(spark, FakeSparkQuery)
    spark.is_active = False
    assert is_starting.wait(TIMEOUT_S)
    tell_when_closed(world, monkeypatch, is_closed)
    world.queries.shut_down()
    assert not started.is_active


def test_what_the_watcher_cannot_look_at_is_ended_before_it_is_started_again(
    query: tuple[World, ManagedQuery],
) -> None:
    _, a = query

    class Broken(FakeSparkQuery):
        """Runs, and cannot say so."""

        is_ended = False

        @property
        def is_active(self) -> bool:
            raise RuntimeError("nobody thought of this")

        @is_active.setter
        def is_active(self, value: bool) -> None:
            pass

        def stop(self, timeout_s: float = 0.0) -> bool:
            self.is_ended = True
            return True

    broken = Broken()
    a.spark[0] = broken  # type: ignore[call-overload]
    until(lambda: bool(a.errors) and a.state == "RUNNING")
    assert broken.is_ended and a.spark != [broken]


def test_a_query_of_which_nothing_runs_has_failed(query: tuple[World, ManagedQuery]) -> None:
    _, a = query
    a.spark = []
    until(lambda: bool(a.errors))
    until(lambda: a.state == "RUNNING")
    assert a.spark


def test_the_watcher_goes_on_whatever_happens_in_it(
    query: tuple[World, ManagedQuery], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    world, a = query
    world.run("CREATE STREAM b AS SELECT * FROM s EMIT CHANGES;")
    b = next(query for query in world.queries.all() if query is not a)
    looks = []

    def remove_late(_: object) -> None:
        looks.append(1)
        raise RuntimeError("nobody thought of this")

    committed = world.queries.checkpoints.committed_or_none

    def committed_or_none(of: ManagedQuery) -> object:
        if of is a:
            raise RuntimeError("nor of that")
        return committed(of)

    monkeypatch.setattr(world.queries.checkpoints, "remove_late", remove_late)
    until(lambda: len(looks) > 2)
    until(lambda: world.queries.watcher.problem == "nobody thought of this")
    logged = [logged_error(record) for record in caplog.records]
    assert logged.count("RuntimeError: nobody thought of this") == 1  # not twice a second
    monkeypatch.undo()
    until(lambda: world.queries.watcher.problem is None)
    monkeypatch.setattr(world.queries.checkpoints, "committed_or_none", committed_or_none)
    for one in (a, b):
        spark = one.spark[0]
        assert isinstance(spark, FakeSparkQuery)
        spark.is_active = False
    until(lambda: world.queries.watcher.problem == "nor of that")
    until(lambda: bool(b.errors))  # the one does not hold up the other
    monkeypatch.undo()
    until(lambda: bool(a.errors) and a.state == b.state == "RUNNING")
    assert world.queries.watcher.problem is None


def test_a_spark_query_that_cannot_be_stopped_is_logged(
    query: tuple[World, ManagedQuery], caplog: pytest.LogCaptureFixture
) -> None:
    world, a = query

    class Unstoppable(FakeSparkQuery):
        error: Exception = RuntimeError("Spark does not stop it")

        def stop(self, timeout_s: float = 0.0) -> bool:
            raise self.error

    class Gone(Unstoppable):
        error = ConnectionRefusedError("[Errno 111] Connection refused")

    a.spark[0] = Gone()  # type: ignore[call-overload]
    world.queries.restart(a.id)
    assert "refused" not in caplog.text  # the supervisor tells that the JVM has ended
    a.spark[0] = Unstoppable()  # type: ignore[call-overload]
    world.queries.restart(a.id)
    assert "Spark does not stop it" in caplog.text and a.state == "RUNNING"


def test_a_restart_during_which_the_jvm_ends_is_tried_again(
    query: tuple[World, ManagedQuery], monkeypatch: pytest.MonkeyPatch
) -> None:
    world, a = query

    def launch(*_: object) -> None:
        raise Py4JNetworkError("Answer from Java side is empty")

    with monkeypatch.context() as patched:
        patched.setattr(world.queries._runs._launcher, "launch", launch)
        world.queries.restart(a.id)
        assert "Answer from Java side is empty" in a.why_failed
    until(lambda: a.state == "RUNNING" and bool(a.spark))
