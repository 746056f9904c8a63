"""Formats with schemas over real Kafka, with a registry over HTTP and the serializers of confluent-kafka."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from ksql_spark.bootstrap import registry_settings, schema_registry
from ksql_spark.config import Config
from ksql_spark.engine import Engine
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.kafka.consumer import Record, TopicReader
from ksql_spark.kafka.producer import RecordProducer
from ksql_spark.spark.session import set_registry
from tests.registry_server import RegistryServer

pytestmark = pytest.mark.kafka

TIMEOUT_S = 60.0
V1 = {"type": "record", "name": "R", "namespace": "n", "fields": [{"name": "v", "type": "int"}]}
V2 = V1 | {
    "fields": [
        {"name": "more", "type": {"type": "array", "items": "string"}, "default": []},
        {"name": "v", "type": ["null", "long"], "default": None},
        {"name": "d", "type": {"type": "int", "logicalType": "date"}},
    ]
}


@pytest.fixture
def registry(engine: Engine) -> Iterator[RegistryServer]:
    """A registry that the shared engine uses."""
    services = engine.services
    before = services.registry
    with RegistryServer() as server:
        config = Config({"ksql.schema.registry.url": server.url})
        services.registry = schema_registry(config)
        set_registry(services.spark.running_session, registry_settings(config))
        yield server
        services.registry = before
        set_registry(services.spark.running_session, {})


def records(admin: KafkaAdmin, topic: str, count: int) -> list[Record]:
    """The records of ``topic``, once there are ``count``."""
    deadline = time.monotonic() + TIMEOUT_S
    while sum(admin.end_offsets(topic).values()) < count:
        assert time.monotonic() < deadline
    with TopicReader(admin.servers, topic) as reader:
        return [record for batch in reader.read_to_end() for record in batch]


def test_without_a_registry_one_is_started_for_the_first_statement_that_needs_it(
    execute: Callable[[str], Any],
    engine: Engine,
    kafka_admin: KafkaAdmin,
    topic_names: Callable[[str], str],
) -> None:
    source, sink = topic_names("in"), topic_names("out")
    execute(f"""
        CREATE STREAM embedded_in (k STRING KEY, v INT)
          WITH (KAFKA_TOPIC = '{source}', FORMAT = 'JSON', PARTITIONS = 1);
        CREATE STREAM embedded_out WITH (KAFKA_TOPIC = '{sink}', FORMAT = 'AVRO') AS
          SELECT * FROM embedded_in;
        INSERT INTO embedded_in (k, v) VALUES ('a', 1);
    """)
    execute(f"CREATE STREAM inferred WITH (KAFKA_TOPIC = '{sink}', FORMAT = 'AVRO');")
    (record,) = records(kafka_admin, sink, 1)
    registry = engine.services.registry
    assert registry is not None and record.value is not None
    latest = registry.latest(f"{sink}-value")
    assert latest is not None and record.value[:5] == b"\0" + latest.id.to_bytes(4, "big")
    inferred = engine.services.metastore.find("INFERRED")
    assert inferred is not None and [str(c.type) for c in inferred.schema.value] == ["INTEGER"]


def test_writers_of_several_versions_are_read_as_the_columns(
    execute: Callable[[str], Any],
    registry: RegistryServer,
    kafka_admin: KafkaAdmin,
    topic_names: Callable[[str], str],
) -> None:
    source, sink, copy = topic_names("in"), topic_names("out"), topic_names("copy")
    execute(f"""
        CREATE STREAM avro_in (k BIGINT KEY, v BIGINT, d DATE)
          WITH (KAFKA_TOPIC = '{source}', FORMAT = 'AVRO', PARTITIONS = 1);
        CREATE STREAM avro_out WITH (KAFKA_TOPIC = '{sink}') AS SELECT k, v + 1 AS v, d FROM avro_in;
        CREATE STREAM json_out WITH (KAFKA_TOPIC = '{copy}', FORMAT = 'JSON_SR') AS SELECT * FROM avro_out;
    """)
    client = SchemaRegistryClient({"url": registry.url})
    producer = RecordProducer(kafka_admin.servers)
    at_key = SerializationContext(source, MessageField.KEY)
    at_value = SerializationContext(source, MessageField.VALUE)
    key = AvroSerializer(client, json.dumps("long"))(7, at_key)
    for schema, value in ((V1, {"v": 1}), (V2, {"v": 2, "d": 3, "more": ["x"]}), (V1, {"v": 3})):
        producer.send(source, key, AvroSerializer(client, json.dumps(schema))(value, at_value))
    producer.send(source, key, b"\0\0\0\x27\x0fwhat")
    execute("INSERT INTO avro_in (k, v, d) VALUES (7, 4, '1970-01-02');")
    read = AvroDeserializer(client)
    found = records(kafka_admin, sink, 4)
    values = [read(r.value, SerializationContext(sink, MessageField.VALUE)) for r in found]
    assert [v["V"] for v in values] == [2, 3, 4, 5]
    assert [v["D"] and v["D"].isoformat() for v in values] == [None, "1970-01-04", None, "1970-01-02"]
    assert {read(r.key, SerializationContext(sink, MessageField.KEY)) for r in found} == {7}
    copied = records(kafka_admin, copy, 4)
    assert [json.loads((r.value or b"")[5:]) for r in copied] == [
        {"V": 2, "D": None}, {"V": 3, "D": 3}, {"V": 4, "D": None}, {"V": 5, "D": 1},
    ]  # fmt: skip
    kinds = {s: registry.schemas[ids[-1]]["schemaType"] for s, ids in registry.subjects.items()}
    assert kinds[f"{sink}-value"] == "AVRO" and kinds[f"{copy}-value"] == "JSON"


def test_a_pull_query_finds_keys_of_any_schema(
    execute: Callable[[str], Any],
    engine: Engine,
    registry: RegistryServer,
    kafka_admin: KafkaAdmin,
    topic_names: Callable[[str], str],
) -> None:
    from ksql_spark.request import Request

    source, sink = topic_names("in"), topic_names("out")
    execute(f"""
        CREATE STREAM one (k STRING, v INT)
          WITH (KAFKA_TOPIC = '{source}', VALUE_FORMAT = 'AVRO', PARTITIONS = 1);
        CREATE TABLE counted WITH (KAFKA_TOPIC = '{sink}', FORMAT = 'AVRO') AS
          SELECT k, SUM(v) AS total FROM one GROUP BY k;
        INSERT INTO one (k, v) VALUES ('a', 1);
        INSERT INTO one (k, v) VALUES ('b', 2);
    """)
    records(kafka_admin, sink, 2)
    for query in ("SELECT total FROM counted WHERE k = 'b';", "SELECT total * 1 FROM counted WHERE k = 'b';"):
        stream = engine.query(Request(query))
        assert [row.values for row in stream.read(TIMEOUT_S) or []] == [[2]]
        stream.close()


TYPES = """
    i INT, l BIGINT, d DOUBLE, b BOOLEAN, s STRING, y BYTES, dt DATE, tm TIME, ts TIMESTAMP,
    de DECIMAL(10, 2), a ARRAY<INT>, m MAP<STRING, DOUBLE>,
    r STRUCT<x INT, inn STRUCT<y STRING, z ARRAY<DATE>>>,
    ar ARRAY<STRUCT<x INT, m MAP<STRING, DECIMAL(4, 1)>>>
"""
VALUES = """
    -1, 1099511627776, 1.5, true, 'é', TO_BYTES('AQA=', 'base64'),
    '1969-12-31', '23:59:59', '1969-12-31T23:59:59.999', CAST('-12.30' AS DECIMAL(10, 2)),
    ARRAY[1, 0, -1], MAP('k' := 0.5),
    STRUCT(x := 7, inn := STRUCT(y := 'y', z := ARRAY[CAST('2024-02-29' AS DATE)])),
    ARRAY[STRUCT(x := 5, m := MAP('k' := CAST('1.5' AS DECIMAL(4, 1))))]
"""


@pytest.mark.parametrize("format_", ["AVRO", "JSON_SR", "PROTOBUF", "PROTOBUF_NOSR"])
def test_every_type_nested_is_written_and_read(
    execute: Callable[[str], Any],
    registry: RegistryServer,
    kafka_admin: KafkaAdmin,
    topic_names: Callable[[str], str],
    format_: str,
) -> None:
    """From Python's encoder through the JVM's decoder and encoder, and through its decoder again."""
    source, copy, shown = topic_names("in"), topic_names("copy"), topic_names("shown")
    name = format_.lower()
    execute(f"""
        CREATE STREAM {name}_in (k INT KEY, {TYPES}) WITH (
          KAFKA_TOPIC = '{source}', KEY_FORMAT = '{format_}', VALUE_FORMAT = '{format_}', PARTITIONS = 1);
        CREATE STREAM {name}_copy WITH (KAFKA_TOPIC = '{copy}') AS SELECT * FROM {name}_in;
        CREATE STREAM {name}_shown WITH (KAFKA_TOPIC = '{shown}', FORMAT = 'JSON') AS
          SELECT * FROM {name}_copy;
        INSERT INTO {name}_in VALUES (3, {VALUES});
    """)
    (record,) = records(kafka_admin, shown, 1)
    assert record.key == b"3"
    assert json.loads(record.value or b"") == {
        "I": -1, "L": 1099511627776, "D": 1.5, "B": True, "S": "é", "Y": "AQA=", "DT": -1, "TM": 86_399_000,
        "TS": -1, "DE": -12.3, "A": [1, 0, -1], "M": {"k": 0.5},
        "R": {"X": 7, "INN": {"Y": "y", "Z": [19782]}}, "AR": [{"X": 5, "M": {"k": 1.5}}],
    }  # fmt: skip
    if format_ != "JSON_SR":
        (written,), (copied,) = records(kafka_admin, source, 1), records(kafka_admin, copy, 1)
        assert (written.key, written.value) == (copied.key, copied.value)
