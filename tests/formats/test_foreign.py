"""Records as other producers write them: both decoders read the right values."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from ksql_spark.formats import BadRecord, Serde, SerdeSpec, bind, json_serde
from ksql_spark.formats.avro_reader import Input
from ksql_spark.formats.framed import with_schema_id
from ksql_spark.formats.protobuf_wire import LENGTH, VARINT, varint, zigzag
from ksql_spark.functions.spark_text import constant
from ksql_spark.schema import Column
from ksql_spark.spark.session import set_registry
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
from tests.analyzer.registry import FakeRegistry
from tests.registry_server import RegistryServer

REGISTRY = FakeRegistry()
#: an event time
_MS = 1_700_000_000_123
#: what a record is that cannot be read
BAD = "bad"


@dataclass(frozen=True)
class Foreign:
    """A record, and the JSON of the columns that it is read as; None: it is bad."""

    name: str
    serde: Serde
    data: bytes
    row: str | None


def _number(value: int) -> bytes:
    return varint(zigzag(value))


def _text(value: str) -> bytes:
    return _number(len(value.encode())) + value.encode()


def _framed(schema: Any, kind: str, columns: Mapping[str, SqlType], body: bytes) -> tuple[Serde, bytes]:
    schema_id = REGISTRY.add("foreign", schema, kind)
    spec = SerdeSpec(kind, tuple(Column(n, t) for n, t in columns.items()))
    return bind(spec, REGISTRY), b"\0" + schema_id.to_bytes(4, "big") + body


def _avro(name: str, schema: Any, type_: SqlType, body: bytes, value: Any, **field: Any) -> Foreign:
    """A record with one field; ``value`` is the column's JSON."""
    record = {"type": "record", "name": "R", "fields": [{"name": "A", "type": schema, **field}]}
    row = None if value is BAD else json.dumps({"A": value})
    return Foreign(f"AVRO {name}", *_framed(record, "AVRO", {"A": type_}, body), row)


def _protobuf(name: str, text: str, columns: Mapping[str, SqlType], body: bytes, row: Any) -> Foreign:
    framed = _framed(text, "PROTOBUF", columns, b"\0" + body)
    return Foreign(f"PROTOBUF {name}", *framed, None if row is BAD else json.dumps(row))


def _json(name: str, data: str | bytes, columns: Mapping[str, SqlType], row: Any) -> Foreign:
    serde = bind(SerdeSpec("JSON", tuple(Column(n, t) for n, t in columns.items())), REGISTRY)
    data = data if isinstance(data, bytes) else data.encode()
    return Foreign(f"JSON {name}", serde, data, None if row is BAD else json.dumps(row))


def _varint(field: int, value: int) -> bytes:
    return varint(field << 3 | VARINT) + varint(value)


def _sized(field: int, data: bytes) -> bytes:
    return varint(field << 3 | LENGTH) + varint(len(data)) + data


def _long(**properties: Any) -> dict[str, Any]:
    return {"type": "long", **properties}


def _decimal(**properties: Any) -> dict[str, Any]:
    return {"type": "bytes", "logicalType": "decimal", **properties}


_ANIMALS = [
    {"type": "record", "name": "Cat", "namespace": "n", "fields": [{"name": "x", "type": "int"}]},
    {"type": "record", "name": "Dog", "namespace": "n", "fields": [{"name": "y", "type": "string"}]},
]
_ANIMAL = Struct((Field("CAT", Struct((Field("X", INTEGER),))), Field("DOG", Struct((Field("Y", STRING),)))))
_VALUE = {"type": "record", "name": "Value", "fields": [
    {"name": "id", "type": "int"},
    {"name": "d", "type": {"type": "int", "connect.name": "io.debezium.time.Date"}, "default": None},
]}  # fmt: skip
_ENVELOPE = {"type": "record", "name": "Envelope", "namespace": "server-1.inventory", "fields": [
    {"name": "before", "type": ["null", _VALUE], "default": None},
    {"name": "after", "type": ["null", "Value"], "default": None},
]}  # fmt: skip
_ROW = Struct((Field("ID", INTEGER), Field("D", DATE)))
_CHANGE = Struct((Field("BEFORE", _ROW), Field("AFTER", _ROW)))
_ENUM = {"type": "enum", "name": "E", "symbols": ["a-b", "1x"]}

AVRO = [
    *(
        _avro(f"{name} as {type_}", _long(**{key: name}), type_, _number(_MS * parts + rest),
              _MS if type_ == TIMESTAMP else _MS * parts + rest)
        for key, name, parts, rest in (
            ("logicalType", "timestamp-millis", 1, 0),
            ("logicalType", "timestamp-micros", 1_000, 456),
            ("logicalType", "timestamp-nanos", 1_000_000, 456_789),
            ("logicalType", "local-timestamp-millis", 1, 0),
            ("logicalType", "local-timestamp-micros", 1_000, 456),
            ("logicalType", "local-timestamp-nanos", 1_000_000, 456_789),
            ("connect.name", "io.debezium.time.Timestamp", 1, 0),
            ("connect.name", "io.debezium.time.MicroTimestamp", 1_000, 456),
            ("connect.name", "io.debezium.time.NanoTimestamp", 1_000_000, 456_789),
        )
        for type_ in (TIMESTAMP, BIGINT)
    ),
    _avro("nanoseconds before 1970", _long(logicalType="timestamp-nanos"), TIMESTAMP, _number(-1), -1),
    _avro("time-micros", _long(logicalType="time-micros"), TIME, _number(5_000_999), 5000),
    _avro("MicroTime", _long(**{"connect.name": "io.debezium.time.MicroTime"}), TIME, _number(5_000_999),
          5000),
    _avro("NanoTime", _long(**{"connect.name": "io.debezium.time.NanoTime"}), TIME, _number(5 * 10**9), 5000),
    _avro("a long without a name as TIME", "long", TIME, _number(5), BAD),
    _avro("default NULL of a text", "string", STRING, _text("x"), "x", default=None),
    _avro("default 0 as text", "int", INTEGER, _number(7), 7, default="0"),
    _avro("default NULL of an array", {"type": "array", "items": "int"}, Array(INTEGER),
          _number(1) + _number(4) + _number(0), [4], default=None),
    _avro("default NULL of an enum", {**_ENUM, "symbols": ["X"]}, STRING, _number(0), "X", default=None),
    _avro("default of another branch", ["null", "string"], STRING, _number(1) + _text("x"), "x", default=0),
    _avro("symbols that are not names", _ENUM, STRING, _number(1), "1x"),
    _avro("decimal of digits as text", _decimal(precision="10", scale="2"), Decimal(10, 2),
          _number(2) + b"\x04\xd2", 12.34),
    _avro("decimal with more places than digits", _decimal(precision=2, scale=4), Decimal(10, 4),
          _number(2) + b"\x04\xd2", 0.1234),
    _avro("decimal without precision", _decimal(), Decimal(10, 2), _number(2) + b"\x04\xd2", 1234.00),
    _avro("decimal that does not fit its bytes",
          {**_decimal(precision=10, scale=2), "type": "fixed", "name": "F", "size": 2}, Decimal(10, 2),
          b"\xfb\x2e", -12.34),
    _avro("union of records", ["null", *_ANIMALS], _ANIMAL, _number(2) + _text("wau"),
          {"CAT": None, "DOG": {"Y": "wau"}}),
    _avro("union of records, undeclared", [*_ANIMALS, _ENUM], _ANIMAL, _number(2) + _number(0),
          {"CAT": None, "DOG": None}),
    _avro("map of records", {"type": "map", "values": _ANIMALS[0]},
          Map(STRING, Struct((Field("X", INTEGER),))),
          _number(1) + _text("k") + _number(9) + _number(0), {"k": {"X": 9}}),
    _avro("a named type in an object", [_ANIMALS[0], {"type": "array", "items": {"type": "n.Cat"}}],
          Struct((Field("ARRAY", Array(Struct((Field("X", INTEGER),)))),)),
          _number(1) + _number(1) + _number(5) + _number(0), {"ARRAY": [{"X": 5}]}),
    _avro("an envelope of Debezium", _ENVELOPE, _CHANGE,
          _number(0) + _number(1) + _number(7) + _number(19000),
          {"BEFORE": None, "AFTER": {"ID": 7, "D": 19000}}),
]  # fmt: skip

_ONE = {"A": INTEGER}
_NESTED = {"A": Struct((Field("X", INTEGER),))}
JSON = [
    _json("byte order mark", b'\xef\xbb\xbf{"A":1}', _ONE, {"A": 1}),
    _json("UTF-16", '{"A":"x"}'.encode("utf-16"), {"A": STRING}, {"A": "x"}),
    _json("a member twice", '{"A":1,"A":2}', _ONE, {"A": 2}),
    _json("a member twice, first of another type", '{"A":"x","A":2}', _ONE, {"A": 2}),
    _json("a member twice, first an object", '{"A":{"A":[1]},"A":2}', _ONE, {"A": 2}),
    _json("a member twice, last of another type", '{"A":1,"A":"x"}', _ONE, BAD),
    _json("a member twice in a STRUCT", '{"A":{"X":"q","X":3}}', _NESTED, {"A": {"X": 3}}),
    _json("a member twice in a MAP", '{"A":{"X":[],"X":3}}', {"A": Map(STRING, INTEGER)}, {"A": {"X": 3}}),
    _json("a bad entry in a MAP", '{"A":{"X":3,"Y":[]}}', {"A": Map(STRING, INTEGER)}, BAD),
    _json("a member twice in a text", '{"A":[{"x":1,"y":"\\n","x":2}]}', {"A": STRING},
          {"A": '[{"x":2,"y":"\\n"}]'}),
    _json("numbers in a text", '{"A":[-0,-0.0,1.10,1e2,{"x":-0}]}', {"A": STRING},
          {"A": '[0, 0.0, 1.10, 1E+2, {"x":0}]'}),
    _json("-0 as a text", '{"A":-0,"B":-0.0}', {"A": STRING, "B": STRING}, {"A": "0", "B": "0.0"}),
    _json("half of a character", '{"A":"\\ud83dx"}', {"A": STRING}, {"A": "?x"}),
    _json("half of a character in a name", '{"A":1,"\\ud83d":2}', _ONE, BAD),
    _json("half of a character in a MAP", '{"A":{"\\ud83d":2}}', {"A": Map(STRING, INTEGER)}, BAD),
    _json("halves of a character as UTF-8", b'{"A":"\xed\xa0\xbd\xed\xb8\x80"}', {"A": STRING}, BAD),
    _json("a character as UTF-8 and escaped", '{"A":"😀\\ud83d\\ude00"}', {"A": STRING},
          {"A": "😀😀"}),
    _json("blanks that only Python takes", '{"A":"1\u00a0"}', {"A": Decimal(10, 2)}, BAD),
    _json("a zero with an exponent", '{"A":0e052990707}', _ONE, {"A": 0}),
    _json("1e400", '{"A":1e400}', {"A": DOUBLE}, BAD),
    _json("1e400 in another member", '{"A":1,"B":1e400}', _ONE, {"A": 1}),
    _json("NaN", '{"A":1,"B":NaN}', _ONE, BAD),
    _json("NaN as text", '{"A":"NaN"}', {"A": DOUBLE}, {"A": "NaN"}),
    _json("1000 digits", f'{{"A":{"1" * 1000}}}', {"A": STRING}, {"A": "1" * 1000}),
    _json("1001 digits", f'{{"A":{"1" * 1001}}}', {"A": STRING}, BAD),
    _json("1001 digits in another member", f'{{"A":1,"B":{"1" * 1001}}}', _ONE, BAD),
    _json("1001 decimals in another member", f'{{"A":1,"B":0.{"1" * 1000}}}', _ONE, BAD),
    _json("1001 digits in a text", f'{{"A":1,"B":"{"1" * 1001}"}}', _ONE, {"A": 1}),
    _json("exponents", '{"A":1e3,"B":1.0,"C":1E+2}', {"A": INTEGER, "B": INTEGER, "C": BIGINT},
          {"A": 1000, "B": 1, "C": 100}),
    *(
        _json(f"{depth} levels in {name}", f'{{{before}"{name}":{"[" * depth}{"]" * depth}}}', {"A": STRING},
              {"A": ("[" * depth + "]" * depth) if name == "A" else None} if depth < 1000 else BAD)
        for depth, before in ((101, ""), (999, '"C":"[",'), (1000, ""), (20_000, "")) for name in "AB"
    ),
    _json("objects in a text", '{"A":%s}' % ('{"x":[' * 499 + "]}" * 499), {"A": STRING},
          {"A": '{"x":[' * 499 + "]}" * 499}),
    _json("many lists", '{"A":[[]' + ",[]" * 1999 + "]}", {"A": Array(Array(STRING))},
          {"A": [[]] * 2000}),
    *(
        _json(f"an object and {rest!r}", b'{"A":1}' + rest, _ONE, {"A": 1})
        for rest in (b'{"A":2}', b" x", b"}", b"\n", b'"', b"\xff", b"\0", b"[" * 3000, b"1" * 3000)
    ),
    *(
        Foreign(f"{format_} {name}", bind(SerdeSpec("JSON", (Column("A", type_),), False), REGISTRY), data,
                None if row is BAD else json.dumps({"A": row}))
        for format_ in ("bare JSON",)
        for name, type_, data, row in (
            ("number and text", INTEGER, b'1 "x"', 1), ("number and byte", INTEGER, b"1\xff", BAD),
            ("number and comma", INTEGER, b"1,2", BAD), ("number and letter", INTEGER, b"1x", BAD),
            ("number and levels", INTEGER, b"1 " + b"[" * 1001, 1),
            ("text and levels", STRING, b'"x"' + b"[" * 1001, "x"),
            ("texts", STRING, b'"x""y"', "x"), ("lists", Array(INTEGER), b"[1][2]", [1]),
            ("true and comma", BOOLEAN, b"true,", True), ("true and letter", BOOLEAN, b"truex", BAD),
            ("true and brace", BOOLEAN, b"true}", True), ("true and DEL", BOOLEAN, b"true\x7f", BAD),
            ("true and no ASCII", BOOLEAN, "trueé".encode(), BAD),
            ("UTF-16", STRING, '"x"'.encode("utf-16-le"), "x"),
            ("true and byte", BOOLEAN, b"true\xff", BAD),
            ("true and false", BOOLEAN, b"true false", True),
        )
    ),
    _json("a byte order mark and a byte", b'\xef\xbb\xbf{"A":1}\xff', _ONE, {"A": 1}),
    _json("many quotes in a text without an end", '{"A":' + "[" * 101 + '"' + '\\"' * 20_000, {"A": STRING},
          BAD),
    _json("schema and payload of Connect", '{"schema":{"type":"struct"},"payload":{"x":5}}',
          {"PAYLOAD": Struct((Field("X", INTEGER),))}, {"PAYLOAD": {"X": 5}}),
    _json("an envelope of Debezium", '{"before":null,"after":{"id":7,"d":19000},"ts_ms":1700000000123}',
          {"BEFORE": _ROW, "AFTER": _ROW, "TS_MS": TIMESTAMP},
          {"BEFORE": None, "AFTER": {"ID": 7, "D": 19000}, "TS_MS": _MS}),
    _json("a structured CloudEvent", '{"specversion":"1.0","time":"2020-01-01T00:00Z","data_base64":"AQ=="}',
          {"TIME": STRING, "DATA_BASE64": BYTES}, {"TIME": "2020-01-01T00:00Z", "DATA_BASE64": "AQ=="}),
]  # fmt: skip

_PROTO2 = """syntax = "proto2"; message M {
  enum E { X = 1; Y = 2; }
  optional int32 a = 1 [default = -5]; optional string b = 2 [default = "it's \\"x\\""];
  optional bool c = 3 [default = true]; optional E e = 4 [default = Y];
  optional double d = 5 [default = -1.5e3];
  optional sint64 s = 6 [default = -7]; optional fixed32 f = 7 [default = 0xFF]; optional int32 n = 8;
}"""
_DEFAULTED: dict[str, SqlType] = {
    "A": INTEGER, "B": STRING, "C": BOOLEAN, "E": STRING, "D": DOUBLE, "S": BIGINT, "F": BIGINT, "N": INTEGER,
}  # fmt: skip
_ONE_OF = """message M {
  oneof c { int32 x = 1; int32 y = 2; N n = 300; }
  M m = 4; repeated M l = 5; map<string, M> t = 6; message N {}
}"""
_CHOSEN: dict[str, SqlType] = {"C_0": Struct((Field("X", INTEGER),))}
_IN_ONE = Struct((Field("C_0", _CHOSEN["C_0"]),))
_ENTRY = Map(STRING, Struct((Field("S", STRING),)))
PROTOBUF = [
    _protobuf("defaults of proto2", _PROTO2, _DEFAULTED, b"",
              {"A": -5, "B": 'it\'s "x"', "C": True, "E": "Y", "D": -1500.0, "S": -7, "F": 255, "N": None}),
    _protobuf("instead of defaults of proto2", _PROTO2, {"A": INTEGER, "E": STRING},
              _varint(1, 0) + _varint(4, 1), {"A": 0, "E": "X"}),
    *(
        _protobuf(name, f'syntax = "proto3"; {text}', _ONE, _varint(1, 5), {"A": 5})
        for name, text in {
            "hexadecimal numbers of fields": "message M { int32 a = 0x1; }",
            "comments anywhere": "message M { int32 /* it's */ a = 1 /* b */ ; // c }\n }",
            "a comment before a brace": "message M { int32 a = 1; /* ü */ }",
            "comments in texts": 'option java_package = "/* // 0x1"; message M { int32 a = 1; }',
        }.items()
    ),
    _protobuf("a byte order mark", '\ufeffsyntax = "proto3"; message M { int32 a = 1; }', _ONE,
              _varint(1, 5), {"A": 5}),
    _protobuf("packed and not packed",
              'syntax = "proto3"; message M { repeated int32 a = 1; repeated bool b = 2 [packed = true]; }',
              {"A": Array(INTEGER), "B": Array(BOOLEAN)},
              _varint(1, 5) + _sized(1, b"\6\7") + _varint(2, 1) + _varint(1, 8),
              {"A": [5, 6, 7, 8], "B": [True]}),
    _protobuf("maps of messages",
              'syntax = "proto3"; message M { map<int64, V> m = 1; message V { string s = 1; } }',
              {"M": _ENTRY}, _sized(1, _varint(1, 5) + _sized(2, _sized(1, b"x"))), {"M": {"5": {"S": "x"}}}),
    _protobuf("wrappers",
              "message M { optional google.protobuf.Int64Value a = 1;"
              " optional google.protobuf.BoolValue b = 2; }",
              {"A": BIGINT, "B": BOOLEAN}, _sized(1, b""), {"A": 0, "B": None}),
    *(
        _protobuf(f"oneof with {name}", f'syntax = "proto3"; {_ONE_OF}', columns, body, row)
        for name, columns, body, row in (
            ("a declared alternative", _CHOSEN, _varint(1, 5), {"C_0": {"X": 5}}),
            ("no alternative", _CHOSEN, b"", {"C_0": None}),
            ("an undeclared one", _CHOSEN, _varint(2, 5), {"C_0": {"X": None}}),
            ("an undeclared message", _CHOSEN, _sized(300, b""), {"C_0": {"X": None}}),
            ("another type of number", _CHOSEN, _sized(2, b"\5"), {"C_0": None}),
            ("two, the last undeclared", _CHOSEN, _varint(1, 5) + _varint(2, 5), {"C_0": {"X": None}}),
            ("two, the last declared", _CHOSEN, _varint(2, 5) + _varint(1, 5), {"C_0": {"X": 5}}),
            ("a column of its own", {**_CHOSEN, "Y": INTEGER}, _varint(2, 5), {"C_0": {"X": None}, "Y": 5}),
            ("a column of its own before", {"Y": INTEGER, **_CHOSEN}, _varint(2, 5),
             {"Y": 5, "C_0": {"X": None}}),
            ("an undeclared one in a message", {"M": _IN_ONE}, _sized(4, _varint(2, 5)),
             {"M": {"C_0": {"X": None}}}),
            ("an undeclared one in a list", {"L": Array(_IN_ONE)},
             _sized(5, _varint(2, 5)) + _sized(5, b"") + _sized(5, _varint(1, 5)),
             {"L": [{"C_0": {"X": None}}, {"C_0": None}, {"C_0": {"X": 5}}]}),
            ("an undeclared one in a map", {"T": Map(STRING, _IN_ONE)},
             _sized(6, _sized(1, b"k") + _sized(2, _varint(2, 5))), {"T": {"k": {"C_0": {"X": None}}}}),
            ("a column that is not a STRUCT", {"C_0": STRING}, _varint(1, 5), BAD),
        )
    ),
    _protobuf("Any", 'syntax = "proto3"; message M { google.protobuf.Any a = 1; }',
              {"A": Struct((Field("TYPE_URL", STRING), Field("VALUE", BYTES)))},
              _sized(1, _sized(1, b"t/x") + _sized(2, b"\1")), {"A": {"TYPE_URL": "t/x", "VALUE": "AQ=="}}),
]  # fmt: skip

_DAY_MS = 86_400_000
_TIMES = {"T": TIME, "S": Struct((Field("T", TIME),)), "A": Array(TIME), "M": Map(STRING, TIME)}


def _times(ms: int) -> Iterator[Foreign]:
    """A TIME in each format and at each place."""
    is_time = 0 <= ms <= _DAY_MS
    for name, member in {"T": ms, "S": {"T": ms}, "A": [0, ms], "M": {"k": ms}}.items():
        row = {name: member} if is_time else BAD
        yield _json(f"TIME {ms} in {name}", json.dumps({name: member}), {name: _TIMES[name]}, row)
    row = {"T": ms} if is_time else BAD
    yield _json(f"TIME {ms} as text", f'{{"T":"{ms}"}}', {"T": TIME}, row)
    for wrapped, format_ in ((True, "DELIMITED"), (False, "JSON")):
        serde = bind(SerdeSpec(format_, (Column("T", TIME),), wrapped), REGISTRY)
        yield Foreign(f"{format_} TIME {ms}", serde, str(ms).encode(), json.dumps(row) if is_time else None)
    value = ms if is_time else BAD
    yield _avro(f"TIME {ms} as int", {"type": "int", "logicalType": "time-millis"}, TIME, _number(ms), value)
    yield _avro(f"TIME {ms} in a list", {"type": "array", "items": "int"}, Array(TIME),
                _number(1) + _number(ms) + _number(0), [ms] if is_time else BAD)  # fmt: skip
    yield _avro(f"TIME {ms} as long", _long(logicalType="time-micros"), TIME, _number(ms * 1000), value)
    yield _protobuf(f"TIME {ms} as int32", 'syntax = "proto3"; message M { int32 t = 1; }', {"T": TIME},
                    _varint(1, ms), row)  # fmt: skip
    seconds, rest = divmod(ms, 1000)
    yield _protobuf(f"TIME {ms} as TimeOfDay", "message M { optional google.type.TimeOfDay t = 1; }",
                    {"T": TIME}, _sized(1, _varint(3, seconds) + _varint(4, rest * 10**6)), row)  # fmt: skip


TIMES = [f for ms in (0, _DAY_MS, -1, 90_000_000) for f in _times(ms)]
TIMES.append(
    _protobuf(
        "TimeOfDay as INTEGER",
        "message M { optional google.type.TimeOfDay t = 1; }",
        {"T": INTEGER},
        _sized(1, _varint(3, 1)),
        BAD,
    )
)

ALL = [*AVRO, *JSON, *PROTOBUF, *TIMES]


def _same(row: str | None, wanted: str | None) -> bool:
    return row == wanted or (row is not None and wanted is not None and json.loads(row) == json.loads(wanted))


def _differing(rows: Sequence[str | None]) -> list[tuple[str, str | None, str | None]]:
    return [(f.name, r, f.row) for f, r in zip(ALL, rows, strict=True) if not _same(r, f.row)]


def test_foreign_records_in_python() -> None:
    rows = []
    for foreign in ALL:
        try:
            values = foreign.serde.decode(foreign.data)
            encoded = None if values is None else json_serde(foreign.serde.columns).encode(values)
            rows.append(None if encoded is None else encoded.decode())
        except BadRecord:
            rows.append(None)
    assert _differing(rows) == []


@pytest.mark.spark
def test_a_text_that_is_no_utf8_has_a_reason(local_spark: Any) -> None:
    serde = bind(SerdeSpec("JSON", (Column("A", STRING),)), REGISTRY)
    data = b'{"A":"\xed\xa0\xbd"}'.hex()
    row = local_spark.range(1).selectExpr(serde.explain_sql(f"X'{data}'")).collect()[0]
    assert "Invalid UTF-8" in row[0]


@pytest.mark.spark
def test_foreign_records_on_the_jvm(local_spark: Any) -> None:
    decoded, encoded = [], []
    for i, foreign in enumerate(ALL):
        decoded.append(f"{foreign.serde.decode_sql(f'X{foreign.data.hex()!r}')} AS r{i}")
        members = [f"r{i}.`{c.name}`" for c in foreign.serde.columns]
        text = json_serde(foreign.serde.columns).encode_sql(members)
        encoded.append(f"if(r{i} IS NULL, NULL, decode({text}, 'UTF-8')) AS j{i}")
    with RegistryServer() as server:
        for schema_id, schema in sorted(REGISTRY.by_ids().items()):
            assert server.add(str(schema_id), schema.text, schema.kind) == schema_id
        set_registry(local_spark, {"url": server.url})
        try:
            row = local_spark.range(1).selectExpr(*decoded).selectExpr(*encoded).collect()[0]
        finally:
            set_registry(local_spark, {})
    assert _differing(list(row)) == []


@pytest.mark.parametrize("is_spark", [False, pytest.param(True, marks=pytest.mark.spark)])
def test_times_are_written_in_the_units_of_their_schema(
    request: pytest.FixtureRequest, is_spark: bool
) -> None:
    names = {"timestamp-micros": TIMESTAMP, "local-timestamp-nanos": TIMESTAMP, "time-micros": TIME}
    types = {f"C{i}": type_ for i, type_ in enumerate(names.values())}
    fields = [{"name": n, "type": ["null", _long(logicalType=t)]} for n, t in zip(types, names, strict=True)]
    schema = {"type": "record", "name": "R", "fields": fields}
    schema_id = REGISTRY.add("units", schema)
    columns = tuple(Column(n, t) for n, t in types.items())
    serde = bind(SerdeSpec("AVRO", columns, schema_id=schema_id, schema=json.dumps(schema)), REGISTRY)
    values = [_MS, _MS, 5000]
    if is_spark:
        texts = [constant(v, t) for v, t in zip(values, types.values(), strict=True)]
        session = request.getfixturevalue("local_spark")
        data = bytes(session.range(1).selectExpr(serde.encode_sql(texts)).collect()[0][0])
    else:
        data = serde.encode(values) or b""
    source = Input(data[5:])
    assert [source.number() for _ in range(6)] == [1, _MS * 10**3, 1, _MS * 10**6, 1, 5_000_000]
    assert serde.decode(data) == values


def test_the_last_header_with_a_schema_counts() -> None:
    """As in Confluent's deserializers: a copied record may have that of its source, too."""
    headers = [("__value_schema_id", b"old"), ("x", b"y"), ("__value_schema_id", b"new")]
    assert with_schema_id(b"-", headers, "VALUE") == b"new-"
    assert with_schema_id(b"-", [*headers, ("__value_schema_id", None)], "VALUE") == b"-"


@pytest.mark.spark
def test_the_last_header_with_a_schema_counts_on_the_jvm(local_spark: Any) -> None:
    framed = _framed({"type": "record", "name": "R", "fields": []}, "AVRO", {"A": INTEGER}, b"")[0].framed_sql
    old, new = (f"struct('__value_schema_id' AS key, {v} AS value)" for v in ("X'01'", "X'02'"))
    none = "struct('__value_schema_id' AS key, cast(NULL AS binary) AS value)"
    texts = (f"hex({framed('data', f'array({h})')})" for h in (f"{old}, {new}", f"{old}, {none}"))
    row = local_spark.sql("SELECT X'2D' AS data").selectExpr(*texts).collect()[0]
    assert list(row) == ["022D", "2D"]
