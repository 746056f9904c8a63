"""PostgreSQL's meaning of operators, functions and casts to which KSQL gives another one.

``meant`` replaces a bound call where ``ksql.sql.dialect`` is postgres. What stands in its place is an
operator of this module, which nobody can call by its name. PostgreSQL's documentation and its answers decide;
tests/spark/test_postgres_meaning.py compares the two. NUMERIC is a DECIMAL of 38 digits here.

A value that has no result is an error with PostgreSQL's code: ``refusing``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from decimal import Decimal as PythonDecimal
from typing import Any

from ksql_spark.errors import KsqlError
from ksql_spark.expressions import Call, Case, Cast, ColumnRef, Expression, Literal, TryCast
from ksql_spark.functions.casts import cast
from ksql_spark.functions.scalars import datetime, encodings
from ksql_spark.functions.signatures import signature
from ksql_spark.functions.spark_text import let, spark_type, string, variable
from ksql_spark.functions.spec import (
    BY_ARGUMENTS,
    MAX_BYTES,
    Category,
    Example,
    Kind,
    Lowering,
    Resolved,
    Spec,
    Typed,
    TypingRule,
)
from ksql_spark.instants import read_date, read_time, read_timestamp
from ksql_spark.regexes import InvalidRegex, Regex, group_count
from ksql_spark.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    CALENDAR_INTERVAL,
    DATE,
    DOUBLE,
    INTEGER,
    INTERVAL,
    NULL,
    STRING,
    TIME,
    TIMESTAMP,
    Array,
    Decimal,
    Map,
    Primitive,
    SqlType,
    Struct,
    is_numeric,
    keeps_numbers,
    to_decimal,
    widen_numeric,
    with_zone,
)

Types = Sequence[SqlType]
_D = PythonDecimal

#: the digits of NUMERIC, and those behind the point of a quotient
_DIGITS, _SCALE = 38, 20
#: an error of ``refusing`` in the message of an exception
REFUSED = re.compile(r"\[SQLSTATE (\w{5})\] ([^\n]*)")
_OUT_OF_RANGE: dict[SqlType, str] = {INTEGER: "integer out of range", BIGINT: "bigint out of range"}
_BY_ZERO = "division by zero"
_NAMES: dict[SqlType, str] = {
    INTEGER: "integer", BIGINT: "bigint", DOUBLE: "double precision", BOOLEAN: "boolean", DATE: "date",
    TIME: "time without time zone", TIMESTAMP: "timestamp without time zone", STRING: "text",
}  # fmt: skip


def refused(state: str, reason: str) -> KsqlError:
    """The error for a value, with PostgreSQL's code."""
    return KsqlError("VALUE_REFUSED", state=state, reason=reason)


def refusing(state: str, message: str, type_: SqlType) -> str:
    """Spark SQL text of a value that fails: with PostgreSQL's code, and a message that is such a text."""
    return f"cast(raise_error(concat({string(f'[SQLSTATE {state}] ')}, {message})) as {spark_type(type_)})"


def lets(values: Sequence[str], body: Callable[..., str], *bound: str) -> str:
    """``body`` over values that are evaluated once each."""
    if not values:
        return body(*bound)
    return let(values[0], lambda value: lets(values[1:], body, *bound, value))


def _checked(text: str, type_: SqlType, is_wrong: Callable[[str], str], state: str, message: str) -> str:
    """``text``, which fails where it is wrong."""
    return let(text, lambda r: f"if({is_wrong(r)}, {refusing(state, string(message), type_)}, {r})")


def _unless_missing(args: Sequence[str]) -> Callable[[str], str]:
    """Whether a result is NULL although no argument is."""
    return lambda result: " and ".join([f"{result} is null", *(f"{a} is not null" for a in args)])


# ---- arithmetic ------------------------------------------------------------------------------------------


def _numeric_result(symbol: str, a: Decimal, b: Decimal) -> Decimal:
    """The type of + - * / % over two DECIMALs; whole digits go before those behind the point."""
    whole, scale = max(a.precision - a.scale, b.precision - b.scale) + 1, max(a.scale, b.scale)
    if symbol == "*":
        whole, scale = a.precision - a.scale + b.precision - b.scale, a.scale + b.scale
    if symbol == "/":
        whole, scale = _DIGITS, max(_SCALE, scale)
    if whole + scale > _DIGITS:  # what has more digits fails; beyond these, it is rounded
        return Decimal(_DIGITS, min(scale, max(_SCALE, a.scale, b.scale)))
    return Decimal(whole + scale, scale)


def _arithmetic_types(symbol: str) -> TypingRule:
    def typing(types: Types, _: Sequence[Any]) -> Resolved | None:
        if len(types) != 2 or not all(map(is_numeric, types)):
            return None
        if DOUBLE in types or not any(isinstance(t, Decimal) for t in types):
            both = widen_numeric(*types)
            return Resolved((both, both), both)
        a, b = map(to_decimal, types)
        return Resolved((a, b), _numeric_result(symbol, a, b))

    return typing


_TRIED = {"+": "try_add", "-": "try_subtract", "*": "try_multiply"}
_LOWEST: dict[SqlType, str] = {INTEGER: "-2147483648", BIGINT: "(-9223372036854775807L - 1L)"}


def _arithmetic(symbol: str) -> Lowering:
    def lower(args: Sequence[str], types: Types) -> str:
        return lets(args, lambda a, b: of(a, b, types))

    def of(a: str, b: str, types: Types) -> str:
        kind = types[0]
        is_zero = f"{b} = 0" if symbol in "/%" else "false"
        if isinstance(kind, Decimal):
            result = _numeric_result(symbol, *map(to_decimal, types))
            text = f"ksql.`numeric:{symbol} {result.precision} {result.scale}`({a}, {b})"
            message, state = f"a numeric has {_DIGITS} digits here, {result.scale} behind the point", "22003"
        elif kind == DOUBLE:
            text, state = _double(symbol, a, b), "22003"
            message = "value out of range: overflow or underflow"
        elif symbol in "/%":
            text = f"({a} {'div' if symbol == '/' else '%'} {b})"
            if symbol == "/":  # the lowest number has no negative
                text = f"if({b} = -1 and {a} = {_LOWEST[kind]}, NULL, cast({text} as {spark_type(kind)}))"
            message, state = _OUT_OF_RANGE[kind], "22003"
        elif kind == INTEGER:
            wide = f"(cast({a} as bigint) {symbol} {b})"
            text = let(
                wide, lambda w: f"if({w} between -2147483648L and 2147483647L, cast({w} as int), NULL)"
            )
            message, state = _OUT_OF_RANGE[kind], "22003"
        else:
            text = f"{_TRIED[symbol]}({a}, {b})"
            message, state = _OUT_OF_RANGE[kind], "22003"
        result_type = _numeric_result(symbol, *map(to_decimal, types)) if isinstance(kind, Decimal) else kind
        whole = _checked(text, result_type, _unless_missing((a, b)), state, message)
        if symbol not in "/%":
            return whole
        by_zero = refusing("22012", string(_BY_ZERO), result_type)
        return f"if({is_zero} and {a} is not null, {by_zero}, {whole})"

    return lower


def _double(symbol: str, a: str, b: str) -> str:
    """Text: NULL where the result of finite numbers has no DOUBLE."""
    text = f"({a} {symbol} {b})" if symbol not in "/%" else f"if({b} = 0D, NULL, {a} {symbol} {b})"
    is_finite = " and ".join(f"abs({x}) < double('Infinity')" for x in (a, b))
    lost = f" or {{0}} = 0D and {a} <> 0D{f' and {b} <> 0D' if symbol == '*' else ''}"
    return let(
        text,
        lambda r: (
            f"if({is_finite} and (abs({r}) = double('Infinity')"
            f"{lost.format(r) if symbol in '*/' else ''}), NULL, {r})"
        ),
    )


def _negated(args: Sequence[str], types: Types) -> str:
    zero = "0L" if types[0] == BIGINT else "0"
    return _arithmetic("-")((f"cast({zero} as {spark_type(types[0])})", args[0]), (types[0], types[0]))


# ---- numbers ---------------------------------------------------------------------------------------------


def _rounded(args: Sequence[str], types: Types) -> str:
    if types[0] == DOUBLE:  # to the nearest even number
        return f"rint({args[0]})"
    places = args[1] if len(args) > 1 else "0"
    scaled = _whole(types) if len(args) == 1 else types[0]
    # Spark rounds ties away from zero, too, but only to a constant number of places
    return lets(
        (args[0], places),
        lambda x, n: (
            f"cast(if({x} < 0, - ksql.round(- {x}, {n}), ksql.round({x}, {n})) as {spark_type(scaled)})"
        ),
    )


def _whole(types: Types) -> SqlType:
    decimal = to_decimal(types[0])
    return Decimal(min(_DIGITS, decimal.precision - decimal.scale + 1), 0)


def _finite(function: str, state: str, message: str) -> Lowering:
    """A function of DOUBLEs that fails where the result is no number, or an infinity of finite arguments."""

    def lower(args: Sequence[str], types: Types) -> str:
        def of(*values: str) -> str:
            is_finite = " and ".join(f"abs({v}) < double('Infinity')" for v in values)
            return let(
                function.format(*values),
                lambda r: (
                    f"if({is_finite} and (isnan({r}) or {r} is null or abs({r}) = double('Infinity')), "
                    f"{refusing(state, string(message), DOUBLE)}, {r})"
                ),
            )

        return lets(args, of)

    return lower


def _power(args: Sequence[str], types: Types) -> str:
    zero = refusing("2201F", string("zero raised to a negative power is undefined"), DOUBLE)
    root = string("a negative number raised to a non-integer power yields a complex result")
    power = _finite("pow({0}, {1})", "22003", "value out of range: overflow")
    return lets(
        args,
        lambda a, b: (
            f"if({a} = 0D and {b} < 0D, {zero}, if({a} < 0D and {b} <> rint({b}), "
            f"{refusing('2201F', root, DOUBLE)}, {power([a, b], types)}))"
        ),
    )


# ---- texts -----------------------------------------------------------------------------------------------


def _substring(args: Sequence[str], types: Types) -> str:
    def of(text: str, first: str, count: str = "") -> str:
        if not count:
            return f"if({first} is null, NULL, substring({text}, greatest({first}, 1)))"
        end = f"(cast({first} as bigint) + {count})"
        size = f"cast(least(greatest({end} - greatest({first}, 1), 0), 2147483647) as int)"
        negative = refusing("22011", string("negative substring length not allowed"), types[0])
        missing = " or ".join(f"{one} is null" for one in (text, first, count))
        taken = f"substring({text}, greatest({first}, 1), {size})"
        return f"if({missing}, NULL, if({count} < 0, {negative}, {taken}))"

    return lets(args, of)


def _left(args: Sequence[str], _: Types) -> str:
    return lets(
        args, lambda t, n: f"substring({t}, 1, if({n} < 0, greatest(char_length({t}) + {n}, 0), {n}))"
    )


def _right(args: Sequence[str], _: Types) -> str:
    return lets(
        args,
        lambda t, n: (
            f"if({n} is null, NULL, substring({t}, if({n} < 0, 1 - {n},"
            f" greatest(char_length({t}) - {n}, 0) + 1)))"
        ),
    )


def _initials(args: Sequence[str], _: Types) -> str:
    def of(text: str) -> str:
        letters, letter, place = (variable(text, seed) for seed in ("letters", "letter", "place"))
        is_inside = f"{place} > 0 and element_at({letters}, {place}) rlike '[\\\\p{{L}}\\\\p{{N}}]'"
        each = f"({letter}, {place}) -> if({is_inside}, lower({letter}), upper({letter}))"
        whole = f"array_join(transform({letters}, {each}), '')"
        return f"transform(array(split({text}, '')), {letters} -> {whole})[0]"

    return let(args[0], of)


def _pad(function: str) -> Lowering:
    def lower(args: Sequence[str], _: Types) -> str:
        too_long = refusing("54000", string("requested length too large"), STRING)
        return lets(
            args,
            lambda t, n, p: (
                f"if({n} > char_length({t}) and not ksql.bytes_fit(cast({n} as bigint)), {too_long}, "
                f"{function}({t}, {n}, {p}))"
            ),
        )

    return lower


def _trimmed_types(types: Types, _: Sequence[Any]) -> Resolved | None:
    return Resolved(tuple(types), STRING) if 1 <= len(types) <= 2 and set(types) == {STRING} else None


def _trimmed(words: str) -> Lowering:
    return lambda args, _: f"trim({words} {args[1] if len(args) > 1 else string(' ')} FROM {args[0]})"


def _shifted_date(sign: str) -> Lowering:
    return lambda args, _: f"date_add({args[0]}, {sign}({args[1]}))"


def _overlay_types(types: Types, _: Sequence[Any]) -> Resolved | None:
    given = (STRING, STRING, INTEGER, INTEGER)[: len(types)]
    return Resolved(given, STRING) if len(types) in (3, 4) and tuple(types) == given else None


def _overlaid(args: Sequence[str], types: Types) -> str:
    wrong = refusing("22011", string("negative substring length not allowed"), STRING)

    def of(text: str, other: str, first: str, count: str) -> str:
        before, after = f"1, {first} - 1", f"greatest({first} + {count}, 1)"
        whole = f"concat(substring({text}, {before}), {other}, substring({text}, {after}))"
        return f"if({first} < 1, {wrong}, {whole})"

    return lets([*args, f"char_length({args[1]})"][:4], of)


def _split_part(args: Sequence[str], _: Types) -> str:
    zero = refusing("22023", string("field position must not be zero"), STRING)

    def of(text: str, delimiter: str, number: str) -> str:
        # split_part of Spark finds no part of an empty text, and all of the text without a delimiter
        undivided = f"if({number} in (1, -1), {text}, '')"
        whole = f"if({delimiter} = '', {undivided}, split_part({text}, {delimiter}, {number}))"
        return f"if({number} = 0, {zero}, {whole})"

    return lets(args, of)


def _text(literal: str) -> str:
    """The text that a literal of Spark SQL, as `string` writes it, has."""
    return re.sub(r"\\(.)", r"\1", literal[1:-1])


def _similar_types(types: Types, literals: Sequence[Any]) -> Resolved | None:
    if len(types) not in (2, 3) or set(types) != {STRING}:
        return None
    if not all(isinstance(one, str) for one in literals[1:]):
        raise refused("0A000", "The pattern of SIMILAR TO has to be a literal.")
    try:
        Regex(_similar([string(one) for one in literals[1:]]))
    except InvalidRegex as error:
        raise refused("2201B", f"invalid regular expression: {error}") from None
    return Resolved(tuple(types), BOOLEAN)


def _is_similar(args: Sequence[str], _: Types) -> str:
    pattern = string(_similar(args[1:]))
    return let(
        args[0], lambda t: f"if({t} is null, NULL, ksql.regexp_extract({pattern}, {t}, 0) is not null)"
    )


def _similar(literals: Sequence[str]) -> str:
    """The regular expression that a pattern of SIMILAR TO is."""
    pattern, escape = _text(literals[0]), _text(literals[1]) if len(literals) > 1 else "\\"
    parts, at, is_in_set = [], 0, False
    while at < len(pattern):
        one = pattern[at]
        if one == escape and at + 1 < len(pattern):
            at += 1
            parts.append(re.escape(pattern[at]))
        elif is_in_set:
            is_in_set = one != "]"
            parts.append("\\\\" if one == "\\" else one)
        else:
            is_in_set = one == "["
            parts.append({"%": ".*", "_": "."}.get(one) or (re.escape(one) if one in ".^$\\" else one))
        at += 1
    return f"(?s)^(?:{''.join(parts)})$"


def _found_types(types: Types, literals: Sequence[Any]) -> Resolved | None:
    if not isinstance(literals[1], str):
        raise refused("0A000", "The regular expression of SUBSTRING has to be a literal.")
    try:
        Regex(literals[1])
    except InvalidRegex as error:
        raise refused("2201B", f"invalid regular expression: {error}") from None
    return Resolved((STRING, STRING), STRING)


# ---- times -----------------------------------------------------------------------------------------------

_DAY_S = 86_400
_YEAR = "if(year({0}) > 0, year({0}), year({0}) - 1)"
_SECONDS = "(cast(pmod(unix_millis({0}), 60000L) as decimal(8, 0)) / 1000)"


def _hundreds(years: int) -> str:
    """Text: the century, or the millennium, of a moment."""
    after, before = f"(year({{0}}) + {years - 1}) div {years}", f"({years} - year({{0}})) div {years}"
    return f"if(year({{0}}) > 0, {after}, - ({before}))"


_INT = Decimal(19, 0)
#: fields of EXTRACT -> the type of the result, and its text over a TIMESTAMP
_OF_DAYS: dict[str, tuple[Decimal, str]] = {
    **{field: (_INT, f"extract({field} FROM {{0}})") for field in ("quarter", "month", "week", "day", "doy")},
    "dow": (_INT, "extract(dow FROM {0}) - 1"),
    "isodow": (_INT, "extract(dow_iso FROM {0})"),
    "isoyear": (_INT, "extract(yearofweek FROM {0})"),
    "year": (_INT, _YEAR),
    "decade": (_INT, "floor(year({0}) / 10D)"),
    "century": (_INT, _hundreds(100)),
    "millennium": (_INT, _hundreds(1000)),
    "julian": (
        Decimal(_DIGITS, _SCALE),
        f"ksql.`numeric:+ {_DIGITS} {_SCALE}`(cast(unix_date(cast({{0}} as date)) + 2440588L"
        f" as decimal(20, 0)), ksql.`numeric:/ {_DIGITS} {_SCALE}`("
        f"cast(pmod(unix_millis({{0}}), {_DAY_S}000L) as decimal(20, 0)), "
        f"cast({_DAY_S}000L as decimal(20, 0))))",
    ),
    "epoch": (Decimal(25, 6), "cast(unix_millis({0}) as decimal(20, 0)) / 1000"),
}
_OF_CLOCK: dict[str, tuple[Decimal, str]] = {
    "hour": (_INT, "hour({0})"),
    "minute": (_INT, "minute({0})"),
    "second": (Decimal(8, 6), _SECONDS),
    "milliseconds": (Decimal(8, 3), "pmod(unix_millis({0}), 60000L)"),
    "microseconds": (_INT, "pmod(unix_millis({0}), 60000L) * 1000L"),
}
_FIELDS = _OF_DAYS | _OF_CLOCK
#: other words for fields and units
_WORDS = {
    **{f"{word}s": word for word in _FIELDS if not word.endswith("s")},
    "millennia": "millennium", "centuries": "century", "millisecond": "milliseconds", "ms": "milliseconds",
    "microsecond": "microseconds", "us": "microseconds", "weeks": "week", "min": "minute", "mins": "minute",
    "sec": "second", "secs": "second", "hr": "hour", "hrs": "hour", "h": "hour", "m": "minute", "s": "second",
    "d": "day", "y": "year", "yr": "year", "yrs": "year", "mon": "month", "mons": "month", "qtr": "quarter",
    "w": "week", "c": "century", "cent": "century", "dec": "decade", "decs": "decade", "mil": "millennium",
    "mils": "millennium", "msec": "milliseconds", "usec": "microseconds",
}  # fmt: skip
_NOT_THERE = frozenset(("timezone", "timezone_hour", "timezone_minute", "timezone_h", "timezone_m"))


def named_field(word: Any, type_: SqlType) -> str:
    """The field of EXTRACT that a word names.

    Raises:
        KsqlError: VALUE_REFUSED, as PostgreSQL refuses it.
    """
    if not isinstance(word, str):
        raise refused("0A000", "The field of EXTRACT has to be a word or a literal.")
    name = _WORDS.get(word.lower(), word.lower())
    shown = f'unit "{word.lower()}" not {{}} for type {_NAMES.get(type_, "interval")}'
    if name not in _FIELDS and name not in _NOT_THERE:
        raise refused("22023", shown.format("recognized"))
    lacks: dict[SqlType, Collection[str]] = {DATE: _OF_CLOCK, TIME: [f for f in _OF_DAYS if f != "epoch"]}
    if name in lacks.get(type_, ()) or name in _NOT_THERE:
        raise refused("0A000", shown.format("supported"))
    return name


def _extract_types(types: Types, literals: Sequence[Any]) -> Resolved | None:
    name = named_field(literals[0], types[1])
    return Resolved(tuple(types), extracted_type(name, types[1]))


def extracted_type(name: str, type_: SqlType) -> Decimal:
    """The type of a field that EXTRACT takes from a value of a type."""
    return _INT if type_ == DATE else _FIELDS[name][0]


def _extract(args: Sequence[str], types: Types) -> str:
    name = named_field(args[0].strip("'"), types[1])
    moment = f"timestamp_millis(cast({args[1]} as bigint))" if types[1] == TIME else args[1]
    moment = f"cast({moment} as timestamp)"
    return let(
        moment,
        lambda m: f"cast({_FIELDS[name][1].format(m)} as {spark_type(extracted_type(name, types[1]))})",
    )


_TRUNCATED = {
    name: f"date_trunc('{word}', {{0}})"
    for name, word in {
        "year": "YEAR", "quarter": "QUARTER", "month": "MONTH", "week": "WEEK", "day": "DAY", "hour": "HOUR",
        "minute": "MINUTE", "second": "SECOND", "milliseconds": "MILLISECOND", "microseconds": "MICROSECOND",
    }.items()
} | {
    "decade": "make_timestamp(cast(floor(year({0}) / 10D) * 10 as int), 1, 1, 0, 0, 0)",
    "century": "make_timestamp(cast(floor((year({0}) - 1) / 100D) * 100 + 1 as int), 1, 1, 0, 0, 0)",
    "millennium": "make_timestamp(cast(floor((year({0}) - 1) / 1000D) * 1000 + 1 as int), 1, 1, 0, 0, 0)",
}  # fmt: skip


def _truncated_types(types: Types, literals: Sequence[Any]) -> Resolved | None:
    word = literals[0]
    if not isinstance(word, str):
        raise refused("0A000", "The unit of DATE_TRUNC has to be a literal.")
    if _WORDS.get(word.lower(), word.lower()) not in _TRUNCATED:
        raise refused("22023", f'unit "{word.lower()}" not recognized for type {_NAMES[TIMESTAMP]}')
    return Resolved((STRING, TIMESTAMP), TIMESTAMP)


def _truncated(args: Sequence[str], _: Types) -> str:
    word = args[0].strip("'").lower()
    return let(args[1], lambda m: _TRUNCATED[_WORDS.get(word, word)].format(m))


# ---- casts -----------------------------------------------------------------------------------------------

_INTEGER_TEXT = string(r"^\s*[+-]?\d+\s*$")
_NUMBER_TEXT = string(r"^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$")
_DATE_TEXT, _TIME_TEXT = string(r"^\s*\d+-\d+-\d+"), string(r"^\s*\d+:\d+")
#: types -> what their texts look like; other numbers as _NUMBER_TEXT
_TEXTS: dict[SqlType, str] = {
    INTEGER: _INTEGER_TEXT, BIGINT: _INTEGER_TEXT, DATE: _DATE_TEXT, TIME: _TIME_TEXT, TIMESTAMP: _DATE_TEXT,
}  # fmt: skip
_TRUE, _FALSE = (
    "('t', 'tr', 'tru', 'true', 'y', 'ye', 'yes', 'on', '1')",
    ("('f', 'fa', 'fal', 'fals', 'false', 'n', 'no', 'of', 'off', '0')"),
)


def _cast_to(target: SqlType) -> Lowering:
    return lambda args, types: let(args[0], lambda v: _casted(v, types[0], target))


def _casted(value: str, source: SqlType, target: SqlType) -> str:
    """Text: the value as one of the type, which fails where it has none."""
    text = _as_text(value, source) if target == STRING else _converted(value, source, target)
    if text is None:
        return cast(value, source, target)
    is_wrong = _unless_missing([value])
    if source != STRING:
        message = f"{_NAMES.get(target, 'numeric')} out of range"
        return _checked(text, target, is_wrong, "22003", message)
    name = _NAMES.get(target, "numeric")
    begin = string(f'invalid input syntax for type {name}: "')
    shown = f"concat({begin}, {value}, '\"')"
    wrong = refusing("22007" if target in (DATE, TIME, TIMESTAMP) else "22P02", shown, target)
    if target != BOOLEAN:
        state = "22008" if target in (DATE, TIME, TIMESTAMP) else "22003"
        out = f"concat('value out of range: ', {value})"
        wrong = (
            f"if({value} rlike {_TEXTS.get(target, _NUMBER_TEXT)}, {refusing(state, out, target)}, {wrong})"
        )
    return let(text, lambda r: f"if({is_wrong(r)}, {wrong}, {r})")


def _converted(value: str, source: SqlType, target: SqlType) -> str | None:
    """Text: the value in the type, NULL where it has none; None: KSQL's cast is PostgreSQL's."""
    if source == STRING:
        return _read(value, target)
    if target == BOOLEAN and source == INTEGER:
        return f"({value} <> 0)"
    if target == INTEGER and source == BOOLEAN:
        return f"cast({value} as int)"
    if target in (INTEGER, BIGINT) and (source == DOUBLE or isinstance(source, Decimal)):
        rounded = f"rint({value})" if source == DOUBLE else f"round({value}, 0)"
        return f"try_cast({rounded} as {spark_type(target)})"
    if target == INTEGER and source == BIGINT:
        return f"try_cast({value} as int)"
    if isinstance(target, Decimal) and is_numeric(source):
        # what Spark casts, it rounds half away from zero, as PostgreSQL
        given = f"cast(ksql.double_text({value}) as decimal(38, 18))" if source == DOUBLE else value
        return f"try_cast({given} as {spark_type(target)})"
    return None


def _read(value: str, target: SqlType) -> str:
    if target in (INTEGER, BIGINT):
        return f"if({value} rlike {_INTEGER_TEXT}, try_cast(trim({value}) as {spark_type(target)}), NULL)"
    if target == DOUBLE:
        read = f"try_cast(trim({value}) as double)"
        words = "('nan', 'inf', '+inf', '-inf', 'infinity', '+infinity', '-infinity')"
        return let(
            read,
            lambda r: f"if(abs({r}) < double('Infinity') or lower(trim({value})) in {words}, {r}, NULL)",
        )
    if target == BOOLEAN:
        word = f"lower(trim({value}))"
        return f"case when {word} in {_TRUE} then true when {word} in {_FALSE} then false end"
    if isinstance(target, Decimal):
        return f"if({value} rlike {_NUMBER_TEXT}, try_cast(trim({value}) as {spark_type(target)}), NULL)"
    if target in (DATE, TIME):
        return f"if({value} rlike {_TEXTS[target]}, {cast(f'trim({value})', STRING, target)}, NULL)"
    if target == TIMESTAMP:
        return cast(f"regexp_replace(trim({value}), '^(\\\\d+-\\\\d+-\\\\d+) +', '$1T')", STRING, target)
    return cast(f"trim({value})", STRING, target)


def _as_text(value: str, source: SqlType) -> str | None:
    match source:
        case t if t == DOUBLE:
            return f"if({value} is null, NULL, ksql.double_text({value}))"
        case t if t == TIMESTAMP:
            plain = cast(value, source, STRING)
            return f"replace(regexp_replace({plain}, '([.][0-9]*[1-9])?[.]?0+$', '$1'), 'T', ' ')"
        case t if t == BYTES:
            return f"concat('\\\\x', lower(hex({value})))"
    return None


def can_cast(source: SqlType, target: SqlType) -> bool:
    """Whether PostgreSQL has a cast that KSQL lacks."""
    return (source, target) in ((INTEGER, BOOLEAN), (BOOLEAN, INTEGER))


_CASTS: dict[SqlType, str] = {
    INTEGER: "PG_INTEGER", BIGINT: "PG_BIGINT", DOUBLE: "PG_DOUBLE", BOOLEAN: "PG_BOOLEAN",
    STRING: "PG_TEXT", DATE: "PG_DATE", TIME: "PG_TIME", TIMESTAMP: "PG_TIMESTAMP",
}  # fmt: skip


_TIMES: dict[SqlType, Callable[[str], str | None]] = {
    DATE: read_date, TIME: read_time, TIMESTAMP: read_timestamp,
}  # fmt: skip


def _decimal_types(types: Types, literals: Sequence[Any]) -> Resolved | None:
    if len(types) != 3:
        return None
    return Resolved(tuple(types), Decimal(int(literals[1]), int(literals[2])))


def _to_decimal(args: Sequence[str], types: Types) -> str:
    target = Decimal(int(args[1]), int(args[2]))
    return let(args[0], lambda v: _casted(v, types[0], target))


def _strict(
    name: str, specs: Sequence[Spec], result: SqlType, state: str, message: str, example: Example
) -> Spec:
    """A function of KSQL's that fails where its result is NULL although no argument is."""
    lower = next(spec.spark for spec in specs if spec.name == name)
    assert lower is not None, "it has a text"

    def strict(args: Sequence[str], types: Types) -> str:
        return lets(args, lambda *a: _checked(lower(a, types), result, _unless_missing(a), state, message))

    return dialect_spec(
        f"PG_{name}",
        f"PostgreSQL's {name}, which fails where KSQL's is NULL.",
        lambda types, _: Resolved(tuple(types), result),
        strict,
        example,
        limits=BY_ARGUMENTS if result == STRING else None,
    )


_CAST_EXAMPLES: dict[SqlType, Example] = {
    INTEGER: Example((_D("2.5"),), 3),
    BIGINT: Example((-2.5,), -2),
    DOUBLE: Example((" 1e3 ",), 1000.0),
    BOOLEAN: Example(("on",), True),
    STRING: Example((1e20,), "1e+20"),
    DATE: Example((Typed("2024-02-29T01:02:03", TIMESTAMP),), "2024-02-29"),
    TIME: Example(("12:30",), "12:30:00.000"),
    TIMESTAMP: Example(("2024-02-29 01:02:03",), "2024-02-29T01:02:03.000"),
}


# ---- specs -----------------------------------------------------------------------------------------------


def fixed(*parameters: SqlType | None, result: SqlType) -> TypingRule:
    """Arguments of these types (None: of any), and a result."""

    def typing(types: Types, _: Sequence[Any]) -> Resolved | None:
        if len(types) != len(parameters):
            return None
        return Resolved(tuple(p or t for p, t in zip(parameters, types, strict=True)), result)

    return typing


def dialect_spec(
    name: str, description: str, typing: TypingRule, lower: Lowering, *examples: Example, **more: Any
) -> Spec:
    """An operator that only PostgreSQL's dialect has."""
    # what nobody sees, but for whether the result has a fixed size
    shown = (signature(f"value T -> {'DOUBLE' if more.get('limits') is None else 'T'}"),)
    return Spec(
        name, Kind.DIALECT, Category.POSTGRESQL, description, shown, lower, examples, typing=typing, **more
    )


def _double_function(name: str, function: str, state: str, message: str, *examples: Example) -> Spec:
    count = 2 if "{1}" in function else 1
    return dialect_spec(
        name,
        f"PostgreSQL's {name[3:]}, which fails where KSQL's is NaN or an infinity.",
        fixed(*(DOUBLE,) * count, result=DOUBLE),
        _finite(function, state, message),
        *examples,
    )


def _of_text(
    name: str, parameters: Sequence[SqlType], result: SqlType, lower: Lowering, *examples: Example
) -> Spec:
    return dialect_spec(
        name,
        f"PostgreSQL's {name[3:]}, which counts characters.",
        fixed(*parameters, result=result),
        lower,
        *examples,
        limits=BY_ARGUMENTS,
    )


_SYMBOLS = {"+": "PG_ADD", "-": "PG_SUBTRACT", "*": "PG_MULTIPLY", "/": "PG_DIVIDE", "%": "PG_MODULO"}
_ARITHMETIC_EXAMPLES = {
    "+": (Example((1, 2), 3),),
    "-": (Example((1, 2.5), -1.5),),
    "*": (Example((_D("1.5"), _D("-2.25")), _D("-3.375")),),
    "/": (
        Example((7, -2), -3),
        Example((_D("1"), _D("3.0")), _D("0.33333333333333333333")),
        Example((_D("10.0"), _D("3")), _D("3.33333333333333330000")),
    ),
    "%": (Example((_D("-7.5"), _D("2")), _D("-1.5")),),
}

SPECS: tuple[Spec, ...] = (
    *(
        dialect_spec(
            name,
            f"PostgreSQL's {symbol} of numbers, which fails where it has no result.",
            _arithmetic_types(symbol),
            _arithmetic(symbol),
            *_ARITHMETIC_EXAMPLES[symbol],
        )
        for symbol, name in _SYMBOLS.items()
    ),
    dialect_spec(
        "PG_NEG",
        "PostgreSQL's negative of a number.",
        lambda types, _: Resolved(tuple(types), types[0]),
        _negated,
        Example((5,), -5),
    ),
    dialect_spec(
        "PG_CONCAT",
        "PostgreSQL's ||, where NULL gives NULL.",
        lambda types, _: Resolved(tuple(types), types[0]),
        lambda args, types: lets(
            args,
            lambda a, b: (
                f"if({a} is null or {b} is null, NULL, "
                f"ksql.join({'X' if types[0] == BYTES else ''}'', array({a}, {b})))"
            ),
        ),
        Example(("a", Typed(None, STRING)), None),
        limits=(MAX_BYTES,),
    ),
    dialect_spec(
        "PG_ABS",
        "PostgreSQL's ABS of a whole number.",
        lambda types, _: Resolved(tuple(types), types[0]),
        lambda args, types: let(args[0], lambda v: f"if({v} < 0, {_negated([v], types)}, {v})"),
        Example((-5,), 5),
    ),
    dialect_spec(
        "PG_ROUND",
        "PostgreSQL's ROUND: ties of DOUBLEs to even, of DECIMALs away from zero.",
        lambda types, _: Resolved(
            tuple(types), DOUBLE if types[0] == DOUBLE else _whole(types) if len(types) == 1 else types[0]
        ),
        _rounded,
        Example((2.5,), 2.0),
        Example((-0.5,), -0.0),
        Example((_D("-2.5"),), _D("-3")),
        Example((_D("-1.25"), 1), _D("-1.30")),
    ),
    dialect_spec(
        "PG_TRUNC",
        "PostgreSQL's TRUNC of a DOUBLE.",
        fixed(DOUBLE, result=DOUBLE),
        lambda args, _: let(
            args[0], lambda v: f"(sign({v}) * rint(abs({v}) - if(rint(abs({v})) > abs({v}), 1D, 0D)))"
        ),
        Example((-1.7,), -1.0),
    ),
    dialect_spec(
        "PG_SIGN",
        "PostgreSQL's SIGN.",
        fixed(DOUBLE, result=DOUBLE),
        lambda args, _: f"sign({args[0]})",
        Example((-3.0,), -1.0),
    ),
    _double_function(
        "PG_SQRT", "sqrt({0})", "2201F", "cannot take square root of a negative number", Example((4.0,), 2.0)
    ),
    _double_function(
        "PG_LN",
        "ln({0})",
        "2201E",
        "cannot take logarithm of zero or of a negative number",
        Example((1.0,), 0.0),
    ),
    _double_function(
        "PG_LOG",
        "log10({0})",
        "2201E",
        "cannot take logarithm of zero or of a negative number",
        Example((1000.0,), 3.0),
    ),
    _double_function("PG_EXP", "exp({0})", "22003", "value out of range: overflow", Example((0.0,), 1.0)),
    _double_function("PG_ASIN", "asin({0})", "22003", "input is out of range", Example((0.0,), 0.0)),
    _double_function("PG_ACOS", "acos({0})", "22003", "input is out of range", Example((1.0,), 0.0)),
    _double_function("PG_COSH", "cosh({0})", "22003", "value out of range: overflow", Example((0.0,), 1.0)),
    _double_function("PG_SINH", "sinh({0})", "22003", "value out of range: overflow", Example((0.0,), 0.0)),
    _double_function(
        "PG_DEGREES", "degrees({0})", "22003", "value out of range: overflow", Example((0.0,), 0.0)
    ),
    dialect_spec(
        "PG_POWER",
        "PostgreSQL's POWER, which fails where it is no number.",
        fixed(DOUBLE, DOUBLE, result=DOUBLE),
        _power,
        Example((2.0, 10.0), 1024.0),
    ),
    _of_text(
        "PG_LENGTH", (STRING,), INTEGER, lambda args, _: f"char_length({args[0]})", Example(("a😀",), 2)
    ),
    _of_text("PG_LEFT", (STRING, INTEGER), STRING, _left, Example(("a😀b", -1), "a😀")),
    _of_text(
        "PG_RIGHT", (STRING, INTEGER), STRING, _right, Example(("a😀b", 2), "😀b"), Example(("abc", -1), "bc")
    ),
    _of_text(
        "PG_POSITION",
        (STRING, STRING),
        INTEGER,
        lambda args, _: f"instr({args[0]}, {args[1]})",
        Example(("😀b", "b"), 2),
    ),
    dialect_spec(
        "PG_SUBSTRING",
        "PostgreSQL's SUBSTRING, which counts characters.",
        lambda types, _: Resolved(tuple(types), types[0]),
        _substring,
        Example(("a😀b", 0, 3), "a😀"),
        limits=BY_ARGUMENTS,
    ),
    *(
        dialect_spec(
            name,
            f"PostgreSQL's {name[3:]}: of blanks, or of any of some characters.",
            _trimmed_types,
            _trimmed(words),
            Example(("  ab ",), expected),
            limits=BY_ARGUMENTS,
        )
        for name, words, expected in (
            ("PG_BTRIM", "BOTH", "ab"),
            ("PG_LTRIM", "LEADING", "ab "),
            ("PG_RTRIM", "TRAILING", "  ab"),
        )
    ),
    dialect_spec(
        "PG_OVERLAY",
        "PostgreSQL's OVERLAY: a text with another one in the place of a part.",
        _overlay_types,
        _overlaid,
        Example(("Txxxxas", "hom", 2, 4), "Thomas"),
    ),
    dialect_spec(
        "PG_SPLIT_PART",
        "PostgreSQL's SPLIT_PART: the n-th of the parts of a text.",
        fixed(STRING, STRING, INTEGER, result=STRING),
        _split_part,
        Example(("a,b,c", ",", 2), "b"),
        Example(("a,b,c", ",", -1), "c"),
        Example(("a,b,c", ",", 4), ""),
        limits=BY_ARGUMENTS,
    ),
    dialect_spec(
        "PG_SIMILAR_TO",
        "PostgreSQL's SIMILAR TO, with a constant pattern.",
        _similar_types,
        _is_similar,
        Example(("abc", "%(b|d)%"), True),
        Example(("abc", "(b|d)%"), False),
    ),
    dialect_spec(
        "PG_SUBSTRING_OF",
        "PostgreSQL's SUBSTRING with a regular expression: its first group, if it has one.",
        _found_types,
        lambda args, _: f"ksql.regexp_extract({args[1]}, {args[0]}, {int(group_count(_text(args[1])) > 0)})",
        Example(("foobar", "o(.)b"), "o"),
        limits=BY_ARGUMENTS,
    ),
    *(
        dialect_spec(
            name,
            f"PostgreSQL's {sign or '+'} of a date and a number of days.",
            fixed(DATE, INTEGER, result=DATE),
            _shifted_date(sign),
            Example((Typed("2024-02-28", DATE), 2), expected),
        )
        for name, sign, expected in (
            ("PG_DATE_ADD", "", "2024-03-01"),
            ("PG_DATE_SUBTRACT", "-", "2024-02-26"),
        )
    ),
    dialect_spec(
        "PG_DAYS_BETWEEN",
        "PostgreSQL's - of dates: a number of days.",
        fixed(DATE, DATE, result=INTEGER),
        lambda args, _: f"datediff({args[0]}, {args[1]})",
        Example((Typed("2024-03-01", DATE), Typed("2024-02-28", DATE)), 2),
    ),
    _of_text("PG_INITCAP", (STRING,), STRING, _initials, Example(("a😀c dE1f",), "A😀C De1f")),
    _of_text("PG_LPAD", (STRING, INTEGER, STRING), STRING, _pad("lpad"), Example(("b", 3, "😀"), "😀😀b")),
    _of_text("PG_RPAD", (STRING, INTEGER, STRING), STRING, _pad("rpad"), Example(("b", -3, "😀"), "")),
    dialect_spec(
        "PG_EXTRACT",
        "PostgreSQL's EXTRACT.",
        _extract_types,
        _extract,
        Example(("isodow", Typed("2024-12-29", DATE)), _D("7")),
    ),
    dialect_spec(
        "PG_DATE_TRUNC",
        "PostgreSQL's DATE_TRUNC.",
        _truncated_types,
        _truncated,
        Example(("century", Typed("2024-12-29T01:02:03", TIMESTAMP)), "2001-01-01T00:00:00.000"),
    ),
    *(
        dialect_spec(
            name,
            f"PostgreSQL's cast to {_NAMES[target]}.",
            fixed(None, result=target),
            _cast_to(target),
            _CAST_EXAMPLES[target],
            limits=BY_ARGUMENTS if target == STRING else None,
        )
        for target, name in _CASTS.items()
    ),
    _strict(
        "CHR",
        encodings.SPECS,
        STRING,
        "22023",
        "requested character is no valid code point",
        Example((97,), "a"),
    ),
    _strict(
        "TO_TIMESTAMP",
        datetime.SPECS,
        TIMESTAMP,
        "22008",
        "timestamp out of range",
        Example((Typed(60, BIGINT),), "1970-01-01T00:01:00.000"),
    ),
    dialect_spec(
        "PG_NUMERIC",
        "PostgreSQL's cast to numeric(p, s).",
        _decimal_types,
        _to_decimal,
        Example(("1.255", 5, 2), _D("1.26")),
    ),
)


# ---- what is meant ---------------------------------------------------------------------------------------

#: functions whose arguments are DOUBLEs in PostgreSQL where they are whole numbers
_OF_WHOLE = {"CEIL": DOUBLE, "FLOOR": DOUBLE, "ROUND": DOUBLE, "TRUNC": DOUBLE, "SIGN": DOUBLE}
#: a call of this -> of what PostgreSQL means
_PLAIN = {
    **_SYMBOLS, "SQRT": "PG_SQRT", "LN": "PG_LN", "EXP": "PG_EXP", "ASIN": "PG_ASIN", "ACOS": "PG_ACOS",
    "COSH": "PG_COSH", "SINH": "PG_SINH", "DEGREES": "PG_DEGREES", "POWER": "PG_POWER", "LEFT": "PG_LEFT",
    "RIGHT": "PG_RIGHT", "SUBSTRING": "PG_SUBSTRING", "||": "PG_CONCAT", "EXTRACT": "PG_EXTRACT",
    "DATE_TRUNC": "PG_DATE_TRUNC", "CHR": "PG_CHR", "INITCAP": "PG_INITCAP", "LPAD": "PG_LPAD",
    "RPAD": "PG_RPAD", "TO_TIMESTAMP": "PG_TO_TIMESTAMP", "TRIM": "PG_BTRIM",
}  # fmt: skip
#: calls that KSQL and PostgreSQL understand in different ways -> what to do
_REFUSED = {
    "REGEXP_REPLACE": "replaces the first match in PostgreSQL, and all in KSQL",
    "TO_JSON": "has another type in PostgreSQL",
}
#: functions that PostgreSQL has, and KSQL has not with these arguments -> the operators that they are here
CALLED: dict[str, str] = {
    "BTRIM": "PG_BTRIM", "LTRIM": "PG_LTRIM", "MOD": "PG_MODULO", "OVERLAY": "PG_OVERLAY",
    "RTRIM": "PG_RTRIM", "SIMILAR_TO": "PG_SIMILAR_TO", "SPLIT_PART": "PG_SPLIT_PART",
}  # fmt: skip
#: texts that PostgreSQL reads as a time by the clock -> how many days from today; None: this moment
_DAYS: dict[str, int | None] = {"now": None, "yesterday": -1, "today": 0, "tomorrow": 1}
_TO_KSQL = "SET ksql.sql.dialect = 'ksqldb' gives KSQL's."


def meant(
    node: Expression, written: str, resolve: Callable[[str, Sequence[Expression]], Expression]
) -> Expression:
    """What PostgreSQL means by a bound call or cast.

    Args:
        node: what KSQL means.
        written: the name of the function, as the statement has it.
        resolve: makes a call of an operator with arguments.

    Raises:
        KsqlError: VALUE_REFUSED: PostgreSQL refuses it, or means what KSQL does not have.
    """
    match node:
        case TryCast():
            return node
        case Cast(Literal(int() as value, kind), target) if kind == INTEGER and target == BIGINT:
            return Literal(value, BIGINT)
        case Cast(Literal(str() as text), target) if (
            target in (DATE, TIMESTAMP) and (word := text.strip().lower()) in _DAYS
        ):
            now = resolve("NOW", [])
            days = _DAYS[word]
            if days is None:
                return now if target == TIMESTAMP else Cast(now, target)
            moment = resolve("PG_DATE_ADD", [Cast(now, DATE), Literal(days, INTEGER)])
            return moment if moment.type == target else Cast(moment, target)
        case Cast(Literal(str() as text), target) if (read := _TIMES.get(target)) is not None:
            # a constant, which look-ups by key need
            form = r"\s*\d+:\d+" if target == TIME else r"\s*(\d+-\d+-\d+|epoch\s*$)"
            is_far = re.match(form, text, re.IGNORECASE) is not None
            plain = read(text) if is_far else None
            if plain is None:
                raise refused(
                    "22008" if is_far else "22007",
                    f'invalid input syntax for type {_NAMES[target]}: "{text[:80]}"',
                )
            return Cast(Literal(plain, STRING), target)
        case Cast(operand, target) if target == STRING and isinstance(operand.type, (Array, Map, Struct)):
            raise refused("0A000", f"PostgreSQL writes {operand.type} in another form. {_TO_KSQL}")
        case Cast(operand, target) if operand.type != NULL and not keeps_numbers(operand.type, target):
            if (name := _CASTS.get(target)) is not None:
                return resolve(name, [operand])
            if isinstance(target, Decimal):
                digits = (Literal(n, INTEGER) for n in (target.precision, target.scale))
                return resolve("PG_NUMERIC", [operand, *digits])
        case Call("FROM_UNIXTIME", _):  # now()
            return replace(node, type=with_zone(True))
        case Call(name, arguments) if arguments:
            return _with_zone(_meant_call(node, name, list(arguments), written, resolve))
        case Case(whens, default) if any(has_zone(e) for e in (*(r for _, r in whens), default) if e):
            return replace(node, type=with_zone(True))
    return node


def has_zone(node: Expression) -> bool:
    """Whether a TIMESTAMP is one with a zone in PostgreSQL."""
    return isinstance(node.type, Primitive) and node.type.has_zone


def _with_zone(node: Expression) -> Expression:
    """A time has a zone if one of the times that it comes from has one."""
    if (
        not isinstance(node, Call)
        or node.type != TIMESTAMP
        or node.function in ("PG_FROM_ZONE", "PG_TO_ZONE")
    ):
        return node
    is_zoned = has_zone(node) or any(map(has_zone, node.arguments))
    return replace(node, type=with_zone(True)) if is_zoned else node


def called(
    written: str,
) -> (
    Callable[[list[Expression], Callable[[str, Sequence[Expression]], Expression]], Expression | None] | None
):
    """What makes a bound call of a function that PostgreSQL has, and KSQL has not; None: KSQL has it.

    It returns None if KSQL has the function with these arguments, and raises KsqlError.
    """
    if written == "SUBSTRING":
        return lambda arguments, resolve: (
            resolve("PG_SUBSTRING_OF", arguments) if [a.type for a in arguments] == [STRING, STRING] else None
        )
    name = CALLED.get(written)
    return None if name is None else lambda arguments, resolve: resolve(name, arguments)


def operands(symbol: str, left: Expression, right: Expression) -> tuple[str, Expression, Expression]:
    """The operator that + - * stand for, and its operands, where times have another meaning than in KSQL."""
    kinds = (left.type, right.type)
    intervals = (INTERVAL, CALENDAR_INTERVAL)
    match symbol:
        case "-" if kinds == (DATE, DATE):
            return "PG_DAYS_BETWEEN", left, right
        case "+" | "-" if kinds == (DATE, INTEGER):
            return f"PG_DATE_{'ADD' if symbol == '+' else 'SUBTRACT'}", left, right
        case "+" if kinds == (INTEGER, DATE):
            return "PG_DATE_ADD", right, left
        case "+" | "-" if left.type == DATE and right.type in intervals:
            return symbol, Cast(left, TIMESTAMP), right
        case "+" if left.type in intervals and right.type == DATE:
            return symbol, left, Cast(right, TIMESTAMP)
        case "*" if left.type == INTERVAL and (right.type == DOUBLE or isinstance(right.type, Decimal)):
            return "PG_TIMES", left, right
        case "*" if right.type == INTERVAL and (left.type == DOUBLE or isinstance(left.type, Decimal)):
            return "PG_TIMES", right, left
    return symbol, left, right


def _meant_call(
    node: Call,
    name: str,
    arguments: list[Expression],
    written: str,
    resolve: Callable[[str, Sequence[Expression]], Expression],
) -> Expression:
    kind = arguments[0].type
    if written in _REFUSED:
        raise refused("0A000", f"{written} {_REFUSED[written]}. {_TO_KSQL}")
    if name in _SYMBOLS and not all(is_numeric(a.type) for a in arguments):
        return node
    if name in _OF_WHOLE and kind in (INTEGER, BIGINT) and len(arguments) == 1:
        arguments, kind = [Cast(arguments[0], DOUBLE)], DOUBLE
        if name in ("CEIL", "FLOOR"):
            return resolve(name, arguments)
    match name:
        case "NEG" if is_numeric(kind):
            return resolve("PG_NEG", arguments)
        case "ABS" if kind in (INTEGER, BIGINT):
            return resolve("PG_ABS", arguments)
        case "ROUND" if kind == DOUBLE and len(arguments) == 2:
            return node  # which PostgreSQL does not have
        case "ROUND":
            return resolve("PG_ROUND", arguments)
        case "TRUNC" | "SIGN" if kind == DOUBLE and len(arguments) == 1:
            return resolve(f"PG_{name}", arguments)
        case "LOG":
            if len(arguments) == 2:
                raise refused(
                    "0A000", f"LOG(base, x) has other digits in PostgreSQL: LN(x) / LN(base). {_TO_KSQL}"
                )
            return resolve("PG_LOG", arguments)
        case "LEN" if kind == STRING:
            return resolve("PG_LENGTH", arguments)
        case "INSTR" if written == "STRPOS":
            return resolve("PG_POSITION", arguments)
        case "LEFT" | "RIGHT" | "LPAD" | "RPAD" if kind != STRING:
            return node
        case "REGEXP_SPLIT_TO_ARRAY" if isinstance(arguments[-1], Literal) and arguments[-1].value == "":
            raise refused("0A000", "KSQL splits a text into UTF-16 units, and PostgreSQL into characters.")
        case "EXTRACT" if written == "DATE_PART":
            return Cast(resolve("PG_EXTRACT", arguments), DOUBLE)
    return resolve(_PLAIN[name], arguments) if name in _PLAIN else node


#: aggregates that are NULL in PostgreSQL where there are no values, and have something else in KSQL
_EMPTY = (
    "SUM",
    "AVG",
    "ARRAY_AGG",
    "COLLECT_LIST",
    "STDDEV",
    "STDDEV_SAMP",
    "CORR",
    "CORRELATION",
    "STRING_AGG",
)
_MORE_THAN_ONE = ("STDDEV", "STDDEV_SAMP")
#: aggregates that take and return DOUBLEs here
_OF_DOUBLES = (
    "STDDEV",
    "STDDEV_SAMP",
    "STDDEV_POP",
    "VAR_POP",
    "VAR_SAMP",
    "VARIANCE",
    "PERCENTILE_CONT",
    "CORR",
)


def aggregate(
    name: str,
    arguments: list[Expression],
    column: Callable[[str, Sequence[Expression]], Expression],
    resolve: Callable[[str, Sequence[Expression]], Expression],
) -> Expression:
    """What PostgreSQL means by an aggregate.

    Args:
        name: as it is written.
        arguments: bound.
        column: makes an aggregate's column.
        resolve: makes a call of an operator with arguments.
    """
    if name in _OF_DOUBLES and isinstance(arguments[0].type, Decimal):
        arguments = [Cast(arguments[0], DOUBLE), *arguments[1:]]
    if name == "CORR":
        arguments = [Cast(a, DOUBLE) if isinstance(a.type, Decimal) else a for a in arguments]
    if name not in _EMPTY or not arguments:
        made = column(name, arguments)
        is_zoned = made.type == TIMESTAMP and any(map(has_zone, arguments))
        return replace(made, type=with_zone(True)) if is_zoned and isinstance(made, ColumnRef) else made
    given, kind = arguments[0], arguments[0].type
    count = column("COUNT", [] if name in ("ARRAY_AGG",) else [given])
    if name == "SUM" and kind == INTEGER:
        value = column("SUM", [Cast(given, BIGINT)])
    elif name in ("SUM", "AVG") and (kind in (INTEGER, BIGINT) or isinstance(kind, Decimal)):
        value = column("SUM", [Cast(given, Decimal(_DIGITS, to_decimal(kind).scale))])
        if name == "AVG":
            value = resolve("PG_DIVIDE", [value, count])
    else:
        # KSQL's STDDEV_SAMP, as ksqlDB's, is the variance
        value = column("STDDEV" if name == "STDDEV_SAMP" else name, arguments)
    least = Literal(2 if name in _MORE_THAN_ONE else 1, BIGINT)
    return Case(((resolve(">=", [count, least]), value),), None, value.type)
