"""Columns of every type with values that are awkward for some format, in the formats' Python values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal as PythonDecimal
from typing import Any

from ksql_spark.formats import CAPABILITIES, FramedSerde, Serde, SerdeSpec, bind
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
from tests.analyzer.registry import FakeRegistry

SAMPLES: dict[SqlType, list[Any]] = {
    BOOLEAN: [True, False, None],
    INTEGER: [0, 1, -1, 2**31 - 1, -(2**31), None],
    BIGINT: [0, -1, 2**63 - 1, -(2**63), None],
    DOUBLE: [0.0, -1.5, 1e20, 1.0e-5, 123456789.25, None],
    Decimal(10, 2): [PythonDecimal("0.00"), PythonDecimal("-12.30"), PythonDecimal("99999999.99"), None],
    Decimal(20, 8): [PythonDecimal("0.00000001"), PythonDecimal("-12.30000000"), None],
    Decimal(33, 16): [PythonDecimal("12345678987654321.2345678987654321"), None],
    STRING: ["plain", "a,b", 'say "hi"', "two\nlines", "äöü 😀", " edges ", "#x", "back\\slash", None],
    BYTES: [b"\x00\xff\x10", b"abc", None],
    DATE: [0, -1, 19000, None],
    TIME: [0, 86_399_999, None],
    TIMESTAMP: [0, -1, 1_700_000_000_123, None],
}
NESTED: dict[SqlType, list[Any]] = {
    Array(INTEGER): [[1, None, 3], [], None],
    Array(TIMESTAMP): [[0, None, 1_700_000_000_123], None],
    Map(STRING, Decimal(10, 2)): [{"a": PythonDecimal("1.50"), "b": None}, {}, None],
    Map(STRING, DATE): [{"a": 1, "b": None}, None],
    Struct((Field("F", INTEGER), Field("g h", BYTES), Field("T", TIME))): [
        {"F": 1, "g h": b"x", "T": 5},
        {"F": None, "g h": None, "T": None},
        None,
    ],
    Struct((Field("F", INTEGER), Field("B", BYTES), Field("T", TIME))): [
        {"F": 1, "B": b"x", "T": 5},
        {"F": None, "B": None, "T": None},
        None,
    ],
    Array(Struct((Field("D", DATE), Field("M", Map(STRING, Array(DOUBLE)))))): [
        [{"D": 3, "M": {"k": [1.5, None]}}, None],
    ],
    Map(STRING, Struct((Field("A", Array(DOUBLE)), Field("S", STRING)))): [
        {"k": {"A": [1.5, -0.0], "S": "x"}, "l": {"A": [], "S": None}},
    ],
}


#: the schemas of all serdes of ``serde``
REGISTRY = FakeRegistry()


def serde(format_: str, columns: Sequence[Column], wrapped: bool = True, registry: Any = REGISTRY) -> Serde:
    """A serde, with its schema registered where the format has one."""
    # without it NULL and defaults are the same
    nullable = "OPTIONAL" if format_.startswith("PROTOBUF") else None
    spec = SerdeSpec(format_, tuple(columns), wrapped, nullable=nullable)
    kind = CAPABILITIES[format_].registry if format_ in CAPABILITIES else None
    bound = bind(spec, registry)
    if kind is None or not isinstance(bound, FramedSerde) or not columns:
        return bound
    schema_id = registry.register("any", RegisteredSchema(0, kind, bound.new_schema))
    return bind(replace(spec, schema_id=schema_id, schema=bound.new_schema), registry)


def carried(format_: str) -> dict[SqlType, list[Any]]:
    """The samples of types that a format has."""
    capability = CAPABILITIES[format_]

    def is_named(type_: SqlType) -> bool:
        return capability.names is None or "g h" not in str(type_)

    def is_written(type_: SqlType) -> bool:
        return not format_.startswith("PROTOBUF") or "ARRAY<DOUBLE>>>" not in str(type_)

    return {
        t: v
        for t, v in {**SAMPLES, **NESTED}.items()
        if capability.carries(t) and is_named(t) and is_written(t)
    }


def read_back(format_: str, type_: SqlType, value: Any) -> Any:
    """``value`` as it comes back: PROTOBUF has no NULL instead of lists and maps, nor in them."""
    if not format_.startswith("PROTOBUF"):
        return value
    match type_:
        case Array(element):
            return [_item_back(format_, element, v, in_list=True) for v in value or []]
        case Map(_, item):
            return {k: _item_back(format_, item, v, in_list=False) for k, v in (value or {}).items()}
        case Struct(fields) if value is not None:
            return {f.name: read_back(format_, f.type, value[f.name]) for f in fields}
    return value


def _item_back(format_: str, type_: SqlType, value: Any, *, in_list: bool) -> Any:
    if value is not None:
        return read_back(format_, type_, value)
    is_message = isinstance(type_, Struct | Decimal) or type_ in (DATE, TIME, TIMESTAMP)
    if is_message and not in_list:
        return None
    if isinstance(type_, Struct):
        return {f.name: read_back(format_, f.type, None) for f in type_.fields}
    defaults: dict[SqlType, Any] = {STRING: "", BYTES: b"", BOOLEAN: False, DOUBLE: 0.0, DATE: None}
    return PythonDecimal(0) if isinstance(type_, Decimal) else defaults.get(type_, 0)


def column(type_: SqlType, name: str = "A") -> Column:
    return Column(name, type_)
