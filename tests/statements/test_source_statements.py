"""CREATE STREAM and CREATE TABLE over topics (reference §2.1)."""

from __future__ import annotations

import pytest

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


@pytest.mark.parametrize("name", ["PROTOBUF", "PROTOBUF_NOSR"])
def test_a_format_that_cannot_be_read_yet(world: World, name: str) -> None:
    of_values = f"CREATE STREAM x (v INT) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='{name}');"
    of_both = f"CREATE TABLE y (k INT PRIMARY KEY, v INT) WITH (KAFKA_TOPIC='t', FORMAT='{name}');"
    for created, kind, statement in (("X", "STREAM", of_values), ("Y", "TABLE", of_both)):
        (warning,) = world.one(statement)["warnings"]
        assert warning["message"] == (
            f"Records in {name} cannot be read or written yet. {created} can be described, but statements "
            "that read it or write to it are refused."
        )
        assert world.one(f"DESCRIBE {created};")["sourceDescription"]["name"] == created
        assert world.refused(f"CREATE {kind} z AS SELECT * FROM {created};").condition == "NOT_DONE_YET"


def test_other_formats_give_no_warnings(world: World) -> None:
    for name in ("JSON", "KAFKA", "DELIMITED", "AVRO", "JSON_SR"):
        statement = f"CREATE STREAM {name}s (v INT) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='{name}');"
        assert world.one(statement)["warnings"] == []
