"""SHOW VERSIONS, ROLLBACK and UNDROP: what a stream or table has been, from the command log alone."""

from __future__ import annotations

from typing import Any

import pytest

from ksql_spark.authorization import Rights
from ksql_spark.engine.request import Request
from ksql_spark.errors import KsqlError
from tests.statements.topic_rows import TopicRows
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


def test_a_swap_makes_a_version_and_an_abort_does_not(world: World, topics: TopicRows) -> None:
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


def test_a_rollback_in_place(world: World) -> None:
    world.run(A, **{"auto.offset.reset": "earliest"})
    world.run(A2)
    assert (
        "In place: CSAS_A_2"
        in (world.one("EXPLAIN EVOLUTION ROLLBACK a;")["queryDescription"]["executionPlan"])
    )
    answer = world.one("ROLLBACK a;")
    assert answer["commandId"] == "stream/`A`/rollback"
    told = "A is as in version 1 again, from now on: CSAS_A_2 goes on in place, with its state."
    assert answer["commandStatus"]["message"] == told
    assert world.states() == {"CSAS_A_2": "RUNNING"}
    (query,) = world.queries.all()
    assert "WHERE" not in query.statement and list(query.properties.values()) == ["earliest"]
    found = versions(world, "a")
    assert [(v["number"], v["way"], v["isRollback"]) for v in found[1:]] == [
        (2, "in-place", False),
        (3, "in-place", True),
    ]
    world.restart()
    assert versions(world, "a") == found
    (query,) = world.queries.all()
    assert "WHERE" not in query.statement and query.state == "RUNNING"
    assert "already is as in version 1" in world.refused("ROLLBACK a TO VERSION 1;").message
    assert "no version 9" in world.refused("ROLLBACK a TO VERSION 9;").message
    world.run("ROLLBACK a;")  # undoes the first one
    (query,) = world.queries.all()
    assert "WHERE" in query.statement


def test_a_rollback_by_a_backfill(world: World, topics: TopicRows) -> None:
    world.run(X)
    world.run(X2)
    world.commit(world.ids()[-1], 0, s={"0": 0, "1": 0, "2": 0})
    world.run("SWAP x;")
    more = "CREATE OR REPLACE TABLE x AS SELECT k, COUNT(*) AS n, SUM(v) AS t FROM s WHERE v > 3 GROUP BY k;"
    assert "aggregate functions cannot change" in world.refused(more).message
    world.run(more.replace("TABLE x", "TABLE x WITH (EVOLVE = 'backfill', SWAP = 'manual')"))
    assert "runs beside the current one" in world.refused("ROLLBACK x;").message
    world.commit(world.ids()[-1], 0, s={"0": 0, "1": 0, "2": 0})
    world.run("SWAP x;")
    assert (
        "Backfill: a new query"
        in (world.one("EXPLAIN EVOLUTION ROLLBACK x;")["queryDescription"]["executionPlan"])
    )
    answer = world.one("ROLLBACK x;")
    assert answer["commandId"] == "table/`X`/rollback"
    assert answer["commandStatus"]["message"].startswith("X will be as in version 2 again: CTAS_X_")
    world.restart()
    assert world.one("DESCRIBE EVOLUTION x;")["state"] == "caught up"
    world.run("SWAP x;")
    last = versions(world, "x")[-1]
    assert (last["number"], last["way"], last["isRollback"]) == (4, "backfill", True)


IN_PLACE = "CREATE OR REPLACE TABLE x WITH (EVOLVE = 'in-place') AS SELECT k, {} FROM s GROUP BY k;"
MOST, HIGHEST = IN_PLACE.format("MAX(v) AS most"), IN_PLACE.format("MAX(v) AS highest, COUNT(*) AS m")
FROM_NOW = IN_PLACE.replace("in-place", "from-now").format("COUNT(*) AS m")
KEEP = "CREATE OR REPLACE STREAM a WITH (EVOLVE = '{}') AS SELECT k, v, {} FROM s EMIT CHANGES;"
KEPT = KEEP.format("backfill', HISTORY = 'keep", "w")
LAG = "CREATE STREAM a AS SELECT k, v, LAG(v) OVER (PARTITION BY k ORDER BY ROWTIME) AS w FROM s;"


@pytest.mark.parametrize(
    ("versions", "rollback", "told", "way"),
    [
        (
            (A, A2), "a",
            "A is as in version 1 again, from now on: CSAS_A_2 goes on in place, with its state.",
            "in-place"),
        (
            (X, MOST, HIGHEST), "x TO VERSION 1",
            "X is as in version 1 again, from now on: CTAS_X_2 goes on in place, with its state.",
            "in-place"),
        (
            (X, MOST, HIGHEST, "ROLLBACK x TO VERSION 1;"), "x TO VERSION 3",
            "X is as in version 3 again, from now on: CTAS_X_2 goes on in place, with its state.",
            "in-place"),
        (
            (X, MOST, MOST), "x",
            "X is as in version 1 again, from now on: CTAS_X_2 goes on in place, with its state. The "
            "statement of version 2 is the current one.", "in-place"),
        (
            (X, MOST, FROM_NOW), "x",
            "X will be as in version 2 again: CTAS_X_5 runs beside it, and takes over once it has caught up "
            "(DESCRIBE EVOLUTION X).", "from-now"),
        (
            (A, KEPT), "a",
            "A is as in version 1 again, from now on: CSAS_A_2 goes on from its position, without state.",
            "history kept"),
        (
            (LAG, KEEP.format("from-now", "v AS w")), "a",
            "A is as in version 1 again, from now on: CSAS_A_2 reads again, for its state, what it has "
            "read, and then goes on.", "history kept"),
    ],
    ids=[
        "in place",
        "by the state that all changes in place have kept",
        "and forth",
        "over a version that is the same",
        "beside, since the state is gone",
        "at once",
        "at once, with state",
    ],
)  # fmt: skip
def test_what_a_rollback_does(
    world: World, topics: TopicRows, versions: tuple[str, ...], rollback: str, told: str, way: str
) -> None:
    for statement in versions:
        world.run(statement)
        world.commit(world.ids()[0], 0, s={"0": 7, "1": 8, "2": 9})
    assert world.message(f"ROLLBACK {rollback};") == told
    for _ in range(2):
        last = world.one(f"SHOW VERSIONS OF {rollback.split()[0]};")["versions"][-1]
        assert last["way"] == way and last["isRollback"] == ("beside" not in told)
        world.restart()
    assert world.ids()[0][-1] == "2" and len(world.ids()) == 1 + ("beside" in told)


def test_rollbacks_that_are_refused(world: World) -> None:
    assert world.refused("ROLLBACK nobody;").condition == "SOURCE_UNKNOWN"
    assert "S has no earlier version" in world.refused("ROLLBACK s;").message
    world.run("ALTER STREAM s ADD COLUMN x INT;")
    assert "changed, missing or reordered" in world.refused("ROLLBACK s;").message
    world.run(A + "CREATE OR REPLACE STREAM a AS SELECT k, v, w FROM s EMIT CHANGES;")
    again = "CREATE OR REPLACE STREAM a AS SELECT k, v, w FROM s WHERE v > 4 EMIT CHANGES;"
    assert "a request of its own" in world.refused(again + "ROLLBACK a;").message
    assert len(versions(world, "a")) == 2


def test_a_rollback_needs_the_rights_of_its_statement(world: World) -> None:
    world.run(A + A2)
    for texts, missing in ((["reader:*"], "A"), (["developer:a"], "S")):
        with pytest.raises(KsqlError) as refused:
            world.answers(Request("ROLLBACK a;", rights=Rights.of(texts)))
        assert (refused.value.condition, refused.value.parameters["what"]) == ("FORBIDDEN", missing)
    world.answers(Request("ROLLBACK a;", rights=Rights.of(["developer:a", "reader:s"])))


def test_undrop_refuses_a_topic_that_is_shorter_than_before(world: World) -> None:
    world.admin.ends[("s", 0)] = 9
    world.run(A, **{"auto.offset.reset": "earliest"})
    world.commit("CSAS_A_2", 0, s={"0": 7, "1": 0, "2": 0})
    world.run("DROP STREAM a;")
    world.admin.ends[("s", 0)] = 3
    assert "it was recreated" in world.refused("UNDROP STREAM a;").message


@pytest.mark.parametrize(
    ("dropped", "recreated", "undrop"),
    [
        ("DROP STREAM a;", "s", "STREAM a"),
        ("DROP STREAM a;", "A", "STREAM a"),
        ("DROP STREAM a; DROP TABLE x;", "s", "TABLE x"),
        ("DROP STREAM a; DROP TABLE x; DROP STREAM s;", "s", "STREAM s"),
    ],
)
def test_undrop_refuses_another_topic_of_the_same_name(
    world: World, dropped: str, recreated: str, undrop: str
) -> None:
    """Also if it is longer than the old one was."""
    world.run(A + X)
    world.commit("CSAS_A_2", 0, s={"0": 0, "1": 0, "2": 0})
    world.run(dropped)
    world.admin.delete_topics([recreated])
    world.admin.create_topic(recreated, 3)
    world.admin.ends[("s", 0)] = 90
    world.restart()
    told = f"Topic {recreated} was deleted and recreated since the DROP: its records are others."
    assert told in world.refused(f"UNDROP {undrop};").message


def test_undrop_of_a_declared_stream(world: World) -> None:
    world.run("ALTER STREAM s ADD COLUMN x INT; DROP STREAM s;")
    answer = world.one("UNDROP STREAM s;")
    assert answer["commandId"] == "stream/`S`/undrop"
    assert answer["commandStatus"]["message"] == "Stream S is back, with its topic s."
    found = versions(world, "s")
    assert [(v["number"], v["way"]) for v in found] == [(1, "created"), (2, "in-place"), (3, "undropped")]
    assert found[-1]["statement"].startswith("CREATE STREAM S (") and "`X`" not in found[-1]["statement"]
    assert [c.name for c in world.services.metastore.require("S").schema.columns] == ["K", "V", "W", "X"]
    world.restart()
    assert versions(world, "s") == found
    world.run("DROP STREAM s DELETE TOPIC;")
    assert "The topic s was deleted" in world.refused("UNDROP STREAM s;").message


def test_a_streams_query_continues_where_it_stopped(world: World) -> None:
    world.admin.ends[("s", 0)] = 9
    world.run(A, **{"auto.offset.reset": "earliest"})
    world.commit("CSAS_A_2", 0, s={"0": 7, "1": 0, "2": 0})
    world.run("DROP STREAM a;")
    assert world.ids() == [] and not world.checkpoint("CSAS_A_2").exists()
    world.restart()
    world.admin.ends[("s", 0)] = 12
    message = world.message("UNDROP STREAM a;")
    assert message == "Stream A is back, with its topic A. Its query continues where it stopped."
    (query,) = world.queries.all()
    assert query.state == "RUNNING" and query.starts == {"s": {"0": 7, "1": 0, "2": 0}}
    assert list(query.properties.values()) == ["earliest"]
    world.restart()
    (again,) = world.queries.all()
    assert (again.id, again.starts) == (query.id, query.starts)
    world.run("TERMINATE ALL; DROP STREAM a;")
    assert "Nobody knows where the query of A stopped" in world.refused("UNDROP STREAM a;").message


def test_a_query_on_another_server_stops_nobody_knows_where(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.run(A)
    world.commit("CSAS_A_2", 0, s={"0": 0, "1": 0, "2": 0})
    monkeypatch.setattr(world.queries, "is_here", lambda _: False)
    world.run("DROP STREAM a;")
    assert "Nobody knows where the query of A stopped" in world.refused("UNDROP STREAM a;").message


def test_undrop_begins_after_the_last_transaction(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.admin.ends[("s", 0)] = 9
    world.run(A, **{"auto.offset.reset": "earliest", "processing.guarantee": "exactly_once_v2"})
    world.commit("CSAS_A_2", 0, s={"0": 7, "1": 0, "2": 0})

    def settle(admin: Any, stage: Any, checkpoint: Any) -> None:
        assert stage.transactional_id is not None
        world.commit("CSAS_A_2", 1, s={"0": 9, "1": 0, "2": 0})

    monkeypatch.setattr("ksql_spark.statements.definitions.sources.settle", settle)
    monkeypatch.setattr(world.queries, "end_transactions", lambda *_: None)
    world.run("DROP STREAM a;")
    world.run("UNDROP STREAM a;")
    (query,) = world.queries.all()
    assert query.starts == {"s": {"0": 9, "1": 0, "2": 0}}


def test_a_tables_query_reads_again(world: World) -> None:
    world.admin.ends[("s", 0)] = 9
    world.run(X, **{"auto.offset.reset": "earliest"})
    world.commit("CTAS_X_2", 0, s={"0": 7, "1": 0, "2": 0})
    world.run("DROP TABLE x;")
    assert "Its query reads again" in world.message("UNDROP TABLE x;")
    assert world.queries.all()[0].starts == {"s": {"0": 0, "1": 0, "2": 0}}
    world.run("DROP TABLE x DELETE TOPIC;")
    assert world.admin.topic("X") is None
    assert "Its topic was deleted: its query fills a new topic X" in world.message("UNDROP TABLE x;")
    assert world.admin.topic("X") is not None


def test_undrops_that_are_refused(make_world: Any) -> None:
    world = make_world(**{"ksql.undrop.retention.ms": 0})
    assert world.refused("UNDROP STREAM s;").message.startswith("A stream S exists.\n")
    assert "No stream or table NOBODY has been dropped" in world.refused("UNDROP TABLE nobody;").message
    world.run(A + "DROP STREAM a; DROP STREAM s;")
    assert "S was a stream: UNDROP STREAM S;" in world.refused("UNDROP TABLE s;").message
    assert world.refused("UNDROP STREAM a;").condition == "SOURCE_UNKNOWN"
    world.services.versions.dropped("S").command.__dict__["written_ms"] = 1
    assert "ksql.undrop.retention.ms is 0" in world.refused("UNDROP STREAM s;").message


def test_a_drop_that_fails_leaves_the_query_running(world: World) -> None:
    world.run(A)
    world.log.is_broken = True
    world.refused("DROP STREAM a;")
    assert world.states() == {"CSAS_A_2": "RUNNING"}


COUNTED = "AS SELECT w, COUNT(*) AS n FROM s GROUP BY w EMIT CHANGES;"
DECLARED = "CREATE TABLE y (k STRING PRIMARY KEY, v INT) WITH (KAFKA_TOPIC = 'y', VALUE_FORMAT = 'JSON', "


def test_history_of_a_table_is_a_setting_of_its_topic(world: World) -> None:
    world.run(f"CREATE TABLE x WITH (HISTORY = '7 DAYS') {COUNTED}")
    assert world.admin.configs["X"]["min.compaction.lag.ms"] == str(7 * 24 * 3600 * 1000)
    world.run(f"{DECLARED} PARTITIONS = 1, HISTORY = '1 HOUR');")
    assert world.admin.configs["y"]["min.compaction.lag.ms"] == "3600000"


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        (
            f"CREATE TABLE z WITH (KAFKA_TOPIC = 's', HISTORY = '2 HOURS') {COUNTED}",
            "expects a min.compaction.lag.ms of 7200000, but the topic has 0"),
        ("CREATE STREAM z WITH (HISTORY = '2 HOURS') AS SELECT * FROM s;", "a time is for tables"),
        (f"{DECLARED} PARTITIONS = 1, HISTORY = 'keep');", "Invalid duration: 'keep'"),
    ],
)  # fmt: skip
def test_history_is_refused(world: World, statement: str, reason: str) -> None:
    assert reason in world.refused(statement).message
