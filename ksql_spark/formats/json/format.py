"""JSON: an object of the columns, or a bare value (reference §5.2)."""

from __future__ import annotations

import base64
import codecs
import functools
import json
import math
import re
import sys
from collections.abc import Mapping, Sequence
from decimal import Decimal as PythonDecimal
from decimal import InvalidOperation
from typing import Any, ClassVar, NamedTuple

import orjson

from ksql_spark.formats.base import BadRecord, Serde
from ksql_spark.formats.binary_text import from_base64
from ksql_spark.formats.number_text import (
    SPACE,
    double_text,
    fit_decimal,
    has_java_exponent,
    in_range,
    parse_decimal,
    parse_double,
    parse_integer,
    wrap,
)
from ksql_spark.formats.temporal import NUMBER_OF
from ksql_spark.functions.spark_text import spark_type, string
from ksql_spark.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DOUBLE,
    INTEGER,
    STRING,
    TIMESTAMP,
    VARIANT,
    Array,
    Decimal,
    Field,
    Map,
    SqlType,
    Struct,
    contains_variant,
    quote_identifier,
)

_LONG_DIGITS = 19
#: the maximum digits of a number, and the maximum nesting of objects and arrays, as in Jackson
_MAX_DIGITS = _MAX_NESTED = 1000
#: the maximum nesting for the json module and the functions below with Python's own limit; the limit that
#: they need
_NESTED_BY_DEFAULT, _RECURSION_LIMIT = 100, 5 * _MAX_NESTED
#: brackets of objects and arrays; and strings, even unterminated ones, in which brackets do not count
_BRACKETS = re.compile(r'"(?:[^"\\]|\\.)*+"?|[\[{]|[\]}]', re.DOTALL)
#: a number, or a string, that may contain too many
_LONG = re.compile(rb"[0-9.eE+-]{1001}")
#: a surrogate, which may be unpaired
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


#: types that all JSON writers write alike
_WRITTEN = (STRING, BOOLEAN, INTEGER, BIGINT)


class _Exact(NamedTuple):
    """The JSON form of values that equals their Python value: a type, and bounds of numbers."""

    type: type | None
    low: Any = None
    high: Any = None


_EXACT: dict[SqlType, _Exact] = {
    STRING: _Exact(str),
    BOOLEAN: _Exact(bool),
    INTEGER: _Exact(int, -(2**31), 2**31 - 1),
    BIGINT: _Exact(int, -(2**63), 2**63 - 1),
    DOUBLE: _Exact(float, -sys.float_info.max, sys.float_info.max),
}


class JsonSerde(Serde):
    """Objects with one member for each column; names match exactly or by their upper-case form."""

    name: ClassVar[str] = "JSON"

    # ---- in Python -----------------------------------------------------------------------------------

    def encode(self, values: Sequence[Any]) -> bytes | None:
        """An object with all columns, NULL as ``null``; a bare NULL becomes a null record."""
        if (names := self._names) is not None:
            value = dict(zip(names, values, strict=True)) if self._is_wrapped else values[0]
            try:
                return None if value is None else orjson.dumps(value)
            except TypeError:
                pass  # an unpaired surrogate
        if not self.columns:
            return None
        if not self.wrapped:
            return None if values[0] is None else self.write(values[0], self.columns[0].type).encode()
        return self.write(dict(zip((c.name for c in self.columns), values, strict=True)), self._row).encode()

    def decode(self, data: bytes) -> list[Any] | None:
        """The columns' values; unknown members are ignored, missing ones are NULL."""
        # nearly all records exactly match their columns; anything else is examined below
        try:
            if self._has_variants:
                pass
            elif len(data) <= _MAX_DIGITS or not (_LONG.search(data) or _brackets(data) > _MAX_NESTED):
                exact = self._exact(orjson.loads(data))
                if exact is not None:
                    return exact
        except ValueError:
            pass  # json reports the error, or accepts it
        try:
            value = _first_value(data, _FAITHFUL if self._has_variants else _DECODER)
            if _SURROGATE.search(data):
                value = _without_lone_surrogates(value)
            return self._values(value)
        except RecursionError:
            raise BadRecord("It is nested too deeply.") from None
        except InvalidOperation:
            raise BadRecord("not JSON: a number has too large an exponent") from None
        except ValueError as error:
            if isinstance(error, BadRecord):
                raise
            raise BadRecord(f"not JSON: {error}") from None

    def _values(self, value: Any) -> list[Any] | None:
        """The columns' values in the json module's result."""
        if value is None:
            return None
        if not self.wrapped:
            return [self.read(value, self.columns[0].type, "$")]
        return list(self.read(value, self._row, "$").values())

    def read(self, value: Any, type_: SqlType, path: str) -> Any:
        """A value of the json module as ``type_``.

        Args:
            value: what the json module has read.
            type_: a column's type, or that of a part of it.
            path: where the value is, for the error.

        Raises:
            BadRecord: it does not fit.
        """
        if value is None:
            return None
        if type_ == VARIANT:
            return variant(value)
        match type_:
            case Array(element) if isinstance(value, list):
                return [self.read(v, element, f"{path}[{i}]") for i, v in enumerate(value)]
            case Map(_, item) if isinstance(value, dict):
                return {k: self.read(v, item, f"{path}.{k}") for k, v in value.items()}
            case Struct(fields) if isinstance(value, dict):
                folded = _folded(value)
                members = ((f, _member(value, folded, f.name)) for f in fields)
                return {f.name: self.read(member, f.type, f"{path}.{f.name}") for f, member in members}
        try:
            return _read_scalar(value, type_, path)
        except BadRecord:
            expected = "object" if isinstance(type_, Struct) else type_
            raise mismatch(value, expected, path) from None

    def write(self, value: Any, type_: SqlType) -> str:
        """The JSON of a value of ``type_``."""
        if value is None:
            return "null"
        match type_:
            case Array(element):
                return f"[{','.join(self.write(v, element) for v in value)}]"
            case Map(_, item):
                return f"{{{','.join(f'{_text(k)}:{self.write(v, item)}' for k, v in value.items())}}}"
            case Struct(fields):
                members = (f"{_text(f.name)}:{self.write(value.get(f.name), f.type)}" for f in fields)
                return f"{{{','.join(members)}}}"
        return _write_scalar(value, type_)

    def _exact(self, value: Any) -> list[Any] | None:
        """The columns' values if each has exactly the JSON form of its type; otherwise None."""
        if not self._is_wrapped:
            value = {self.columns[0].name: value}
            if None in value.values():
                return None
        elif type(value) is not dict:
            return None
        values = []
        for name, python, low, high in self._members:
            member = value.get(name)
            if member is None:
                if name not in value:
                    return None
            elif type(member) is not python or (low is not None and not low <= member <= high):
                return None
            values.append(member)
        return values

    @functools.cached_property
    def _names(self) -> list[str] | None:
        """The columns' names, if all have the JSON form of their Python values."""
        if self.columns and all(c.type in _WRITTEN for c in self.columns):
            return [c.name for c in self.columns]
        return None

    @functools.cached_property
    def _row(self) -> Struct:
        """The columns as an object."""
        return Struct(tuple(Field(c.name, c.type) for c in self.columns))

    @functools.cached_property
    def _has_variants(self) -> bool:
        return any(contains_variant(c.type) for c in self.columns)

    @functools.cached_property
    def _is_wrapped(self) -> bool:
        return self.wrapped

    @functools.cached_property
    def _members(self) -> list[tuple[str, type | None, Any, Any]]:
        """Each column's name, and the JSON form that equals its value."""
        return [(c.name, *_EXACT.get(c.type, _Exact(None))) for c in self.columns]

    # ---- in Spark SQL --------------------------------------------------------------------------------
    # Both use our own JVM functions: Spark's from_json and to_json match names exactly, read and write
    # temporal values as text, and are several times slower.

    def decode_sql(self, data: str) -> str:
        """A call of JsonDecoder.java, with the schema in the function's name."""
        return f"ksql.{quote_identifier(f'decode_json:{self.ddl}')}({data})"

    def or_null_sql(self, data: str) -> str:
        """The literal ``null`` is a NULL key or value, also with JSON's white space around it."""
        return f"if(ksql.is_json_null({data}), NULL, {data})"

    def explain_sql(self, data: str) -> str:
        """Return text with the decoder's message about a bad record."""
        return f"ksql.{quote_identifier(f'explain_json:{self.ddl}')}({data})"

    def encode_sql(self, texts: Sequence[str]) -> str:
        """A call of JsonEncoder.java; the struct's type carries the names."""
        if not self.columns:
            return "cast(NULL as binary)"
        members = ", ".join(f"{string(c.name)}, {t}" for c, t in zip(self.columns, texts, strict=True))
        name = "encode_json" if self.wrapped else "encode_json_bare"
        if self.columns_argument:
            name = quote_identifier(f"{name}:{self.columns_argument}")
        return f"ksql.{name}(named_struct({members}))"

    @property
    def columns_argument(self) -> str:
        """The columns as an argument of JsonEncoder.java; empty if no VARIANTs are among them."""
        if not self._has_variants:
            return ""
        types = (f"{quote_identifier(c.name)} {spark_type(c.type, variant='variant')}" for c in self.columns)
        return f":{', '.join(types).encode().hex()}"


# ---- values in Python ------------------------------------------------------------------------------------


def _first_value(data: bytes, decoder: json.JSONDecoder) -> Any:
    """The first JSON value; whatever follows it is ignored.

    Raises:
        ValueError: no value exists.
    """
    data = data.removeprefix(codecs.BOM_UTF8)
    encoding, rest = json.detect_encoding(data), ""
    try:
        # json.loads(bytes) would accept unpaired surrogates, which no text may contain
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        text, rest = data[: error.start].decode(encoding), "\ufffd"
    start = len(text) - len(text.lstrip(_SPACE))
    if text.startswith(("[", "{"), start) and _brackets(text) > _NESTED_BY_DEFAULT:
        check_depth(text)
    value, end = decoder.raw_decode(text, start)
    following = text[end : end + 1] or rest
    if following and _runs_on(value, following):
        raise ValueError("something stands directly behind the first value")
    return value


def _runs_on(value: Any, following: str) -> bool:
    """Whether a number or literal continues at a character (as in Jackson)."""
    if isinstance(value, bool) or value is None:
        return following.isalnum() or following == "_" or following >= "\x7f"
    return not isinstance(value, (str, list, dict)) and following not in _SPACE


def _brackets(text: str | bytes) -> int:
    """The pattern of brackets up to the maximum nesting."""
    return text.count("[") + text.count("{") if isinstance(text, str) else text.count(b"[") + text.count(b"{")


def check_depth(text: str) -> None:
    """Make sure that the first JSON value of a text is not nested too deeply, and can be read.

    Raises:
        BadRecord: it has more levels than the JVM reads.
    """
    depth = deepest = 0
    for bracket in _BRACKETS.finditer(text):
        if bracket[0] in "[{":
            depth += 1
            deepest = max(depth, deepest)
        elif bracket[0] in "]}":
            depth -= 1
            if depth <= 0:
                break
    if deepest > _MAX_NESTED:
        raise BadRecord("It is nested too deeply.")
    if deepest > _NESTED_BY_DEFAULT and sys.getrecursionlimit() < _RECURSION_LIMIT:
        sys.setrecursionlimit(_RECURSION_LIMIT)  # permanent: the limit applies to all threads


#: a quoted string, as json.dumps(ensure_ascii=False) writes it
_text = json.encoder.encode_basestring


def _write_scalar(value: Any, type_: SqlType) -> str:
    if isinstance(type_, Decimal):
        return f"{value:f}"
    if type_ == STRING:
        return _text(value)
    if type_ == BOOLEAN:
        return "true" if value else "false"
    if type_ == VARIANT:
        return str(value)
    if type_ == BYTES:
        return _text(base64.b64encode(value).decode())
    if type_ == DOUBLE:
        text = double_text(float(value))
        return text if text[-1].isdigit() else _text(text)
    return str(value)


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a valid JSON number")


def _digits(text: str) -> str:
    """``text`` if it has no more digits than Jackson accepts."""
    if len(text) > _MAX_DIGITS and sum(map(str.isdigit, text)) > _MAX_DIGITS:
        raise ValueError(f"a number has more than {_MAX_DIGITS} digits")
    return text


def _integer(text: str) -> int:
    return int(_digits(text))


def _fraction(text: str) -> PythonDecimal:
    return PythonDecimal(_digits(text))


_DECODER = json.JSONDecoder(parse_float=_fraction, parse_int=_integer, parse_constant=_no_constant)


class _Integer(int):
    """A whole number that keeps its text."""

    text: str

    def __new__(cls, text: str) -> _Integer:
        integer = super().__new__(cls, _integer(text))
        integer.text = text
        return integer


class _Fraction(PythonDecimal):
    """A number that keeps its text."""

    text: str

    def __new__(cls, text: str) -> _Fraction:
        fraction = super().__new__(cls, _fraction(text))
        fraction.text = text
        return fraction


class _Huge(NamedTuple):
    """A number whose exponent no Decimal has: it fits VARIANTs only."""

    text: str


class _Members(dict[str, Any]):
    """An object that keeps members of the same name."""

    def __init__(self, members: list[tuple[str, Any]]) -> None:
        super().__init__(members)
        self.members = members


def _faithful_fraction(text: str) -> _Fraction | _Huge:
    try:
        return _Fraction(text)
    except InvalidOperation:
        return _Huge(text)


#: reads what VARIANTs keep: the digits of numbers, and all members of objects
_FAITHFUL = json.JSONDecoder(
    parse_float=_faithful_fraction,
    parse_int=_Integer,
    parse_constant=_no_constant,
    object_pairs_hook=_Members,
)


def faithful(data: bytes) -> Any:
    """The only JSON value of ``data``, of whose parts ``variant`` makes VARIANTs.

    Raises:
        ValueError, RecursionError: there is none, or more.
    """
    value = _FAITHFUL.decode(data.decode())
    return _without_lone_surrogates(value) if _SURROGATE.search(data) else value


def variant(value: Any) -> str:
    """The VARIANT of a value in what ``faithful`` returned: its text, as VariantText.java writes it."""
    match value:
        case _Members(members=members):
            return f"{{{','.join(f'{_text(name)}:{variant(v)}' for name, v in members)}}}"
        case list():
            return f"[{','.join(map(variant, value))}]"
        case str():
            return _text(value)
        case bool():
            return "true" if value else "false"
        case None:
            return "null"
    return str(value.text)


#: JSON's white space
_SPACE = " \t\r\n"


def _without_lone_surrogates(value: Any) -> Any:
    """A JSON value with encodable strings: Java also writes "?", and rejects such names."""
    match value:
        case str():
            return value.encode(errors="replace").decode()
        case list():
            return [_without_lone_surrogates(v) for v in value]
        case _Members(members=members):
            return _Members([(_whole_name(k), _without_lone_surrogates(v)) for k, v in members])
        case dict():
            return {_whole_name(k): _without_lone_surrogates(v) for k, v in value.items()}
    return value


def _whole_name(name: str) -> str:
    if _without_lone_surrogates(name) != name:
        raise ValueError("a name has half of a character")
    return name


def _folded(record: Mapping[str, Any]) -> dict[str, Any]:
    return {name.upper(): value for name, value in record.items()}


def _member(record: Mapping[str, Any], folded: Mapping[str, Any], name: str) -> Any:
    return record[name] if name in record else folded.get(name)


def mismatch(value: Any, expected: Any, path: str) -> BadRecord:
    """The error of a value that is not of a type."""
    shown = json.dumps(value, default=str)
    shown = shown if len(shown) <= 40 else shown[:37] + "..."
    return BadRecord(f"Can't convert {shown} to {expected}. Path: {path}")


def _read_scalar(value: Any, type_: SqlType, path: str) -> Any:
    is_number = isinstance(value, (int, PythonDecimal)) and not isinstance(value, bool)
    is_text = isinstance(value, str)
    if type_ == STRING:
        return _any_text(value)
    if type_ == BOOLEAN and isinstance(value, bool):
        return value
    if type_ in (INTEGER, BIGINT) and is_text:
        return parse_integer(value.strip(SPACE), type_)
    if type_ in NUMBER_OF and is_text:
        number = parse_integer(value.strip(SPACE), BIGINT)
        return in_range(_whole(number, type_), type_)
    if (type_ in (INTEGER, BIGINT) or type_ in NUMBER_OF) and is_number:
        return in_range(_whole(value, type_), type_)
    if type_ == DOUBLE and is_number:
        return _double(value, path)
    if type_ == DOUBLE and is_text:
        return parse_double(value)
    if isinstance(type_, Decimal):
        if is_number:
            return fit_decimal(PythonDecimal(value), type_)
        if is_text:
            return parse_decimal(value, type_)
    if type_ == BYTES and is_text:
        return from_base64(value)
    raise mismatch(value, type_, path)


def _whole(value: int | PythonDecimal, type_: SqlType) -> int:
    """The number without its fraction, if it is in the range of ``type_`` (JsonDecoder.java)."""
    # check the exponent first: the digits of 1e999999999 do not fit in memory
    if isinstance(value, PythonDecimal) and not (
        has_java_exponent(value) and (not value or value.adjusted() <= _LONG_DIGITS)
    ):
        raise BadRecord(f"{value} does not fit {type_}")
    # Spark's timestamps are microseconds
    whole = int(value) * (1000 if type_ == TIMESTAMP else 1)
    if wrap(whole, NUMBER_OF.get(type_, type_)) != whole:
        raise BadRecord(f"{value} does not fit {type_}")
    return int(value)


def _double(value: int | PythonDecimal, path: str) -> float:
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if math.isinf(number):
        raise mismatch(value, DOUBLE, path)
    return number


def _any_text(value: Any) -> str:
    """Any JSON value as a STRING: objects as JSON, arrays as ``[a, b]``, the rest unchanged."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return f"[{', '.join('null' if v is None else _any_text(v) for v in value)}]"
    return _json_text(value)


def _json_text(value: Any) -> str:
    match value:
        case dict():
            return "{" + ",".join(f"{_text(k)}:{_json_text(v)}" for k, v in value.items()) + "}"
        case list():
            return f"[{','.join(map(_json_text, value))}]"
        case str():
            return _text(value)
        case bool():
            return "true" if value else "false"
        case None:
            return "null"
        case PythonDecimal() if value == 0:
            return str(abs(value))  # as in Java, without a sign
    return str(value)
