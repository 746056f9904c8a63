"""Subjects in the schema registry: they go with their topic, and CREATE says what the registry refuses."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.registry_server import RegistryServer
from tests.statements.world import World

CREATE = "CREATE STREAM w (k {key} KEY, v {value}) WITH (kafka_topic='wt', partitions=1, format='{format}');"
AVRO = CREATE.format(key="STRING", value="INT", format="AVRO")
OTHER = CREATE.format(key="STRING", value="STRING", format="AVRO")


@pytest.fixture
def registry() -> Iterator[RegistryServer]:
    with RegistryServer() as running:
        yield running


@pytest.fixture
def world(make_world: Callable[..., World], registry: RegistryServer) -> World:
    return make_world(**{"ksql.schema.registry.url": registry.url})


@pytest.mark.parametrize("format_", ["AVRO", "JSON_SR", "PROTOBUF"])
def test_subjects_go_with_their_topic(world: World, registry: RegistryServer, format_: str) -> None:
    registry.add("other-value", '"int"')
    text = CREATE.format(key="STRING", value="INT", format=format_)
    world.run(text)
    world.run("CREATE TABLE c AS SELECT k, COUNT(*) AS n FROM w GROUP BY k;")
    world.run("INSERT INTO w (k, v) VALUES ('a', 1);")
    assert registry.subjects.keys() == {"other-value", "wt-key", "wt-value", "C-key", "C-value"}
    planned = world.one("EXPLAIN DROP TABLE c DELETE TOPIC;")["queryDescription"]["executionPlan"]
    assert planned.endswith("topic C is deleted with all records, and the schemas of C-key and C-value")
    world.run("DROP TABLE c DELETE TOPIC;")
    assert registry.subjects.keys() == {"other-value", "wt-key", "wt-value"}
    world.run("DROP STREAM w;")
    assert registry.subjects.keys() == {"other-value", "wt-key", "wt-value"}
    world.run(f"{text} DROP STREAM w DELETE TOPIC;")
    assert registry.subjects.keys() == {"other-value"}


def test_a_subject_that_is_called_as_a_record_stays(world: World, registry: RegistryServer) -> None:
    """Records of other topics may have it."""
    strategy = "SET 'ksql.schema.registry.value.subject.name.strategy' = 'RecordNameStrategy';"
    world.run(
        strategy
        + AVRO.replace("k STRING KEY, ", "").replace("format=", "value_schema_full_name='a.B', value_format=")
    )
    world.run("INSERT INTO w VALUES (1);")
    assert registry.subjects.keys() == {"a.B"}
    world.run("DROP STREAM w DELETE TOPIC;")
    assert registry.subjects.keys() == {"a.B"}


def test_a_row_for_a_topic_that_is_gone_leaves_no_subject(world: World, registry: RegistryServer) -> None:
    world.run(AVRO + AVRO.replace("STREAM w", "STREAM other"))
    world.run("DROP STREAM other DELETE TOPIC;")
    assert world.refused("INSERT INTO w (k, v) VALUES ('a', 1);").condition == "TOPIC_UNKNOWN"
    assert not registry.subjects


def test_nothing_is_dropped_while_the_registry_is_away(world: World, registry: RegistryServer) -> None:
    world.run(AVRO)
    registry.stop()
    assert world.refused("DROP STREAM w DELETE TOPIC;").condition == "REMOTE_UNREACHABLE"
    assert world.admin.topic("wt") is not None
    assert "was dropped" in world.message("DROP STREAM w;")


def test_create_refuses_what_the_registry_would(world: World, registry: RegistryServer) -> None:
    world.run(AVRO)
    world.run("INSERT INTO w (k, v) VALUES ('a', 1);")
    world.run("DROP STREAM w;")
    registry.refused = "v was an int"
    # others may write the topic, which can be read with other columns
    (warning,) = world.one(OTHER)["warnings"]
    assert warning["message"].startswith("INSERT INTO W will fail. The schema registry rejected")
    (warning,) = world.one("ALTER STREAM w ADD COLUMN more INT;")["warnings"]
    assert warning["message"].startswith("INSERT INTO W will fail.")
    world.run("DROP STREAM w;")
    world.admin.delete_topics(["wt"])  # not by a statement
    error = world.refused(OTHER)
    assert error.condition == "SCHEMA_INCOMPATIBLE" and "wt-value: v was an int" in error.message
    assert world.admin.topic("wt") is None
    # the same columns as in the registry need no other schema
    world.run(AVRO)


@pytest.mark.parametrize(
    "create",
    [
        OTHER,
        "CREATE STREAM u (v STRING) WITH (kafka_topic='u', partitions=1, format='JSON');"
        "CREATE STREAM w WITH (kafka_topic='wt', value_format='AVRO') AS SELECT * FROM u;",
    ],
)
def test_what_a_statement_before_it_drops_is_gone(
    world: World, registry: RegistryServer, create: str
) -> None:
    world.run(AVRO)
    world.run("INSERT INTO w (k, v) VALUES ('a', 1);")
    as_it_is = registry.answer

    def answer(method: str, parts: list[str], sent: Any) -> tuple[int, Any]:
        registry.refused = "v was an int" if "wt-value" in registry.subjects else None
        return as_it_is(method, parts, sent)

    registry.answer = answer  # type: ignore[method-assign]
    world.run(f"DROP STREAM w DELETE TOPIC; {create.replace('partitions=1', 'partitions=2')}")
    topic = world.admin.topic("wt")
    assert topic is not None and topic.partitions == 2
    text = "DROP STREAM w DELETE TOPIC; CREATE STREAM w (v INT) WITH (kafka_topic='wt', format='JSON');"
    assert world.refused(text).condition == "TOPIC_MISSING"


def test_the_next_start_deletes_what_a_statement_has_left(
    world: World, registry: RegistryServer, tmp_path: Path
) -> None:
    """The server was killed during DROP … DELETE TOPIC."""
    world.run(AVRO)
    for subject in ("wt-value", "gone-value", "other-value"):
        registry.add(subject, '"int"')
    left = {"topics": [], "queries": [], "subjects": ["wt-value", "gone-key", "gone-value"]}
    (tmp_path / "pending.json").write_text(json.dumps({"token": "x", "unlogged": left}), encoding="utf-8")
    world.runner.finish_pending()
    assert registry.subjects.keys() == {"wt-value", "other-value"}


@pytest.mark.parametrize("is_away", [False, True])
def test_subjects_go_with_topics_when_the_cluster_ends(
    world: World, registry: RegistryServer, is_away: bool
) -> None:
    world.run(AVRO)
    world.run("CREATE TABLE c AS SELECT k, COUNT(*) AS n FROM w GROUP BY k;")
    world.run("CREATE TABLE d AS SELECT k, COUNT(*) AS n FROM w GROUP BY k;")
    world.admin.create_topic(world.log.topic)
    if is_away:
        registry.stop()
    world.statements.terminate_cluster(["C"])
    assert world.admin.topic("C") is None
    assert registry.subjects.keys() == {"D-key", "D-value"} | ({"C-key", "C-value"} if is_away else set())
