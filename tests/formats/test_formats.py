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
from ksql_spark.formats import CAPABILITIES, FORMATS, BadRecord, SerdeSpec, bind
from ksql_spark.formats.avro.reader import Input
from ksql_spark.formats.number_text import double_text, whole_of_bytes
from ksql_spark.functions.spark_text import constant
from ksql_spark.schema import Column
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
from tests.formats.records.record import MS, long
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


def test_json_null_is_no_row() -> None:
    assert serde("JSON", [column(INTEGER)], True).decode(b"null") is None
    assert serde("JSON", [column(INTEGER)], False).decode(b"null") is None


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


#: ksqlDB's formats
OF_KSQLDB = ("AVRO", "DELIMITED", "JSON", "JSON_SR", "KAFKA", "PROTOBUF", "PROTOBUF_NOSR")


def test_what_formats_do_not_carry() -> None:
    refused = {
        (name, str(type_))
        for name in OF_KSQLDB
        for type_ in (*SAMPLES, *NESTED, Map(INTEGER, STRING), Array(Map(INTEGER, STRING)))
        if not CAPABILITIES[name].carries(type_)
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


#: more digits than Python reads as an int
LONG = 5_000


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


@pytest.mark.parametrize("is_spark", [False, pytest.param(True, marks=pytest.mark.spark)])
def test_times_are_written_in_the_units_of_their_schema(
    request: pytest.FixtureRequest, is_spark: bool
) -> None:
    names = {"timestamp-micros": TIMESTAMP, "local-timestamp-nanos": TIMESTAMP, "time-micros": TIME}
    types = {f"C{i}": type_ for i, type_ in enumerate(names.values())}
    fields = [{"name": n, "type": ["null", long(logicalType=t)]} for n, t in zip(types, names, strict=True)]
    schema = {"type": "record", "name": "R", "fields": fields}
    schema_id = REGISTRY.add("units", schema)
    columns = tuple(Column(n, t) for n, t in types.items())
    serde = bind(SerdeSpec("AVRO", columns, schema_id=schema_id, schema=json.dumps(schema)), REGISTRY)
    values = [MS, MS, 5000]
    if is_spark:
        texts = [constant(v, t) for v, t in zip(values, types.values(), strict=True)]
        session = request.getfixturevalue("local_spark")
        data = bytes(session.range(1).selectExpr(serde.encode_sql(texts)).collect()[0][0])
    else:
        data = serde.encode(values) or b""
    source = Input(data[5:])
    assert [source.number() for _ in range(6)] == [1, MS * 10**3, 1, MS * 10**6, 1, 5_000_000]
    assert serde.decode(data) == values
