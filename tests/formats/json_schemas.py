"""JSON Schemas, those of Connect first, with JSON that they describe and JSON that they do not."""

from __future__ import annotations

import json
from decimal import Decimal as PythonDecimal
from typing import Any

from ksql_spark.formats import Serde, SerdeSpec, bind
from ksql_spark.formats.json.registered import JsonSrSerde
from ksql_spark.formats.registered import columns
from ksql_spark.formats.schemas import read_schema
from ksql_spark.schema import Column
from ksql_spark.schema_registry import JSON, RegisteredSchema
from ksql_spark.types import INTEGER, SqlType
from tests.formats.samples import REGISTRY, column

_CONNECT = "org.apache.kafka.connect.data."
_TEXT, WHOLE, _REAL, _TRUTH = ({"type": t} for t in ("string", "integer", "number", "boolean"))
_BYTES = {"type": "string", "connect.type": "bytes"}
_NULL = {"type": "null"}


def struct(**members: Any) -> dict[str, Any]:
    return {"type": "object", "properties": members}


def _map(item: Any) -> dict[str, Any]:
    return {"type": "object", "connect.type": "map", "additionalProperties": item}


def _entries(key: Any, item: Any) -> dict[str, Any]:
    """A map whose keys are not texts."""
    return {"type": "array", "connect.type": "map", "items": struct(key=key, value=item)}


_DECIMAL = {
    "type": "number", "connect.type": "bytes", "title": _CONNECT + "Decimal",
    "connect.parameters": {"scale": "2", "connect.decimal.precision": "8"},
}  # fmt: skip
TEXT_OR_WHOLE = {"oneOf": [_TEXT, WHOLE]}
_P_OR_Q = {"oneOf": [_NULL, struct(p=WHOLE), struct(q=WHOLE, r=_TEXT)]}
_TIMESTAMP = {"type": "integer", "connect.type": "int64", "title": _CONNECT + "Timestamp"}
_INT8 = {"type": "integer", "connect.type": "int8"}


def union_of(size: int, branch: int, value: Any) -> dict[str, Any]:
    """The value of one branch of a union."""
    return {f"IO.CONFLUENT.CONNECT.JSON.ONEOF.FIELD.{i}": value if i == branch else None for i in range(size)}


#: the schema of V, its JSON, what is read; and what is written back, if that differs
CONNECT: list[tuple[Any, str, Any, str | None]] = [
    (TEXT_OR_WHOLE, '"x"', union_of(2, 0, "x"), None),
    (TEXT_OR_WHOLE, "7", union_of(2, 1, 7), None),
    (TEXT_OR_WHOLE, '"7"', union_of(2, 0, "7"), None),
    (TEXT_OR_WHOLE, "null", None, None),
    ({"oneOf": [WHOLE, _TEXT]}, '"7"', union_of(2, 1, "7"), None),
    ({"type": ["string", "integer"]}, "7", union_of(2, 1, 7), None),
    ({"type": ["null", "string", "integer"]}, "7", union_of(2, 1, 7), None),
    ({"anyOf": [_TRUTH, _TEXT]}, "true", union_of(2, 0, True), None),
    ({"oneOf": [WHOLE, _REAL]}, "1.5", union_of(2, 1, 1.5), None),
    ({"oneOf": [_INT8, WHOLE]}, "3000000000", union_of(2, 1, 3000000000), None),
    ({"oneOf": [_REAL, WHOLE]}, "1", union_of(2, 0, 1.0), "1.0"),
    ({"oneOf": [_BYTES, _TEXT]}, '"YWJj"', union_of(2, 1, "YWJj"), None),
    ({"oneOf": [_BYTES, WHOLE]}, '"YWJj"', union_of(2, 0, b"abc"), None),
    ({"oneOf": [_TIMESTAMP, _TEXT]}, "5", union_of(2, 0, 5), None),
    ({"oneOf": [_TEXT]}, '"x"', union_of(1, 0, "x"), None),
    ({"oneOf": [_TEXT, {"oneOf": [WHOLE, _TRUTH]}]}, "true", union_of(2, 1, union_of(2, 1, True)), None),
    (_P_OR_Q, '{"q": 1}', union_of(2, 1, {"Q": 1, "R": None}), '{"Q":1,"R":null}'),
    (_P_OR_Q, '{"r": "-0", "Q": 1}', union_of(2, 1, {"Q": 1, "R": "-0"}), '{"Q":1,"R":"-0"}'),
    (_P_OR_Q, '{"p": 1}', union_of(2, 0, {"P": 1}), '{"P":1}'),
    (_P_OR_Q, "{}", union_of(2, 0, {"P": None}), '{"P":null}'),
    ({"oneOf": [struct(p=WHOLE), struct(p=_TEXT)]}, '{"p": "é"}', union_of(2, 1, {"P": "é"}), '{"P":"é"}'),
    ({"oneOf": [struct(p=_REAL), _map(_REAL)]}, '{"p": 1e1}', union_of(2, 1, {"p": 10.0}), '{"p":10.0}'),
    ({"oneOf": [struct(p=struct(d=_REAL)), struct(p=struct(t=_TEXT))]}, '{"p": {"t": 1.50, "d": 2}}',
     union_of(2, 0, {"P": {"D": 2.0}}), '{"P":{"D":2.0}}'),
    ({"oneOf": [struct(p=struct(d=_REAL)), struct(p=_TEXT, q=_TEXT)]}, '{"p": "a", "q": 1.50}',
     union_of(2, 1, {"P": "a", "Q": "1.50"}), '{"P":"a","Q":"1.50"}'),
    ({"oneOf": [_TEXT, {"type": "array", "items": WHOLE}]}, "[1,null]", union_of(2, 1, [1, None]), None),
    ({"oneOf": [{"type": "array", "items": _TRUTH}, _entries(WHOLE, _TEXT)]}, '[{"key": 1, "value": "x"}]',
     union_of(2, 1, {"1": "x"}), '{"1":"x"}'),
    ({"type": "array", "items": TEXT_OR_WHOLE}, '["x",7]', [union_of(2, 0, "x"), union_of(2, 1, 7)], None),
    (_map(TEXT_OR_WHOLE), '{"a":7}', {"a": union_of(2, 1, 7)}, None),
    (struct(w=TEXT_OR_WHOLE), '{"w": 7}', {"W": union_of(2, 1, 7)}, '{"W":7}'),
    (_entries(WHOLE, _TEXT), '[{"key": 1, "value": "x"}, {"value": null, "key": 2}]',
     {"1": "x", "2": None}, '{"1":"x","2":null}'),
    (_entries({"oneOf": [_NULL, _TEXT]}, WHOLE), '[{"key": "a", "value": 1}]', {"a": 1}, '{"a":1}'),
    (_entries(_TRUTH, TEXT_OR_WHOLE), '[{"key": true, "value": 7}]', {"true": union_of(2, 1, 7)},
     '{"true":7}'),
    (_entries(WHOLE, _TEXT), "[]", {}, "{}"),
    (_DECIMAL, "12.34", PythonDecimal("12.34"), None),
    (_DECIMAL, '"BNI="', PythonDecimal("12.34"), "12.34"),
    (_DECIMAL, '"+y4="', PythonDecimal("-12.34"), "-12.34"),
    (_DECIMAL, '"12.34"', PythonDecimal("12.34"), "12.34"),
]  # fmt: skip
#: the schema of V, and JSON that it does not describe
MISFITS: list[tuple[Any, str]] = [
    (TEXT_OR_WHOLE, "true"),
    (TEXT_OR_WHOLE, "1.5"),
    (TEXT_OR_WHOLE, "[]"),
    (TEXT_OR_WHOLE, "{}"),
    (_P_OR_Q, '{"q": "x"}'),
    ({"oneOf": [_INT8, _TEXT]}, "3000000000"),
    (_entries(WHOLE, _TEXT), "[1]"),
    (_entries(WHOLE, _TEXT), "[null]"),
    (_entries(WHOLE, _TEXT), '[{"value": "x"}]'),
    (_entries(WHOLE, WHOLE), '[{"key": 1, "value": "x"}]'),
    (_DECIMAL, '""'),
    (_DECIMAL, '"*"'),
]


def bound(schema: Any) -> tuple[JsonSrSerde, SqlType]:
    """A serde of the column V, and the type that its schema gives."""
    registered = RegisteredSchema(1, JSON, json.dumps(struct(v=schema)))
    (field,) = columns(read_schema(registered).type, None, keep_case=False)
    serde = bind(SerdeSpec("JSON_SR", (Column(field.name, field.type),), schema_id=1))
    assert isinstance(serde, JsonSrSerde)
    return serde, field.type


def framed(text: str) -> bytes:
    """A record whose member v is JSON."""
    return b'\0\0\0\0\1{"v":%s}' % text.encode()


OPTIONAL = {"oneOf": [{"type": "null"}, {"type": "integer", "connect.type": "int32"}]}
#: members of a JSON Schema besides a, and how they are written
FURTHER = [
    ({"b": OPTIONAL}, ',"b":null'),
    ({"b": {"type": ["string", "null"]}}, ',"b":null'),
    ({"b": {"type": "integer", "default": 7}, "c": {**OPTIONAL, "default": [1, "é"]}},
     ',"b":7,"c":[1,"\\u00e9"]'),
    ({"b": {"$ref": "#/definitions/o"}, "c": {"allOf": [{"$ref": "#/definitions/o"}]}},
     ',"b":null,"c":null'),
    ({"b": {"enum": ["x", None]}, "c": {"enum": ["x"], "type": "string"}}, ',"b":null'),
    ({"b": {"type": "integer"}}, ""),  # may be absent
    ({"B": OPTIONAL, "b": OPTIONAL, "A": {"type": "integer"}}, ',"B":null,"b":null'),
]  # fmt: skip


def with_json_schema(properties: Any, **more: Any) -> Serde:
    properties = {"A": {"type": "integer", "connect.type": "int32"}, **properties}
    schema = {"type": "object", "properties": properties, "definitions": {"o": OPTIONAL}, **more}
    schema_id = REGISTRY.add("further", schema, "JSON")
    spec = SerdeSpec("JSON_SR", (column(INTEGER),), schema_id=schema_id, schema=json.dumps(schema))
    return bind(spec, REGISTRY)
