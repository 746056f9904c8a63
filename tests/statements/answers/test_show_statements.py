"""SHOW, DESCRIBE and EXPLAIN: the entities of reference §7.3."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ksql_spark.functions import registry
from ksql_spark.functions.spec import NAMELESS
from ksql_spark.runtime.queries.managed import ManagedQuery
from ksql_spark.runtime.queries.states import State
from ksql_spark.spark.processing_log import Counts, Graces
from ksql_spark.spark.traffic import Times, Traffic, Volume
from tests.statements.world import World


def test_streams_and_tables(world: World) -> None:
    for verb in ("SHOW", "LIST"):
        answer = world.one(f"{verb} STREAMS;")
        row = {
            "type": "STREAM",
            "name": "S",
            "topic": "s",
            "keyFormat": "KAFKA",
            "valueFormat": "JSON",
            "isWindowed": False,
        }
        assert (answer["@type"], answer["streams"]) == ("streams", [row])
        assert [t["name"] for t in world.one(f"{verb} TABLES;")["tables"]] == ["T"]


def test_descriptions(world: World) -> None:
    world.run("CREATE STREAM a AS SELECT k, v, ARRAY[w] AS l FROM s EMIT CHANGES;")
    for text in ("SHOW STREAMS EXTENDED;", "DESCRIBE STREAMS EXTENDED;", "DESCRIBE STREAMS;"):
        answer = world.one(text)
        assert answer["@type"] == "source_descriptions"
        assert [d["name"] for d in answer["sourceDescriptions"]] == ["A", "S"]
        assert {d["extended"] for d in answer["sourceDescriptions"]} == {text.endswith("EXTENDED;")}
    assert [d["name"] for d in world.one("DESCRIBE TABLES;")["sourceDescriptions"]] == ["T"]
    answer = world.one("DESCRIBE a EXTENDED;")
    described = answer["sourceDescription"]
    assert answer["@type"] == "sourceDescription"
    assert [q["id"] for q in described["writeQueries"]] == ["CSAS_A_2"] and described["readQueries"] == []
    assert (described["partitions"], described["replication"], described["topic"]) == (3, 1, "A")
    assert described["fields"][2] == {
        "name": "L",
        "schema": {
            "type": "ARRAY",
            "fields": None,
            "memberSchema": {"type": "STRING", "fields": None, "memberSchema": None},
        },
    }
    (source,) = (world.one("DESCRIBE s;")["sourceDescription"],)
    assert source["sourceConstraints"] == ["A"] and [q["id"] for q in source["readQueries"]] == ["CSAS_A_2"]
    error = world.refused("DESCRIBE aa;")
    assert error.condition == "SOURCE_UNKNOWN" and "Did you mean A?" in error.message


def test_offsets_are_those_that_are_committed(world: World) -> None:
    world.admin.ends = {("s", 0): 5, ("s", 1): 7, ("s", 2): 0}
    world.run("CREATE STREAM a AS SELECT k, v FROM s EMIT CHANGES;", **{"auto.offset.reset": "earliest"})

    def offsets(source: str) -> list[tuple[int, int, int]]:
        (summary,) = world.one(f"DESCRIBE {source} EXTENDED;")["sourceDescription"]["queryOffsetSummaries"]
        (topic,) = summary["topicSummaries"]
        assert (summary["groupId"], topic["kafkaTopic"]) == ("CSAS_A_2", "s")
        return [(o["partition"], o["consumerOffset"], o["logEndOffset"]) for o in topic["offsets"]]

    assert offsets("a") == offsets("s") == [(0, 0, 5), (1, 0, 7), (2, 0, 0)]
    world.commit("CSAS_A_2", 0, s={"0": 5, "1": 3, "2": 0})
    assert offsets("a") == offsets("s") == [(0, 5, 5), (1, 3, 7), (2, 0, 0)]
    described = world.one("DESCRIBE t EXTENDED;")["sourceDescription"]
    assert described["queryOffsetSummaries"] == []


def test_offsets_of_internal_topics_come_after_those_of_sources(world: World) -> None:
    world.run(
        "CREATE TABLE a AS SELECT s.v AS v, COUNT(*) AS n FROM s JOIN t ON s.k = t.k"
        "  WINDOW TUMBLING (SIZE 1 HOUR) GROUP BY s.v EMIT FINAL;"
    )
    (internal,) = (name for name in world.admin.topics() if name.endswith("-0-repartition"))
    world.admin.ends = {("s", 0): 3, ("t", 0): 5, (internal, 0): 4}

    def offsets() -> dict[str, tuple[int, int]]:
        (summary,) = world.one("DESCRIBE a EXTENDED;")["sourceDescription"]["queryOffsetSummaries"]
        first = ((t["kafkaTopic"], t["offsets"][0]) for t in summary["topicSummaries"])
        return {topic: (place["consumerOffset"], place["logEndOffset"]) for topic, place in first}

    assert list(offsets().items()) == [("s", (0, 3)), ("t", (0, 5)), (internal, (0, 4))]
    world.commit("CTAS_A_2", 0, t={"0": 5, "1": 0, "2": 0})
    assert offsets() == {"s": (0, 3), "t": (5, 5), internal: (0, 4)}


@pytest.mark.parametrize(
    "text", ["", "v1\n{}\n", 'v1\n{}\n{"s":{"0"', "v1\n{}\n[1]", 'v1\n{}\n{"s": 3}', "\0\0"]
)
def test_damaged_offsets_do_not_hide_the_rest(world: World, text: str) -> None:
    world.run("CREATE STREAM a AS SELECT k, v FROM s EMIT CHANGES;")
    world.run("CREATE STREAM b AS SELECT k, v FROM s EMIT CHANGES;")
    world.commit("CSAS_A_2", 0, s={"0": 1, "1": 0, "2": 0})
    world.commit("CSAS_B_3", 0, s={"0": 1, "1": 0, "2": 0})
    file = world.checkpoint("CSAS_A_2") / "0" / "offsets" / "0"
    file.write_text(text, encoding="utf-8")
    for source, readable in (("a", []), ("s", ["CSAS_B_3"])):
        described = world.one(f"DESCRIBE {source} EXTENDED;")["sourceDescription"]
        assert [summary["groupId"] for summary in described["queryOffsetSummaries"]] == readable
        assert "CSAS_A_2: offsets unreadable. " in described["statistics"]
        assert str(file) in described["statistics"]


def test_what_queries_have_read_and_written_is_shown(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.run("CREATE STREAM a AS SELECT k, v FROM s EMIT CHANGES;")
    none = Times((), (0,), 0.0)
    found = Traffic({"s": Volume(3, 60), "x": Volume(1, 5)}, {"A": Volume(2, 30)}, {}, none, None, {})
    monkeypatch.setattr(world.queries.figures, "traffic", lambda: {"CSAS_A_2": found})
    text = "4 records, 65 bytes read, 2 records, 30 bytes written since Spark started"
    described = world.one("DESCRIBE a EXTENDED;")["sourceDescription"]
    assert f"Traffic of CSAS_A_2: {text}" in described["statistics"].splitlines()
    assert "Traffic" not in world.one("DESCRIBE s EXTENDED;")["sourceDescription"]["statistics"]
    (query,) = world.one("SHOW QUERIES EXTENDED;")["queryDescriptions"]
    assert query["topology"].endswith(f"Traffic: {text}")


@pytest.mark.parametrize(
    ("odd_ms", "words"),
    [
        (1_700_000_000_000_000, "times are in the year 55840; is the column V in microseconds?"),
        (1_700_000_000_000_000_000, "times are in the year 53872825; is the column V in nanoseconds?"),
        (1_700_000_000, "times are in the year 1970; is the column V in seconds?"),
        (7_000_000_000_000, "times are in the year 2191; is the column V right?"),
    ],
)
def test_times_that_are_years_ahead_are_warned_of(
    world: World, monkeypatch: pytest.MonkeyPatch, odd_ms: int, words: str
) -> None:
    world.run(
        "CREATE STREAM a WITH (TIMESTAMP = 'v') AS SELECT k, CAST(v AS BIGINT) AS v FROM s EMIT CHANGES;"
    )
    statements = (
        "DESCRIBE a;",
        "DESCRIBE s;",
        "SHOW QUERIES;",
        "SHOW QUERIES EXTENDED;",
        "EXPLAIN CSAS_A_2;",
    )
    assert not any(world.one(text)["warnings"] for text in statements)
    odd = Traffic({}, {}, {}, Times((), (0,), 0.0), None, {}, odd_ms)
    monkeypatch.setattr(world.queries.figures, "traffic", lambda: {"CSAS_A_2": odd})
    warning = [{"message": f"CSAS_A_2: {words}"}]
    for text in (*statements, "CREATE STREAM b AS SELECT * FROM a EMIT CHANGES;"):
        assert world.one(text)["warnings"] == warning
    assert world.one("DESCRIBE t;")["warnings"] == []


JOINED = "CREATE STREAM j AS SELECT s.k AS k, s.v AS v FROM s LEFT JOIN t {} ON s.k = t.k;"


def test_records_that_are_older_than_the_rows_of_a_table_are_warned_of(world: World) -> None:
    world.admin.ends = {("s", 0): 3}

    def warned(text: str) -> list[str]:
        return [one["message"] for one in world.one(text, **{"auto.offset.reset": "earliest"})["warnings"]]

    (empty,) = warned(JOINED.format(""))
    assert empty.startswith("CSAS_J_2: T has no rows, so 3 records of S are joined with none. Create")
    world.admin.ends["t", 0] = 1
    for text in ("DESCRIBE j;", "DESCRIBE s;", "EXPLAIN CSAS_J_2;"):
        (older,) = warned(text)
        assert older.startswith(
            "CSAS_J_2: 3 records of S are older than the first row of T, and found none unless they"
        )
    world.run("DROP STREAM j;")
    assert warned(JOINED.format("FOR SYSTEM_TIME AS OF CURRENT_TIMESTAMP")) == []
    assert warned("DESCRIBE j;") == []
    del world.admin.ends["t", 0]
    (empty_at_first,) = warned("DESCRIBE j;")
    assert empty_at_first.partition(": ")[2] == empty.partition(": ")[2]


def test_records_that_a_join_does_not_read_are_not_warned_of(world: World) -> None:
    world.admin.ends = {("s", 0): 3, ("t", 0): 1}
    assert not world.one(JOINED.format(""))["warnings"]  # it begins with the latest record


def test_the_figures_of_queries_are_those_of_metrics(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.run("CREATE STREAM a AS SELECT k, v FROM s EMIT CHANGES;")
    latency, pauses = Times((0.001, 0.01), (60, 38, 2), 1.5), Times((0.1,), (2, 1), 0.7)
    found = Traffic({}, {}, {"A": latency}, pauses, 1, {})
    monkeypatch.setattr(world.queries.figures, "traffic", lambda: {"CSAS_A_2": found})
    monkeypatch.setattr(world.queries.figures, "counts", lambda query_id: Counts(2, 0, 3, 0, None))
    graces = Graces((800, 900, 99_001, 100 * 3600_000), (40, 30, 60, 1))
    monkeypatch.setattr(world.queries.figures, "graces", lambda query_id: graces)
    (query,) = world.queries.all()
    query.retries.total = 4
    (shown,) = world.one("SHOW QUERIES EXTENDED;")["queryDescriptions"]
    lines = shown["topology"].splitlines()
    old = " (for records that were already old when they were read, this is their age)"
    after = "from the records' timestamps on"
    assert f"Latency to A: p50 0.00083 s, p95 0.0093 s, p99 more than 0.01 s, {after}{old}" in lines
    assert "Pauses for checkpoints: 3, together 0.700 s" in lines
    assert any(line.startswith("Lag: the oldest record has waited for ") for line in lines)
    halted = found._replace(waiting_ms=None)
    monkeypatch.setattr(world.queries.figures, "traffic", lambda: {"CSAS_A_2": halted})
    for lag, now in ((0, 10.0), (60, 17.5)):
        world.queries.figures.halts.note("CSAS_A_2", 5, lag, now)
    (again,) = world.one("SHOW QUERIES EXTENDED;")["queryDescriptions"]
    assert "Lag: the oldest record has waited for 7.500 s" in again["topology"].splitlines()
    assert "Bad records: 2 unreadable" in lines
    kept = "GRACE PERIOD 100 SECONDS would have kept 99 % of them, 1 SECONDS half of them, 5 DAYS all"
    assert f"Late records: 3; {kept}" in lines
    assert "Failures: 4 since the server started" in lines
    statistics = world.one("DESCRIBE a EXTENDED;")["sourceDescription"]["statistics"].splitlines()
    assert "Pauses for checkpoints of CSAS_A_2: 3, together 0.700 s" in statistics
    assert found.latencies["A"].within_s(0.9) == pytest.approx(0.0081, abs=0.0001)
    found.latencies["A"] = Times((0.001, 0.01), (60, 40, 0), 1.4)
    (shown,) = world.one("SHOW QUERIES EXTENDED;")["queryDescriptions"]
    assert (
        f"Latency to A: p50 0.00083 s, p95 0.0089 s, p99 0.0098 s, {after}" in shown["topology"].splitlines()
    )


def test_topics(make_world: Callable[..., World]) -> None:
    world = make_world()
    world.admin.create_topic("_confluent-hidden", 2)
    assert [t["name"] for t in world.one("SHOW TOPICS;")["topics"]] == ["s", "t"]
    assert [t["name"] for t in world.one("SHOW ALL TOPICS;")["topics"]] == ["_confluent-hidden", "s", "t"]
    extended = world.one("LIST ALL TOPICS EXTENDED;")
    assert extended["@type"] == "kafka_topics_extended"
    assert extended["topics"][0] == {
        "name": "_confluent-hidden",
        "replicaInfo": [1, 1],
        "consumerCount": 0,
        "consumerGroupCount": 0,
        "recordCount": 0,
        "retentionMs": -1,
        "isCompacted": False,
    }


def test_topics_with_what_is_in_them_and_who_reads_them(world: World) -> None:
    world.run(
        "CREATE STREAM a WITH (RETENTION_MS = 3600000) AS SELECT * FROM s;"
        "CREATE TABLE b AS SELECT k, COUNT(*) FROM s GROUP BY k;"
    )
    world.admin.ends = {("s", 0): 5, ("s", 1): 2}
    topics = {one["name"]: one for one in world.one("SHOW TOPICS EXTENDED;")["topics"]}
    assert (topics["s"]["recordCount"], topics["s"]["consumerCount"]) == (7, 2)
    assert (topics["A"]["retentionMs"], topics["A"]["isCompacted"]) == (3_600_000, False)
    assert (topics["B"]["retentionMs"], topics["B"]["isCompacted"]) == (-1, True)
    assert topics["B"]["consumerGroupCount"] == 0


def test_queries(world: World) -> None:
    world.run("CREATE STREAM a AS SELECT * FROM s EMIT CHANGES;")
    answer = world.one("SHOW QUERIES;")
    assert answer["queries"] == [
        {
            "queryString": "CREATE STREAM a AS SELECT * FROM s EMIT CHANGES;",
            "sinks": ["A"],
            "sinkKafkaTopics": ["A"],
            "id": "CSAS_A_2",
            "statusCount": {"RUNNING": 1},
            "queryType": "PERSISTENT",
            "state": "RUNNING",
            "processingGuarantee": "at_least_once",
        }
    ]
    (described,) = world.one("SHOW QUERIES EXTENDED;")["queryDescriptions"]
    assert described["id"] == "CSAS_A_2" and described["state"] == "RUNNING"


@pytest.mark.parametrize(
    ("state", "status"),
    [
        (State.REGISTERED, "RUNNING"),
        (State.ELSEWHERE, "RUNNING"),
        (State.ERROR, "ERROR"),
        (State.PAUSED, "PAUSED"),
    ],
)
def test_clients_of_ksqldb_can_read_every_state(
    world: World, monkeypatch: pytest.MonkeyPatch, state: State, status: str
) -> None:
    world.run("CREATE STREAM a AS SELECT * FROM s EMIT CHANGES;")
    monkeypatch.setattr(ManagedQuery, "state", state)
    (query,) = world.one("SHOW QUERIES;")["queries"]
    assert (query["state"], query["statusCount"]) == (state, {status: 1})
    described = world.one("EXPLAIN CSAS_A_2;")["queryDescription"]
    assert (described["state"], described["ksqlHostQueryStatus"]) == (state, {"localhost:8088": status})


def test_functions(world: World) -> None:
    answer = world.one("SHOW FUNCTIONS;")
    rows = {f["name"]: f["type"] for f in answer["functions"]}
    assert rows["UCASE"] == "SCALAR" and rows["COUNT"] == "AGGREGATE" and rows["EXPLODE"] == "TABLE"
    assert list(rows) == sorted(rows) and "+" not in rows
    for spec in registry.all_specs():
        if spec.kind not in NAMELESS:
            described = world.one(f"DESCRIBE FUNCTION `{spec.name}`;")
            assert described["@type"] == "describe_function" and described["functions"]
    error = world.refused("DESCRIBE FUNCTION ucas;")
    assert error.condition == "FUNCTION_UNKNOWN" and "UCASE" in error.message


def test_types(world: World) -> None:
    world.run("CREATE TYPE b AS STRUCT<x INT>; CREATE TYPE a AS ARRAY<b>;")
    world.restart()
    answer = world.one("SHOW TYPES;")
    assert list(answer["types"]) == ["A", "B"]
    assert answer["types"]["A"]["memberSchema"] == answer["types"]["B"]
    world.run("CREATE STREAM u (k STRING KEY, v a) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON'); DROP TYPE a;")
    assert str(world.services.metastore.require("U").schema.value[0].type) == "ARRAY<STRUCT<`X` INTEGER>>"
    assert list(world.one("SHOW TYPES;")["types"]) == ["B"]


def test_services(world: World) -> None:
    (kafka,) = world.one("SHOW SERVICES;")["services"]
    assert kafka == {"name": "Kafka", "address": "nowhere:9092", "startedHere": False}
    world.services.server.listeners = lambda: [("REST API", "http://127.0.0.1:8088")]
    world.services.server.starts_broker = True
    rest, kafka = world.one("LIST SERVICES;")["services"]
    assert rest == {"name": "REST API", "address": "http://127.0.0.1:8088", "startedHere": True}
    assert kafka["startedHere"]


def test_secrets_are_hidden(make_world: Callable[..., World]) -> None:
    world = make_world(**{"ssl.keystore.password": "hunter2"})
    assert "hunter2" not in str(world.one("SHOW PROPERTIES;"))


# ---- EXPLAIN ------------------------------------------------------------------------------------------


def test_explain_of_a_running_query(world: World) -> None:
    world.run("CREATE TABLE c AS SELECT w, COUNT(*) AS n FROM s WHERE v > 1 GROUP BY w EMIT CHANGES;")
    answer = world.one("EXPLAIN ctas_c_2;")
    described = answer["queryDescription"]
    assert answer["@type"] == "queryDescription"
    assert (described["id"], described["queryType"], described["sinks"]) == ("CTAS_C_2", "PERSISTENT", ["C"])
    plan = described["executionPlan"]
    assert plan.index("Logical plan") < plan.index("Filter | (V > 1)") < plan.index("Physical plan")
    assert "STREAM AGGREGATE" in plan and "Execution: " in plan
    assert "Sub-topology 0" in described["topology"] and "the aggregates of each key" in described["topology"]
    assert described["ksqlHostQueryStatus"] == {"localhost:8088": "RUNNING"}


def test_explain_of_statements_starts_nothing(world: World) -> None:
    for text, kind, sinks in (
        ("CREATE STREAM a AS SELECT * FROM s EMIT CHANGES", "PERSISTENT", ["A"]),
        ("INSERT INTO s SELECT * FROM s EMIT CHANGES", "PERSISTENT", ["S"]),
        ("SELECT v, k FROM s EMIT CHANGES", "PUSH", []),
    ):
        described = world.one(f"EXPLAIN {text};")["queryDescription"]
        assert (described["queryType"], described["sinks"], described["id"]) == (kind, sinks, "")
        assert described["statementText"] == text and described["sources"] == ["S"]
    assert world.ids() == [] and world.services.metastore.find("A") is None
    assert len(world.log.records) == 2


def test_explain_of_a_push_query_has_the_names_of_the_query(world: World) -> None:
    described = world.one("EXPLAIN SELECT v AS `c0`, k, ROWTIME FROM s EMIT CHANGES;")["queryDescription"]
    assert [field["name"] for field in described["fields"]] == ["c0", "K", "ROWTIME"]
    assert "Schema: `c0` INTEGER, `K` STRING, `ROWTIME` BIGINT" in described["executionPlan"]
    shown = described["executionPlan"] + described["topology"]
    assert "TOMBSTONE" not in shown and "C0" not in shown


def test_explain_names_aggregates_as_they_are_written(world: World) -> None:
    query = "SELECT w, COUNT(*) AS n, SUM(v) + COUNT(*) AS `both` FROM s GROUP BY w HAVING SUM(v) > 2"
    for text in (f"{query} EMIT CHANGES", f"CREATE TABLE c AS {query} EMIT CHANGES"):
        plan = world.one(f"EXPLAIN {text};")["queryDescription"]["executionPlan"]
        assert "KSQL_AGG_VARIABLE" not in plan
        assert "Values: COUNT(*) AS N, (SUM(V) + COUNT(*)) AS `both`" in plan
        assert "Filter | (SUM(V) > 2)" in plan and "Group by: W | COUNT(*), SUM(V)" in plan
        assert "Select: W, COUNT(*) AS N, (SUM(V) + COUNT(*)) AS `both`" in plan
        assert "| COUNT(*), SUM(V) | Group by: W | Having: (SUM(V) > 2)" in plan
        assert "Schema: `W` STRING KEY, `COUNT(*)` BIGINT, `SUM(V)` INTEGER" in plan


def test_explain_of_nested_aggregates(world: World) -> None:
    inner = "SELECT w, COUNT(*) AS n FROM s GROUP BY w ORDER BY w, SUM(v) + 1 DESC LIMIT 9"
    outer = f"SELECT SUM(n) AS total FROM ({inner}) x"
    text = f"{outer} GROUP BY UCASE(w) HAVING MAX(n) > 1 ORDER BY LEN(UCASE(w))"
    plan = world.one(f"EXPLAIN {text};")["queryDescription"]["executionPlan"]
    assert [line.strip() for line in plan.splitlines()[1:10]] == [
        "Project | Values: TOTAL",
        "Sort | LEN(UCASE(W))",
        "Project | Values: SUM(N) AS TOTAL, LEN(UCASE(W))",
        "Filter | (MAX(N) > 1)",
        "Aggregate | Group by: UCASE(W) | SUM(N), MAX(N)",
        "Project | Values: W, N",
        "Limit | 9",
        "Sort | W, (SUM(V) + 1) DESC",
        "Project | Values: W, COUNT(*) AS N, (SUM(V) + 1)",
    ]


def test_explain_of_pull_queries(world: World) -> None:
    world.run("CREATE TABLE c AS SELECT k, COUNT(*) AS n FROM s GROUP BY k EMIT CHANGES;")
    for text, plan in (
        ("SELECT * FROM c WHERE k = 'x'", "Look-up in table C | Keys: 'x' | Topic: C | Where: (K = 'x')"),
        ("SELECT n FROM c LIMIT 3", "Scan of table C | Topic: C | Select: N | Limit: 3"),
        ("SELECT * FROM s", "Logical plan\n  Project | Values: K, V, W\n    Source | STREAM S"),
    ):
        described = world.one(f"EXPLAIN {text};")["queryDescription"]
        assert described["queryType"] == "PULL" and described["executionPlan"].startswith(plan)


@pytest.mark.parametrize("text", ["EXPLAIN SHOW STREAMS;", "EXPLAIN DROP TYPE t;"])
def test_explain_of_anything_else(world: World, text: str) -> None:
    assert "does not run a ksql query" in world.refused(text).message


def test_queries_are_for_elsewhere(world: World) -> None:
    for text in ("SELECT * FROM s EMIT CHANGES;", "PRINT s;"):
        assert world.refused(f"SHOW STREAMS; {text}").code == 40002
