"""The bytes of Protobuf messages: numbers and fields.

Own code, because the library ``protobuf`` does not fit: it reads descriptors but no .proto files; it refuses
a file from which one type is missing, where we read the other fields; and it refuses damaged records that
ProtobufDecoder.java reads (10 of 10,000 of the fuzz test's). It would replace only this module.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ksql_spark.formats.base import BadRecord

#: wire types: a number of one to ten bytes, eight bytes, a length and as many bytes, four bytes
VARINT, EIGHT, LENGTH, GROUP, GROUP_END, FOUR = range(6)
#: the maximum nesting of groups, as in Google's library
_MAX_NESTED = 100


def varint(number: int) -> bytes:
    """A number with seven bits per byte."""
    number &= (1 << 64) - 1
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """A number and its end position.

    Raises:
        BadRecord: it does not end.
    """
    number = shift = 0
    while at < len(data) and shift < 70:
        byte = data[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if not byte & 0x80:
            return number & ((1 << 64) - 1), at
        shift += 7
    raise BadRecord("It is not a Protobuf message: it ends within a number.")


def zigzag(number: int) -> int:
    """Encode a signed number as unsigned."""
    return number << 1 ^ number >> 63


def unzigzag(number: int) -> int:
    """The inverse of ``zigzag``."""
    return number >> 1 ^ -(number & 1)


def signed(number: int, bits: int) -> int:
    """A number in two's complement."""
    number &= (1 << bits) - 1
    return number - (1 << bits) if number >> (bits - 1) else number


def fields_of(data: bytes) -> Iterator[tuple[int, int, Any]]:
    """Number, kind and contents of each field: an int, or bytes.

    Raises:
        BadRecord: ``data`` is not a message.
    """
    at = 0
    #: numbers of the open groups
    groups: list[int] = []
    while at < len(data):
        tag, at = read_varint(data, at)
        tag &= 0xFFFFFFFF
        number, wire = tag >> 3, tag & 7
        value: Any = None
        if number == 0:
            raise BadRecord("It is not a Protobuf message: a field has the number 0.")
        if wire == VARINT:
            value, at = read_varint(data, at)
        elif wire in (EIGHT, FOUR, LENGTH):
            size = 8 if wire == EIGHT else 4
            if wire == LENGTH:
                size, at = read_varint(data, at)
            value, at = data[at : at + size], at + size
        elif wire == GROUP:
            groups.append(number)
            if len(groups) > _MAX_NESTED:
                raise BadRecord("It is not a Protobuf message: it is nested too deeply.")
        elif wire == GROUP_END:
            if not groups or groups.pop() != number:
                raise BadRecord("It is not a Protobuf message: a group ends that has not begun.")
        else:
            raise BadRecord(f"It is not a Protobuf message: there is no wire type {wire}.")
        if at > len(data):
            raise BadRecord("It is not a Protobuf message: it ends too early.")
        if not groups and value is not None:
            yield number, wire, value
    if groups:
        raise BadRecord("It is not a Protobuf message: it ends too early.")
