"""ALTER STREAM|TABLE … REFRESH SCHEMA: columns that the newest registered schema has gained."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pytest

from tests.registry_server import RegistryServer
from tests.statements.world import World

AVRO = "CREATE STREAM orders (id INT KEY, a INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='AVRO');"


def avro(**fields: str) -> str:
    """An Avro record; each field with a default."""
    listed = [{"name": n, "type": ["null", t], "default": None} for n, t in fields.items()]
    return json.dumps({"type": "record", "name": "R", "fields": listed})


@pytest.fixture
def registry() -> Iterator[RegistryServer]:
    with RegistryServer() as server:
        yield server


@pytest.fixture
def world(make_world: Callable[..., World], registry: RegistryServer) -> World:
    return make_world(**{"ksql.schema.registry.url": registry.url})


def fields(world: World, name: str) -> dict[str, str]:
    described = world.one(f"DESCRIBE {name};")["sourceDescription"]
    return {f["name"]: f["schema"]["type"] for f in described["fields"]}


def test_new_columns_are_added_and_stay_after_a_restart(world: World, registry: RegistryServer) -> None:
    registry.add("t-value", avro(a="int"))
    world.run(AVRO + "CREATE STREAM copies AS SELECT * FROM orders EMIT CHANGES;")
    (entity,) = world.run("ALTER STREAM orders REFRESH SCHEMA;")
    assert entity["message"] == "The newest registered schema has no further columns for ORDERS."

    registry.add("t-value", avro(a="int", note="string", ID="int", weight="double"))
    (entity,) = world.run("ALTER STREAM orders REFRESH SCHEMA;")
    message = "Stream ORDERS altered. New: NOTE STRING, WEIGHT DOUBLE."
    assert entity["commandStatus"]["message"] == message
    (warning,) = entity["warnings"]
    assert "Running queries keep their columns: CSAS_COPIES" in warning["message"]
    expected = {"ID": "INTEGER", "A": "INTEGER", "NOTE": "STRING", "WEIGHT": "DOUBLE"}
    assert fields(world, "orders") == expected
    assert fields(world, "copies") == {"ID": "INTEGER", "A": "INTEGER"}
    world.run("CREATE STREAM more AS SELECT * FROM orders EMIT CHANGES;")
    assert fields(world, "more") == expected

    registry.add("t-value", avro(a="int", later="string"))  # the command log asks nobody again
    world.restart()
    assert fields(world, "orders") == expected
    # a column that the schema has no more stays
    world.run("ALTER STREAM orders REFRESH SCHEMA;")
    assert fields(world, "orders") == {**expected, "LATER": "STRING"}


def test_json_schemas_and_tables(world: World, registry: RegistryServer) -> None:
    schema = {"type": "object", "properties": {"V": {"type": "string"}, "w": {"type": "number"}}}
    registry.add("people-value", json.dumps(schema), "JSON")
    world.run(
        "CREATE TABLE people (k STRING PRIMARY KEY, v STRING)"
        " WITH (KAFKA_TOPIC='people', VALUE_FORMAT='JSON_SR', PARTITIONS=1);"
    )
    world.run("ALTER TABLE people REFRESH SCHEMA;")
    assert fields(world, "people") == {"K": "STRING", "V": "STRING", "W": "DOUBLE"}


REFUSED = [
    ("ALTER STREAM nowhere REFRESH SCHEMA;", "does not exist: NOWHERE"),
    ("ALTER TABLE orders REFRESH SCHEMA;", "Incompatible data source type is STREAM"),
    ("ALTER STREAM copies REFRESH SCHEMA;", "not supported for CREATE ... AS statements: COPIES"),
    ("ALTER STREAM plain REFRESH SCHEMA;", "The values of PLAIN are in JSON, which has no schemas"),
    ("ALTER STREAM fixed REFRESH SCHEMA;", "FIXED have the schema of VALUE_SCHEMA_ID = 1"),
    ("ALTER STREAM many REFRESH SCHEMA;", "it reads all topics of the pattern t.*"),
    ("ALTER STREAM none REFRESH SCHEMA;", "Subject: none-value"),
    ("ALTER STREAM orders REFRESH SCHEMA;", "which must keep their types: A from INTEGER to STRING."),
]


@pytest.mark.parametrize(("text", "message"), REFUSED, ids=[text for text, _ in REFUSED])
def test_refused(world: World, registry: RegistryServer, text: str, message: str) -> None:
    registry.add("t-value", avro(a="int"))
    world.run(
        AVRO + "CREATE STREAM copies AS SELECT * FROM orders EMIT CHANGES;"
        "CREATE STREAM plain (a INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON');"
        "CREATE STREAM fixed WITH (KAFKA_TOPIC='t', VALUE_FORMAT='AVRO', VALUE_SCHEMA_ID=1);"
        "CREATE STREAM many (a INT) WITH (TOPIC_PATTERN='t.*', VALUE_FORMAT='AVRO');"
        "CREATE STREAM none (a INT) WITH (KAFKA_TOPIC='none', VALUE_FORMAT='AVRO', PARTITIONS=1);"
    )
    registry.add("t-value", avro(a="string", b="int"))
    before = fields(world, "orders")
    error = world.refused(text)
    assert message in error.message
    assert fields(world, "orders") == before
