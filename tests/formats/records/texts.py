"""Texts whose bytes are not UTF-8 in each format: replaced or bad (reference §5.2)."""

from __future__ import annotations

from collections.abc import Iterator

from ksql_spark.formats import FramedSerde
from ksql_spark.schema import Column
from ksql_spark.types import INTEGER, STRING, Map
from tests.formats.records.record import BAD, REGISTRY, Record, record
from tests.formats.samples import serde

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
_VALID = [b"a", "é€😀".encode(), b"\0", "\ufffd".encode(), "\ud7ff\ue000".encode()]
#: where a text is replaced, where it is bad, and what follows the first value, which does not count
_REPLACING = ("AVRO", "AVRO MAP", "DELIMITED", "DELIMITED QUOTED", "KAFKA")
_STRICT = ("JSON", "JSON NAME", "JSON SKIPPED", "JSON_SR", "PROTOBUF", "PROTOBUF_NOSR")
_BEHIND = "JSON BEHIND"


def _record(place: str, data: bytes, text: str) -> Record:
    """A record with ``data`` as value of S, or where ``place`` says."""
    format_ = place.partition(" ")[0]
    is_map, is_bare = place == "AVRO MAP", format_ == "KAFKA"
    columns = [Column("S", Map(STRING, INTEGER) if is_map else STRING), Column("N", INTEGER)]
    bound = serde(format_, columns[:1] if is_bare else columns, not is_bare, REGISTRY)
    elsewhere = {
        "JSON NAME": b'{"S": "a", "%s": 2, "N": 1}',
        "JSON SKIPPED": b'{"S": "a", "X": ["%s"], "N": 1}',
        "JSON BEHIND": b'{"S": "a", "N": 1} %s',
        "DELIMITED QUOTED": b'"%s""",1',
        "KAFKA": b"%s",
    }
    if place in elsewhere:
        altered = elsewhere[place] % data
    else:
        good = bound.encode([{"@": 7} if is_map else "@", 1])
        assert good is not None
        size = 2 if format_ == "AVRO" else 1  # Avro's numbers are zigzag
        prefix = b"" if format_ in ("JSON", "JSON_SR", "DELIMITED") else bytes([len(data) * size])
        frame = 5 if isinstance(bound, FramedSerde) else 0
        mark = b"@" if not prefix else bytes([size]) + b"@"
        altered = good[:frame] + good[frame:].replace(mark, prefix + data)
    value = {text: 7} if is_map else text + '"' * (place == "DELIMITED QUOTED")
    row = {"S": "a" if place.startswith("JSON ") else value} | ({} if is_bare else {"N": 1})
    is_bad = place in _STRICT and data not in _VALID
    return record(f"{place}: text {data!r}", bound, altered, BAD if is_bad else row)


def _records() -> Iterator[Record]:
    for place in (*_REPLACING, *_STRICT, _BEHIND):
        for data, text in (*REPLACED, *((v, v.decode()) for v in _VALID)):
            if data != b"\0" or "JSON" not in place:
                yield _record(place, data, text)


TEXTS = list(_records())
