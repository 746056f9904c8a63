"""Rows and keys in the envelopes of Debezium and Maxwell, in Python and in Spark (reference §5.9)."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from ksql_spark.formats import BadRecord, EnvelopeSerde, FramedSerde, Serde, SerdeSpec, bind, envelopes
from ksql_spark.formats.framed import framed
from ksql_spark.functions.spark_text import constant
from ksql_spark.schema import Column
from ksql_spark.schema_registry import PROTOBUF
from ksql_spark.spark.session import set_registry
from ksql_spark.types import BYTES, STRING
from tests.analyzer.registry import FakeRegistry
from tests.statements.json_server import JsonServer

from .envelope_records import (
    KEYS,
    UNAVAILABLE,
    UNCHANGED,
    UNREADABLE,
    VALUES,
    Case,
    change,
    key_serde,
    maxwell,
    serde,
)


def of_unavailable() -> Iterator[tuple[Serde, bytes, bool]]:
    """For each of UNAVAILABLE: a serde of its column V, an envelope, and whether V is NULL."""
    for type_, unavailable, other in UNAVAILABLE:
        bound = bind(SerdeSpec("JSON", (Column("V", type_),), envelope="debezium"))
        assert envelopes.may_be_unavailable("debezium", type_)
        assert not envelopes.may_be_unavailable("maxwell", type_)
        for value, is_null in ((unavailable, True), (other, False)):
            yield bound, json.dumps(change("u", None, {"v": value}), separators=(",", ":")).encode(), is_null


def read(bound: Serde, data: bytes) -> Any:
    try:
        return bound.decode(data)
    except BadRecord as bad:
        return str(bad)


def left_out(bound: Serde, data: bytes) -> list[int] | None:
    """The numbers of the columns that a record leaves out; None: it has all, or is none of a row."""
    assert isinstance(bound, EnvelopeSerde)
    try:
        values = bound.change(data) or ()
    except BadRecord:
        return None
    return [i for i, value in enumerate(values) if value is envelopes.UNAVAILABLE] or None


@pytest.mark.parametrize("case", VALUES)
def test_values(case: Case) -> None:
    assert read(serde(case.envelope), case.data) == case.expected


@pytest.mark.parametrize(("bound", "data", "is_null"), list(of_unavailable()))
def test_what_stands_for_a_large_value_is_null(bound: Serde, data: bytes, is_null: bool) -> None:
    values = bound.decode(data)
    assert values is not None and (values[0] is None) == is_null
    assert left_out(bound, data) == ([0] if is_null else None)


@pytest.mark.parametrize("data", UNREADABLE)
def test_what_the_format_cannot_read(data: bytes) -> None:
    with pytest.raises(BadRecord):
        serde("debezium").decode(data)


@pytest.mark.parametrize("case", KEYS)
def test_keys(case: Case) -> None:
    assert read(key_serde(case.envelope), case.data) == case.expected


def test_a_key_of_text_is_not_any_json() -> None:
    bound = key_serde("debezium", STRING)
    assert read(bound, b'{"id": "a"}') == read(bound, b'"a"') == ["a"]
    assert read(bound, b'{"x": "a"}') == "The key has no ID, or it is NULL."


@pytest.mark.parametrize("envelope", ["debezium", "maxwell"])
def test_a_key_that_is_written_is_read(envelope: str) -> None:
    bound = key_serde(envelope)
    data = bound.encode([7])
    assert data is not None and bound.decode(data) == [7]


def test_rows_are_not_written() -> None:
    with pytest.raises(ValueError, match="envelopes of debezium"):
        serde("debezium").encode([1, 2, 3, 4])


def test_only_debezium_has_such_values() -> None:
    bound = bind(SerdeSpec("JSON", (Column("V", STRING),), envelope="maxwell"))
    assert bound.decode(json.dumps(maxwell("insert", {"v": UNCHANGED})).encode()) == [UNCHANGED]


def avro_records() -> tuple[FakeRegistry, list[tuple[bytes, Any]]]:
    """An AVRO envelope as Debezium registers it, and what its records are read as."""
    import fastavro

    row = {
        "type": "record", "name": "Value", "namespace": "shop.public.t",
        "fields": [
            {"name": "id", "type": "int"},
            {"name": "name", "type": ["null", "string"], "default": None},
            {"name": "amount", "type": ["null", "double"], "default": None},
        ],
    }  # fmt: skip
    schema = {
        "type": "record", "name": "Envelope", "namespace": "shop.public.t",
        "fields": [
            {"name": "before", "type": ["null", row], "default": None},
            {"name": "after", "type": ["null", "Value"], "default": None},
            {"name": "op", "type": "string"},
            {"name": "ts_ms", "type": ["null", "long"], "default": None},
        ],
    }  # fmt: skip
    registry = FakeRegistry()
    schema_id = registry.add("shop.public.t-value", schema)
    ann = {"id": 7, "name": "Ann", "amount": 2.5}
    found = []
    for record, expected in (
        ({"op": "c", "after": ann}, ["Ann", 2.5, None, None]),
        ({"op": "u", "after": ann | {"name": UNCHANGED}}, [None, 2.5, None, None]),
        ({"op": "d", "before": ann, "after": None}, None),
        ({"op": "t"}, 'Its op is "t", which tells nothing about one row.'),
    ):
        out = io.BytesIO()
        fastavro.schemaless_writer(out, fastavro.parse_schema(schema), record)
        found.append((framed(schema_id, out.getvalue()), expected))
    return registry, found


def protobuf_records() -> tuple[FakeRegistry, list[tuple[bytes, Any]]]:
    """A PROTOBUF envelope, and what its records are read as."""
    registry = FakeRegistry()
    schema_id = registry.add(
        "shop.public.t-value",
        """syntax = "proto3";
        message Envelope { Value before = 1; Value after = 2; optional string op = 3; }
        message Value { int32 id = 1; optional string name = 2; optional double amount = 3; }""",
        PROTOBUF,
    )
    ann = b"\x12\x07\x08\x07\x12\x03Ann"  # after: the id 7 and a name
    frame = framed(schema_id, b"\0")
    return registry, [
        (frame + ann + b"\x1a\x01c", ["Ann", None, None, None]),
        (frame + b"\x12\x20\x08\x07\x12\x1c" + UNCHANGED.encode() + b"\x1a\x01u", [None] * 4),
        (frame + b"\x1a\x01d", None),
        (frame + b"\x1a\x01t", 'Its op is "t", which tells nothing about one row.'),
        (frame, "It is no envelope: it has no op."),
    ]


REGISTERED = [("AVRO", avro_records), ("PROTOBUF", protobuf_records)]


@pytest.mark.parametrize(("format_", "made"), REGISTERED)
def test_an_envelope_with_a_registered_schema(format_: str, made: Callable[[], Any]) -> None:
    registry, records = made()
    bound = serde("debezium", format_, registry)
    assert not isinstance(bound, FramedSerde)  # nobody registers a schema for it
    assert bound.asks_registry
    for data, expected in records:
        assert read(bound, data) == expected


# ---- in Spark ------------------------------------------------------------------------------------------


def in_spark(session: Any, bound: Serde, records: list[bytes]) -> list[Any]:
    """What Spark reads: values, None for NULL, or the reason why not."""
    rows = ", ".join(f"({i}, {constant(data, BYTES)})" for i, data in enumerate(records))
    decoded = f"SELECT i, data, {bound.decode_sql('data')} AS row FROM VALUES {rows} AS t(i, data)"
    deleted = bound.deleted_sql("row") or "false"
    columns = ", ".join(f"row.`{c.name}`" for c in bound.columns)
    text = (
        f"SELECT row IS NULL AS is_bad, {deleted} AS is_deleted, {bound.explain_sql('data')} AS reason, "
        f"to_json(struct({columns})) AS row, row.* FROM ({decoded}) ORDER BY i"
    )
    found = []
    for row in session.sql(text).collect():
        values = list(row)[4 : 4 + len(bound.columns)]
        found.append(row[2] if row[0] else None if row[1] else values)
    return found


@pytest.mark.spark
@pytest.mark.parametrize("envelope", ["debezium", "maxwell"])
def test_spark_reads_the_same(local_spark: Any, envelope: str) -> None:
    for cases, bound in ((VALUES, serde(envelope)), (KEYS, key_serde(envelope))):
        own = [case for case in cases if case.envelope == envelope]
        found = in_spark(local_spark, bound, [case.data for case in own])
        assert [plain(row) for row in found] == [case.expected for case in own]
    if envelope == "debezium":
        assert all(isinstance(f, str) for f in in_spark(local_spark, serde(envelope), UNREADABLE))


@pytest.mark.spark
def test_spark_reads_null_for_what_stands_for_a_large_value(local_spark: Any) -> None:
    cases = list(of_unavailable())
    texts = [
        f"{b.decode_sql(constant(data, BYTES))}.V IS NULL AS c{i}" for i, (b, data, _) in enumerate(cases)
    ]
    row = local_spark.range(1).selectExpr(*texts).collect()[0]
    assert list(row) == [is_null for _, _, is_null in cases]
    texts = [
        f"{b.unchanged_sql(b.decode_sql(constant(data, BYTES)))} AS c{i}"
        for i, (b, data, _) in enumerate(cases)
    ]
    row = local_spark.range(1).selectExpr(*texts).collect()[0]
    assert list(row) == [[0] if is_null else None for _, _, is_null in cases]


@pytest.mark.spark
@pytest.mark.parametrize(("format_", "made"), REGISTERED)
def test_spark_reads_envelopes_with_registered_schemas(
    local_spark: Any, format_: str, made: Callable[[], Any]
) -> None:
    registry, records = made()
    schemas = {
        f"GET /schemas/ids/{i}": (200, {"schema": s.text, "schemaType": s.kind})
        for i, s in registry.by_ids().items()
    }
    with JsonServer(schemas) as server:
        set_registry(local_spark, {"url": server.url})
        bound = serde("debezium", format_, registry)
        found = in_spark(local_spark, bound, [data for data, _ in records])
        rows = ", ".join(f"({i}, {constant(data, BYTES)})" for i, (data, _) in enumerate(records))
        row = f"SELECT i, {bound.decode_sql('data')} AS row FROM VALUES {rows} AS t(i, data)"
        told = local_spark.sql(f"SELECT {bound.unchanged_sql('row')} FROM ({row}) ORDER BY i").collect()
        set_registry(local_spark, {})
    assert found == [expected for _, expected in records]
    assert [r[0] for r in told] == [left_out(bound, data) for data, _ in records]
    assert [0] in [r[0] for r in told]


def plain(row: Any) -> Any:
    """A row with dates as days."""
    import datetime

    if not isinstance(row, list):
        return row
    return [(v - datetime.date(1970, 1, 1)).days if isinstance(v, datetime.date) else v for v in row]
