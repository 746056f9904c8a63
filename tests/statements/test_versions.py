"""SHOW VERSIONS: what a stream or table has been, from the command log alone."""

from __future__ import annotations

from typing import Any

import pytest

from ksql_spark.engine.request import Request
from ksql_spark.runtime.queries import differences, runs
from tests.statements.world import World

A = "CREATE STREAM a AS SELECT k, v FROM s EMIT CHANGES;"
A2 = "CREATE OR REPLACE STREAM a AS SELECT k, v FROM s WHERE v > 3 EMIT CHANGES;"
X = "CREATE TABLE x AS SELECT k, COUNT(*) AS n FROM s GROUP BY k EMIT CHANGES;"
X2 = (
    "CREATE OR REPLACE TABLE x WITH (EVOLVE = 'backfill', SWAP = 'manual') AS "
    "SELECT k, COUNT(*) AS n FROM s WHERE v > 3 GROUP BY k EMIT CHANGES;"
)


def versions(world: World, name: str) -> list[dict[str, Any]]:
    entity = world.one(f"SHOW VERSIONS OF {name};")
    assert entity["@type"] == "versions" and entity["name"] == name.upper()
    found: list[dict[str, Any]] = entity["versions"]
    return found


def test_versions_of_a_declared_stream(world: World) -> None:
    world.run("ALTER STREAM s ADD COLUMN x INT;")
    first, second = versions(world, "s")
    assert (first["number"], first["way"], first["isRollback"]) == (1, "created", False)
    assert first["statement"].startswith("CREATE STREAM s ") and first["queryId"] is None
    assert (second["number"], second["way"], second["commandSequenceNumber"]) == (2, "in-place", 2)
    assert second["statement"].endswith("\nALTER STREAM s ADD COLUMN x INT;")
    assert second["statement"] == world.one("DESCRIBE s EXTENDED;")["sourceDescription"]["statement"]
    world.run("DROP STREAM s; CREATE STREAM s (k INT KEY) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');")
    (anew,) = versions(world, "s")
    assert anew["way"] == "created" and anew["number"] == 1


def test_versions_of_a_query_survive_a_restart(world: World) -> None:
    world.admin.ends[("s", 0)] = 7
    world.run(A)
    world.answers(Request(A2, user="zoe"))
    found = versions(world, "a")
    assert [(v["way"], v["queryId"], v["user"]) for v in found] == [
        ("created", "CSAS_A_2", None),
        ("in-place", "CSAS_A_2", "zoe"),
    ]
    assert found[0]["starts"] == {"s": {"0": 7, "1": 0, "2": 0}}
    assert found[1]["statement"] == A2
    world.restart()
    assert versions(world, "a") == found


@pytest.fixture
def no_topics(monkeypatch: pytest.MonkeyPatch) -> None:
    """Swaps find no differences."""
    monkeypatch.setattr(differences, "compare", lambda *_: [])
    monkeypatch.setattr(differences, "write", lambda *_: None)
    monkeypatch.setattr(runs, "fence", lambda *_: None)


def test_a_swap_makes_a_version_and_an_abort_does_not(world: World, no_topics: None) -> None:
    world.run(X)
    world.run(X2)
    assert [v["way"] for v in versions(world, "x")] == ["created"]
    world.run("ABORT EVOLUTION x;")
    world.run(X2)
    new = world.ids()[-1]
    world.commit(new, 0, s={"0": 0, "1": 0, "2": 0})
    world.answers(Request("SWAP x;", user="zoe"))
    found = versions(world, "x")
    assert [(v["number"], v["way"], v["user"]) for v in found] == [
        (1, "created", None),
        (2, "backfill", "zoe"),
    ]
    assert found[1]["statement"] == X2 and found[1]["queryId"] == new
    assert found[1]["commandSequenceNumber"] == world.log.end() - 1
    world.restart()
    assert versions(world, "x") == found


def test_secrets_are_hidden_and_unknown_names_refused(world: World) -> None:
    world.run("CREATE STREAM p AS SELECT k, 'http://me:mine@there' AS address FROM s;")
    (only,) = versions(world, "p")
    assert "mine" not in only["statement"]
    assert world.refused("SHOW VERSIONS OF nobody;").condition == "SOURCE_UNKNOWN"
