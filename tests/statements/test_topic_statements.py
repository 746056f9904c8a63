"""Topics that statements make: how many replicas they have."""

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
        "CREATE TABLE a AS SELECT w, COUNT(*) AS n FROM r JOIN u ON r.v = u.v GROUP BY w EMIT CHANGES;",
        **{"replication.factor": "2"},
    )
    (internal,) = [name for name in replicated.admin.topics() if "repartition" in name]
    assert replicas(replicated, internal) == 2
