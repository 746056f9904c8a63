from __future__ import annotations

from decimal import Decimal as PythonDecimal

import pytest

from ksql_spark.errors import KsqlError
from ksql_spark.formats import SerdeSpec
from ksql_spark.formats.protobuf.format import ProtobufNoSrSerde
from ksql_spark.runtime.reading.protobuf_rows import ProtobufRows
from ksql_spark.runtime.reading.results import ResultColumn, Row, api_value
from ksql_spark.schema import Column
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

_STRUCT = Struct((Field("At", TIMESTAMP), Field("N", Decimal(5, 2))))
#: values in the formats' Python form
_VALUES: list[tuple[SqlType, object]] = [
    (INTEGER, -5),
    (BIGINT, 2**40),
    (DOUBLE, float("inf")),
    (BOOLEAN, True),
    (STRING, "né"),
    (BYTES, b"\0\xff"),
    (DATE, 18262),
    (TIME, 3_661_000),
    (TIMESTAMP, -1),
    (Decimal(38, 10), PythonDecimal("-1234567890123456789012345678.0123456789")),
    (Array(DOUBLE), [1.5, float("-inf")]),
    (Map(STRING, BYTES), {"a": b"x"}),
    (_STRUCT, {"At": 1_577_836_800_123, "N": PythonDecimal("1.50")}),
    (Array(_STRUCT), [{"At": 0, "N": None}]),
]


def _of(columns: list[tuple[str, SqlType]]) -> tuple[ProtobufRows, ProtobufNoSrSerde]:
    serde = ProtobufNoSrSerde(SerdeSpec("PROTOBUF_NOSR", tuple(Column(n, t) for n, t in columns)))
    return ProtobufRows([ResultColumn.of(n, t) for n, t in columns]), serde


def test_message_of_a_row():
    rows, _ = _of([("K", STRING), ("N", BIGINT)])
    assert rows.schema == (
        'syntax = "proto3";\n\nmessage ConnectDefault1 {\n  string K = 1;\n  int64 N = 2;\n}\n'
    )
    assert rows.encode(Row(["ab", 300])) == b"\x0a\x02ab\x10\xac\x02"
    assert rows.encode(Row(["ab", None])) == b"\x0a\x02ab"


def test_values_of_all_types_come_as_they_were():
    rows, serde = _of([(f"C{i}", type_) for i, (type_, _) in enumerate(_VALUES)])
    message = rows.encode(Row([api_value(value, type_) for type_, value in _VALUES]))
    assert serde.decode(message) == [value for _, value in _VALUES]


def test_nulls_are_left_out():
    rows, _ = _of([(f"C{i}", type_) for i, (type_, _) in enumerate(_VALUES)])
    assert rows.encode(Row([None] * len(_VALUES))) == b""


@pytest.mark.parametrize("value", ["+10000-01-01", "-0001-01-01"])
def test_days_that_protobuf_does_not_have(value):
    rows, _ = _of([("D", DATE)])
    with pytest.raises(KsqlError, match=f"cannot hold the value .?{value[1:]} of the column D"):
        rows.encode(Row([value]))


@pytest.mark.parametrize(
    ("name", "type_", "message"),
    [("a b", STRING, "Illegal initial character or name: a b"), ("A", Array(Array(STRING)), "lists")],
)
def test_columns_that_protobuf_does_not_have(name, type_, message):
    with pytest.raises(KsqlError, match=message):
        _of([(name, type_)])
