"""Schemas that were registered as serialized descriptors, as .proto files.

Some serializers register these, in base64; some registries give them back as they are.
"""

from __future__ import annotations

import base64
import binascii
import re

from ksql_spark.formats.base import BadRecord
from ksql_spark.formats.protobuf_wire import fields_of
from ksql_spark.formats.registered import NotConvertible

_BASE64 = re.compile(r"[A-Za-z0-9+/\s]+={0,2}\s*")
#: numbers of field types (descriptor.proto) -> names; 11 and 14 are messages and enums, which have own names
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
_REPEATED = 3
_MAP_ENTRY = 7


def proto_text(text: str) -> str:
    """``text``, a .proto file; or the .proto file of the descriptor that it is.

    Raises:
        NotConvertible: it is neither.
    """
    if not _BASE64.fullmatch(text):
        return text
    try:
        file = _Parts(base64.b64decode(text, validate=False))
        syntax, package = file.text(12) or "proto2", file.text(2)
        lines = [f'syntax = "{syntax}";', *([f"package {package};"] if package else [])]
        lines += [f'import "{path.decode()}";' for path in file.all(3)]
        lines += [_message(_Parts(m)) for m in file.all(4)] + [_enum(_Parts(e)) for e in file.all(5)]
    except (binascii.Error, BadRecord, UnicodeDecodeError, IndexError, KeyError) as error:
        raise NotConvertible(f"it is no Protobuf schema: {error}") from None
    return "\n".join(lines)


class _Parts:
    """The fields of a message by their numbers."""

    def __init__(self, data: bytes) -> None:
        self._found: dict[int, list[int | bytes]] = {}
        for number, _, value in fields_of(data):
            self._found.setdefault(number, []).append(value)

    def all(self, number: int) -> list[bytes]:
        return [v for v in self._found.get(number, []) if isinstance(v, bytes)]

    def text(self, number: int) -> str:
        return (self.all(number) or [b""])[-1].decode()

    def number(self, number: int) -> int | None:
        value = self._found.get(number, [None])[-1]
        return value if isinstance(value, int) else None


def _message(message: _Parts) -> str:
    nested = [_Parts(n) for n in message.all(3)]
    entries = {n.text(1): n for n in nested if any(_Parts(o).number(_MAP_ENTRY) for o in n.all(7))}
    lines = [_message(n) for n in nested if n.text(1) not in entries]
    lines += [_enum(_Parts(e)) for e in message.all(4)]
    one_ofs = [_Parts(o).text(1) for o in message.all(8)]
    members: dict[int, list[str]] = {}
    for field in map(_Parts, message.all(2)):
        index = field.number(9)
        if index is None or field.number(17):
            lines.append(_field(field, entries))
        else:
            members.setdefault(index, []).append(f"{_type(field)} {field.text(1)} = {field.number(3)};")
    lines += [f"oneof {one_ofs[i]} {{ {' '.join(fields)} }}" for i, fields in members.items()]
    return f"message {message.text(1)} {{ {' '.join(lines)} }}"


def _field(field: _Parts, entries: dict[str, _Parts]) -> str:
    name, label = field.text(1), ""
    type_ = _type(field)
    entry = entries.get(type_.rpartition(".")[2])
    if entry is not None:
        key, value = sorted(map(_Parts, entry.all(2)), key=lambda f: f.number(3) or 0)
        type_ = f"map<{_type(key)}, {_type(value)}>"
    elif field.number(4) == _REPEATED:
        label = "repeated "
    elif field.number(17):
        label = "optional "
    return f"{label}{type_} {name} = {field.number(3)};"


def _type(field: _Parts) -> str:
    return field.text(6) or _TYPES[field.number(5) or 0]


def _enum(enum: _Parts) -> str:
    values = " ".join(f"{v.text(1)} = {v.number(2) or 0};" for v in map(_Parts, enum.all(2)))
    return f"enum {enum.text(1)} {{ {values} }}"
