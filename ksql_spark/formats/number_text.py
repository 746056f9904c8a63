"""Numbers as text in Java's form, for DELIMITED fields, JSON and casts in Python."""

from __future__ import annotations

import re
from decimal import MAX_PREC, InvalidOperation, localcontext
from decimal import Decimal as PythonDecimal

from ksql_spark.formats.base import BadRecord
from ksql_spark.types import INTEGER, MAX_DECIMAL_TEXT, TIME, TIMESTAMP, Decimal, SqlType

#: inclusive: Connect's times and ksqlDB allow the end of the day
_DAY_MS = 86_400_000
_INTEGER = re.compile(r"[+-]?[0-9]+")
#: the syntax of Java's BigDecimal
_DECIMAL = re.compile(r"[+-]?(\d++(?:\.\d*)?|\.\d+)([eE][+-]?\d+)?")
#: the syntax of Java's Double.parseDouble
_DOUBLE = re.compile(r"[+-]?([0-9]++(?:\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?[fFdD]?")
_HEXADECIMAL = re.compile(
    r"[+-]?0[xX]([0-9a-fA-F]++(?:\.[0-9a-fA-F]*)?|\.[0-9a-fA-F]+)[pP][+-]?[0-9]+[fFdD]?"
)
_NO_NUMBER = re.compile(r"[+-]?(NaN|Infinity)")
#: longer numbers are not read, for the reason of MAX_DECIMAL_TEXT
_MAX_BITS = 4096
#: the characters that Java's String.trim removes
SPACE = "".join(map(chr, range(33)))


def double_text(value: float) -> str:
    """``value`` as Java's Double.toString writes it: ``1.0``, ``1.0E10``, ``NaN``.

    >>> double_text(1e10), double_text(0.001), double_text(123456.0)
    ('1.0E10', '0.001', '123456.0')
    """
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    size = abs(value)
    if value == 0 or 1e-3 <= size < 1e7:
        plain = repr(value)
        return plain if "e" not in plain else f"{PythonDecimal(plain):f}"
    sign, digits, exponent = PythonDecimal(repr(value)).as_tuple()
    text = "".join(map(str, digits)).rstrip("0") or "0"
    power = len(digits) + int(exponent) - 1
    return f"{'-' if sign else ''}{text[0]}.{text[1:] or '0'}E{power}"


def wrap(value: int, type_: SqlType) -> int:
    """``value`` truncated to the 32 or 64 bits of INTEGER or BIGINT, like a Java cast."""
    bits = 32 if type_ == INTEGER else 64
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def parse_integer(text: str, type_: SqlType) -> int:
    """The INTEGER or BIGINT in ``text``.

    Raises:
        BadRecord: it is not an integer, or out of range.
    """
    if _INTEGER.fullmatch(text):
        number = PythonDecimal(text)  # Python reads no int of more than 4,300 digits
        if -(2**63) <= number < 2**63 and wrap(value := int(number), type_) == value:
            return value
    raise BadRecord(f"{text!r} is not a valid {type_}")


def in_range(value: int, type_: SqlType) -> int:
    """The number of a DATE, a TIMESTAMP (its microseconds must fit 64 bits) or a TIME (within a day).

    Raises:
        BadRecord: it is out of range.
    """
    if type_ == TIME and not 0 <= value <= _DAY_MS:
        raise BadRecord(f"There are no {value} milliseconds in a day, as a TIME needs.")
    if type_ == TIMESTAMP and not -(2**63) <= value * 1000 < 2**63:
        raise BadRecord(f"{value} is not a valid {type_}")
    return value


def parse_double(text: str) -> float:
    """The DOUBLE in ``text``.

    Raises:
        BadRecord: it is not a number.
    """
    stripped = text.strip(SPACE)
    try:
        if _DOUBLE.fullmatch(stripped):
            return float(stripped.rstrip("fFdD"))
        if _HEXADECIMAL.fullmatch(stripped):
            return float.fromhex(stripped.rstrip("fFdD"))
        if _NO_NUMBER.fullmatch(stripped):
            return float(stripped)
    except OverflowError:
        return float("-inf") if stripped.startswith("-") else float("inf")
    raise BadRecord(f"{text!r} is not a valid DOUBLE")


def whole_of_bytes(digits: bytes) -> PythonDecimal:
    """The number in big-endian bytes.

    Raises:
        BadRecord: it is too long.
    """
    number = int.from_bytes(digits, "big", signed=True)
    if number.bit_length() > _MAX_BITS:
        raise BadRecord(f"A number has {number.bit_length()} bits, which fits no DECIMAL")
    return PythonDecimal(number)


def is_decimal(text: str) -> bool:
    """Whether ``text`` is a number, of any size."""
    # Python also accepts other blanks and _
    return _DECIMAL.fullmatch(text.strip(SPACE)) is not None


def parse_decimal(text: str, type_: Decimal) -> PythonDecimal:
    """The DECIMAL in ``text``, at the type's scale.

    Raises:
        BadRecord: it is not a number, or does not fit without rounding.
    """
    number = text.strip(SPACE)
    if len(number) > MAX_DECIMAL_TEXT:
        raise BadRecord(f"A number has more than {MAX_DECIMAL_TEXT} characters")
    try:
        if is_decimal(number):
            return fit_decimal(PythonDecimal(number), type_)
    except InvalidOperation:
        pass
    raise BadRecord(f"{text!r} is not a valid {type_}")


def has_java_exponent(value: PythonDecimal) -> bool:
    """Whether Java's BigDecimal can have the exponent of a finite number."""
    return -(2**31) < int(value.as_tuple().exponent) < 2**31


def fit_decimal(value: PythonDecimal, type_: Decimal) -> PythonDecimal:
    """``value`` at the type's scale; Java's numbers have no negative zero.

    Raises:
        BadRecord: it does not fit without rounding.
    """
    if value.is_finite() and has_java_exponent(value):
        # check this first: the digits of 1e999999999 do not fit in memory
        if value == 0:
            return PythonDecimal((0, (0,), -type_.scale))
        if -type_.scale <= value.adjusted() < type_.precision - type_.scale:
            with localcontext(prec=MAX_PREC):
                fitted = value.quantize(PythonDecimal((0, (1,), -type_.scale)))
            if fitted == value:
                return fitted
    raise BadRecord(f"{value} does not fit {type_}")
