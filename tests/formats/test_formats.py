"""The contract of every format, in Python: what it carries, wrapping, round trips, bad records."""

from __future__ import annotations

import json
from decimal import Decimal as PythonDecimal
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ksql_spark.errors import KsqlError
from ksql_spark.formats import CAPABILITIES, FORMATS, BadRecord, Serde, SerdeSpec, bind
from ksql_spark.formats.number_text import double_text, whole_of_bytes
from ksql_spark.schema_registry import RegisteredSchema
from ksql_spark.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INTEGER,
    STRING,
    TIME,
    TIMESTAMP,
    Array,
    Decimal,
    Field,
    Map,
    SqlType,
    Struct,
)
from tests.formats.json_schemas import FURTHER, OPTIONAL, with_json_schema
from tests.formats.samples import NESTED, REGISTRY, SAMPLES, carried, column, read_back, serde

CARRIED = [
    (format_, type_, value)
    for format_ in sorted(set(FORMATS) - {"NONE"})
    for type_, values in carried(format_).items()
    for value in values
]


@pytest.mark.parametrize(("format_", "type_", "value"), CARRIED, ids=lambda v: str(v)[:40])
@pytest.mark.parametrize("wrapped", [True, False])
def test_python_round_trip(format_: str, type_: SqlType, value: Any, wrapped: bool) -> None:
    bound = serde(format_, [column(type_)], wrapped)
    data = bound.encode([value])
    if data is None:
        assert value is None
    else:
        assert bound.decode(data) == [read_back(format_, type_, value)]


@given(st.lists(st.one_of(st.none(), st.text(min_size=1)), min_size=2))
def test_delimited_strings_survive(values: list[str | None]) -> None:
    values = [v if v is None else v.encode(errors="ignore").decode() or None for v in values]
    columns = [column(STRING, f"C{i}") for i in range(len(values))]
    data = serde("DELIMITED", columns, True).encode(values)
    assert data is not None
    if "\x00" not in data.decode():
        assert serde("DELIMITED", columns, True).decode(data) == values


def test_json_writes_all_columns() -> None:
    columns = [column(INTEGER, "A"), column(Decimal(10, 2), "b"), column(DATE, "C"), column(BYTES, "D")]
    data = serde("JSON", columns, True).encode([None, PythonDecimal("1.50"), 3, b"\x01"])
    assert data == b'{"A":null,"b":1.50,"C":3,"D":"AQ=="}'
    assert serde("JSON", [column(INTEGER)], False).encode([7]) == b"7"
    assert serde("JSON", [column(INTEGER)], False).encode([None]) is None


@pytest.mark.parametrize(
    ("json", "type_", "value"),
    [
        ('{"a": 1}', INTEGER, 1),
        ('{"a": 1, "A": 2}', INTEGER, 2),
        ('{"A": 2, "a": 1}', INTEGER, 2),
        ('{"A": " 12 "}', INTEGER, 12),
        ('{"A": "\\ud800x"}', STRING, "?x"),
        ('{"x": 1}', INTEGER, None),
        ('{"A": 1.9}', INTEGER, 1),
        ('{"A": "12"}', INTEGER, 12),
        ('{"A": -2147483648}', INTEGER, -(2**31)),
        ('{"A": 2147483647.9}', INTEGER, 2**31 - 1),
        ('{"A": "1.5"}', DOUBLE, 1.5),
        ('{"A": 3}', DOUBLE, 3.0),
        ('{"A": 1.50}', STRING, "1.50"),
        ('{"A": true}', STRING, "true"),
        ('{"A": {"x": [1, "a"]}}', STRING, '{"x":[1,"a"]}'),
        ('{"A": [1, "a"]}', STRING, "[1, a]"),
        ('{"A": "1.5"}', Decimal(4, 2), PythonDecimal("1.50")),
        ('{"A": 5}', TIMESTAMP, 5),
        ('{"A": " 1623067935 "}', TIMESTAMP, 1623067935),
        ('{"A": ["-1", 2]}', Array(TIMESTAMP), [-1, 2]),
        ('{"A": "19000"}', DATE, 19000),
        ('{"A": "1000"}', TIME, 1000),
        ('{"A": 1e18}', BIGINT, 10**18),
        ('{"A": 1e-999999999}', BIGINT, 0),
        ('{"A": 1e-999999999}', DOUBLE, 0.0),
        ('{"A": 0e999999999}', Decimal(4, 2), PythonDecimal("0.00")),
        ('{"A": 12e0}', Decimal(4, 2), PythonDecimal("12.00")),
        ('{"A": {"f": 1}}', Struct((Field("F", INTEGER), Field("G", STRING))), {"F": 1, "G": None}),
    ],
)
def test_json_is_lenient(json: str, type_: SqlType, value: Any) -> None:
    assert serde("JSON", [column(type_)], True).decode(json.encode()) == [value]


@pytest.mark.parametrize(
    ("json", "type_", "path"),
    [
        ('{"A": "x"}', INTEGER, "$.A"),
        ('{"A": "1.5"}', INTEGER, "$.A"),
        ('{"A": 1}', BOOLEAN, "$.A"),
        ('{"A": 1.555}', Decimal(4, 2), "$.A"),
        ('{"A": 123.5}', Decimal(4, 2), "$.A"),
        ('{"A": "2020-01-01"}', DATE, "$.A"),
        ('{"A": "*"}', BYTES, "$.A"),
        ('{"A": {"B": [1, "x"]}}', Struct((Field("B", Array(BIGINT)),)), "$.A.B[1]"),
        ('{"A": 1}', Array(BIGINT), "$.A"),
        ("[1]", INTEGER, "$"),
        ("{", INTEGER, "not JSON"),
        ('{"A": NaN}', DOUBLE, "not JSON"),
        ('{"A": 1e999999999}', BIGINT, "$.A"),
        ('{"A": 1e999999999}', INTEGER, "$.A"),
        ('{"A": 1e999999999}', DOUBLE, "$.A"),
        ('{"A": -1e999999999}', Decimal(38, 2), "$.A"),
        ('{"A": 1e-999999999}', Decimal(38, 2), "$.A"),
        ('{"A": "1e999999999"}', Decimal(38, 2), "$.A"),
        ('{"A": 1e999999999}', TIMESTAMP, "$.A"),
        ('{"A": 1e9999999999999999999999}', DOUBLE, "not JSON"),
        ('{"A": 1e-9999999999}', BIGINT, "$.A"),
        ('{"A": 0e-9999999999}', Decimal(4, 2), "$.A"),
        ('{"A": 1e19}', BIGINT, "$.A"),
        ('{"A": 3000000000}', INTEGER, "$.A"),
        ('{"A": -2147483649}', INTEGER, "$.A"),
        ('{"A": 2147483648.0}', INTEGER, "$.A"),
        ('{"A": 9223372036854775808}', BIGINT, "$.A"),
        ('{"A": 3000000000}', DATE, "$.A"),
        ('{"A": 3000000000}', TIME, "$.A"),
        ('{"A": 9223372036854776}', TIMESTAMP, "$.A"),
        ('{"A": "9223372036854776"}', TIMESTAMP, "$.A"),
        ('{"A": "1.5"}', TIMESTAMP, "$.A"),
        ('{"A": 1%s}' % ("0" * 400), DOUBLE, "$.A"),
    ],
)
def test_json_says_where_it_is_bad(json: str, type_: SqlType, path: str) -> None:
    with pytest.raises(BadRecord) as caught:
        serde("JSON", [column(type_)], True).decode(json.encode())
    assert path in str(caught.value)


def test_json_null_is_no_row() -> None:
    assert serde("JSON", [column(INTEGER)], True).decode(b"null") is None
    assert serde("JSON", [column(INTEGER)], False).decode(b"null") is None


@pytest.mark.parametrize(("data", "type_"), [(b"\0", INTEGER), (b"\0" * 4, BIGINT), (b"\0" * 7, DOUBLE)])
def test_kafka_checks_sizes(data: bytes, type_: SqlType) -> None:
    with pytest.raises(BadRecord, match="bytes"):
        serde("KAFKA", [column(type_)], False).decode(data)


@pytest.mark.parametrize(
    ("line", "reason"),
    [("1", "Unexpected field count"), ("x,a", "`A`"), ("1,a,b", "csv line has 3, schema has 2")],
)
def test_delimited_says_what_is_bad(line: str, reason: str) -> None:
    with pytest.raises(BadRecord, match=reason):
        serde("DELIMITED", [column(INTEGER), column(STRING, "B")], True).decode(line.encode())


@pytest.mark.parametrize(
    ("line", "values"),
    [
        ('"x" ,1,y', ["x", 1, "y"]),
        ('x,1,"y" \t', ["x", 1, "y"]),
        ('"a ""b""\t",1,', ['a "b"\t', 1, None]),
        ('\r\n"x\ny",1,z\r\nrest', ["x\ny", 1, "z"]),
        ('"",1,a"b', [None, 1, 'a"b']),
        ('"x" y,1,z', None),
        ('"x,1,z', None),
        ("", None),
        ("\n", None),
    ],
)
def test_delimited_fields(line: str, values: list[Any] | None) -> None:
    bound = serde("DELIMITED", [column(STRING), column(INTEGER, "B"), column(STRING, "C")], True)
    if values is None:
        with pytest.raises(BadRecord):
            bound.decode(line.encode())
    else:
        assert bound.decode(line.encode()) == values


def test_delimited_writes_commons_csv() -> None:
    columns = [column(STRING, n) for n in "ABCD"]
    line = serde("DELIMITED", columns, True).encode(["", "x y", 'a"b', None])
    assert line == b'"",x y,"a""b",'
    assert serde("DELIMITED", columns, True).encode([None, "", " a", "a "]) == b',," a","a "'


def test_delimiters() -> None:
    columns = (column(INTEGER), column(STRING, "B"))
    tab = bind(SerdeSpec("DELIMITED", columns, delimiter="TAB"))
    assert tab.encode([1, "a,b"]) == b"1\ta,b"
    assert tab.decode(b"1\ta,b") == [1, "a,b"]
    for wrong in ("", "ab", '"'):
        with pytest.raises(KsqlError, match="delimiter"):
            bind(SerdeSpec("DELIMITED", columns, delimiter=wrong))
    with pytest.raises(KsqlError, match="delimiter"):
        bind(SerdeSpec("JSON", columns, delimiter="x"))


def test_unknown_format_names_the_nearest() -> None:
    with pytest.raises(KsqlError) as caught:
        serde("JSONN", [])
    assert caught.value.condition == "FORMAT_UNKNOWN"
    assert "JSON?" in caught.value.message


def test_what_formats_do_not_carry() -> None:
    refused = {
        (name, str(type_))
        for name in FORMATS
        for type_ in (*SAMPLES, *NESTED, Map(INTEGER, STRING), Array(Map(INTEGER, STRING)))
        if name != "NONE" and not CAPABILITIES[name].carries(type_)
    }
    nested = [str(t) for t in (*NESTED, Map(INTEGER, STRING), Array(Map(INTEGER, STRING)))]
    plain = [str(t) for t in SAMPLES if t not in (INTEGER, BIGINT, DOUBLE, STRING, BYTES)]
    assert refused == {
        *product(["AVRO", "JSON", "JSON_SR", "PROTOBUF", "PROTOBUF_NOSR"], nested[-2:]),
        *product(["DELIMITED"], nested),
        *product(["KAFKA"], [*plain, *nested]),
    }
    assert not any(CAPABILITIES["NONE"].carries(t) for t in (*SAMPLES, *NESTED))


def test_wrapping() -> None:
    json, kafka, protobuf = (CAPABILITIES[n] for n in ("JSON", "KAFKA", "PROTOBUF"))
    assert json.wraps(1, is_key=False)
    assert not json.wraps(1, is_key=False, requested=False)
    assert not json.wraps(1, is_key=True)
    assert json.wraps(2, is_key=True)
    assert not kafka.wraps(1, is_key=False)
    assert protobuf.wraps(1, is_key=True) and protobuf.wraps(1, is_key=False)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        (1e7, "1.0E7"),
        (9999999.5, "9999999.5"),
        (0.001, "0.001"),
        (0.00012, "1.2E-4"),
        (1.5e300, "1.5E300"),
        (float("nan"), "NaN"),
        (float("-inf"), "-Infinity"),
    ],
)
def test_doubles_are_written_as_java_does(value: float, text: str) -> None:
    assert double_text(value) == text


@pytest.mark.parametrize(
    ("format_", "data", "type_"),
    [
        ("DELIMITED", "é".encode(), BYTES),
        ("DELIMITED", b"tTHU=", BYTES),
        ("JSON", '{"A": "é"}'.encode(), BYTES),
        # a message of a decimal whose scale no number has
        ("PROTOBUF_NOSR", b"\x0a\x0c\x0a\x01\x05\x18\x80\x80\x80\x80\xf8\xff\xff\xff\x01", Decimal(10, 2)),
    ],
)
def test_what_cannot_be_read_is_a_bad_record(format_: str, data: bytes, type_: SqlType) -> None:
    with pytest.raises(BadRecord):
        serde(format_, [column(type_)], CAPABILITIES[format_].wrapped).decode(data)


@pytest.mark.parametrize("format_", ["DELIMITED", "JSON"])
@pytest.mark.parametrize(
    ("text", "type_", "value"),
    [
        ("1." + "0" * 900, Decimal(10, 2), PythonDecimal("1.00")),
        ("1." + "0" * 900 + "1", Decimal(10, 2), None),
        ("1." + "0" * 5_000, Decimal(10, 2), None),
        ("9" * 1_000_000, Decimal(10, 2), None),
        ("0" * 5_000 + "1", BIGINT, 1),
        ("9" * 1_000_000, BIGINT, None),
    ],
)
def test_numbers_of_many_digits(format_: str, text: str, type_: SqlType, value: Any) -> None:
    read = serde(format_, [column(type_)], CAPABILITIES[format_].wrapped)
    data = (f'{{"A": "{text}"}}' if format_ == "JSON" else text).encode()
    if value is not None:
        assert read.decode(data) == [value]
    else:
        with pytest.raises(BadRecord):
            read.decode(data)


def test_a_decimal_of_many_bytes() -> None:
    """The time to read one grows with its square, and nothing else runs meanwhile."""
    digits = b"\x7f" * 1_000_000

    def field(number: int, data: bytes) -> bytes:
        return bytes([number << 3 | 2]) + varint(len(data)) + data

    def varint(value: int) -> bytes:
        return bytes([value]) if value < 128 else bytes([value & 127 | 128]) + varint(value >> 7)

    map_ = serde("PROTOBUF_NOSR", [column(Decimal(10, 2))], True)
    with pytest.raises(BadRecord, match="bits"):
        map_.decode(field(1, field(1, digits)))
    with pytest.raises(BadRecord, match="bits"):
        whole_of_bytes(digits)
    assert whole_of_bytes(b"\0" * 1_000_000 + b"\5") == 5


def test_an_entry_of_a_map_with_a_number_for_a_text() -> None:
    """Fields of another wire type are skipped, as unknown ones are."""
    map_ = serde("PROTOBUF_NOSR", [column(Map(STRING, Decimal(4, 1)))], True)
    assert map_.decode(b"\x0a\x05\x0a\x01k\x10\x07") == [{"k": None}]


@pytest.mark.parametrize("format_", ["AVRO", "DELIMITED", "KAFKA"])
def test_bytes_that_are_no_utf8(format_: str) -> None:
    """As Java reads texts."""
    bare = serde(format_, [column(STRING)], False)
    data = bare.encode(["abc"])
    assert data is not None
    assert bare.decode(data.replace(b"b", b"\xff")) == ["a\ufffdc"]


def avro_reader(schema: Any, type_: SqlType) -> tuple[Serde, bytes]:
    """A serde of one column A, and the frame of records written by ``schema``."""
    schema_id = REGISTRY.add("hostile", schema)
    spec = SerdeSpec("AVRO", (column(type_),))
    return bind(spec, REGISTRY), b"\0" + schema_id.to_bytes(4, "big")


def test_an_avro_union_of_one_type_is_a_struct_too() -> None:
    writer = {"type": "record", "name": "R", "fields": [{"name": "A", "type": ["int"]}]}
    reader, frame = avro_reader(writer, Struct((Field("INT", INTEGER),)))
    assert reader.decode(frame + b"\0\x08") == [{"INT": 4}]


def test_avro_that_is_nested_without_end() -> None:
    """A short record of a type that is part of itself must not exhaust the stack."""
    fields = [{"name": "A", "type": "int"}, {"name": "next", "type": ["null", "N"]}]
    reader, frame = avro_reader({"type": "record", "name": "N", "fields": fields}, INTEGER)
    assert reader.decode(frame + b"\2\2\4\0") == [1]
    with pytest.raises(BadRecord, match="too deeply"):
        reader.decode(frame + b"\2\2" * 200_000 + b"\2\0")


def test_protobuf_that_says_it_has_fewer_places_than_none() -> None:
    """A place of a message has a length, which cannot be negative."""
    schema_id = REGISTRY.add("places", 'syntax = "proto3"; message M { int32 a = 1; }', "PROTOBUF")
    reader = bind(SerdeSpec("PROTOBUF", (column(INTEGER),)), REGISTRY)
    frame = b"\0" + schema_id.to_bytes(4, "big")
    assert reader.decode(frame + b"\x00\x08\x05") == [5]
    with pytest.raises(BadRecord, match="place"):
        reader.decode(frame + b"\x01\x08\x05")


@pytest.mark.parametrize("name", ["JSON", "DELIMITED"])
def test_a_decimal_has_no_negative_zero(name: str) -> None:
    """As in Java."""
    reader = bind(SerdeSpec(name, (column(Decimal(4, 2)),), wrapped=False), REGISTRY)
    (value,) = reader.decode(b"-0.0") or [None]
    assert str(value) == "0.00"


@pytest.mark.parametrize("item", ["null", {"type": "record", "name": "E", "fields": []}])
def test_avro_whose_items_take_no_bytes(item: Any) -> None:
    """A few bytes would ask for billions of items."""
    fields = [{"name": "A", "type": "int"}, {"name": "x", "type": {"type": "array", "items": item}}]
    reader, frame = avro_reader({"type": "record", "name": "R", "fields": fields}, INTEGER)
    with pytest.raises(BadRecord, match="too early"):
        reader.decode(frame + b"\2\x80\x80\x80\x80\x20\0")


def test_protobuf_fields_of_types_that_are_not_there() -> None:
    """Such as google.type.Money, which serializers do not register: other fields are read all the same."""
    proto = (
        'syntax = "proto3"; message M { google.type.Money m = 1; google.protobuf.Struct s = 2; int32 a = 3; }'
    )
    schema_id = REGISTRY.add("money", proto, "PROTOBUF")
    record = b"\0" + schema_id.to_bytes(4, "big") + b"\0\x0a\x02\x10\x01\x12\0\x18\x05"
    assert bind(SerdeSpec("PROTOBUF", (column(INTEGER),)), REGISTRY).decode(record) == [5]
    with pytest.raises(BadRecord, match="Money, which is not in the schema"):
        bind(SerdeSpec("PROTOBUF", (column(INTEGER, "M"),)), REGISTRY).decode(record)


@pytest.mark.parametrize("root", ["record", "union", "name"])
def test_avro_with_references_in_python(root: str) -> None:
    kind = {"type": "enum", "name": "n.Kind", "symbols": ["X", "Y"]}
    part = {"type": "record", "name": "n.Part", "fields": [
        {"name": "A", "type": "n.Kind"},
        {"name": "B", "type": {"type": "array", "items": ["null", "n.Kind"]}},
    ]}  # fmt: skip
    whole = {"type": "record", "name": "n.W", "fields": [
        {"name": "P", "type": "n.Part"}, {"name": "K", "type": ["null", "n.Kind"]},
    ]}  # fmt: skip
    text = {"record": whole, "union": ["null", "n.Part"], "name": "n.Part"}[root]
    references = {"n.Kind": json.dumps(kind), "n.Part": json.dumps(part)}
    registered = RegisteredSchema(0, "AVRO", json.dumps(text), references)
    schema_id = REGISTRY.register("any", registered)
    columns = [column(STRING), column(Array(STRING), "B")]
    values: list[Any] = ["Y", ["X", None]]
    if root == "record":
        part_type = Struct((Field("A", STRING), Field("B", Array(STRING))))
        columns, values = [column(part_type, "P"), column(STRING, "K")], [{"A": "Y", "B": ["X", None]}, "X"]
    made = bind(
        SerdeSpec("AVRO", tuple(columns), schema_id=schema_id, schema=registered.text,
                  references=tuple(references.items())),
        REGISTRY,
    )  # fmt: skip
    data = made.encode(values)
    assert data is not None and made.decode(data) == values


@pytest.mark.parametrize(
    ("schema", "type_", "value", "reason"),
    [
        ("boolean", BOOLEAN, None, "A: The schema allows no NULL"),
        ({"type": "map", "values": "int"}, Map(STRING, INTEGER), None, "A: The schema allows no NULL"),
        ({"type": "array", "items": "int"}, Array(INTEGER), [1, None], "A: The schema allows no NULL"),
        (["int", "string"], INTEGER, None, "A: The schema allows no NULL"),
        (
            {"type": "record", "name": "I", "fields": [{"name": "B", "type": "double"}]},
            Struct((Field("B", DOUBLE),)),
            {"B": None},
            "A: B: The schema allows no NULL",
        ),
        (
            {"type": "enum", "name": "n.E", "symbols": ["X"]},
            STRING,
            "Z",
            "A: The schema's enum E has no Z",
        ),
        ({"type": "fixed", "name": "F", "size": 2}, BYTES, b"x", "A: The schema wants 2 bytes"),
        (
            {"type": "fixed", "name": "F", "size": 1, "logicalType": "decimal", "precision": 2, "scale": 0},
            Decimal(4, 0),
            PythonDecimal(1000),
            "A: 1000 does not fit 1 bytes",
        ),
        (
            ["null", "string", "int"],
            Struct((Field("STRING", STRING), Field("INT", INTEGER))),
            {"STRING": "x", "INT": None},
            "A: The schema has a union of several types, which cannot be written",
        ),
    ],
)
def test_what_does_not_fit_an_avro_schema_says_why(
    schema: Any, type_: SqlType, value: Any, reason: str
) -> None:
    text = {"type": "record", "name": "R", "fields": [{"name": "A", "type": schema}]}
    schema_id = REGISTRY.add("unfit", text)
    spec = SerdeSpec("AVRO", (column(type_),), schema_id=schema_id, schema=json.dumps(text))
    with pytest.raises(ValueError, match=reason):
        bind(spec, REGISTRY).encode([value])


def test_an_avro_field_that_is_no_column_needs_a_default() -> None:
    fields = [{"name": "A", "type": "int"}, {"name": "B", "type": "int"}]
    text = {"type": "record", "name": "R", "fields": fields}
    schema_id = REGISTRY.add("missing", text)
    spec = SerdeSpec("AVRO", (column(INTEGER),), schema_id=schema_id, schema=json.dumps(text))
    with pytest.raises(ValueError, match="B: The schema allows no NULL"):
        bind(spec, REGISTRY).encode([1])


@pytest.mark.parametrize(("properties", "members"), FURTHER)
def test_json_sr_writes_members_of_its_schema_that_are_no_columns(properties: Any, members: str) -> None:
    data = with_json_schema(properties).encode([1])
    assert data is not None and data[5:].decode() == f'{{"A":1{members}}}'


def test_json_sr_whose_schema_is_made_of_parts() -> None:
    parts = [{"$ref": "#/definitions/p"}, {"type": "object", "properties": {"c": OPTIONAL}}]
    made = {"type": "object", "properties": {"b": {"type": "string", "default": "x"}}}
    data = with_json_schema({}, allOf=parts, definitions={"p": made}).encode([1])
    assert data is not None and data[5:] == b'{"A":1,"b":"x","c":null}'


def test_a_member_that_a_json_schema_requires_needs_a_column() -> None:
    with pytest.raises(ValueError, match="b: the schema requires it"):
        with_json_schema({"b": {"type": "integer"}}, required=["b"]).encode([1])
