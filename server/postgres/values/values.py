"""Values of results and parameters in PostgreSQL's types, as text and in binary."""

from __future__ import annotations

import base64
import datetime
import json
import re
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import MAX_PREC, Decimal, localcontext
from typing import Any, NamedTuple

from ksql_spark.client.values import far_instant
from ksql_spark.entities.schemas import SchemaInfo
from ksql_spark.instants import INTERVAL_FIELDS, date_text, read_date, read_timestamp, timestamp_text

#: PostgreSQL counts days and microseconds from here
_EPOCH = datetime.date(2000, 1, 1)
_EPOCH_TIME = datetime.datetime(2000, 1, 1)
_MICROSECOND = datetime.timedelta(microseconds=1)
#: digits of a NUMERIC before and after the point
_MAX_WHOLE, _MAX_SCALE = 131_072, 16_383


@dataclass(frozen=True)
class PgType:
    """A type of PostgreSQL.

    Args:
        oid: its number in pg_type.
        name: its name in pg_type.
        size: bytes of a value; -1: they differ.
        shown: its name in SQL.
        element: of an array.
        text: a value as text; values are those of the REST API's rows.
        binary: a value in binary.
    """

    oid: int
    name: str
    size: int
    shown: str
    text: Callable[[Any], bytes]
    binary: Callable[[Any], bytes]
    element: PgType | None = None


def encode(value: Any) -> bytes:
    """A value as JSON."""
    # at run time: this import loads Spark, which the process of the catalog does not need
    from ksql_spark.server.streaming import responses

    return responses.encode(value)


def _plain(value: Any) -> bytes:
    return str(value).encode(errors="replace")


def _bool(value: Any) -> bytes:
    return b"t" if value else b"f"


def _bytes(value: Any) -> bytes:
    return base64.b64decode(value)


class _Span(NamedTuple):
    """The days, or microseconds, that PostgreSQL has; what is beyond them is shown as infinity.

    Args:
        layout: of a number since 2000.
        unit: how many of them are one of those that ``far_instant`` returns.
        epoch: the start of 2000, as ``far_instant`` returns it.
        first: the first day or microsecond, since 2000.
        end: the one after the last.
    """

    layout: struct.Struct
    unit: int
    epoch: int
    first: int
    end: int

    def number(self, value: str) -> int:
        """The number of a value of the REST API; infinities are the lowest and the highest one."""
        number = (far_instant(value) - self.epoch) * self.unit
        if self.first <= number < self.end:
            return number
        return self.lowest if number < 0 else ~self.lowest

    @property
    def lowest(self) -> int:
        """The number that means -infinity; the one of infinity is its complement."""
        return -(1 << 8 * self.layout.size - 1)

    def text(self, value: str) -> bytes:
        """A value of the REST API as PostgreSQL writes it."""
        if _is_far(value):
            number = self.number(value)
            if number in (self.lowest, ~self.lowest):
                return b"-infinity" if number < 0 else b"infinity"
            _, year, rest = re.split(r"^([+-]?\d+)", value)
            value = f"{int(year):04}{rest}" if int(year) > 0 else f"{1 - int(year):04}{rest} BC"
        whole, _, fraction = value.replace("T", " ").partition(".")
        digits, space, era = fraction.partition(" ")  # … BC
        digits = digits.rstrip("0")
        return f"{whole}{'.' if digits else ''}{digits}{space}{era}".encode()


def _is_far(value: str) -> bool:
    """Whether a date is outside the years 1 to 9999, those of Python's types."""
    return value[0] in "+-" or value.startswith("0000")


#: from 4714-11-24 BC, the first day of the Julian calendar
_DAYS = _Span(struct.Struct("!i"), 1, 10_957, -2_451_545, 2_145_031_949)
_MOMENTS = _Span(
    struct.Struct("!q"), 1000, 946_684_800_000, -211_813_488_000_000_000, 9_223_371_331_200_000_000
)


def _date_binary(value: str) -> bytes:
    return _DAYS.layout.pack(
        _DAYS.number(value) if _is_far(value) else (datetime.date.fromisoformat(value) - _EPOCH).days
    )


def _time_text(value: str) -> bytes:
    """A TIME with its seconds, which the REST API leaves out where they are 0."""
    return f"{value}:00".encode() if value.count(":") == 1 else value.encode()


def _time_binary(value: str) -> bytes:
    time = datetime.time.fromisoformat(value)
    seconds = time.hour * 3600 + time.minute * 60 + time.second
    return struct.pack("!q", seconds * 1_000_000 + time.microsecond)


def _timestamp_binary(value: str) -> bytes:
    if _is_far(value):
        return _MOMENTS.layout.pack(_MOMENTS.number(value))
    return _MOMENTS.layout.pack((datetime.datetime.fromisoformat(value) - _EPOCH_TIME) // _MICROSECOND)


def _numeric_binary(value: Any) -> bytes:
    """NUMERIC: digits to base 10,000, the weight of the first one, the sign, and digits after the point."""
    number = Decimal(str(value))
    sign, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int), "DECIMAL has no NaN"
    scale = max(0, -exponent)
    text = "".join(map(str, digits)) + "0" * max(0, exponent)
    whole, after = (text[:-scale], text[-scale:]) if scale else (text, "")
    whole, after = whole.rjust(scale and 1, "0"), after.rjust(scale, "0")
    whole = whole.rjust(-(-len(whole) // 4) * 4, "0")
    after = after.ljust(-(-len(after) // 4) * 4, "0")
    groups = [int((whole + after)[at : at + 4]) for at in range(0, len(whole) + len(after), 4)]
    weight = len(whole) // 4 - 1
    while groups and groups[0] == 0:
        del groups[0]
        weight -= 1
    while groups and groups[-1] == 0:
        del groups[-1]
    head = struct.pack("!HhHH", len(groups), weight if groups else 0, 0x4000 if sign else 0, scale)
    return head + b"".join(struct.pack("!H", group) for group in groups)


#: from this power of ten on, and below the other one, a DOUBLE is written with an exponent
_EXPONENT, _NEGATIVE_EXPONENT = 15, -4


def _float_text(value: Any) -> bytes:
    """A DOUBLE as PostgreSQL writes it: the shortest digits.

    >>> [_float_text(one) for one in (2.0, 0.1, 1e15, -1.5e-7, "NaN", 0.0001)]
    [b'2', b'0.1', b'1e+15', b'-1.5e-07', b'NaN', b'0.0001']
    """
    if isinstance(value, str) or value == 0:  # NaN and infinities
        return str(value).removesuffix(".0").encode()
    digits = Decimal(repr(value)).normalize()
    if _NEGATIVE_EXPONENT <= digits.adjusted() < _EXPONENT:
        return f"{digits:f}".encode()
    shown = f"{digits.scaleb(-digits.adjusted()):f}e{digits.adjusted():+03d}"
    return shown.encode()


BOOL = PgType(16, "bool", 1, "boolean", _bool, lambda value: b"\x01" if value else b"\x00")
BYTEA = PgType(17, "bytea", -1, "bytea", lambda value: b"\\x" + _bytes(value).hex().encode(), _bytes)
INT8 = PgType(20, "int8", 8, "bigint", _plain, lambda value: struct.pack("!q", int(value)))
INT4 = PgType(23, "int4", 4, "integer", _plain, lambda value: struct.pack("!i", int(value)))
TEXT = PgType(25, "text", -1, "text", _plain, _plain)
JSON = PgType(114, "json", -1, "json", encode, encode)
#: in binary, the version of the form comes first
JSONB = PgType(3802, "jsonb", -1, "jsonb", encode, lambda value: b"\x01" + encode(value))
FLOAT8 = PgType(
    701, "float8", 8, "double precision", _float_text, lambda value: struct.pack("!d", float(value))
)
DATE = PgType(1082, "date", 4, "date", _DAYS.text, _date_binary)
TIME = PgType(1083, "time", 8, "time without time zone", _time_text, _time_binary)
TIMESTAMP = PgType(1114, "timestamp", 8, "timestamp without time zone", _MOMENTS.text, _timestamp_binary)
NUMERIC = PgType(1700, "numeric", -1, "numeric", lambda value: f"{value:f}".encode(), _numeric_binary)


def _interval_parts(value: Any) -> tuple[int, int, int]:
    """The months, days and milliseconds of a value."""
    months, days, milliseconds = (value[name] for name in INTERVAL_FIELDS)
    return months, days, milliseconds


def _interval_text(value: Any) -> bytes:
    """An interval as PostgreSQL writes it.

    >>> _interval_text(dict(zip(INTERVAL_FIELDS, (14, -1, 3_723_500))))
    b'1 year 2 mons -1 days +01:02:03.5'
    """
    months, days, milliseconds = _interval_parts(value)
    sign = -1 if months < 0 else 1
    parts, is_before = [], False
    for number, unit in (
        (sign * (abs(months) // 12), "year"),
        (sign * (abs(months) % 12), "mon"),
        (days, "day"),
    ):
        if number:
            plus = "+" if is_before and number > 0 else ""
            parts.append(f"{plus}{number} {unit}{'' if number == 1 else 's'}")
            is_before = number < 0
    if milliseconds or not parts:
        minutes, rest = divmod(abs(milliseconds), 60_000)
        mark = "-" if milliseconds < 0 else "+" if is_before else ""
        fraction = f"{rest % 1000:03}".rstrip("0")
        seconds = f"{rest // 1000:02}{'.' * bool(fraction)}{fraction}"
        parts.append(f"{mark}{minutes // 60:02}:{minutes % 60:02}:{seconds}")
    return " ".join(parts).encode()


def _interval_binary(value: Any) -> bytes:
    months, days, milliseconds = _interval_parts(value)
    return struct.pack("!qii", milliseconds * 1000, days, months)


INTERVAL = PgType(1186, "interval", 16, "interval", _interval_text, _interval_binary)

_PRIMITIVES = {
    "BOOLEAN": BOOL, "INTEGER": INT4, "BIGINT": INT8, "DOUBLE": FLOAT8, "STRING": TEXT, "BYTES": BYTEA,
    "DATE": DATE, "TIME": TIME, "TIMESTAMP": TIMESTAMP, "DECIMAL": NUMERIC,
    "VARIANT": JSONB,
}  # fmt: skip


#: an element of an array that needs no quotes
_UNQUOTED = re.compile(rb'[^\s",{}\\]+')


def _array_text(element: PgType) -> Callable[[Any], bytes]:
    def text(values: Sequence[Any]) -> bytes:
        return b"{" + b",".join(one(value) for value in values) + b"}"

    def one(value: Any) -> bytes:
        if value is None:
            return b"NULL"
        shown = element.text(value)
        if _UNQUOTED.fullmatch(shown) and shown.upper() != b"NULL":
            return shown
        return b'"' + shown.replace(b"\\", b"\\\\").replace(b'"', b'\\"') + b'"'

    return text


def _array_binary(element: PgType) -> Callable[[Any], bytes]:
    def binary(values: Sequence[Any]) -> bytes:
        has_null = any(value is None for value in values)
        head = struct.pack("!iii", 1 if values else 0, int(has_null), element.oid)
        if not values:
            return head
        parts = [head, struct.pack("!ii", len(values), 1)]
        for value in values:
            if value is None:
                parts.append(struct.pack("!i", -1))
            else:
                encoded = element.binary(value)
                parts += [struct.pack("!i", len(encoded)), encoded]
        return b"".join(parts)

    return binary


def _array(oid: int, element: PgType) -> PgType:
    return PgType(
        oid,
        f"_{element.name}",
        -1,
        f"{element.shown}[]",
        _array_text(element),
        _array_binary(element),
        element,
    )


_ARRAYS = {
    element: _array(oid, element)
    for oid, element in (
        (1000, BOOL), (1001, BYTEA), (1016, INT8), (1007, INT4), (1009, TEXT), (1022, FLOAT8), (1182, DATE),
        (1183, TIME), (1115, TIMESTAMP), (1231, NUMERIC), (3807, JSONB),
    )
}  # fmt: skip


def array_of(element: PgType) -> PgType:
    """The type of arrays of a type."""
    return _ARRAYS[element]


def array_oid_of(element: PgType) -> int | None:
    """The oid of the type of arrays of a type, or None."""
    array = _ARRAYS.get(element)
    return None if array is None else array.oid


#: oids, which only parameters are: drivers look types up by them
OIDS = 1028

#: every type that results have
TYPES = (*_PRIMITIVES.values(), INTERVAL, JSON, *_ARRAYS.values())


def type_of(schema: SchemaInfo) -> PgType:
    """The type that a column of a result gets: lists of simple values are arrays, STRUCT and MAP are JSON."""
    if schema.type == "ARRAY":
        element = schema.member_schema
        return _ARRAYS.get(type_of(element), JSON) if element is not None else JSON
    if schema.fields and tuple(field.name for field in schema.fields) == INTERVAL_FIELDS:
        return INTERVAL
    return _PRIMITIVES.get(schema.type, JSON)


def oid_of(name: str) -> int | None:
    """The oid of a type, by its name in pg_type or in SQL, or None if there is no such type here."""
    word, is_array, _ = name.lower().partition("[")
    word = {"int": "int4", "float": "float8", "timestamptz": "timestamp", "varchar": "text"}.get(word, word)
    if word == "oid":
        return OIDS if is_array else 26
    type_ = next((one for one in TYPES if word in (one.name, one.shown)), None)
    if type_ is None:
        return None
    return array_of(type_).oid if is_array and type_ in _ARRAYS else type_.oid


# ---- parameters ------------------------------------------------------------------------------------------


#: a date that Python has none for, with the time of a timestamp
_FAR = re.compile(r"(\d{4,7})(-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?))?( BC)?")


def _date_of(raw: bytes) -> str:
    return date_text(_DAYS.epoch + _finite(_DAYS, raw))


def _moment_of(raw: bytes) -> str:
    return timestamp_text(_MOMENTS.epoch + _finite(_MOMENTS, raw) // _MOMENTS.unit)


def _finite(span: _Span, raw: bytes) -> int:
    (number,) = span.layout.unpack(raw)
    if number in (span.lowest, ~span.lowest):
        raise ValueError(_NO_INFINITY)
    return int(number)


_NO_INFINITY = "KSQL has no infinity among its dates and times"


#: a date or a time of a day with a time zone, which PostgreSQL leaves out
_ZONED = re.compile(r"(\d+-\d\d-\d\d(?: BC)?|\d\d:[\d:.]+) ?[+-]\d\d(?::?\d\d)*")


def _far_of(text: str) -> str:
    """A date, or a timestamp, of any year, as the REST API writes it; what is none is left to KSQL."""
    if text.strip().lower().lstrip("+-") == "infinity":
        raise ValueError(_NO_INFINITY)
    match = _FAR.fullmatch(text)
    if match is None or not int(match[1]):
        return text
    year = 1 - int(match[1]) if match[4] else int(match[1])
    try:
        date = date_text(far_instant(f"{year:+05}{match[2]}"))
        time = match[3] and datetime.time.fromisoformat(match[3]).isoformat(timespec="milliseconds")
    except ValueError:
        return text
    return f"{date}T{time}" if time else date


def _timestamp_of(text: str) -> str:
    """A timestamp as KSQL reads it, in UTC; what is none is left to KSQL."""
    return read_timestamp(text) or _far_of(text)


def _numeric_of(raw: bytes) -> Decimal:
    count, weight, sign, scale = struct.unpack_from("!HhHH", raw)
    if sign not in (0, 0x4000):
        return Decimal({0xD000: "Infinity", 0xF000: "-Infinity"}.get(sign, "NaN"))
    groups = struct.unpack_from(f"!{count}H", raw, 8)
    # as a text, since arithmetic rounds to 28 digits
    number = "".join(f"{group:04}" for group in groups) or "0"
    exponent = 4 * (weight + 1 - count) if count else 0
    total = Decimal(f"{'-' if sign else ''}{number}E{exponent}")
    with localcontext(prec=MAX_PREC):
        return total.quantize(Decimal(1).scaleb(-scale))


def _without_zero(value: Any) -> Any:
    if isinstance(value, str) and "\0" in value:
        raise ValueError("a text has no character 0")
    return value


def _checked(number: Any) -> Any:
    """A number that can be written down: PostgreSQL's have so many digits at most, too."""
    if isinstance(number, Decimal) and number.is_finite():
        exponent = number.as_tuple().exponent
        if number.adjusted() >= _MAX_WHOLE or (isinstance(exponent, int) and exponent < -_MAX_SCALE):
            raise ValueError("value overflows numeric format")
    return number


def _bool_of(text: str) -> bool:
    word = text.strip().lower()
    for value, spelt in ((True, ("true", "yes", "on", "1")), (False, ("false", "no", "off", "0"))):
        if word and word != "o" and any(one.startswith(word) for one in spelt):
            return value
    raise ValueError(f"{_shown(text)} is not a boolean")


#: the type of a time of a day with a zone, which has no use here
_TIMETZ = 1266


def _time_of(raw: bytes) -> str:
    """A time of a day, without its zone."""
    microseconds = struct.unpack_from("!q", raw)[0]
    return (datetime.datetime.min + datetime.timedelta(microseconds=microseconds)).time().isoformat()


_BINARY: dict[int, Callable[[bytes], Any]] = {
    16: lambda raw: raw != b"\x00",
    20: lambda raw: struct.unpack("!q", raw)[0],
    21: lambda raw: struct.unpack("!h", raw)[0],
    23: lambda raw: struct.unpack("!i", raw)[0],
    26: lambda raw: struct.unpack("!I", raw)[0],
    700: lambda raw: struct.unpack("!f", raw)[0],
    701: lambda raw: struct.unpack("!d", raw)[0],
    1082: _date_of,
    1083: _time_of,
    _TIMETZ: _time_of,
    1114: _moment_of,
    1184: _moment_of,
    1700: _numeric_of,
    17: lambda raw: base64.b64encode(raw).decode(),
    3802: lambda raw: raw[1:].decode(),
}
_NUMBERS = {20: int, 21: int, 23: int, 26: int, 700: float, 701: float, 1700: Decimal}


def array_oid(element: int) -> int:
    """The oid of arrays of a type; of text if it has none."""
    return next((array.oid for of, array in _ARRAYS.items() if of.oid == element), _ARRAYS[TEXT].oid)


#: arrays that parameters are -> their elements
ELEMENTS = {array.oid: element.oid for element, array in _ARRAYS.items()} | {
    OIDS: 26, 1005: 21, 1015: TEXT.oid, 1021: 700
}  # fmt: skip
#: a part of an array's text: an element in quotes, one without, or a comma; none can be read in two ways
_PART = re.compile(r'"((?:[^"\\]|\\.)*+)"|([^",{}\s]++(?:\s++[^",{}\s]++)*+)|(,)', re.DOTALL)
_BLANKS = re.compile(r"\s*+")


def elements_of(text: str) -> list[str | None]:
    """The elements of an array as text, ``{a,"b c",NULL}``. Raises ValueError."""
    inner = text.strip()
    if not (inner.startswith("{") and inner.endswith("}")):
        raise ValueError(f"{_shown(text)} is not an array")
    elements: list[str | None] = []
    is_element, at, end = True, 1, len(inner) - 1  # whether an element is next
    while (at := _BLANKS.match(inner, at, end).end()) < end:  # type: ignore[union-attr]
        part = _PART.match(inner, at, end)
        if part is None or (part[3] is None) != is_element:
            raise ValueError(f"{_shown(text)} is not an array of one dimension")
        if part[1] is not None:
            elements.append(re.sub(r"\\(.)", r"\1", part[1], flags=re.DOTALL))
        elif part[2] is not None:
            elements.append(None if part[2].upper() == "NULL" else part[2])
        is_element, at = not is_element, part.end()
    if elements and is_element:
        raise ValueError(f"{_shown(text)} ends too early")
    return elements


def _shown(value: object) -> str:
    """The beginning of a value, for messages."""
    shown = repr(value)
    return shown if len(shown) <= 80 else f"{shown[:79]}…"


def _array_of_binary(raw: bytes) -> list[bytes | None]:
    """The elements. The head: dimensions, whether there are NULLs, the type, the length, the first index."""
    dimensions = struct.unpack_from("!i", raw)[0]
    if dimensions > 1:
        raise ValueError("an array has one dimension")
    elements: list[bytes | None] = []
    at = 20
    while dimensions and at < len(raw):
        size = struct.unpack_from("!i", raw, at)[0]
        if size < -1 or at + 4 + size > len(raw):
            raise ValueError("an element of an array has a wrong length")
        elements.append(None if size < 0 else raw[at + 4 : at + 4 + size])
        at += 4 + max(size, 0)
    return elements


def parameter(raw: bytes | None, oid: int, is_binary: bool) -> Any:
    """The value of a parameter: None, a bool, a number, a text, or a list of these.

    Raises:
        ValueError: it is not of the type.
    """
    if raw is None:
        return None
    if (element := ELEMENTS.get(oid)) is not None:
        try:
            parts = _array_of_binary(raw) if is_binary else elements_of(raw.decode())
        except struct.error as error:
            raise ValueError(f"{_shown(raw)} is no binary array: {error}") from error
        return [
            parameter(part.encode() if isinstance(part, str) else part, element, is_binary) for part in parts
        ]
    if is_binary:
        try:
            return _without_zero(_BINARY.get(oid, bytes.decode)(raw))
        except (struct.error, OverflowError) as error:
            raise ValueError(f"{_shown(raw)} is no binary value of the type {oid}: {error}") from error
    text = _without_zero(raw.decode())
    if oid == BOOL.oid:
        return _bool_of(text)
    if oid in _NUMBERS:
        try:
            return _checked(_NUMBERS[oid](text))
        except ArithmeticError as error:
            raise ValueError(f"{_shown(text)} is not a number") from error
    if oid in (1114, 1184):
        return _timestamp_of(text)
    if oid in (DATE.oid, TIME.oid, _TIMETZ):
        if oid == DATE.oid and (near := read_date(text)) is not None:
            return near
        zoned = _ZONED.fullmatch(text)
        return _far_of(zoned[1] if zoned is not None else text)
    if oid == BYTEA.oid and text.startswith("\\x"):
        return base64.b64encode(bytes.fromhex(text[2:])).decode()
    return text


def json_text(value: Any) -> str:
    """A member of an answer as a cell of text."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
