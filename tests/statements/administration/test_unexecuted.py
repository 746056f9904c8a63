"""Statements of the command log that cannot be executed: the server starts, says so, and lets go of them."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from typing import Any, cast

import pytest

from ksql_spark.engine import command_runner
from ksql_spark.engine.health import Health
from ksql_spark.entities.servers import SkippedCommand
from ksql_spark.errors import KsqlError
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.statements import HANDLERS
from tests.statements.world import World

SCENE = """
CREATE STREAM bad (k STRING KEY, v INT) WITH (KAFKA_TOPIC='bad', FORMAT='JSON', PARTITIONS=1);
CREATE STREAM good AS SELECT * FROM s EMIT CHANGES;
CREATE STREAM of_bad AS SELECT * FROM bad EMIT CHANGES;
CREATE TABLE of_of_bad AS SELECT k, COUNT(*) AS n FROM of_bad GROUP BY k EMIT CHANGES;
CREATE TYPE t AS INT;
"""


class Poison:
    """Makes the handlers of some statements fail, as a text, a plan or an environment may."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.failure: Callable[[], Any] | None = None
        self.text = "CREATE STREAM bad"
        for kind, handler in HANDLERS.items():
            monkeypatch.setitem(cast(Any, HANDLERS), kind, self._poisoned(handler))

    def _poisoned(self, handler: Any) -> Any:
        def handle(statement: Any, context: Any) -> Any:
            if self.failure is not None and self.text in statement.source_text and context.is_replay:
                self.failure()
            return handler(statement, context)

        return handle


@pytest.fixture
def poison(monkeypatch: pytest.MonkeyPatch) -> Poison:
    return Poison(monkeypatch)


def raiser(error: BaseException) -> Callable[[], Any]:
    def fail() -> Any:
        raise error

    return fail


def recurse() -> Any:
    return recurse()


FAILURES = [
    raiser(KsqlError("FUNCTION_UNKNOWN", name="GONE")),
    raiser(KeyError("NO_SUCH_CODEC")),
    raiser(AttributeError("a class of another release")),
    raiser(MemoryError()),
    raiser(TimeoutError()),
    raiser(FileNotFoundError("functions.jar")),
    raiser(SystemExit(1)),
    raiser(AssertionError()),
    recurse,
]


def skipped(world: World) -> dict[int, SkippedCommand]:
    """Offset -> what /healthcheck says of it."""
    health = Health(world.services, cast(KafkaAdmin, world.admin), 20.0)
    try:
        return {found.offset: found for found in health.check().details.command_runner.skipped}
    finally:
        health.close()


@pytest.mark.parametrize("failure", FAILURES)
def test_whatever_it_raises_the_server_starts_with_all_others(
    world: World, poison: Poison, failure: Callable[[], Any]
) -> None:
    world.run(SCENE)
    before = world.log.records[:]
    first = len(before) - 5
    poison.failure = failure
    world.restart()
    assert world.states() == {f"CSAS_GOOD_{first + 1}": "RUNNING"}
    assert "T" in world.services.metastore.types()
    found = skipped(world)
    # the one that fails, and those that depend on it, each with its own reason
    assert list(found) == [first, first + 2, first + 3]
    assert found[first].statement.startswith("CREATE STREAM bad")
    assert found[first].remedy == "The next start tries it again; DROP STREAM BAD gives it up."
    assert "Stream does not exist: BAD" in found[first + 2].reason or "BAD" in found[first + 2].reason
    assert "OF_BAD" in found[first + 3].reason
    assert any(f"offset {first}: " in line for line in world.reports)
    (warning,) = world.one("SHOW QUERIES;")["warnings"]
    assert f"offset {first}: " in warning["message"] and "2 more" in warning["message"]
    # a start at which nothing fails executes what was logged
    assert world.log.records == before
    poison.failure = None
    world.restart()
    assert len(world.ids()) == 3 and not skipped(world)


def test_a_failed_command_changes_nothing(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the metastore, of which it may have changed a part, nor the queries."""
    world.run("CREATE STREAM a AS SELECT * FROM s EMIT CHANGES;")

    def note(*_: object) -> None:
        raise KeyError("a way of another release")

    monkeypatch.setattr("ksql_spark.runtime.versions.Versions.note", note)
    world.restart()
    assert world.ids() == [] and world.services.metastore.find("A") is None
    monkeypatch.undo()
    world.restart()
    assert len(world.ids()) == 1 and world.services.metastore.find("A") is not None


@pytest.mark.parametrize("cascades", [True, False])
def test_the_name_is_taken_until_it_is_given_up(world: World, poison: Poison, cascades: bool) -> None:
    world.run(SCENE)
    poison.failure = raiser(KeyError("x"))
    world.restart()
    again = "CREATE STREAM bad (k STRING KEY) WITH (KAFKA_TOPIC='bad', FORMAT='JSON');"
    refused = world.refused(again)
    assert refused.condition == "NAME_WAITS" and "DROP STREAM BAD" in refused.message
    for text in ("DESCRIBE bad;", "CREATE STREAM x AS SELECT * FROM bad EMIT CHANGES;"):
        told = world.refused(text).message
        assert "was not executed: KeyError: 'x'" in told and "DROP STREAM BAD" in told, told
    used = world.refused("DROP STREAM bad;").message
    assert "CREATE STREAM of_bad" in used and "CASCADE" in used
    if cascades:
        world.run("DROP STREAM bad CASCADE;")
    else:
        assert "given up" in world.message("DROP TABLE IF EXISTS of_of_bad;")
        for text in ("DROP STREAM of_bad;", "DROP STREAM bad;"):
            world.run(text)
    assert not skipped(world)
    poison.failure = None
    world.run(again)
    for failure in (None, raiser(KeyError("x"))):
        poison.failure, poison.text = failure, "bad (k STRING KEY, v INT)"
        world.restart()
        assert not skipped(world)
        assert [column.name for column in world.services.metastore.require("BAD").schema.columns] == ["K"]
        assert len(world.ids()) == 1


def test_a_query_is_given_up_by_terminate(world: World, poison: Poison) -> None:
    world.run(
        "CREATE STREAM o AS SELECT * FROM s EMIT CHANGES;"
        "INSERT INTO o WITH (QUERY_ID='more') SELECT * FROM s EMIT CHANGES;"
    )
    poison.failure, poison.text = raiser(KeyError("x")), "INSERT INTO o"
    world.restart()
    (found,) = skipped(world).values()
    assert "TERMINATE MORE" in found.remedy
    folder = world.checkpoint("MORE")
    assert folder.exists(), "a later start may need its state"
    assert "at offset" in world.refused("PAUSE more;").message
    assert "INSERT INTO o" in world.refused("DROP STREAM o;").message
    world.run("TERMINATE more;")
    assert not skipped(world) and world.services.metastore.find("O") is not None
    poison.failure = None
    world.restart()
    assert world.ids() == [query for query in world.ids() if query.startswith("CSAS_O")]
    assert not folder.exists()


@pytest.mark.parametrize(
    ("make", "drop", "poisoned"),
    [
        ("CREATE TYPE a AS INT;", "DROP TYPE a;", "CREATE TYPE a"),
        ("CREATE SINK a FROM s WITH (TYPE='delta', PATH='/x');", "DROP SINK a;", "CREATE SINK a"),
        ("CREATE TABLE a AS SELECT w, COUNT(*) AS n FROM s GROUP BY w;", "DROP TABLE a;", "CREATE TABLE a"),
    ],
)
def test_each_kind_of_name(world: World, poison: Poison, make: str, drop: str, poisoned: str) -> None:
    world.run(make)
    poison.failure, poison.text = raiser(KeyError("x")), poisoned
    world.restart()
    (found,) = skipped(world).values()
    assert drop.rstrip(";").upper() in found.remedy
    assert world.refused(make).condition == "NAME_WAITS"
    world.run(drop)
    assert not skipped(world)
    world.run(make)
    world.restart()  # both fail now, and the first one is dropped between them
    (found,) = skipped(world).values()
    poison.failure = None
    world.restart()
    assert not skipped(world)


def test_a_plan_that_cannot_be_read(world: World) -> None:
    """Each of these has been written by somebody else, or by another release."""
    world.run("CREATE STREAM a AS SELECT * FROM s EMIT CHANGES;")
    good = json.loads(world.log.records[-1])
    plans: list[Any] = [
        {"version": 1},
        {**good["plan"], "version": "x"},
        {"version": good["plan"].get("version"), "nodes": 7},
        json.loads(json.dumps(good["plan"]).replace('"Plan"', '"NoSuchClass"')),
        json.loads(json.dumps(good["plan"]).replace('"JSON"', '"NO_SUCH_FORMAT"')),
        json.loads("[" * 500 + "]" * 500),
    ]
    for plan in plans:
        world.log.records[-1] = json.dumps({**good, "plan": plan if isinstance(plan, dict) else {"x": plan}})
        world.restart()
        assert world.services.metastore.find("S") is not None
        if not world.ids():
            assert len(skipped(world)) == 1


@pytest.fixture
def endless() -> Iterator[threading.Event]:
    """Set once what hangs may end."""
    event = threading.Event()
    yield event
    event.set()


def test_a_check_that_does_not_end_is_given_up_with_progress(
    world: World, poison: Poison, monkeypatch: pytest.MonkeyPatch, endless: threading.Event
) -> None:
    world.run(SCENE)
    monkeypatch.setattr(command_runner, "CHECK_S", 0.2)
    monkeypatch.setattr(command_runner, "SAY_EVERY_S", 0.05)
    poison.failure = endless.wait
    world.restart()
    assert len(world.ids()) == 1
    assert any("0 s so far: CREATE STREAM bad" in line for line in world.reports)
    assert "ksql.statement.timeout.ms" in next(iter(skipped(world).values())).reason or skipped(world)
    endless.set()


def test_a_broker_that_is_away_does_not_mark_statements(
    world: World, poison: Poison, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.run(SCENE)
    monkeypatch.setattr(command_runner, "PAUSE_S", 0.01)
    away = [KsqlError("BROKER_UNREACHABLE", servers="x", reason="it is away") for _ in range(3)]

    def fail() -> None:
        if away:
            raise away.pop()

    poison.failure = fail
    world.restart()
    assert len(world.ids()) == 3 and not skipped(world)
    assert sum("waits: " in line for line in world.reports) == 3
