"""The JSON of answers, byte for byte: ``answers.txt``, which ``ANSWERS=write`` rewrites."""

from __future__ import annotations

import itertools
import json
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from jsonschema import Draft202012Validator

from ksql_spark.engine.cluster import Cluster
from ksql_spark.engine.health import Health
from ksql_spark.engine.request import Request
from ksql_spark.entities import Body, Entity
from ksql_spark.entities.commands import (
    ErrorsReplayed,
    ForgottenPlace,
    RowsChanged,
    RowsForgotten,
    RowsReprocessed,
)
from ksql_spark.entities.graph import Freshness, FreshnessEntity, FreshnessStage
from ksql_spark.entities.servers import ClusterStatusResponse, StreamsMetadataList
from ksql_spark.entities.versions import EvolutionSample
from ksql_spark.entities.wire import ENTITIES, schemas, to_json
from ksql_spark.errors import KsqlError
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.runtime.command_log import SkippedRecord
from ksql_spark.runtime.queries.definition import QueryDefinition
from ksql_spark.runtime.queries.managed import ManagedQuery
from ksql_spark.services.python_functions import PythonFunctions
from ksql_spark.spark import tracing
from ksql_spark.spark.tracing import Change, Place, TracedRecords, WrittenRow
from ksql_spark.statements.rows import effects
from ksql_spark.statements.rows.tracing import Decoded
from tests.connect_server import ConnectServer
from tests.registry_server import RegistryServer
from tests.statements.world import World

FILE = Path(__file__).with_name("answers.txt")

PLAIN = """
CREATE STREAM a WITH (VALUE_FORMAT='AVRO') AS SELECT k, v, ARRAY[w] AS l FROM s EMIT CHANGES;
CREATE TABLE c AS SELECT k, COUNT(*) AS n FROM s WINDOW TUMBLING (SIZE 1 MINUTE) GROUP BY k EMIT CHANGES;
CREATE STREAM IF NOT EXISTS s (k STRING KEY) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');
CREATE STREAM h (k INT KEY, d DECIMAL(6,2), o BYTES HEADER('o')) WITH (KAFKA_TOPIC='t', FORMAT='JSON');
CREATE SOURCE TABLE r (k STRING PRIMARY KEY, v INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON');
CREATE TYPE place AS STRUCT<x DOUBLE, tags MAP<STRING, INT>, price DECIMAL(4, 1)>;
INSERT INTO a SELECT k, v, ARRAY[w] AS l FROM s EMIT CHANGES;
INSERT INTO h (k, d) VALUES (1, 1.5), (2, 2) RETURNING d, k AS id;
SHOW STREAMS; SHOW TABLES; SHOW QUERIES; SHOW TYPES;
SHOW TOPICS; SHOW TOPICS EXTENDED;
SHOW PROPERTIES; SHOW FUNCTIONS; SHOW SERVICES;
DEFINE name = 'Zoë'; SHOW VARIABLES; UNDEFINE nobody;
SET 'commit.interval.ms' = '10';
DESCRIBE s; DESCRIBE h; DESCRIBE a EXTENDED; DESCRIBE TABLES; SHOW STREAMS EXTENDED;
DESCRIBE FUNCTION ucase; DESCRIBE FUNCTION topk;
SHOW QUERIES EXTENDED; EXPLAIN CTAS_C_3;
EXPLAIN SELECT * FROM s EMIT CHANGES; EXPLAIN SELECT * FROM c WHERE k = 'a';
EXPLAIN CREATE STREAM e AS SELECT * FROM s EMIT CHANGES;
ASSERT TOPIC s TIMEOUT 0 SECONDS; ASSERT NOT EXISTS TOPIC nothing TIMEOUT 0 SECONDS;
ASSERT SCHEMA SUBJECT 'A-value' TIMEOUT 0 SECONDS; ASSERT NOT EXISTS SCHEMA ID 77 TIMEOUT 0 SECONDS;
PAUSE CSAS_A_2; SHOW QUERIES; RESUME ALL; TERMINATE transient_s_1;
DROP STREAM IF EXISTS nothing; DROP TYPE place; DROP TYPE IF EXISTS place;
CREATE FUNCTION one (x INT) RETURNS INT LANGUAGE PYTHON AS 'return 1'; DESCRIBE FUNCTION one;
CREATE FUNCTION IF NOT EXISTS one (x INT) RETURNS INT LANGUAGE PYTHON AS 'return 1';
DROP FUNCTION one; DROP FUNCTION IF EXISTS one;
CREATE VIEW w AS SELECT k, v FROM s WHERE v > 1; SHOW VIEWS; DESCRIBE w; DESCRIBE VIEWS;
CREATE VIEW IF NOT EXISTS w AS SELECT 1;
DROP VIEW w; DROP VIEW IF EXISTS w;
CREATE INDEX ON c (n); CREATE INDEX IF NOT EXISTS ON c (n); SHOW INDEXES; EXPLAIN SELECT * FROM c WHERE n = 1;
DROP INDEX c_n_idx; DROP INDEX IF EXISTS c_n_idx;
COMMENT ON TABLE c IS 'counts'; COMMENT ON COLUMN c.n IS 'how many'; DESCRIBE c; COMMENT ON TABLE c IS NULL;
CREATE STREAM b AS SELECT * FROM s EMIT CHANGES; ASSERT TOPIC nothing TIMEOUT 0 SECONDS;
ALTER STREAM h ADD COLUMN n INT; ALTER SYSTEM 'auto.offset.reset' = 'earliest';
TERMINATE CTAS_C_3; DROP TABLE c;
CREATE STREAM secret WITH ('sasl.jaas.config'='mine', KAFKA_TOPIC='x') AS SELECT * FROM s EMIT CHANGES;
CREATE TABLE v AS SELECT k, COUNT(*) AS n FROM s GROUP BY k EMIT CHANGES;
CREATE OR REPLACE TABLE v WITH (EVOLVE='backfill') AS SELECT k, SUM(v) AS n FROM s GROUP BY k EMIT CHANGES;
CREATE SINK lake FROM s WITH (TYPE='delta', PATH='s3://key:secret@lake/s', PARTITION_BY='k');
SHOW SINKS; DESCRIBE SINK lake; PAUSE SINK lake; SHOW SINKS; RESUME SINK lake; COMPACT SINK lake;
DROP SINK lake;
DROP SINK IF EXISTS lake;
CREATE SINK db FROM s WITH (TYPE='jdbc', URL='postgresql://ann:secret@db/shop?password=secret');
DESCRIBE SINK db; DROP SINK db;
CREATE TABLE z (id INT PRIMARY KEY) WITH (LAKE='postgresql://ann:secret@db/shop', FORMAT='jdbc', TABLE='z');
DESCRIBE z; DROP TABLE z DELETE TOPIC;
PAUSE ALL; DESCRIBE EVOLUTION v; ABORT EVOLUTION v; RESUME ALL; SHOW VERSIONS OF v;
EXPLAIN ROW FROM v WHERE k = 'a'; EXPLAIN RECORD 's' PARTITION 0 OFFSET 7; DROP TABLE v;
"""
CONNECTED = """
SHOW TOPICS; SHOW TOPICS EXTENDED; SHOW CONNECTORS; SHOW SINK CONNECTORS; SHOW CONNECTOR PLUGINS;
SHOW SERVICES;
DESCRIBE CONNECTOR lines;
CREATE SOURCE CONNECTOR fresh WITH ("connector.class"='FileStreamSource', "db.password"='4711');
CREATE SOURCE CONNECTOR IF NOT EXISTS fresh WITH ("connector.class"='FileStreamSource');
DROP CONNECTOR fresh; DROP CONNECTOR IF EXISTS fresh;
"""


class Placement:
    """Of two servers; the first query runs on the other one."""

    host, is_drained = "here:1", False
    says: Any = None

    def servers(self) -> dict[str, Any]:
        return {"x": SimpleNamespace(host="here:1", slots=2), "y": SimpleNamespace(host="there:2", slots=0)}

    def notes(self) -> dict[str, Any]:
        lags = [1_700_000_000_000, {"C": {"0": (3, 5)}}]
        return {"y": SimpleNamespace(host="there:2", content={"server": {"lags": lags}})}

    def state_of(self, query_id: str, notes: Any) -> tuple[str, str | None]:
        return ("RUNNING", "there:2") if query_id == "CTAS_C_3" else ("ELSEWHERE", None)

    def drain(self, timeout_s: float) -> bool:
        return True

    def serve(self) -> None:
        pass


def settled(text: str) -> str:
    """``text`` without what differs from run to run or release to release."""
    text = re.sub(r'"(executionPlan|topology|statistics)": ?"(?:[^"\\]|\\.)+"', r'"\1": "…"', text)
    text = re.sub(r'("(?:functions|properties)": \[(?:\{[^{}]*\}, ){2})\{"name.*?\]', r"\1…]", text)
    text = re.sub(r'("defaultProperties": \[).*?\]', r"\1…]", text)
    text = re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:<port>", text)
    text = re.sub(r'("path": ")/[^"]*', r"\1/…", text)
    return re.sub(r"\b\d{13}\b", "<ms>", text)


SCHEMAS = schemas("#/$defs/{model}")


def checked(body: Body) -> dict[str, Any]:
    """Its JSON, which has to be as /openapi.json says: all members, and no other."""
    found = to_json(body)
    schema = {"$ref": f"#/$defs/{type(body).__name__}", "$defs": SCHEMAS}
    Draft202012Validator(schema).validate(found)
    assert found.keys() <= SCHEMAS[type(body).__name__]["properties"].keys()
    return found


def statement_text(entity: Entity) -> str:
    """An entity as POST /ksql writes it."""
    return json.dumps(checked(entity), ensure_ascii=False)


def body_text(body: Body) -> str:
    """Any other body, as its route writes it."""
    return json.dumps(checked(body), ensure_ascii=False, separators=(",", ":"))


def run(world: World, texts: str) -> Iterator[str]:
    """Each statement, and what it answers."""
    variables: dict[str, str] = {}
    for line in texts.strip().splitlines():
        yield f"> {line}"
        try:
            for entity in world.statements.execute(Request(line, {}, variables)):
                yield statement_text(entity)
        except KsqlError as error:
            yield f"! {error.message}"
            for entity in error.entities:
                yield statement_text(entity)


def push_query(world: World) -> ManagedQuery:
    """A push query that runs."""
    like = world.queries.all()[0]
    text = "SELECT * FROM s EMIT CHANGES;"
    definition = QueryDefinition("transient_s_1", text, like.plan, {}, {}, 1, is_transient=True)
    made = ManagedQuery(definition)
    world.queries.add(made)
    return made


def health(world: World) -> Iterator[str]:
    """What GET /healthcheck answers."""
    parts = Health(world.services, cast(KafkaAdmin, world.admin), 5.0)
    yield "> GET /healthcheck"
    yield body_text(parts.check())
    parts.close()


def bodies(world: World) -> Iterator[str]:
    """What the routes about the server and others answer."""
    world.services.commands.skip(SkippedRecord("commands", 0, 7, "it is damaged"))
    yield from health(world)
    yield "> SHOW TYPES;"
    yield from map(statement_text, world.statements.execute(Request("SHOW TYPES;")))
    yield "> statuses"
    yield from (body_text(status) for status in world.runner.statuses.values())
    cluster = Cluster(world.services)
    cluster.heartbeat("other:1", 1)
    cluster.report("other:1", {"stateStoreLags": {}, "updateTimeMs": 1})
    yield "> cluster"
    yield body_text(ClusterStatusResponse(cluster.status()))
    yield body_text(cluster.metadata_for_key("t", {"k": "a"}))
    yield body_text(StreamsMetadataList(tuple(cluster.all_metadata())))
    yield "> shared"
    world.queries.is_here = lambda query: query.id != "CTAS_C_3"  # type: ignore[method-assign]
    world.services.placement = cast(Any, Placement())
    yield from map(statement_text, world.statements.execute(Request("SHOW QUERIES;")))
    yield body_text(ClusterStatusResponse(cluster.status()))
    yield body_text(cluster.metadata_for_key("t", {"k": "a"}))
    yield body_text(StreamsMetadataList(tuple(cluster.all_metadata())))
    yield body_text(cluster.drain())
    yield body_text(cluster.serve())
    del world.queries.is_here  # type: ignore[method-assign]
    world.services.placement = None
    yield "> REPLAY ERRORS OF CSAS_A_2;"  # as it needs Spark, without the work
    text = "REPLAY ERRORS OF CSAS_A_2"
    numbers: dict[str, Any] = {
        "replayed": 3,
        "failed_again": 1,
        "gone": 2,
        "gone_records": ("s-0: 5-6",),
        "unknown": 0,
    }
    answer = ErrorsReplayed(
        statement_text=text, query_id="CSAS_A_2", message="Replayed 3 records.", **numbers
    )
    yield statement_text(answer)
    yield "> REPROCESS w;"  # as it needs a topic
    yield statement_text(
        RowsReprocessed(
            statement_text="REPROCESS w",
            name="W",
            query_id="CTAS_W_3",
            is_preview=False,
            windows=2,
            open_windows=1,
            gone_windows=0,
            changed=1,
            removed=0,
            samples=(EvolutionSample(key={"K": "a"}, old={"N": 1}, new={"N": 2}),),
            message="2 windows of W computed again: 1 row changed, 0 removed.",
        )
    )
    yield "> FORGET FROM w WHERE k = 'a';"  # as it needs a topic
    place = ForgottenPlace("stream", "S", None, "left", "Its topic keeps records for 7 DAYS.")
    yield statement_text(
        RowsForgotten(
            statement_text="FORGET FROM w WHERE k = 'a'",
            name="W",
            query_id="CTAS_W_3",
            is_preview=False,
            count=1,
            places=(ForgottenPlace("topic", "W", 1, "deleted", "It is compacted."), place),
            message="1 row of W was removed. 1 place may still have records of the keys.",
        )
    )
    yield "> UPDATE t SET v = 1 WHERE k = 'a';"  # as it needs a topic
    text, told = "UPDATE t SET v = 1 WHERE k = 'a'", "1 row of T updated"
    yield statement_text(RowsChanged(statement_text=text, operation="UPDATE", count=1, message=told))
    yield "> EXPLAIN FRESHNESS c;"  # without an engine's figures
    stage = FreshnessStage(
        name="CTAS_C_3", kind="QUERY", state="RUNNING", delay_seconds=1.5, evidence=("Input: nothing waits.",)
    )
    found = Freshness(name="C", stages=(stage,), culprit="CTAS_C_3", verdict="CTAS_C_3 adds most: 1.5 s.")
    yield statement_text(FreshnessEntity(statement_text="EXPLAIN FRESHNESS c", freshness=found))
    yield "> the end"
    yield body_text(world.statements.rebuild_state("CSAS_A_2"))
    yield from map(body_text, world.statements.terminate_cluster([]))


def answers(make_world: Callable[..., World], folder: Path) -> Iterator[str]:
    """All lines of the file."""
    with RegistryServer() as registry, ConnectServer() as connect:
        world = make_world(
            **{"ksql.schema.registry.url": registry.url, "ksql.runtime.feature.shared.enabled": True,
               "ksql.create.function.enabled": True}
        )  # fmt: skip
        world.services.functions = PythonFunctions(folder / "ext", (), folder / "functions")
        world.queries.refused = "INSERT INTO"
        lines = iter(PLAIN.strip().splitlines())
        yield from run(world, "\n".join(itertools.islice(lines, 6)))
        push_query(world)
        yield from run(world, "\n".join(lines))
        yield from health(world)
        connect.connectors = {
            "lines": {"connector.class": "FileStreamSource", "name": "lines", "db.password": "4711"},
            "sink": {"connector.class": "FileStreamSink", "name": "sink"},
        }
        connect.tasks = {"lines": ["RUNNING", "FAILED x.y.SomeException: no 4711"]}
        connect.topics = {"lines": ["s"], "sink": []}
        world = make_world(**{"ksql.connect.url": connect.url})
        yield from run(world, CONNECTED)
        connect.stop()
        yield from run(world, "SHOW TOPICS;")
        yield from health(world)
        world = make_world(**{"ksql.lag.reporting.enable": True})
        yield from run(world, "\n".join(PLAIN.strip().splitlines()[:2]).replace("AVRO", "JSON"))
        yield from bodies(world)


@pytest.mark.filterwarnings("error:.*[Ss]erializ")
def test_bodies_are_as_they_were(
    make_world: Callable[..., World], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ksql_spark.spark.jvm.partition_of", lambda session, key, partitions: partitions - 1)
    places = [Place(1_700_000_000_000, 0, 0, 7, None)]
    monkeypatch.setattr(tracing, "find", lambda *_, **__: TracedRecords({None: 1}, places, places))
    decoded = Decoded({"K": "a", "V": 1})
    monkeypatch.setattr("ksql_spark.statements.rows.tracing._columns", lambda *_: {places[0]: decoded})
    monkeypatch.setattr(effects, "columns_at", lambda *_: (1_700_000_000_000, decoded))
    monkeypatch.setattr(effects, "ends_of", lambda sources, _: {source.topic: {0: 9} for source in sources})
    changes = [Change(b"a", None, b'{"C0": "a"}')]
    monkeypatch.setattr(tracing, "differences", lambda *_, **__: (1, changes))
    monkeypatch.setattr(tracing, "written", lambda *_: {b"a": [WrittenRow(places[0], changes[0].after)]})
    found = "".join(settled(line) + "\n" for line in answers(make_world, tmp_path))
    if os.environ.get("ANSWERS") == "write":
        FILE.write_text(found, encoding="utf-8")
    assert found.splitlines() == FILE.read_text(encoding="utf-8").splitlines()


def test_there_is_an_answer_of_each_kind() -> None:
    """It follows the test that writes the file."""
    text = FILE.read_text(encoding="utf-8")
    missing = set(ENTITIES) ^ set(re.findall(r'^\{"@type": "(\w+)"', text, re.MULTILINE))
    assert not missing, f"add a statement that {missing} answers to PLAIN, then run this with ANSWERS=write"
