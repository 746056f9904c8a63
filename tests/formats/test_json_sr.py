"""JSON_SR: what Connect's converter for JSON Schemas writes, in the columns that such a schema gives."""

from __future__ import annotations

import json
from decimal import Decimal as PythonDecimal
from typing import Any

import pytest

from ksql_spark.formats import BadRecord, SerdeSpec, bind
from ksql_spark.formats.json_sr import JsonSrSerde
from ksql_spark.formats.registered import columns
from ksql_spark.formats.schemas import read_schema
from ksql_spark.schema import Column
from ksql_spark.schema_registry import JSON, RegisteredSchema
from ksql_spark.types import SqlType, Struct

_CONNECT = "org.apache.kafka.connect.data."
_TEXT, _WHOLE, _REAL, _TRUTH = ({"type": t} for t in ("string", "integer", "number", "boolean"))
_BYTES = {"type": "string", "connect.type": "bytes"}
_NULL = {"type": "null"}


def _object(**members: Any) -> dict[str, Any]:
    return {"type": "object", "properties": members}


def _map(item: Any) -> dict[str, Any]:
    return {"type": "object", "connect.type": "map", "additionalProperties": item}


def _entries(key: Any, item: Any) -> dict[str, Any]:
    """A map whose keys are not texts."""
    return {"type": "array", "connect.type": "map", "items": _object(key=key, value=item)}


_DECIMAL = {
    "type": "number", "connect.type": "bytes", "title": _CONNECT + "Decimal",
    "connect.parameters": {"scale": "2", "connect.decimal.precision": "8"},
}  # fmt: skip
_TEXT_OR_WHOLE = {"oneOf": [_TEXT, _WHOLE]}
_P_OR_Q = {"oneOf": [_NULL, _object(p=_WHOLE), _object(q=_WHOLE, r=_TEXT)]}
_TIMESTAMP = {"type": "integer", "connect.type": "int64", "title": _CONNECT + "Timestamp"}
_INT8 = {"type": "integer", "connect.type": "int8"}


def _union(size: int, branch: int, value: Any) -> dict[str, Any]:
    """The value of one branch of a union."""
    return {f"IO.CONFLUENT.CONNECT.JSON.ONEOF.FIELD.{i}": value if i == branch else None for i in range(size)}


#: the schema of V, its JSON, what is read; and what is written back, if that differs
CONNECT: list[tuple[Any, str, Any, str | None]] = [
    (_TEXT_OR_WHOLE, '"x"', _union(2, 0, "x"), None),
    (_TEXT_OR_WHOLE, "7", _union(2, 1, 7), None),
    (_TEXT_OR_WHOLE, '"7"', _union(2, 0, "7"), None),
    (_TEXT_OR_WHOLE, "null", None, None),
    ({"oneOf": [_WHOLE, _TEXT]}, '"7"', _union(2, 1, "7"), None),
    ({"type": ["string", "integer"]}, "7", _union(2, 1, 7), None),
    ({"type": ["null", "string", "integer"]}, "7", _union(2, 1, 7), None),
    ({"anyOf": [_TRUTH, _TEXT]}, "true", _union(2, 0, True), None),
    ({"oneOf": [_WHOLE, _REAL]}, "1.5", _union(2, 1, 1.5), None),
    ({"oneOf": [_INT8, _WHOLE]}, "3000000000", _union(2, 1, 3000000000), None),
    ({"oneOf": [_REAL, _WHOLE]}, "1", _union(2, 0, 1.0), "1.0"),
    ({"oneOf": [_BYTES, _TEXT]}, '"YWJj"', _union(2, 1, "YWJj"), None),
    ({"oneOf": [_BYTES, _WHOLE]}, '"YWJj"', _union(2, 0, b"abc"), None),
    ({"oneOf": [_TIMESTAMP, _TEXT]}, "5", _union(2, 0, 5), None),
    ({"oneOf": [_TEXT]}, '"x"', _union(1, 0, "x"), None),
    ({"oneOf": [_TEXT, {"oneOf": [_WHOLE, _TRUTH]}]}, "true", _union(2, 1, _union(2, 1, True)), None),
    (_P_OR_Q, '{"q": 1}', _union(2, 1, {"Q": 1, "R": None}), '{"Q":1,"R":null}'),
    (_P_OR_Q, '{"r": "-0", "Q": 1}', _union(2, 1, {"Q": 1, "R": "-0"}), '{"Q":1,"R":"-0"}'),
    (_P_OR_Q, '{"p": 1}', _union(2, 0, {"P": 1}), '{"P":1}'),
    (_P_OR_Q, "{}", _union(2, 0, {"P": None}), '{"P":null}'),
    ({"oneOf": [_object(p=_WHOLE), _object(p=_TEXT)]}, '{"p": "é"}', _union(2, 1, {"P": "é"}), '{"P":"é"}'),
    ({"oneOf": [_object(p=_REAL), _map(_REAL)]}, '{"p": 1e1}', _union(2, 1, {"p": 10.0}), '{"p":10.0}'),
    ({"oneOf": [_object(p=_object(d=_REAL)), _object(p=_object(t=_TEXT))]}, '{"p": {"t": 1.50, "d": 2}}',
     _union(2, 0, {"P": {"D": 2.0}}), '{"P":{"D":2.0}}'),
    ({"oneOf": [_object(p=_object(d=_REAL)), _object(p=_TEXT, q=_TEXT)]}, '{"p": "a", "q": 1.50}',
     _union(2, 1, {"P": "a", "Q": "1.50"}), '{"P":"a","Q":"1.50"}'),
    ({"oneOf": [_TEXT, {"type": "array", "items": _WHOLE}]}, "[1,null]", _union(2, 1, [1, None]), None),
    ({"oneOf": [{"type": "array", "items": _TRUTH}, _entries(_WHOLE, _TEXT)]}, '[{"key": 1, "value": "x"}]',
     _union(2, 1, {"1": "x"}), '{"1":"x"}'),
    ({"type": "array", "items": _TEXT_OR_WHOLE}, '["x",7]', [_union(2, 0, "x"), _union(2, 1, 7)], None),
    (_map(_TEXT_OR_WHOLE), '{"a":7}', {"a": _union(2, 1, 7)}, None),
    (_object(w=_TEXT_OR_WHOLE), '{"w": 7}', {"W": _union(2, 1, 7)}, '{"W":7}'),
    (_entries(_WHOLE, _TEXT), '[{"key": 1, "value": "x"}, {"value": null, "key": 2}]',
     {"1": "x", "2": None}, '{"1":"x","2":null}'),
    (_entries({"oneOf": [_NULL, _TEXT]}, _WHOLE), '[{"key": "a", "value": 1}]', {"a": 1}, '{"a":1}'),
    (_entries(_TRUTH, _TEXT_OR_WHOLE), '[{"key": true, "value": 7}]', {"true": _union(2, 1, 7)},
     '{"true":7}'),
    (_entries(_WHOLE, _TEXT), "[]", {}, "{}"),
    (_DECIMAL, "12.34", PythonDecimal("12.34"), None),
    (_DECIMAL, '"BNI="', PythonDecimal("12.34"), "12.34"),
    (_DECIMAL, '"+y4="', PythonDecimal("-12.34"), "-12.34"),
    (_DECIMAL, '"12.34"', PythonDecimal("12.34"), "12.34"),
]  # fmt: skip
#: the schema of V, and JSON that it does not describe
MISFITS: list[tuple[Any, str]] = [
    (_TEXT_OR_WHOLE, "true"),
    (_TEXT_OR_WHOLE, "1.5"),
    (_TEXT_OR_WHOLE, "[]"),
    (_TEXT_OR_WHOLE, "{}"),
    (_P_OR_Q, '{"q": "x"}'),
    ({"oneOf": [_INT8, _TEXT]}, "3000000000"),
    (_entries(_WHOLE, _TEXT), "[1]"),
    (_entries(_WHOLE, _TEXT), "[null]"),
    (_entries(_WHOLE, _TEXT), '[{"value": "x"}]'),
    (_entries(_WHOLE, _WHOLE), '[{"key": 1, "value": "x"}]'),
    (_DECIMAL, '""'),
    (_DECIMAL, '"*"'),
]


def bound(schema: Any) -> tuple[JsonSrSerde, SqlType]:
    """A serde of the column V, and the type that its schema gives."""
    registered = RegisteredSchema(1, JSON, json.dumps(_object(v=schema)))
    (field,) = columns(read_schema(registered).type, None, keep_case=False)
    serde = bind(SerdeSpec("JSON_SR", (Column(field.name, field.type),), schema_id=1))
    assert isinstance(serde, JsonSrSerde)
    return serde, field.type


def framed(text: str) -> bytes:
    """A record whose member v is JSON."""
    return b'\0\0\0\0\1{"v":%s}' % text.encode()


@pytest.mark.parametrize(("schema", "text", "value", "written"), CONNECT)
def test_what_connect_writes(schema: Any, text: str, value: Any, written: str | None) -> None:
    serde, type_ = bound(schema)
    assert serde.decode(framed(text)) == [value]
    body = serde.encode_body([value]).decode()
    assert body == f'{{"V":{written or text}}}'
    # and the schema that we register describes it alike
    again = read_schema(RegisteredSchema(1, JSON, serde.new_schema)).type
    assert isinstance(again, Struct)
    assert str(again.fields[0].type).upper() == str(type_).upper()
    assert serde.decode(b"\0\0\0\0\1" + body.encode()) == [value]


@pytest.mark.parametrize(("schema", "text"), MISFITS)
def test_what_a_schema_does_not_describe(schema: Any, text: str) -> None:
    with pytest.raises(BadRecord):
        bound(schema)[0].decode(framed(text))


def test_a_record_may_be_a_union_itself() -> None:
    schema = {"oneOf": [_object(p=_WHOLE), _object(q=_WHOLE)]}
    found = columns(read_schema(RegisteredSchema(1, JSON, json.dumps(schema))).type, None, keep_case=False)
    serde = bind(SerdeSpec("JSON_SR", tuple(Column(f.name, f.type) for f in found), schema_id=1))
    assert serde.decode(b'\0\0\0\0\1{"q": 1}') == [None, {"Q": 1}]
    assert serde.encode([None, {"Q": 1}]) == b'\0\0\0\0\1{"Q":1}'


def test_json_without_a_schema_has_no_unions() -> None:
    """There a STRUCT of such names is an object, and a map always is."""
    _, type_ = bound(_TEXT_OR_WHOLE)
    plain = bind(SerdeSpec("JSON", (Column("V", type_),)))
    value = [_union(2, 0, "x")]
    data = plain.encode(value)
    assert data is not None and json.loads(data) == {"V": value[0]}
    assert plain.decode(data) == value
    with pytest.raises(BadRecord):
        plain.decode(b'{"V": "x"}')
