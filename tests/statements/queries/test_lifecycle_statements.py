"""DROP, TERMINATE, PAUSE and RESUME; command ids; what outlives a restart (reference §2.9, §7.3)."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NoReturn

import pytest
from py4j.protocol import Py4JNetworkError

from ksql_spark.engine.query_service import QueryService
from ksql_spark.engine.request import Request
from ksql_spark.entities.wire import to_json
from ksql_spark.errors import KsqlError
from ksql_spark.plan import codec
from ksql_spark.plan.planner import lower
from ksql_spark.plan.stages import Plan
from tests.statements.world import World

A = "CREATE STREAM a AS SELECT * FROM s EMIT CHANGES;"
COLUMNS = "(k STRING KEY, v INT, w STRING)"
CREATE_N = f"CREATE STREAM n {COLUMNS} WITH (KAFKA_TOPIC='n', VALUE_FORMAT='JSON', PARTITIONS=1);"


def test_command_ids(world: World) -> None:
    world.run("CREATE TYPE p AS STRUCT<x INT>;")
    wanted = {
        CREATE_N: "stream/`N`/create",
        "ALTER STREAM n ADD COLUMN z INT;": "stream/N/alter",
        "CREATE TABLE c AS SELECT k, COUNT(*) AS n FROM s GROUP BY k EMIT CHANGES;": "table/`C`/create",
        "INSERT INTO n SELECT k, v, w, v AS z FROM s EMIT CHANGES;": "stream/`N`/create",
        "PAUSE CTAS_C_5;": "pause/CTAS_C_5/execute",
        "RESUME ctas_c_5;": "resume/CTAS_C_5/execute",
        "PAUSE ALL;": "pause/ALL/execute",
        "TERMINATE INSERTQUERY_6;": "terminate/INSERTQUERY_6/execute",
        "TERMINATE ALL;": "terminate/ALL/execute",
        "DROP TABLE c;": "table/C/drop",
        "CREATE TYPE q AS p;": "type/Q/create",
        "DROP TYPE p;": "type/P/drop",
    }
    for text, command_id in wanted.items():
        answer = world.one(text)
        assert (answer["@type"], answer["commandId"]) == ("currentStatus", command_id)
        assert answer["statementText"] == text
        assert answer["commandSequenceNumber"] == len(world.log.records) - 1
        assert to_json(world.runner.statuses[command_id]) == answer["commandStatus"]


def test_pause_outlives_restarts(world: World) -> None:
    world.run(A + "CREATE STREAM b AS SELECT * FROM s EMIT CHANGES;")
    world.run("PAUSE CSAS_A_2;")
    world.restart()
    assert world.states() == {"CSAS_A_2": "PAUSED", "CSAS_B_3": "RUNNING"}
    shown = {q["id"]: (q["state"], q["statusCount"]) for q in world.one("SHOW QUERIES;")["queries"]}
    assert shown["CSAS_A_2"] == ("PAUSED", {"PAUSED": 1})
    world.run("RESUME CSAS_A_2;")
    assert set(world.states().values()) == {"RUNNING"}
    world.restart()
    assert set(world.states().values()) == {"RUNNING"}


def test_terminated_queries_stay_away(world: World) -> None:
    world.run(A)
    world.run("TERMINATE csas_a_2;")
    assert world.ids() == [] and not world.checkpoint("CSAS_A_2").exists()
    world.restart()
    assert world.ids() == []
    assert world.services.metastore.find("A") is not None
    # the sink still depends on what it was made from
    assert "streams and/or tables read from this source: [A]" in world.refused("DROP STREAM s;").message
    assert world.message("DROP STREAM a DELETE TOPIC;") == "Source `A` (topic: A) was dropped."
    assert "A" not in world.admin.topics()
    world.run("DROP STREAM s;")
    assert "s" in world.admin.topics()


def test_drop_ends_the_query_that_made_it(world: World) -> None:
    world.run(A)
    assert world.message("DROP STREAM a;") == "Source `A` (topic: A) was dropped."
    assert world.ids() == []
    world.restart()
    assert world.ids() == [] and world.services.metastore.find("A") is None


def test_drop_is_refused_while_a_query_uses_it(world: World) -> None:
    world.run(CREATE_N)
    world.run("INSERT INTO n WITH (QUERY_ID='copy') SELECT * FROM s EMIT CHANGES;")
    for name, reads, writes in (("s", "COPY", ""), ("n", "", "COPY")):
        error = world.refused(f"DROP STREAM {name} DELETE TOPIC;")
        assert f"read from this source: [{reads}]" in error.message
        assert f"write into this source: [{writes}]" in error.message
    assert (
        "Query ID 'COPY' already exists."
        in world.refused("INSERT INTO n WITH (QUERY_ID='copy') SELECT * FROM s EMIT CHANGES;").message
    )
    world.run("TERMINATE copy; DROP STREAM n; DROP STREAM s;")


def test_if_exists(world: World) -> None:
    for text in ("DROP STREAM IF EXISTS nothing;", "DROP TABLE IF EXISTS nothing DELETE TOPIC;"):
        assert "Source `NOTHING` does not exist." in world.message(text)
    assert "Type NOTHING does not exist." in world.message("DROP TYPE IF EXISTS nothing;")
    assert "DROP TABLE" in world.refused("DROP TABLE IF EXISTS s;").message


def test_if_not_exists(world: World) -> None:
    for text in (
        "CREATE STREAM IF NOT EXISTS s (k STRING KEY) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');",
        "CREATE TABLE IF NOT EXISTS s AS SELECT k, COUNT(*) FROM s GROUP BY k;",
        "CREATE STREAM IF NOT EXISTS t AS SELECT * FROM s;",
    ):
        start = f"Cannot add {text.split()[1].lower()}"
        answer = world.one(text)
        assert answer["@type"] == "warning_entity" and answer["message"].startswith(start)
        assert start in world.refused(text.replace("IF NOT EXISTS ", "")).message
    world.run("CREATE TYPE p AS INT;")
    assert "already registered" in world.message("CREATE TYPE IF NOT EXISTS p AS STRING;")


def test_in_one_request(world: World) -> None:
    world.run(A + "DROP STREAM a;" + A + "TERMINATE ALL; DROP STREAM a;")
    assert world.ids() == [] and world.services.metastore.find("A") is None
    error = world.refused(A + "INSERT INTO a SELECT * FROM s EMIT CHANGES; DROP STREAM a;")
    assert f"write into this source: [INSERTQUERY_{len(world.log.records) + 1}]" in error.message
    assert world.ids() == [] and world.services.metastore.find("A") is None


def test_ids_are_numbers_of_the_log_and_each_query_is_lowered_once(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids: list[str] = []

    def counting(*given: object, **more: object) -> Plan:
        ids.append(str(given[3]))
        return lower(*given, **more)  # type: ignore[arg-type]

    monkeypatch.setattr("ksql_spark.statements.queries.query_start.lower", counting)
    entities = world.run(A + "SHOW STREAMS; INSERT INTO a SELECT * FROM s EMIT CHANGES;" + CREATE_N)
    first = len(world.log.records) - 3
    assert ids == [f"CSAS_A_{first}", f"INSERTQUERY_{first + 1}"] == world.ids()
    assert [e["commandSequenceNumber"] for e in entities if "commandId" in e] == [first, first + 1, first + 2]


def test_a_request_with_a_mistake_changes_nothing(world: World) -> None:
    before = len(world.log.records)
    error = world.refused(A + "DROP STREAM nothing;")
    assert error.statement == "DROP STREAM nothing" and not error.entities
    assert len(world.log.records) == before and world.ids() == []


def test_what_fails_midway_tells_what_ran(world: World) -> None:
    world.queries.refused = "STREAM b"
    before = len(world.log.records)
    entities = world.run(A + "CREATE STREAM b AS SELECT * FROM s EMIT CHANGES;" + "DROP TABLE t;")
    assert [e["commandStatus"]["status"] for e in entities] == ["SUCCESS", "ERROR", "SUCCESS"]
    message = entities[1]["commandStatus"]["message"]
    assert "Spark says no" in message and "the server retries it" in message
    query_id = f"CSAS_B_{before + 1}"
    assert world.states() == {f"CSAS_A_{before}": "RUNNING", query_id: "ERROR"}
    assert to_json(world.runner.statuses["stream/`B`/create"]) == entities[1]["commandStatus"]
    # a replay meets the same
    world.restart()
    assert world.states() == {f"CSAS_A_{before}": "RUNNING", query_id: "RUNNING"}
    assert world.services.metastore.find("B") is not None
    world.run("DROP STREAM b;")
    assert world.services.metastore.find("B") is None and not world.checkpoint(query_id).exists()


def test_a_topic_that_cannot_be_created_leaves_nothing(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    before = list(world.log.records)

    def refuse(*_: object) -> None:
        raise KsqlError("KAFKA_REFUSED", action="create topic", reason="no")

    monkeypatch.setattr(world.admin, "create_topic", refuse)
    error = world.refused(A + "DROP TABLE t;" + "CREATE STREAM b AS SELECT * FROM s EMIT CHANGES;")
    assert error.condition == "KAFKA_REFUSED" and not error.entities
    assert world.log.records == before and world.ids() == []
    assert world.services.metastore.find("T") is not None


def test_statements_that_are_too_deep(world: World) -> None:
    chain = " OR ".join(f"v = {i}" for i in range(6000))
    for text in (
        f"CREATE STREAM a AS SELECT * FROM s WHERE {chain} EMIT CHANGES;",
        f"EXPLAIN SELECT {chain} FROM s;",
    ):
        error = world.refused(text)
        assert error.condition == "SYNTAX" and "chain of operators is too long" in error.message
    assert world.ids() == [] and world.services.metastore.find("A") is None


def test_unknown_queries(world: World) -> None:
    world.run(A)
    for verb in ("TERMINATE", "PAUSE", "RESUME", "EXPLAIN"):
        error = world.refused(f"{verb} csas_a_3;")
        assert error.condition == "QUERY_UNKNOWN" and "Did you mean CSAS_A_2?" in error.message


def test_limit_of_queries(make_world: Callable[..., World]) -> None:
    world = make_world(**{"ksql.query.persistent.active.limit": 1})
    error = world.refused(A + "CREATE STREAM b AS SELECT * FROM s EMIT CHANGES;")
    assert "ksql.query.persistent.active.limit" in error.message
    world.run(A)
    world.run("CREATE OR REPLACE STREAM a AS SELECT * FROM s WHERE v > 1 EMIT CHANGES;")


# ---- plans in the command log -------------------------------------------------------------------------


def test_the_log_has_the_plan(world: World) -> None:
    world.run(A)
    (query,) = world.queries.all()
    record = json.loads(world.log.records[-1])
    assert record["queryId"] == query.id
    logged = codec.decode(record["plan"])
    assert (logged.bound, logged.plan) == (query.logical, query.plan)
    assert all("plan" not in json.loads(r) for r in world.log.records[:-1])


def test_replay_runs_the_plan_of_the_log(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.run(A + "CREATE TABLE c AS SELECT w, COUNT(*) AS n FROM a GROUP BY w EMIT CHANGES;")
    world.run("INSERT INTO a WITH (QUERY_ID='more') SELECT * FROM s EMIT CHANGES;")
    before = [(q.id, q.plan, q.logical, q.starts, q.creates_sink) for q in world.queries.all()]
    sources = world.services.metastore.sources()

    def another(*_: object) -> None:
        raise AssertionError("the plan of the log is to be used")

    monkeypatch.setattr("ksql_spark.statements.queries.query_start.lower", another)
    monkeypatch.setattr("ksql_spark.analyzer.bind_persistent", another)
    world.restart()
    assert [(q.id, q.plan, q.logical, q.starts, q.creates_sink) for q in world.queries.all()] == before
    assert world.services.metastore.sources() == sources


def test_replay_leaves_out_properties_that_only_the_server_sets(world: World) -> None:
    world.run(A)
    (before,) = world.queries.all()
    record = json.loads(world.log.records[-1])
    record["properties"] = {
        "ksql.streams.sasl.jaas.config": "x", "consumer.interceptor.classes": "y", "no.property": "z",
        "ksql.streams.auto.offset.reset": "earliest",
    }  # fmt: skip
    world.log.records[-1] = json.dumps(record)
    world.restart()
    (after,) = world.queries.all()
    assert (after.id, after.properties) == (before.id, {"ksql.streams.auto.offset.reset": "earliest"})


def test_replay_plans_where_the_log_has_no_plan(world: World) -> None:
    world.run(A)
    before = [(q.id, q.plan) for q in world.queries.all()]
    old = json.loads(world.log.records[-1]) | {"plan": None, "queryId": None}
    world.log.records[-1] = json.dumps(old)
    world.restart()
    assert [(q.id, q.plan) for q in world.queries.all()] == before


def test_a_plan_of_a_newer_release_is_said_and_passed_over(world: World) -> None:
    world.run(A)
    newer = json.loads(world.log.records[-1])
    newer["plan"]["version"] = 99
    world.log.records[-1] = json.dumps(newer)
    world.restart()
    assert world.ids() == [] and any("offset 2: " in r for r in world.reports)


# ---- SOURCE -------------------------------------------------------------------------------------------


def test_sources_are_read_only(world: World) -> None:
    world.run(
        "CREATE SOURCE STREAM r (k STRING KEY, v INT, w STRING) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');"
        "CREATE SOURCE TABLE rt (k STRING PRIMARY KEY, v INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON');"
    )
    for text in (
        "INSERT INTO r VALUES ('a', 1, 'b');",
        "INSERT INTO rt (k, v) VALUES ('a', 1);",
        "INSERT INTO r SELECT * FROM s EMIT CHANGES;",
        "DROP STREAM r DELETE TOPIC;",
        "DROP TABLE rt DELETE TOPIC;",
        "ALTER STREAM r ADD COLUMN x INT;",
        f"CREATE OR REPLACE STREAM r {COLUMNS} WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');",
        "CREATE OR REPLACE STREAM r AS SELECT * FROM s EMIT CHANGES;",
    ):
        assert world.refused(text).condition == "INVALID_STATEMENT", text
    assert world.sent == []
    assert world.one("DESCRIBE rt;")["sourceDescription"]["isSource"] is True
    assert world.one("EXPLAIN SELECT * FROM rt WHERE k = 'a';")["queryDescription"]["queryType"] == "PULL"
    world.run("DROP STREAM r; DROP TABLE rt;")
    assert {"s", "t"} <= set(world.admin.topics())


def test_a_pull_query_on_a_topic_that_was_deleted_outside(world: World) -> None:
    world.admin.delete_topics(["s"])
    with pytest.raises(KsqlError, match="Could not find topic 's'"):
        QueryService(world.services).query(Request("SELECT * FROM s;"))


def test_a_pull_query_during_which_spark_ends(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def ends(*arguments: Any) -> NoReturn:
        raise Py4JNetworkError("Answer from Java side is empty")

    monkeypatch.setattr(type(world.services.spark), "session", ends)
    with pytest.raises(KsqlError) as caught:
        QueryService(world.services).query(Request("SELECT * FROM s;"))
    assert caught.value.condition == "SPARK_RESTARTING"


@pytest.mark.parametrize(
    ("text", "count"), [("", 0), ("SELECT * FROM s; SELECT * FROM s;", 2), ("SET 'a'='b'; SHOW TYPES;", 2)]
)
def test_a_query_is_one_statement(world: World, text: str, count: int) -> None:
    with pytest.raises(KsqlError) as caught:
        QueryService(world.services).query(Request(text))
    assert caught.value.message == f"Expected exactly one KSQL statement; found {count} instead"
    assert (caught.value.code, caught.value.statement) == (40001, text)
