"""Formats with schemas over real Kafka, with a registry over HTTP and the serializers of confluent-kafka."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
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
from tests.waiting import TIMEOUT_S

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


def test_a_pull_query_finds_keys_of_any_schema(
    execute: Callable[[str], Any],
    engine: Engine,
    registry: RegistryServer,
    kafka_admin: KafkaAdmin,
    topic_names: Callable[[str], str],
) -> None:
    from ksql_spark.engine.request import Request

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


NESTED, PLAIN = "v INT, s ARRAY<STRING>", "v INT, s STRING"


@pytest.mark.parametrize(
    ("format_", "columns", "shown"),
    [
        *((f, NESTED, f) for f in ("AVRO", "JSON", "JSON_SR", "PROTOBUF")),
        ("PROTOBUF_NOSR", NESTED, ""),  # its bytes do not tell
        ("DELIMITED", PLAIN, "KAFKA_STRING"),
        ("KAFKA", "v INT", "KAFKA_INT"),
    ],
)
def test_rows_go_in_and_out_in_every_way(
    execute: Callable[[str], Any],
    engine: Engine,
    url: str,
    registry: RegistryServer,
    kafka_admin: KafkaAdmin,
    topic_names: Callable[[str], str],
    format_: str,
    columns: str,
    shown: str,
) -> None:
    """INSERT VALUES, /inserts-stream and a tombstone; a query; pull queries, a push query and PRINT."""
    from ksql_spark.engine.request import Request

    def answer(text: str) -> list[list[Any]]:
        stream = engine.query(Request(text, {"auto.offset.reset": "earliest"}))
        rows: list[list[Any]] = []
        while (batch := stream.read(TIMEOUT_S)) is not None:
            assert batch, f"no answer to {text}"
            rows += [row.values for row in batch]
        stream.close()
        return rows

    source, sink, name = topic_names("in"), topic_names("out"), f"door_{format_}"
    names = [column.split()[0] for column in columns.split(", ")]
    one, two = {NESTED: ["1, ARRAY['x']", {"s": ["y"]}], PLAIN: ["1, 'x'", {"s": "y"}]}.get(
        columns, ["1", {}]
    )
    execute(f"""
        CREATE TABLE {name} (k STRING PRIMARY KEY, {columns})
          WITH (KAFKA_TOPIC = '{source}', FORMAT = '{format_}', PARTITIONS = 1);
        CREATE TABLE {name}_copy WITH (KAFKA_TOPIC = '{sink}') AS SELECT * FROM {name};
        INSERT INTO {name} (k, {", ".join(names)}) VALUES ('a', {one});
        INSERT INTO {name} (k, {", ".join(names)}) VALUES ('gone', {one});
    """)
    rows = [json.dumps({"target": name}), json.dumps({"k": "b", "v": 2, **two})]
    sent = httpx.post(f"{url}/inserts-stream", content="\n".join(rows), timeout=TIMEOUT_S)
    assert json.loads(sent.text.splitlines()[-1]) == {"status": "ok", "seq": 0}
    (_, gone, _) = records(kafka_admin, source, 3)
    RecordProducer(kafka_admin.servers).send(source, gone.key, None)
    assert [r.value is None for r in records(kafka_admin, sink, 4)] == [False, False, False, True]
    wanted = {NESTED: [[1, ["x"]], [2, ["y"]]], PLAIN: [[1, "x"], [2, "y"]]}.get(columns, [[1], [2]])
    first, second = ["a", *wanted[0]], ["b", *wanted[1]]
    assert answer(f"SELECT * FROM {name}_copy WHERE k = 'b';") == [second]
    assert sorted(answer(f"SELECT * FROM {name}_copy;")) == [first, second]
    assert answer(f"SELECT *, v * 1 AS w FROM {name}_copy WHERE v < 2;") == [[*first, 1]]
    pushed = answer(f"SELECT * FROM {name} EMIT CHANGES LIMIT 3;")
    assert [pushed[0], pushed[2]] == [first, second]
    lines = [str(row[0]) for row in answer(f"PRINT {sink} FROM BEGINNING LIMIT 4;")]
    if shown:
        assert [line for line in lines if line.startswith("Value format:") and shown in line]
    assert "value: <null>" in lines[-1]


def test_print_shows_records_by_the_schemas_that_they_name(
    execute: Callable[[str], Any],
    engine: Engine,
    registry: RegistryServer,
    kafka_admin: KafkaAdmin,
    topic_names: Callable[[str], str],
) -> None:
    from ksql_spark.engine.request import Request

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


def until_it_fails(execute: Callable[[str], Any], sink: str) -> dict[str, Any]:
    """The query that writes ``sink``, once it has failed."""
    deadline = time.monotonic() + TIMEOUT_S
    while time.monotonic() < deadline:
        queries: list[dict[str, Any]] = execute("SHOW QUERIES;")[0]["queries"]
        found = next(query for query in queries if sink in query["sinkKafkaTopics"])
        if found["state"] == "ERROR":
            return found
        time.sleep(0.1)
    raise AssertionError("the query has not failed")


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

    bad = [
        b"", b"\0", frame[:4], b"{}", b"\7" + good(1)[1:],  # no frame
        frame, frame + b"\2\4\x08\1", frame + b"\xff\xff\xff\xff\x0f",  # no message
        frame + b"\0\x08", frame + b"\0\x12\5x", frame + b"\0\x12\2\xff\xff", frame + b"\0\x0f",  # no fields
        b"\0\0\0\x27\x0f" + good(1)[5:], b"\0" + avro.to_bytes(4, "big") + good(1)[5:],  # no schema
    ]  # fmt: skip
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
    query = until_it_fails(execute, sink)
    assert query["error"].startswith("The schema registry cannot be read")
    registry.answers.set()
    execute(f"RESUME {query['id']};")
    deadline = time.monotonic() + TIMEOUT_S
    while 101 not in (numbers := {json.loads(r.value or b"")["ID"] for r in records(kafka_admin, sink, 1)}):
        assert time.monotonic() < deadline
    assert numbers == {*range(1, len(bad) + 1), 100, 101}
    assert len([r for r in registry.requests if r.endswith(f"ids/{schema_id}")]) == 1


def test_schema_ids_in_headers(
    execute: Callable[[str], Any],
    engine: Engine,
    registry: RegistryServer,
    kafka_admin: KafkaAdmin,
    topic_names: Callable[[str], str],
) -> None:
    """Newer serializers write a schema's GUID into a header, and nothing before the record."""
    from ksql_spark.engine.request import Request

    source, sink, shown = topic_names("in"), topic_names("out"), topic_names("shown")
    execute(f"""
        CREATE TABLE header_in (k BIGINT PRIMARY KEY, v BIGINT)
          WITH (KAFKA_TOPIC = '{source}', FORMAT = 'AVRO', PARTITIONS = 1);
        CREATE TABLE header_out WITH (KAFKA_TOPIC = '{sink}') AS SELECT k, v + 1 AS v FROM header_in;
        CREATE SOURCE TABLE header_view (k BIGINT PRIMARY KEY, v BIGINT)
          WITH (KAFKA_TOPIC = '{source}', FORMAT = 'AVRO');
        CREATE TABLE header_json WITH (KAFKA_TOPIC = '{shown}', FORMAT = 'JSON') AS SELECT * FROM header_out;
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
    assert [r.value for r in records(kafka_admin, shown, 2)] == [b'{"V":2}', b'{"V":3}']
    stream = engine.query(Request("SELECT v FROM header_view WHERE k = 7;"))
    assert [row.values for row in stream.read(TIMEOUT_S) or []] == [[2]]
    stream.close()
    stream = engine.query(Request(f"PRINT {source} FROM BEGINNING LIMIT 1;"))
    lines: list[str] = []
    while (batch := stream.read(TIMEOUT_S)) is not None:
        lines += [str(row.values[0]) for row in batch]
    stream.close()
    assert lines[:2] == ["Key format: AVRO", "Value format: AVRO"] and 'value: {"v":1}' in lines[2]
    execute("DROP TABLE header_view;")  # the topic of a read-only table is not deleted


def test_columns_are_inferred_from_samples(
    execute: Callable[[str], Any],
    kafka_admin: KafkaAdmin,
    topic_names: Callable[[str], str],
) -> None:
    source, sink = topic_names("in"), topic_names("out")
    kafka_admin.create_topic(source, 2)
    producer = RecordProducer(kafka_admin.servers)
    values: list[dict[str, Any]] = [
        {"id": 1, "place": {"lat": 1, "lon": 2.5}},
        {"id": 2, "place": {"lat": 1.5, "lon": 2.5}, "tags": ["a"], "Name": "x"},
    ]
    for number, value in enumerate(values):
        producer.send(source, f"key {number}".encode(), json.dumps(value).encode())
    (created, *_) = execute(f"""
        CREATE STREAM sampled WITH (KAFKA_TOPIC = '{source}', VALUE_FORMAT = 'JSON', INFER = 'sample');
        CREATE STREAM sampled_out WITH (KAFKA_TOPIC = '{sink}') AS
          SELECT rowkey, id, place->lat AS lat, tags, name FROM sampled;
    """)
    columns = (
        "`ROWKEY` STRING KEY, `ID` BIGINT, `PLACE` STRUCT<`LAT` DOUBLE, `LON` DOUBLE>, "
        "`TAGS` ARRAY<STRING>, `NAME` STRING"
    )
    assert created["commandStatus"]["message"] == f"Stream created with the columns {columns}"
    (described,) = execute("DESCRIBE sampled EXTENDED;")
    stored = described["sourceDescription"]["statement"]
    assert f"({columns})" in stored and "INFER" not in stored
    rows = sorted((json.loads(r.value or b"") for r in records(kafka_admin, sink, 2)), key=lambda r: r["ID"])
    assert rows == [
        {"ID": 1, "LAT": 1.0, "TAGS": None, "NAME": None},
        {"ID": 2, "LAT": 1.5, "TAGS": ["a"], "NAME": "x"},
    ]


def test_a_row_that_does_not_fit_the_schema_is_left_out_and_counted(
    execute: Callable[[str], Any],
    registry: RegistryServer,
    kafka_admin: KafkaAdmin,
    topic_names: Callable[[str], str],
) -> None:
    source, avro, proto = topic_names("in"), topic_names("avro"), topic_names("proto")
    fields = [{"name": "M", "type": {"type": "map", "values": "int"}}, {"name": "V", "type": "long"}]
    schema = {"type": "record", "name": "R", "fields": fields}
    client = SchemaRegistryClient({"url": registry.url})
    avro_id = client.register_schema(f"{avro}-value", Schema(json.dumps(schema), "AVRO"))
    text = 'syntax = "proto3"; message M { uint32 V = 1; }'
    proto_id = client.register_schema(f"{proto}-value", Schema(text, "PROTOBUF"))
    execute(f"""
        CREATE STREAM fitting_in (k STRING KEY, m MAP<STRING, INT>, v BIGINT)
          WITH (KAFKA_TOPIC = '{source}', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
        CREATE STREAM fitting_avro WITH (KAFKA_TOPIC = '{avro}', VALUE_FORMAT = 'AVRO',
          VALUE_SCHEMA_ID = {avro_id}) AS SELECT * FROM fitting_in;
        CREATE STREAM fitting_proto WITH (KAFKA_TOPIC = '{proto}', VALUE_FORMAT = 'PROTOBUF',
          VALUE_SCHEMA_ID = {proto_id}) AS SELECT k, v FROM fitting_in;
        INSERT INTO fitting_in VALUES ('a', MAP('x' := 1), 1);
        INSERT INTO fitting_in (k, v) VALUES ('b', -1);
        INSERT INTO fitting_in VALUES ('c', MAP('x' := 2), 2);
    """)
    assert [record.key for record in records(kafka_admin, avro, 2)] == [b"a", b"c"]
    assert [record.key for record in records(kafka_admin, proto, 2)] == [b"a", b"c"]
    states = [query["state"] for query in execute("SHOW QUERIES;")[0]["queries"]]
    assert set(states) == {"RUNNING"}
    for sink in ("fitting_avro", "fitting_proto"):
        described = execute(f"DESCRIBE {sink} EXTENDED;")[0]["sourceDescription"]
        assert described["errorStats"].startswith("processing-errors: 1 "), described["errorStats"]


def test_members_of_a_given_schema_that_are_no_columns_are_null_or_have_their_default(
    execute: Callable[[str], Any],
    registry: RegistryServer,
    kafka_admin: KafkaAdmin,
    topic_names: Callable[[str], str],
) -> None:
    topics = {name: topic_names(name) for name in ("in", "json_out", "avro_out", "proto_out")}
    optional = {"oneOf": [{"type": "null"}, {"type": "integer", "connect.type": "int32"}]}
    json_schema = {
        "type": "object",
        "properties": {"c1": optional, "c2": optional, "c3": {"type": "integer", "default": 7}},
    }
    fields = [
        {"name": "c1", "type": ["null", "int"]},
        {"name": "c2", "type": ["null", "int"]},
        {"name": "c3", "type": "int", "default": 7},
    ]
    proto = """syntax = "proto3";
        message M { optional int32 c1 = 1; optional int32 c2 = 2; int32 c3 = 3; }"""
    schemas = {
        "json": Schema(json.dumps(json_schema), "JSON"),
        "avro": Schema(json.dumps({"type": "record", "name": "R", "fields": fields}), "AVRO"),
        "proto": Schema(proto, "PROTOBUF"),
    }
    client = SchemaRegistryClient({"url": registry.url})
    ids = {
        name: client.register_schema(f"{topics[f'{name}_out']}-value", schema)
        for name, schema in schemas.items()
    }
    execute(f"""
        CREATE STREAM optional_in (`k` INT KEY, `c1` INT)
          WITH (KAFKA_TOPIC = '{topics["in"]}', FORMAT = 'JSON', PARTITIONS = 1);
        CREATE STREAM optional_json WITH (KAFKA_TOPIC = '{topics["json_out"]}', VALUE_FORMAT = 'JSON_SR',
          VALUE_SCHEMA_ID = {ids["json"]}) AS SELECT * FROM optional_in;
        CREATE STREAM optional_avro WITH (KAFKA_TOPIC = '{topics["avro_out"]}', VALUE_FORMAT = 'AVRO',
          VALUE_SCHEMA_ID = {ids["avro"]}) AS SELECT * FROM optional_in;
        CREATE STREAM optional_proto WITH (KAFKA_TOPIC = '{topics["proto_out"]}', VALUE_FORMAT = 'PROTOBUF',
          VALUE_SCHEMA_ID = {ids["proto"]}) AS SELECT * FROM optional_in;
        INSERT INTO optional_in VALUES (1, 4);
    """)
    for name in ids:
        records(kafka_admin, topics[f"{name}_out"], 1)
    execute("".join(f"INSERT INTO optional_{name} VALUES (2, 5);" for name in ids))
    written = {name: [r.value for r in records(kafka_admin, topics[f"{name}_out"], 2)] for name in ids}
    frames = {name: b"\0" + schema_id.to_bytes(4, "big") for name, schema_id in ids.items()}
    assert written["json"] == [frames["json"] + b'{"c1":%d,"c2":null,"c3":7}' % n for n in (4, 5)]
    assert written["avro"] == [frames["avro"] + bytes([2, 2 * n, 0, 14]) for n in (4, 5)]
    assert written["proto"] == [frames["proto"] + bytes([0, 8, n]) for n in (4, 5)]
