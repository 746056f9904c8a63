"""CREATE OR REPLACE without EVOLVE (reference §2.3): the query goes on as itself."""

from __future__ import annotations

from ksql_spark.runtime.queries.checkpoints import Checkpoint
from ksql_spark.storage import LocalFolder
from tests.statements.world import World

A = "CREATE STREAM a AS SELECT k, v FROM s EMIT CHANGES;"


def replace_a(select: str) -> str:
    return f"CREATE OR REPLACE STREAM a AS SELECT {select} EMIT CHANGES;"


def test_query_keeps_its_id_and_its_checkpoint(world: World) -> None:
    world.admin.ends[("s", 0)] = 7
    query_id = world.one(A)["commandStatus"]["queryId"]
    before = world.queries.find(query_id)
    world.admin.ends[("s", 0)] = 9
    answer = world.one(replace_a("k, v, UCASE(w) AS w2 FROM s WHERE v > 3"))
    assert answer["commandId"] == "stream/`A`/create"
    assert answer["commandStatus"]["queryId"] == query_id
    assert world.states() == {query_id: "RUNNING"}
    after = world.queries.find(query_id)
    assert before is not None and after is not None and after is not before
    assert not before.spark
    assert after.starts == before.starts and after.starts["s"]["0"] == 7
    assert [c.name for c in world.services.metastore.require("A").schema.columns] == ["K", "V", "W2"]
    assert "UCASE" in world.services.metastore.require("A").statement


def test_replacement_is_there_after_a_restart(world: World) -> None:
    world.run(A)
    world.run(replace_a("k, v FROM s WHERE v > 3"))
    (query,) = world.queries.all()
    world.restart()
    (again,) = world.queries.all()
    assert (again.id, again.plan, again.logical) == (query.id, query.plan, query.logical)
    world.run(replace_a("k, v, w FROM s WHERE v > 3"))
    assert world.ids() == [query.id]


def test_a_paused_query_stays_paused(world: World) -> None:
    world.run(A + "PAUSE ALL;")
    world.run(replace_a("k, v FROM s WHERE v > 3"))
    assert list(world.states().values()) == ["PAUSED"]
    world.restart()
    assert list(world.states().values()) == ["PAUSED"]
    world.run("RESUME ALL;")
    (query,) = world.queries.all()
    assert query.state == "RUNNING" and "WHERE v > 3" in query.statement


def test_where_that_comes_and_goes_begins_anew_where_the_query_was(world: World) -> None:
    world.admin.ends[("t", 0)] = 3
    world.run("CREATE TABLE f AS SELECT k, v FROM t EMIT CHANGES;")
    (query,) = world.queries.all()
    folder = world.checkpoint(query.id)
    world.commit(query.id, 4, t={"0": 5})
    world.run("CREATE OR REPLACE TABLE f AS SELECT k, v FROM t WHERE v > 1 EMIT CHANGES;")
    assert world.ids() == [query.id] and world.states() == {query.id: "RUNNING"}
    assert Checkpoint(LocalFolder(folder), 0).resumed_at == {"t": {"0": 5}} and not (folder / "0").exists()
    world.commit(query.id, 2, t={"0": 7})
    world.run("CREATE OR REPLACE TABLE f AS SELECT k, v FROM t WHERE v > 2 EMIT CHANGES;")
    assert Checkpoint(LocalFolder(folder), 0).committed() == {"t": {"0": 7}}
    world.run("CREATE OR REPLACE TABLE f AS SELECT k, v, v * 2 AS w FROM t EMIT CHANGES;")
    assert Checkpoint(LocalFolder(folder), 0).resumed_at == {"t": {"0": 7}} and not (folder / "0").exists()
    world.restart()
    assert Checkpoint(LocalFolder(folder), 0).resumed_at == {"t": {"0": 7}}
    world.run("DROP TABLE f;")
    assert not folder.exists()


def test_where_that_comes_before_anything_is_committed(world: World) -> None:
    world.run("CREATE TABLE f AS SELECT k, v FROM t EMIT CHANGES;")
    (query,) = world.queries.all()
    (world.checkpoint(query.id) / "0").mkdir()  # a batch ran, and what it wrote is there
    world.run("CREATE OR REPLACE TABLE f AS SELECT k, v FROM t WHERE v > 1 EMIT CHANGES;")
    assert Checkpoint(LocalFolder(world.checkpoint(query.id)), 0).resumed_at == {}


def test_log_that_fails_after_a_where_came(world: World) -> None:
    world.run("CREATE TABLE f AS SELECT k, v FROM t EMIT CHANGES;")
    (query,) = world.queries.all()
    world.commit(query.id, 1, t={"0": 5})
    world.log.is_broken = True
    world.refused("CREATE OR REPLACE TABLE f AS SELECT k, v FROM t WHERE v > 1 EMIT CHANGES;")
    assert world.queries.all() == [query] and query.state == "RUNNING" and query.spark
    assert Checkpoint(LocalFolder(world.checkpoint(query.id)), 0).resumed_at is None


def test_spark_that_refuses_leaves_the_query_in_error(world: World) -> None:
    world.run(A)
    (old,) = world.queries.all()
    world.queries.refused = "v > 3"
    status = world.one(replace_a("k, v FROM s WHERE v > 3"))["commandStatus"]
    assert status["status"] == "ERROR" and "Spark says no" in status["message"]
    assert world.states() == {old.id: "ERROR"}
    assert "WHERE" in world.services.metastore.require("A").statement
    # what it had done is kept, so that another statement can go on with it
    assert world.checkpoint(old.id).exists()
    world.run(replace_a("k, v FROM s"))
    assert world.states() == {old.id: "RUNNING"}


def test_a_log_that_fails_leaves_the_old_query(world: World) -> None:
    world.run(A)
    (old,) = world.queries.all()
    world.log.is_broken = True
    assert world.refused(replace_a("k, v, w FROM s")).condition == "BROKER_UNREACHABLE"
    assert world.queries.all() == [old] and old.state == "RUNNING"
    assert world.checkpoint(old.id).exists()
    assert [c.name for c in world.services.metastore.require("A").schema.columns] == ["K", "V"]


def test_a_new_query_where_the_old_one_was_terminated(world: World) -> None:
    world.run(A + "TERMINATE ALL;")
    world.run(replace_a("k, v, w FROM s"))
    assert world.ids() == ["CSAS_A_4"]


def test_or_replace_of_nothing_creates(world: World) -> None:
    world.run(replace_a("k, v FROM s"))
    assert world.ids() == ["CSAS_A_2"]


def test_in_one_request(world: World) -> None:
    world.run(A + replace_a("k, v, w FROM s"))
    (query,) = world.queries.all()
    assert query.id == "CSAS_A_2" and len(query.plan.root.schema.columns) == 3


def test_plain_sources(world: World) -> None:
    columns = "k STRING KEY, v INT, w STRING{}"
    replacing = f"CREATE OR REPLACE STREAM s ({columns}) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='{{}}');"
    assert world.message(replacing.format(", x INT", "JSON")) == "Stream created"
    assert world.services.metastore.require("S").schema.find("X") is not None
    assert "the value format cannot change" in world.refused(replacing.format("", "DELIMITED")).message
    assert "changed, missing or reordered" in world.refused(replacing.format("", "JSON")).message
    world.run(A)
    error = world.refused(
        "CREATE OR REPLACE STREAM a (k STRING KEY, v INT, x INT) WITH (KAFKA_TOPIC='A', VALUE_FORMAT='JSON');"
    )
    assert "a query created it" in error.message and "AS SELECT" in error.message
