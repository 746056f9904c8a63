"""Where VARIANTs, and values of every other type, come in and go out (ADR 67)."""

from __future__ import annotations

import io
import json
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

from ksql_spark import types
from ksql_spark.client import values as client_values
from ksql_spark.entities.schemas import SchemaInfo
from ksql_spark.errors import KsqlError
from ksql_spark.formats.json.format import faithful, variant
from ksql_spark.lake.arrow import arrow_type
from ksql_spark.lake.jdbc_types import column_type
from ksql_spark.row_files import CSV, JSON, PARQUET, Misfit, csv_line, rows_of
from ksql_spark.runtime.inserts import SCALARS
from ksql_spark.runtime.reading.protobuf_rows import ProtobufRows
from ksql_spark.runtime.reading.results import ResultColumn, api_value
from ksql_spark.server.postgres.values import values as postgres
from ksql_spark.server.streaming.responses import encode
from ksql_spark.shell.output.rows import TYPE_WIDTHS
from ksql_spark.shell.prompt.completion import DATA_TYPES
from ksql_spark.types import PRIMITIVES, VARIANT

TEXT = '{"b":1.10,"a":[null,"é\\n"],"b":1E+2,"n":12345678901234567890}'


@pytest.mark.parametrize("name", PRIMITIVES)
def test_every_table_of_types_has_each(name: str) -> None:
    type_ = PRIMITIVES[name]
    assert type_ in SCALARS
    assert arrow_type(type_) is not None and column_type(type_) is not None
    assert postgres.type_of(SchemaInfo(name)) is not postgres.JSON
    assert postgres.array_of(postgres.type_of(SchemaInfo(name))).element is not None
    assert name in TYPE_WIDTHS and name in DATA_TYPES
    assert client_values.type_of(name).name == name


def test_rows_have_it_as_json() -> None:
    nested = types.Array(types.Struct((types.Field("V", VARIANT),)))
    shown = [api_value(TEXT, VARIANT), api_value([{"V": TEXT}, None], nested), Decimal("1.10"), None]
    assert encode(shown).decode() == f'[{TEXT},[{{"V":{TEXT}}},null],1.10,null]'


def test_beside_texts_that_utf8_does_not_have() -> None:
    row = ["\ud800", api_value(TEXT, VARIANT), {1: 2**70, "b": True}, Decimal("2.50")]
    assert encode(row).decode() == f'["?",{TEXT},{{"1":{2**70},"b":true}},2.50]'


def test_inserted_rows_keep_their_json() -> None:
    row = faithful(f' {{"v": {TEXT}, "w": "a", "x": true, "y": [ ], "z": -0.0}} '.encode())
    assert variant(row["v"]) == TEXT
    assert [variant(row[name]) for name in "wxyz"] == ['"a"', "true", "[]", "-0.0"]
    assert SCALARS[types.BIGINT](faithful(b"7")) == 7
    for bad in (b"1 2", b"{", b"NaN", b""):
        with pytest.raises(ValueError):
            faithful(bad)


def test_postgres_has_jsonb() -> None:
    type_ = postgres.type_of(SchemaInfo("VARIANT"))
    value = api_value(TEXT, VARIANT)
    assert (type_.oid, type_.text(value), type_.binary(value)) == (
        3802,
        TEXT.encode(),
        b"\x01" + TEXT.encode(),
    )
    assert postgres.oid_of("jsonb") == 3802 and postgres.oid_of("jsonb[]") == 3807
    assert postgres.parameter(b'\x01{"a":1}', 3802, True) == '{"a":1}'
    assert postgres.array_of(type_).text([value, None]).startswith(b'{"{\\"b\\":1.10')


def test_protobuf_rows_refuse_it() -> None:
    with pytest.raises(KsqlError, match="request another media type"):
        ProtobufRows([ResultColumn.of("V", VARIANT)])


def _files() -> list[tuple[bytes, str]]:
    made = io.BytesIO()
    pa.parquet.write_table(pa.table({"v": ['{"a":1.5}', '"x"', None]}), made)
    csv = "v\n" + csv_line(['{"a":1.5}'], str) + csv_line(['"x"'], str) + '""\n'
    lines = b'{"v": {"a": 1.5}}\n{"v": "x"}\n{"v": null}\n'
    return [(csv.encode(), CSV), (lines, JSON), (made.getvalue(), PARQUET)]


@pytest.mark.parametrize(("data", "form"), _files())
def test_files_have_its_json(data: bytes, form: str) -> None:
    found = [row["`V`"] for _, row in rows_of(io.BytesIO(data), form, {"V": {"type": "VARIANT"}})]
    assert found == [{"a": 1.5}, "x", None]


@pytest.mark.parametrize("text", ["{", "0.12345678901234567890", "NaN", "[-Infinity]", "1e999"])
def test_what_a_file_cannot_say(text: str) -> None:
    with pytest.raises(Misfit, match=r"line 2: .* in v is no VARIANT"):
        list(rows_of(io.BytesIO(f"v\n{text}\n".encode()), CSV, {"V": {"type": "VARIANT"}}))


def test_clients_get_what_it_is() -> None:
    type_ = client_values.type_of("ARRAY<VARIANT>")
    sent: Any = json.loads('[{"a": [1.10, "é", true]}, null]', parse_float=Decimal)
    assert client_values.converters(["VARIANT"]) == [None]
    made = client_values.arrow_array([sent], type_)
    assert made.to_pylist() == [['{"a":[1.10,"é",true]}', None]]
