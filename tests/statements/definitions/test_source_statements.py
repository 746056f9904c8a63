"""CREATE STREAM and CREATE TABLE over topics (reference §2.1)."""

from __future__ import annotations

from ksql_spark.formats import FORMATS
from tests.statements.world import World


def test_a_topic_that_was_made_a_moment_ago(world: World) -> None:
    world.admin.late["fresh"] = 3
    assert world.message("CREATE STREAM x (v INT) WITH (KAFKA_TOPIC='fresh', VALUE_FORMAT='JSON');") == (
        "Stream created"
    )
    assert world.services.metastore.require("X").partitions == 1


def test_a_topic_that_is_not_there(world: World) -> None:
    error = world.refused("CREATE STREAM x (v INT) WITH (KAFKA_TOPIC='none', VALUE_FORMAT='JSON');")
    assert error.condition == "TOPIC_MISSING"
    assert world.services.metastore.find("X") is None


def test_formats_give_no_warnings(world: World) -> None:
    for name in sorted(set(FORMATS) - {"NONE"}):
        statement = f"CREATE STREAM {name}s (v INT) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='{name}');"
        assert world.one(statement)["warnings"] == []
