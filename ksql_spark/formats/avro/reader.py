"""Decodes Avro's binary encoding to SQL values: each record with its own writer's schema, as in
AvroDecoder.java.

fastavro, which writes records, does not read them here, because it trusts its input: a damaged record may
make it use all memory, end the process, or read a union branch that does not exist.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal as PythonDecimal
from typing import Any

from ksql_spark.formats.avro.schema import branch_name, is_decimal, per_millisecond
from ksql_spark.formats.base import BadRecord
from ksql_spark.formats.number_text import fit_decimal, in_range, whole_of_bytes
from ksql_spark.formats.utf8 import replaced
from ksql_spark.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    EXACT,
    INTEGER,
    STRING,
    TIME,
    TIMESTAMP,
    Array,
    Decimal,
    Map,
    SqlType,
    Struct,
)

_INT, _LONG = range(-(2**31), 2**31), range(-(2**63), 2**63)
#: the maximum size of a number, in bits
_NUMBER_BITS = 64
_WHOLE = "It"
_MICROS = 1000
#: units of longs that count fractions of a millisecond
_TIMES = (TIMESTAMP, TIME, INTEGER)


class Input:
    """Input bytes, read from the start; all methods raise BadRecord if the bytes do not match."""

    __slots__ = ("at", "data")

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    @property
    def remaining(self) -> int:
        """The number of remaining bytes."""
        return len(self.data) - self.at

    def number(self) -> int:
        """Read a long."""
        data, at, value, shift = self.data, self.at, 0, 0
        while shift < _NUMBER_BITS:
            if at >= len(data):
                raise _ended()
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                self.at = at
                value &= (1 << _NUMBER_BITS) - 1
                return value >> 1 ^ -(value & 1)
            shift += 7
        raise BadRecord("A number is too long.")

    def integer(self) -> int:
        """Read an int."""
        value = self.number()
        if value not in _INT:
            raise BadRecord("A number does not fit INT.")
        return value

    def take(self, size: int) -> bytes:
        """Read the next ``size`` bytes."""
        if not 0 <= size <= self.remaining:
            raise _ended()
        self.at += size
        return self.data[self.at - size : self.at]

    def bytes(self) -> bytes:
        """Read bytes after their length."""
        return self.take(self.number())

    def block(self) -> int:
        """The number of items in the next block of an array or map; 0 at the end."""
        count = self.number()
        if count < 0:
            count = -count
            self.number()  # the block's size, for readers that skip it
        if count > self.remaining:  # an item has at least one byte
            raise _ended()
        return count

    def index(self, count: int) -> int:
        """The index of a union's branch or of an enum's symbol."""
        index = self.integer()
        if not 0 <= index < count:
            raise BadRecord(f"There is no choice number {index}.")
        return index


def _ended() -> BadRecord:
    return BadRecord("It ends too early.")


Read = Callable[[Input], Any]


class Readers:
    """Creates readers for one writer's schema.

    Args:
        root: the schema, from avro_schema.parse.
        types: the named types in it.
    """

    def __init__(self, root: Any, types: Mapping[str, Any]) -> None:
        self._root = root
        self._types = types

    def reader(self, type_: SqlType) -> Callable[[bytes], Any]:
        """Reads a whole record as ``type_``; raises BadRecord."""
        read = self._reader(self._root, type_, _WHOLE)

        def whole(data: bytes) -> Any:
            source = Input(data)
            try:
                value = read(source)
            except RecursionError:
                raise BadRecord("It is nested too deeply.") from None
            if source.remaining:
                raise BadRecord("There are bytes after its end.")
            return value

        return whole

    def of(self, schema: Any) -> Any:
        """The schema as an object or a list of branches; names are looked up."""
        while True:
            if isinstance(schema, str):
                if schema not in self._types:
                    return {"type": schema}
                schema = self._types[schema]
            elif isinstance(schema, dict) and not isinstance(schema["type"], str):
                schema = schema["type"]
            elif isinstance(schema, dict) and schema["type"] in self._types:
                schema = self._types[schema["type"]]
            else:
                return schema

    def _reader(self, schema: Any, type_: SqlType, path: str) -> Read:
        resolved = self.of(schema)
        if isinstance(resolved, list):
            return self._union(resolved, type_, path)
        match resolved["type"], type_:
            case "record" | "error", Struct():
                return self._record(resolved, type_, path)
            case "array", Array(element):
                return _array(self._reader(resolved["items"], element, path))
            case "array", Map() if self._is_entry(entry := self.of(resolved["items"])):
                return self._entries(entry, type_, path)
            case "map", Map(_, value):
                return _map(self._reader(resolved["values"], value, path))
        plain = _plain(resolved, type_)
        if plain is not None:
            return plain
        reason = f"{path} is of the Avro type {resolved['type']}, which does not fit {type_}."

        def mismatch(_: Input) -> Any:
            # only records with the value are bad: it may be one branch of a union
            raise BadRecord(reason)

        return mismatch

    def _record(self, schema: Any, type_: Struct, path: str) -> Read:
        theirs = schema["fields"]
        named: dict[int, str] = {}
        reads: dict[int, Read] = {}
        for own in type_.fields:
            at = _position([f["name"] for f in theirs], own.name)
            if at is not None and (at not in named or theirs[at]["name"] == own.name):
                named[at] = own.name
                place = ("The field " if path == _WHOLE else f"{path}.") + theirs[at]["name"]
                reads[at] = self._reader(theirs[at]["type"], own.type, place)
        steps = [(named.get(i), reads.get(i), f["type"]) for i, f in enumerate(theirs)]
        names = [f.name for f in type_.fields]

        def record(source: Input) -> dict[str, Any]:
            values: dict[str, Any] = dict.fromkeys(names)
            for name, read, skipped in steps:
                if read is None or name is None:
                    self._skip(source, skipped)
                else:
                    values[name] = read(source)
            return values

        return record

    def _union(self, branches: Sequence[Any], type_: SqlType, path: str) -> Read:
        is_nullable = len(branches) == 2 and any(map(self._is_null, branches))
        if not is_nullable and isinstance(type_, Struct) and self._is_union_of(type_, branches):
            reads = [self._alternative(b, type_, path) for b in branches]
        else:
            reads = [_null if self._is_null(b) else self._reader(b, type_, path) for b in branches]
        return lambda source: reads[source.index(len(reads))](source)

    def _alternative(self, branch: Any, type_: Struct, path: str) -> Read:
        """Return a reader of a union's branch; as in Connect, a union is a STRUCT with a field per type."""
        if self._is_null(branch):
            return _null
        names = [f.name for f in type_.fields]
        at = _position(names, branch_name(self.of(branch)))
        read = None if at is None else self._reader(branch, type_.fields[at].type, path)

        def alternative(source: Input) -> dict[str, Any]:
            values: dict[str, Any] = dict.fromkeys(names)
            if read is None or at is None:
                self._skip(source, branch)
            else:
                values[names[at]] = read(source)
            return values

        return alternative

    def _entries(self, entry: Any, type_: Map, path: str) -> Read:
        """Connect's form of maps whose keys are not plain strings: an array of key and value."""
        kinds = {f["name"]: f["type"] for f in entry["fields"]}
        keys = self._reader(kinds["key"], type_.key, path)
        values = self._reader(kinds["value"], type_.value, path)
        key_first = entry["fields"][0]["name"] == "key"

        def entries(source: Input) -> dict[Any, Any]:
            result = {}
            while count := source.block():
                for _ in range(count):
                    first, second = (keys, values) if key_first else (values, keys)
                    pair = first(source), second(source)
                    key, value = pair if key_first else pair[::-1]
                    if key is None:
                        raise BadRecord("The key of a map is null.")
                    result[key] = value
            return result

        return entries

    def _is_null(self, schema: Any) -> bool:
        resolved = self.of(schema)
        return isinstance(resolved, dict) and resolved["type"] == "null"

    def _is_union_of(self, type_: Struct, branches: Sequence[Any]) -> bool:
        names = {branch_name(self.of(b)).upper() for b in branches}
        return all(f.name.upper() in names for f in type_.fields)

    @staticmethod
    def _is_entry(schema: Any) -> bool:
        if not isinstance(schema, dict) or schema["type"] != "record":
            return False
        is_named = schema.get("connect.internal.type") == "MapEntry"
        is_named = is_named or schema["name"].rpartition(".")[2] == "MapEntry"
        return is_named and {f["name"] for f in schema["fields"]} == {"key", "value"}

    def _skip(self, source: Input, schema: Any) -> None:
        """Skip a value."""
        resolved = self.of(schema)
        if isinstance(resolved, list):
            self._skip(source, resolved[source.index(len(resolved))])
            return
        match resolved["type"]:
            case "int" | "long" | "enum":
                source.number()
            case "string" | "bytes":
                source.bytes()
            case "record" | "error":
                for field in resolved["fields"]:
                    self._skip(source, field["type"])
            case "array":
                while count := source.block():
                    for _ in range(count):
                        self._skip(source, resolved["items"])
            case "map":
                while count := source.block():
                    for _ in range(count):
                        source.bytes()
                        self._skip(source, resolved["values"])
            case "fixed":
                source.take(resolved["size"])
            case kind:
                source.take({"boolean": 1, "float": 4, "double": 8}.get(kind, 0))


def _null(_: Input) -> None:
    return None


def _position(names: Sequence[str], name: str) -> int | None:
    """The position of a name, or of the name in another case."""
    if name in names:
        return names.index(name)
    return next((i for i, n in enumerate(names) if n.upper() == name.upper()), None)


def _array(item: Read) -> Read:
    def array(source: Input) -> list[Any]:
        items = []
        while count := source.block():
            items += [item(source) for _ in range(count)]
        return items

    return array


def _map(value: Read) -> Read:
    def map_(source: Input) -> dict[str, Any]:
        entries = {}
        while count := source.block():
            for _ in range(count):
                key = _text(source)
                entries[key] = value(source)
        return entries

    return map_


def _text(source: Input) -> str:
    return replaced(source.bytes())


def _truth(source: Input) -> bool:
    return source.take(1) != b"\0"


def _single(source: Input) -> float:
    return float(struct.unpack("<f", source.take(4))[0])


def _double(source: Input) -> float:
    return float(struct.unpack("<d", source.take(8))[0])


def _plain(schema: Mapping[str, Any], type_: SqlType) -> Read | None:
    """Reads a value that is neither nested nor a union; None if it does not match ``type_``."""
    kind = schema["type"]
    if kind in ("bytes", "fixed"):
        return _of_bytes(schema, type_)
    if kind == "enum" and type_ == STRING:
        symbols = schema["symbols"]
        return lambda source: symbols[source.index(len(symbols))]
    if kind == "long":
        return _of_long(schema, type_)
    readers: dict[str, dict[SqlType, Read]] = {
        "boolean": {BOOLEAN: _truth, STRING: lambda source: str(_truth(source)).lower()},
        "int": {
            **dict.fromkeys((INTEGER, BIGINT, DATE), Input.integer),
            TIME: lambda source: in_range(source.integer(), TIME),
            DOUBLE: lambda source: float(source.integer()),
            STRING: lambda source: str(source.integer()),
        },
        "float": {DOUBLE: _single},
        "double": {DOUBLE: _double},
        "string": {STRING: _text, BYTES: Input.bytes},
    }
    return readers.get(kind, {}).get(type_)


def _of_long(schema: Mapping[str, Any], type_: SqlType) -> Read | None:
    parts = per_millisecond(schema, TIME if type_ == INTEGER else type_) if type_ in _TIMES else None

    def milliseconds(source: Input) -> int:
        value = source.number() // (parts or 1)
        if value * _MICROS not in _LONG:
            raise BadRecord("long overflow")
        return value

    def time(source: Input) -> int:
        return in_range(source.number() // (parts or 1), TIME)

    def integer(source: Input) -> int:
        value = source.number()
        cut = abs(value) // (parts or 1) * (1 if value >= 0 else -1)
        if cut not in _INT:
            raise BadRecord("integer overflow")
        return cut

    if type_ in (TIME, INTEGER):
        return None if parts is None else time if type_ == TIME else integer
    readers: dict[SqlType, Read] = {
        BIGINT: Input.number,
        DOUBLE: lambda source: float(source.number()),
        STRING: lambda source: str(source.number()),
        TIMESTAMP: milliseconds,
    }
    return readers.get(type_)


def _of_bytes(schema: Mapping[str, Any], type_: SqlType) -> Read | None:
    size = schema.get("size")
    take: Read = Input.bytes if size is None else lambda source: source.take(size)
    if isinstance(type_, Decimal):
        if not is_decimal(schema):
            return None
        scale = int(schema.get("scale", 0))

        def decimal(source: Input) -> PythonDecimal:
            digits = take(source)
            if not digits:
                raise BadRecord("A decimal has no digits.")
            return fit_decimal(whole_of_bytes(digits).scaleb(-scale, EXACT), type_)

        return decimal
    if type_ == BYTES:
        return take
    return _text if type_ == STRING and size is None and not is_decimal(schema) else None
