"""Casts (reference §3.4): which exist, their Spark SQL text, and which can fail.

A table has the casts of scalar types; ARRAY, MAP and STRUCT are cast part by part. The text forms of
reference §3.1 are here too, because they are the results of casts to STRING.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ksql_spark.functions.spark_text import bounded, let, spark_type, string, timestamp_of, variable
from ksql_spark.types import (
    BYTES,
    CALENDAR_INTERVAL,
    INTERVAL,
    MAX_DECIMAL_TEXT,
    STRING,
    TIME,
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
    contains_variant,
    quote_identifier,
)

_DATE_PATTERN = string(r"^\d{4}(-\d{1,2}(-\d{1,2})?)?$")
_TIME_PATTERN = string(r"^\d{1,2}(:\d{1,2}(:\d{1,2}([.]\d{1,9})?)?)?$")
_TIMESTAMP_PATTERN = string(r"^\d{4}(-\d{1,2}(-\d{1,2})?)?(T.*)?$")
TIMESTAMP_TEXT = "yyyy-MM-dd\\'T\\'HH:mm:ss.SSS"

# ---- the table ----------------------------------------------------------------------------------------


def _by_spark(text: str, target: SqlType) -> str:
    return f"cast({text} as {spark_type(target)})"


def _never(source: SqlType, target: SqlType) -> bool:
    return False


def _always(source: SqlType, target: SqlType) -> bool:
    return True


@dataclass(frozen=True)
class _Cast:
    """The conversion of one type to another.

    Args:
        lower: Spark SQL text of the value, the target -> text; None: the text form of §3.1.
        can_fail: of the two types: whether some values cannot be converted, which gives NULL.
    """

    lower: Callable[[str, SqlType], str] | None = _by_spark
    can_fail: Callable[[SqlType, SqlType], bool] = _never


# ---- from text ----------------------------------------------------------------------------------------


def _parse_whole(text: str, target: SqlType) -> str:
    # Spark would truncate a fraction
    return let(text, lambda t: f"if(instr({t}, '.') = 0, {_by_spark(t, target)}, NULL)")


def _parse_decimal(text: str, target: SqlType) -> str:
    return let(
        f"trim({text})", lambda t: f"if(length({t}) <= {MAX_DECIMAL_TEXT}, {_by_spark(t, target)}, NULL)"
    )


def _parse_double(text: str, _: SqlType) -> str:
    return let(
        f"cast({text} as double)",
        lambda t: f"if(abs({t}) <= 1.7976931348623157E308D, {t}, NULL)",
    )


def _parse_boolean(text: str, _: SqlType) -> str:
    return f"(lower(trim({text})) in ('t', 'tr', 'tru', 'true', 'y', 'ye', 'yes'))"


def _parse_date(text: str, _: SqlType) -> str:
    return let(text, lambda t: f"if({t} rlike {_DATE_PATTERN}, cast({t} as date), NULL)")


def _parse_time(text: str) -> str:
    moment = f"cast(concat('1970-01-01T', {text}) as timestamp)"
    return f"if({text} rlike {_TIME_PATTERN}, cast(unix_millis({moment}) as int), NULL)"


def _parse_any_timestamp(text: str) -> str:
    # Spark requires minutes and seconds before a zone
    hours = f"regexp_replace({text}, {string(r'(T[0-9]{1,2})([Z+-].*)$')}, '$1:00$2')"
    minutes = f"regexp_replace({hours}, {string(r'(T[0-9]{1,2}:[0-9]{1,2})([Z+-].*)$')}, '$1:00$2')"
    parsed = f"timestamp_millis(unix_millis(cast({minutes} as timestamp)))"
    # most texts are in the full form, which is fast to parse
    return f"coalesce(ksql.full_timestamp({text}), {parsed})"


def _parse_timestamp(text: str, _: SqlType) -> str:
    return let(text, lambda t: f"if({t} rlike {_TIMESTAMP_PATTERN}, {_parse_any_timestamp(t)}, NULL)")


# ---- VARIANT ------------------------------------------------------------------------------------------


def variant_text(text: str) -> str:
    """Spark SQL text: the STRING of a VARIANT, a text without its quotes."""
    return f"ksql.variant_text({text})"


def _read_variant(text: str, target: SqlType) -> str:
    """Return text that reads a VARIANT as the JSON format reads a column."""
    name = f"variant_as:`v` {spark_type(target, 'time(3)', 'variant')}"
    return f"ksql.{quote_identifier(name)}({text}).`v`"


def to_variant(text: str, source: SqlType) -> str:
    """Spark SQL text: a value as JSON, NULL as NULL."""
    return text if source == VARIANT else let(text, lambda t: f"if({t} is null, NULL, {to_json(t, source)})")


def to_json(text: str, type_: SqlType) -> str:
    """Spark SQL text: the JSON of a value, NULL as null: DATE, TIME and TIMESTAMP as text, names sorted."""
    if isinstance(type_, Null):
        return "'null'"
    if type_ == VARIANT:
        return f"coalesce({text}, 'null')"
    name = "json_text"
    if contains_variant(type_):
        name = quote_identifier(f"json_text:`v` {spark_type(_wire_type(type_), variant='variant')}")
    return f"ksql.{name}(struct({_wire(text, type_)}))"


def _wire(text: str, type_: SqlType) -> str:
    """``text`` in the form that JsonEncoder.java needs: a TIME, which is a number in Spark, as text; names as
    STRING.
    """
    if not _has_time_or_names(type_):
        return text
    match type_:
        case Array(element):
            v = variable(text)
            return f"transform({text}, {v} -> {_wire(v, element)})"
        case Map(key, value):
            v = variable(text)
            row = f"struct({to_text(f'{v}.key', key)} as key, {_wire(f'{v}.value', value)} as value)"
            return f"map_from_entries(transform(map_entries({text}), {v} -> {row}))"
        case Struct(fields):
            members = ", ".join(
                f"{string(f.name)}, {_wire(f'{text}.{quote_identifier(f.name)}', f.type)}" for f in fields
            )
            return f"if({text} is null, NULL, named_struct({members}))"
    return to_text(text, type_)


def _wire_type(type_: SqlType) -> SqlType:
    """The type of ``_wire``."""
    match type_:
        case Array(element):
            return Array(_wire_type(element))
        case Map(_, value):
            return Map(STRING, _wire_type(value))
        case Struct(fields):
            return Struct(tuple(Field(f.name, _wire_type(f.type)) for f in fields))
    return STRING if type_ == TIME else type_


def _has_time_or_names(type_: SqlType) -> bool:
    match type_:
        case Array(element):
            return _has_time_or_names(element)
        case Map(key, value):
            return key != STRING or _has_time_or_names(value)
        case Struct(fields):
            return any(_has_time_or_names(f.type) for f in fields)
    return type_ == TIME


def _whole_digits(source: SqlType) -> int:
    match source:
        case Decimal(precision, scale):
            return precision - scale
        case Primitive("INTEGER"):
            return 10
    return 19


def _loses_digits(source: SqlType, target: SqlType) -> bool:
    # as Spark has them: of more than 38 digits, whole ones are lost where both operands need many decimals
    return _whole_digits(source) > _whole_digits(bounded(target) if isinstance(target, Decimal) else target)


#: (from, to) by the types' base names; a cast of a type to itself changes nothing
_CASTS: dict[tuple[str, str], _Cast] = {
    ("INTEGER", "BIGINT"): _Cast(),
    ("INTEGER", "DOUBLE"): _Cast(),
    ("BIGINT", "INTEGER"): _Cast(),
    ("BIGINT", "DOUBLE"): _Cast(),
    ("DOUBLE", "INTEGER"): _Cast(),
    ("DOUBLE", "BIGINT"): _Cast(),
    **{("DECIMAL", whole): _Cast(can_fail=_always) for whole in ("INTEGER", "BIGINT")},
    ("DECIMAL", "DOUBLE"): _Cast(),
    **{(number, "DECIMAL"): _Cast(can_fail=_loses_digits) for number in ("INTEGER", "BIGINT", "DECIMAL")},
    ("DOUBLE", "DECIMAL"): _Cast(can_fail=_always),
    **{
        (any_, "STRING"): _Cast(None)
        for any_ in (
            "BOOLEAN", "INTEGER", "BIGINT", "DOUBLE", "DECIMAL", "DATE", "TIME", "TIMESTAMP", "ARRAY", "MAP",
            "STRUCT",
        )
    },
    **{("STRING", whole): _Cast(_parse_whole, _always) for whole in ("INTEGER", "BIGINT")},
    ("STRING", "DOUBLE"): _Cast(_parse_double, _always),
    ("STRING", "DECIMAL"): _Cast(_parse_decimal, _always),
    ("STRING", "BOOLEAN"): _Cast(_parse_boolean),
    ("STRING", "BYTES"): _Cast(lambda text, _: f"try_to_binary({text}, 'base64')", _always),
    ("STRING", "DATE"): _Cast(_parse_date, _always),
    ("STRING", "TIME"): _Cast(lambda text, _: let(text, _parse_time), _always),
    ("STRING", "TIMESTAMP"): _Cast(_parse_timestamp, _always),
    # as a STRING, which a text and all scalars of JSON are
    ("VARIANT", "STRING"): _Cast(lambda text, _: variant_text(text)),
    **{
        ("VARIANT", scalar): _Cast(lambda text, target: cast(variant_text(text), STRING, target), _always)
        for scalar in (
            "BOOLEAN", "INTEGER", "BIGINT", "DOUBLE", "DECIMAL", "BYTES", "DATE", "TIME", "TIMESTAMP",
        )
    },
    **{("VARIANT", nested): _Cast(_read_variant, _always) for nested in ("ARRAY", "MAP", "STRUCT")},
    ("TIMESTAMP", "DATE"): _Cast(),
    ("INTERVAL", "BIGINT"): _Cast(),
    ("TIMESTAMP", "TIME"): _Cast(lambda text, _: f"cast(pmod(unix_millis({text}), 86400000L) as int)"),
    ("DATE", "TIMESTAMP"): _Cast(lambda text, _: timestamp_of(f"(unix_date({text}) * 86400000L)"), _always),
}  # fmt: skip


def _base(type_: SqlType) -> str:
    """The name of a type without its parameters."""
    return type_.name if isinstance(type_, Primitive) else type(type_).__name__.upper()


def _between(source: SqlType, target: SqlType) -> _Cast | None:
    return _CASTS.get((_base(source), _base(target)))


# ---- the casts ----------------------------------------------------------------------------------------


def can_cast(source: SqlType, target: SqlType) -> bool:
    """Whether CAST from ``source`` to ``target`` exists (the table in reference §3.4)."""
    if source == target or isinstance(source, Null):
        return True
    match source, target:
        case Array(a), Array(b):
            return can_cast(a, b)
        case Map(k, v), Map(k2, v2):
            return can_cast(k, k2) and can_cast(v, v2)
        case _, Primitive("VARIANT"):
            return source not in (INTERVAL, CALENDAR_INTERVAL) and not isinstance(source, Function)
        case Struct(fields), Struct():
            pairs = ((f.type, target.field(f.name)) for f in fields)
            return all(
                to_field is None or can_cast(from_type, to_field.type) for from_type, to_field in pairs
            )
    return _between(source, target) is not None


def cast_can_fail(source: SqlType, target: SqlType) -> bool:
    """Whether a value of ``source`` may fail to convert to ``target``; failures of parts are ignored."""
    conversion = None if source == target else _between(source, target)
    return conversion is not None and conversion.can_fail(source, target)


def cast_grows(source: SqlType, target: SqlType) -> bool:
    """Whether a value may grow by a factor when it is cast: by names, quotes and escapes, or in base64."""
    match source, target:
        case Array(a), Array(b):
            return cast_grows(a, b)
        case Map(k, v), Map(k2, v2):
            return cast_grows(k, k2) or cast_grows(v, v2)
        case Struct(fields), Struct():
            pairs = ((f.type, target.field(f.name)) for f in fields)
            return any(
                to_field is not None and cast_grows(from_type, to_field.type) for from_type, to_field in pairs
            )
        case ((Array() | Map() | Struct()), _):
            return True
    return target == VARIANT and source in (BYTES, STRING)


def cast(text: str, source: SqlType, target: SqlType) -> str:
    """Spark SQL text that casts ``text`` from ``source`` to ``target`` as KSQL does; NULL for invalid values.

    Raises:
        ValueError: KSQL has no such cast; check with ``can_cast`` first.
    """
    if source == target:
        return text
    if isinstance(source, Null):
        return _by_spark(text, target)
    if not can_cast(source, target):
        raise ValueError(f"no cast from {source} to {target}")
    match source, target:
        case _, Primitive("VARIANT"):
            return to_variant(text, source)
        case Array(a), Array(b):
            v = variable(text)
            element = cast(v, a, b)
            if element == _by_spark(v, b):
                return _by_spark(text, target)
            return f"transform({text}, {v} -> {element})"
        case Map(k, item), Map(k2, item2):
            v = variable(text)
            key, value = cast(f"{v}.key", k, k2), cast(f"{v}.value", item, item2)
            entries = f"transform(map_entries({text}), {v} -> struct({key} as key, {value} as value))"
            return f"map_from_entries({entries})"
        case Struct(), Struct(fields):
            return let(text, lambda s: _cast_struct(s, source, fields, spark_type(target)))
    rule = _between(source, target)
    assert rule is not None  # can_cast says so
    return to_text(text, source) if rule.lower is None else rule.lower(text, target)


def _cast_struct(text: str, source: Struct, fields: tuple[Any, ...], sql_type: str) -> str:
    parts = []
    for field in fields:
        have = source.field(field.name)
        value = f"{text}.{quote_identifier(field.name)}"
        inner = cast(value, have.type, field.type) if have else f"cast(NULL as {spark_type(field.type)})"
        parts.append(f"{string(field.name)}, {inner}")
    return f"if({text} is null, cast(NULL as {sql_type}), named_struct({', '.join(parts)}))"


# ---- text forms (reference §3.1) ----------------------------------------------------------------------


def to_text(text: str, type_: SqlType) -> str:
    """Spark SQL text for the STRING form of a value of ``type_`` (reference §3.1)."""
    match type_:
        case Primitive("STRING" | "VARIANT"):
            return text
        case Primitive("TIME"):
            return let(text, _time_text)
        case Primitive("TIMESTAMP"):
            return f"date_format({text}, '{TIMESTAMP_TEXT}')"
        case Primitive("BYTES"):
            return f"base64({text})"
        case Decimal():
            return plain_decimal(text, type_)
        case Array(element):
            v = variable(text)
            if to_text(v, element) in (v, f"cast({v} as string)"):
                return f"concat('[', array_join(cast({text} as array<string>), ', ', 'null'), ']')"
            return f"concat('[', array_join(transform({text}, {v} -> {_inner_text(v, element)}), ', '), ']')"
        case Map(key, value):
            v = variable(text)
            entry = f"concat({_inner_text(f'{v}.key', key)}, '=', {_inner_text(f'{v}.value', value)})"
            # a NULL map must not become {}
            return f"concat('{{', array_join(transform(map_entries({text}), {v} -> {entry}), ', '), '}}')"
        case Struct(fields):
            return let(text, lambda t: _struct_text(t, fields))
    return f"cast({text} as string)"


def _inner_text(text: str, type_: SqlType) -> str:
    return f"coalesce({to_text(text, type_)}, 'null')"


def _struct_text(text: str, fields: tuple[Any, ...]) -> str:
    parts = []
    for field in fields:
        value = to_text(f"{text}.{quote_identifier(field.name)}", field.type)
        parts.append(f"concat({string(field.name + '=')}, {value})")
    # NULL fields are omitted
    return f"if({text} is null, NULL, concat('Struct{{', concat_ws(',', {', '.join(parts)}), '}}'))"


def _time_text(text: str) -> str:
    minutes = f"lpad(({text} div 3600000) % 24, 2, '0'), ':', lpad(({text} div 60000) % 60, 2, '0')"
    seconds = f"({text} div 1000) % 60"
    return f"concat({minutes}, if({seconds} = 0, '', concat(':', lpad({seconds}, 2, '0'))))"


def plain_decimal(text: str, type_: Decimal) -> str:
    """The digits of a DECIMAL without an exponent, scale kept."""
    if type_.scale <= 6:
        return f"cast({text} as string)"

    # from the 7th decimal on, Java writes small numbers with an exponent
    return f"ksql.decimal_text({text})"
