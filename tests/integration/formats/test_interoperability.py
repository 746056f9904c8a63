"""Confluent's serializers write what we read, and read what we write, with the embedded registry between."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

import pytest
from confluent_kafka.schema_registry import Schema as RegistrySchema
from confluent_kafka.schema_registry import SchemaReference, SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.confluent.type import decimal_pb2
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, timestamp_pb2
from google.protobuf.json_format import MessageToDict
from google.type import date_pb2, timeofday_pb2

from ksql_spark.engine import Engine
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.kafka.producer import RecordProducer
from ksql_spark.services.registry import RegistryOnDemand
from tests.integration.formats.topic_records import records

pytestmark = pytest.mark.kafka

Execute = Callable[[str], Any]
Names = Callable[[str], str]


@pytest.fixture
def registry(engine: Engine) -> SchemaRegistryClient:
    """A client of the embedded registry."""
    found = engine.services.registry
    assert isinstance(found, RegistryOnDemand)
    found.require()
    return SchemaRegistryClient({"url": found.url})


def at(topic: str, field: str = MessageField.VALUE) -> SerializationContext:
    return SerializationContext(topic, field)


def folded(value: Any) -> Any:
    """``value`` with names in upper case: those of columns."""
    match value:
        case dict():
            return {k.upper() if k != "key" else k: folded(v) for k, v in value.items()}
        case list():
            return [folded(v) for v in value]
    return value


COLUMNS = """
    i INT, l BIGINT, d DOUBLE, b BOOLEAN, s STRING, y BYTES, dt DATE, tm TIME, ts TIMESTAMP,
    de DECIMAL(10, 2), a ARRAY<INT>, m MAP<STRING, DOUBLE>,
    r STRUCT<x INT, inn STRUCT<y STRING, z ARRAY<DATE>>>,
    ar ARRAY<STRUCT<x INT, m MAP<STRING, DECIMAL(4, 1)>>>
"""


def copied(
    execute: Execute, admin: KafkaAdmin, names: Names, format_: str, send: Callable[[str], list[bytes]]
) -> tuple[str, list[bytes]]:
    """What a query writes that copies the values of ``send`` in ``format_``; and its topic."""
    source, sink = names("in"), names("out")
    name = f"nested_{format_}"
    execute(f"""
        CREATE STREAM {name} ({COLUMNS})
          WITH (KAFKA_TOPIC = '{source}', VALUE_FORMAT = '{format_}', PARTITIONS = 1);
        CREATE STREAM {name}_copy WITH (KAFKA_TOPIC = '{sink}') AS SELECT * FROM {name};
    """)
    values = send(source)
    producer = RecordProducer(admin.servers)
    for value in values:
        producer.send(source, None, value)
    found = records(admin, sink, len(values))
    return sink, [r.value or b"" for r in found]


def test_avro_with_every_type_nested(
    execute: Execute, registry: SchemaRegistryClient, kafka_admin: KafkaAdmin, topic_names: Names
) -> None:
    def logical(kind: str, name: str, **more: Any) -> dict[str, Any]:
        return {"type": kind, "logicalType": name, **more}

    def record(name: str, **fields: Any) -> dict[str, Any]:
        listed = [{"name": n, "type": t} for n, t in fields.items()]
        return {"type": "record", "name": name, "fields": listed}

    date = logical("int", "date")
    inner = record("Inner", y=["null", "string"], z={"type": "array", "items": date})
    small = logical("bytes", "decimal", precision=4, scale=1)
    schema = record(
        "Everything",
        i="int", l="long", d="double", b="boolean", s="string", y="bytes", dt=date,
        tm=logical("int", "time-millis"), ts=logical("long", "timestamp-millis"),
        de=logical("bytes", "decimal", precision=10, scale=2), a={"type": "array", "items": "int"},
        m={"type": "map", "values": "double"}, r=record("R", x="int", inn=inner),
        ar={"type": "array", "items": record("Item", x="int", m={"type": "map", "values": small})},
    )  # fmt: skip
    day = datetime.date(2024, 2, 29)
    value = {
        "i": -(2**31), "l": 2**63 - 1, "d": -1.5e300, "b": True, "s": "é😀", "y": b"\0\xff", "dt": day,
        "tm": datetime.time(23, 59, 59, 999000),
        "ts": datetime.datetime(1969, 12, 31, 23, 59, 59, 999000, datetime.UTC),
        "de": Decimal("-99999999.99"), "a": [1, -1], "m": {"k": 0.5},
        "r": {"x": 7, "inn": {"y": None, "z": [day]}},
        "ar": [{"x": 5, "m": {"k": Decimal("-1.5")}}, {"x": 6, "m": {}}],
    }  # fmt: skip
    write = AvroSerializer(registry, json.dumps(schema))
    sink, (got,) = copied(
        execute, kafka_admin, topic_names, "AVRO", lambda topic: [write(value, at(topic)) or b""]
    )
    read = AvroDeserializer(registry)(got, at(sink))
    wanted = folded(value)
    # names inside maps stay as they are
    wanted["M"], wanted["AR"][0]["M"] = value["m"], {"k": Decimal("-1.5")}
    assert read == wanted


def test_json_with_every_type_nested(
    execute: Execute, registry: SchemaRegistryClient, kafka_admin: KafkaAdmin, topic_names: Names
) -> None:
    value = {
        "i": -(2**31), "l": 2**63 - 1, "d": -1.5e300, "b": True, "s": "é😀", "y": "AP8=", "dt": 19782,
        "tm": 86_399_999, "ts": -1, "de": -99999999.99, "a": [1, -1], "m": {"k": 0.5},
        "r": {"x": 7, "inn": {"y": None, "z": [19782]}},
        "ar": [{"x": 5, "m": {"k": -1.5}}, {"x": 6, "m": {}}],
    }  # fmt: skip
    schema = {"title": "Everything", "type": "object", "properties": {name: {} for name in value}}
    write = JSONSerializer(json.dumps(schema), registry)
    sink, (got,) = copied(
        execute, kafka_admin, topic_names, "JSON_SR", lambda topic: [write(value, at(topic)) or b""]
    )
    latest = registry.get_latest_version(f"{sink}-value").schema
    assert latest is not None and latest.schema_str is not None
    read = JSONDeserializer(latest.schema_str)(got, at(sink))
    wanted = folded(value)
    wanted["M"], wanted["AR"][0]["M"] = value["m"], {"k": -1.5}
    assert read == wanted


def proto_file(name: str, messages: Mapping[str, list[tuple[Any, ...]]], package: str = "") -> Any:
    """A descriptor of messages: name -> fields: name, number, type, and whether it is repeated."""
    scalars = {"int32": 5, "int64": 3, "double": 1, "bool": 8, "string": 9, "bytes": 12}
    file = descriptor_pb2.FileDescriptorProto(name=name, syntax="proto3", package=package)
    file.dependency.extend([
        "google/type/date.proto", "google/type/timeofday.proto", "google/protobuf/timestamp.proto",
        decimal_pb2.DESCRIPTOR.name,
    ])  # fmt: skip
    for message, fields in messages.items():
        outer, _, inner = message.rpartition(".")
        parent = next((m for m in file.message_type if m.name == outer), None)
        made = file.message_type.add(name=inner) if parent is None else parent.nested_type.add(name=inner)
        for field, number, type_, *more in fields:
            label = 3 if "repeated" in more else 1
            if type_ in scalars:
                made.field.add(name=field, number=number, type=scalars[type_], label=label)
            else:
                made.field.add(name=field, number=number, type=11, type_name=type_, label=label)
        made.options.map_entry = inner.endswith("Entry")
    return file


def message_class(file: Any, name: str) -> Any:
    pool = descriptor_pool.DescriptorPool()
    for known in (date_pb2, timeofday_pb2, timestamp_pb2, decimal_pb2):
        pool.AddSerializedFile(known.DESCRIPTOR.serialized_pb)
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(name))


def test_protobuf_with_every_type_nested(
    execute: Execute, registry: SchemaRegistryClient, kafka_admin: KafkaAdmin, topic_names: Names
) -> None:
    """The message is the second in its file; its maps are messages too."""
    date, decimal = ".google.type.Date", ".confluent.type.Decimal"

    def entry(value: str) -> list[tuple[Any, ...]]:
        return [("key", 1, "string"), ("value", 2, value)]

    def everything(cased: Callable[[str], str], name: str) -> Any:
        fields: list[tuple[Any, ...]] = [
            ("i", 1, "int32"), ("l", 2, "int64"), ("d", 3, "double"), ("b", 4, "bool"), ("s", 5, "string"),
            ("y", 6, "bytes"), ("dt", 7, date), ("tm", 8, ".google.type.TimeOfDay"),
            ("ts", 9, ".google.protobuf.Timestamp"), ("de", 10, decimal), ("a", 11, "int32", "repeated"),
            ("m", 12, ".All.MEntry", "repeated"), ("r", 13, ".All.R"), ("ar", 14, ".Item", "repeated"),
        ]  # fmt: skip
        inner = [("x", 1, "int32"), ("inn", 2, ".All.Inn")]
        deepest = [("y", 1, "string"), ("z", 2, date, "repeated")]
        item = [("x", 1, "int32"), ("m", 2, ".Item.MEntry", "repeated")]
        messages = {
            "Item": item, "Item.MEntry": entry(decimal), "All": fields, "All.MEntry": entry("double"),
            "All.R": inner, "All.Inn": deepest,
        }  # fmt: skip
        named = {
            message: [(f if message.endswith("Entry") else cased(f), *more) for f, *more in fields_]
            for message, fields_ in messages.items()
        }
        return message_class(proto_file(name, named), "All")

    def fields_of(kind: Any, cased: Callable[[str], str]) -> Any:
        digits = (-9999999999).to_bytes(5, "big", signed=True)
        values: dict[str, Any] = {
            "i": -1, "l": 2**63 - 1, "d": -1.5e300, "b": True, "s": "é😀", "y": b"\0\xff",
            "dt": date_pb2.Date(year=2024, month=2, day=29).SerializeToString(),
            "tm": timeofday_pb2.TimeOfDay(hours=23, minutes=59, nanos=999_000_000).SerializeToString(),
            "ts": timestamp_pb2.Timestamp(seconds=-1, nanos=999_000_000).SerializeToString(),
            "de": decimal_pb2.Decimal(value=digits, precision=10, scale=2).SerializeToString(),
        }  # fmt: skip
        made = kind()
        for name, value in values.items():
            field = getattr(made, cased(name))
            if hasattr(field, "MergeFromString"):
                field.MergeFromString(value)
            else:
                setattr(made, cased(name), value)
        getattr(made, cased("a")).extend([1, -1])
        getattr(made, cased("m"))["k"] = 0.5
        r = getattr(made, cased("r"))
        setattr(r, cased("x"), 7)
        inn = getattr(r, cased("inn"))
        setattr(inn, cased("y"), "y")
        getattr(inn, cased("z")).add(year=1969, month=12, day=31)
        one = getattr(made, cased("ar")).add()
        setattr(one, cased("x"), 5)
        price = getattr(one, cased("m"))["k"]
        price.MergeFromString(decimal_pb2.Decimal(value=b"\xf1", precision=4, scale=1).SerializeToString())
        return made

    lower, upper = everything(str.lower, "written.proto"), everything(str.upper, "read.proto")
    write = ProtobufSerializer(lower, registry, {"use.deprecated.format": False})
    value = fields_of(lower, str.lower)
    sink, (got,) = copied(
        execute, kafka_admin, topic_names, "PROTOBUF", lambda topic: [write(value, at(topic)) or b""]
    )
    read = ProtobufDeserializer(upper, {"use.deprecated.format": False})(got, at(sink))
    assert MessageToDict(read) == MessageToDict(fields_of(upper, str.upper))


def evolved(
    execute: Execute, admin: KafkaAdmin, names: Names, format_: str, write: Callable[[int, str], bytes]
) -> list[Any]:
    """The columns ID and NAME of what the writers 1, 2 and 3 have written, in turn, two records each."""
    source, sink = names("in"), names("out")
    name = f"evolved_{format_}"
    execute(f"""
        CREATE STREAM {name} (id BIGINT, name STRING)
          WITH (KAFKA_TOPIC = '{source}', VALUE_FORMAT = '{format_}', PARTITIONS = 1);
        CREATE STREAM {name}_out WITH (KAFKA_TOPIC = '{sink}', VALUE_FORMAT = 'JSON') AS
          SELECT id, name FROM {name};
    """)
    producer = RecordProducer(admin.servers)
    for _ in range(2):
        for version in (1, 2, 3):
            producer.send(source, None, write(version, source))
    rows = [json.loads(r.value or b"") for r in records(admin, sink, 6)]
    return [(row["ID"], row["NAME"]) for row in rows]


def test_three_writers_of_avro(
    execute: Execute, registry: SchemaRegistryClient, kafka_admin: KafkaAdmin, topic_names: Names
) -> None:
    number = {"name": "id", "type": "int"}
    text = {"name": "name", "type": ["null", "string"], "default": None}
    extra = {"name": "extra", "type": {"type": "array", "items": "double"}, "default": []}
    fields = {1: [number], 2: [number, text], 3: [extra, text, number | {"type": "long"}]}
    values = {1: {"id": 1}, 2: {"id": 2, "name": "b"}, 3: {"id": 2**40, "name": "c", "extra": [0.5]}}

    def write(version: int, topic: str) -> bytes:
        schema = {"type": "record", "name": "R", "fields": fields[version]}
        return AvroSerializer(registry, json.dumps(schema))(values[version], at(topic)) or b""

    found = evolved(execute, kafka_admin, topic_names, "AVRO", write)
    assert found == [(1, None), (2, "b"), (2**40, "c")] * 2


def test_three_writers_of_json(
    execute: Execute, registry: SchemaRegistryClient, kafka_admin: KafkaAdmin, topic_names: Names
) -> None:
    values = {1: {"id": 1}, 2: {"id": 2, "name": "b"}, 3: {"name": "c", "extra": [0.5], "id": 3}}

    def write(version: int, topic: str) -> bytes:
        properties = {name: {} for name in values[version]}
        # a schema that allows other members could not get more of its own
        schema = {"title": "R", "type": "object", "properties": properties, "additionalProperties": False}
        return JSONSerializer(json.dumps(schema), registry)(values[version], at(topic)) or b""

    found = evolved(execute, kafka_admin, topic_names, "JSON_SR", write)
    assert found == [(1, None), (2, "b"), (3, "c")] * 2


def test_three_writers_of_protobuf(
    execute: Execute, registry: SchemaRegistryClient, kafka_admin: KafkaAdmin, topic_names: Names
) -> None:
    number, text, extra = ("id", 1, "int64"), ("name", 2, "string"), ("extra", 3, "double", "repeated")
    fields = {1: [number], 2: [number, text], 3: [extra, text, number]}
    values: dict[int, dict[str, Any]] = {1: {"id": 1}, 2: {"id": 2, "name": "b"}, 3: {"id": 3, "extra": [1]}}

    def write(version: int, topic: str) -> bytes:
        kind = message_class(proto_file(f"v{version}.proto", {"R": fields[version]}), "R")
        serializer = ProtobufSerializer(kind, registry, {"use.deprecated.format": False})
        return serializer(kind(**values[version]), at(topic)) or b""

    found = evolved(execute, kafka_admin, topic_names, "PROTOBUF", write)
    # what the first version does not have is NULL, what the third has not set is its default
    assert found == [(1, None), (2, "b"), (3, "")] * 2


def test_a_schema_with_references_is_read_and_written(
    execute: Execute, registry: SchemaRegistryClient, kafka_admin: KafkaAdmin, topic_names: Names
) -> None:
    """Two of the types refer to a third one."""
    subject, source, sink = topic_names("types"), topic_names("in"), topic_names("out")

    def register(name: str, schema: Any, *references: str) -> int:
        refers = [SchemaReference(f"n.{r}", f"{subject}-{r}", 1) for r in references]
        text = json.dumps({"name": name, "namespace": "n", **schema})
        return registry.register_schema(f"{subject}-{name}", RegistrySchema(text, "AVRO", refers))

    def record(**fields: str) -> dict[str, Any]:
        return {"type": "record", "fields": [{"name": n, "type": t} for n, t in fields.items()]}

    register("Kind", {"type": "enum", "symbols": ["A", "B"]})
    register("Part", record(KIND="n.Kind", X="int"), "Kind")
    schema_id = register("Whole", record(KIND="n.Kind", PART="n.Part"), "Kind", "Part")
    execute(f"""
        CREATE STREAM ref_in (kind STRING, part STRUCT<kind STRING, x INT>)
          WITH (KAFKA_TOPIC = '{source}', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
        CREATE STREAM ref_out
          WITH (KAFKA_TOPIC = '{sink}', VALUE_FORMAT = 'AVRO', VALUE_SCHEMA_ID = {schema_id}) AS
          SELECT * FROM ref_in;
    """)
    execute(f"""
        CREATE STREAM ref_again WITH (KAFKA_TOPIC = '{sink}', VALUE_FORMAT = 'AVRO');
        INSERT INTO ref_in VALUES ('B', STRUCT(kind := 'A', x := 5));
        INSERT INTO ref_again VALUES ('A', STRUCT(kind := 'B', x := 6));
    """)
    found = records(kafka_admin, sink, 2)
    assert {r.value[:5] for r in found if r.value} == {b"\0" + schema_id.to_bytes(4, "big")}
    read = AvroDeserializer(registry)
    rows = [read(r.value, at(sink)) for r in found]
    assert {"KIND": "B", "PART": {"KIND": "A", "X": 5}} in rows
    assert {"KIND": "A", "PART": {"KIND": "B", "X": 6}} in rows


def test_subjects_are_named_by_the_record(
    execute: Execute, registry: SchemaRegistryClient, kafka_admin: KafkaAdmin, topic_names: Names
) -> None:
    source, sink, record = topic_names("in"), topic_names("out"), f"n.{topic_names('Record')}"
    execute(f"""
        SET 'ksql.schema.registry.value.subject.name.strategy' = 'RecordNameStrategy';
        CREATE STREAM named_in (v INT)
          WITH (KAFKA_TOPIC = '{source}', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
        CREATE STREAM named_out
          WITH (KAFKA_TOPIC = '{sink}', VALUE_FORMAT = 'AVRO', VALUE_SCHEMA_FULL_NAME = '{record}') AS
          SELECT v FROM named_in;
        INSERT INTO named_in VALUES (1);
    """)
    execute(f"""
        SET 'ksql.schema.registry.value.subject.name.strategy' = 'RecordNameStrategy';
        CREATE STREAM named_again
          WITH (KAFKA_TOPIC = '{sink}', VALUE_FORMAT = 'AVRO', VALUE_SCHEMA_FULL_NAME = '{record}');
    """)
    (found,) = records(kafka_admin, sink, 1)
    assert AvroDeserializer(registry)(found.value, at(sink)) == {"V": 1}
    subjects = registry.get_subjects()
    assert record in subjects and f"{sink}-value" not in subjects
