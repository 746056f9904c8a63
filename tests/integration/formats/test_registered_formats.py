"""Formats with schemas over real Kafka, with a registry over HTTP and the serializers of confluent-kafka."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import httpx
import pytest
from confluent_kafka import Producer
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient, header_schema_id_serializer
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from ksql_spark.engine import Engine, Request
from ksql_spark.errors import KsqlError
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.kafka.producer import RecordProducer
from tests.integration.formats.topic_records import records
from tests.registry_server import RegistryServer
from tests.waiting import TIMEOUT_S, until

pytestmark = pytest.mark.kafka

V1 = {"type": "record", "name": "R", "namespace": "n", "fields": [{"name": "v", "type": "int"}]}
V2 = V1 | {
    "fields": [
        {"name": "more", "type": {"type": "array", "items": "string"}, "default": []},
        {"name": "v", "type": ["null", "long"], "default": None},
        {"name": "d", "type": {"type": "int", "logicalType": "date"}},
    ]
}


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


@pytest.mark.parametrize("format_", ["AVRO", "PROTOBUF", "JSON_SR"])
def test_schemas_of_the_embedded_registry_go_with_their_topic(
    execute: Callable[[str], Any],
    engine: Engine,
    kafka_admin: KafkaAdmin,
    topic_names: Callable[[str], str],
    format_: str,
) -> None:
    topic = topic_names("gone")
    create = f"CREATE STREAM gone (k STRING KEY, v {{}}) WITH (KAFKA_TOPIC = '{topic}', FORMAT = '{format_}'"
    create += ", PARTITIONS = 1);"
    execute(create.format("INT"))
    execute("INSERT INTO gone (k, v) VALUES ('a', 1);")
    execute("DROP STREAM gone DELETE TOPIC;")
    execute(create.format("STRING"))
    execute("INSERT INTO gone (k, v) VALUES ('a', 'b');")
    assert len(records(kafka_admin, topic, 1)) == 1
    execute("DROP STREAM gone;")
    kafka_admin.delete_topics([topic])  # by another program, which leaves the schemas
    with pytest.raises(KsqlError, match=f"rejected the columns' schema for subject {topic}-value: .*ncompat"):
        engine.execute(Request(create.format("BOOLEAN")))
    assert kafka_admin.topic(topic) is None
    registry = engine.services.registry
    assert registry is not None
    registry.delete(f"{topic}-value")
    registry.delete(f"{topic}-value")


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


def test_columns_of_a_newer_schema_come_by_refresh_schema(
    execute: Callable[[str], Any],
    registry: RegistryServer,
    kafka_admin: KafkaAdmin,
    topic_names: Callable[[str], str],
) -> None:
    """The running query keeps its columns; its replacement goes on with the new ones, of old records, too."""
    source, sink = topic_names("in"), topic_names("out")
    client = SchemaRegistryClient({"url": registry.url})
    producer = RecordProducer(kafka_admin.servers)
    at_value = SerializationContext(source, MessageField.VALUE)
    kafka_admin.create_topic(source, 1)
    properties = f"KAFKA_TOPIC = '{sink}', VALUE_FORMAT = 'JSON'"
    grown = f"CREATE STREAM grown WITH ({properties}) AS SELECT * FROM growing"
    producer.send(source, b"k", AvroSerializer(client, json.dumps(V1))({"v": 1}, at_value))
    execute(f"""
        CREATE STREAM growing (k STRING KEY) WITH (KAFKA_TOPIC = '{source}', VALUE_FORMAT = 'AVRO');
        {grown};
    """)
    records(kafka_admin, sink, 1)
    newer = V1 | {"fields": [*V1["fields"], {"name": "d", "type": ["null", "string"], "default": None}]}
    producer.send(source, b"k", AvroSerializer(client, json.dumps(newer))({"v": 2, "d": "x"}, at_value))
    execute("ALTER STREAM growing REFRESH SCHEMA;")
    records(kafka_admin, sink, 2)
    execute(grown.replace("CREATE", "CREATE OR REPLACE") + ";")
    producer.send(source, b"k", AvroSerializer(client, json.dumps(newer))({"v": 3, "d": "y"}, at_value))
    found = [json.loads(record.value or b"") for record in records(kafka_admin, sink, 3)]
    assert found == [{"V": 1}, {"V": 2}, {"V": 3, "D": "y"}]


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


@dataclass(frozen=True)
class Way:
    """Columns of a format, the values of a row, and what PRINT calls the format."""

    columns: str
    values: str
    row: list[Any]
    shown: str


ROW = [
    1, -1, 1099511627776, 1.5, True, "é", "AQA=", "1969-12-31", "23:59:59", "1969-12-31T23:59:59.999",
    Decimal("-12.30"), [1, 0, -1], {"k": 0.5}, {"X": 7, "INN": {"Y": "y", "Z": ["2024-02-29"]}},
    [{"X": 5, "M": {"k": Decimal("1.5")}}],
]  # fmt: skip
NESTED = Way(f"v INT, {TYPES}", f"1, {VALUES}", ROW, "")
PLAIN = Way("v INT, s STRING", "1, 'x'", [1, "x"], "KAFKA_STRING")


@pytest.mark.parametrize(
    ("format_", "way"),
    [
        *(
            pytest.param(name, replace(NESTED, shown=name), id=name)
            for name in ("AVRO", "JSON_SR", "PROTOBUF")
        ),
        # case files write and read the first all the time; the others are as KAFKA and as PROTOBUF
        pytest.param("JSON", replace(NESTED, shown="JSON"), id="JSON", marks=pytest.mark.long),
        pytest.param("DELIMITED", PLAIN, id="DELIMITED", marks=pytest.mark.long),
        pytest.param(
            "PROTOBUF_NOSR", NESTED, id="PROTOBUF_NOSR, whose bytes do not tell", marks=pytest.mark.long
        ),
        pytest.param("KAFKA", Way("v INT", "1", [1], "KAFKA_INT"), id="KAFKA"),
    ],
)
def test_rows_of_all_types_go_in_and_out_in_every_way(
    execute: Callable[[str], Any],
    engine: Engine,
    url: str,
    registry: RegistryServer,
    kafka_admin: KafkaAdmin,
    topic_names: Callable[[str], str],
    format_: str,
    way: Way,
) -> None:
    """INSERT VALUES, /inserts-stream and a tombstone; a query; pull queries, a push query and PRINT.

    From Python's encoder through the JVM's decoder and encoder, and through Python's decoder again.
    """
    source, sink, name = topic_names("in"), topic_names("out"), f"door_{format_}"
    execute(f"""
        CREATE TABLE {name} (k STRING PRIMARY KEY, {way.columns})
          WITH (KAFKA_TOPIC = '{source}', FORMAT = '{format_}', PARTITIONS = 1);
        CREATE TABLE {name}_copy WITH (KAFKA_TOPIC = '{sink}') AS SELECT * FROM {name};
        INSERT INTO {name} VALUES ('a', {way.values});
        INSERT INTO {name} (k, v) VALUES ('gone', 3);
    """)
    rows = [json.dumps({"target": name}), json.dumps({"k": "b", "v": 2})]
    sent = httpx.post(f"{url}/inserts-stream", content="\n".join(rows), timeout=TIMEOUT_S)
    assert json.loads(sent.text.splitlines()[-1]) == {"status": "ok", "seq": 0}
    written = records(kafka_admin, source, 3)
    RecordProducer(kafka_admin.servers).send(source, written[1].key, None)
    copied = records(kafka_admin, sink, 4)
    assert [r.value is None for r in copied] == [False, False, False, True]
    if format_ not in ("JSON", "JSON_SR"):  # the others have one way to write a row
        assert [(r.key, r.value) for r in copied[:3]] == [(r.key, r.value) for r in written]
    first = ["a", *way.row]
    assert answer(engine, f"SELECT k, v FROM {name}_copy WHERE k = 'b';") == [["b", 2]]
    assert answer(engine, f"SELECT v * 1 FROM {name}_copy WHERE k = 'b';") == [[2]]
    assert sorted(row[:2] for row in answer(engine, f"SELECT * FROM {name}_copy;")) == [["a", 1], ["b", 2]]
    assert answer(engine, f"SELECT *, v * 1 AS w FROM {name}_copy WHERE v < 2;") == [[*first, 1]]
    pushed = answer(engine, f"SELECT * FROM {name} EMIT CHANGES LIMIT 3;")
    assert pushed[0] == first and pushed[2][:2] == ["b", 2]
    lines = [str(row[0]) for row in answer(engine, f"PRINT {sink} FROM BEGINNING LIMIT 4;")]
    if way.shown:
        assert [line for line in lines if line.startswith("Value format:") and way.shown in line]
    assert "value: <null>" in lines[-1]


def answer(engine: Engine, text: str) -> list[list[Any]]:
    """The rows of a query that ends."""
    stream = engine.query(Request(text, {"auto.offset.reset": "earliest"}))
    rows: list[list[Any]] = []
    while (batch := stream.read(TIMEOUT_S)) is not None:
        assert batch, f"no answer to {text}"
        rows += [row.values for row in batch]
    stream.close()
    return rows


@pytest.mark.long
def test_protobuf_that_cannot_be_read_is_left_out_and_counted(
    execute: Callable[[str], Any],
    registry: RegistryServer,
    kafka_admin: KafkaAdmin,
    topic_names: Callable[[str], str],
) -> None:
    """Bad records among good ones; then the registry does not answer, and the query waits for it."""
    source, sink = topic_names("in"), topic_names("out")
    execute(f"""
        CREATE STREAM bad_in (id BIGINT, name STRING)
          WITH (KAFKA_TOPIC = '{source}', VALUE_FORMAT = 'PROTOBUF', PARTITIONS = 1);
        CREATE STREAM bad_out WITH (KAFKA_TOPIC = '{sink}', VALUE_FORMAT = 'JSON') AS SELECT * FROM bad_in;
    """)
    proto = 'syntax = "proto3"; message R { int64 id = 1; string name = 2; repeated R more = 3; }'
    schema_id = registry.add(f"{source}-value", proto, "PROTOBUF")
    avro = registry.add("other", json.dumps(V1))
    frame = b"\0" + schema_id.to_bytes(4, "big")
    producer = RecordProducer(kafka_admin.servers)

    def good(number: int) -> bytes:
        return frame + b"\0\x08" + bytes([number]) + b"\x12\1x"

    # others are in tests/formats/records/protobuf.py
    unknown, other = b"\0\0\0\x27\x0f", b"\0" + avro.to_bytes(4, "big")
    bad = [b"", frame + b"\0\x08", unknown + good(1)[5:], other + good(1)[5:]]
    for number, data in enumerate(bad, 1):
        producer.send(source, None, good(number))
        producer.send(source, None, data)
    found = [json.loads(r.value or b"") for r in records(kafka_admin, sink, len(bad))]
    assert [r["ID"] for r in found] == [*range(1, len(bad) + 1)]
    assert {r["NAME"] for r in found} == {"x"}
    described = execute("DESCRIBE bad_in EXTENDED;")[0]["sourceDescription"]
    assert f"consumer-failed-messages: {len(bad)} " in described["errorStats"]
    registry.answers.clear()
    producer.send(source, None, good(100))
    producer.send(source, None, b"\0\0\0\x27\x10" + good(1)[5:])
    producer.send(source, None, good(101))
    records(kafka_admin, sink, len(bad) + 1)

    def query() -> dict[str, Any]:
        queries: list[dict[str, Any]] = execute("SHOW QUERIES;")[0]["queries"]
        return next(query for query in queries if sink in query["sinkKafkaTopics"])

    until(lambda: query()["state"] == "ERROR", query)
    assert query()["error"].startswith("The schema registry cannot be read")
    registry.answers.set()
    execute(f"RESUME {query()['id']};")

    def numbers() -> set[int]:
        return {json.loads(r.value or b"")["ID"] for r in records(kafka_admin, sink, 1)}

    until(lambda: 101 in numbers(), numbers)
    assert numbers() == {*range(1, len(bad) + 1), 100, 101}
    assert len([r for r in registry.requests if r.endswith(f"ids/{schema_id}")]) == 1


def test_schema_ids_in_headers(
    execute: Callable[[str], Any],
    engine: Engine,
    registry: RegistryServer,
    kafka_admin: KafkaAdmin,
    topic_names: Callable[[str], str],
) -> None:
    """Newer serializers write a schema's GUID into a header, and nothing before the record."""
    source, sink = topic_names("in"), topic_names("out")
    execute(f"""
        CREATE TABLE header_in (k BIGINT PRIMARY KEY, v BIGINT)
          WITH (KAFKA_TOPIC = '{source}', FORMAT = 'AVRO', PARTITIONS = 1);
        CREATE TABLE header_out WITH (KAFKA_TOPIC = '{sink}') AS SELECT k, v + 1 AS v FROM header_in;
        CREATE SOURCE TABLE header_view (k BIGINT PRIMARY KEY, v BIGINT)
          WITH (KAFKA_TOPIC = '{source}', FORMAT = 'AVRO');
    """)
    client = SchemaRegistryClient({"url": registry.url})
    settings = {"schema.id.serializer": header_schema_id_serializer}
    producer = Producer({"bootstrap.servers": kafka_admin.servers})
    for schema, value in ((V1, {"v": 1}), (V2, {"v": 2, "d": 3, "more": ["x"]})):
        headers: list[tuple[str, bytes]] = [("own", b"h")]
        at_key = SerializationContext(source, MessageField.KEY, headers)
        at_value = SerializationContext(source, MessageField.VALUE, headers)
        key = AvroSerializer(client, json.dumps("long"), conf=settings)(7, at_key)
        data = AvroSerializer(client, json.dumps(schema), conf=settings)(value, at_value)
        producer.produce(source, data, key, headers=headers)
    producer.flush()
    found = records(kafka_admin, sink, 2)
    read = AvroDeserializer(client)
    for record, wanted in zip(found, (2, 3), strict=True):
        assert record.headers == (("own", b"h"),)
        at = SerializationContext(sink, MessageField.VALUE, list(record.headers))
        assert read(record.value, at) == {"V": wanted}
    assert answer(engine, "SELECT v FROM header_view WHERE k = 7;") == [[2]]
    lines = [str(row[0]) for row in answer(engine, f"PRINT {source} FROM BEGINNING LIMIT 1;")]
    assert lines[:2] == ["Key format: AVRO", "Value format: AVRO"] and 'value: {"v":1}' in lines[2]
    execute("DROP TABLE header_view;")  # the topic of a read-only table is not deleted


def test_columns_are_inferred_from_samples(
    execute: Callable[[str], Any],
    engine: Engine,
    kafka_admin: KafkaAdmin,
    topic_names: Callable[[str], str],
) -> None:
    source = topic_names("in")
    kafka_admin.create_topic(source, 2)
    producer = RecordProducer(kafka_admin.servers)
    values: list[dict[str, Any]] = [
        {"id": 1, "place": {"lat": 1, "lon": 2.5}},
        {"id": 2, "place": {"lat": 1.5, "lon": 2.5}, "tags": ["a"], "Name": "x"},
    ]
    for number, value in enumerate(values):
        producer.send(source, f"key {number}".encode(), json.dumps(value).encode())
    (created,) = execute(
        f"CREATE STREAM sampled WITH (KAFKA_TOPIC = '{source}', VALUE_FORMAT = 'JSON', INFER = 'sample');"
    )
    columns = (
        "`ROWKEY` STRING KEY, `ID` BIGINT, `PLACE` STRUCT<`LAT` DOUBLE, `LON` DOUBLE>, "
        "`TAGS` ARRAY<STRING>, `NAME` STRING"
    )
    assert created["commandStatus"]["message"] == f"Stream created with the columns {columns}"
    rows = answer(engine, "SELECT rowkey, id, place->lat AS lat, tags, name FROM sampled;")
    assert sorted(rows) == [["key 0", 1, 1.0, None, None], ["key 1", 2, 1.5, ["a"], "x"]]


OPTIONAL = {"oneOf": [{"type": "null"}, {"type": "integer", "connect.type": "int32"}]}
#: format -> a schema that others have registered, and what is selected for it
GIVEN = {
    "JSON_SR": (
        {
            "type": "object",
            "properties": {"c1": OPTIONAL, "c2": OPTIONAL, "c3": {"type": "integer", "default": 7}},
        },
        "`k`, `c1`",
    ),
    "AVRO": (
        {
            "type": "record",
            "name": "R",
            "fields": [
                {"name": "c1", "type": ["null", "int"]},
                {"name": "M", "type": {"type": "map", "values": "int"}},
                {"name": "c2", "type": ["null", "int"]},
                {"name": "c3", "type": "int", "default": 7},
            ],
        },
        "`k`, `c1`, m",
    ),
    "PROTOBUF": (
        """syntax = "proto3";
        message M { optional int32 c1 = 1; uint32 V = 4; optional int32 c2 = 2; int32 c3 = 3; }""",
        "`k`, `c1`, v",
    ),
}


def test_rows_for_a_given_schema(
    execute: Callable[[str], Any],
    registry: RegistryServer,
    kafka_admin: KafkaAdmin,
    topic_names: Callable[[str], str],
) -> None:
    """Its members that are no columns are NULL or have their default; a row that does not fit is left out."""
    client = SchemaRegistryClient({"url": registry.url})
    topics = {format_: topic_names(format_) for format_ in GIVEN}
    ids: dict[str, int] = {}
    execute(f"""
        CREATE STREAM given_in (`k` INT KEY, `c1` INT, m MAP<STRING, INT>, v BIGINT)
          WITH (KAFKA_TOPIC = '{topic_names("in")}', FORMAT = 'JSON', PARTITIONS = 1);
    """)
    for format_, (schema, columns) in GIVEN.items():
        text = schema if isinstance(schema, str) else json.dumps(schema)
        kind = format_.removesuffix("_SR")
        ids[format_] = client.register_schema(f"{topics[format_]}-value", Schema(text, kind))
        execute(f"""
            CREATE STREAM given_{format_} WITH (KAFKA_TOPIC = '{topics[format_]}', VALUE_FORMAT = '{format_}',
              VALUE_SCHEMA_ID = {ids[format_]}) AS SELECT {columns} FROM given_in;
        """)
    execute("""
        INSERT INTO given_in VALUES (1, 4, MAP('x' := 1), 9);
        INSERT INTO given_in (`k`, v) VALUES (2, -1);
        INSERT INTO given_in VALUES (3, 5, MAP('x' := 2), 8);
    """)
    for format_, count in (("JSON_SR", 3), ("AVRO", 2), ("PROTOBUF", 2)):
        records(kafka_admin, topics[format_], count)
    execute("""
        INSERT INTO given_JSON_SR VALUES (2, 6);
        INSERT INTO given_AVRO VALUES (2, 6, MAP('x' := 3));
        INSERT INTO given_PROTOBUF VALUES (2, 6, 7);
    """)

    def written(format_: str, count: int) -> list[bytes]:
        values = [r.value or b"" for r in records(kafka_admin, topics[format_], count)]
        assert {value[:5] for value in values} == {b"\0" + ids[format_].to_bytes(4, "big")}
        return [value[5:] for value in values]

    assert written("JSON_SR", 4) == [b'{"c1":%b,"c2":null,"c3":7}' % n for n in (b"4", b"null", b"5", b"6")]
    assert written("AVRO", 3) == [
        bytes([2, 2 * n, 2, 2]) + b"x" + bytes([2 * m, 0, 0, 14]) for n, m in ((4, 1), (5, 2), (6, 3))
    ]
    assert written("PROTOBUF", 3) == [bytes([0, 8, n, 32, v]) for n, v in ((4, 9), (5, 8), (6, 7))]
    for format_ in ("AVRO", "PROTOBUF"):
        described = execute(f"DESCRIBE given_{format_} EXTENDED;")[0]["sourceDescription"]
        assert described["errorStats"].startswith("processing-errors: 1 "), described["errorStats"]
    states = {query["state"] for query in execute("SHOW QUERIES;")[0]["queries"]}
    assert states == {"RUNNING"}
