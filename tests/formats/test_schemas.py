"""Registered schemas as SQL types: Avro, JSON Schema, Protobuf (reference §5.6)."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any

import pytest
from google.protobuf import descriptor_pb2

from ksql_spark.formats.protobuf.message import proto_file
from ksql_spark.formats.registered import FieldLeftOut, NotConvertible, ReadSchema, columns
from ksql_spark.formats.schemas import read_schema
from ksql_spark.schema_registry import AVRO, JSON, PROTOBUF, RegisteredSchema

CONNECT = "org.apache.kafka.connect.data."


def read(
    kind: str, schema: Any, references: Mapping[str, Any] | None = None, full_name: str | None = None
) -> ReadSchema:
    texts = {n: s if isinstance(s, str) else json.dumps(s) for n, s in (references or {}).items()}
    text = schema if kind == PROTOBUF else json.dumps(schema)
    return read_schema(RegisteredSchema(1, kind, text, texts), full_name)


def listed(kind: str, schema: Any, **more: Any) -> list[str]:
    """The columns of a record or message, as text."""
    found = columns(read(kind, schema, **more).type, None, keep_case=False)
    return [f"{f.name} {f.type}" for f in found]


def record(*types: Any) -> dict[str, Any]:
    """An Avro record with fields a, b …"""
    fields = [{"name": chr(ord("a") + i), "type": t} for i, t in enumerate(types)]
    return {"type": "record", "name": "r", "fields": fields}


def json_object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


# ---- Avro ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("schema", "type_"),
    [
        ("boolean", "BOOLEAN"),
        ("int", "INTEGER"),
        ("long", "BIGINT"),
        ("float", "DOUBLE"),
        ("double", "DOUBLE"),
        ("bytes", "BYTES"),
        ("string", "STRING"),
        ({"type": "string"}, "STRING"),
        (["null", "int"], "INTEGER"),
        ({"type": "enum", "name": "e", "symbols": ["X"]}, "STRING"),
        ({"type": "fixed", "name": "f", "size": 4}, "BYTES"),
        ({"type": "int", "logicalType": "date"}, "DATE"),
        ({"type": "int", "logicalType": "time-millis"}, "TIME"),
        ({"type": "long", "logicalType": "timestamp-millis"}, "TIMESTAMP"),
        ({"type": "long", "logicalType": "timestamp-micros"}, "BIGINT"),
        ({"type": "int", "connect.name": CONNECT + "Date"}, "DATE"),
        ({"type": "long", "connect.name": CONNECT + "Timestamp"}, "TIMESTAMP"),
        ({"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2}, "DECIMAL(4, 2)"),
        ({"type": "array", "items": "string"}, "ARRAY<STRING>"),
        ({"type": "map", "values": ["null", "long"]}, "MAP<STRING, BIGINT>"),
        ({"type": "record", "name": "in", "fields": [{"name": "x", "type": "int"}]}, "STRUCT<`X` INTEGER>"),
        (["int", "string"], "STRUCT<`INT` INTEGER, `STRING` STRING>"),
    ],
)
def test_avro_types(schema: Any, type_: str) -> None:
    assert listed(AVRO, record(schema)) == [f"A {type_}"]


def entries(key: Any) -> dict[str, Any]:
    """Connect's form of a map whose keys are not texts."""
    fields = [{"name": "key", "type": key}, {"name": "value", "type": "long"}]
    return {
        "type": "array",
        "items": {"type": "record", "name": "m", "connect.internal.type": "MapEntry", "fields": fields},
    }


def test_avro_maps_with_other_keys() -> None:
    assert listed(AVRO, record(entries("int"))) == ["A MAP<STRING, BIGINT>"]
    # SQL has no such map: the field is left out
    assert listed(AVRO, record(entries("double"), "int")) == ["B INTEGER"]


def test_avro_named_types_and_references() -> None:
    inner = {"type": "fixed", "name": "n.id", "size": 2}
    assert listed(AVRO, record(inner, ["null", "n.id"])) == ["A BYTES", "B BYTES"]
    other = {"type": "record", "name": "n.Other", "fields": [{"name": "x", "type": "int"}]}
    assert listed(AVRO, record("n.Other"), references={"n.Other": other}) == ["A STRUCT<`X` INTEGER>"]
    assert read(AVRO, record("int")).name == "r"


# ---- JSON Schema --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("schema", "type_"),
    [
        ({"type": "boolean"}, "BOOLEAN"),
        ({"type": "integer"}, "BIGINT"),
        ({"type": "number"}, "DOUBLE"),
        ({"type": "string"}, "STRING"),
        ({"type": ["null", "string"]}, "STRING"),
        ({"type": "integer", "connect.type": "int32"}, "INTEGER"),
        ({"type": "number", "connect.type": "float32"}, "DOUBLE"),
        ({"type": "string", "connect.type": "bytes"}, "BYTES"),
        ({"oneOf": [{"type": "null"}, {"type": "integer", "connect.type": "int16"}]}, "INTEGER"),
        ({"type": "integer", "connect.type": "int32", "title": CONNECT + "Date"}, "DATE"),
        ({"type": "integer", "connect.type": "int32", "title": CONNECT + "Time"}, "TIME"),
        ({"type": "integer", "connect.type": "int64", "title": CONNECT + "Timestamp"}, "TIMESTAMP"),
        (
            {
                "type": "number",
                "title": CONNECT + "Decimal",
                "connect.type": "bytes",
                "connect.parameters": {"scale": "2", "connect.decimal.precision": "4"},
            },
            "DECIMAL(4, 2)",
        ),
        ({"enum": ["x", "y"]}, "STRING"),
        ({"type": "array", "items": {"type": "number"}}, "ARRAY<DOUBLE>"),
        (
            {"type": "object", "connect.type": "map", "additionalProperties": {"type": "integer"}},
            "MAP<STRING, BIGINT>",
        ),
        (json_object(x={"type": "string"}), "STRUCT<`X` STRING>"),
        ({"properties": {"x": {"type": "string"}}}, "STRUCT<`X` STRING>"),
        ({"allOf": [json_object(x={"type": "string"}), json_object(y={"type": "boolean"})]}, None),
    ],
)
def test_json_types(schema: Any, type_: str | None) -> None:
    assert listed(JSON, json_object(a=schema)) == [f"A {type_ or 'STRUCT<`X` STRING, `Y` BOOLEAN>'}"]


def test_json_order_and_references() -> None:
    indexed = json_object(
        late={"type": "string", "connect.index": 1}, early={"type": "string", "connect.index": 0}
    )
    assert listed(JSON, indexed) == ["EARLY STRING", "LATE STRING"]
    schema = json_object(a={"$ref": "#/definitions/x"}, b={"$ref": "other.json"})
    schema["definitions"] = {"x": {"type": "boolean"}}
    references = {"other.json": json_object(c={"type": "integer"})}
    assert listed(JSON, schema, references=references) == ["A BOOLEAN", "B STRUCT<`C` BIGINT>"]


# ---- Protobuf -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("field", "type_"),
    [
        ("bool a = 1;", "BOOLEAN"),
        ("sint32 a = 1;", "INTEGER"),
        ("uint32 a = 1;", "BIGINT"),
        ("fixed64 a = 1;", "BIGINT"),
        ("float a = 1;", "DOUBLE"),
        ("bytes a = 1;", "BYTES"),
        ("optional string a = 1;", "STRING"),
        ("repeated string a = 1;", "ARRAY<STRING>"),
        ("map<int32, bool> a = 1;", "MAP<STRING, BOOLEAN>"),
        ("google.protobuf.Int32Value a = 1;", "INTEGER"),
        ("google.protobuf.Timestamp a = 1;", "TIMESTAMP"),
        ("google.type.Date a = 1;", "DATE"),
        ("google.type.TimeOfDay a = 1;", "TIME"),
        ("google.protobuf.Duration a = 1;", "STRUCT<`SECONDS` BIGINT, `NANOS` INTEGER>"),
        ("confluent.type.Decimal a = 1;", "DECIMAL(64, 0)"),
        (
            "confluent.type.Decimal a = 1 [(confluent.field_meta) = "
            '{ params: [{ key: "precision", value: "4" }, { key: "scale", value: "2" }] }];',
            "DECIMAL(4, 2)",
        ),
        ("enum E { X = 0; } E a = 1;", "STRING"),
        ("message In { int32 x = 1; } In a = 1;", "STRUCT<`X` INTEGER>"),
        (".p.Other a = 1;", "STRUCT<`Y` INTEGER>"),
        ("oneof a { int32 x = 1; string y = 2; }", "STRUCT<`X` INTEGER, `Y` STRING>"),
    ],
)
def test_protobuf_types(field: str, type_: str) -> None:
    text = f'syntax = "proto3"; package p; message M {{ {field} }} message Other {{ int32 y = 1; }}'
    name = "A_0" if field.startswith("oneof") else "A"
    assert listed(PROTOBUF, text) == [f"{name} {type_}"]


def test_protobuf_messages_by_name() -> None:
    text = 'syntax = "proto3"; package p; message A { int32 x = 1; message In { bool z = 1; } } message B { }'
    assert (read(PROTOBUF, text).name, read(PROTOBUF, text).names) == ("p.A", ("p.A", "p.B"))
    assert (
        listed(PROTOBUF, text, full_name="A.In")
        == listed(PROTOBUF, text, full_name="p.A.In")
        == ["Z BOOLEAN"]
    )
    # such a name is what Connect gives by itself
    assert read(PROTOBUF, text, full_name="ConnectDefault1").name == "p.A"


def test_protobuf_imports() -> None:
    text = 'syntax = "proto3"; import "event.proto"; message M { Event e = 1; }'
    event = 'syntax = "proto3"; message Event { int64 at = 1; }'
    assert listed(PROTOBUF, text, references={"event.proto": event}) == ["E STRUCT<`AT` BIGINT>"]


# ---- what cannot be -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "schema", "reason"),
    [
        (AVRO, {"type": "nonsense"}, "nonsense"),
        (AVRO, record("null"), "null"),
        (AVRO, record(["null", "r"]), "part of itself"),
        (AVRO, record("missing.Type"), "missing.Type"),
        (AVRO, "int", "WRAP_SINGLE_VALUE"),
        (AVRO, record(), "does not include any columns"),
        (AVRO, record(entries("double")), "does not include any columns"),
        (
            AVRO,
            {"type": "record", "name": "r", "fields": [{"name": 1, "type": "int"}]},
            "not a name of a field",
        ),
        (JSON, {"type": "object", "properties": "int"}, "not well-formed"),
        (JSON, json_object(a={"type": "integer", "connect.type": {}}), "not well-formed"),
        (JSON, json_object(a={"oneOf": True}), "not well-formed"),
        (JSON, json_object(a={}), "names no type"),
        (JSON, json_object(a=True), "nothing about types"),
        (JSON, json_object(a={"type": "null"}), "stands alone"),
        (JSON, json_object(a={"type": "array"}), "items"),
        (JSON, json_object(a={"$ref": "#"}), "part of itself"),
        (JSON, json_object(a={"$ref": "#/nowhere"}), "nowhere"),
        (JSON, json_object(a={"$ref": "no.json"}), "no.json"),
        (JSON, json_object(a={"type": "string"}, A={"type": "string"}), "there twice"),
        (PROTOBUF, "no schema", "not a valid Protobuf schema"),
        (PROTOBUF, 'syntax = "proto3"; enum E { X = 0; }', "no message"),
        (PROTOBUF, 'syntax = "proto3"; message M { M m = 1; }', "part of itself"),
        (PROTOBUF, 'syntax = "proto3"; message M { Missing m = 1; }', "Missing"),
    ],
)
def test_what_gives_no_columns(kind: str, schema: Any, reason: str) -> None:
    with pytest.raises((NotConvertible, FieldLeftOut), match=reason):
        listed(kind, schema)


def test_a_message_that_is_not_there() -> None:
    with pytest.raises(NotConvertible, match=r"no message called X; there are: p\.M"):
        read(PROTOBUF, 'syntax = "proto3"; package p; message M { int32 x = 1; }', full_name="X")


def test_schemas_that_are_nested_too_deeply() -> None:
    schema: Any = "int"
    for _ in range(3000):
        schema = {"type": "array", "items": schema}
    with pytest.raises((NotConvertible, RecursionError)):
        read(AVRO, record(schema))


def test_a_protobuf_schema_may_be_a_serialized_descriptor() -> None:
    """As Confluent's serializer for Python registers schemas, and some registries give them back."""
    text = (
        "Cgd2LnByb3RvEgFwGh9nb29nbGUvcHJvdG9idWYvdGltZXN0YW1wLnByb3RvIv8BCgdSZWFkaW5n"
        "EgoKAmlkGAEgASgDEiYKAmF0GAIgASgLMhouZ29vZ2xlLnByb3RvYnVmLlRpbWVzdGFtcBIiCgR0"
        "YWdzGAMgAygLMhQucC5SZWFkaW5nLlRhZ3NFbnRyeRILCgFhGAQgASgFSAASCwoBYhgFIAEoCUgA"
        "EhAKA29wdBgGIAEoCEgBiAEBEgoKAnhzGAcgAygBGjwKCVRhZ3NFbnRyeRILCgNrZXkYASABKAkS"
        "HgoFdmFsdWUYAiABKA4yDy5wLlJlYWRpbmcuS2luZDoCOAEiGQoES2luZBIICgROT05FEAASBwoD"
        "SE9UEARCAwoBb0IGCgRfb3B0YgZwcm90bzM="
    )
    assert (read(PROTOBUF, text).name, read(PROTOBUF, text).names) == ("p.Reading", ("p.Reading",))
    assert listed(PROTOBUF, text) == [
        "O_0 STRUCT<`A` INTEGER, `B` STRING>",
        "ID BIGINT",
        "AT TIMESTAMP",
        "TAGS MAP<STRING, STRING>",
        "OPT BOOLEAN",
        "XS ARRAY<DOUBLE>",
    ]


def descriptor(syntax: str) -> str:
    """A file in base64 whose message has a map, which is a message too, before one that is nested."""
    file = descriptor_pb2.FileDescriptorProto(name="f.proto", package="p", syntax=syntax)
    outer = file.message_type.add(name="Outer")
    outer.field.add(name="required", number=1, type=5, label=2 if syntax == "proto2" else 1)
    outer.field.add(name="optional", number=2, type=5, label=1)
    outer.field.add(name="tags", number=3, type=11, type_name=".p.Outer.TagsEntry", label=3)
    price = outer.field.add(name="price", number=4, type=11, type_name=".confluent.type.Decimal", label=1)
    params = b"".join(
        b"\x12" + bytes([len(p)]) + p for p in (b"\n\tprecision\x12\x019", b"\n\x05scale\x12\x012")
    )
    # (confluent.field_meta), which Python's own descriptors do not know
    price.options.MergeFromString(b"\x82\x44" + bytes([len(params)]) + params)
    entry = outer.nested_type.add(name="TagsEntry")
    entry.options.map_entry = True
    entry.field.add(name="key", number=1, type=9, label=1)
    entry.field.add(name="value", number=2, type=5, label=1)
    outer.nested_type.add(name="Inner").field.add(name="x", number=1, type=5, label=1)
    return base64.b64encode(file.SerializeToString()).decode()


def test_messages_of_maps_count_in_places() -> None:
    file = proto_file(RegisteredSchema(1, PROTOBUF, descriptor("proto3")))
    assert (file.at([0, 0]).name, file.at([0, 1]).name) == ("p.Outer.TagsEntry", "p.Outer.Inner")
    assert file.path("p.Outer.Inner") == (0, 1)


def test_labels_and_options_of_descriptors() -> None:
    assert listed(PROTOBUF, descriptor("proto2")) == [
        "REQUIRED INTEGER", "OPTIONAL INTEGER", "TAGS MAP<STRING, INTEGER>", "PRICE DECIMAL(9, 2)",
    ]  # fmt: skip

    def presence(text: str) -> list[bool]:
        file = proto_file(RegisteredSchema(1, PROTOBUF, text))
        return [f.presence for f in file.at([0]).fields if not f.repeated and f.type.is_plain]

    assert presence(descriptor("proto2")) == [True, True]
    assert presence(descriptor("proto3")) == [False, False]
    assert presence("edition = '2023'; message M { int32 a = 1; }") == [True]
    implicit = "edition = '2023'; option features.field_presence = IMPLICIT; message M { int32 a = 1; }"
    assert presence(implicit) == [False]


def test_a_type_that_is_named_twice_in_each_of_many() -> None:
    """A short schema would have billions of columns."""
    schema: Any = {"type": "record", "name": "R0", "fields": [{"name": "x", "type": "int"}]}
    for i in range(1, 40):
        fields = [{"name": "a", "type": schema}, {"name": "b", "type": f"R{i - 1}"}]
        schema = {"type": "record", "name": f"R{i}", "fields": fields}
    with pytest.raises(NotConvertible, match="more than 10,000 fields"):
        read(AVRO, schema)
