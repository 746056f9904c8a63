"""Columns proposed from sample records, for CREATE … WITH (INFER = 'sample').

If records differ, the type is the narrowest one that fits all of them: BIGINT, DOUBLE, finally STRING, which
fits anything. Members that some records lack also become columns.
"""

from __future__ import annotations

import csv
import io
import json
import re
import struct
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from uuid import UUID

from ksql_spark.formats.base import BadRecord
from ksql_spark.formats.detection import CANDIDATES, FormatDetector
from ksql_spark.formats.framed import unframed
from ksql_spark.formats.protobuf.format import ProtobufSerde, message_name
from ksql_spark.formats.registered import NotConvertible
from ksql_spark.formats.self_described import SelfDescribed
from ksql_spark.schema_registry import RegisteredSchema, SchemaRegistry
from ksql_spark.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DOUBLE,
    INTEGER,
    STRING,
    Array,
    Decimal,
    Field,
    Map,
    SqlType,
    Struct,
)

_LONG = range(-(2**63), 2**63)
_MAX_DIGITS = 38
#: an object with more members than this, all of one type, is a MAP
_MAX_FIELDS = 100
_WHOLE = re.compile(r"-?(0|[1-9]\d*)")
_FRACTION = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?")
#: FormatDetector's names for the format KAFKA, most likely first, and their types
_KAFKA: dict[str, SqlType] = {
    "KAFKA_STRING": STRING,
    "KAFKA_INT": INTEGER,
    "KAFKA_BIGINT": BIGINT,
    "KAFKA_DOUBLE": DOUBLE,
}


class Sample(NamedTuple):
    """A record."""

    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()


@dataclass(frozen=True)
class Proposal:
    """The columns proposed for a key or value.

    Args:
        fields: the columns of a record, or one without a name for a bare value.
        read: the number of samples that they come from.
    """

    fields: tuple[Field, ...]
    read: int

    @property
    def is_bare(self) -> bool:
        """Whether it is a bare value."""
        return len(self.fields) == 1 and not self.fields[0].name


def guessed(samples: Iterable[bytes], registry: SchemaRegistry | None) -> str | None:
    """The format that fits all samples; samples that fit none are ignored. None if no others are left."""
    guess = FormatDetector(is_key=False, shown=None if registry is None else SelfDescribed(registry))
    for data in samples:
        guess.show(data)
    if not guess.names:
        return None
    first = guess.names[0]
    return "KAFKA" if first in _KAFKA else first


def propose(format_: str, samples: Sequence[bytes], delimiter: str | None) -> Proposal | None:
    """The columns of JSON, DELIMITED or KAFKA; None if no sample is in this format."""
    if format_ == "JSON":
        return _of_json(samples)
    if format_ == "DELIMITED":
        return _of_lines(samples, delimiter or ",")
    if format_ == "KAFKA":
        return _of_kafka(samples)
    raise ValueError(f"{format_} does not say what its columns are called")


def schema_of(
    format_: str, samples: Sequence[bytes], registry: SchemaRegistry
) -> tuple[RegisteredSchema, str | None] | None:
    """The newest schema that samples name, and for PROTOBUF the message; None if they name none.

    Raises:
        KsqlError: the registry does not respond.
    """
    bodies: dict[int | UUID, bytes] = {}
    for data in samples:
        try:
            schema_id, body = unframed(data)
        except BadRecord:
            continue
        bodies[schema_id] = body
    # ids increase; GUIDs do not
    numbers = sorted(i for i in bodies if isinstance(i, int))
    guids: list[int | UUID] = [i for i in bodies if not isinstance(i, int)]
    for schema_id in (guids + numbers)[::-1]:
        schema = registry.cached(schema_id)
        if schema is not None:
            try:
                name = message_name(schema, bodies[schema_id]) if format_ == ProtobufSerde.name else None
            except (BadRecord, NotConvertible):
                continue
            return schema, name
    return None


# ---- JSON -----------------------------------------------------------------------------------------------


def _of_json(samples: Sequence[bytes]) -> Proposal | None:
    shape = _Shape()
    count = 0
    for data in samples:
        try:
            value = json.loads(data)
            shape.add(value)
        except (ValueError, RecursionError):
            continue
        count += 1
    type_ = shape.type(is_whole=True)
    if type_ is None:
        return None
    return Proposal(type_.fields if isinstance(type_, Struct) else (Field("", type_),), count)


class _Shape:
    """The types of all added JSON values."""

    def __init__(self) -> None:
        self._scalars: set[SqlType] = set()
        self._element: _Shape | None = None
        self._members: dict[str, _Shape] | None = None

    def add(self, value: Any) -> None:
        match value:
            case None:
                pass
            case list():
                self._element = self._element or _Shape()
                for item in value:
                    self._element.add(item)
            case dict():
                if self._members is None:
                    self._members = {}
                for name, item in value.items():
                    self._members.setdefault(name, _Shape()).add(item)
            case _:
                self._scalars.add(_scalar(value))

    def type(self, *, is_whole: bool = False) -> SqlType | None:
        """The narrowest type of all values; None if all are null."""
        kinds = bool(self._scalars) + (self._element is not None) + (self._members is not None)
        if kinds == 0:
            return None
        if kinds > 1:
            return STRING
        if self._element is not None:
            return Array(self._element.type() or STRING)
        if self._members is None:
            return _widest(self._scalars)
        if not is_whole and (not self._members or len(self._members) > _MAX_FIELDS):
            one = _Shape.of(self._members.values())
            return Map(STRING, one.type() or STRING)
        return Struct(tuple(Field(n, m.type() or STRING) for n, m in _named(self._members).items() if n))

    @staticmethod
    def of(others: Iterable[_Shape]) -> _Shape:
        """The shape of all values together."""
        whole = _Shape()
        for other in others:
            whole._scalars |= other._scalars
            if other._element is not None:
                parts = [whole._element] if whole._element is not None else []
                whole._element = _Shape.of([*parts, other._element])
            if other._members is not None:
                if whole._members is None:
                    whole._members = {}
                for name, member in other._members.items():
                    parts = [whole._members[name]] if name in whole._members else []
                    whole._members[name] = _Shape.of([*parts, member])
        return whole


def _named(members: Mapping[str, _Shape]) -> dict[str, _Shape]:
    """Column names: in upper case, which matches members in any case, unless two would be the same."""
    counts = Counter(name.upper() for name in members)
    return {name.upper() if counts[name.upper()] == 1 else name: shape for name, shape in members.items()}


def _scalar(value: Any) -> SqlType:
    if isinstance(value, bool):
        return BOOLEAN
    if isinstance(value, int):
        digits = len(str(abs(value)))
        return BIGINT if value in _LONG else Decimal(digits, 0) if digits <= _MAX_DIGITS else STRING
    return DOUBLE if isinstance(value, float) else STRING


def _widest(types: set[SqlType]) -> SqlType:
    digits = [t.precision for t in types if isinstance(t, Decimal)]
    numbers = {t for t in types if not isinstance(t, Decimal)}
    if numbers | {BIGINT, DOUBLE} == {BIGINT, DOUBLE}:
        if DOUBLE in numbers:
            return DOUBLE
        return Decimal(max(19, *digits), 0) if digits else BIGINT
    return next(iter(types)) if len(types) == 1 else STRING


# ---- other formats --------------------------------------------------------------------------------------


def _of_lines(samples: Sequence[bytes], delimiter: str) -> Proposal | None:
    lines = []
    for data in samples:
        try:
            fields = next(csv.reader(io.StringIO(data.decode(), newline=""), delimiter=delimiter), [])
        except (ValueError, csv.Error):
            continue
        lines.append(fields)
    if not lines:
        return None
    ((size, _),) = Counter(map(len, lines)).most_common(1)
    lines = [line for line in lines if len(line) == size]
    columns = [_widest({_text_type(line[i]) for line in lines if line[i]} or {STRING}) for i in range(size)]
    return Proposal(tuple(Field(f"COL{i}", type_) for i, type_ in enumerate(columns, 1)), len(lines))


def _text_type(text: str) -> SqlType:
    if _WHOLE.fullmatch(text):
        return _scalar(int(text)) if len(text) <= _MAX_DIGITS else STRING
    if _FRACTION.fullmatch(text):
        return DOUBLE
    return BOOLEAN if text in ("true", "false") else STRING


def _of_kafka(samples: Sequence[bytes]) -> Proposal | None:
    if not samples:
        return None
    for name, type_ in _KAFKA.items():
        if all(_fits(name, data) for data in samples):
            return Proposal((Field("", type_),), len(samples))
    return Proposal((Field("", BYTES),), len(samples))


def _fits(name: str, data: bytes) -> bool:
    try:
        CANDIDATES[name](data)
    except (ValueError, struct.error):
        return False
    return True
