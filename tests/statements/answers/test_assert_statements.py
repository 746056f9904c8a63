"""ASSERT TOPIC and ASSERT SCHEMA (reference §2.14)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from ksql_spark.entities.commands import AssertTopicEntity
from tests.statements.json_server import JsonServer
from tests.statements.world import World


def test_topics_that_are_as_said(world: World) -> None:
    answer = world.one("ASSERT TOPIC s WITH (PARTITIONS=3, REPLICAS=1) TIMEOUT 0 SECONDS;")
    assert (answer["@type"], answer["topicName"], answer["exists"]) == ("assert_topic", "s", True)
    answer = world.one("ASSERT NOT EXISTS TOPIC 'no-such' TIMEOUT 0 SECONDS;")
    assert (answer["topicName"], answer["exists"]) == ("no-such", False)
    world.run("ASSERT NOT EXISTS TOPIC nothing WITH (PARTITIONS=3) TIMEOUT 0 SECONDS;")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ASSERT TOPIC nothing", "Topic nothing does not exist."),
        ("ASSERT NOT EXISTS TOPIC s", "Topic s exists."),
        (
            "ASSERT TOPIC s WITH (PARTITIONS=4)",
            "Mismatched configuration for topic s: For config partitions, expected 4 got 3.",
        ),
        (
            "ASSERT TOPIC s WITH (REPLICAS=2)",
            "Mismatched configuration for topic s: For config replicas, expected 2 got 1.",
        ),
    ],
)
def test_topics_that_are_not(world: World, text: str, message: str) -> None:
    error = world.refused(f"{text} TIMEOUT 10 MILLISECONDS;")
    assert (error.code // 100, error.code, error.message) == (417, 41700, message)


def test_wrong_properties(world: World) -> None:
    assert "unknown topic property: COLOUR" in world.refused("ASSERT TOPIC s WITH (COLOUR=1);").message
    assert "whole number" in world.refused("ASSERT TOPIC s WITH (PARTITIONS='3');").message


def test_a_topic_that_comes_late(world: World) -> None:
    world.admin.late["late"] = 3
    assert world.one("ASSERT TOPIC late TIMEOUT 1 MINUTE;")["exists"] is True


def test_what_ran_before_stays_and_what_follows_does_not_run(world: World) -> None:
    error = world.refused(
        "CREATE STREAM a AS SELECT * FROM s EMIT CHANGES;"
        "ASSERT TOPIC nothing TIMEOUT 0 SECONDS; DROP STREAM a;",
    )
    assert error.code == 41700 and error.statement == "ASSERT TOPIC nothing TIMEOUT 0 SECONDS"
    assert [e.command_id for e in error.entities] == ["stream/`A`/create"]
    assert world.ids() == ["CSAS_A_2"]


def test_the_whole_request_is_checked_first(world: World) -> None:
    error = world.refused("ASSERT TOPIC nothing TIMEOUT 1 DAY; DROP STREAM nothing;")
    assert error.condition == "SOURCE_UNKNOWN"


def test_other_requests_go_on_meanwhile(world: World) -> None:
    text = "ASSERT TOPIC A TIMEOUT 1 DAY; DROP STREAM s; DROP TABLE t;"
    asked = threading.Event()
    topic = world.admin.topic

    def watched(name: str):  # type: ignore[no-untyped-def]
        if name == "A":
            asked.set()
        return topic(name)

    world.admin.topic = watched  # type: ignore[method-assign]
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(world.refused, text)
        assert asked.wait(30)
        world.run("CREATE STREAM a AS SELECT * FROM s EMIT CHANGES;")
        error = waiting.result(30)
    # when its turn came, the stream was in use: what follows is checked again
    assert "read from this source: [A]" in error.message and error.statement == "DROP STREAM s"
    assert [type(e) for e in error.entities] == [AssertTopicEntity]
    assert world.services.metastore.find("T") is not None


def test_stopping_ends_the_wait(world: World) -> None:
    world.services.server.is_stopping = lambda: True
    assert world.refused("ASSERT TOPIC nothing TIMEOUT 1 DAY;").condition == "STOPPED"


def test_default_timeout(world: World) -> None:
    error = world.refused("ASSERT TOPIC nothing;", **{"ksql.assert.topic.default.timeout.ms": 0})
    assert error.code == 41700


# ---- schemas ------------------------------------------------------------------------------------------


@pytest.fixture
def registry() -> Iterator[JsonServer]:
    answers = {
        "GET /subjects/s-value/versions/latest": (
            200,
            {"subject": "s-value", "version": 1, "id": 5, "schema": "{}"},
        ),
        "GET /schemas/ids/5": (200, {"schema": "{}"}),
        "GET /schemas/ids/5/versions?offset=0&limit=-1": (200, [{"subject": "s-value", "version": 1}]),
    }
    with JsonServer(answers) as server:
        yield server


@pytest.mark.parametrize(
    ("what", "is_there"),
    [
        ("SUBJECT 's-value'", True),
        ("SUBJECT 'x/y'", False),
        ("ID 5", True),
        ("ID 6", False),
        ("SUBJECT 's-value' ID 5", True),
        ("SUBJECT 'other' ID 5", False),
        ("SUBJECT 's-value' ID 6", False),
    ],
)
def test_schemas(make_world: Callable[..., World], registry: JsonServer, what: str, is_there: bool) -> None:
    world = make_world(**{"ksql.schema.registry.url": registry.url})
    yes, no = ("", "NOT EXISTS ") if is_there else ("NOT EXISTS ", "")
    answer = world.one(f"ASSERT {yes}SCHEMA {what} TIMEOUT 0 SECONDS;")
    assert (answer["@type"], answer["exists"]) == ("assert_schema", is_there)
    error = world.refused(f"ASSERT {no}SCHEMA {what} TIMEOUT 0 SECONDS;")
    assert error.code == 41700 and ("exists" if is_there else "does not exist") in error.message


def test_schemas_that_go(make_world: Callable[..., World]) -> None:
    answers = {"GET /schemas/ids/5": (200, {"schema": "{}"})}
    with JsonServer(answers) as registry:
        world = make_world(**{"ksql.schema.registry.url": registry.url})
        assert world.one("ASSERT SCHEMA ID 5 TIMEOUT 0 SECONDS;")["exists"] is True
        answers.clear()
        assert world.one("ASSERT NOT EXISTS SCHEMA ID 5 TIMEOUT 0 SECONDS;")["exists"] is False


def test_schemas_need_a_registry(make_world: Callable[..., World]) -> None:
    world = make_world()
    error = world.refused("ASSERT SCHEMA SUBJECT x;")
    assert error.code == 42801 and "ksql.schema.registry.url" in error.message
    assert "subject name or an id" in world.refused("ASSERT SCHEMA;").message
    world = make_world(**{"ksql.schema.registry.url": "http://127.0.0.1:1"})
    error = world.refused("ASSERT SCHEMA ID 1;")
    assert error.condition == "REMOTE_UNREACHABLE" and "ksql.schema.registry.url" in error.message
