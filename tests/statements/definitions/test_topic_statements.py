"""Topics that statements make or find: their replicas and retention."""

from __future__ import annotations

import pytest

from tests.statements.world import World

SOURCE = "CREATE STREAM r (k STRING KEY, v INT) WITH (KAFKA_TOPIC = 'r', VALUE_FORMAT = 'JSON');"


@pytest.fixture
def replicated(world: World) -> World:
    """A world with the stream R, whose topic has three replicas."""
    world.admin.create_topic("r", 2, 3)
    world.run(SOURCE)
    return world


def replicas(world: World, topic: str) -> int:
    return max(world.admin.require_topic(topic).replicas)


def test_a_sink_has_as_many_as_its_source(replicated: World) -> None:
    replicated.run("CREATE STREAM a AS SELECT * FROM r EMIT CHANGES;")
    assert replicas(replicated, "A") == 3


def test_unless_it_says_so_itself(replicated: World) -> None:
    replicated.run("CREATE STREAM a WITH (REPLICAS = 2) AS SELECT * FROM r EMIT CHANGES;")
    assert replicas(replicated, "A") == 2


def test_or_is_not_to_inherit(replicated: World) -> None:
    setting = {"ksql.create.topic.inherit.source.replicas.enabled": "false"}
    replicated.run("CREATE STREAM a AS SELECT * FROM r EMIT CHANGES;", **setting)
    assert replicas(replicated, "A") == 1


def test_internal_topics_have_their_own_number(replicated: World) -> None:
    replicated.run(
        "CREATE TABLE u (v INT PRIMARY KEY, w INT)"
        "  WITH (KAFKA_TOPIC = 'u', VALUE_FORMAT = 'JSON', PARTITIONS = 2);"
        "CREATE TABLE a AS SELECT w, COUNT(*) AS n FROM r JOIN u ON r.v = u.v"
        "  WINDOW TUMBLING (SIZE 1 HOUR) GROUP BY w EMIT FINAL;",
        **{"replication.factor": "2"},
    )
    (internal,) = [name for name in replicated.admin.topics() if "repartition" in name]
    assert replicas(replicated, internal) == 2


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        (
            "CREATE STREAM c (v INT) WITH (KAFKA_TOPIC = 'r', VALUE_FORMAT = 'JSON', PARTITIONS = 3);",
            "3 partitions",
        ),
        (
            "CREATE STREAM c (v INT) WITH (KAFKA_TOPIC = 'r', VALUE_FORMAT = 'JSON', REPLICAS = 4);",
            "4 replicas",
        ),
        ("CREATE STREAM c WITH (KAFKA_TOPIC = 'kept', REPLICAS = 2) AS SELECT * FROM r;", "2 replicas"),
        (
            "CREATE STREAM c (v INT) WITH (KAFKA_TOPIC = 'kept', FORMAT = 'JSON', RETENTION_MS = 2000);",
            "a retention of 2000 ms, but the topic has 1000 ms",
        ),
        (
            "CREATE STREAM c WITH (KAFKA_TOPIC = 'kept', RETENTION_MS = 2000) AS SELECT * FROM r;",
            "a retention of 2000 ms, but the topic has 1000 ms",
        ),
    ],
)
def test_a_topic_that_is_there_must_be_as_the_statement_says(
    replicated: World, statement: str, expected: str
) -> None:
    replicated.admin.create_topic("kept", 2, 1, {"retention.ms": "1000"})
    error = replicated.refused(statement)
    assert (error.condition, expected in error.message) == ("TOPIC_MISMATCH", True), error.message


def test_what_a_topic_has_more_of_is_right(replicated: World) -> None:
    replicated.admin.create_topic("kept", 2, 3, {"retention.ms": "1000"})
    replicated.run(
        "CREATE STREAM c (v INT)"
        "  WITH (KAFKA_TOPIC = 'kept', VALUE_FORMAT = 'JSON', REPLICAS = 2, RETENTION_MS = 1000);"
    )


def test_the_topic_of_a_windowed_table_keeps_its_windows(replicated: World) -> None:
    window = "WINDOW TUMBLING (SIZE 1 SECOND, RETENTION 3 HOURS)"
    replicated.run(
        f"CREATE TABLE a WITH (RETENTION_MS = 1000) AS SELECT k, COUNT(*) AS n FROM r {window} GROUP BY k;"
        f"CREATE TABLE b WITH (RETENTION_MS = 99999999) AS SELECT k, COUNT(*) FROM r {window} GROUP BY k;"
    )
    kept = [replicated.admin.config(topic)["retention.ms"] for topic in "AB"]
    assert kept == [str(3 * 3600 * 1000), "99999999"]
