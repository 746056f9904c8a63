"""Converts schemas that were registered as serialized descriptors to .proto files.

Some serializers register descriptors, in base64, and some registries return them unchanged.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Mapping

from ksql_spark.formats.base import BadRecord
from ksql_spark.formats.protobuf.wire import fields_of
from ksql_spark.formats.registered import NotConvertible

_BASE64 = re.compile(r"[A-Za-z0-9+/\s]++={0,2}\s*+")
#: field type numbers (descriptor.proto) -> names; 11 and 14 are messages and enums, which have their own
#: names
_TYPES = {
    number: name
    for number, name in enumerate(
        (
            *("double", "float", "int64", "uint64", "int32", "fixed64", "fixed32", "bool", "string"),
            *("group", "", "bytes", "uint32", "", "sfixed32", "sfixed64", "sint32", "sint64"),
        ),
        1,
    )
}
#: strings, which stay unchanged; comments; non-decimal numbers
_LITERAL = re.compile(
    r"""("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')|(//[^\n]*|/\*.*?\*/)"""
    r"|(?<![\w.])(0[xX][0-9a-fA-F]+)(?![\w.])",
    re.S,
)
_OPTIONAL, _REQUIRED, _REPEATED = 1, 2, 3
_MAP_ENTRY = 7
#: the number of Confluent's field option
_FIELD_META = 1088


def proto_text(text: str) -> str:
    """``text`` if it is a .proto file, or the .proto file of the descriptor in it.

    Raises:
        NotConvertible: it is neither.
    """
    if not _BASE64.fullmatch(text):
        return _LITERAL.sub(_simple, text.removeprefix("\ufeff"))
    try:
        file = _Parts(base64.b64decode(text, validate=False))
        # a file of an edition differs from proto2 in ways that are irrelevant here
        syntax, package = "proto3" if file.text(12) == "proto3" else "proto2", file.text(2)
        lines = [f'syntax = "{syntax}";', *([f"package {package};"] if package else [])]
        lines += [f'import "{path.decode()}";' for path in file.all(3)]
        labels: dict[int | None, str] = {_REPEATED: "repeated "}
        if syntax == "proto2":
            labels |= {_OPTIONAL: "optional ", _REQUIRED: "required "}
        lines += [_message(_Parts(m), labels) for m in file.all(4)]
        lines += [_enum(_Parts(e)) for e in file.all(5)]
    except (binascii.Error, BadRecord, UnicodeDecodeError, IndexError, KeyError) as error:
        raise NotConvertible(f"it is not a valid Protobuf schema: {error}") from None
    return "\n".join(lines)


def _simple(match: re.Match[str]) -> str:
    """A form that all parsers accept: a space for a comment, a decimal number."""
    text, comment, number = match.groups()
    if comment:
        return " " + "\n" * comment.count("\n")
    return str(text or int(number, 16))


class _Parts:
    """The fields of a message by their numbers."""

    def __init__(self, data: bytes) -> None:
        self._by_number: dict[int, list[int | bytes]] = {}
        for number, _, value in fields_of(data):
            self._by_number.setdefault(number, []).append(value)

    def all(self, number: int) -> list[bytes]:
        return [v for v in self._by_number.get(number, []) if isinstance(v, bytes)]

    def text(self, number: int) -> str:
        return (self.all(number) or [b""])[-1].decode()

    def number(self, number: int) -> int | None:
        value = self._by_number.get(number, [None])[-1]
        return value if isinstance(value, int) else None


def _message(message: _Parts, labels: Mapping[int | None, str]) -> str:
    nested = [_Parts(n) for n in message.all(3)]
    entries = {n.text(1): n for n in nested if any(_Parts(o).number(_MAP_ENTRY) for o in n.all(7))}
    # including those of maps: records identify messages by their positions among all of them
    lines = [_message(n, labels) for n in nested]
    lines += [_enum(_Parts(e)) for e in message.all(4)]
    one_ofs = [_Parts(o).text(1) for o in message.all(8)]
    members: dict[int, list[str]] = {}
    for field in map(_Parts, message.all(2)):
        index = field.number(9)
        if index is None or field.number(17):
            lines.append(_field(field, entries, labels))
        else:
            members.setdefault(index, []).append(f"{_type(field)} {field.text(1)} = {field.number(3)};")
    lines += [f"oneof {one_ofs[i]} {{ {' '.join(fields)} }}" for i, fields in members.items()]
    return f"message {message.text(1)} {{ {' '.join(lines)} }}"


def _field(field: _Parts, entries: dict[str, _Parts], labels: Mapping[int | None, str]) -> str:
    name, label = field.text(1), "optional " if field.number(17) else labels.get(field.number(4), "")
    type_ = _type(field)
    entry = entries.get(type_.rpartition(".")[2])
    if entry is not None:
        key, value = sorted(map(_Parts, entry.all(2)), key=lambda f: f.number(3) or 0)
        label, type_ = "", f"map<{_type(key)}, {_type(value)}>"
    return f"{label}{type_} {name} = {field.number(3)}{_params(field)};"


def _params(field: _Parts) -> str:
    """The option (confluent.field_meta).params, which has the precision and scale of a decimal."""
    pairs = [
        f"{{key: {json.dumps(pair.text(1))}, value: {json.dumps(pair.text(2))}}}"
        for options in field.all(8)
        for meta in _Parts(options).all(_FIELD_META)
        for pair in map(_Parts, _Parts(meta).all(2))
    ]
    return f" [(confluent.field_meta) = {{params: [{', '.join(pairs)}]}}]" if pairs else ""


def _type(field: _Parts) -> str:
    return field.text(6) or _TYPES[field.number(5) or 0]


def _enum(enum: _Parts) -> str:
    values = " ".join(f"{v.text(1)} = {v.number(2) or 0};" for v in map(_Parts, enum.all(2)))
    return f"enum {enum.text(1)} {{ {values} }}"
