"""Spark SQL text of types, constants and common operations, used by all families.

Spark runs with SESSION_SETTINGS: integers wrap, invalid casts give NULL. lowering.py lowers whole
expressions.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Sequence
from decimal import Decimal as PythonDecimal
from typing import Any

from ksql_spark.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    CALENDAR_INTERVAL,
    DATE,
    DOUBLE,
    INTEGER,
    INTERVAL,
    STRING,
    TIME,
    TIMESTAMP,
    VARIANT,
    Array,
    Decimal,
    Field,
    Function,
    Map,
    Null,
    Primitive,
    SqlType,
    Struct,
    contains_map,
    quote_identifier,
)

#: the settings that this package's texts depend on
SESSION_SETTINGS: dict[str, str] = {
    "spark.sql.ansi.enabled": "false",
    "spark.sql.caseSensitive": "true",
    "spark.sql.chunkBase64String.enabled": "false",
    "spark.sql.mapKeyDedupPolicy": "LAST_WIN",
    "spark.sql.session.timeZone": "UTC",
}

#: Spark's limit; reference §3.5 has none
MAX_PRECISION = 38

_PRIMITIVE_TYPES: dict[SqlType, str] = {
    BOOLEAN: "boolean",
    INTEGER: "int",
    BIGINT: "bigint",
    DOUBLE: "double",
    STRING: "string",
    BYTES: "binary",
    DATE: "date",
    # milliseconds of the day: Spark's own TIME type is new, and no source or sink supports it
    TIME: "int",
    TIMESTAMP: "timestamp",
    # its JSON: Spark's VARIANT keeps neither all digits nor the order of members
    VARIANT: "string",
    INTERVAL: "bigint",
    CALENDAR_INTERVAL: "int",
}


def spark_type(type_: SqlType, time: str = "int", variant: str = "string") -> str:
    """The Spark SQL type of ``type_``; that of NULL is ``void``.

    ``time`` stands for TIME, which is a number in Spark, ``variant`` for VARIANT, which is text.
    """
    match type_:
        case Primitive("TIME"):
            return time
        case Primitive("VARIANT"):
            return variant
        case Primitive():
            return _PRIMITIVE_TYPES[type_]
        case Decimal():
            fitting = bounded(type_)
            return f"decimal({fitting.precision},{fitting.scale})"
        case Array(element):
            return f"array<{spark_type(element, time, variant)}>"
        case Map(key, value):
            return f"map<{spark_type(key, time, variant)},{spark_type(value, time, variant)}>"
        case Struct(fields):
            types = (spark_type(f.type, time, variant) for f in fields)
            inner = ",".join(f"{quote_identifier(f.name)}:{t}" for f, t in zip(fields, types, strict=True))
            return f"struct<{inner}>"
        case Null():
            return "void"
        case Function():
            raise ValueError("a lambda has no Spark type")
    raise ValueError(f"no Spark type for {type_}")


def bounded(type_: Decimal) -> Decimal:
    """``type_`` as Spark limits it to 38 digits: it keeps whole digits, but 6 decimals too."""
    if type_.precision <= MAX_PRECISION:
        return type_
    whole = type_.precision - type_.scale
    return Decimal(MAX_PRECISION, max(MAX_PRECISION - whole, min(type_.scale, 6)))


def string(value: str) -> str:
    """A Spark SQL string literal."""
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


#: the number of digits that Spark keeps when it changes a sign
_SIGN_DIGITS = 34


def signed(number: str, type_: SqlType, spark: str, exact: str) -> str:
    """Spark SQL text: a number with another sign.

    Args:
        number: the number's text.
        type_: its type.
        spark: Spark's own way, with {} for the number.
        exact: the function of ours that keeps the digits of all DECIMALs.
    """
    if isinstance(type_, Decimal) and type_.precision > _SIGN_DIGITS:
        return f"ksql.{exact}({number})"
    return spark.format(number)


def constant(value: Any, type_: SqlType) -> str:
    """The Spark SQL text of a Python value of ``type_``.

    DATE as days, TIME and TIMESTAMP as milliseconds (int); BYTES as bytes; lists for ARRAY, dicts for MAP
    and STRUCT (by field name).

    Raises:
        ValueError: the value does not belong to the type.
    """
    if value is None:
        return "NULL" if isinstance(type_, Null) else f"cast(NULL as {spark_type(type_)})"
    match type_:
        case Primitive("BOOLEAN"):
            return "true" if value else "false"
        case Primitive("INTEGER") | Primitive("TIME"):
            return f"{value:d}" if value >= 0 else f"({value:d})"
        case Primitive("INTERVAL YEAR TO MONTH"):
            return f"({value:d})"
        case Primitive("BIGINT" | "INTERVAL"):
            # the smallest one has no literal
            return f"{value:d}L" if value >= 0 else f"({value:d}L)"
        case Primitive("DOUBLE"):
            number = float(value)
            if number != number or number in (float("inf"), float("-inf")):
                return f"double({string(repr(number))})"
            text = repr(number).upper()
            text = text if "E" in text else f"{text}E0"
            return f"{text}D" if number >= 0 and not text.startswith("-") else f"({text}D)"
        case Primitive("STRING" | "VARIANT"):
            return string(value)
        case Primitive("BYTES"):
            return f"X'{bytes(value).hex()}'"
        case Primitive("DATE"):
            return f"date_from_unix_date({value:d})"
        case Primitive("TIMESTAMP"):
            return f"timestamp_millis({value:d}L)"
        case Decimal():
            return f"cast('{PythonDecimal(value):f}' as {spark_type(type_)})"
        case Array(element):
            return f"cast(array({', '.join(constant(v, element) for v in value)}) as {spark_type(type_)})"
        case Map(key, item):
            inner = ", ".join(f"{constant(k, key)}, {constant(v, item)}" for k, v in value.items())
            return f"cast(map({inner}) as {spark_type(type_)})"
        case Struct(fields):
            inner = ", ".join(f"{string(f.name)}, {constant(value[f.name], f.type)}" for f in fields)
            return f"named_struct({inner})"
    raise ValueError(f"no constant of type {type_}")


class LambdaText(str):
    """The Spark SQL text of a lambda, ``(parameters) -> body``, and its parts.

    Args:
        parameters: texts of their names.
        body: text of the result.
    """

    parameters: tuple[str, ...]
    body: str

    def __new__(cls, parameters: Sequence[str], body: str) -> LambdaText:
        """Spark's grammar does not allow parentheses around a single parameter."""
        names = ", ".join(parameters)
        lambda_text = super().__new__(cls, f"{names if len(parameters) == 1 else f'({names})'} -> {body}")
        lambda_text.parameters, lambda_text.body = tuple(parameters), body
        return lambda_text


# ---- naming a value -----------------------------------------------------------------------------------

#: a column, a lambda variable, a literal: repeating it costs nothing
_ATOMIC = re.compile(r"`(?:[^`]|``)*`|[A-Za-z_][A-Za-z0-9_]*|\(?-?[0-9.]+(?:E[+-]?[0-9]+)?[LD]?\)?|'[^'\\]*'")
_NUMBER = re.compile(r"[0-9]+|\(-[0-9]+\)")
_NOT_REPEATABLE = re.compile(r"\b(?:rand|uuid)\(")
#: longest text that is repeated at each use
_SHORT = 120


def let(value: str, body: Callable[[str], str]) -> str:
    """``body`` over ``value``, which is evaluated only once if that matters.

    Short texts are repeated (Catalyst shares equal subexpressions); long or random ones are bound to a lambda
    variable, so that nested calls do not grow exponentially.
    """
    if _ATOMIC.fullmatch(value) or (len(value) <= _SHORT and not _NOT_REPEATABLE.search(value)):
        return body(value)
    name = variable(value)
    return f"transform(array({value}), {name} -> {body(name)})[0]"


def unless_null(needed: Sequence[str], body: str) -> str:
    """``body``, or NULL if one of ``needed`` is NULL, because our functions on INTs cannot detect NULL."""
    missing = [f"{text} is null" for text in needed if not _NUMBER.fullmatch(text)]
    return f"if({' or '.join(missing)}, NULL, {body})" if missing else body


def variable(*seeds: str) -> str:
    """A name for a lambda variable that differs from those around it: derived from its value's text."""
    return f"_v{zlib.crc32('|'.join(seeds).encode()):08x}"


def timestamp_of(millis: str) -> str:
    """Spark SQL text: the TIMESTAMP ``millis`` after 1970; NULL outside the range of Spark's microseconds."""
    most = 2**63 // 1000 - 1
    return let(millis, lambda m: f"if({m} between -{most}L and {most}L, timestamp_millis({m}), NULL)")


def has_own_order(type_: SqlType) -> bool:
    """Whether KSQL orders values of ``type_`` differently from Spark (reference §3.3; TextOrder.java)."""
    return type_ in (STRING, BYTES)


def ordered(left: str, symbol: str, right: str, type_: SqlType) -> str:
    """Spark SQL text: the BOOLEAN of < <= > or >= between two values of ``type_``; NULL where one is."""
    if not has_own_order(type_) or any(_is_below_surrogates(text) for text in (left, right)):
        return f"({left} {symbol} {right})"
    return f"(ksql.compare({left}, {right}) {symbol} 0)"


def _is_below_surrogates(text: str) -> bool:
    """Whether a literal only has characters below those that UTF-8 and UTF-16 order differently."""
    plain = literal_text(text)
    return plain is not None and all(c < "\ud800" for c in plain)


def equal_form(text: str, type_: SqlType) -> str:
    """Spark SQL text: the form that all DOUBLEs equal to ``text`` have: no sign of zeros, and one NaN."""
    return let(text, lambda d: f"if(isnan({d}), double('NaN'), {d} + 0D)") if type_ == DOUBLE else text


def without_maps(text: str, type_: SqlType) -> str:
    """Spark SQL text: a value with each MAP in it as the ARRAY of its entries, by key.

    Spark cannot compare MAPs. In KSQL, MAPs with equal entries are equal, in any order.
    """
    if not contains_map(type_):
        return text
    v = variable(text, "without")
    match type_:
        case Map(_, value):
            entries = f"map_entries({text})"
            if contains_map(value):
                entry = f"struct({v}.key as key, {without_maps(f'{v}.value', value)} as value)"
                entries = f"transform({entries}, {v} -> {entry})"
            return f"array_sort({entries})"
        case Array(element):
            return f"transform({text}, {v} -> {without_maps(v, element)})"
        case Struct(fields):
            return let(text, lambda s: _struct_of(s, fields, without_maps))
    raise ValueError(f"{type_} holds no MAP")


def with_maps(text: str, type_: SqlType) -> str:
    """Spark SQL text: the inverse of ``without_maps``."""
    if not contains_map(type_):
        return text
    v = variable(text, "with")
    match type_:
        case Map(_, value):
            entries = text
            if contains_map(value):
                entry = f"struct({v}.key as key, {with_maps(f'{v}.value', value)} as value)"
                entries = f"transform({entries}, {v} -> {entry})"
            return f"map_from_entries({entries})"
        case Array(element):
            return f"transform({text}, {v} -> {with_maps(v, element)})"
        case Struct(fields):
            return let(text, lambda s: _struct_of(s, fields, with_maps))
    raise ValueError(f"{type_} holds no MAP")


def _struct_of(text: str, fields: Sequence[Field], change: Callable[[str, SqlType], str]) -> str:
    parts = (f"{string(f.name)}, {change(f'{text}.{quote_identifier(f.name)}', f.type)}" for f in fields)
    return f"if({text} is null, NULL, named_struct({', '.join(parts)}))"


def attempt(text: str) -> str:
    """Spark SQL text: the STRING ``text``, or NULL if its evaluation throws.

    Some functions of Spark stop the query for an invalid pattern or time zone. ``try_to_binary`` catches
    exceptions of its operand; from STRING to UTF-8 and back it changes nothing.
    """
    return f"cast(try_to_binary({text}, 'utf-8') as string)"


_LITERAL = re.compile(r"'((?:[^'\\]|\\.)*)'", re.DOTALL)


def is_literal(text: str) -> bool:
    """Whether a Spark SQL text is a number or a text in the form of ``constant``, and so surely not NULL."""
    return literal_text(text) is not None or re.fullmatch(r"\(?-?[0-9][0-9.]*[LD]?\)?", text) is not None


def literal_text(text: str) -> str | None:
    """The value of a Spark SQL string literal as ``string`` writes it; None for any other text."""
    match = _LITERAL.fullmatch(text)
    return re.sub(r"\\(.)", r"\1", match.group(1), flags=re.DOTALL) if match else None
