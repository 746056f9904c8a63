"""Streams and tables whose columns a schema registry has: an HTTP server in place of one (reference §5.6)."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from ksql_spark.config import Config
from ksql_spark.engine.bootstrap import schema_registry
from ksql_spark.engine.query_service import QueryService
from ksql_spark.engine.request import Request
from ksql_spark.errors import KsqlError
from ksql_spark.kafka.consumer import Record
from ksql_spark.statements.definitions import sources
from tests.statements.json_server import JsonServer
from tests.statements.world import World

RECORD = {
    "type": "record",
    "name": "R",
    "fields": [{"name": "a", "type": "int"}, {"name": "b", "type": "n.E"}],
}
OTHER = {"type": "enum", "name": "n.E", "symbols": ["X"]}
REFERENCE = {"name": "n.E", "subject": "others", "version": 1}

CREATE = "CREATE STREAM inferred WITH (KAFKA_TOPIC='t', VALUE_FORMAT='AVRO', PARTITIONS=3);"


def registered(schema: Any, schema_id: int, **more: Any) -> dict[str, Any]:
    text = schema if isinstance(schema, str) else json.dumps(schema)
    return {"subject": "any", "version": 1, "id": schema_id, "schema": text, **more}


@pytest.fixture
def answers() -> dict[str, tuple[int, Any]]:
    return {
        "GET /subjects/t-value/versions/latest": (200, registered(RECORD, 5, references=[REFERENCE])),
        "GET /subjects/others/versions/1?deleted=false": (200, registered(OTHER, 4)),
        "GET /schemas/ids/7": (
            200,
            {"schemaType": "PROTOBUF", "schema": 'syntax = "proto3"; message M { int32 x = 1; }'},
        ),
    }


@pytest.fixture
def registry(answers: dict[str, tuple[int, Any]]) -> Iterator[JsonServer]:
    with JsonServer(answers) as server:
        yield server


@pytest.fixture
def world(make_world: Callable[..., World], registry: JsonServer) -> World:
    return make_world(**{"ksql.schema.registry.url": registry.url + "/"})


def fields(world: World, name: str) -> list[tuple[str, str]]:
    """Names and types that DESCRIBE shows."""
    described = world.one(f"DESCRIBE {name};")["sourceDescription"]
    return [(f["name"], f["schema"]["type"]) for f in described["fields"]]


def test_columns_are_there_and_described(world: World) -> None:
    assert world.message(CREATE) == "Stream created"
    assert fields(world, "inferred") == [("A", "INTEGER"), ("B", "STRING")]
    described = world.one("DESCRIBE inferred EXTENDED;")["sourceDescription"]
    assert described["statement"] == (
        "CREATE STREAM INFERRED (`A` INTEGER, `B` STRING) "
        "WITH (KAFKA_TOPIC = 't', VALUE_FORMAT = 'AVRO', PARTITIONS = 3);"
    )
    for query in ("SELECT a, b FROM inferred EMIT CHANGES", "CREATE STREAM o AS SELECT * FROM inferred"):
        assert world.one(f"EXPLAIN {query};")["@type"] == "queryDescription"


def test_a_query_registers_the_schema_of_its_sink(
    world: World, registry: JsonServer, answers: dict[str, tuple[int, Any]]
) -> None:
    world.run(CREATE)
    asked = "POST /subjects/O-value/versions"
    answers[asked + "?normalize=False"] = answers[asked] = (200, {"id": 9})
    world.run("CREATE STREAM o AS SELECT * FROM inferred;")
    (sent,) = (sent for path, sent in registry.requests if path.startswith(asked))
    schema = json.loads(sent["schema"])
    assert schema["name"] == "KsqlDataSourceSchema"
    assert [f["name"] for f in schema["fields"]] == ["A", "B"]
    (query,) = world.services.queries.all()
    assert query.plan.records is not None and query.plan.records.value.schema_id == 9


def test_what_the_registry_refuses_leaves_nothing(world: World, answers: dict[str, tuple[int, Any]]) -> None:
    world.run(CREATE)
    asked = "POST /subjects/O-value/versions"
    answers[asked + "?normalize=False"] = answers[asked] = (409, {"error_code": 409, "message": "Too new."})
    error = world.refused("CREATE STREAM o AS SELECT * FROM inferred;")
    assert error.condition == "SCHEMA_INCOMPATIBLE" and "O-value: Too new." in error.message
    assert world.admin.topic("O") is None and world.services.metastore.find("O") is None


def test_formats_with_schemas_need_a_registry(make_world: Callable[..., World]) -> None:
    world = make_world()
    world.run("CREATE STREAM a (v INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='AVRO');")
    assert world.refused("CREATE STREAM o AS SELECT * FROM a;").condition == "SCHEMA_REGISTRY_MISSING"
    assert world.refused("INSERT INTO a (v) VALUES (1);").condition == "SCHEMA_REGISTRY_MISSING"
    for text in ("SELECT * FROM a;", "SELECT * FROM a ORDER BY v;"):
        with pytest.raises(KsqlError) as caught:
            QueryService(world.services).query(Request(text))
        assert caught.value.condition == "SCHEMA_REGISTRY_MISSING"


def test_a_restart_does_not_ask_again(
    world: World, registry: JsonServer, answers: dict[str, tuple[int, Any]]
) -> None:
    world.run(CREATE)
    world.run("CREATE STREAM by_id WITH (KAFKA_TOPIC='t', VALUE_FORMAT='PROTOBUF', VALUE_SCHEMA_ID=7);")
    assert registry.requests
    answers.clear()
    registry.requests.clear()
    world.restart()
    assert world.reports == ["replayed 4 statements"]
    assert fields(world, "inferred") == [("A", "INTEGER"), ("B", "STRING")]
    assert fields(world, "by_id") == [("x", "INTEGER")]
    assert registry.requests == []


def test_the_latest_schema_is_the_one_of_now(world: World, answers: dict[str, tuple[int, Any]]) -> None:
    world.run(CREATE)
    longer = RECORD | {"fields": [{"name": "z", "type": "double"}]}
    answers["GET /subjects/t-value/versions/latest"] = (200, registered(longer, 6))
    world.run(CREATE.replace("inferred", "again"))
    assert fields(world, "again") == [("Z", "DOUBLE")]


def test_a_statement_that_is_refused_leaves_nothing(world: World) -> None:
    error = world.refused("CREATE STREAM x WITH (KAFKA_TOPIC='none', VALUE_FORMAT='AVRO', PARTITIONS=1);")
    assert error.condition == "SCHEMA_UNKNOWN" and error.code // 100 == 400
    assert world.services.metastore.find("X") is None and world.admin.topic("none") is None


def test_a_registry_that_says_no(world: World, answers: dict[str, tuple[int, Any]]) -> None:
    answers["GET /subjects/t-value/versions/latest"] = (401, {"error_code": 40101, "message": "who are you"})
    error = world.refused(CREATE)
    assert error.message == "The schema registry refused: who are you (HTTP 401)."
    answers["GET /subjects/t-value/versions/latest"] = (200, registered(RECORD, 5, references=[REFERENCE]))
    del answers["GET /subjects/others/versions/1?deleted=false"]
    assert "version 1 of others, which a schema refers to, does not exist" in world.refused(CREATE).message


def test_no_registry(make_world: Callable[..., World]) -> None:
    error = make_world().refused(CREATE)
    assert error.code == 42801 and "Set ksql.schema.registry.url" in error.message


def test_a_registry_that_does_not_answer(make_world: Callable[..., World]) -> None:
    error = make_world(**{"ksql.schema.registry.url": "http://127.0.0.1:1"}).refused(CREATE)
    assert error.condition == "REMOTE_UNREACHABLE" and "ksql.schema.registry.url" in error.message


def test_requests_cannot_choose_another_registry(world: World) -> None:
    for name in ("ksql.schema.registry.url", "ksql.schema.registry.basic.auth.user.info", "ksql.connect.url"):
        assert world.refused(CREATE, **{name: "http://elsewhere"}).condition == "PROPERTY_FIXED"
        assert world.refused(f"SET '{name}'='http://elsewhere';").condition == "PROPERTY_FIXED"


def test_authentication(registry: JsonServer) -> None:
    prefix = "ksql.schema.registry."
    found = schema_registry(
        Config({prefix + "url": registry.url, prefix + "basic.auth.user.info": "me:secret"})
    )
    assert found is not None and found.by_id(7) is not None
    assert registry.headers[-1]["Authorization"] == "Basic " + base64.b64encode(b"me:secret").decode()
    with pytest.raises(KsqlError) as caught:
        schema_registry(Config({prefix + "url": registry.url, prefix + "basic.auth.user.info": "me"}))
    assert caught.value.condition == "PROPERTY_INVALID" and "basic.auth.user.info" in caught.value.message


class Records:
    """What TopicReader gives: all records of a topic."""

    def __init__(self, *values: bytes) -> None:
        self._records = [Record("t", 0, i, i, b"k", value) for i, value in enumerate(values)]

    def __call__(self, *_: Any, **__: Any) -> Records:
        return self

    def __enter__(self) -> Records:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def read_to_end(self) -> Iterator[list[Record]]:
        yield self._records


def test_columns_of_samples_are_shown_and_stored(
    make_world: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> None:
    world = make_world()
    world.admin.create_topic("t")
    monkeypatch.setattr(sources, "TopicReader", Records(b'{"a": 1}', b'{"a": 2.5, "b": "x"}'))
    text = "CREATE STREAM sampled WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON', INFER='sample');"
    assert world.message(text) == (
        "Stream created with the columns `ROWKEY` STRING KEY, `A` DOUBLE, `B` STRING"
    )
    monkeypatch.setattr(sources, "TopicReader", Records(b'{"other": 1}'))
    world.restart()
    assert fields(world, "sampled") == [("ROWKEY", "STRING"), ("A", "DOUBLE"), ("B", "STRING")]
    newest = "SET 'ksql.spark.infer.records'='1'; " + text.replace("sampled", "newest")
    monkeypatch.setattr(sources, "TopicReader", Records(b'{"a": 1}', b'{"b": "x"}'))
    world.run(newest)
    assert fields(world, "newest") == [("ROWKEY", "STRING"), ("B", "STRING")]
    missing = world.refused(text.replace("'t'", "'none'").replace("sampled", "nothing"))
    assert missing.condition == "TOPIC_MISSING"
