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


def test_print_shows_records_by_the_schemas_that_they_name(
    execute: Callable[[str], Any],
    engine: Engine,
    registry: RegistryServer,
    kafka_admin: KafkaAdmin,
    topic_names: Callable[[str], str],
) -> None:
    from ksql_spark.request import Request

    for format_ in ("AVRO", "JSON_SR", "PROTOBUF"):
        topic = topic_names("printed")
        execute(f"""
            CREATE STREAM print_{format_} (k BIGINT KEY, v INT, s STRING)
              WITH (KAFKA_TOPIC = '{topic}', KEY_FORMAT = 'AVRO', VALUE_FORMAT = '{format_}', PARTITIONS = 1);
            INSERT INTO print_{format_} (k, v, s) VALUES (7, 1, 'x');
        """)
        stream = engine.query(Request(f"PRINT {topic} FROM BEGINNING LIMIT 1;"))
        lines: list[str] = []
        while (batch := stream.read(TIMEOUT_S)) is not None:
            lines += [str(row.values[0]) for row in batch]
        stream.close()
        assert lines[:2] == ["Key format: AVRO", f"Value format: {format_}"]
        assert 'key: 7, value: {"V":1,"S":"x"}, partition: 0' in lines[2]


def test_confluents_serializers_of_protobuf_write_what_we_read_and_read_what_we_write(
    execute: Callable[[str], Any],
    registry: RegistryServer,
    kafka_admin: KafkaAdmin,
    topic_names: Callable[[str], str],
) -> None:
    """Three versions of a Protobuf message in one topic."""
    pytest.importorskip("google.protobuf")
    from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    client = SchemaRegistryClient({"url": registry.url})
    producer = RecordProducer(kafka_admin.servers)

    def message(version: int, fields: list[tuple[str, int, int]]) -> Any:
        file = descriptor_pb2.FileDescriptorProto(name=f"v{version}.proto", syntax="proto3")
        made = file.message_type.add(name="Reading")
        for name, number, type_ in fields:
            made.field.add(name=name, number=number, type=type_, label=1)
        pool = descriptor_pool.DescriptorPool()
        pool.Add(file)
        return message_factory.GetMessageClass(pool.FindMessageTypeByName("Reading"))

    int64, text, double = 3, 9, 1
    versions = [
        [("id", 1, int64)],
        [("id", 1, int64), ("name", 2, text)],
        [("id", 1, int64), ("extra", 3, double), ("name", 2, text)],
    ]
    values = [{"id": 1}, {"id": 2, "name": "b"}, {"id": 3, "name": "c", "extra": 0.5}]
    source, sink = topic_names("in"), topic_names("out")
    execute(f"""
        CREATE STREAM proto_in (id BIGINT, name STRING)
          WITH (KAFKA_TOPIC = '{source}', VALUE_FORMAT = 'PROTOBUF', PARTITIONS = 1);
        CREATE STREAM proto_out WITH (KAFKA_TOPIC = '{sink}') AS SELECT id * 10 AS id, name FROM proto_in;
    """)
    at = SerializationContext(source, MessageField.VALUE)
    for number, (fields, value) in enumerate(zip(versions, values, strict=True)):
        kind = message(number, fields)
        write = ProtobufSerializer(kind, client, {"use.deprecated.format": False})
        producer.send(source, None, write(kind(**value), at))
    found = records(kafka_admin, sink, 3)
    own = message(9, [("ID", 1, int64), ("NAME", 2, text)])
    read = ProtobufDeserializer(own, {"use.deprecated.format": False})
    got = [read(r.value, SerializationContext(sink, MessageField.VALUE)) for r in found]
    assert [(m.ID, m.NAME) for m in got] == [(10, ""), (20, "b"), (30, "c")]


def test_confluents_serializers_of_json_write_what_we_read_and_read_what_we_write(
    execute: Callable[[str], Any],
    registry: RegistryServer,
    kafka_admin: KafkaAdmin,
    topic_names: Callable[[str], str],
) -> None:
    """Three versions of a JSON schema in one topic."""
    from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer

    client = SchemaRegistryClient({"url": registry.url})
    producer = RecordProducer(kafka_admin.servers)
    values = [{"id": 1}, {"id": 2, "name": "b"}, {"id": 3, "name": "c", "extra": 0.5}]
    source, sink = topic_names("in"), topic_names("out")
    execute(f"""
        CREATE STREAM js_in (id BIGINT, name STRING)
          WITH (KAFKA_TOPIC = '{source}', VALUE_FORMAT = 'JSON_SR', PARTITIONS = 1);
        CREATE STREAM js_out WITH (KAFKA_TOPIC = '{sink}') AS SELECT id * 10 AS id, name FROM js_in;
    """)
    at = SerializationContext(source, MessageField.VALUE)
    for value in values:
        schema = {"title": "R", "type": "object", "properties": {name: {} for name in value}}
        producer.send(source, None, JSONSerializer(json.dumps(schema), client)(value, at))
    found = records(kafka_admin, sink, 3)
    latest = registry.schemas[registry.subjects[f"{sink}-value"][-1]]["schema"]
    read_json = JSONDeserializer(latest)
    rows = [read_json(r.value, SerializationContext(sink, MessageField.VALUE)) for r in found]
    assert rows == [{"ID": 10, "NAME": None}, {"ID": 20, "NAME": "b"}, {"ID": 30, "NAME": "c"}]
