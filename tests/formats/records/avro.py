"""Records in AVRO, as other producers write them."""

from __future__ import annotations

from typing import Any

from ksql_spark.types import (
    BIGINT,
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
    Struct,
)
from tests.formats.records.record import BAD, MS, Bad, avro, framed, long, number, plain, record, text


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

_INT_OR_TEXT = Struct((Field("INT", INTEGER), Field("STRING", STRING)))
_LIST = {"type": "record", "name": "R", "fields": [
    {"name": "a", "type": "int"},
    {"name": "skipped", "type": {"type": "array", "items": "string"}},
    {"name": "b", "type": "string"},
]}  # fmt: skip
_CHAIN = {"type": "record", "name": "N", "fields": [
    {"name": "A", "type": "int"}, {"name": "next", "type": ["null", "N"]},
]}  # fmt: skip


def _with_items(item: Any) -> dict[str, Any]:
    return {"type": "record", "name": "R", "fields": [
        {"name": "A", "type": "int"}, {"name": "x", "type": {"type": "array", "items": item}},
    ]}  # fmt: skip


AVRO = [
    *(
        avro(f"{name} as {type_}", long(**{key: name}), type_, number(MS * parts + rest),
              MS if type_ == TIMESTAMP else MS * parts + rest)
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
    avro("nanoseconds before 1970", long(logicalType="timestamp-nanos"), TIMESTAMP, number(-1), -1),
    avro("time-micros", long(logicalType="time-micros"), TIME, number(5_000_999), 5000),
    avro("MicroTime", long(**{"connect.name": "io.debezium.time.MicroTime"}), TIME, number(5_000_999),
          5000),
    avro("NanoTime", long(**{"connect.name": "io.debezium.time.NanoTime"}), TIME, number(5 * 10**9), 5000),
    avro("a long without a name as TIME", "long", TIME, number(5), BAD),
    avro("default NULL of a text", "string", STRING, text("x"), "x", default=None),
    avro("default 0 as text", "int", INTEGER, number(7), 7, default="0"),
    avro("default NULL of an array", {"type": "array", "items": "int"}, Array(INTEGER),
          number(1) + number(4) + number(0), [4], default=None),
    avro("default NULL of an enum", {**_ENUM, "symbols": ["X"]}, STRING, number(0), "X", default=None),
    avro("default of another branch", ["null", "string"], STRING, number(1) + text("x"), "x", default=0),
    avro("symbols that are not names", _ENUM, STRING, number(1), "1x"),
    avro("decimal of digits as text", _decimal(precision="10", scale="2"), Decimal(10, 2),
          number(2) + b"\x04\xd2", 12.34),
    avro("decimal with more places than digits", _decimal(precision=2, scale=4), Decimal(10, 4),
          number(2) + b"\x04\xd2", 0.1234),
    avro("decimal without precision", _decimal(), Decimal(10, 2), number(2) + b"\x04\xd2", 1234.00),
    avro("decimal that does not fit its bytes",
          {**_decimal(precision=10, scale=2), "type": "fixed", "name": "F", "size": 2}, Decimal(10, 2),
          b"\xfb\x2e", -12.34),
    avro("union of records", ["null", *_ANIMALS], _ANIMAL, number(2) + text("wau"),
          {"CAT": None, "DOG": {"Y": "wau"}}),
    avro("union of records, undeclared", [*_ANIMALS, _ENUM], _ANIMAL, number(2) + number(0),
          {"CAT": None, "DOG": None}),
    avro("map of records", {"type": "map", "values": _ANIMALS[0]},
          Map(STRING, Struct((Field("X", INTEGER),))),
          number(1) + text("k") + number(9) + number(0), {"k": {"X": 9}}),
    avro("a named type in an object", [_ANIMALS[0], {"type": "array", "items": {"type": "n.Cat"}}],
          Struct((Field("ARRAY", Array(Struct((Field("X", INTEGER),)))),)),
          number(1) + number(1) + number(5) + number(0), {"ARRAY": [{"X": 5}]}),
    avro("an envelope of Debezium", _ENVELOPE, _CHANGE,
          number(0) + number(1) + number(7) + number(19000),
          {"BEFORE": None, "AFTER": {"ID": 7, "D": 19000}}),
    avro("a union of one type", ["int"], Struct((Field("INT", INTEGER),)), number(0) + number(4), {"INT": 4}),
    avro("the only type of a union", ["int"], INTEGER, number(0) + number(4), 4),
    *(
        avro(f"{writers} as {type_}, branch {body[0] // 2}", writers, type_, body, value)
        for writers, type_, body, value in (
            (["null", "int"], INTEGER, b"\0", None), (["null", "int"], INTEGER, b"\2\2", 1),
            (["null", "int", "string"], STRING, b"\2\x0e", "7"),
            (["null", "int", "string"], INTEGER, b"\4\2x", BAD),
            (["int", "string", "boolean"], _INT_OR_TEXT, b"\0\2", {"INT": 1, "STRING": None}),
            (["int", "string", "boolean"], _INT_OR_TEXT, b"\2\2x", {"INT": None, "STRING": "x"}),
            (["int", "string", "boolean"], _INT_OR_TEXT, b"\4\1", {"INT": None, "STRING": None}),
        )
    ),
    avro("a long as DOUBLE", "long", DOUBLE, number(-1), -1.0),
    avro("time-micros as INTEGER", long(logicalType="time-micros"), INTEGER, number(2000), 2),
    avro("bytes that are no UTF-8", "string", STRING, b"\6a\xffc", "a\ufffdc"),
    avro("a text as INTEGER", ["null", "string"], INTEGER, b"\2\2x",
         Bad("is of the Avro type string, which does not fit")),
    avro("bytes after its end", "int", INTEGER, number(1) + b"\0", Bad("There are bytes after its end.")),
    *(
        record(f"AVRO {name}", *framed(_LIST, "AVRO", {"A": INTEGER, "NEW": DOUBLE, "B": STRING}, body), row)
        for name, body, row in (
            ("with fields that are no columns", number(5) + b"\2\2y\0" + text("é"),
             {"A": 5, "NEW": None, "B": "é"}),
            ("with more items than bytes", b"\2\xfe\xff\xff\xff\x0f", BAD),
        )
    ),
    *(
        record(f"AVRO {name}", *framed(_CHAIN, "AVRO", {"A": INTEGER}, body), row)
        for name, body, row in (
            ("of a type that is part of itself", b"\2\2\4\0", {"A": 1}),
            # must not exhaust the stack
            ("nested without end", b"\2\2" * 200_000 + b"\2\0", Bad("nested too deeply")),
        )
    ),
    *(
        # a few bytes would ask for billions of items
        record(f"AVRO items of {item} that take no bytes", *framed(_with_items(item), "AVRO", {"A": INTEGER},
               b"\2\x80\x80\x80\x80\x20\0"), BAD)
        for item in ("null", {"type": "record", "name": "E", "fields": []})
    ),
    *(
        plain(f"{data!r}", "AVRO", data, {"A": INTEGER}, Bad(reason))
        for data, reason in (
            (b"x", "does not start with a zero and the id"),
            (b"\0\0\0\x27\x0f", "no schema with the id 9999"),
        )
    ),
]  # fmt: skip
