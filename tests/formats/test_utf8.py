"""Texts whose bytes are not UTF-8: replaced or bad, in Python and in Spark alike (reference §5.2)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from ksql_spark.formats import BadRecord, FramedSerde, Serde
from ksql_spark.formats.utf8 import replaced
from ksql_spark.functions.spark_text import constant
from ksql_spark.schema import Column
from ksql_spark.spark.session import set_registry
from ksql_spark.types import BYTES, INTEGER, STRING, Map, SqlType
from tests.analyzer.registry import FakeRegistry
from tests.registry_server import RegistryServer

from .samples import serde

#: bytes, and the text that Java's ``new String(bytes, UTF_8)`` makes of them
REPLACED = [
    (b"\xff", "\ufffd"),
    (b"\x80\xbf", "\ufffd\ufffd"),
    (b"\xc0\x80", "\ufffd\ufffd"),  # NUL in modified UTF-8; longer than it has to be
    (b"\xe0\x80\xaf", "\ufffd\ufffd\ufffd"),
    (b"\xf0\x80\x80\xaf", "\ufffd\ufffd\ufffd\ufffd"),
    (b"\xc3", "\ufffd"),  # the beginning of a character
    (b"\xe2\x82", "\ufffd"),
    (b"\xf0\x9f\x98", "\ufffd"),
    (b"\xe2\x28\xa1", "\ufffd(\ufffd"),
    (b"\xed\xa0\xbd", "\ufffd"),  # half of a character
    (b"\xed\xa0\xbd\xed\xb8\x80", "\ufffd\ufffd"),  # both halves, as in CESU-8
    (b"\xed\xa0", "\ufffd"),
    (b"\xed\xed\xb8\x80", "\ufffd\ufffd"),
    (b"\xf4\x90\x80\x80", "\ufffd\ufffd\ufffd\ufffd"),  # beyond U+10FFFF
    (b"\xf8\x88\x80\x80\x80", "\ufffd\ufffd\ufffd\ufffd\ufffd"),
]
VALID = [b"a", "é€😀".encode(), b"\0", "\ufffd".encode(), "\ud7ff\ue000".encode()]
_OTHER = Column("N", INTEGER)
REPLACING = ("AVRO", "AVRO MAP", "DELIMITED", "DELIMITED QUOTED", "KAFKA")
STRICT = ("JSON", "JSON NAME", "JSON SKIPPED", "JSON_SR", "PROTOBUF", "PROTOBUF_NOSR")
#: what follows the first value does not count
BEHIND = "JSON BEHIND"


def bound(name: str, registry: FakeRegistry) -> Serde:
    """The serde of a column S, and sometimes another one."""
    format_, _, place = name.partition(" ")
    type_: SqlType = Map(STRING, INTEGER) if place == "MAP" else STRING
    columns = [Column("S", type_)] if format_ == "KAFKA" else [Column("S", type_), _OTHER]
    return serde(format_, columns, format_ != "KAFKA", registry)


def record(name: str, bound_: Serde, text: bytes) -> bytes:
    """A record with ``text`` as value of S, or where the name says."""
    match name:
        case "JSON NAME":
            return b'{"S": "a", "%s": 2, "N": 1}' % text
        case "JSON SKIPPED":
            return b'{"S": "a", "X": ["%s"], "N": 1}' % text
        case "JSON BEHIND":
            return b'{"S": "a", "N": 1} %s' % text
        case "DELIMITED QUOTED":
            return b'"%s""",1' % text
        case "AVRO MAP":
            good = bound_.encode([{"@": 7}, 1])
        case "KAFKA":
            return text
        case _:
            good = bound_.encode(["@", 1])
    assert good is not None
    size = 2 if name.startswith("AVRO") else 1  # Avro's numbers are zigzag
    prefix = b"" if name in ("JSON", "JSON_SR", "DELIMITED") else bytes([len(text) * size])
    frame = 5 if isinstance(bound_, FramedSerde) else 0
    mark = b"@" if not prefix else bytes([size]) + b"@"
    return good[:frame] + good[frame:].replace(mark, prefix + text)


def expected(name: str, text: str) -> Any:
    """What is read of S."""
    if name == "AVRO MAP":
        return {text: 7}
    return text + '"' * (name == "DELIMITED QUOTED")


def read(bound_: Serde, data: bytes) -> Any:
    """The value of S, or the reason why there is none."""
    try:
        values = bound_.decode(data)
    except BadRecord:
        return "bad"
    return values and values[0]


def cases(name: str, registry: FakeRegistry) -> Iterator[tuple[bytes, Any]]:
    """Records, and what is read of each."""
    bound_ = bound(name, registry)
    for data, text in (*REPLACED, *((v, v.decode()) for v in VALID if v != b"\0" or "JSON" not in name)):
        fails = name in STRICT and data not in VALID
        elsewhere = name.startswith("JSON ")
        yield record(name, bound_, data), "bad" if fails else "a" if elsewhere else expected(name, text)


@pytest.mark.parametrize(("data", "text"), REPLACED)
def test_what_is_not_utf8_is_replaced_as_in_java(data: bytes, text: str) -> None:
    assert replaced(data) == text
    assert replaced(b"a" + data + "é".encode()) == f"a{text}é"


@pytest.mark.parametrize("name", [*REPLACING, *STRICT, BEHIND])
def test_records(name: str) -> None:
    registry = FakeRegistry()
    bound_ = bound(name, registry)
    for data, value in cases(name, registry):
        assert read(bound_, data) == value, data


@pytest.mark.spark
def test_spark_reads_the_same(local_spark: Any) -> None:
    registry = FakeRegistry()
    serdes = {name: bound(name, registry) for name in (*REPLACING, *STRICT, BEHIND)}
    with RegistryServer() as server:
        for schema_id, schema in sorted(registry.by_ids().items()):
            assert server.add(str(schema_id), schema.text, schema.kind) == schema_id
        set_registry(local_spark, {"url": server.url})
        try:
            for name, bound_ in serdes.items():
                data, values = zip(*cases(name, registry), strict=True)
                rows = ", ".join(f"({i}, {constant(d, BYTES)})" for i, d in enumerate(data))
                decoded = f"SELECT i, {bound_.decode_sql('data')} AS row FROM VALUES {rows} AS t(i, data)"
                text = f"SELECT if(row IS NULL, NULL, struct(row.S)) FROM ({decoded}) ORDER BY i"
                found = local_spark.sql(text).collect()
                assert ["bad" if r[0] is None else r[0][0] for r in found] == list(values), name
        finally:
            set_registry(local_spark, {})
