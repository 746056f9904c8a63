"""Records as Debezium and Maxwell write them, of one table: what they are read as, or why they cannot be."""

from __future__ import annotations

import base64
import json
from typing import Any, NamedTuple

from ksql_spark.formats import SerdeSpec, bind
from ksql_spark.formats.base import Serde
from ksql_spark.schema import Column, Role
from ksql_spark.types import (
    BIGINT,
    BYTES,
    DATE,
    DOUBLE,
    INTEGER,
    STRING,
    TIME,
    VARIANT,
    Array,
    Map,
    SqlType,
)

KEY = (Column("ID", INTEGER, Role.KEY),)
VALUE = (Column("NAME", STRING), Column("AMOUNT", DOUBLE), Column("BORN", DATE), Column("AT", TIME))

ANN = {"id": 7, "name": "Ann", "amount": 2.5, "born": 10957, "at": 60000, "more": [1]}
ROW = ["Ann", 2.5, 10957, 60000]
#: what Debezium tells of where a change comes from
SOURCE = {"version": "3.0", "connector": "postgresql", "name": "shop", "ts_ms": 1, "db": "d", "table": "t"}
NO_ROW = 'Its op is "t", which tells nothing about one row.'


class Case(NamedTuple):
    """A record, and what it is read as: values, None for NULL, or the reason of a text."""

    envelope: str
    data: bytes
    expected: Any


def change(op: str, before: Any, after: Any) -> dict[str, Any]:
    """An envelope of Debezium."""
    return {"before": before, "after": after, "source": SOURCE, "op": op, "ts_ms": 2, "transaction": None}


def with_schema(payload: Any) -> dict[str, Any]:
    """What Kafka Connect's JSON converter makes of a record unless schemas.enable is false."""
    fields = [{"type": "string", "optional": False, "field": "op"}, {"type": "struct", "field": "after"}]
    return {
        "schema": {"type": "struct", "fields": fields, "name": "shop.public.t.Envelope"},
        "payload": payload,
    }


def maxwell(type_: str, data: Any) -> dict[str, Any]:
    """An envelope of Maxwell."""
    return {"database": "shop", "table": "t", "type": type_, "ts": 1, "xid": 2, "commit": True, "data": data}


def _both(record: Any, expected: Any) -> list[Case]:
    return [Case("debezium", json.dumps(r).encode(), expected) for r in (record, with_schema(record))]


VALUES = [
    *_both(change("c", None, ANN), ROW),
    *_both(change("r", None, ANN), ROW),
    *_both(change("u", {"id": 7, "name": "x"}, ANN | {"amount": None}), ["Ann", None, 10957, 60000]),
    *_both(change("u", None, {"id": 7}), [None] * 4),
    # the row before is not read, so it may be anything
    *_both(change("u", {"amount": "x"}, ANN), ROW),
    *_both(change("d", ANN, None), None),
    *_both({"op": "d"}, None),
    *_both(change("t", None, None), NO_ROW),
    *_both({"op": "m", "message": {"prefix": "p", "content": "eA=="}}, NO_ROW.replace('"t"', '"m"')),
    *_both(change("c", None, None), 'Its op is "c", but it has no after.'),
    *_both({"after": ANN}, "It is no envelope: it has no op."),
    *_both({}, "It is no envelope: it has no op."),
    Case("debezium", json.dumps(ANN).encode(), "It is no envelope: it has no op."),
    Case("maxwell", json.dumps(maxwell("insert", ANN)).encode(), ROW),
    Case("maxwell", json.dumps(maxwell("bootstrap-insert", ANN)).encode(), ROW),
    Case("maxwell", json.dumps(maxwell("update", ANN) | {"old": {"name": "Bea"}}).encode(), ROW),
    Case("maxwell", json.dumps(maxwell("delete", ANN)).encode(), None),
    Case(
        "maxwell", json.dumps(maxwell("insert", None)).encode(), 'Its type is "insert", but it has no data.'
    ),
    Case(
        "maxwell",
        json.dumps(maxwell("bootstrap-start", {})).encode(),
        'Its type is "bootstrap-start", which tells nothing about one row.',
    ),
    Case("maxwell", json.dumps(change("c", None, ANN)).encode(), "It is no envelope: it has no type."),
]
#: values that the format cannot read; the reason is the format's
UNREADABLE = [b"", b"{", b"[1]", b"7", *(json.dumps(r).encode() for r in (
    change("c", None, ANN | {"amount": "x"}), with_schema(change("c", None, [1])), {"op": "c", "after": 1},
))]  # fmt: skip

MISSING = "The key has no ID, or it is NULL."
KEYS = [
    Case("debezium", b'{"id": 7}', [7]),
    Case("debezium", b'{"id": 7, "other": "x"}', [7]),
    Case("debezium", json.dumps(with_schema({"id": 7})).encode(), [7]),
    Case("debezium", json.dumps(with_schema(7)).encode(), [7]),
    Case("debezium", b" 7", [7]),
    Case("debezium", b'{"number": 7}', MISSING),
    Case("debezium", json.dumps(with_schema({"number": 7})).encode(), MISSING),
    Case("debezium", b'{"id": null}', MISSING),
    Case("maxwell", b'{"database": "shop", "table": "t", "pk.id": 7}', [7]),
    Case("maxwell", b'{"database": "shop", "table": "t", "id": 7}', "The key has no PK.ID, or it is NULL."),
]


def serde(envelope: str, format_: str = "JSON", registry: Any = None) -> Serde:
    """The serde of the values."""
    return bind(SerdeSpec(format_, VALUE, envelope=envelope), registry)


def key_serde(envelope: str, type_: SqlType = INTEGER, format_: str = "JSON", registry: Any = None) -> Serde:
    """The serde of the keys."""
    columns = (Column("ID", type_, Role.KEY),)
    return bind(SerdeSpec(format_, columns, side="KEY", envelope=envelope), registry)


UNCHANGED = "__debezium_unavailable_value"
#: a type, what Debezium writes in such a column instead of an unchanged large value, and another value
UNAVAILABLE: list[tuple[SqlType, Any, Any]] = [
    (STRING, UNCHANGED, UNCHANGED + "s"),
    (VARIANT, UNCHANGED, {"a": UNCHANGED}),
    (STRING, [UNCHANGED], [UNCHANGED] * 2),
    (STRING, {UNCHANGED: UNCHANGED}, {}),
    (BYTES, base64.b64encode(UNCHANGED.encode()).decode(), "YWJj"),
    (Array(STRING), [UNCHANGED], [UNCHANGED, None]),
    (Array(STRING), ["b68a35a7-17ad-35b3-af2a-ae46edb4545a"], ["b68a35a7-17ad-35b3-af2a-ae46edb45450"]),
    (Array(BYTES), [base64.b64encode(UNCHANGED.encode()).decode()], ["YWJj"]),
    (Array(INTEGER), list(UNCHANGED.encode()), [*UNCHANGED.encode(), 1]),
    (Array(BIGINT), list(UNCHANGED.encode()), [None] * len(UNCHANGED)),
    (Array(DOUBLE), list(UNCHANGED.encode()), []),
    (Array(DATE), list(UNCHANGED.encode()), [95]),
    (Map(STRING, STRING), {UNCHANGED: UNCHANGED}, {UNCHANGED: "x"}),
]
