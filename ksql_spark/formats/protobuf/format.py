"""PROTOBUF and PROTOBUF_NOSR: messages of the columns, with a registered schema or without (reference §5.2).

NULLs are omitted. If a schema cannot distinguish NULL from a type's default, as is the case unless
*_NULLABLE_REPRESENTATION says otherwise, it is read as that default.
"""

from __future__ import annotations

import datetime
import functools
import json
import struct
from collections.abc import Callable, Sequence
from decimal import Decimal as PythonDecimal
from typing import Any, ClassVar
from uuid import UUID

from ksql_spark.formats.base import BadRecord, Serde
from ksql_spark.formats.framed import FramedSerde
from ksql_spark.formats.number_text import fit_decimal, in_range, whole_of_bytes
from ksql_spark.formats.protobuf import schema as protobuf_schema
from ksql_spark.formats.protobuf.message import (
    DATE,
    DECIMAL,
    TIME,
    TIMESTAMP,
    WRAPPERS,
    FieldType,
    Message,
    ProtoField,
    proto_file,
)
from ksql_spark.formats.protobuf.wire import (
    EIGHT,
    FOUR,
    LENGTH,
    VARINT,
    fields_of,
    read_varint,
    signed,
    unzigzag,
    varint,
    zigzag,
)
from ksql_spark.formats.registered import NotConvertible
from ksql_spark.functions.spark_text import string
from ksql_spark.schema import Column
from ksql_spark.schema_registry import PROTOBUF, RegisteredSchema
from ksql_spark.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DOUBLE,
    EXACT,
    INTEGER,
    STRING,
    Array,
    Decimal,
    Map,
    SqlType,
    Struct,
    quote_identifier,
)
from ksql_spark.types import DATE as SQL_DATE
from ksql_spark.types import TIME as SQL_TIME
from ksql_spark.types import TIMESTAMP as SQL_TIMESTAMP

_WIRE = (
    dict.fromkeys(("int32", "int64", "uint32", "uint64", "sint32", "sint64", "bool"), VARINT)
    | dict.fromkeys(("fixed64", "sfixed64", "double"), EIGHT)
    | dict.fromkeys(("fixed32", "sfixed32", "float"), FOUR)
)
#: struct formats for values of eight or four bytes
_PACKED = {"double": "<d", "fixed64": "<Q", "sfixed64": "<q"}
_PACKED |= {"float": "<f", "fixed32": "<I", "sfixed32": "<i"}
_EPOCH = datetime.date(1970, 1, 1).toordinal()
_NANOS_PER_MS = 1_000_000
_DAYS_IN_400_YEARS = 146_097
#: the range of Java's dates
_LAST_YEAR = 999_999_999
_MS_PER_S = 1000


class ProtobufSerde(FramedSerde):
    """Messages after a frame, which also contains the path of the message in its schema."""

    name: ClassVar[str] = "PROTOBUF"

    @property
    def new_schema(self) -> str:
        """A message of the columns."""
        return protobuf_schema.write(self.columns, self.spec.full_name, self.spec.nullable)

    # ---- in Python -----------------------------------------------------------------------------------

    def encode_body(self, values: Sequence[Any]) -> bytes:
        """The path of the message, and the message; fields that are not columns are omitted."""
        file = proto_file(self._own)
        path = file.path(self.spec.full_name)
        place = b"\0" if path == (0,) else b"".join(varint(zigzag(i)) for i in (len(path), *path))
        return place + _encoded(file.at(path), self.columns, values)

    def decode_body(self, schema_id: int | UUID, body: bytes) -> list[Any] | None:
        """Decode with the schema and message that the record names."""
        path, at = _place(body)
        return _decoded(proto_file(self.writer(schema_id)).at(path), self.columns, body[at:])

    def decode(self, data: bytes) -> list[Any] | None:
        """See FramedSerde."""
        try:
            return super().decode(data)
        except NotConvertible as error:
            raise BadRecord(str(error)) from None

    @property
    def _own(self) -> RegisteredSchema:
        assert self.spec.schema is not None
        return RegisteredSchema(self.schema_id, PROTOBUF, self.spec.schema, dict(self.spec.references))

    # ---- in Spark SQL --------------------------------------------------------------------------------

    def decode_sql(self, data: str) -> str:
        """A call of ProtobufDecoder.java, with the columns in the function's name."""
        return _call("decode_protobuf", {"ddl": self.ddl}, data)

    def explain_sql(self, data: str) -> str:
        """Return text with the decoder's message about a bad record."""
        return _call("explain_protobuf", {"ddl": self.ddl}, data)

    def encode_sql(self, texts: Sequence[str]) -> str:
        """A call of ProtobufEncoder.java, with the schema in the function's name."""
        if not self.columns:
            return "cast(NULL as binary)"
        own = self._own
        configuration = {
            "id": self.schema_id,
            "path": list(proto_file(own).path(self.spec.full_name)),
            "schema": own.text,
            "references": list(own.references.values()),
        }
        return _call("encode_protobuf", configuration, _struct(self.columns, texts))


def message_name(schema: RegisteredSchema, body: bytes) -> str:
    """The full name of the message after a frame.

    Raises:
        BadRecord: the path cannot be read.
        NotConvertible: the schema does not contain it.
    """
    return proto_file(schema).at(_place(body)[0]).name


def _place(body: bytes) -> tuple[list[int], int]:
    """The path of a record's message in its schema, and where the message begins."""
    count, at = read_varint(body, 0)
    path = []
    if unzigzag(count) < 0:
        raise BadRecord("The place of its message cannot be read.")
    for _ in range(min(unzigzag(count), len(body))):
        index, at = read_varint(body, at)
        path.append(unzigzag(index))
    return path or [0], at


class ProtobufNoSrSerde(Serde):
    """Only the message of the columns, which reader and writer know."""

    name: ClassVar[str] = "PROTOBUF_NOSR"

    @property
    def ddl(self) -> str:
        """A single column is a message too, whether it is wrapped or not."""
        return super().ddl.removeprefix("=")

    @functools.cached_property
    def schema(self) -> str:
        """The message's schema, a .proto file."""
        return protobuf_schema.write(self.columns, None, self.spec.nullable)

    @functools.cached_property
    def _message(self) -> Message:
        return proto_file(RegisteredSchema(0, PROTOBUF, self.schema)).at((0,))

    def encode(self, values: Sequence[Any]) -> bytes | None:
        """A bare NULL becomes a null record."""
        if not self.columns or (not self.wrapped and values[0] is None):
            return None
        return _encoded(self._message, self.columns, values)

    def decode(self, data: bytes) -> list[Any] | None:
        """See Serde."""
        return _decoded(self._message, self.columns, data)

    def decode_sql(self, data: str) -> str:
        """A call of ProtobufDecoder.java, with columns and schema in the function's name."""
        return _call("decode_protobuf", {"ddl": self.ddl, "schema": self.schema}, data)

    def explain_sql(self, data: str) -> str:
        """Return text with the decoder's message about a bad record."""
        return _call("explain_protobuf", {"ddl": self.ddl, "schema": self.schema}, data)

    def encode_sql(self, texts: Sequence[str]) -> str:
        """A call of ProtobufEncoder.java, with the schema in the function's name."""
        if not self.columns:
            return "cast(NULL as binary)"
        encoded = _call("encode_protobuf", {"path": [0], "schema": self.schema}, _struct(self.columns, texts))
        return encoded if self.wrapped else f"if({texts[0]} IS NULL, NULL, {encoded})"


def _call(function: str, configuration: object, argument: str) -> str:
    return f"ksql.{quote_identifier(f'{function}:{json.dumps(configuration)}')}({argument})"


def _struct(columns: Sequence[Column], texts: Sequence[str]) -> str:
    members = ", ".join(f"{string(c.name)}, {t}" for c, t in zip(columns, texts, strict=True))
    return f"named_struct({members})"


# ---- reading -----------------------------------------------------------------------------------------

Reader = Callable[[Any], Any]


def _decoded(message: Message, columns: Sequence[Column], data: bytes) -> list[Any]:
    by_name = _message(message, [(c.name, c.type) for c in columns], data)
    return [by_name[c.name] for c in columns]


def _message(message: Message, columns: Sequence[tuple[str, SqlType]], data: bytes) -> dict[str, Any]:
    """The values of a message by column names or a STRUCT's field names."""
    values: dict[str, Any] = dict.fromkeys(name for name, _ in columns)
    readers: dict[int, Callable[[int, Any], None]] = {}
    alternatives = {f"{name}_{i}": fields for i, (name, fields) in enumerate(message.one_ofs)}
    fields = {f.name: f for _, group in message.one_ofs for f in group} | {f.name: f for f in message.fields}
    groups: list[tuple[str, Struct, tuple[ProtoField, ...]]] = []
    for name, type_ in columns:
        group = _named(alternatives, name)
        field = _named(fields, name)
        if field is not None:
            _add_field(field, name, type_, values, readers)
        elif group is not None and isinstance(type_, Struct):
            groups.append((name, type_, group))
            for inner in type_.fields:
                one = _named({f.name: f for f in group}, inner.name)
                if one is not None:
                    readers[one.number] = _alternative(values, name, type_, inner.name, one, inner.type)
        elif group is not None:
            raise _mismatch(name, f"oneof {name}", type_)
    for name, type_, group in groups:
        declared = dict.fromkeys(f.name for f in type_.fields)
        for field in group:
            if field.name.upper() not in map(str.upper, declared):
                readers[field.number] = _undeclared(values, name, declared, field, readers.get(field.number))
    for number, wire, value in fields_of(data):
        if number in readers:
            readers[number](wire, value)
    return values


def _add_field(
    field: ProtoField,
    name: str,
    type_: SqlType,
    values: dict[str, Any],
    readers: dict[int, Callable[[int, Any], None]],
) -> None:
    message = field.type.message
    if isinstance(type_, Map) and field.repeated and (field.key or (message and message.is_entry)):
        key, item = (field.key, field.type) if field.key else (f.type for f in message.fields)  # type: ignore[union-attr]
        entries: dict[Any, Any] = {}
        values[name] = entries
        readers[field.number] = _entry(entries, key, item, type_, name)
    elif isinstance(type_, Array) and field.repeated:
        items: list[Any] = []
        values[name] = items
        readers[field.number] = _item(items, field.type, type_.element, name)
    elif not field.repeated:
        read, kind = _reader(field.type, type_, name), _wire(field.type)
        if not field.presence:
            values[name] = _default(field.type, type_)
        elif field.default is not None:
            values[name] = _own_default(field, read)

        def single(wire: int, value: Any) -> None:
            if wire == kind:
                values[name] = read(value)

        readers[field.number] = single
    else:
        raise _mismatch(name, f"repeated {field.type.name}", type_)


def _alternative(
    values: dict[str, Any], name: str, struct_: Struct, inner: str, field: ProtoField, type_: SqlType
) -> Callable[[int, Any], None]:
    read, kind = _reader(field.type, type_, f"{name}.{inner}"), _wire(field.type)

    def one(wire: int, value: Any) -> None:
        if wire == kind:
            values[name] = {f.name: None for f in struct_.fields} | {inner: read(value)}

    return one


def _undeclared(
    values: dict[str, Any],
    name: str,
    nothing: dict[str, None],
    field: ProtoField,
    own: Callable[[int, Any], None] | None,
) -> Callable[[int, Any], None]:
    """An alternative for which the STRUCT has no field: then all its fields are NULL.

    ``own`` reads the column that is this alternative itself.
    """
    kind = _wire(field.type)

    def one(wire: int, value: Any) -> None:
        if wire == kind:
            values[name] = dict(nothing)
        if own is not None:
            own(wire, value)

    return one


def _item(items: list[Any], type_: FieldType, to: SqlType, path: str) -> Callable[[int, Any], None]:
    read, kind = _reader(type_, to, path), _wire(type_)

    def add(wire: int, value: Any) -> None:
        if wire == kind:
            items.append(read(value))
        elif wire == LENGTH:  # packed: all numbers in one field
            at = 0
            while at < len(value):
                if kind == VARINT:
                    one, at = read_varint(value, at)
                else:
                    size = 8 if kind == EIGHT else 4
                    one, at = value[at : at + size], at + size
                items.append(read(one))

    return add


def _entry(
    entries: dict[Any, Any], key: FieldType, item: FieldType, to: Map, path: str
) -> Callable[[int, Any], None]:
    parts = {1: (_wire(key), _reader(key, to.key, path)), 2: (_wire(item), _reader(item, to.value, path))}

    def add(wire: int, value: Any) -> None:
        if wire != LENGTH:
            return
        parts_by_number: dict[int, Any] = {1: _default(key, to.key), 2: _default(item, to.value)}
        for number, kind, part in fields_of(value):
            if number in parts and kind == parts[number][0]:
                parts_by_number[number] = parts[number][1](part)
        entries[parts_by_number[1]] = parts_by_number[2]

    return add


def _wire(type_: FieldType) -> int:
    return VARINT if type_.symbols is not None else _WIRE.get(type_.name, LENGTH)


def _default(type_: FieldType, to: SqlType) -> Any:
    """The value of a missing field of this type."""
    if type_.symbols is not None:
        return type_.symbols.get(0)
    if not type_.is_plain:
        return None
    if to == STRING:
        return {"string": "", "bytes": "", "bool": "false"}.get(type_.name, "0")
    defaults: dict[SqlType, Any] = {BOOLEAN: False, DOUBLE: 0.0, BYTES: b""}
    return defaults.get(to, 0)


def _own_default(field: ProtoField, read: Reader) -> Any:
    """The explicit default of a field in the schema; None if it is not a value of the field's type."""
    literal = str(getattr(field.default, "name", field.default))
    name, symbols = field.type.name, field.type.symbols
    try:
        if symbols is not None:
            return read({symbol: number for number, symbol in symbols.items()}[literal])
        if name in ("string", "bytes"):
            text = literal.encode("latin-1", "backslashreplace").decode("unicode_escape")
            return read(text.encode("latin-1" if name == "bytes" else "utf-8"))
        if name == "bool":
            return read(int(literal.lower() == "true"))
        number = float(literal) if name in ("double", "float") else int(literal, 0)
        encoded = _scalar_bytes(name, number)
        return read(encoded if name in _PACKED else read_varint(encoded, 0)[0])
    except (ValueError, KeyError, OverflowError):
        return None


def _reader(type_: FieldType, to: SqlType, path: str) -> Reader:
    """Converts the contents of a field to a value of ``to``.

    Raises:
        BadRecord: they do not match.
    """
    message, symbols = type_.message, type_.symbols
    if message is not None and isinstance(to, Struct):
        fields = [(f.name, f.type) for f in to.fields]
        return lambda data: _message(message, fields, data)
    if symbols is not None and to == STRING:
        return lambda number: symbols.get(signed(number, 32), str(signed(number, 32)))
    if type_.name in WRAPPERS:
        return _wrapper(FieldType(WRAPPERS[type_.name]), to, path)
    if type_.name == DECIMAL and isinstance(to, Decimal):
        return lambda data: _decimal(data, to)
    special: dict[tuple[str, SqlType], Reader] = {
        (TIMESTAMP, SQL_TIMESTAMP): _timestamp,
        (DATE, SQL_DATE): _date,
        (TIME, SQL_TIME): _time,
    }
    reader = special.get((type_.name, to)) or _scalar(type_.name, to)
    if reader is None:
        raise _mismatch(path, type_.name, to)
    return reader


def _mismatch(path: str, field_type: str, to: SqlType) -> BadRecord:
    return BadRecord(f"{path} is of the Protobuf type {field_type}, which does not fit {to}.")


def _wrapper(scalar: FieldType, to: SqlType, path: str) -> Reader:
    read, kind = _reader(scalar, to, path), _wire(scalar)

    def value(data: bytes) -> Any:
        unwrapped = _default(scalar, to)
        for number, wire, part in fields_of(data):
            if number == 1 and wire == kind:
                unwrapped = read(part)
        return unwrapped

    return value


def _scalar(name: str, to: SqlType) -> Reader | None:
    if name == "string" or (name == "bytes" and to == STRING):
        return _text if to == STRING else None
    if name == "bytes":
        return (lambda data: data) if to == BYTES else None
    if name == "bool":
        readers: dict[SqlType, Reader] = {BOOLEAN: bool, STRING: lambda n: str(bool(n)).lower()}
        return readers.get(to)
    if name in ("double", "float"):
        return (lambda data: _unpacked(name, data)) if to == DOUBLE else None
    whole = _whole(name)
    if whole is None:
        return None
    if to in (INTEGER, SQL_DATE):
        return lambda value: _in_int(whole(value))
    if to == SQL_TIME:
        return lambda value: in_range(signed(whole(value), 64), to)
    if to == BIGINT:
        return lambda value: signed(whole(value), 64)
    if to == SQL_TIMESTAMP:
        return lambda value: _in_time(signed(whole(value), 64))
    if to == DOUBLE:
        return lambda value: float(signed(whole(value), 64))
    return (lambda value: str(signed(whole(value), 64))) if to == STRING else None


def _whole(name: str) -> Callable[[Any], int] | None:
    if name == "sint32":
        return lambda n: unzigzag(n & 0xFFFFFFFF)
    if name == "sint64":
        return unzigzag
    if name in ("int32", "int64"):
        return lambda n: signed(n, 32 if name == "int32" else 64)
    if name == "uint32":
        return lambda n: n & 0xFFFFFFFF
    if name == "uint64":
        return lambda n: signed(n, 64)
    if name in _PACKED and name not in ("double", "float"):
        return lambda data: int(_unpacked(name, data))
    return None


def _unpacked(name: str, data: bytes) -> Any:
    try:
        return struct.unpack(_PACKED[name], data)[0]
    except struct.error:
        raise BadRecord("It is not a Protobuf message: it ends too early.") from None


def _in_int(number: int) -> int:
    if not -(2**31) <= number < 2**31:
        raise BadRecord(f"{number} does not fit INTEGER.")
    return number


def _in_time(milliseconds: int) -> int:
    if not -(2**63) <= milliseconds * 1000 < 2**63:
        raise BadRecord(f"{milliseconds} does not fit TIMESTAMP.")
    return milliseconds


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise BadRecord("A text is not valid UTF-8.") from None


def _numbers(data: bytes) -> list[int]:
    """The numbers in the fields 1 to 4 of a message."""
    numbers = [0] * 5
    for number, wire, value in fields_of(data):
        if number < len(numbers) and wire == VARINT:
            numbers[number] = signed(value, 64)
    return numbers


def _timestamp(data: bytes) -> int:
    _, seconds, nanos, *_ = _numbers(data)
    epoch_ms = seconds * _MS_PER_S + nanos // _NANOS_PER_MS
    _in_time(seconds * _MS_PER_S)
    return _in_time(epoch_ms)


def _date(data: bytes) -> int | None:
    """None for an empty date, which represents a NULL in a list."""
    _, year, month, day, _ = _numbers(data)
    if not (year or month or day):
        return None
    # the calendar repeats every four centuries, but Python only has the years 1 to 9999
    centuries, within = divmod(year, 400)
    try:
        if not -_LAST_YEAR <= year <= _LAST_YEAR:
            raise ValueError(year)
        days = datetime.date(within + 400, month, day).toordinal() - _EPOCH
    except (ValueError, OverflowError):
        raise BadRecord(f"There is no date of year {year}, month {month}, day {day}.") from None
    return _in_int(days + (centuries - 1) * _DAYS_IN_400_YEARS)


def _time(data: bytes) -> int:
    _, hours, minutes, seconds, nanos = map(_in_int, _numbers(data))
    return in_range(((hours * 60 + minutes) * 60 + seconds) * _MS_PER_S + nanos // _NANOS_PER_MS, SQL_TIME)


def _decimal(data: bytes, to: Decimal) -> PythonDecimal:
    digits, scale = b"", 0
    for number, wire, value in fields_of(data):
        if number == 1 and wire == LENGTH:
            digits = value
        elif number == 3 and wire == VARINT:
            scale = signed(value, 32)
    unscaled = whole_of_bytes(digits)
    try:
        return fit_decimal(unscaled.scaleb(-scale, EXACT) if unscaled else unscaled, to)
    except ArithmeticError:
        raise BadRecord(f"A number with a scale of {scale} does not fit {to}.") from None


# ---- writing -----------------------------------------------------------------------------------------


def _encoded(message: Message, columns: Sequence[Column], values: Sequence[Any]) -> bytes:
    by_name = {c.name: (v, c.type) for c, v in zip(columns, values, strict=True)}
    return _message_bytes(message, by_name)


def _message_bytes(message: Message, by_name: dict[str, tuple[Any, SqlType]]) -> bytes:
    out = bytearray()
    for field in message.fields:
        out += _field_bytes(field, *(_named(by_name, field.name) or (None, STRING)))
    for i, (name, fields) in enumerate(message.one_ofs):
        group, type_ = _named(by_name, f"{name}_{i}") or (None, STRING)
        chosen = by_name
        if isinstance(type_, Struct):
            chosen = {f.name: ((group or {}).get(f.name), f.type) for f in type_.fields}
        for field in fields:
            out += _field_bytes(field, *(_named(chosen, field.name) or (None, STRING)))
    return bytes(out)


def _field_bytes(field: ProtoField, value: Any, type_: SqlType) -> bytes:
    """A field with its tag; empty for NULL."""
    if value is None:
        return b""
    tag = varint(field.number << 3 | _wire(field.type))
    if isinstance(type_, Map) and field.repeated:
        message = field.type.message
        key, item = (field.key, field.type) if field.key else (f.type for f in message.fields)  # type: ignore[union-attr]
        entries = (
            _field_bytes(ProtoField("", 1, key, presence=True), k, type_.key)
            + _field_bytes(ProtoField("", 2, item, presence=True), v, type_.value)
            for k, v in value.items()
        )
        tag = varint(field.number << 3 | LENGTH)
        return b"".join(tag + _sized(entry) for entry in entries)
    if isinstance(type_, Array) and field.repeated:
        items = [_element(field.type, v, type_.element) for v in value]
        if _wire(field.type) == LENGTH:
            return b"".join(tag + item for item in items)
        return varint(field.number << 3 | LENGTH) + _sized(b"".join(items)) if items else b""
    if field.repeated:
        raise ValueError(f"{field.name} is a list in the registered schema, not {type_}")
    if not field.presence and field.type.is_plain and _is_default(value, type_):
        return b""
    return tag + _element(field.type, value, type_)


def _is_default(value: Any, type_: SqlType) -> bool:
    if type_ == DOUBLE:
        return struct.pack("<d", value) == bytes(8)
    return value in (0, "", b"")


def _sized(data: bytes) -> bytes:
    return varint(len(data)) + data


def _element(field: FieldType, value: Any, type_: SqlType) -> bytes:
    """A value without its tag; NULL, which a list cannot omit, becomes the type's default."""
    if field.message is not None and isinstance(type_, Struct):
        by_name = {f.name: ((value or {}).get(f.name), f.type) for f in type_.fields}
        return _sized(_message_bytes(field.message, by_name))
    if field.name in WRAPPERS:
        inner = ProtoField("", 1, FieldType(WRAPPERS[field.name]))
        return _sized(_field_bytes(inner, value, type_))
    if field.symbols is not None:
        numbers = {symbol: number for number, symbol in field.symbols.items()}
        if value is not None and value not in numbers:
            raise ValueError(f"The schema's enum {field.name} has no {value}.")
        return varint(numbers.get(value, 0))
    if field.name in (TIMESTAMP, DATE, TIME, DECIMAL):
        return _sized(b"" if value is None else _special(field.name, value, type_))
    return _scalar_bytes(field.name, value)


def _special(name: str, value: Any, type_: SqlType) -> bytes:
    if name == DECIMAL and isinstance(type_, Decimal):
        unscaled = int(value.scaleb(type_.scale, EXACT))
        # like Java's BigInteger: as few bytes as hold the number and its sign
        size = ((unscaled if unscaled >= 0 else ~unscaled).bit_length() + 8) // 8
        digits = unscaled.to_bytes(size, "big", signed=True)
        return b"\x0a" + _sized(digits) + _number(2, type_.precision) + _number(3, type_.scale)
    if name == TIMESTAMP:
        seconds, ms = divmod(value, _MS_PER_S)
        return _number(1, seconds) + _number(2, ms * _NANOS_PER_MS)
    if name == DATE:
        date = datetime.date.fromordinal(value + _EPOCH)
        return _number(1, date.year) + _number(2, date.month) + _number(3, date.day)
    seconds, ms = divmod(value, _MS_PER_S)
    parts = (seconds // 3600, seconds // 60 % 60, seconds % 60, ms * _NANOS_PER_MS)
    return b"".join(_number(i, part) for i, part in enumerate(parts, 1))


def _number(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value) if value else b""


def _scalar_bytes(name: str, value: Any) -> bytes:
    if name in ("string", "bytes"):
        return _sized((value or "").encode() if name == "string" else (value or b""))
    number = value or 0
    if not isinstance(number, (int, float)):
        raise ValueError(f"{value!r} does not fit the Protobuf type {name}")
    if name in _PACKED:
        try:
            return struct.pack(_PACKED[name], number)
        except struct.error:
            raise ValueError(f"{value} does not fit the Protobuf type {name}") from None
    bits = 64 if name.endswith("64") else 32
    low, high = (0, 1 << bits) if name.startswith("u") else (-(1 << (bits - 1)), 1 << (bits - 1))
    if name == "uint64":
        low = -(1 << 63)
    if not low <= number < high:
        raise ValueError(f"{value} does not fit the Protobuf type {name}")
    return varint(zigzag(int(number)) if name.startswith("s") else int(number))


def _named(by_name: dict[str, Any], name: str) -> Any:
    """The value of exactly this name, or of this name in another case; None if there is none."""
    if name in by_name:
        return by_name[name]
    return next((v for n, v in by_name.items() if n.upper() == name.upper()), None)
