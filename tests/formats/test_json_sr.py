"""JSON_SR: what Connect's converter for JSON Schemas writes, in the columns that such a schema gives."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ksql_spark.formats import BadRecord, SerdeSpec, bind
from ksql_spark.formats.registered import columns
from ksql_spark.formats.schemas import read_schema
from ksql_spark.schema import Column
from ksql_spark.schema_registry import JSON, RegisteredSchema
from ksql_spark.types import Struct
from tests.formats.json_schemas import (
    CONNECT,
    TEXT_OR_WHOLE,
    WHOLE,
    bound,
    framed,
    struct,
    union_of,
)


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


def test_a_record_may_be_a_union_itself() -> None:
    schema = {"oneOf": [struct(p=WHOLE), struct(q=WHOLE)]}
    found = columns(read_schema(RegisteredSchema(1, JSON, json.dumps(schema))).type, None, keep_case=False)
    serde = bind(SerdeSpec("JSON_SR", tuple(Column(f.name, f.type) for f in found), schema_id=1))
    assert serde.decode(b'\0\0\0\0\1{"q": 1}') == [None, {"Q": 1}]
    assert serde.encode([None, {"Q": 1}]) == b'\0\0\0\0\1{"Q":1}'


def test_json_without_a_schema_has_no_unions() -> None:
    """There a STRUCT of such names is an object, and a map always is."""
    _, type_ = bound(TEXT_OR_WHOLE)
    plain = bind(SerdeSpec("JSON", (Column("V", type_),)))
    value = [union_of(2, 0, "x")]
    data = plain.encode(value)
    assert data is not None and json.loads(data) == {"V": value[0]}
    assert plain.decode(data) == value
    with pytest.raises(BadRecord):
        plain.decode(b'{"V": "x"}')
