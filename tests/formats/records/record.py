"""What a record of the table is, and how its bytes are put together."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ksql_spark.formats import Serde, SerdeSpec, bind
from ksql_spark.formats.protobuf.wire import LENGTH, VARINT, varint, zigzag
from ksql_spark.schema import Column
from ksql_spark.types import SqlType
from tests.analyzer.registry import FakeRegistry

#: has the schemas of all records
REGISTRY = FakeRegistry()
#: an event time
MS = 1_700_000_000_123


@dataclass(frozen=True)
class Bad:
    """A record that no decoder reads; the reason that each gives contains ``reason``."""

    reason: str = ""


BAD = Bad()


@dataclass(frozen=True)
class Record:
    """A record, and the JSON of the columns that it is read as, or that it is bad."""

    name: str
    serde: Serde
    data: bytes
    row: str | Bad


def record(name: str, serde: Serde, data: str | bytes, row: Any) -> Record:
    """A record; ``row`` has the JSON values of its columns by name, or is Bad."""
    data = data.encode() if isinstance(data, str) else data
    return Record(name, serde, data, row if isinstance(row, Bad) else json.dumps(row))


def plain(
    name: str, format_: str, data: str | bytes, columns: Mapping[str, SqlType], row: Any, **more: Any
) -> Record:
    """A record in a format without schemas; ``more`` are arguments of its SerdeSpec."""
    spec = SerdeSpec(format_, tuple(Column(n, t) for n, t in columns.items()), **more)
    return record(f"{format_} {name}", bind(spec, REGISTRY), data, row)


def framed(schema: Any, kind: str, columns: Mapping[str, SqlType], body: bytes) -> tuple[Serde, bytes]:
    """A serde of columns, and a record with the id of its writer's schema."""
    schema_id = REGISTRY.add("foreign", schema, kind)
    spec = SerdeSpec(kind, tuple(Column(n, t) for n, t in columns.items()))
    return bind(spec, REGISTRY), b"\0" + schema_id.to_bytes(4, "big") + body


# ---- Avro


def number(value: int) -> bytes:
    """A number in Avro."""
    return varint(zigzag(value))


def text(value: str) -> bytes:
    """A text in Avro."""
    return number(len(value.encode())) + value.encode()


def long(**properties: Any) -> dict[str, Any]:
    """The type long of Avro, with a logical type."""
    return {"type": "long", **properties}


def avro(name: str, schema: Any, type_: SqlType, body: bytes, value: Any, **field: Any) -> Record:
    """A record with the field A; ``value`` is the column's JSON."""
    whole = {"type": "record", "name": "R", "fields": [{"name": "A", "type": schema, **field}]}
    row = value if isinstance(value, Bad) else {"A": value}
    return record(f"AVRO {name}", *framed(whole, "AVRO", {"A": type_}, body), row)


# ---- Protobuf


def whole(field: int, value: int) -> bytes:
    """A number as a field of Protobuf."""
    return varint(field << 3 | VARINT) + varint(value)


def sized(field: int, data: bytes) -> bytes:
    """Bytes, a text or a message as a field of Protobuf."""
    return varint(field << 3 | LENGTH) + varint(len(data)) + data


def protobuf(name: str, schema: str, columns: Mapping[str, SqlType], body: bytes, row: Any) -> Record:
    """A record of the first message of a schema."""
    return record(f"PROTOBUF {name}", *framed(schema, "PROTOBUF", columns, b"\0" + body), row)
