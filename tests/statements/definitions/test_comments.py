"""COMMENT ON: what is said of streams, tables, views and their columns, and how long it stays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from ksql_spark.schema import Schema
from tests.statements.world import World


@pytest.fixture
def world(make_world: Callable[..., World]) -> World:
    world = make_world()
    world.run(
        "CREATE STREAM sold (id INT KEY, item STRING) WITH (kafka_topic='sold', format='JSON', partitions=1);"
        "CREATE TABLE counts AS SELECT item, COUNT(*) AS n FROM sold GROUP BY item;"
        "CREATE VIEW teas AS SELECT * FROM sold WHERE item = 'tea';"
    )
    return world


def described(world: World, name: str) -> tuple[str | None, dict[str, str]]:
    source = world.one(f"DESCRIBE {name};")["sourceDescription"]
    columns = {field["name"]: field["comment"] for field in source["fields"] if "comment" in field}
    return source.get("comment"), columns


def test_comments_are_set_changed_and_removed(world: World) -> None:
    world.run("COMMENT ON TABLE counts IS 'per item'; COMMENT ON COLUMN counts.n IS 'it''s a number';")
    world.run("COMMENT ON STREAM sold IS 'sales'; COMMENT ON VIEW teas IS 'only tea';")
    assert described(world, "counts") == ("per item", {"N": "it's a number"})
    assert described(world, "sold") == ("sales", {}) and described(world, "teas") == ("only tea", {})
    assert world.message("COMMENT ON TABLE counts IS 'of items';") == "Comment set."
    assert world.message("COMMENT ON COLUMN counts.n IS NULL;") == "Comment removed."
    world.run("COMMENT ON STREAM sold IS '';")  # as in PostgreSQL
    assert described(world, "counts") == ("of items", {}) and described(world, "sold") == (None, {})


def test_comments_go_with_what_they_are_on(world: World) -> None:
    world.run("COMMENT ON TABLE counts IS 'per item'; COMMENT ON COLUMN counts.n IS 'how many';")
    world.run("COMMENT ON COLUMN counts.item IS 'what'; COMMENT ON VIEW teas IS 'only tea';")
    store = world.services.metastore
    counts = store.require("COUNTS")
    store.add(replace(counts, schema=Schema(counts.schema.columns[:1])))
    assert store.comments("COUNTS") == {None: "per item", "ITEM": "what"}
    world.run("DROP TABLE counts; DROP VIEW teas;")
    assert store.comments("COUNTS") == {} == store.comments("TEAS")


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        ("COMMENT ON TABLE sold IS 'x';", "SOLD is a stream. Write COMMENT ON STREAM SOLD IS '…';"),
        ("COMMENT ON COLUMN teas.item IS 'x';", "TEAS is a view. Write COMMENT ON VIEW TEAS IS '…';"),
        ("COMMENT ON TABLE nothing IS 'x';", "does not exist: NOTHING"),
        ("COMMENT ON COLUMN sold.itme IS 'x';", "SOLD has no column ITME. Did you mean ITEM?"),
    ],
)
def test_what_does_not_exist_has_no_comment(world: World, statement: str, problem: str) -> None:
    assert problem in world.refused(statement).message
