"""Detects the format of keys or values from their bytes, for PRINT and for CREATE … WITH (INFER = 'sample').

PRINT's KAFKA_INT and so on are the format KAFKA with a column of that type.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from functools import partial

from ksql_spark.formats.self_described import SelfDescribed


def _json(data: bytes) -> str:
    text = data.decode()
    if not isinstance(json.loads(text), (dict, list)):
        raise ValueError("a bare value is no evidence of JSON")
    return text


def _number(layout: str) -> Callable[[bytes], str]:
    return lambda data: str(struct.unpack(layout, data)[0])


def _text(data: bytes) -> str:
    text = data.decode()
    if any(ord(c) < 32 and c not in "\t\r\n" for c in text):
        raise ValueError("control characters")
    return text


#: formats whose records name a schema
REGISTERED = ("AVRO", "PROTOBUF", "JSON_SR")
#: name -> decoder, which raises ValueError or struct.error if the bytes do not match; in order of preference
CANDIDATES: dict[str, Callable[[bytes], str]] = {
    "JSON": _json,
    "KAFKA_INT": _number(">i"),
    "KAFKA_BIGINT": _number(">q"),
    "KAFKA_DOUBLE": _number(">d"),
    "KAFKA_STRING": _text,
}


def _windowed(data: bytes) -> str:
    """A key followed by 8 bytes that are a plausible window start (epoch ms): ``[key@start/-]``."""
    (start,) = struct.unpack(">q", data[-8:])
    if not 0 <= start < 32_503_680_000_000:  # the year 3000
        raise ValueError("no window")
    for read in CANDIDATES.values():
        try:
            return f"[{read(data[:-8])}@{start}/-]"
        except (ValueError, struct.error):
            continue
    raise ValueError("no key")


def _session(data: bytes) -> str:
    """A key followed by 16 bytes, a session's end and start (epoch ms): ``[key@start/end]``."""
    end, start = struct.unpack(">qq", data[-16:])
    if not 0 <= start <= end < 32_503_680_000_000:
        raise ValueError("no session")
    for read in CANDIDATES.values():
        try:
            return f"[{read(data[:-16])}@{start}/{end}]"
        except (ValueError, struct.error):
            continue
    raise ValueError("no key")


class FormatDetector:
    """The formats that fit all the keys, or all the values, seen so far.

    ``shown`` renders records that name a schema, or None if there is no registry.
    """

    def __init__(self, *, is_key: bool, shown: SelfDescribed | None = None) -> None:
        self._readers: dict[str, Callable[[bytes], str]] = {}
        if shown is not None:
            self._readers |= {name: partial(shown.text, name) for name in REGISTERED}
        self._readers |= CANDIDATES
        if is_key:
            self._readers["SESSION windowed key"] = _session
            self._readers["TUMBLING or HOPPING windowed key"] = _windowed
        self._seen = False

    def show(self, data: bytes | None) -> str:
        """``data`` as text; rules out formats that do not match it."""
        if data is None:
            return "<null>"
        self._seen = True
        texts: dict[str, str] = {}
        for name, read in self._readers.items():
            try:
                texts[name] = read(data)
            except (ValueError, struct.error):
                continue
        if not texts:
            return f"<{len(data)} bytes: {data[:32].hex()}{'…' if len(data) > 32 else ''}>"
        self._readers = {name: self._readers[name] for name in texts}
        return next(iter(texts.values()))

    @property
    def names(self) -> tuple[str, ...]:
        """The remaining formats, most likely first; empty before the first bytes."""
        return tuple(self._readers) if self._seen else ()

    def __str__(self) -> str:
        if not self._seen:
            return "¯\\_(ツ)_/¯ - no data processed"
        return " or ".join(self._readers)
