"""Planning: nobody waits for that of others, it ends in time, and what the log cannot take is refused."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ksql_spark.analyzer.definitions import sources
from ksql_spark.engine import execution, request
from ksql_spark.engine.query_service import QueryService
from ksql_spark.engine.request import Request
from ksql_spark.errors import KsqlError
from tests.statements.world import World

S = "CREATE STREAM s (k STRING KEY, v INT) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON', PARTITIONS=1);"
A = "CREATE STREAM a AS SELECT * FROM s EMIT CHANGES;"


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    made.run(S)
    yield made
    made.close()


#: longer than any test runs
FOREVER_S = 60


class Slow:
    """Lets the planning of one statement wait until it is told to go on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
        self.begun, self.go_on = threading.Event(), threading.Event()
        self.plannings = 0
        handle = execution.handle

        def slow(statement: Any, context: Any) -> Any:
            if text in statement.source_text:
                self.plannings += 1
                self.begun.set()
                assert self.go_on.wait(FOREVER_S)
            return handle(statement, context)

        monkeypatch.setattr(execution, "handle", slow)


def _in_thread(call: Any) -> tuple[threading.Thread, list[Any]]:
    results: list[Any] = []

    def run() -> None:
        try:
            results.append(call())
        except KsqlError as error:
            results.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    return thread, results


def test_others_go_on_while_a_statement_is_planned(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = Slow(monkeypatch, "STREAM a ")
    thread, results = _in_thread(lambda: world.run(A))
    assert slow.begun.wait(FOREVER_S)
    assert world.one("SHOW STREAMS;")["streams"][0]["name"] == "S"
    world.run("CREATE STREAM b AS SELECT * FROM s EMIT CHANGES;")
    slow.go_on.set()
    thread.join(FOREVER_S)
    # planned again after what happened meanwhile: its id is right
    assert slow.plannings == 2
    assert results[0][0]["commandStatus"]["queryId"] == "CSAS_A_2"
    assert sorted(world.ids()) == ["CSAS_A_2", "CSAS_B_1"]


def test_what_was_true_at_the_start_of_planning_is_looked_at_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = Slow(monkeypatch, "STREAM a ")
    thread, results = _in_thread(lambda: world.run(A))
    assert slow.begun.wait(FOREVER_S)
    world.run("DROP STREAM s;")
    slow.go_on.set()
    thread.join(FOREVER_S)
    assert "does not exist: S" in results[0].message
    assert world.ids() == []


def test_it_comes_to_an_end_however_often_others_change_something(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    handle, made = execution.handle, 0

    def disturbed(statement: Any, context: Any) -> Any:
        nonlocal made
        if "STREAM a " in statement.source_text and made < 3:
            made += 1
            thread, _ = _in_thread(lambda: world.run(f"CREATE TYPE t{made} AS INT;"))
            thread.join(FOREVER_S)
        return handle(statement, context)

    monkeypatch.setattr(execution, "handle", disturbed)
    assert world.one(A)["commandStatus"]["queryId"] == "CSAS_A_4"


def test_planning_has_a_limit(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.services.current_config.config = world.services.config.with_values({"ksql.statement.timeout.ms": 1})
    clock = iter(range(1_000_000))
    monkeypatch.setattr("ksql_spark.deadline.time.monotonic", lambda: next(clock))
    error = world.refused(A)
    assert (error.condition, error.code) == ("STATEMENT_TIMEOUT", 40800)
    assert "ksql.statement.timeout.ms" in error.message and error.statement == A.rstrip(";")
    assert world.ids() == [] and world.admin.topic("A") is None


def test_planning_can_be_cancelled(world: World) -> None:
    cancelled = Request(A)
    cancelled.cancelled.set()
    with pytest.raises(KsqlError) as caught:
        world.statements.execute(cancelled)
    assert caught.value.condition == "STATEMENT_CANCELLED"
    assert world.ids() == []


def test_too_long_a_text_is_not_parsed(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def parse(*_: Any, **__: Any) -> None:
        raise AssertionError("it was parsed")

    monkeypatch.setattr(request.grammar, "parse_lazily", parse)
    for text in ("é" * 500_000, "é;" * 400_000):
        error = world.refused(f"SHOW STREAMS; DEFINE x = '{text}';")
        assert (error.condition, error.code) == ("STATEMENT_TOO_LONG", 41301)


def test_too_long_a_text_without_semicolons_is_not_even_split(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(request, "_pieces", lambda text: pytest.fail("it was split"))
    assert world.refused("SHOW STREAMS; SELECT " + "a, " * 500_000).condition == "STATEMENT_TOO_LONG"


def test_parameters_are_not_looked_for_in_too_long_a_text(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(request, "with_parameters", lambda *_: pytest.fail("they were looked for"))
    for text in ("?" * 1_000_001, "?;" * 500_001, "\ud800" + "?" * 1_000_000):
        for run in (world.statements.execute, QueryService(world.services).query):
            with pytest.raises(KsqlError) as caught:
                run(Request(text, parameters=[1]))
            assert (caught.value.condition, caught.value.code) == ("STATEMENT_TOO_LONG", 41301)


def test_values_of_parameters_count_as_the_text_that_they_become(world: World) -> None:
    with pytest.raises(KsqlError) as caught:
        world.statements.execute(Request("DEFINE x = ?;", parameters=["x" * 1_000_000]))
    assert caught.value.condition == "STATEMENT_TOO_LONG"


def test_parsing_can_be_cancelled(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    cancelled = Request("SHOW STREAMS;" * 3)
    parse_lazily, parsed = request.grammar.parse_lazily, 0

    def parse(*given: Any, **more: Any) -> Iterator[Any]:
        nonlocal parsed
        for statement in parse_lazily(*given, **more):
            parsed += 1
            cancelled.cancelled.set()
            yield statement

    monkeypatch.setattr(request.grammar, "parse_lazily", parse)
    with pytest.raises(KsqlError) as caught:
        world.statements.execute(cancelled)
    assert caught.value.condition == "STATEMENT_CANCELLED" and parsed == 1


def test_any_number_of_columns_can_be_cancelled(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    cancelled = Request(S.replace("STREAM s (", "STREAM z (a INT, "))
    bind_type, bound = sources.bind_type, 0

    def bind(*given: Any) -> Any:
        nonlocal bound
        bound += 1
        cancelled.cancelled.set()
        return bind_type(*given)

    monkeypatch.setattr(sources, "bind_type", bind)
    with pytest.raises(KsqlError) as caught:
        world.statements.execute(cancelled)
    assert caught.value.condition == "STATEMENT_CANCELLED" and bound == 1


def test_a_command_that_the_log_cannot_take_is_refused_before_anything_is_done(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(request, "MAX_BYTES", 1000)
    error = world.refused("CREATE TYPE t AS INT; " + A)
    assert error.condition == "STATEMENT_TOO_LONG" and error.statement == A.rstrip(";")
    assert world.ids() == [] and world.admin.topic("A") is None and len(world.log.records) == 1


def test_ten_thousand_values_are_no_trouble(world: World) -> None:
    values = ", ".join(map(str, range(10_000)))
    answer = world.one(f"CREATE STREAM a AS SELECT * FROM s WHERE v IN ({values}) EMIT CHANGES;")
    assert answer["commandStatus"]["status"] == "SUCCESS"
    assert len(world.log.records[-1]) < 300_000
